"""Runs the programs of a case to their end, as their authors would, and reads the case's symptom off each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dnnfix.bench.cases import Case
from dnnfix.bench.symptoms import Shown
from dnnfix.config import Settings
from dnnfix.records import Trace
from dnnfix.run.job import WHOLE, Budget, Job
from dnnfix.run.runner import Runner

SECONDS = 20.0
"""What a program of the benchmark may take on one core, from its first line to its last."""

KERAS_BACKEND = "torch"
"""The backend of Keras for programs that name none: what the cases are written and verified for, whatever a user has set."""

MOST_SHOWING = 1
"""Of five runs of a repaired program, how many may show the symptom: training has luck in it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A whole run of one program with one seed: what it says of the symptom, and its trace."""

    seed: int
    shown: Shown
    trace: Trace


def runner_for(settings: Settings) -> Runner:
    """What runs programs of the benchmark. Raises as `Runner` does."""
    python = Path(settings.python)
    return Runner(python, settings.tier, settings.trust, device=settings.asked_device, backend=KERAS_BACKEND)


def trials(case: Case, program: bytes, seeds: Iterable[int], runner: Runner, parallel: int = 1) -> tuple[Trial, ...]:
    """Whole runs of a program of the case, in the order of the seeds."""
    jobs = [whole_run(program, seed) for seed in seeds]
    traces: Mapping[Job, Trace] = dict(runner.run_many(jobs, parallel))
    return tuple(Trial(job.seed, case.symptom.shown(traces[job]), traces[job]) for job in jobs)


def whole_run(program: bytes, seed: int, pace: float = 1.0) -> Job:
    """The job that runs a program, alone, to its end; its clocks run `pace` times as fast as they should."""
    budget = Budget(steps=WHOLE, evaluation_batches=WHOLE, seconds=SECONDS)
    return Job("-", program, seed, budget, record_steps=2, pace=pace)


def passes(shown: Iterable[Shown]) -> bool:
    """Whether runs over five seeds count as free of the symptom: all but one ended well without it."""
    return sum(said is not Shown.NO for said in shown) <= MOST_SHOWING
