"""The validation ladder: takes a candidate up its rungs, the cheap ones first, and stops at the first that refuses it.

The ladder decides which evidence a rung needs and gathers it through a `Laboratory`; the judging is done by the
validators, which are pure. Every verdict is kept, with the time that its rung took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dnnfix.errors import CatalogueError
from dnnfix.records import NOT_RUN, RUNGS, Family, Finding, RunOutcome, Status, Trace, Verdict
from dnnfix.run.job import Experiment, Speculation
from dnnfix.source.program import Source
from dnnfix.validate.evidence import Evidence, Pair, Validator
from dnnfix.validate.learning import MAX_PAIRS, MIN_PAIRS, as_far, decide, difference, score, threshold
from dnnfix.validate.side_effects import MEASURED

TRAINED = ("learn", "honest", "harmless")
"""Rungs that a patch which only renames is judged on with what time was left for."""

BLOCKING = (Status.FAIL, Status.INCONCLUSIVE)


class Laboratory(Protocol):
    """The interface by which the ladder runs programs and reads their traces."""

    @property
    def validators(self) -> tuple[Validator, ...]:
        """The judges of all rungs."""
        ...

    def observe(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A short run that records every call of the first steps."""
        ...

    def observe_whole(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A recorded run that the clock alone ends."""
        ...

    def observe_anew(self, source: Source, seed: int) -> Trace:
        """The same run once more, to see what is otherwise each time."""
        ...

    def train(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A longer run, for curves."""
        ...

    def look(self, source: Source, seed: int, length: int = 0) -> Trace:
        """A longer run that asks what there is to learn in the program's data, too; the greater `length`, the more steps."""
        ...

    def speculate(self, source: Source, seed: int, speculation: Speculation) -> Trace:
        """A short run that looks around, or tries edits, where the program crashes."""
        ...

    def observe_all(self, sources: Sequence[Source], seed: int) -> None:
        """Observe every program, so that `observe` need not run them one by one."""
        ...

    def time_left(self) -> float:
        """Seconds of the file's budget that are left."""
        ...

    def allow_steps(self, most: int, trials: int) -> None:
        """Have trials take up to so many steps from now on, and no fewer than usual, as far as the time left is enough."""
        ...

    def prepare(self, sources: Sequence[Source], seeds: Sequence[int]) -> None:
        """Train every program on every seed, so that `train` need not run them one by one."""
        ...

    def findings(self, source: Source, trace: Trace | None) -> tuple[Finding, ...]:
        """What the catalogue finds in a program and its trace."""
        ...

    def user_tests(self, source: Source) -> tuple[int, str] | None:
        """The user's test command on the program; `None` when there is no command."""
        ...

    def as_before(self, before: Source, after: Source, seed: int) -> Verdict | None:
        """The verdict of a comparison with the old program in an old era; `None` without such an interpreter."""
        ...

    def out_of_time(self) -> bool:
        """Whether the budget of the file is used up."""
        ...


@dataclass(frozen=True, slots=True)
class Climb:
    """How far a candidate came: its evidence, and the rung where it fell (empty when it reached the top)."""

    evidence: Evidence
    fell: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the candidate reached the top of the ladder."""
        return not self.fell

    @property
    def only_unreached(self) -> bool:
        """Whether nothing is held against the candidate but that the run did not come to it."""
        blocking = [verdict for verdict in self.evidence.verdicts if verdict.status in BLOCKING]
        return bool(blocking) and all(NOT_RUN in verdict.measured for verdict in blocking)


def climb(evidence: Evidence, laboratory: Laboratory) -> Climb:
    """Take a candidate up the ladder. `evidence` holds the program before and after, and the trace before.

    The trace after is gathered on the `run` rung. Where time runs out the candidate is inconclusive, never accepted,
    save one that only renames and has passed the rungs that a rename can fall from.
    """
    for rung in RUNGS:
        if laboratory.out_of_time() and rung != "parse" and not (evidence.renames and rung in TRAINED):
            verdict = Verdict("budget", rung, Status.INCONCLUSIVE, "the time of this file was used up")
            return Climb(replace(evidence, verdicts=(*evidence.verdicts, verdict)), rung)
        started = time.monotonic()
        evidence = GATHER[rung](evidence, laboratory)
        spent = time.monotonic() - started
        verdicts = [validator.judge(evidence) for validator in laboratory.validators if validator.rung == rung]
        if verdicts:
            verdicts[0] = replace(verdicts[0], seconds=round(spent, 3))
        evidence = replace(evidence, verdicts=(*evidence.verdicts, *verdicts))
        if rung == "run" and not any(verdict.status in BLOCKING for verdict in verdicts):
            compared = _compared(evidence, laboratory)
            verdicts += compared
            evidence = replace(evidence, verdicts=(*evidence.verdicts, *compared))
        if any(verdict.status in BLOCKING for verdict in verdicts):
            return Climb(evidence, rung)
    return Climb(evidence)


def _nothing(evidence: Evidence, laboratory: Laboratory) -> Evidence:
    return evidence


def _run(evidence: Evidence, laboratory: Laboratory) -> Evidence:
    seed, observe = evidence.before.seed, laboratory.observe
    measured = measurements(laboratory.validators)
    after = observe(evidence.source_after, seed, *measured)
    if evidence.before.crash is None and after.crashed_after_cut:  # uncut, it may well not
        observe = laboratory.observe_whole
        after = observe(evidence.source_after, seed, *measured)
    if after.crash is not None or (evidence.before.crash is not None and not evidence.by_model):
        return replace(evidence, after=after)
    before = observe(evidence.source_before, seed, *measured)
    return replace(evidence, before=before, after=after)


def measurements(validators: Iterable[Validator]) -> tuple[Experiment, ...]:
    """The experiments of the runs that compare a candidate: those that validators and side effects read.

    Raises `CatalogueError` where a judge reads what no experiment measures.
    """
    read = {name: validator.name for validator in validators for name in validator.measures}
    for name in set(read) - set(Experiment):
        raise CatalogueError(
            f"validators: MEASURES of {read[name]} names experiments, which are {', '.join(sorted(Experiment))}. Received: {name}"
        )
    return tuple(sorted({*MEASURED, *map(Experiment, read)}))


def _compared(evidence: Evidence, laboratory: Laboratory) -> list[Verdict]:
    """A patch that moves a program to a new version is compared with the program in the old one."""
    if not any(finding.family is Family.VERSIONING for finding in evidence.findings):
        return []
    started = time.monotonic()
    verdict = laboratory.as_before(evidence.source_before, evidence.source_after, evidence.before.seed)
    return [replace(verdict, seconds=round(time.monotonic() - started, 3))] if verdict is not None else []


def _look_again(evidence: Evidence, laboratory: Laboratory) -> Evidence:
    return replace(evidence, remaining=laboratory.findings(evidence.source_after, evidence.after))


def _pairs(evidence: Evidence, laboratory: Laboratory) -> Evidence:
    """Paired trials until the sequential test is settled; none where there is nothing to compare."""
    if evidence.before.outcome is RunOutcome.CRASHED or score(evidence.after) is None or score(evidence.before) is None:
        return evidence
    pairs: list[Pair] = []
    cut_short = False
    seeds = range(evidence.before.seed + 1, evidence.before.seed + 1 + MAX_PAIRS)
    laboratory.prepare((evidence.source_before, evidence.source_after), seeds[:MIN_PAIRS])
    for seed in seeds:
        if laboratory.out_of_time():
            cut_short = True
            break
        before, after = (laboratory.train(s, seed) for s in (evidence.source_before, evidence.source_after))
        pairs.append(Pair(as_far(before, after), after))
        differences = [d for d in (difference(pair.before, pair.after) for pair in pairs) if d is not None]
        better = replace(evidence, pairs=tuple(pairs)).wants_improvement
        decision = decide(differences, threshold(better))
        hopeless = len(pairs) >= MIN_PAIRS and not decision.can_succeed(MAX_PAIRS - len(pairs))
        if not differences or decision.settled or hopeless:
            break
    return replace(evidence, pairs=tuple(pairs), cut_short=cut_short)


def _doubts(evidence: Evidence, laboratory: Laboratory) -> Evidence:
    """Trials on permuted targets, for the seeds of the paired trials (or one of their own after a crash), and the first examples.

    Only where better training is claimed: of other patches no judge asks for them, and they take longer than all other runs.
    """
    if not evidence.wants_improvement or laboratory.out_of_time():
        return evidence
    if not evidence.pairs and score(evidence.after) is None:
        return evidence
    seeds = [pair.after.seed for pair in evidence.pairs][:2] or [evidence.before.seed]
    trials = [laboratory.train(evidence.source_after, seed, Experiment.SHUFFLE_TARGETS) for seed in seeds]
    return replace(evidence, shuffled=tuple(trials), examples=_examples(evidence, laboratory))


def _examples(evidence: Evidence, laboratory: Laboratory) -> tuple[Trace, Trace]:
    """The first examples before and after."""
    sources = evidence.source_before, evidence.source_after
    before, after = (laboratory.observe(source, evidence.before.seed, Experiment.ANSWERS) for source in sources)
    return before, after


def _tests(evidence: Evidence, laboratory: Laboratory) -> Evidence:
    after = laboratory.user_tests(evidence.source_after)
    before = laboratory.user_tests(evidence.source_before) if after is not None else None
    return evidence if before is None or after is None else replace(evidence, tests=(before, after))


GATHER: dict[str, Callable[[Evidence, Laboratory], Evidence]] = {
    "parse": _nothing,
    "run": _run,
    "shapes": _nothing,
    "property": _look_again,
    "learn": _pairs,
    "honest": _doubts,
    "harmless": _tests,
}
"""What each rung has to gather before it is judged."""
