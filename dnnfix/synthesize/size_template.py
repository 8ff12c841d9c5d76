"""What the templates for layers of a wrong size share: one conflict of sizes, repaired at either of its two ends."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from dnnfix.detect.crash import SizeConflict, size_conflict
from dnnfix.detect.graph import upstream
from dnnfix.detect.shapes import before_flattening
from dnnfix.network.facts import layer_facts
from dnnfix.records import CRASH_CAUSE, Candidate, Decline, Family, Finding, FixPattern, Symptom, Value
from dnnfix.subject import Subject
from dnnfix.synthesize.ends import both_ends, short
from dnnfix.template import FixTemplate

MOST = 4
"""Candidates for one conflict: the layer, the one before it, and the two ways of writing each."""


class SizeTemplate(FixTemplate):
    """Base of the templates for layers that state another size than they receive.

    A subclass names the `kind` of layer it speaks of (see `LayerFacts.kind`) and may narrow `explains`. Its `message`
    has the words `layer`, `stated` and `received`.
    """

    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    needs_run = True
    kind: ClassVar[str]

    def explains(self, subject: Subject, conflict: SizeConflict) -> bool:
        """Whether the size alone is at fault, and not a missing axis or flatten, which other templates repair."""
        return conflict.facts.kind == self.kind

    def detect(self, subject: Subject) -> Iterator[Finding]:
        conflict = size_conflict(subject)
        if conflict is None or not self.explains(subject, conflict):
            return
        site = conflict.call.made_at or conflict.call.site
        if site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause=CRASH_CAUSE,
                evidence={"stated": conflict.stated, "received": conflict.received, "axis": conflict.axis},
                layer=short(conflict.call.name),
                stated=conflict.stated,
                received=conflict.received,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        conflict = size_conflict(subject)
        changes = both_ends(subject, conflict) if conflict is not None else []
        between = (
            conflict is not None
            and _comes_of_layers(subject, conflict.value)
            and not _is_of_no_image(subject, conflict)
        )
        for change in changes[:MOST]:
            yield self.candidate(finding, change.title, *change.edits, prior=change.prior, at_either_end=between)
        if not changes:
            yield Decline("neither size is written at a place that can be changed alone")


def _is_of_no_image(subject: Subject, conflict: SizeConflict) -> bool:
    """Whether no image, of another size or with other channels, has as many values as a layer takes of one that is flattened.

    Then the layer is at fault, and nothing before it.
    """
    flattened = before_flattening(subject, conflict.value)
    if flattened is None:
        return False
    call, sizes = flattened
    channels = sizes[0] if call.name.startswith("torch.") else sizes[-1]
    return conflict.stated % channels != 0 and conflict.stated % (prod(sizes) // channels) != 0


def _comes_of_layers(subject: Subject, value: Value) -> bool:
    """Whether a value was made by layers of the network, and not given to it as it is."""
    call = subject.network.producer(value)
    return call is not None and any(map(layer_facts, upstream(subject.network, call).values()))
