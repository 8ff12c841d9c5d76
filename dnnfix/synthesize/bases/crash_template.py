"""Bases of the rules that explain a crash: by the values in the failing statement, by the failing expression, or by a
shape.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from dnnfix.detect.crashes.raised import raised_at
from dnnfix.records import Crash, Edit, Family, FixPattern, Held, Replace, Site, Symptom, Wrap
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Fault, ReadTemplate

N = TypeVar("N")


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

    def fault(self, at: ast.AST, what: str | Mapping[str, Any], title: str, *edits: Edit, prior: float = 0.9) -> Fault:
        """The explanation of the crash by what is wrong at a node, with one repair; as sure as the template is.

        `what` is the message, or the words that fill the braces of the template's.
        """
        return Fault(self.source.site(at), what, ((title, edits, prior),))


@dataclass(frozen=True, slots=True)
class Reading(Generic[N]):
    """A row of a table of crashes: which exception, at which kind of expression, and what explains it."""

    kinds: str
    message: str
    at: type[N]
    explain: Callable[[Failure[N]], Iterator[Fault]]


def reads(kinds: str, message: str, at: type[N]) -> Callable[[Callable[[Failure[N]], Iterator[Fault]]], Reading[N]]:
    """Makes a row of what explains a crash: a function that yields what is wrong, with the repairs.

    `kinds` has the names of exceptions, `message` is a pattern that is searched for in what the exception says. `at` is `object`
    where the expression does not matter, or may be unknown.
    """
    return lambda explain: Reading(kinds, message, at, explain)


class CrashTemplate(ReadTemplate):
    """Base of the templates that explain an exception by the values that the failing statement held.

    A subclass has a table of `readings`. One that reads crashes in another way names the exceptions that it can explain
    (`kinds`) and reads one in `explain`.
    """

    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    needs_run = True
    confidence = 0.85
    symptom = Symptom.CRASH
    kinds: ClassVar[frozenset[str]] = frozenset()
    readings: ClassVar[tuple[Reading[Any], ...]] = ()

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        """The explanations of a crash in the program itself whose exception is one of `kinds`."""
        node = subject.node(crash.site)
        for row in self.readings:
            said = re.search(row.message, crash.message) if crash.kind in row.kinds.split() else None
            if said is not None and isinstance(node, row.at):
                for fault in row.explain(Failure(subject, crash, node, said)):
                    yield replace(fault, reading=row.explain.__name__.strip("_"))

    def read(self, subject: Subject) -> Iterator[Fault]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or not (self.readings or crash.kind in self.kinds):
            return
        yield from self.explain(subject, crash)


class RaisedTemplate(ReadTemplate):
    """Base of the templates that explain an exception by the expression of the program that was under way.

    A subclass names the exceptions (`raised`, as words) and a pattern of their message (`said`), and reads the expression in `explain`.
    """

    needs_run = True
    confidence = 0.85
    symptom = Symptom.CRASH
    raised: ClassVar[str] = "RuntimeError"
    said: ClassVar[str]

    def explain(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
        """The explanations by the innermost expression, or statement, of the program itself that raised."""
        raise NotImplementedError

    def read(self, subject: Subject) -> Iterator[Fault]:
        node = raised_at(subject, self.raised, self.said)
        if node is not None:
            yield from self.explain(subject, node)


class ShapeTemplate(ReadTemplate):
    """Base of the templates that explain a crash by a value whose shape does not fit.

    A subclass yields its readings of the crash in `explain`, each a fault with a `reading`: those of one crash are rivals.
    """

    needs_run = True
    symptom = Symptom.CRASH
    declined = "the shapes do not tell what was meant"

    def explain(self, subject: Subject) -> Iterator[Fault]:
        """The readings of a crash; none where it is not about shapes."""
        raise NotImplementedError

    def read(self, subject: Subject) -> Iterator[Fault]:
        if subject.crash is not None:
            yield from self.explain(subject)
