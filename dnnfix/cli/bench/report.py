"""`dnnfix bench report`: writes the results of one replay, or of its shards together."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from dnnfix.bench.store import Store
from dnnfix.cli.bench import choosing
from dnnfix.cli.bench.writing import RESULTS, write_report
from dnnfix.cli.console import CLEAN, Console
from dnnfix.errors import ConfigError, InputError

OPERANDS = "FOLDER ..."

DESCRIPTION = """Write RESULTS.md, report.html and report.json of a replay, finished or not. Several folders are the shards of one
replay, or parts of it: they have to come from the same engine and versions."""

EXAMPLES = """  dnnfix bench report replay
  dnnfix bench report part1 part2 part3 part4 --output whole
"""

EXIT_CODES = "0, or 2 where a folder holds no results or they do not belong together"

SAME = ("engine", "torch", "keras", "tensorflow", "python", "budget")


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bench report`."""
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="what was given to `replay --output`")
    parser.add_argument("--output", metavar="FOLDER", help="where to write the report (the first folder)")
    choosing.add_place(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Put the results together and write the report."""
    benchmark = choosing.opened(arguments)
    with ExitStack() as stack:
        stores = [stack.enter_context(opened(Path(folder))) for folder in arguments.folders]
        abouts = [store.about() for store in stores]
        for folder, about in zip(arguments.folders, abouts, strict=True):
            if other := next((name for name in SAME if about.get(name) != abouts[0].get(name)), None):
                raise ConfigError(
                    f"{folder}: another {other} than in {arguments.folders[0]} ({about.get(other)} and "
                    f"{abouts[0].get(other)}). Results of one report have to be made by one engine."
                )
        ids = {id for about in abouts for id in about.get("cases", "").split()}
        cases = [benchmark.case(id) for id in sorted(ids)]
        output = Path(arguments.output or arguments.folders[0])
        made = write_report(benchmark, cases, stores, output)
    console.write(f"correct {made.whole.shares['correct']}\n{output / 'RESULTS.md'}\n")
    return CLEAN


def opened(folder: Path) -> Store:
    """The results in a folder. Raises `InputError` where there are none."""
    if not (folder / RESULTS).is_file():
        raise InputError(
            f"{folder}: there are no results here ({RESULTS} is missing). `dnnfix bench replay` makes them."
        )
    return Store(folder / RESULTS)
