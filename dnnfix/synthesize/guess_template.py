"""What the templates share that guess: small edits at a crash that no rule explains, for the search to try one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, TypeAlias

from dnnfix.records import CRASH_CAUSE, Candidate, Decline, Edit, Finding, Symptom
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

Guesses: TypeAlias = Iterator[tuple[str, tuple[Edit, ...], float]]
"""Titles, edits and priors."""


class GuessTemplate(FixTemplate):
    """Base of the templates that do not know the fault, only where the program crashed and what its values were.

    Rules go first. Where none of them has an accepted patch, the guesses of all such templates are tried, and one is
    accepted only where every guess that comes up the ladder makes the program do the same: two repairs under which it
    does different things are none, as nothing says which was meant.
    """

    guess = True
    needs_run = True
    confidence: ClassVar[float] = 0.5

    def guesses(self, subject: Subject) -> Guesses:
        """The edits worth trying at the crash of the program."""
        raise NotImplementedError

    def detect(self, subject: Subject) -> Iterator[Finding]:
        crash = subject.crash
        if crash is None or crash.site is None or crash.site.path or subject.node(crash.site) is None:
            return
        if next(self.guesses(subject), None) is not None:
            said = ": ".join([crash.kind, *crash.message.strip().splitlines()[:1]])
            yield self.finding(
                crash.site,
                symptom=Symptom.CRASH,
                confidence=self.confidence,
                cause=CRASH_CAUSE,
                crash=said[:200],
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for title, edits, prior in self.guesses(subject):
            yield self.candidate(finding, title, *edits, prior=prior)
