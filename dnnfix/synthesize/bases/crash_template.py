"""What the templates share that read a crash of Python itself: of types, names and calls, with the values at hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from dnnfix.records import (
    CRASH_CAUSE,
    Crash,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    Held,
    Replace,
    Site,
    Symptom,
    Wrap,
)
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate, Repairs

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Mend:
    """One explanation of a crash: where the fault is, what is said of it, and the repairs, the likeliest first.

    `declined` is why there is none, where that is another reason than the rule's own.
    """

    site: Site
    what: str
    repairs: tuple[tuple[str, tuple[Edit, ...], float], ...]
    symptom: Symptom = Symptom.CRASH
    declined: str = ""


@dataclass(frozen=True, slots=True)
class Failure(Generic[N]):
    """The expression that was under way at a crash, and what the exception says, as the row of a table looked for it."""

    subject: Subject
    crash: Crash
    node: N
    said: re.Match[str]

    @property
    def source(self) -> Source:
        """The program that crashed."""
        return self.subject.source

    def site(self, node: ast.AST) -> Site:
        """The place of a node of the program."""
        return self.source.site(node)

    def code(self, node: ast.AST) -> str:
        """A node as the program writes it."""
        return self.subject.text(self.source.site(node))

    def held(self, expr: ast.AST) -> Held | None:
        """What an expression of the failing statement held, where the run shows it."""
        return self.crash.held_at(self.source.site(expr))

    def exchange(self, node: ast.AST, code: str) -> Replace:
        """The edit that writes other code in place of a node."""
        return Replace(self.source.site(node), code)

    def wrap(self, node: ast.AST, before: str, after: str) -> Wrap:
        """The edit that writes code before and after a node."""
        return Wrap(self.source.site(node), before, after)

    def mend(self, at: ast.AST, what: str, title: str, *edits: Edit, prior: float = 0.9) -> Mend:
        """The explanation of the crash by what is wrong at a node, with one repair."""
        return Mend(self.source.site(at), what, ((title, edits, prior),))


@dataclass(frozen=True, slots=True)
class Reading(Generic[N]):
    """A row of a table of crashes: which exception, at which kind of expression, and what explains it."""

    kinds: str
    message: str
    at: type[N]
    explain: Callable[[Failure[N]], Iterator[Mend]]


def reads(kinds: str, message: str, at: type[N]) -> Callable[[Callable[[Failure[N]], Iterator[Mend]]], Reading[N]]:
    """Makes a row of what explains a crash: a function that yields what is wrong, with the repairs.

    `kinds` has the names of exceptions, `message` is a pattern that is searched for in what the exception says. `at` is `object`
    where the expression does not matter, or may be unknown.
    """
    return lambda explain: Reading(kinds, message, at, explain)


class CrashTemplate(FaultTemplate[Mend]):
    """Base of the templates that explain an exception by the values that the failing statement held.

    A subclass has a table of `readings`. One that reads crashes in another way names the exceptions that it can explain
    (`kinds`) and reads one in `mends`.
    """

    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{what}"
    needs_run = True
    declined = "nothing in the program tells what was meant"
    kinds: ClassVar[frozenset[str]] = frozenset()
    readings: ClassVar[tuple[Reading[Any], ...]] = ()
    confidence: ClassVar[float] = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        """The explanations of a crash in the program itself whose exception is one of `kinds`."""
        node = subject.node(crash.site)
        for row in self.readings:
            said = re.search(row.message, crash.message) if crash.kind in row.kinds.split() else None
            if said is not None and isinstance(node, row.at):
                yield from row.explain(Failure(subject, crash, node, said))

    def faults(self, subject: Subject) -> Faults[Mend]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or not (self.readings or crash.kind in self.kinds):
            return
        for mend in self.mends(subject, crash):
            yield mend.site, mend

    def report(self, site: Site, fault: Mend) -> Finding:
        cause = CRASH_CAUSE if fault.symptom is Symptom.CRASH else ""
        return self.finding(site, symptom=fault.symptom, confidence=self.confidence, cause=cause, what=fault.what)

    def repairs(self, subject: Subject, fault: Mend) -> Repairs:
        yield from fault.repairs
        if fault.declined:
            yield Decline(fault.declined)
