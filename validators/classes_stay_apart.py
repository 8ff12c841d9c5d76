"""The classes of a loss are those of the network's last layer: no other axis is folded into the class axis.

A network that gives logits for each of several steps crashes in a loss that wants one row of logits for each sample.
It runs as soon as the steps and the classes are one axis, and then learns to choose among steps times classes, most
of which no target ever names.

References: torch.nn.CrossEntropyLoss (the shape of its input); the documentation of Keras's categorical losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dnnfix.api import Evidence, Subject, Verdict, tensor_values

NAME = "classes-stay-apart"
RUNG = "shapes"


def judge(evidence: Evidence) -> Verdict:
    """Fail on a loss that newly folds another axis of the last layer's output into its classes."""
    folded = list(_folded(Subject(evidence.source_after, evidence.after)))
    if not folded:
        return Verdict.passes("no loss takes other axes for classes")
    original = Subject(evidence.source_before, evidence.before)
    if not tensor_values.loss_uses(original) or any(_folded(original)):
        return Verdict.not_applicable("the original computes no loss, or takes other axes for classes too")
    name, given, classes = folded[0]
    reason = f"{name} is to choose among {classes} classes; the last layer gives {given} for each sample"
    return Verdict.fails(reason, {"given": list(given), "classes": classes})


def _folded(subject: Subject) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """The losses over classes whose classes are several axes of their prediction's layer in one."""
    for use in tensor_values.loss_uses(subject):
        if use.facts.class_axis is None or use.producer is None or not use.producer.outputs:
            continue
        given, taken = use.producer.outputs[0].shape, use.prediction.shape
        if given is None or taken is None or len(taken) != 2 or len(given) < 3:
            continue
        folded = [size for size in given[1:] if size != 1]
        each = tuple(size for size in folded if size)
        if len(each) == len(folded) > 1 and taken[1] == math.prod(each):
            yield use.name, each, math.prod(each)
