"""Write the tables of `benchmarks/README.md` from `benchmarks/results.json`, which the benchmarks write with `--record`.

    python tools/bench_page.py [--check]

"met" alone is said of the engine that was measured last; of a number that an older engine gave, the page says that it is one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from _results import Row, Run, load

PAGE = ROOT / "benchmarks" / "README.md"
MARKS = re.compile(r"(<!-- numbers -->\n).*(<!-- end of numbers -->)", re.DOTALL)


def tables(runs: Iterable[Run]) -> str:
    """The tables in Markdown: one for each program, its numbers under the commands that gave them."""
    runs = list(runs)
    newest = max((run for run in runs if run.engine), key=lambda run: run.date, default=None)
    lines = ["No engine was measured yet." if newest is None else _said_of(newest)]
    for program in sorted({run.program for run in runs}):
        lines += ["", f"### {program}", "", "| what | target | measured | |", "|---|---|---|---|"]
        for run in runs:
            if run.program == program:
                lines += _lines(run, newest is not None and run.engine == newest.engine)
    return "\n".join(lines) + "\n"


def _said_of(newest: Run) -> str:
    return (
        f"The engine that was measured last is that of {newest.commit} ({newest.date[:10]}): “met” alone is said of it. "
        "What an older one gave says so."
    )


def _lines(run: Run, is_newest: bool) -> Iterator[str]:
    commit = run.commit or "a commit that was not written down"
    when = f", {run.date[:10]}" if run.date else ""
    yield f"| **`{run.command}`** at {commit}{when}{f'; {run.machine}' if run.machine else ''} | | | |"
    title = ""
    for row in run.rows:
        if row.of != title:
            title = row.of
            yield f"| *{_cell(title)}* | | | |"
        detail = f" ({row.detail})" if row.detail else ""
        yield f"| {_cell(row.what)} | {_number(row.target)} | {_cell(_number(row.measured) + detail)} | {_status(row, is_newest)} |"


def _status(row: Row, is_newest: bool) -> str:
    if row.met is None:
        return ""
    said = "met" if row.met else "**missed**"
    return said if is_newest else f"{said} by an older engine"


def _number(value: float | str | None) -> str:
    return (
        ""
        if value is None
        else value
        if isinstance(value, str)
        else f"{value:.3g}"
        if value < 1000
        else f"{value:,.0f}"
    )


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")


def page(before: str, runs: Iterable[Run]) -> str:
    """The page with its tables written anew."""
    return MARKS.sub(lambda match: f"{match[1]}\n{tables(runs)}\n{match[2]}", before)


def main() -> int:
    """Write the page, or say whether it is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where the page is another")
    options = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = page(before, load())
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
    elif before != after:
        sys.stderr.write("benchmarks/README.md is not what benchmarks/results.json says: run make docs\n")
    return int(options.check and before != after)


if __name__ == "__main__":
    sys.exit(main())
