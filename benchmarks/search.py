"""What the search over small edits at a crash costs: edits tried in a second, and a first patch beside one plain run.

Run it as `python benchmarks/search.py [--python PYTHON] [--rounds 3]`. The crashes below are of no rule's making; every rule is off
for them. A plain run is `python program.py`, and what it is compared with the whole command `dnnfix suggest program.py`, each in a new
process: what a person waits for. Beside it, the same within one warm process over one run of the program under the probe up to its
crash, in a fork: what any of the search's own runs costs at least.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from _measure import Table, arguments

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.records import UNEXPLAINED_CODE
from dnnfix.run.job import Budget, Job, Speculation, TextEdit, Trying
from dnnfix.run.runner import Runner

EDITS = 3000

ROWS = """
import torch
from torch import nn

rows, wanted = torch.randn(64, 20), torch.randint(0, 3, (64,))
network = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 3))
scores = network(rows)
loss = nn.functional.cross_entropy(scores, wanted.float().unsqueeze(1))
loss.backward()
"""

CRASHES = {
    "features of a layer": """
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(1, 6, 3)
        self.score = nn.Linear(6 * 12 * 12, 4)

    def forward(self, pages):
        seen = torch.relu(self.look(pages))
        return self.score(seen.flatten(1))

torch.manual_seed(0)
pages = torch.randn(128, 1, 12, 12)
kinds = pages.mean((1, 2, 3)).gt(0).long()
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters())
for turn in range(40):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(reader(pages), kinds)
    loss.backward()
    optimizer.step()
print(loss.item())
""",
    "a misspelt function": """
import torch

torch.manual_seed(0)
points = torch.randn(200, 2)
print(torch.lnspace(0, 1, 5).sum() + points.sum())
""",
    "a missing axis": """
import torch
from torch import nn

torch.manual_seed(0)
grey = torch.rand(64, 12, 12)
look = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(400, 1))
print(look(grey).mean().item())
""",
    "a quotient as a size": """
import torch
from torch import nn

torch.manual_seed(0)
WIDTH = 48
halves = nn.Linear(WIDTH, WIDTH / 2)
print(halves(torch.randn(8, WIDTH)).sum().item())
""",
}


def chain(length: int) -> str:
    """A program whose crash is so many assignments away from where its data are made."""
    steps = "\n".join(f"part_{n + 1} = part_{n} * 1.5" for n in range(length))
    return (
        f"import torch\n\npart_0 = torch.rand(64, 8, 3)\n{steps}\nprint(torch.nn.Linear(24, 2)(part_{length}).sum())\n"
    )


def edits_per_second(runner: Runner, table: Table) -> None:
    """Edits of the failing statement of a training step on 64 rows."""
    at = ROWS.splitlines().index("loss = nn.functional.cross_entropy(scores, wanted.float().unsqueeze(1))") + 1
    old = "wanted.float().unsqueeze(1)"
    column = ROWS.splitlines()[at - 1].index(old) + 1
    span = ((at, column), (at, column + len(old)))
    edits = tuple(Trying((TextEdit("", *span, f"wanted.float()[:, None][:{n % 64}]"),)) for n in range(EDITS))
    job = Job("-", ROWS.encode(), budget=Budget(seconds=120))

    def seconds(count: int) -> float:
        begun = time.perf_counter()
        runner.run(replace(job, speculation=Speculation(edits[:count], 100.0, 1e9)))
        return time.perf_counter() - begun

    seconds(1)
    spent = min(seconds(EDITS) for _ in range(2)) - seconds(1)
    table.row(
        "seconds for 1,000 edits of a statement on 64 rows",
        1000 * spent / EDITS,
        1.0,
        f"{EDITS / spent:.0f} in a second",
    )


def commands(python: str, rounds: int, table: Table) -> None:
    """The command with every rule off, from its start to its end, over the program by itself."""
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name, program in CRASHES.items():
            path = Path(folder, "program.py")
            path.write_text(program)
            suggest = [sys.executable, "-m", "dnnfix", "suggest", path.name, "--isolated", "--python", python]
            suggest += ["--select", UNEXPLAINED_CODE, "--quiet", "--output-format", "json", "--cache-dir"]
            run = partial(subprocess.run, cwd=folder, capture_output=True, text=True)
            plain = min(_timed(partial(run, [python, path.name])) for _ in range(rounds))
            took = []
            for number in range(rounds):
                begun = time.perf_counter()
                ended = run([*suggest, str(Path(folder, f"cache{number}"))])
                took.append(time.perf_counter() - begun)
            ratios.append(min(took) / plain)
            came = _best(patch["verdict"] for patch in json.loads(ended.stdout)["patches"])
            table.row(f"{name}, by the command", ratios[-1], None, f"{min(took):.2f} s / {plain:.2f} s, {came}")
    table.row("first patch by the command / the program by itself, median", statistics.median(ratios), 10)


def _best(verdicts: Iterable[str]) -> str:
    """What the best of the patches is: accepted, or no more than a choice."""
    given = set(verdicts)
    return next((verdict for verdict in ("accepted", "choice") if verdict in given), "none")


def first_patches(python: str, rounds: int, table: Table) -> None:
    """`suggest` with every rule off, from the first run to the proven patch, over one run in a warm fork."""
    ratios = []
    with tempfile.TemporaryDirectory() as folder, Runner(Path(python), framework="torch") as runner:
        for name, program in CRASHES.items():
            path = Path(folder, "program.py")
            path.write_text(program)
            job = Job("-", program.encode(), budget=Budget(seconds=60))
            runner.run(job)
            plain = min(_timed(partial(runner.run, job)) for _ in range(3))
            settings = Settings(python=python, select=(UNEXPLAINED_CODE,), cache_dir=Path(folder, "cache"))
            took = []
            for _ in range(rounds):
                begun = time.perf_counter()
                report = suggest_file(program.encode(), str(path), settings, lambda said: None, runner)
                took.append(time.perf_counter() - begun)
            ratios.append(min(took) / plain)
            came = _best(patch.verdict.value for patch in report.patches)
            table.row(name, ratios[-1], None, f"{min(took):.2f} s / {plain:.3f} s, {came}")
    table.row("first patch / one run in a warm fork, median", statistics.median(ratios), None)


def along_the_slice(python: str, table: Table) -> None:
    """How the whole search grows with the assignments between the data and the crash."""
    first = 0.0
    with tempfile.TemporaryDirectory() as folder, Runner(Path(python), framework="torch") as runner:
        for length in (2, 8, 32):
            path = Path(folder, "program.py")
            program = chain(length).encode()
            path.write_bytes(program)
            settings = Settings(python=python, select=(UNEXPLAINED_CODE,), cache_dir=Path(folder, "cache"))
            search = partial(suggest_file, program, str(path), settings, lambda said: None, runner)
            search()
            spent = _timed(search)
            first = first or spent
            table.row(f"search behind {length} assignments / behind 2", spent / first, None, f"{spent:.2f} s")


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> None:
    """Measure, and end with 1 where a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    table = Table.of(asked)
    table.title("the search over small edits")
    with Runner(Path(asked.python), framework="torch") as runner:
        edits_per_second(runner, table)
    commands(asked.python, asked.rounds, table)
    first_patches(asked.python, asked.rounds, table)
    along_the_slice(asked.python, table)
    table.end()


if __name__ == "__main__":
    main()
