"""Bases of the rules that need more for a repair than a finding records, and so read each fault again to repair it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from dnnfix.records import CRASH_CAUSE, Candidate, Decline, Edit, Finding, Json, Site, Symptom
from dnnfix.records.record import record
from dnnfix.source.program import once
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

T = TypeVar("T")

Faults: TypeAlias = Iterator[tuple[Site | None, T]]
"""Faults with their places; those at no known place are passed over."""

Repair: TypeAlias = tuple[str, tuple[Edit, ...] | None, float]
"""A way to repair a fault: a title, edits (`None` where they cannot be made) and a prior."""

Repairs: TypeAlias = Iterator[Repair | Decline]
"""Ways to repair a fault, the likeliest first. A `Decline` among them is the reason where none of the edits can be made."""


class FaultTemplate(FixTemplate, Generic[T]):
    """Base of the templates that read a fault to report it, and read it again to repair it.

    A finding holds what people need to know; the calls, nodes and uses of losses that it was read from are of type `T`.
    A subclass says where its faults are (`faults`), what is reported of one (`report`) and how it is repaired (`repairs`).
    """

    declined: ClassVar[str]
    """Why there is no candidate, where `repairs` gives no other reason."""
    elsewhere: ClassVar[bool] = False
    """Whether faults in modules that the program imports are reported, too; nothing can be edited there."""

    def faults(self, subject: Subject) -> Faults[T]:
        """The faults of the pattern in the program."""
        raise NotImplementedError

    def report(self, site: Site, fault: T) -> Finding:
        """The finding for a fault."""
        raise NotImplementedError

    def repairs(self, subject: Subject, fault: T) -> Repairs:
        """The ways to repair a fault."""
        raise NotImplementedError

    def is_at_either_end(self, fault: T) -> bool:
        """Whether the repairs change one of two things that do not fit (`Candidate.at_either_end`)."""
        return self.at_either_end

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for site, fault in self._placed(subject):
            yield self.report(site, fault)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        made, reason = False, self.declined
        here = _read_again(subject, type(self)).get(finding.site, [])
        for fault in [fault for fault in here if self.report(finding.site, fault).id == finding.id][:1]:
            either = self.is_at_either_end(fault)
            for repair in self.repairs(subject, fault):
                if isinstance(repair, Decline):
                    reason = repair.reason or reason
                elif repair[1] is not None:
                    made = True
                    yield self.candidate(finding, repair[0], *repair[1], prior=repair[2], at_either_end=either)
        if not made:
            yield Decline(reason)

    def _placed(self, subject: Subject) -> Iterator[tuple[Site, T]]:
        for site, fault in self.faults(subject):
            if site is not None and (self.elsewhere or not site.path):
                yield site, fault


@once  # a program may have hundreds of faults of one rule, and each is repaired by itself
def _read_again(subject: Subject, template: type[FaultTemplate[Any]]) -> Mapping[Site, Sequence[Any]]:
    """The faults that a template reads in the program, by their places."""
    found: dict[Site, list[Any]] = {}
    for site, fault in template()._placed(subject):
        found.setdefault(site, []).append(fault)
    return found


@record
class Fault:
    """A fault as it was read, with the ways to repair it.

    `what` is the message, or the words that fill the braces of the template's. `repairs` are as `FaultTemplate.repairs` yields them.
    `confidence` and `symptom` are those of the template where they are not given. `reading` names the row of its table that saw it,
    where there are several. `at_either_end` says that one of two things that do not fit is changed, and which of them was meant is
    not known.
    """

    site: Site | None
    what: str | Mapping[str, Any]
    repairs: tuple[Repair | Decline, ...]
    evidence: Mapping[str, Json] = field(default_factory=dict)
    confidence: float | None = None
    symptom: Symptom | None = None
    reading: str = ""
    at_either_end: bool = False

    @classmethod
    def with_repair(
        cls,
        site: Site,
        what: str | Mapping[str, Any],
        title: str,
        *edits: Edit,
        prior: float = 0.9,
        confidence: float | None = None,
    ) -> Fault:
        """A fault with one repair; the finding is as sure as the repair is likely, unless `confidence` says otherwise."""
        return cls(site, what, ((title, edits, prior),), confidence=prior if confidence is None else confidence)


class ReadTemplate(FaultTemplate[Fault]):
    """Base of the templates that read each fault together with its repairs: all that a subclass defines is `read`."""

    message = "{what}"
    declined = "nothing in the program tells what was meant"
    confidence: ClassVar[float] = 0.9
    symptom: ClassVar[Symptom] = Symptom.VIOLATION

    def read(self, subject: Subject) -> Iterator[Fault]:
        """The faults of the pattern in the program, with their repairs."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[Fault]:
        seen: dict[tuple[Site | None, str], list[Fault]] = {}
        for fault in self.read(subject):
            others = seen.setdefault((fault.site, fault.reading), [])
            if fault in others:
                continue  # a layer that runs several times has one fault
            others.append(fault)
            yield fault.site, fault if len(others) == 1 else replace(fault, reading=f"{fault.reading}:{len(others)}")

    def report(self, site: Site, fault: Fault) -> Finding:
        symptom = fault.symptom or self.symptom
        found = self.finding(
            site,
            symptom=symptom,
            confidence=self.confidence if fault.confidence is None else fault.confidence,
            evidence=fault.evidence,
            cause=CRASH_CAUSE if symptom is Symptom.CRASH else "",
            **({"what": fault.what} if isinstance(fault.what, str) else fault.what),
        )
        return replace(found, reading=fault.reading)

    def repairs(self, subject: Subject, fault: Fault) -> Repairs:
        yield from fault.repairs

    def is_at_either_end(self, fault: Fault) -> bool:
        return fault.at_either_end or self.at_either_end
