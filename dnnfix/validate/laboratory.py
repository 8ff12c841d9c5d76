"""Runs variants of one program for the ladder, and never the same run twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dnnfix.records import Finding, RunRecord, Trace
from dnnfix.run.job import Budget, Experiment, Job
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source
from dnnfix.validate.evidence import Validator
from dnnfix.validate.user_tests import run_tests

OBSERVED_STEPS = 12
"""Optimizer steps of an observing run: enough for a second epoch's effects on toy data, over in a moment."""

TRAINED_STEPS = 150
"""Optimizer steps of a training trial: a small network on learnable data leaves its starting loss well before."""

Key = tuple[bytes, int, int, tuple[Experiment, ...]]


@dataclass
class TrialLaboratory:
    """Observes and trains variants of the program at `path`, within `deadline` (in `time.monotonic` seconds)."""

    runner: Runner
    path: str
    detector: Callable[[Source, Trace | None], tuple[Finding, ...]]
    deadline: float
    validators: tuple[Validator, ...]
    test_command: str | None = None
    workers: int = 1
    arguments: tuple[str, ...] = ()
    seconds: float = 20.0
    records: list[RunRecord] = field(default_factory=list)
    _cache: dict[Key, Trace] = field(default_factory=dict)

    def observe(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A short run that records every call of the first steps."""
        return self._run(source, seed, OBSERVED_STEPS, experiments)

    def train(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A longer run of one seed, for its curve."""
        return self._run(source, seed, TRAINED_STEPS, experiments)

    def prepare(self, sources: Sequence[Source], seeds: Sequence[int]) -> None:
        """Train every program on every seed side by side, so that `train` has the traces at hand."""
        keys = {(source.raw, seed): source for seed in seeds for source in sources}
        jobs = {
            self._job(source, seed, TRAINED_STEPS, ()): (source.raw, seed, TRAINED_STEPS, ())
            for (_, seed), source in keys.items()
            if (source.raw, seed, TRAINED_STEPS, ()) not in self._cache
        }
        done = dict(self.runner.run_many(jobs, parallel=self.workers)) if jobs else {}
        for job, key in jobs.items():  # in the order of the request, so that equal runs give equal reports
            if job in done:
                self._keep(key, done[job])

    def findings(self, source: Source, trace: Trace | None) -> tuple[Finding, ...]:
        """What the catalogue finds in the program and its trace."""
        return self.detector(source, trace)

    def out_of_time(self) -> bool:
        """Whether the time of the file is used up."""
        return time.monotonic() >= self.deadline

    def user_tests(self, source: Source) -> tuple[int, str] | None:
        """Exit status and last lines of the test command, run in a copy of the program's folder with `source` in it."""
        if not self.test_command:
            return None
        return run_tests(self.test_command, Path(self.path), source.raw)

    def _run(self, source: Source, seed: int, steps: int, experiments: tuple[Experiment, ...]) -> Trace:
        key = (source.raw, seed, steps, experiments)
        known = self._cache.get(key)
        return known if known is not None else self._keep(key, self.runner.run(self._job(source, *key[1:])))

    def _job(self, source: Source, seed: int, steps: int, experiments: tuple[Experiment, ...]) -> Job:
        left = max(1.0, self.deadline - time.monotonic())
        budget = Budget(steps=steps, seconds=min(self.seconds, left))
        recorded = 2 if steps == OBSERVED_STEPS else 0
        return Job(self.path, source.runnable, seed, budget, recorded, experiments, self.arguments)

    def _keep(self, key: Key, trace: Trace) -> Trace:
        self._cache[key] = trace
        name = f"run-{len(self.records) + 1}"
        self.records.append(RunRecord(name, trace.outcome, round(trace.seconds, 3), key[1], (), trace.detail[:300]))
        return trace
