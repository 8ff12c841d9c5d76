"""The reviewers, assignees and labels of a pull request, from the repository's settings and its CODEOWNERS file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dnnfix.bot.settings import MOST_NAMES, NAME, BotSettings
from dnnfix.errors import InputError
from dnnfix.forge.git import Git
from dnnfix.forge.protocol import Dress

FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where owners are named: the first that is there counts, as on GitHub."""

MOST_BYTES = 3 * 2**20
"""Bytes beyond which GitHub does not read the file."""

PERSON, TEAM = "USERNAME", "TEAM"


def dress(settings: BotSettings, git: Git, commit: str, changed: Iterable[str]) -> Dress:
    """Labels, assignees and reviewers for changed files. Raises `InputError` where CODEOWNERS cannot be read."""
    is_ours = settings.codeowners and settings.draft  # GitHub asks the owners of what is no draft
    owners = _owners(git, commit, changed) if is_ours else ()
    reviewers = tuple(dict.fromkeys((*settings.reviewers, *owners)))[:MOST_NAMES]
    return Dress(settings.labels, settings.assignees, reviewers)


def _owners(git: Git, commit: str, changed: Iterable[str]) -> tuple[str, ...]:
    """The people and teams that own the files at a commit; addresses of mail can be asked by nobody."""
    for path in FILES:
        listed = git.run("ls-tree", "-z", "-l", commit, "--", path).split("\0")[0].split()
        if not listed or not listed[0].startswith("100") or int(listed[3]) > MOST_BYTES:
            continue
        try:
            from codeowners import CodeOwners
        except ImportError:
            raise InputError(f"{path}: cannot be read without the package codeowners. Install dnnfix[bot].") from None
        lines = git.run_bytes("cat-file", "blob", listed[2]).decode("utf-8", "replace").splitlines()
        try:
            found = CodeOwners("\n".join(line.partition(" #")[0] for line in lines))
        except (ValueError, re.error) as error:
            raise InputError(f"{path}: cannot be read ({str(error)[:100]}).") from None
        named = (name.removeprefix("@") for one in changed for kind, name in found.of(one) if kind in (PERSON, TEAM))
        return tuple(name for name in named if NAME.fullmatch(name))
    return ()
