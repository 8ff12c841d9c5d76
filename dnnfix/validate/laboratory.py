"""Runs variants of one program for the ladder, and caches every run."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dnnfix.records import Finding, Reproduction, RunOutcome, RunRecord, Scaffold, Status, Trace, Verdict
from dnnfix.reproduce.script import script
from dnnfix.run.job import WHOLE, Budget, Experiment, Job, Speculation
from dnnfix.run.runner import Runner
from dnnfix.run.sandbox import run_command
from dnnfix.source.program import Source
from dnnfix.validate.deadline import Deadline
from dnnfix.validate.evidence import Validator
from dnnfix.validate.old_era import OldEra

OBSERVED_STEPS = 12
"""Optimizer steps of an observing run: enough for a second epoch's effects on toy data, over in a moment."""

TRAINED_STEPS = 150
"""Optimizer steps of a training trial: a small network on learnable data leaves its starting loss well before."""

STEADY_STEPS = 600
"""Optimizer steps of a training trial where steps are quick: what differs shows against the noise of single batches."""

QUICK_SECONDS = 8.0
"""Seconds that all first trials of a candidate together may take for that."""

LOOKS = ((300, 6.0), (3_000, 12.0), (10_000, 24.0))
"""Optimizer steps of the run that tells whether a training learns at all, and seconds of training of it: then those of a longer
one where that is too short to tell, and of the longest, which takes half of the time left at most where that is more than a run's own."""

FEWEST_STEPS = 40
"""Optimizer steps of a training trial where steps are slow; fewer would compare starting losses only."""

WHOLE_SECONDS = 8.0
"""Seconds of training of an observing run that no number of steps ends: what small programs need, and no long wait."""

FOR_TRAINING = 0.6
"""Share of an observing run's time after which its training is cut: what comes after training has to be seen too."""

SHARE = 0.5
"""Share of the time left that the paired trials of one candidate are planned for."""

SURVEY_SECONDS = 10.0
"""Seconds that looking around at a crash may take beyond the run's own."""

LEAST_FOR_TESTS = 10.0
"""Seconds that the user's test command gets at least, also where the time of the file is nearly over."""

NOTHING = Scaffold()

Key = tuple[tuple[bytes, ...], int, int, tuple[Experiment, ...]]


@dataclass
class TrialLaboratory:
    """Observes and trains variants of the program at `path`, until `deadline`."""

    runner: Runner
    path: str
    detector: Callable[[Source, Trace | None], tuple[Finding, ...]]
    deadline: Deadline
    validators: tuple[Validator, ...]
    test_command: str | None = None
    workers: int = 1
    arguments: tuple[str, ...] = ()
    seconds: float = 20.0
    reproduction: Reproduction = field(default_factory=Reproduction)
    """What every run from now on is put in; see `reproduced`."""
    baseline: str | None = None
    """The interpreter of an old era that versioning patches are compared in."""
    python: str = sys.executable
    said: str = ""
    """What a bug report says of the program; what is made for it is made after that, too."""
    observed_steps: int = OBSERVED_STEPS
    """Optimizer steps of an observing run; `WHOLE` leaves the clock alone to end training, and nothing to end evaluations."""
    records: list[RunRecord] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)
    """Why no comparison with the old era could be made."""
    looked: dict[tuple[bytes, ...], Trace] = field(default_factory=dict)
    """The last look at the training of each program."""
    _cache: dict[Key, Trace] = field(default_factory=dict)
    trained_steps: int = 0
    """Optimizer steps of a training trial; 0 where that is still to be decided."""
    _old_era: OldEra | None = None

    def observe(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A short run that records every call of the first steps."""
        return self._run(source, seed, self.observed_steps, experiments)

    def observe_whole(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """The same of a run that the clock alone ends, and no number of steps."""
        return self._run(source, seed, WHOLE, experiments)

    def observe_anew(self, source: Source, seed: int) -> Trace:
        """The same run once more: what differs, such as a printed clock, is not the doing of a patch."""
        return self.runner.run(self._job(source, seed, self.observed_steps, ()))

    def train(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        """A longer run of one seed, for its curve."""
        return self._run(source, seed, self._steps_of_trial(), experiments)

    def look(self, source: Source, seed: int, length: int = 0) -> Trace:
        """A run of more steps than a trial's, of which the first are recorded, with a yardstick for what can be learned.

        `length` is its place in `LOOKS`.
        """
        trace = self._run(source, seed, LOOKS[length][0], (Experiment.REFERENCE, Experiment.UNITS))
        self.looked[source.contents] = trace
        return trace

    def speculate(self, source: Source, seed: int, speculation: Speculation) -> Trace:
        """A short run that looks around, or tries edits, where the program crashes; see `Speculation`."""
        job = self._job(source, seed, self.observed_steps, ())
        seconds = job.budget.seconds + speculation.seconds + SURVEY_SECONDS
        trace = self.runner.run(replace(job, speculation=speculation, budget=replace(job.budget, seconds=seconds)))
        self._record(trace, trace.detail)
        return trace

    def observe_all(self, sources: Sequence[Source], seed: int) -> None:
        """Observe every program side by side, so that `observe` has the traces at hand; none is begun once the time is up."""
        self._run_all(((source, seed) for source in sources), self.observed_steps)

    def time_left(self) -> float:
        """Seconds of the file's time that are left."""
        return self.deadline.left

    def prepare(self, sources: Sequence[Source], seeds: Sequence[int]) -> None:
        """Train every program on every seed side by side, so that `train` has the traces at hand.

        How many steps such a trial takes is decided here, the first time: as many as the time left allows.
        """
        if not self.trained_steps:
            trials = len(sources) * len(seeds)
            paced = any(trace.step_seconds for trace in self._cache.values())
            quick = _rounded(self._affordable(trials, STEADY_STEPS, QUICK_SECONDS), STEADY_STEPS) if paced else 0
            self.trained_steps = quick if quick > TRAINED_STEPS else self._affordable(trials, TRAINED_STEPS)
        self._run_all(((source, seed) for seed in seeds for source in sources), self._steps_of_trial())

    def _run_all(self, wanted: Iterable[tuple[Source, int]], steps: int) -> None:
        """Run each program with its seed side by side, and keep the traces; none is begun once the time is up."""
        begun: dict[Key, Job] = {}

        def jobs() -> Iterator[Job]:
            for source, seed in wanted:
                key = (source.contents, seed, steps, ())
                if key not in self._cache and key not in begun and not self.out_of_time():
                    begun[key] = self._job(source, *key[1:])
                    yield begun[key]

        done = dict(self.runner.run_many(jobs(), parallel=self.workers))
        for key, job in begun.items():  # in the order of the request, so that equal runs give equal reports
            if job in done:
                self._keep(key, done[job])

    def allow_steps(self, most: int, trials: int) -> None:
        """Have trials take up to so many steps from now on, and no fewer than usual, as far as the time left is enough.

        Where it is not, a power of two times the usual number: the clock should not have a say in every step.
        """
        most = max(most, TRAINED_STEPS)
        self.trained_steps = _rounded(self._affordable(trials, most), most)

    def reproduced(self, reproduction: Reproduction) -> None:
        """Run every program inside this scaffold from now on; what was seen without it is forgotten."""
        self.reproduction = reproduction
        self._cache.clear()

    def findings(self, source: Source, trace: Trace | None) -> tuple[Finding, ...]:
        """What the catalogue finds in the program and its trace."""
        return self.detector(source, trace)

    def out_of_time(self) -> bool:
        """Whether the time of the file is used up."""
        return self.deadline.passed

    def stalled(self) -> bool:
        """Whether the time or the memory of a run was over before its first optimizer step."""
        ends = (RunOutcome.TIMEOUT, RunOutcome.OUT_OF_MEMORY)
        return any(trace.outcome in ends and not trace.steps for trace in self._cache.values())

    def begin_again(self, budget: float, seconds: float) -> None:
        """Go on for `budget` seconds from now with so many for each run; what was seen in other runs is forgotten."""
        self.deadline, self.seconds = Deadline(budget), seconds
        self._cache.clear()

    def go_on(self, budget: float) -> None:
        """Go on for `budget` seconds from now, with all that was seen."""
        self.deadline = Deadline(budget)

    def observe_further(self) -> None:
        """Have observing runs end by the clock alone from now on, and by no number of steps."""
        self.observed_steps = WHOLE

    def repeat(self, reproduction: Reproduction, observed_steps: int, trained_steps: int) -> None:
        """Run every program as those of a certificate were run: inside of what, and for how many steps."""
        self.reproduced(reproduction)
        self.observed_steps, self.trained_steps = observed_steps, trained_steps

    def as_before(self, before: Source, after: Source, seed: int) -> Verdict | None:
        """The verdict of a comparison of `after` with `before` in the old era; `None` without such an interpreter."""
        if self.baseline is None:
            return None
        self._old_era = self._old_era or OldEra(self.runner, self.python, self.baseline, self._record)
        verdict = self._old_era.compare(self._alone(before, seed), self._alone(after, seed))
        if verdict.status is Status.NOT_APPLICABLE and verdict.reason not in self.uncompared:
            self.uncompared.append(verdict.reason)
        return verdict

    def user_tests(self, source: Source) -> tuple[int, str] | None:
        """Exit status and last lines of the test command, run in a copy of the program's folder with `source` in it."""
        if not self.test_command:
            return None
        seconds = max(LEAST_FOR_TESTS, self.time_left())
        with tempfile.TemporaryDirectory(prefix="dnnfix-tests-") as scratch:
            beside = {module.path: module.raw for module in source.beside}
            return run_command(self.test_command, Path(self.path), source.raw, Path(scratch), seconds, beside)

    def _steps_of_trial(self) -> int:
        return self.trained_steps or TRAINED_STEPS

    def _affordable(self, trials: int, most: int, seconds: float | None = None) -> int:
        """How many steps each of so many trials may take, `most` at most, from the slowest pace that was observed.

        All of them together have so many seconds, or else a share of the time left.
        """
        paces = [trace.step_seconds for trace in self._cache.values() if trace.step_seconds]
        if not paces:
            return most
        pace = max(paces)
        before = max(trace.seconds - len(trace.steps) * pace for trace in self._cache.values())
        whole = SHARE * self.time_left() if seconds is None else seconds
        each = whole * self.workers / trials
        return max(FEWEST_STEPS, min(most, int((each - max(0.0, before)) / pace)))

    def _run(self, source: Source, seed: int, steps: int, experiments: tuple[Experiment, ...]) -> Trace:
        key = (source.contents, seed, steps, experiments)
        known = self._cache.get(key)
        return known if known is not None else self._keep(key, self.runner.run(self._job(source, *key[1:])))

    def _job(self, source: Source, seed: int, steps: int, experiments: tuple[Experiment, ...]) -> Job:
        left = max(1.0, self.time_left())
        seconds = min(self.seconds, left)
        observed = steps in (self.observed_steps, WHOLE)
        budget = Budget(steps, seconds=seconds, training=FOR_TRAINING * seconds if observed else None)
        if steps == WHOLE:
            budget = replace(budget, evaluation_batches=WHOLE, training=min(WHOLE_SECONDS, FOR_TRAINING * seconds))
        if Experiment.REFERENCE in experiments:
            most = dict(LOOKS)[steps]
            seconds = max(seconds, min(most / FOR_TRAINING, SHARE * left))
            budget = replace(budget, seconds=seconds, training=min(most, FOR_TRAINING * seconds))
        # One recorded step is enough to tell what a loss compares that the program writes out.
        recorded = 2 if observed or Experiment.REFERENCE in experiments else 1
        scaffold = self.reproduction.scaffold
        arguments = self.arguments or scaffold.arguments
        within = scaffold if scaffold != NOTHING else None
        beside = tuple((module.path, module.runnable) for module in source.beside)
        return Job(self.path, source.runnable, seed, budget, recorded, experiments, arguments, within, beside=beside)

    def _alone(self, source: Source, seed: int) -> Job:
        """The program as one text with its scaffold: interpreters of an old era know nothing of scaffolds."""
        job = self._job(source, seed, self.observed_steps, ())
        if job.scaffold is None:
            return job
        return replace(job, program=script(source, self.reproduction).encode("utf-8"), scaffold=None)

    def _keep(self, key: Key, trace: Trace) -> Trace:
        trace = self._cache[key] = replace(trace, on_invented_data=self.reproduction.invents_data)
        self._record(trace, trace.detail)
        return trace

    def _record(self, trace: Trace, detail: str) -> None:
        name = f"run-{len(self.records) + 1}"
        actions = tuple(str(step) for step in self.reproduction.steps)
        self.records.append(RunRecord(name, trace.outcome, round(trace.seconds, 3), trace.seed, actions, detail[:300]))


def _rounded(steps: int, most: int) -> int:
    """Down to a power of two times the usual number, where it is between that and the most: the clock has no say in every step."""
    return TRAINED_STEPS * 2 ** int(math.log2(steps / TRAINED_STEPS)) if TRAINED_STEPS < steps < most else steps
