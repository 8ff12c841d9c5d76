"""The words that follow `%dnnfix` and `%%dnnfix`."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

CELL = "cell"
"""The action that `%%dnnfix` on top of a cell stands for."""
ACTIONS = ("check", "suggest", "apply")
_SETTINGS = ("select", "ignore", "budget", "seed", "python", "arguments")

ABOUT = """Find faults in deep-learning code, and prove patches for them by running it in a sandbox.

`%%dnnfix` on top of a cell checks it, with the cells executed before it as context, and then runs it.
`%%dnnfix --suggest` runs these cells in a sandbox, and proves patches.
`%dnnfix check` and `%dnnfix suggest` do so for the whole notebook as it was saved, or, where its file is not known,
for the cells executed so far. `%dnnfix apply ID` applies a patch of a report."""


def parsed(line: str) -> argparse.Namespace:
    """The options of a line. Raises `UsageError` where they make no sense."""
    options: argparse.Namespace = parser().parse_argstring(line)
    if options.action not in (*ACTIONS, CELL):
        near = difflib.get_close_matches(options.action, ACTIONS, n=1)
        hint = f"Did you mean `%dnnfix {near[0]}`?" if near else "There are check, suggest and apply."
        raise UsageError(f"%dnnfix has no `{options.action}`. {hint}")
    if (options.action == "apply") != (options.id is not None):
        wanted = "%dnnfix apply ID: give the id of a patch." if options.id is None else f"`{options.id}` means nothing."
        raise UsageError(f"{wanted} `%dnnfix?` shows what can be given.")
    options.suggest = options.suggest or options.action == "suggest"
    return options


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings among the options, as the library takes them."""
    given = {name: value for name in _SETTINGS if (value := getattr(options, name)) is not None}
    lists: dict[str, Any] = {
        name: [code.strip() for code in given[name].split(",")] for name in ("select", "ignore") if name in given
    }
    return {**given, **lists}


def parser() -> MagicArgumentParser:
    """The parser of the options, which knows their help as well."""
    made = MagicArgumentParser(prog="%dnnfix", description=ABOUT)
    made.add_argument("action", nargs="?", default="check", metavar="ACTION", help="check, suggest, or apply ID")
    made.add_argument("id", nargs="?", metavar="ID", help="a patch, or enough of its id")
    made.add_argument("--suggest", action="store_true", help="prove patches by running the program in a sandbox")
    made.add_argument("--no-run", action="store_true", help="do not run the cell afterwards")
    made.add_argument("--file", metavar="FILE", help="the notebook's file, where it is not found")
    made.add_argument("--select", metavar="CODES", help="look for these rules alone: DNF3,DNF802")
    made.add_argument("--ignore", metavar="CODES", help="leave these rules out")
    made.add_argument("--budget", type=float, metavar="SECONDS", help="time for suggest (60)")
    made.add_argument("--seed", type=int, metavar="N", help="the first random seed (0)")
    made.add_argument("--python", metavar="PATH", help="the interpreter that runs the program (the kernel's)")
    made.add_argument("--arguments", metavar="WORDS", help="what the program is called with")
    return made
