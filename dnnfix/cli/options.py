"""Flags that several commands share, and the settings that they stand for."""

from __future__ import annotations

import argparse
from typing import Any

from dnnfix.config import DEVICES, FORMATS, SANDBOXES

SETTINGS = (
    "select",
    "extend_select",
    "ignore",
    "fixable",
    "unfixable",
    "exclude",
    "budget",
    "seed",
    "jobs",
    "python",
    "baseline_python",
    "sandbox",
    "device",
    "trust",
    "arguments",
    "test_command",
    "baseline",
    "cache_dir",
    "unsafe_fixes",
    "output_format",
)
"""Flags that are settings under the same name."""


def overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings on the command line; those that it does not mention are `None`."""
    return {name: getattr(arguments, name, None) for name in SETTINGS}


def add_paths(parser: argparse.ArgumentParser) -> None:
    """What to work on."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files (.py, .ipynb), folders, or - for standard input"
    )
    parser.add_argument(
        "--stdin-filename", metavar="NAME", default="stdin.py", help="what to call standard input (%(default)s)"
    )
    parser.add_argument(
        "--exclude", action=Codes, metavar="PATTERN", help="paths to pass over in folders, e.g. 'old/*'"
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which rules take part."""
    group = parser.add_argument_group(
        "rules", "Codes (DNF302), prefixes (DNF3), rule names or ALL, separated by commas."
    )
    group.add_argument("--select", action=Codes, metavar="CODES", help="look for these only")
    group.add_argument("--extend-select", action=Codes, metavar="CODES", help="look for these too")
    group.add_argument("--ignore", action=Codes, metavar="CODES", help="do not look for these")
    group.add_argument("--baseline", metavar="FILE", help="pass over the findings recorded in this file")


def add_fixing(parser: argparse.ArgumentParser) -> None:
    """Which rules may propose patches."""
    group = parser.add_argument_group("patches")
    group.add_argument("--fixable", action=Codes, metavar="CODES", help="propose patches for these only")
    group.add_argument("--unfixable", action=Codes, metavar="CODES", help="propose no patches for these")


def add_programs(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What programs are run in."""
    group = parser.add_argument_group("runs")
    group.add_argument("--python", metavar="PATH", help="the interpreter that has the program's packages (this one)")
    group.add_argument("--jobs", type=int, metavar="N", help="runs side by side (as many as there are cores)")
    group.add_argument(
        "--sandbox", choices=SANDBOXES, help="how programs are kept from your machine (auto: the best that works here)"
    )
    where = "what programs are run on (auto: the GPU for a program that cannot run elsewhere, where there is one)"
    group.add_argument("--device", choices=DEVICES, help=where)
    group.add_argument(
        "--trust", action="store_true", default=None, help="allow --sandbox none: programs run with your rights"
    )
    return group


def add_running(parser: argparse.ArgumentParser, again: bool = False) -> None:
    """How programs are run; a run `again` takes seed and arguments from its certificate."""
    group = add_programs(parser)
    once_more = "time for one proof, at least the time it had"
    for_a_file = (
        "time for one file, runs included, without what makes it runnable (60); one whose made data take too long "
    )
    budget = once_more if again else for_a_file + "is tried again with less of them, in twice that time"
    old = "an interpreter with the old Keras: versioning patches are compared with what the program does there"
    group.add_argument("--baseline-python", metavar="PATH", help=old)
    group.add_argument("--budget", type=float, metavar="SECONDS", help=budget)
    if not again:
        seed = "the first random seed (0); the same seed, the same report"
        group.add_argument("--seed", type=int, metavar="N", help=seed)
        called = 'what the program is called with: --arguments="--epochs 3"'
        group.add_argument("--arguments", metavar="WORDS", help=called)
    group.add_argument("--test-command", metavar="COMMAND", help="a command that no patch may break")


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """Where settings and caches are."""
    group = parser.add_argument_group(
        "settings", "From [tool.dnnfix] in pyproject.toml or from dnnfix.toml; nearest wins."
    )
    group.add_argument("--config", metavar="FILE", help="take the settings from this file")
    group.add_argument("--isolated", action="store_true", help="take no settings from files")
    add_cache(group)


def add_cache(parser: argparse._ActionsContainer) -> None:
    """Where what is kept from one call to the next goes."""
    parser.add_argument("--cache-dir", metavar="FOLDER", help="where caches and certificates go (~/.cache/dnnfix)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """What is shown, and how."""
    group = parser.add_argument_group("output")
    group.add_argument("--output-format", choices=FORMATS, help="how results are written (text)")
    group.add_argument("--output-file", metavar="FILE", help="write results there, not to standard output")
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 also where there are findings")
    add_talking(group, "every candidate, and tracebacks of internal errors")


def add_talking(parser: argparse._ActionsContainer, verbose: str = "tracebacks of internal errors") -> None:
    """How much is said; `verbose` is what --verbose adds."""
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no remarks")
    parser.add_argument("-v", "--verbose", action="store_true", help=verbose)
    parser.add_argument("--no-color", action="store_true", help="no colour (also: NO_COLOR in the environment)")


class Codes(argparse.Action):
    """A flag that takes a list separated by commas and may be given several times."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add the words of one use of the flag."""
        words = [word.strip() for word in str(values).split(",") if word.strip()]
        if not words:
            parser.error(f"{option_string} needs at least one word. Received: {values!r}")
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), *words])
