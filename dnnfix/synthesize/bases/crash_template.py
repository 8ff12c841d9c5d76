"""What the templates share that read a crash of Python itself: of types, names and calls, with the values at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dnnfix.records import CRASH_CAUSE, Crash, Edit, Family, Finding, FixPattern, Site, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate, Repairs


@dataclass(frozen=True, slots=True)
class Mend:
    """One explanation of a crash: where the fault is, what is said of it, and the repairs, the likeliest first."""

    site: Site
    what: str
    repairs: tuple[tuple[str, tuple[Edit, ...], float], ...]
    symptom: Symptom = Symptom.CRASH


class CrashTemplate(FaultTemplate[Mend]):
    """Base of the templates that explain an exception by the values that the failing statement held.

    A subclass names the exceptions that it can explain (`kinds`) and reads one in `mends`.
    """

    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{what}"
    needs_run = True
    declined = "nothing in the program tells what was meant"
    kinds: ClassVar[frozenset[str]]
    confidence: ClassVar[float] = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        """The explanations of a crash in the program itself whose exception is one of `kinds`."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[Mend]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or crash.kind not in self.kinds:
            return
        for mend in self.mends(subject, crash):
            yield mend.site, mend

    def report(self, site: Site, fault: Mend) -> Finding:
        return self.finding(site, symptom=Symptom.CRASH, confidence=self.confidence, cause=CRASH_CAUSE, what=fault.what)

    def repairs(self, subject: Subject, fault: Mend) -> Repairs:
        yield from fault.repairs
