"""What the templates share that guess: small edits at a crash that no rule explains, for the search to try one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from dnnfix.detect.failing import Part, failing_parts
from dnnfix.records import CRASH_CAUSE, Candidate, Decline, Edit, Finding, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.data import wrapped
from dnnfix.template import FixTemplate

MOST = 12
"""Guesses of one template for one crash."""

NEAREST, FARTHER, RARER = 0.4, 0.03, 0.01
"""The prior of the most usual change of the innermost part, and what it loses for each part and each change before it."""


class Around(NamedTuple):
    """What stands before and behind a part once it is changed, and the imports that this needs."""

    before: str = ""
    after: str = ""
    imports: tuple[Edit, ...] = ()


class GuessTemplate(FixTemplate):
    """Base of the templates that do not know the fault, only where the program crashed and what its values were.

    Rules go first. Where none of them has an accepted patch, the guesses of all such templates are tried, and one is
    accepted only where every guess that comes up the ladder makes the program do the same: two repairs under which it
    does different things are none, as nothing says which was meant.
    """

    guess = True
    needs_run = True
    confidence: ClassVar[float] = 0.5

    def parts(self, subject: Subject) -> Iterable[Part]:
        """The parts of the failing expression that may be changed, innermost first."""
        return failing_parts(subject)

    def changes(self, subject: Subject, part: Part) -> Iterator[Around]:
        """What can be written around a part to change it, the most usual first."""
        raise NotImplementedError

    def _guesses(self, subject: Subject) -> list[tuple[float, Part, Around]]:
        """The changes worth trying, each with its prior, the likeliest first."""
        found = [
            (NEAREST - FARTHER * nearness - RARER * place, part, change)
            for nearness, part in enumerate(self.parts(subject))
            for place, change in enumerate(self.changes(subject, part))
        ]
        return sorted(found, key=lambda guess: -guess[0])[:MOST]

    def detect(self, subject: Subject) -> Iterator[Finding]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or subject.node(crash.site) is None:
            return
        if self._guesses(subject):
            said = ": ".join([crash.kind, *crash.message.strip().splitlines()[:1]])
            yield self.finding(
                crash.site,
                symptom=Symptom.CRASH,
                confidence=self.confidence,
                cause=CRASH_CAUSE,
                crash=said[:200],
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for prior, part, change in self._guesses(subject):
            code = subject.text(subject.source.site(part.node))
            edit = wrapped(subject, part.node, change.before, change.after)
            title = f"Take {change.before}{code}{change.after} for {code}"
            yield self.candidate(finding, title, edit, *change.imports, prior=prior)
