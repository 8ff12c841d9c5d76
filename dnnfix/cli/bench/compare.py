"""`dnnfix bench compare`: shows what changed from one replay to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from dnnfix.bench.comparison import compare
from dnnfix.cli.bench.report import opened
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, FOUND, Console
from dnnfix.errors import InputError

EXAMPLES = """  dnnfix bench compare replay-1.0 replay-1.1
"""

EXIT_CODES = "0 nothing correct was lost and nothing wrong or false came in, 1 otherwise, 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    before: Annotated[str, Argument(metavar="BEFORE", help="the folder of a replay")],
    after: Annotated[str, Argument(metavar="AFTER", help="the folder of another one")],
) -> int:
    """What changed from one replay to another, case by case, on the cases that both have; with the probability of so
    uneven a split by chance."""
    with opened(Path(before)) as old, opened(Path(after)) as new:
        shared, changes = compare(old.results(), new.results())
    if not shared:
        raise InputError(f"{before} and {after} have no case in common.")
    console.write(f"{shared} cases in both\n")
    for change in changes:
        was, now = change.both + len(change.lost), change.both + len(change.won)
        console.write(f"{change.name:<24}{was:>5} -> {now:<5} +{len(change.won)} -{len(change.lost)}")
        console.write(f"   p = {change.chance:.3f}\n" if change.lost or change.won else "\n")
        console.write("".join(f"  + {id}\n" for id in change.won) + "".join(f"  - {id}\n" for id in change.lost))
    return FOUND if any(change.is_worse for change in changes) else CLEAN
