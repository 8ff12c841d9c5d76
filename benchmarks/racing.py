"""What a race of edits costs beside an exhaustive search over the same edits with the same end, in optimizer steps.

    python benchmarks/racing.py [--python PYTHON]

Both look at trainings that learn nothing, each with a fault or two. The race starts the likeliest first, drops those that are not far
enough on their first seed, and ends with the first that comes far enough. The exhaustive search trains every edit, and every pair of
the best of each setting, on all seeds of the race, and takes the likeliest of all that come far enough. Steps of the look at training
before it are those of both and not counted; nor is the ladder, which is the same for both.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _measure import ROOT, Table, arguments

sys.path.insert(0, str(ROOT))

from dnnfix.config import Settings
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.records import Finding
from dnnfix.source.program import Source
from dnnfix.synthesize import at_training, racing
from dnnfix.synthesize.candidates import Variant

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
measured = torch.randn(640, 6){scale}
wanted = (measured[:, 0] + measured[:, 1] > 0).long() + (measured[:, 2] > 0).long()
batches = DataLoader(TensorDataset(measured, wanted), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(6, 32), {between}, nn.Linear(32, 3))
optimizer = torch.optim.{optimizer}
measure = nn.CrossEntropyLoss()
for epoch in range(30):
    for x, y in batches:
        optimizer.zero_grad()
        loss = measure(net(x), y)
        loss.backward()
        optimizer.step()
"""
SOUND = {"scale": "", "between": "nn.ReLU()", "optimizer": "Adam(net.parameters(), lr=0.01)"}
DEEP = "nn.Sigmoid(), nn.Linear(32, 32), " * 5 + "nn.Sigmoid()"
FAULTS: dict[str, dict[str, str]] = {
    "rate too great": {"optimizer": "Adam(net.parameters(), lr=30.0)"},
    "rate too small": {"optimizer": "SGD(net.parameters(), lr=1e-06)"},
    "gradients that vanish": {"optimizer": "SGD(net.parameters(), lr=0.1)", "between": DEEP},
    "one unit between": {
        "between": "nn.ReLU(), nn.Linear(32, 1), nn.ReLU(), nn.Linear(1, 32)",
        "optimizer": "SGD(net.parameters(), lr=0.5)",
    },
    "raw inputs": {"scale": " * 5000", "optimizer": "SGD(net.parameters(), lr=0.01)"},
    "raw inputs and rate too great": {"scale": " * 5000", "optimizer": "Adam(net.parameters(), lr=30.0)"},
}
SHARE = 1 / 5
"""Of the steps of the exhaustive search."""

BUDGET = 600.0


class Counted:
    """A runner that counts the optimizer steps of its runs."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.steps = 0

    def run(self, job: Any) -> Any:
        """One run."""
        trace = self._runner.run(job)
        self.steps += len(trace.steps)
        return trace

    def run_many(self, jobs: Any, parallel: int) -> Iterator[Any]:
        """Several runs side by side."""
        for job, trace in self._runner.run_many(jobs, parallel=parallel):
            self.steps += len(trace.steps)
            yield job, trace


def searched(source: Source, python: str, exhaustive: bool) -> tuple[Variant | None, int]:
    """The edited program that a search ends with, and the optimizer steps that it took."""
    arrived: list[Variant] = []

    def climb(variant: Variant) -> bool:
        arrived.append(variant)
        return not exhaustive

    with laboratory_for(source, Settings(python=python, budget=BUDGET), []) as laboratory:
        counted = Counted(laboratory.runner)
        laboratory.runner = counted  # type: ignore[assignment]
        trace = laboratory.observe(source, 0)

        def heard(finding: Finding) -> bool:
            counted.steps = 0
            return True

        at_training.search_at_training(Variant(source), trace, laboratory, lambda said: None, heard, climb)
    return (arrived[0] if arrived else None), counted.steps


def every_one(
    original: Source, variants: Sequence[Variant], laboratory: Any, seed: int, goal: float
) -> Iterator[racing.Racer]:
    """In place of a race: all programs on all seeds."""
    seeds = [seed + racing.SEEDS_APART + number for number in range(racing.SEEDS)]
    laboratory.prepare([original, *(one.source for one in variants)], seeds)
    yield from RACE(original, variants, laboratory, seed, goal)


RACE = racing.race


def main() -> None:
    """Measure, and say by the exit code whether the target is met."""
    parser = arguments(__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has torch")
    given = parser.parse_args()
    table, shares = Table.of(given), list[float]()
    table.title(f"a race / an exhaustive search: {len(FAULTS)} programs")
    with tempfile.TemporaryDirectory() as folder:
        for name, fault in FAULTS.items():
            text = PROGRAM.format(**{**SOUND, **fault})
            source = Source.from_bytes(text.encode(), str(Path(folder, "program.py")))
            first, steps = searched(source, given.python, exhaustive=False)
            at_training.race, at_training.SINGLES = every_one, 10**6
            second, all_steps = searched(source, given.python, exhaustive=True)
            at_training.race, at_training.SINGLES = RACE, SINGLES
            same = (first and first.source.contents) == (second and second.source.contents)
            end = "the same end" if same else "ANOTHER END"
            title = first.applied[-1].title if first is not None else "nothing came far enough"
            table.row(name, steps / all_steps, None, f"{steps} / {all_steps} steps, {end}: {title}")
            table.missed += not same
            shares.append(steps / all_steps)
    table.row("share of the steps, median", statistics.median(shares), SHARE)
    table.end()


SINGLES = at_training.SINGLES

if __name__ == "__main__":
    main()
