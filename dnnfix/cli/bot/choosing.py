"""Flags that the commands of `dnnfix bot` share, and the forge, report and analysis settings that they select."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix.bot.analysis_process import Flags
from dnnfix.cli.console import Console
from dnnfix.errors import InputError
from dnnfix.forge.dry_run import DryRun
from dnnfix.forge.local import LocalForge
from dnnfix.forge.protocol import Forge

if TYPE_CHECKING:
    from dnnfix.bot.report import Analysis

LOCAL, GITHUB = "local:", "github"

TOKENS = ("DNNFIX_GITHUB_TOKEN", "GITHUB_TOKEN")
"""Variables that the token for GitHub is taken from, the first that is set."""


def add_report(parser: argparse.ArgumentParser) -> None:
    """What is published, and where."""
    parser.add_argument("report", help="the report")
    parser.add_argument(
        "--repo",
        required=True,
        metavar="OWNER/NAME",
        help="the repository to publish in, which the report has to be of",
    )


def analysis(path: str) -> Analysis:
    """What a report says. Raises `InputError` where it cannot be read, and `BotReportError` where it does not hold together."""
    from dnnfix.bot.report import MOST_BYTES, read

    try:
        with Path(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check the path.") from None
    return read(text, path)


def add_forge(parser: argparse.ArgumentParser) -> None:
    """Where pull requests go."""
    parser.add_argument(
        "--forge", required=True, metavar="github[:OWNER]|local:FOLDER",
        help=f"GitHub, with the token in {' or '.join(TOKENS)} (OWNER is whose repositories are listed); "
        "or a folder with bare repositories OWNER/NAME.git, where pull requests become files in OWNER/NAME.pulls",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument(
        "--asked", action="store_true", help="also in a repository without a table [bot]: a person asks for this one"
    )


def add_onboard(parser: argparse.ArgumentParser) -> None:
    """Whether repositories are asked."""
    parser.add_argument(
        "--onboard", action="store_true",
        help="where there is no table [bot], ask for it by a pull request, once, and do nothing else",
    )  # fmt: skip


def add_analysis(parser: argparse.ArgumentParser) -> None:
    """How repositories are analysed."""
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="for each program (60)")
    parser.add_argument("--whole", type=float, metavar="SECONDS", help="for a whole repository (1800)")
    parser.add_argument("--python", metavar="PATH", help="the interpreter that has the programs' packages")
    parser.add_argument("--seed", type=int, help="the first seed (0)")


def add_since(parser: argparse.ArgumentParser) -> None:
    """Where the analysis begins."""
    parser.add_argument(
        "--since", metavar="COMMIT", type=_commit,
        help="leave out what no change since this commit can be felt in; what it has open is left as it is",
    )  # fmt: skip


def _commit(text: str) -> str:
    from dnnfix.bot.report import is_commit

    if not is_commit(text):
        raise argparse.ArgumentTypeError(f"has to be the whole name of a commit. Received: {text}")
    return text


def flags(arguments: argparse.Namespace) -> Flags:
    """How to analyse; the interpreter is that of the working folder, not of the repository that is gone into."""
    python = str(Path(arguments.python).absolute()) if arguments.python else None
    return Flags(arguments.budget, arguments.whole, python, arguments.seed)


def forge(arguments: argparse.Namespace, console: Console) -> Forge:
    """The forge that the flags name. Raises `InputError` for another kind, and `ForgeError` where it is not there."""
    named: str = arguments.forge
    kind, _, owner = named.partition(":")
    if named.startswith(LOCAL):
        found: Forge = LocalForge(Path(named.removeprefix(LOCAL)))
    elif kind == GITHUB:
        found = _github(owner)
    else:
        raise InputError(f"--forge: has to be github, github:OWNER or local:FOLDER. Received: {named}")
    return DryRun(found, lambda text: console.write(f"{text}\n")) if arguments.dry_run else found


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
