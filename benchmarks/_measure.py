"""What the benchmarks share: running a command and taking its time, CPU and memory, and telling a number by its target.

This process stays small and imports nothing heavy: the peak memory that the kernel tells of a child begins with that of
the process it was forked from.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import _results

ROOT = Path(__file__).resolve().parents[1]
DNNFIX = (sys.executable, "-m", "dnnfix")
"""The command under measurement; `python -m` and the installed script start alike."""
CHECK = (*DNNFIX, "check", "--isolated", "--quiet")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process, with all that it waited for, took. Seconds, and MiB of the largest of them."""

    wall: float
    cpu: float
    peak: float
    code: int


def environment(**more: str) -> dict[str, str]:
    """This process's environment with this checkout in front, one thread, and bytecode that is written and used."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'legacy'}", **more}


def suggested(folder: str | Path, python: str, *flags: str) -> dict[str, Any]:
    """The report of `suggest` on `program.py` in a folder. Ends the benchmark where it fails."""
    command = [
        python,
        "-m",
        "dnnfix",
        "suggest",
        "--isolated",
        "--quiet",
        "--output-format",
        "json",
        *flags,
        "program.py",
    ]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{folder}: suggest ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@contextmanager
def copied(folder: Path, program: bytes) -> Iterator[Path]:
    """A folder of its own for a run: the files beside a program, and the program."""
    with TemporaryDirectory(prefix="dnnfix-benchmark-") as made:
        space = Path(made, "run")
        copytree(folder, space, ignore=ignore_patterns("meta.toml", "__pycache__"))
        (space / "program.py").write_bytes(program)
        yield space


def run(
    command: Sequence[str],
    into: Path | None = None,
    more: Mapping[str, str] | None = None,
    codes: tuple[int, ...] = (0, 1),
) -> Cost:
    """Run a command to its end, from a folder that does not change; its output goes to the file `into`, else nowhere.

    Ends the benchmark where the exit code is none of `codes`: a tool that fails at once would look fast.
    """
    with open(into or os.devnull, "wb") as out, open(os.devnull, "rb") as nothing, TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=nothing, stdout=out, stderr=said, cwd=ROOT / "benchmarks", env=environment(**(more or {}))
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        said.seek(max(0, said.seek(0, os.SEEK_END) - 400))
        last = said.read().decode(errors="replace").strip()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(command)[:200]}: ended with {process.returncode}, which is no result. {last}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, process.returncode)


def in_turn(rounds: int, *sides: Callable[[], Cost]) -> list[Cost]:
    """The least of each side's costs over so many rounds, in each of which the sides take turns.

    The least, since what other processes add to a time is never negative; the peak memory is the largest seen.
    """
    seen: list[list[Cost]] = [[] for _ in sides]
    for _ in range(rounds):
        for costs, side in zip(seen, sides, strict=True):
            costs.append(side())
    return [
        Cost(min(c.wall for c in costs), min(c.cpu for c in costs), max(c.peak for c in costs), costs[-1].code)
        for costs in seen
    ]


SLACK = 1.25
"""How much more than its target a number may be on a machine that has other work to do."""


def arguments(about: str | None) -> argparse.ArgumentParser:
    """The parser of a benchmark's command line, with the flags that `Table.of` reads."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the numbers for the page benchmarks/README.md")
    parser.add_argument(
        "--shared-machine",
        action="store_true",
        help=f"miss a target only by a factor of {SLACK}, and by no wall time: for CI",
    )
    return parser


@dataclass
class Table:
    """Numbers beside their targets, printed as they come."""

    run: _results.Run | None = None
    """What is recorded, if the numbers are to be kept."""
    shared: bool = False
    missed: int = 0
    _title: str = ""
    _rows: list[_results.Row] = field(default_factory=list)

    @classmethod
    def of(cls, options: argparse.Namespace) -> Table:
        """The table that the command line asks for. Ends the benchmark where its numbers cannot be recorded."""
        command = (os.path.basename(sys.argv[0]), *sys.argv[1:])
        return cls(_results.begun(command) if options.record else None, options.shared_machine)

    def title(self, words: str) -> None:
        """What the next rows are about."""
        self._title = words
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()

    def row(
        self,
        words: str,
        value: float,
        most: float | None = None,
        detail: str = "",
        *,
        wall: bool = False,
        guard: float | None = None,
    ) -> None:
        """One number; `most` is its target, if it has one, and `wall` says that other work on the machine is in it.

        `guard` is what a shared machine holds the number to where the target itself is missed today: it must not get worse.
        """
        met = None if most is None else value <= most
        self._rows.append(_results.Row(self._title, words, round(value, 5), most, met, detail))
        if self.shared and most is not None:
            met = None if wall else value <= (guard or SLACK * most)
        self.missed += met is False
        mark = "   " if met is None else "ok " if met else "BAD"
        target = f"target {most:.4g}" if most is not None else ""
        sys.stdout.write(f"  {mark} {words:55} {value:8.4f}  {target:14} {detail}\n")
        sys.stdout.flush()

    def end(self) -> None:
        """End the benchmark, and keep its numbers if asked to; the exit code says whether all targets are met."""
        if self.run is not None:
            _results.kept(self.run, self._rows)
        raise SystemExit(1 if self.missed else 0)
