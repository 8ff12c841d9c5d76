"""What the templates share that know at once how a fault is mended: those that read the program, and those that read a crash."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dnnfix.detect.crashes.raised import raised_at
from dnnfix.records import CRASH_CAUSE, Crash, Decline, Edit, Family, Finding, FixPattern, Site, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate, Repair, Repairs


@dataclass(frozen=True, slots=True)
class Mend:
    """One explanation of a fault: where it is, what is said of it, and the repairs, the likeliest first.

    `sure` is the confidence of the finding, where it is not that of its template; `shows` is its symptom, where some of
    the faults of a template show otherwise.
    """

    site: Site
    what: str
    repairs: tuple[Repair | Decline, ...]
    symptom: Symptom = Symptom.CRASH
    sure: float | None = None
    shows: Symptom | None = None


def mend(site: Site, what: str, title: str, *edits: Edit, prior: float = 0.9, sure: float | None = None) -> Mend:
    """An explanation with one repair; the finding is as sure as its repair is likely, unless `sure` says otherwise."""
    return Mend(site, what, ((title, edits, prior),), sure=prior if sure is None else sure)


class MendTemplate(FaultTemplate[Mend]):
    """Base of the templates whose faults say themselves how they are mended."""

    message = "{what}"
    declined = "nothing in the program tells what was meant"
    confidence: ClassVar[float] = 0.85
    symptom: ClassVar[Symptom] = Symptom.VIOLATION

    def report(self, site: Site, fault: Mend) -> Finding:
        sure = self.confidence if fault.sure is None else fault.sure
        symptom = fault.shows or self.symptom
        cause = CRASH_CAUSE if symptom is Symptom.CRASH else ""
        return self.finding(site, symptom=symptom, confidence=sure, cause=cause, what=fault.what)

    def repairs(self, subject: Subject, fault: Mend) -> Repairs:
        yield from fault.repairs


class SourceTemplate(MendTemplate):
    """Base of the templates that read a fault off the program: a subclass says in `mends` what it finds."""

    def mends(self, subject: Subject) -> Iterator[Mend]:
        """The faults of the pattern in the program, with their repairs."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[Mend]:
        for fault in self.mends(subject):
            yield fault.site, fault


class CrashTemplate(MendTemplate):
    """Base of the templates that explain an exception by the values that the failing statement held.

    A subclass names the exceptions that it can explain (`kinds`) and reads one in `mends`.
    """

    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    needs_run = True
    symptom = Symptom.CRASH
    kinds: ClassVar[frozenset[str]]

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        """The explanations of a crash in the program itself whose exception is one of `kinds`."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[Mend]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or crash.kind not in self.kinds:
            return
        for fault in self.mends(subject, crash):
            yield fault.site, fault


class RaisedTemplate(MendTemplate):
    """Base of the templates that explain an exception by the expression of the program that was under way.

    A subclass names the exceptions (`raised`, as words) and a pattern of their message (`said`), and reads the expression in `mends`.
    """

    needs_run = True
    symptom = Symptom.CRASH
    raised: ClassVar[str] = "RuntimeError"
    said: ClassVar[str]

    def mends(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Mend]:
        """The explanations by the innermost expression, or statement, of the program itself that raised."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[Mend]:
        node = raised_at(subject, self.raised, self.said)
        for fault in self.mends(subject, node) if node is not None else ():
            yield fault.site, fault
