"""The cause "target scale": targets of a regression scaled to about one by the statistics of the training samples."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.detect.tensors.values import loss_uses
from dnnfix.network.facts import Task
from dnnfix.records import FixPattern
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.arrays import scaled
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

LARGE = 30.0
"""Size of the largest target from which on the gradients may be too great for a usual rate."""

FAR = 1000.0
"""Size from which on they are."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Targets by their mean and deviation; what the network predicts is then on that scale."""
    for use in loss_uses(subject):
        target = use.target
        if use.call.phase == "eval" or target is None or target.low is None or target.high is None:
            continue
        size = max(abs(target.low), abs(target.high))
        if size < LARGE or use.facts.task is not Task.REGRESSION:
            continue
        made = scaled(subject, "y", is_bytes=False)
        if made:
            title = f"Scale the targets, which reach {size:.3g}, by their mean and deviation: predictions come on that scale"
            yield Cause("targets", title, FixPattern.DATA_WRANGLING, made, 0.75 if size >= FAR else 0.45)
        return
