"""What migrating a file costs over parsing it: `check` with the versioning rules and their patches, in one process.

    python benchmarks/migration.py [--programs FOLDER] [--rounds 3]

FOLDER holds programs of an older era (`*/program.py`); by default the examples of the versioning templates are taken. For
each file the smallest time of the rounds counts, for `ast.parse` as for the migration. Target: 50 ms over parsing for the
median file.
"""

from __future__ import annotations

import ast
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from _measure import Table, arguments

from dnnfix import pipeline, registry
from dnnfix.config import load
from dnnfix.errors import InputError

TARGET = 50.0


def main() -> None:
    """Measure, and say by the exit code whether the target is met."""
    parser = arguments(__doc__)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    table = Table.of(given)
    settings = replace(load(Path.cwd(), {"select": ["DNF5"]}, isolated=True))
    files = sorted(given.programs.glob("*/program.py")) if given.programs else []
    texts = [file.read_bytes() for file in files] or [
        example.before.encode()
        for template in registry.templates()
        if template.code.startswith("DNF5")
        for example in template.examples
    ]
    added: list[float] = []
    patched = 0
    pipeline.check_file(texts[0], "first.py", settings)  # the tables are read once for all files
    for text in texts:
        try:
            parsing = least(lambda text=text: parsed(text), given.rounds)  # type: ignore[misc]
            report = pipeline.check_file(text, "program.py", settings)
            whole = least(lambda text=text: pipeline.check_file(text, "program.py", settings), given.rounds)  # type: ignore[misc]
        except InputError:
            continue
        patched += bool(report.patches)
        added.append(whole - parsing)
    table.title(f"migrating a file: {len(added)} files, {patched} of them with patches")
    told = f"mean {1000 * statistics.mean(added):.1f}, largest {1000 * max(added):.1f}"
    table.row("CPU ms over parsing, median", 1000 * statistics.median(added), TARGET, told)
    table.end()


def parsed(text: bytes) -> None:
    """Parse a text; a text of Python 2 fails at its place, which costs about the same."""
    try:
        ast.parse(text)
    except SyntaxError:
        return


def least(work: Callable[[], object], rounds: int) -> float:
    """The smallest CPU time of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        gc.collect()
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


if __name__ == "__main__":
    main()
