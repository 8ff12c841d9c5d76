"""Flags that the commands of `dnnfix bot` share, and the forge, report and analysis settings that they select."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from dnnfix import config
from dnnfix.bot.analysis_process import Flags
from dnnfix.cli.console import Console
from dnnfix.cli.options import MODEL
from dnnfix.errors import ConfigError, InputError
from dnnfix.forge.dry_run import DryRun
from dnnfix.forge.local import LocalForge
from dnnfix.forge.protocol import Forge

if TYPE_CHECKING:
    from dnnfix.bot.report import Analysis

LOCAL, GITHUB = "local:", "github"

TOKENS = ("DNNFIX_GITHUB_TOKEN", "GITHUB_TOKEN")
"""Variables that the token for GitHub is taken from, the first that is set."""


@dataclass(frozen=True)
class Reported:
    """What is published, and where."""

    report: Annotated[str, Argument(metavar="REPORT", help="the report")]
    repo: Annotated[
        str,
        Option(metavar="OWNER/NAME", help="the repository to publish in, which the report has to be of"),
    ]

    def analysis(self) -> Analysis:
        """What the report says. Raises `InputError` where it cannot be read, `BotReportError` where it does not hold together."""
        from dnnfix.bot.report import MOST_BYTES, read

        try:
            with Path(self.report).open("rb") as file:
                text = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise InputError(f"{self.report}: cannot be read ({error.strerror}). Check the path.") from None
        return read(text, self.report)


@dataclass(frozen=True)
class Target:
    """Where pull requests go."""

    where: Annotated[
        str,
        Option(
            "--forge",
            metavar="github[:OWNER]|local:FOLDER",
            help=f"GitHub, with the token in {' or '.join(TOKENS)} (OWNER is whose repositories are listed); "
            "or a folder with bare repositories OWNER/NAME.git, where pull requests become files in OWNER/NAME.pulls",
        ),
    ]
    dry_run: Annotated[bool, Option("--dry-run", help="say what would be done, and do nothing")] = False
    asked: Annotated[
        bool, Option("--asked", help="also in a repository without a table [bot]: a person asks for this one")
    ] = False

    def forge(self, console: Console) -> Forge:
        """The forge. Raises `InputError` for another kind, and `ForgeError` where it is not there."""
        kind, _, owner = self.where.partition(":")
        if self.where.startswith(LOCAL):
            found: Forge = LocalForge(Path(self.where.removeprefix(LOCAL)))
        elif kind == GITHUB:
            found = _github(owner)
        else:
            raise InputError(f"--forge: has to be github, github:OWNER or local:FOLDER. Received: {self.where}")
        return DryRun(found, lambda text: console.write(f"{text}\n")) if self.dry_run else found


Onboarding = Annotated[
    bool,
    Option("--onboard", help="where there is no table [bot], ask for it by a pull request, once, and do nothing else"),
]
"""Whether repositories are asked."""


@dataclass(frozen=True)
class Analysing:
    """How repositories are analysed."""

    budget: Annotated[float, Option(metavar="SECONDS", help="for each program (60)")] = 60.0
    whole: Annotated[float | None, Option(metavar="SECONDS", help="for a whole repository (1800)")] = None
    python: Annotated[str | None, Option(metavar="PATH", help="the interpreter that has the programs' packages")] = None
    seed: Annotated[int | None, Option(metavar="N", help="the first seed (0)")] = None
    proposer: Annotated[
        Literal["model"] | None,
        Option(help="ask the language model of --model-config where nothing else is proven", rich_help_panel=MODEL),
    ] = None
    model_config: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="a file of yours with the table [model]; what repositories say of models is not read",
            rich_help_panel=MODEL,
        ),
    ] = None
    allow_host: Annotated[
        str | None, Option(metavar="HOST", help="send parts of programs to this machine", rich_help_panel=MODEL)
    ] = None

    def flags(self) -> Flags:
        """How to analyse; files are those of the working folder, not of the repository that is gone into.

        Raises `ConfigError` where a model is to be asked and may not be.
        """
        python, asked = _absolute(self.python), _absolute(self.model_config)
        if (self.proposer is None) != (asked is None):
            raise ConfigError("--proposer model and --model-config go together: the file has the table [model].")
        flags = Flags(self.budget, self.whole, python, self.seed, None, self.proposer, asked, self.allow_host)
        if self.proposer is not None:
            from dnnfix.pipeline import verify_proposer

            verify_proposer(config.freeze(config.merge({}, flags.overrides()), Path.cwd()))
        return flags


def _absolute(path: str | Path | None) -> str | None:
    return str(Path(path).absolute()) if path else None


def _commit(text: str | None) -> str | None:
    from dnnfix.bot.report import is_commit

    if text is not None and not is_commit(text):
        raise typer.BadParameter(f"has to be the whole name of a commit. Received: {text}")
    return text


Since = Annotated[
    str | None,
    Option(
        metavar="COMMIT",
        help="leave out what no change since this commit can be felt in; what it has open is left as it is",
        callback=_commit,
    ),
]
"""Where the analysis begins."""


def _github(owner: str) -> Forge:
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), "")
    if not token:
        raise InputError(
            f"--forge github: set {' or '.join(TOKENS)} to a token that may write contents and pull requests."
        )
    try:
        from github.Auth import Token

        from dnnfix.forge.github import GitHubForge
    except ImportError:
        raise InputError("--forge github: PyGithub is not installed. Install dnnfix[bot].") from None
    return GitHubForge(Token(token), owner, api())


def api() -> str:
    """The address of GitHub's interface, or of that of a GitHub Enterprise Server."""
    from dnnfix.forge.github import API

    return os.environ.get("GITHUB_API_URL") or API
