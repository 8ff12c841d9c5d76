"""Groups of flags that several commands take, and the settings that they stand for.

A command names a group as the type of a parameter (`rules: Selection`); `dnnfix.cli.command` makes flags of its fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from typer import Argument, Option

from dnnfix import config
from dnnfix.config import DeviceName, Format, SandboxName, Settings
from dnnfix.programs import UNNAMED_SOURCE

SETTINGS = frozenset(
    {
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
        "proposer",
        "dry_run",
        "offline",
        "allow_host",
    }
)
"""Flags that are settings under the same name."""

RULES = "Rules: codes, prefixes (DNF3), names, ALL; with commas"
PATCHES = "Patches"
MODEL = "A language model, where nothing else repairs: [tool.dnnfix.model]"
RUNS = "Runs"
WHERE = "Settings: the nearest pyproject.toml or dnnfix.toml"
OUTPUT = "Output"

Words = list[str] | None
"""What a flag collects that takes words separated by commas and may be given several times."""


def separated(given: Words) -> Words:
    """The words of all uses of a flag, apart. Raises `typer.BadParameter` where there is none."""
    words = [word.strip() for value in given or () for word in value.split(",") if word.strip()]
    if given and not words:
        raise typer.BadParameter(f"needs at least one word. Received: {given[0]!r}")
    return words or None


def named(incomplete: str) -> list[tuple[str, str]]:
    """What a shell offers for a code that is being written, the last of several: codes, with the names of their rules."""
    from dnnfix import registry

    before, comma, last = incomplete.rpartition(",")
    return [
        (f"{before}{comma}{template.code}", template.name)
        for template in registry.listed(())
        if template.code.startswith(last.upper())
    ]


def _codes(help: str, panel: str) -> Any:
    return Option(metavar="CODES", help=help, rich_help_panel=panel, callback=separated, autocompletion=named)


@dataclass(frozen=True)
class Inputs:
    """What to work on."""

    paths: Annotated[Words, Argument(metavar="PATH", help="files (.py, .ipynb), folders, or - for standard input")] = (
        None
    )
    stdin_filename: Annotated[str, Option(metavar="NAME", help=f"what to call standard input ({UNNAMED_SOURCE})")] = (
        UNNAMED_SOURCE
    )
    exclude: Annotated[
        Words, Option(metavar="PATTERN", help="paths to pass over in folders, e.g. 'old/*'", callback=separated)
    ] = None


@dataclass(frozen=True)
class Selection:
    """Which rules take part."""

    select: Annotated[Words, _codes("look for these only", RULES)] = None
    extend_select: Annotated[Words, _codes("look for these too", RULES)] = None
    ignore: Annotated[Words, _codes("do not look for these", RULES)] = None
    baseline: Annotated[
        str | None,
        Option(metavar="FILE", help="pass over the findings recorded in this file", rich_help_panel=RULES),
    ] = None


@dataclass(frozen=True)
class Fixing:
    """Which rules may propose patches."""

    fixable: Annotated[Words, _codes("propose patches for these only", PATCHES)] = None
    unfixable: Annotated[Words, _codes("propose no patches for these", PATCHES)] = None


@dataclass(frozen=True)
class Programs:
    """What programs are run in."""

    python: Annotated[
        str | None,
        Option(metavar="PATH", help="the interpreter that has the program's packages (this one)", rich_help_panel=RUNS),
    ] = None
    jobs: Annotated[
        int | None, Option(metavar="N", help="runs side by side (as many as there are cores)", rich_help_panel=RUNS)
    ] = None
    sandbox: Annotated[
        SandboxName | None,
        Option(help="how programs are kept from your machine (auto: the best that works here)", rich_help_panel=RUNS),
    ] = None
    device: Annotated[
        DeviceName | None,
        Option(
            help="what programs are run on (auto: the GPU for a program that cannot run elsewhere, where there is one)",
            rich_help_panel=RUNS,
        ),
    ] = None
    trust: Annotated[
        bool,
        Option("--trust", help="allow --sandbox none: programs run with your rights", rich_help_panel=RUNS),
    ] = False


@dataclass(frozen=True)
class Again(Programs):
    """How a proof is run again, which has its seed and its arguments."""

    baseline_python: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="an interpreter with the old Keras: versioning patches are compared with what the program does there",
            rich_help_panel=RUNS,
        ),
    ] = None
    budget: Annotated[
        float | None,
        Option(metavar="SECONDS", help="time for one proof, at least the time it had", rich_help_panel=RUNS),
    ] = None
    test_command: Annotated[
        str | None, Option(metavar="COMMAND", help="a command that no patch may break", rich_help_panel=RUNS)
    ] = None


@dataclass(frozen=True)
class Running(Again):
    """How programs are run."""

    budget: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            help="time for one file, runs included, without what makes it runnable (60); one whose made data take too "
            "long is tried again with less of them, in twice that time",
            rich_help_panel=RUNS,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(metavar="N", help="the first random seed (0); the same seed, the same report", rich_help_panel=RUNS),
    ] = None
    arguments: Annotated[
        str | None,
        Option(
            metavar="WORDS",
            help='what the program is called with: --arguments="--epochs 3"',
            rich_help_panel=RUNS,
        ),
    ] = None


@dataclass(frozen=True)
class LongRun:
    """What a run too long for a sandbox has shown."""

    log: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="the symptoms that dnnfix.watch wrote in a long run of the program (symptoms.jsonl)",
            rich_help_panel=RUNS,
        ),
    ] = None


@dataclass(frozen=True)
class Proposing:
    """Who proposes patches beside rules and the search."""

    proposer: Annotated[
        Literal["model"] | None,
        Option(
            help="ask the language model of [tool.dnnfix.model] where nothing else is proven: its edits are run and judged as all others are",
            rich_help_panel=MODEL,
        ),
    ] = None
    dry_run: Annotated[
        bool, Option("--dry-run", help="show what the model would be asked, and ask nothing", rich_help_panel=MODEL)
    ] = False
    offline: Annotated[
        bool,
        Option("--offline", help="take the model's answers from what is kept of earlier ones", rich_help_panel=MODEL),
    ] = False
    allow_host: Annotated[
        Words,
        Option(
            metavar="HOST",
            help="send parts of programs to this machine, this time; a yes on the terminal holds from then on",
            callback=separated,
            rich_help_panel=MODEL,
        ),
    ] = None


@dataclass(frozen=True)
class Cache:
    """Where what is kept from one call to the next goes."""

    cache_dir: Annotated[
        str | None, Option(metavar="FOLDER", help="where caches and certificates go (~/.cache/dnnfix)")
    ] = None


@dataclass(frozen=True)
class Catalogue:
    """Where rules of the user's own come from."""

    config: Annotated[
        str | None, Option(metavar="FILE", help="take the settings from this file", rich_help_panel=WHERE)
    ] = None
    isolated: Annotated[bool, Option("--isolated", help="take no settings from files", rich_help_panel=WHERE)] = False

    def settings(self, *groups: object) -> Settings:
        """The settings of the working folder, those that the groups give over those of files. Raises `ConfigError`."""
        file = Path(self.config) if self.config else None
        return config.load(Path.cwd(), overrides(self, *groups), file=file, isolated=self.isolated)


@dataclass(frozen=True)
class Configuration(Catalogue):
    """Where settings and caches are."""

    cache_dir: Annotated[
        str | None,
        Option(metavar="FOLDER", help="where caches and certificates go (~/.cache/dnnfix)", rich_help_panel=WHERE),
    ] = None


@dataclass(frozen=True)
class Results:
    """What is shown, and how."""

    output_format: Annotated[
        Format | None,
        Option(
            metavar="FORMAT",
            help=f"how results are written: {', '.join(get_args(Format))} (text)",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    output_file: Annotated[
        str | None,
        Option(metavar="FILE", help="write results there, not to standard output", rich_help_panel=OUTPUT),
    ] = None
    open: Annotated[
        bool,
        Option("--open", help="write the report as a page (html) and show it in the browser", rich_help_panel=OUTPUT),
    ] = False
    exit_zero: Annotated[
        bool, Option("--exit-zero", help="exit with 0 also where there are findings", rich_help_panel=OUTPUT)
    ] = False


@dataclass(frozen=True)
class Talking:
    """How much is said. Each command takes these: they make its `Console`."""

    quiet: Annotated[bool, Option("--quiet", "-q", help="no progress and no remarks", rich_help_panel=OUTPUT)] = False
    verbose: Annotated[
        bool,
        Option("--verbose", "-v", help="every candidate, and tracebacks of internal errors", rich_help_panel=OUTPUT),
    ] = False
    no_color: Annotated[
        bool, Option("--no-color", help="no colour (also: NO_COLOR in the environment)", rich_help_panel=OUTPUT)
    ] = False


def overrides(*groups: object) -> dict[str, Any]:
    """The settings that the command line gives; those that it does not mention are `None`."""
    given = {name: value for group in groups for name, value in vars(group).items() if name in SETTINGS}
    flags = ("trust", "dry_run", "offline")
    return {
        **given,
        **{name: given.get(name) or None for name in flags},
    }  # a flag cannot take back what it does not say
