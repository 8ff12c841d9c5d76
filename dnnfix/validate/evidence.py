"""The evidence that a validator receives about a candidate (records before and after the patch), and the record of a
validator.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dnnfix.errors import CatalogueError, DnnfixError, file_of, in_words, line_of
from dnnfix.records import Applicability, Candidate, Family, Finding, Json, Symptom, Trace, Verdict
from dnnfix.run.job import Experiment
from dnnfix.source.program import Source
from dnnfix.validate.learning import LEARNED, score

EXPERIMENTS = tuple(map(str, Experiment))
"""What a validator may have measured."""

TRAINING_SYMPTOMS = frozenset({Symptom.NOT_LEARNING, Symptom.CONSTANT_OUTPUT, Symptom.NON_FINITE, Symptom.NO_GRADIENT})
"""Symptoms that only training shows to be gone; for all others it is enough that training does not get worse."""


OWN_FAULT = "own_fault"
"""What verdicts measure of a program that is at fault itself, not its patch."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two trials that differ in the program only: same seed, same budget."""

    before: Trace
    after: Trace


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one candidate when a rung is judged.

    `before` and `after` are the traces of the first run (same seed and budget). `pairs` are the paired trials of the
    learn rung, `shuffled` the trials of the patched program with permuted targets; both are empty below their rungs.
    `examples` are short runs of the program before and after that tell the first examples, where a gain is claimed.
    `cut_short` says that the time of the file was over before the paired trials had settled anything.
    `remaining` are the findings of the patched program, `original` those of the unpatched one. `tests` is the user's
    test command before and after, as (exit status, tail of the output).
    """

    applied: tuple[Candidate, ...]
    source_before: Source
    source_after: Source
    before: Trace
    after: Trace
    original: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    pairs: tuple[Pair, ...] = ()
    cut_short: bool = False
    shuffled: tuple[Trace, ...] = ()
    examples: tuple[Trace, Trace] | None = None
    tests: tuple[tuple[int, str], tuple[int, str]] | None = None
    verdicts: tuple[Verdict, ...] = ()
    made_from: Source | None = None
    """The program that the last step of the patch was applied to, where it is known."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that the candidate is meant to repair."""
        return tuple(finding for candidate in self.applied for finding in candidate.findings)

    @property
    def by_model(self) -> bool:
        """Whether a language model wrote a part of the patch."""
        return any(candidate.author for candidate in self.applied)

    @property
    def renames(self) -> bool:
        """Whether the patch only brings a program to today's versions, in ways that provably keep what it computes."""
        safe = all(candidate.applicability is Applicability.SAFE for candidate in self.applied)
        return bool(self.findings) and safe and all(f.family is Family.VERSIONING for f in self.findings)

    @property
    def wants_improvement(self) -> bool:
        """Whether the patch has to train better, not only as well: where a symptom of training was observed.

        So does one whose fault only hinders training, where the trials of the original learned without it.
        """
        if any(finding.symptom in TRAINING_SYMPTOMS for finding in self.findings):
            return True
        return any(candidate.only_hinders for candidate in self.applied) and self._learned_before

    @property
    def _learned_before(self) -> bool:
        """Whether the trials of the original came to a skill that leaves nothing to repair."""
        known = [score(pair.before) for pair in self.pairs]
        skills = [found.value for found in known if found is not None and found.yardstick == "skill"]
        return bool(skills) and statistics.fmean(skills) >= LEARNED


def own_fault(seen: str, measured: Mapping[str, Json]) -> Verdict:
    """The verdict on what is wrong with a patched program, but cannot be due to a patch that only `renames`."""
    reason = f"{seen}; the patch keeps what is computed, so that is a fault of the program's own"
    return Verdict.not_applicable(reason, {**measured, OWN_FAULT: True})


@dataclass(frozen=True, slots=True)
class Validator:
    """A judge of one property, with its rung of the ladder."""

    name: str
    rung: str
    opinion: Callable[[Evidence], Verdict]
    """What `judge` of its module says, without its name."""
    measures: tuple[str, ...] = ()
    """The experiments of `dnnfix.run.job` whose results it reads in the first run before and after."""

    def judge(self, evidence: Evidence) -> Verdict:
        """The verdict on a candidate. Raises `CatalogueError` where the module says something else, and for an error in one of another package."""
        module = self.opinion.__module__
        try:
            said = self.opinion(evidence)
        except DnnfixError:
            raise
        except Exception as error:
            if module.startswith("dnnfix."):
                raise
            place = line_of(error, file_of(module))
            raise CatalogueError(f"{place}: the validator {self.name} failed: {in_words(error)}") from error
        if not isinstance(said, Verdict):
            raise CatalogueError(
                f"{file_of(module)}: judge returns a Verdict, as Verdict.passes, fails, inconclusive and "
                f"not_applicable make it. Received: {said!r}"
            )
        return replace(said, validator=self.name, rung=self.rung)
