"""What the templates share that read a crash over shapes in several ways, each of which knows how it is mended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dnnfix.records import CRASH_CAUSE, Decline, Edit, Finding, Json, Site, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate, Repairs


@dataclass(frozen=True, slots=True)
class Misfit:
    """One reading of a crash over shapes: where the fault is, what is said of it, the ways to mend it, what it was read from."""

    site: Site | None
    what: str
    ways: Repairs
    evidence: Mapping[str, Json]
    confidence: float = 0.9
    at_either_end: bool = False
    """Whether one of two things that do not fit is changed, and which of them was meant is not known."""


class MisfitTemplate(FaultTemplate[tuple[Misfit, ...]]):
    """Base of the templates that explain a crash by a value whose shape does not fit.

    A subclass yields its readings in `misfits`. Those at one place are one finding, which is reported as the surest of them and has
    the ways of all, each as likely as its reading is sure.
    """

    message = "{what}"
    needs_run = True
    rival_readings = True
    declined = "the shapes do not tell what was meant"

    def misfits(self, subject: Subject) -> Iterator[Misfit]:
        """The readings of a crash, none where it has nothing to do with shapes."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[tuple[Misfit, ...]]:
        found: dict[Site, list[Misfit]] = {}
        for misfit in self.misfits(subject) if subject.crash is not None else ():
            if misfit.site is not None:
                found.setdefault(misfit.site, []).append(misfit)
        for site, together in found.items():
            yield site, tuple(sorted(together, key=lambda one: -one.confidence))

    def is_at_either_end(self, fault: tuple[Misfit, ...]) -> bool:
        return any(misfit.at_either_end for misfit in fault)

    def report(self, site: Site, fault: tuple[Misfit, ...]) -> Finding:
        surest = fault[0]
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=surest.confidence,
            evidence=surest.evidence,
            cause=CRASH_CAUSE,
            what=surest.what,
        )

    def repairs(self, subject: Subject, fault: tuple[Misfit, ...]) -> Repairs:
        ways: list[tuple[str, tuple[Edit, ...] | None, float]] = []
        for misfit in fault:
            for way in misfit.ways:
                if isinstance(way, Decline):
                    yield way
                else:
                    ways.append((way[0], way[1], way[2] * misfit.confidence / fault[0].confidence))
        yield from sorted(ways, key=lambda way: -way[2])
