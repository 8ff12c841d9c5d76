"""`dnnfix bench report`: writes the results of one replay, or of its shards together."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnnfix.bench.store import Store
from dnnfix.cli.bench import choosing
from dnnfix.cli.bench.writing import RESULTS, write_report
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.errors import ConfigError, InputError

EXAMPLES = """  dnnfix bench report replay
  dnnfix bench report part1 part2 part3 part4 --output whole
"""

EXIT_CODES = "0, or 2 where a folder holds no results or they do not belong together"

SAME = ("engine", "torch", "keras", "tensorflow", "python", "budget")


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    folders: Annotated[list[str], Argument(metavar="FOLDER", help="what was given to `replay --output`")],
    place: choosing.Place,
    output: Annotated[str | None, Option(metavar="FOLDER", help="where to write the report (the first folder)")] = None,
) -> int:
    """Write RESULTS.md, report.html and report.json of a replay, finished or not. Several folders are the shards of one
    replay, or parts of it: they have to come from the same engine and versions."""
    benchmark = place.opened()
    with ExitStack() as stack:
        stores = [stack.enter_context(opened(Path(folder))) for folder in folders]
        abouts = [store.about() for store in stores]
        for folder, about in zip(folders, abouts, strict=True):
            if other := next((name for name in SAME if about.get(name) != abouts[0].get(name)), None):
                raise ConfigError(
                    f"{folder}: another {other} than in {folders[0]} ({about.get(other)} and "
                    f"{abouts[0].get(other)}). Results of one report have to be made by one engine."
                )
        ids = {id for about in abouts for id in about.get("cases", "").split()}
        cases = [benchmark.case(id) for id in sorted(ids)]
        target = Path(output or folders[0])
        made = write_report(benchmark, cases, stores, target, console)
    console.write(f"correct {made.whole.shares['correct']}\n{target / 'RESULTS.md'}\n")
    return CLEAN


def opened(folder: Path) -> Store:
    """The results in a folder. Raises `InputError` where there are none."""
    if not (folder / RESULTS).is_file():
        raise InputError(
            f"{folder}: there are no results here ({RESULTS} is missing). `dnnfix bench replay` makes them."
        )
    return Store(folder / RESULTS)
