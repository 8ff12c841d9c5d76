"""What it costs to make programs run: the time of a plan over parsing, and the runs before the first trial.

    python benchmarks/reproduction.py [--programs FOLDER] [--python PYTHON] [--limit 40]

FOLDER holds programs that do not run as they stand (`*/program.py`), PYTHON is the interpreter with their packages; by
default the programs are examples of the catalogue without their imports. Targets: at most two runs beyond the one of the
program as it stands.
"""

from __future__ import annotations

import ast
import statistics
import sys
import time
from pathlib import Path

from _measure import Table, arguments

from dnnfix import registry
from dnnfix.errors import InputError
from dnnfix.records import Reproduction, Trace
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.plan import plan
from dnnfix.reproduce.rounds import attempt, needed
from dnnfix.run.interpreter import modules
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source

MOST_RUNS = 2


def main() -> None:
    """Measure, and say by the exit code whether the target is met."""
    parser = arguments(__doc__)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--limit", type=int, default=40)
    given = parser.parse_args()
    table = Table.of(given)
    runs: list[int] = []
    planning: list[float] = []
    ends: list[str] = []
    with Runner(given.python) as runner:
        for path, text in programs(given.programs)[: given.limit]:
            try:
                source = Source.from_bytes(text, path)
            except InputError:
                continue
            counted, last = worked_on(source, runner, given.python)
            if counted is None:
                continue
            runs.append(counted)
            ends.append(last.outcome.value)
            planning.append(over_parsing(source, last))
    if not runs:
        raise SystemExit("no program needed anything")
    ended = ", ".join(f"{ends.count(end)} {end}" for end in sorted(set(ends)))
    table.title(f"{len(runs)} programs that did not run as they stood; with their own faults they end now: {ended}")
    told = ", ".join(f"{runs.count(n)} with {n}" for n in sorted(set(runs)))
    table.row("runs before the first trial, most", max(runs), MOST_RUNS, told)
    told = f"largest {1000 * max(planning):.1f}"
    table.row("CPU ms of a plan over parsing, median", 1000 * statistics.median(planning), None, told)
    table.end()


def programs(folder: Path | None) -> list[tuple[str, bytes]]:
    """The programs to work on, with their paths."""
    if folder is not None:
        return [(str(file), file.read_bytes()) for file in sorted(folder.glob("*/program.py"))]
    examples = [example for template in registry.templates() for example in template.examples[:1] if example.runs]
    return [("program.py", without_imports(example.before).encode()) for example in examples]


def without_imports(text: str) -> str:
    """A program as a question shows it: without its first lines."""
    return "".join("\n" if line.startswith(("import ", "from ")) else line for line in text.splitlines(keepends=True))


def worked_on(source: Source, runner: Runner, python: Path) -> tuple[int | None, Trace]:
    """How many more runs it took, and the last of them; `None` for a program that runs as it stands."""

    def run(reproduction: Reproduction) -> Trace:
        scaffold = reproduction.scaffold
        budget = Budget(steps=12, seconds=20)
        return runner.run(
            Job(source.path, source.runnable, budget=budget, arguments=scaffold.arguments, scaffold=scaffold)
        )

    first = run(Reproduction())
    if not needed(first):
        return None, first
    _, traces = attempt(case_of(source, (first,), python), run)
    return len(traces), (first, *traces)[-1]


def case_of(source: Source, traces: tuple[Trace, ...], python: Path) -> Case:
    """What the actions see of a program."""
    return Case(source, traces, lambda name: name in modules(python), Path(source.path).resolve().parent)


def over_parsing(source: Source, trace: Trace) -> float:
    """CPU seconds of a plan from a fresh reading of the text, less those of parsing it."""
    begun = time.process_time()
    ast.parse(source.text)
    parsed = time.process_time()
    plan(case_of(Source.from_bytes(source.raw, source.path), (trace,), Path(sys.executable)))
    return (time.process_time() - parsed) - (parsed - begun)


if __name__ == "__main__":
    main()
