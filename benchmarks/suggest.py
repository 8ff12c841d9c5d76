"""`suggest` as a whole, on the programs of a folder, over one plain budgeted run of the same program in a fresh process.

    python benchmarks/suggest.py [--programs FOLDER] [--limit N] [--fresh]

The programs are those directly in the folder, and of each folder in it `runnable.py`, else `program.py`, as
`tools/field_trials.py` takes them; by default those in examples/. Crashes, training faults and programs in which nothing is found have targets of their own. `--fresh` also runs `suggest` with a fresh interpreter for every run that
it makes, each candidate and seed, which is what the warm process is there to spare; by default only for one program.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from _measure import ROOT, Table, arguments, run

COMMAND = (sys.executable, "-m", "dnnfix", "suggest", "--isolated", "--quiet", "--output-format", "json")
SOUND = "nothing found"
MOST = {"crash": 6.0, "training fault": 20.0, SOUND: 3.0}
BUDGET = 60.0
"""Seconds of the default budget for one file; beside it, what it takes to start, to report and to end."""
START = 10.0
FASTER = 5.0

PLAIN = "plain"
FRESH = "fresh"


@dataclass(frozen=True, slots=True)
class Measured:
    """One program: seconds of a plain run and of `suggest`, and what `suggest` said of it."""

    kind: str
    plain: float
    whole: float
    runs: int
    accepted: int


def once(file: Path, mode: str) -> None:
    """In a process of its own: one plain budgeted run, or the whole of `suggest` with a fresh interpreter each time."""
    sys.path.insert(0, str(ROOT))
    from dnnfix import pipeline
    from dnnfix.config import load
    from dnnfix.run import runner
    from dnnfix.run.job import Job
    from dnnfix.source.program import Source

    class Fresh(runner.Runner):
        """A runner that starts a new interpreter for every job."""

        def __init__(self, *args: object, **more: object) -> None:
            super().__init__(*args, **{**more, "fresh": True})  # type: ignore[arg-type]

    settings = load(Path.cwd(), {"budget": 600.0}, isolated=True)
    if mode == FRESH:
        runner.Runner = Fresh  # type: ignore[misc]
        pipeline.suggest_file(file.read_bytes(), str(file), settings, lambda words: None)
        return
    source = Source.from_bytes(file.read_bytes(), str(file))
    with Fresh(Path(settings.python), companions=file.parent) as alone:
        alone.run(Job(str(file), source.runnable))


def measure(file: Path, space: Path) -> Measured:
    """The plain run and `suggest`."""
    own = (sys.executable, str(Path(__file__).resolve()), str(file), "--mode")
    plain = min(run((*own, PLAIN)).wall for _ in range(2))
    report = space / "report.json"
    whole = run((*COMMAND, "--cache-dir", str(space / "cache"), str(file)), into=report)
    said = json.loads(report.read_bytes())
    accepted = sum(patch["verdict"] == "accepted" for patch in said["patches"])
    crashes = said["runs"] and said["runs"][0]["outcome"] == "crashed"
    kind = SOUND if not said["findings"] else "crash" if crashes else "training fault"
    return Measured(kind, plain, whole.wall, len(said["runs"]), accepted)


def programs(folder: Path) -> list[Path]:
    """The programs in a folder."""
    each = [
        path / name for path in folder.iterdir() for name in ("runnable.py", "program.py") if (path / name).is_file()
    ]
    first = {path.parent: path for path in reversed(each)}
    return sorted([*folder.glob("*.py"), *first.values()])


def main() -> None:
    """Measure, and say by the exit code whether all targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("file", nargs="?", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--mode", choices=(PLAIN, FRESH), help=argparse.SUPPRESS)
    parser.add_argument("--programs", type=Path, default=ROOT / "examples", help="(%(default)s)")
    parser.add_argument("--limit", type=int, default=8, help="programs, spread over the folder")
    parser.add_argument("--fresh", action="store_true", help="a fresh interpreter for every run, for all programs")
    options = parser.parse_args()
    if options.mode:
        once(options.file, options.mode)
        return
    every = programs(options.programs)
    chosen = every[:: max(1, len(every) // options.limit)][: options.limit]
    table, seen, speeds = Table.of(options), list[Measured](), list[float]()
    table.title(f"suggest: {len(chosen)} programs of {os.path.relpath(options.programs, ROOT)}")
    with tempfile.TemporaryDirectory() as name:
        for number, file in enumerate(chosen):
            space = Path(name, str(number))
            space.mkdir()
            one = measure(file, space)
            label = f"{file.parent.name}/{file.name}"
            seen.append(one)
            told = f"{one.kind}, {one.whole:.1f} s / {one.plain:.1f} s, {one.runs} runs, {one.accepted} accepted"
            table.row(label, one.whole / one.plain, None, told)
            if one.kind != SOUND and (options.fresh or not speeds):
                begun = time.perf_counter()
                run((sys.executable, str(Path(__file__).resolve()), str(file), "--mode", FRESH))
                speeds.append((time.perf_counter() - begun) / one.whole)
                table.row(f"  {label}: a fresh process per run / suggest", speeds[-1])
    for kind, most in MOST.items():
        ratios = [one.whole / one.plain for one in seen if one.kind == kind]
        if ratios:
            table.row(f"{kind}: suggest / plain run, median of {len(ratios)}", statistics.median(ratios), most)
    if seen:
        table.row("longest suggest, s", max(one.whole for one in seen), BUDGET + START)
    if speeds:
        table.row("suggest / fresh process per candidate and seed", 1 / statistics.median(speeds), 1 / FASTER)
    table.end()


if __name__ == "__main__":
    main()
