"""Records the old program in its old environment and the patched one in the new, and compares the two recordings."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from dnnfix.records import Trace, Verdict
from dnnfix.run.interpreter import describe, describe_baseline
from dnnfix.run.job import Job, Recorder
from dnnfix.run.recording import NoRecording, Recording, read
from dnnfix.run.runner import Runner
from dnnfix.validate.same_as_before import compare

PROCESSES = 512
"""Processes and threads that a recording may have: TensorFlow 1 starts several threads for each core."""


@dataclass
class OldEra:
    """An old interpreter beside that of the `runner`. `kept` is called with every trace and a label for it."""

    runner: Runner
    python: str
    baseline: str
    kept: Callable[[Trace, str], object]
    _known: dict[Job, Recording | NoRecording] = field(default_factory=dict)

    def compare(self, before: Job, after: Job) -> Verdict:
        """The verdict on the program of `after` as a migration of the program of `before`, which is recorded once."""
        oldest = describe_baseline(Path(os.path.abspath(self.baseline))).executable
        old = self._record(before, Recorder(oldest), "the program in the old environment")
        if isinstance(old, NoRecording):
            return compare(old, old)
        new = Recorder(describe(Path(os.path.abspath(self.python))).executable, old.given)
        return compare(old, self._record(after, new, "the patched program under the old one's weights and data"))

    def _record(self, job: Job, recorder: Recorder, what: str) -> Recording | NoRecording:
        budget = replace(job.budget, processes=PROCESSES)
        order = replace(job, recorder=recorder, budget=replace(budget, seconds=0.0))
        if order not in self._known:
            trace = self.runner.run(replace(order, budget=budget))
            self.kept(trace, what)
            self._known[order] = read(trace)
        return self._known[order]
