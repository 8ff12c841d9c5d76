"""Parses the URL of an instance: a question, or a commit with perhaps a file and a line in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import md5, sha256

_QUESTION = re.compile(r"https?://stackoverflow\.com/questions/(\d+)(?:/.*)?")
_COMMIT = re.compile(
    r"https?://github\.com/([\w.-]+/[\w.-]+)/commit/([0-9a-f]{7,40})(?:#(?:diff-([0-9a-f]{32}|[0-9a-f]{64}))?-?([LR])?(\d+)?)?"
)
_FILE = re.compile(r"https?://github\.com/([\w.-]+/[\w.-]+)/blob/([0-9a-f]{7,40})/([^#]+)(?:#L(\d+)(?:-L\d+)?)?")


@dataclass(frozen=True, slots=True)
class Question:
    """A question on Stack Overflow."""

    number: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A bug-fix commit. A page of GitHub names the file by a hash of its path, and the line on the old or new side."""

    repository: str
    sha: str
    path_hash: str = ""
    path: str = ""
    line: int | None = None
    new_side: bool = True

    def names(self, path: str) -> bool:
        """Whether the address is about that file; an address without a file is about all that the commit changes."""
        if self.path:
            return path == self.path
        if self.path_hash:
            hashed = md5 if len(self.path_hash) == 32 else sha256
            return hashed(path.encode()).hexdigest() == self.path_hash
        return True


def read_address(url: str) -> Question | Commit:
    """What the address names. Raises `ValueError` for one of another form."""
    if question := _QUESTION.fullmatch(url):
        return Question(int(question[1]))
    if commit := _COMMIT.fullmatch(url):
        line = int(commit[5]) if commit[5] else None
        return Commit(commit[1], commit[2], commit[3] or "", "", line, commit[4] != "L")
    if file := _FILE.fullmatch(url):
        return Commit(file[1], file[2], "", file[3], int(file[4]) if file[4] else None)
    raise ValueError(f"this address names neither a question nor a commit: {url}")
