"""What the templates share that read a crash over shapes in several ways, each of which knows how it is mended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dnnfix.records import CRASH_CAUSE, Finding, Json, Site, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate, Repairs


@dataclass(frozen=True, slots=True)
class Misfit:
    """One reading of a crash over shapes: its name, where the fault is, what is said of it, the ways to mend it, what it was read from."""

    reading: str
    site: Site | None
    what: str
    ways: Repairs
    evidence: Mapping[str, Json]
    confidence: float = 0.9
    at_either_end: bool = False
    """Whether one of two things that do not fit is changed, and which of them was meant is not known."""


class MisfitTemplate(FaultTemplate[Misfit]):
    """Base of the templates that explain a crash by a value whose shape does not fit.

    A subclass yields its readings of the crash in `misfits`. Each is a finding, and those of one crash are rivals.
    """

    message = "{what}"
    needs_run = True
    rival_readings = True
    declined = "the shapes do not tell what was meant"

    def misfits(self, subject: Subject) -> Iterator[Misfit]:
        """The readings of a crash, none where it has nothing to do with shapes."""
        raise NotImplementedError

    def is_at_either_end(self, fault: Misfit) -> bool:
        return fault.at_either_end

    def faults(self, subject: Subject) -> Faults[Misfit]:
        for misfit in self.misfits(subject) if subject.crash is not None else ():
            yield misfit.site, misfit

    def report(self, site: Site, fault: Misfit) -> Finding:
        found = self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=fault.confidence,
            evidence=fault.evidence,
            cause=CRASH_CAUSE,
            what=fault.what,
        )
        return replace(found, reading=fault.reading)

    def repairs(self, subject: Subject, fault: Misfit) -> Repairs:
        yield from fault.ways
