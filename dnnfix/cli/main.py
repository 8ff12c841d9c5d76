"""The entry point: a group of commands, each of which is imported when it is called."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from dnnfix import __version__
from dnnfix.cli.console import ERROR, Console
from dnnfix.cli.groups import Commands, Listed, built

REPAIR, LOOK, SERVE = "Find and repair", "Rules and proofs", "The bot and the benchmark"


COMMANDS = {
    "suggest": Listed("find faults, write patches and prove each by running the program; writes nothing", REPAIR),
    "fix": Listed("the same, then apply the patches that were proven", REPAIR),
    "check": Listed("the static part alone, in milliseconds: for editors and hooks; runs nothing", REPAIR),
    "server": Listed("what check finds, and its patches, in an editor: the language server protocol", REPAIR),
    "mcp": Listed("the same for coding agents, as tools: the Model Context Protocol", REPAIR),
    "reproduce": Listed("make a program, or the one in a bug report, run without touching its fault", REPAIR),
    "locate": Listed("the files, functions and lines that a bug report is about", REPAIR),
    "explain": Listed("what a rule finds, why it is a fault, and how it is repaired", LOOK),
    "templates": Listed("list every rule", LOOK),
    "verify": Listed("run the proof of an accepted patch again", LOOK),
    "bot": Listed("pull requests with proven patches, in repositories that ask for them", SERVE),
    "bench": Listed("the benchmark of 667 bugs and repairs: look at it, prove its cases, replay it", SERVE),
}

ABOUT = """Repairs deep-learning programs (PyTorch, Keras, TensorFlow). Finds the fault, writes the patch, and proves it by running
the program for a moment before and after, in a sandbox."""

EXAMPLES = """  dnnfix suggest train.py            what is wrong, and a proven patch for it
  dnnfix fix --unsafe --diff x.py    the diff alone, ready for `git apply`
  dnnfix fix --interactive train.py  decide patch by patch
  dnnfix check src/                  a whole repository, without running anything
  dnnfix explain DNF302              the story behind a finding
"""

EXIT_CODES = "0 nothing found, 1 findings, 2 error, 130 after Ctrl-C"


def main() -> NoReturn:
    """The command `dnnfix`."""
    _open_streams()
    ended: list[int] = []

    def stop(number: int, frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)
        ended.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)  # what is known is written first, as after Ctrl-C
    code = run(sys.argv[1:])
    if ended:
        os.kill(os.getpid(), ended[0])
    sys.exit(code)


def _open_streams() -> None:
    """Stand in for streams that the caller closed: what is written is lost, what is read is empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def run(argv: Sequence[str]) -> int:
    """Carry out one call and return its exit code."""
    words = ["--help"] if list(argv) == ["help"] else list(argv)
    try:
        built(_Root, ABOUT, _options).main(args=words, prog_name="dnnfix")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ERROR
    return ERROR


def _version(asked: bool) -> None:
    if asked:
        Console().write(f"dnnfix {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="the version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The options of no command."""


def commands_with(option: str) -> list[str]:
    """The commands, of those that are no groups, that take an option."""
    modules = {name: import_module(f"dnnfix.cli.{name}") for name in COMMANDS}
    built = {name: module.run.built(name) for name, module in modules.items() if not hasattr(module, "group")}
    return [name for name, one in built.items() if any(option in parameter.opts for parameter in one.params)]


class _Root(Commands):
    listed, package, examples, exit_codes = COMMANDS, "dnnfix.cli", EXAMPLES, EXIT_CODES

    def unknown(self, word: str, name: str) -> str:
        """What to say of a word that is not a command; a program is one that a command was left out for."""
        if word == "version":
            return f"`{word}` is not a command of {name}. Did you mean `{name} --version`?"
        if os.path.exists(word) or word == "-":
            return f"`{word}` is not a command. To repair it, run: dnnfix suggest {word}"
        return super().unknown(word, name)
