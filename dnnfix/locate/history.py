"""The commits of a repository that changed Python files: when, which files, and whether they say that they fix something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.forge.git import Git

MOST_COMMITS = 20_000
"""Commits that are read of a history, newest first."""
MOST_FILES = 20
"""Files of a commit beyond which it is a sweep (a rename, a new formatter) and says nothing about any of them."""

_FIX = re.compile(
    r"\b(?:fix(?:es|ed|ing)?|bug(?:s|fix)?|clos(?:es|ed?)|resolv(?:es|ed?)|repair\w*|correct(?:s|ed|ly)?|crash\w*|error)\b",
    re.IGNORECASE,
)
_START, _FIELD, _END = "\x1e", "\x1f", "\x1d"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `time` is its author's, in seconds since 1970."""

    time: int
    message: str
    files: tuple[str, ...]

    @property
    def fixes(self) -> bool:
        """Whether the message says that something was wrong."""
        return _FIX.search(self.message) is not None


def commits(git: Git, until: str, since: str | None = None) -> Iterator[Commit]:
    """The commits up to `until` that `since` does not have, newest first; those that touch no Python file are left out."""
    span = f"{since}..{until}" if since else until
    shown = git.run(
        "log", "--no-merges", f"--max-count={MOST_COMMITS}", "--name-only", "--no-renames", "--relative",
        f"--format={_START}%at{_FIELD}%s%n%b{_END}", span, "--", "*.py",
    )  # fmt: skip
    for entry in shown.split(_START)[1:]:
        about, _, names = entry.partition(_END)
        time, message = about.split(_FIELD, 1)
        files = tuple(line for line in names.splitlines() if line)
        if 0 < len(files) <= MOST_FILES:
            yield Commit(int(time), message, files)
