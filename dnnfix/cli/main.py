"""The entry point: picks the command, parses its flags, and turns errors into messages and exit codes.

Flags are read with argparse: it starts in a tenth of the time of the richer readers, and `check` runs on every save.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NoReturn, Protocol

from dnnfix import __version__
from dnnfix.cli.console import BROKEN_PIPE, CLEAN, ERROR, INTERRUPTED, Console
from dnnfix.errors import BudgetExceeded, CatalogueError, EnvironmentProblem, UserError

COMMANDS = {
    "suggest": "find faults, write patches and prove each by running the program; writes nothing",
    "fix": "the same, then apply the patches that were proven",
    "reproduce": "make a program, or the one in a bug report, run without touching its fault",
    "check": "the static part alone, in milliseconds: for editors and hooks; runs nothing",
    "explain": "what a rule finds, why it is a fault, and how it is repaired",
    "templates": "list every rule",
    "verify": "run the proof of an accepted patch again",
    "bot": "pull requests with proven patches, in repositories that ask for them",
    "bench": "the benchmark of 667 bugs and repairs: look at it, prove its cases, replay it",
}

HELP = """usage: dnnfix COMMAND [options] [PATH ...]

Repairs deep-learning programs (PyTorch, Keras, TensorFlow). Finds the fault, writes the patch, and proves it by running
the program for a moment before and after, in a sandbox.

commands:
{commands}

examples:
  dnnfix suggest train.py            what is wrong, and a proven patch for it
  dnnfix fix --diff train.py         the diff alone, ready for `git apply`
  dnnfix fix --interactive train.py  decide patch by patch
  dnnfix check src/                  a whole repository, without running anything
  dnnfix explain DNF302              the story behind a finding

options:
  -h, --help     this text; `dnnfix COMMAND --help` tells more
  -V, --version  the version

exit codes: 0 nothing found, 1 findings, 2 error, 130 after Ctrl-C
"""

REPORT = "This is a fault of dnnfix, not of your program. Please report it with the command that you gave"


class Group(Protocol):
    """What a package of several commands offers; they are its modules."""

    COMMANDS: Mapping[str, str]
    HELP: str


class Command(Protocol):
    """What a module of a command offers."""

    OPERANDS: str
    DESCRIPTION: str
    EXAMPLES: str
    EXIT_CODES: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's flags."""

    def run(self, arguments: argparse.Namespace, console: Console) -> int:
        """Carry the command out and return the exit code."""


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
    """Carry out one call and return its exit code; flags that make no sense end in `SystemExit(2)`."""
    if argv and argv[0] in ("-V", "--version"):
        Console().write(f"dnnfix {__version__}\n")
        return CLEAN
    return _run_one(argv, "dnnfix", COMMANDS, HELP)


def _run_one(argv: Sequence[str], name: str, commands: Mapping[str, str], text: str) -> int:
    """Carry out the one of these commands that a call begins with, or one of a group of commands."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        listed = "\n".join(f"  {name:<13}{what}" for name, what in commands.items())
        Console().write(text.format(commands=listed))
        return CLEAN if argv else ERROR
    if argv[0] not in commands:
        Console().problem(_unknown(argv[0], name, commands))
        return ERROR
    name = f"{name} {argv[0]}"
    module = importlib.import_module(name.replace("dnnfix", "dnnfix.cli", 1).replace(" ", "."))
    if hasattr(module, "COMMANDS"):
        group: Group = module
        return _run_one(argv[1:], name, group.COMMANDS, group.HELP)
    command: Command = module
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog=name,
        usage=f"{name} [options] {command.OPERANDS}".rstrip(),
        description=command.DESCRIPTION,
        epilog=f"examples:\n{command.EXAMPLES}\nexit codes: {command.EXIT_CODES}",
        # One is made for each flag, and would ask each time how wide the terminal is.
        formatter_class=formatter if {"-h", "--help"} & set(argv) else partial(formatter, width=80),
        allow_abbrev=False,
    )
    command.configure(parser)
    arguments = parser.parse_intermixed_args(_plain_words(argv[1:]))
    console = Console(
        quiet=getattr(arguments, "quiet", False),
        verbose=getattr(arguments, "verbose", False),
        colour=not getattr(arguments, "no_color", False),
    )
    return guarded(command, arguments, console)


def guarded(command: Command, arguments: argparse.Namespace, console: Console) -> int:
    """Run a command; whatever it raises becomes a message and an exit code."""
    try:
        return command.run(arguments, console)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        console.problem("interrupted; nothing is left running.")
        return INTERRUPTED
    except (UserError, EnvironmentProblem, CatalogueError, BudgetExceeded) as error:
        console.problem(str(error))
    except OSError as error:
        console.problem(_refused(error))
    except Exception as error:  # noqa: BLE001 - the last guard: a user sees a message, never a traceback
        console.problem(internal(error, console.verbose))
    return ERROR


def _plain_words(argv: Sequence[str]) -> list[str]:
    """The words of a call, those after `--` such that they cannot be taken for flags."""
    if "--" not in argv:
        return list(argv)
    at = argv.index("--")
    return [*argv[:at], *(f"./{word}" if word.startswith("-") else word for word in argv[at + 1 :])]


def _refused(error: OSError) -> str:
    """What the operating system refused."""
    try:
        os.getcwd()
    except OSError:
        return "the working folder is gone. Go to another and run dnnfix again."
    return f"{error.filename or 'input or output'}: {error.strerror or error}"


def internal(error: Exception, verbose: bool) -> str:
    """The message for an error that should not be: its type and place, and the traceback only when verbose."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    message = f"internal error: {type(error).__name__}{where}: {error}\n{REPORT}"
    if verbose:
        return f"{message}.\n{''.join(traceback.format_exception(error))}"
    return f"{message}; -v shows the traceback."


def _unknown(word: str, name: str, commands: Mapping[str, str]) -> str:
    if commands is COMMANDS and (os.path.exists(word) or word == "-"):
        return f"`{word}` is no command. To repair it, run: dnnfix suggest {word}"
    import difflib

    near = difflib.get_close_matches(word, commands, n=1)
    hint = f" Did you mean `{name} {near[0]}`?" if near else f" Commands are: {', '.join(commands)}."
    return f"`{word}` is no command{' of ' + name if commands is not COMMANDS else ''}.{hint}"
