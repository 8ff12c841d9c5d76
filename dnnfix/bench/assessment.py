"""Carries out one arm of one case: a pure function from an assignment to its result, both plain records.

The records travel as JSON, to a process beside this one or to another machine. The engine receives the program alone,
in a folder of its own; everything else of the case is used afterwards, to judge the result.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from dnnfix.bench import arms
from dnnfix.bench.cases import REPAIR, Case
from dnnfix.bench.oracle import passes, whole_run
from dnnfix.bench.scoring import changed_lines, detected, localized, same_tree
from dnnfix.bench.symptoms import Predicate, Shown
from dnnfix.config import Settings
from dnnfix.emit.diff import taken
from dnnfix.errors import DnnfixError
from dnnfix.pipeline import suggest_file
from dnnfix.records import (
    UNEXPLAINED_CODE,
    Family,
    FileReport,
    Patch,
    PatchVerdict,
    RunRecord,
    Symptom,
    Trace,
)
from dnnfix.run.job import Job
from dnnfix.run.runner import Runner
from dnnfix.source.diff import unified_diff
from dnnfix.validate.behaviour import same_behaviour, same_but_for_itself

NAME = "program.py"
"""What every program is called while it is repaired, so that no name tells what case it is."""

FRESH = 5
"""Seeds that neither the case nor the engine was proven with, on which the oracle judges."""


MASKED = "behaviour, but for what differs by itself"
"""How a patch equals a repair that does not do the same twice under one seed, such as one that prints a clock."""

FURTHER_TURNS = (2, 3, 4)
"""Runs of a repair beside its first one that show what it does otherwise, each with clocks that run so many times as fast: one of hundredths
may stand alike in all of them."""


class Arm(StrEnum):
    """What goes up the ladder."""

    REPAIR = "repair"
    """The engine, on the program with the fault."""
    HEALTHY = "healthy"
    """The engine, on the repaired program: whatever it gets accepted there is false."""
    NULL = "null"
    """An empty patch of the program with the fault."""
    RANDOM = "random"
    """A random edit of it."""
    SEARCH = "search"
    """The engine with every rule off, on a program that crashes: what the search for small edits does alone."""
    MODEL = "model"
    """The engine without proposals of its own: what a language model proposes, judged as all else is."""


REPAIRING = (Arm.REPAIR, Arm.SEARCH, Arm.MODEL)
"""The arms whose patches the case's oracle and its ground truth judge."""

USUAL = (Arm.REPAIR, Arm.HEALTHY, Arm.NULL, Arm.RANDOM)
"""The arms of a replay that names none."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One arm of one case, with all that is needed to carry it out anywhere."""

    case: str
    arm: Arm
    program: str
    repairs: Mapping[str, str]
    """The programs after each repair of the ground truth, by the name of its diff."""
    lines: tuple[int, ...]
    """The lines of the program that the repairs of the ground truth change."""
    family: Family
    symptom: Predicate
    fresh: tuple[int, ...]
    budget: float
    gpu: bool = False
    """Whether it asks for a machine with a GPU."""
    model: str = ""
    """The language model that is asked, where one is."""

    def to_json(self) -> dict[str, Any]:
        """The assignment as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Assignment:
        """The assignment from the plain data that `to_json` returned."""
        symptom = dict(data["symptom"])
        given = {
            "arm": Arm(data["arm"]),
            "family": Family(data["family"]),
            "lines": tuple(data["lines"]),
            "fresh": tuple(data["fresh"]),
            "symptom": Predicate(**{**symptom, "kind": Symptom(symptom["kind"])}),
        }
        return cls(**{**data, **given})


@dataclass(frozen=True, slots=True)
class Assessed:
    """What became of an assignment. `failed` says why it has no result; a patch is in `diff` where one was accepted.

    The fields from `runnable` to `wrong` are the steps of the arms in `REPAIRING`, `accepted` is asked of every arm.
    """

    case: str
    arm: Arm
    failed: str = ""
    runnable: bool = False
    reproduced: bool = False
    detected: bool = False
    localized: bool = False
    patched: bool = False
    accepted: bool = False
    """Whether the ladder let a patch through: it is plausible."""
    correct: bool = False
    wrong: bool = False
    equals: str = ""
    """How an accepted patch equals a ground-truth repair: `tree: repair.diff`, `behaviour: …`, or not at all.

    It starts with `MASKED` where two runs of the repair differ by themselves and all else is the same.
    """
    found: tuple[str, ...] = ()
    """The findings, as code and line."""
    template: str = ""
    diff: str = ""
    reason: str = ""
    """Why there is no patch, where the ladder stopped it, or what the oracle says against it."""
    oracle: tuple[str, ...] = ()
    """What the case's oracle said of the accepted patch on the fresh seeds."""
    seconds: float = 0.0
    """Wall time of the arm."""
    run_seconds: float = 0.0
    """Time that programs ran in it, for the engine and for the oracle together."""
    oracle_seconds: float = 0.0
    runs: int = 0
    seeds: int = 0
    """On how many seeds programs were run in it."""
    plain_seconds: float = 0.0
    """Time of one whole run of the program with the fault and of the repaired one, where both were run."""
    author: str = ""
    """The language model that wrote the accepted patch."""
    model: Mapping[str, Any] | None = None
    """What a language model was asked, as `ModelUse` has it."""

    def to_json(self) -> dict[str, Any]:
        """The result as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Assessed:
        """The result from the plain data that `to_json` returned."""
        tuples = {name: tuple(data[name]) for name in ("found", "oracle")}
        return cls(**{**data, "arm": Arm(data["arm"]), **tuples})


def assignments(case: Case, budget: float, wanted: Iterable[Arm], model: str = "") -> list[Assignment]:
    """The arms of a case, as assignments; the search arm only where the case is a crash. `model` is what the model's arm asks.

    Raises `InputError` where a diff of the case does not apply.
    """
    repairs = {name: case.after(name).decode() for name in case.repairs}
    lines = sorted(set().union(*(changed_lines(diff) for diff in case.repairs.values())))
    first = max(case.seeds) + 1
    return [
        Assignment(
            case=case.id,
            arm=arm,
            program=case.program.decode(),
            repairs=repairs,
            lines=tuple(lines),
            family=case.family,
            symptom=case.symptom,
            fresh=tuple(range(first, first + FRESH)),
            budget=budget,
            gpu="cuda" in case.program.decode(),
            model=model if arm is Arm.MODEL else "",
        )
        for arm in wanted
        if arm is not Arm.SEARCH or case.symptom.kind is Symptom.CRASH
    ]


def assess(assignment: Assignment, settings: Settings, runner: Runner) -> Assessed:
    """Carry out an assignment. Whatever goes wrong is recorded in `failed`, and never raised."""
    started = time.monotonic()
    settings = replace(settings, budget=assignment.budget, jobs=1)
    with tempfile.TemporaryDirectory(prefix="dnnfix-bench-") as folder:
        path = str(Path(folder, NAME))
        settings = replace(settings, cache_dir=Path(folder, "cache"), exchanges_dir=settings.exchanges)
        try:
            found = _ARMS[assignment.arm](assignment, path, settings, runner)
        except DnnfixError as error:
            found = Assessed(assignment.case, assignment.arm, failed=str(error))
        except Exception as error:  # noqa: BLE001 - one case must not end the replay of the others
            found = Assessed(assignment.case, assignment.arm, failed=f"internal error: {type(error).__name__}: {error}")
    return replace(found, seconds=round(time.monotonic() - started, 3))


def _repair(assignment: Assignment, path: str, settings: Settings, runner: Runner) -> Assessed:
    program = assignment.program.encode()
    report = _suggested(program, path, settings, runner)
    if report.model is not None and report.model.silent:  # what it would have answered is not known
        return Assessed(assignment.case, assignment.arm, failed="; ".join(report.model.remarks))
    bench = _Oracle(assignment, runner)
    (shown,) = bench.shown(program, assignment.fresh[:1])
    findings = [result.finding for result in report.findings]
    result = Assessed(
        assignment.case,
        assignment.arm,
        runnable=not report.unrun,
        reproduced=shown is Shown.YES,
        detected=detected(findings, assignment.family),
        localized=localized(findings, assignment.lines),
        patched=bool(report.patches),
        found=tuple(f"{finding.code}:{finding.site.line}" for finding in findings),
        model=asdict(report.model) if report.model is not None else None,
    )
    patch = _best(report)
    if patch is None:
        result = replace(result, reason=_why_none(report))
    else:
        after = taken(program, path, [patch])
        written = patch.candidate
        result = replace(result, accepted=True, template=written.template, author=written.author)
        result = _judged(result, after, bench)
        result = replace(result, diff=unified_diff(program, after, NAME))
    truth = assignment.repairs[REPAIR].encode()
    bench.shown(truth, assignment.fresh[:1])
    plain = bench.seconds(program, assignment.fresh[0]) + bench.seconds(truth, assignment.fresh[0])
    return replace(_costed(result, report.runs, bench), plain_seconds=round(plain, 3))


def _search(assignment: Assignment, path: str, settings: Settings, runner: Runner) -> Assessed:
    """The repair arm with no rule switched on: what is found then comes of the search alone, under its own code."""
    return _repair(assignment, path, replace(settings, select=(UNEXPLAINED_CODE,)), runner)


def _model(assignment: Assignment, path: str, settings: Settings, runner: Runner) -> Assessed:
    """The repair arm with no proposals but those of a model: it is told what the engine found."""
    return _repair(assignment, path, replace(settings, unfixable=("ALL",), proposer="model"), runner)


def _judged(result: Assessed, after: bytes, bench: _Oracle) -> Assessed:
    """What the case's own oracle and its ground truth say of an accepted patch."""
    fresh = bench.assignment.fresh
    shown = bench.shown(after, fresh)
    said = tuple(word.value for word in shown)
    if not passes(shown):
        reason = f"the symptom is not gone: {', '.join(said)} on {len(fresh)} fresh seeds"
        return replace(result, wrong=True, oracle=said, reason=reason)
    equals = _equality(after, bench)
    return replace(
        result,
        correct=bool(equals),
        equals=equals,
        oracle=said,
        reason="" if equals else "the symptom is gone, and the repair is none of the ground truth",
    )


def _equality(after: bytes, bench: _Oracle) -> str:
    """How a program equals a repair of the ground truth, as `Assessed.equals` has it; the strictest way counts."""
    repairs = {name: repaired.encode() for name, repaired in bench.assignment.repairs.items()}
    seeds = bench.assignment.fresh[:2]
    for name, repaired in repairs.items():
        if same_tree(after, repaired):
            return f"tree: {name}"
    for name, repaired in repairs.items():
        if same_behaviour(bench.traces(after, seeds), bench.traces(repaired, seeds)):
            return f"behaviour: {name}"
    for name, repaired in repairs.items():
        once, again = bench.traces(repaired, seeds), [bench.traces(repaired, seeds, turn) for turn in FURTHER_TURNS]
        if same_but_for_itself(bench.traces(after, seeds), once, list(zip(*again, strict=True))):
            return f"{MASKED}: {name}"
    return ""


def _healthy(assignment: Assignment, path: str, settings: Settings, runner: Runner) -> Assessed:
    program = assignment.repairs[REPAIR].encode()
    report = _suggested(program, path, settings, runner)
    patch = _best(report)
    result = Assessed(
        assignment.case,
        assignment.arm,
        runnable=not report.unrun,
        patched=bool(report.patches),
        accepted=patch is not None,
        found=tuple(f"{result.finding.code}:{result.finding.site.line}" for result in report.findings),
        template=patch.candidate.template if patch is not None else "",
        diff=unified_diff(program, taken(program, path, [patch]), NAME) if patch is not None else "",
    )
    return _costed(result, report.runs)


def _against(assignment: Assignment, path: str, settings: Settings, runner: Runner) -> Assessed:
    """The null arm and the random one."""
    program = assignment.program.encode()
    if assignment.arm is Arm.NULL:
        patched = arms.null_patch(program)
    else:
        patched = arms.random_patch(program, seed=int.from_bytes(assignment.case.encode()[-6:]))
    Path(path).write_bytes(program)
    climbed, runs = arms.put_to_the_ladder(program, patched, path, settings, runner)
    result = Assessed(
        assignment.case,
        assignment.arm,
        patched=True,
        accepted=climbed.accepted,
        diff=unified_diff(program, patched, NAME),
    )
    if climbed.accepted:
        bench = _Oracle(assignment, runner)
        said = tuple(word.value for word in bench.shown(patched, assignment.fresh))
        return _costed(replace(result, oracle=said), runs, bench)
    refusal = next((v for v in reversed(climbed.evidence.verdicts) if v.rung == climbed.fell), None)
    return _costed(replace(result, reason=f"{climbed.fell}: {refusal.reason if refusal is not None else ''}"), runs)


_ARMS = {
    Arm.REPAIR: _repair,
    Arm.HEALTHY: _healthy,
    Arm.NULL: _against,
    Arm.RANDOM: _against,
    Arm.SEARCH: _search,
    Arm.MODEL: _model,
}


def _costed(result: Assessed, runs: Sequence[RunRecord], bench: _Oracle | None = None) -> Assessed:
    """The result with what its runs cost, those of the engine and those of the oracle."""
    oracle = bench.total if bench is not None else 0.0
    seeds = {run.seed for run in runs} | (bench.seeds if bench is not None else set())
    return replace(
        result,
        runs=len(runs),
        seeds=len(seeds),
        run_seconds=round(sum(run.seconds for run in runs) + oracle, 3),
        oracle_seconds=round(oracle, 3),
    )


def _suggested(program: bytes, path: str, settings: Settings, runner: Runner) -> FileReport:
    Path(path).write_bytes(program)
    return suggest_file(program, path, settings, lambda words: None, runner)


def _best(report: FileReport) -> Patch | None:
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    return min(accepted, key=lambda patch: patch.rank, default=None)


def _why_none(report: FileReport) -> str:
    """Why no patch was accepted: the first refusal, else why nothing was proposed, else that nothing was found."""
    for patch in report.patches:
        if (refusal := patch.refusal) is not None:
            return f"{patch.candidate.template} fell at {refusal.rung}: {refusal.reason}"
    if report.findings:
        first = report.findings[0]
        return f"{first.finding.code} {first.outcome}: {first.reason}"
    return report.runs[-1].detail if report.unrun and report.runs else "nothing was found"


@dataclass
class _Oracle:
    """Whole runs for one assignment, made once each unless a second time is asked for."""

    assignment: Assignment
    runner: Runner
    _known: dict[tuple[bytes, int, int], Trace] = field(default_factory=dict)

    def traces(self, program: bytes, seeds: Sequence[int], turn: int = 1) -> list[Trace]:
        """Whole runs of a program, by seed: those of the first turn, or of another one, whose clocks run `turn` times as fast."""
        missing = [whole_run(program, seed, turn) for seed in seeds if (program, seed, turn) not in self._known]
        done: dict[Job, Trace] = dict(self.runner.run_many(missing, parallel=1))
        self._known.update({(program, job.seed, turn): trace for job, trace in done.items()})
        return [self._known[program, seed, turn] for seed in seeds]

    def shown(self, program: bytes, seeds: Sequence[int]) -> list[Shown]:
        """What whole runs of a program say of the symptom."""
        return [self.assignment.symptom.shown(trace) for trace in self.traces(program, seeds)]

    def seconds(self, program: bytes, seed: int) -> float:
        """How long a run that was made took."""
        return self._known[program, seed, 1].seconds

    @property
    def seeds(self) -> set[int]:
        """The seeds that were run."""
        return {seed for _, seed, _ in self._known}

    @property
    def total(self) -> float:
        """How long all runs took."""
        return sum(trace.seconds for trace in self._known.values())
