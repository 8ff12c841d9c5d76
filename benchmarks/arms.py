"""Patches that repair nothing, put up the ladder as if they made a training learn: a comment, and random edits.

    python benchmarks/arms.py PROGRAMS [PROGRAMS ...] [--random 4] [--jobs 2] [--budget 60] [--python PYTHON]

PROGRAMS are folders with one folder per program (`program.py`, and a `meta.toml` that is not shown to it), best of sound ones: on a faulty program a random
edit may be the repair. Each random edit is one of the kinds that repairs are made of (a constant, an activation, an optimizer, a loss,
a statement, an argument), as in `bench replay --arms random`. A ladder that accepts them says nothing of the patches it accepts from
the engine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from _measure import ROOT, Table, arguments, copied

sys.path.insert(0, str(ROOT))

from dnnfix.bench import arms
from dnnfix.config import Settings
from dnnfix.errors import DnnfixError
from dnnfix.run.runner import Runner

MOST = 0.01
"""Share of such patches that may be accepted."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One patch of one program; `number` is that of a random edit, 0 for the comment."""

    folder: Path
    number: int

    @property
    def name(self) -> str:
        """What the number stands for."""
        return "random" if self.number else "null"


def main() -> None:
    """Measure, and say by the exit code whether no more are accepted than may be."""
    parser = arguments(__doc__)
    parser.add_argument("programs", type=Path, nargs="*", help="folders with one folder per program")
    parser.add_argument("--random", type=int, default=4, help="random edits of each program (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="patches side by side (%(default)s)")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the programs' packages")
    given = parser.parse_args()
    if not given.programs:
        print("left out: the programs are not part of this repository; see --help for what they are")
        return
    table = Table.of(given)
    wanted = list(_arms(given.programs, given.random))
    with ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(lambda arm: _told(arm, judged(arm, given.python, given.budget)), wanted))
    for name in ("null", "random"):
        ends = [end for arm, end in zip(wanted, results, strict=True) if arm.name == name and end]
        taken = [arm for arm, end in zip(wanted, results, strict=True) if arm.name == name and end == "accepted"]
        counts = ", ".join(f"{end} {ends.count(end)}" for end in sorted(set(ends)))
        table.title(f"{name}: {len(ends)} patches; where they fell: {counts}")
        for arm in taken:
            table.title(f"      accepted: {arm.folder.name}, edit {arm.number}")
        if ends:
            table.row(f"{name} patches: share accepted", len(taken) / len(ends), MOST)
    table.end()


def _arms(folders: list[Path], count: int) -> Iterator[Arm]:
    for folder in folders:
        for program in sorted(one.parent for one in folder.glob("*/program.py")):
            yield from (Arm(program, number) for number in range(count + 1))


def judged(arm: Arm, python: str, budget: float) -> str:
    """Where a patch fell: a validator's name, `accepted`, or empty where there is nothing to edit or to run."""
    program = (arm.folder / "program.py").read_bytes()
    try:
        patched = arms.random_patch(program, arm.number) if arm.number else arms.null_patch(program)
    except (ValueError, SyntaxError):
        return ""
    settings = Settings(python=python, budget=budget, jobs=1)
    try:
        with copied(arm.folder, program) as folder, Runner(Path(python), companions=folder) as runner:
            climb, _ = arms.put_to_the_ladder(program, patched, str(folder / "program.py"), settings, runner)
    except DnnfixError as error:
        print(f"{arm.folder}: {error}", file=sys.stderr)
        return ""
    return "accepted" if climb.accepted else climb.fell


def _told(arm: Arm, end: str) -> str:
    print(arm.folder.name, arm.name, arm.number, end or "nothing to edit", file=sys.stderr, flush=True)
    return end


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
