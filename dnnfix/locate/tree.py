"""The Python files of a repository: those of its folder as it is, or those of a revision."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from dnnfix.errors import InputError
from dnnfix.forge.git import REGULAR, Git
from dnnfix.programs import MAX_SOURCE, SKIPPED
from dnnfix.source.decode import decode
from dnnfix.source.test_files import is_test


class Tree(Protocol):
    """Where files come from: the Python files that are no tests and not too large to be programs."""

    def stamps(self) -> dict[str, str]:
        """By its path from the root, what tells one state of a file from another."""

    def texts(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(path, text) of those of the files that can be read."""


class Folder:
    """The files of a folder, links, hidden folders and environments left out."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def stamps(self) -> dict[str, str]:
        """By path, the size and the time of the last change."""
        return dict(self._stamps(os.fspath(self.root)))

    def _stamps(self, folder: str) -> Iterator[tuple[str, str]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError:
            return
        if any(each.name == "pyvenv.cfg" for each in entries):
            return
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                if not each.name.startswith(".") and each.name not in SKIPPED:
                    yield from self._stamps(each.path)
            elif each.name.endswith(".py"):
                path, status = os.path.relpath(each.path, self.root), each.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_SOURCE and not is_test(path):
                    yield path, f"{status.st_size}-{status.st_mtime_ns}"

    def texts(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(path, text) of the files; one that is gone or locked meanwhile is left out."""
        for path in paths:
            with contextlib.suppress(OSError, InputError):
                yield path, decode((self.root / path).read_bytes(), path).text


class Revision:
    """The files of a commit, read from the objects of git; nothing is checked out."""

    def __init__(self, git: Git, revision: str) -> None:
        self._git = git
        self._objects: Mapping[str, str] = {}
        wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if not git.succeeds(*wanted):
            raise InputError(f"{git.folder}: has no revision {revision!r}. Name a tag, branch or commit that it has.")
        self.commit = git.run(*wanted).strip().splitlines()[-1]

    def stamps(self) -> dict[str, str]:
        """By path, the name of the object."""
        found = {}
        for entry in self._git.run("ls-tree", "-r", "-l", "-z", self.commit).split("\0"):
            about, _, path = entry.partition("\t")
            if path.endswith(".py") and about.startswith(REGULAR) and not is_test(path):
                _mode, _kind, name, size = about.split()
                if size.isdigit() and int(size) <= MAX_SOURCE:
                    found[path] = name
        self._objects = found
        return found

    def texts(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(path, text) of the files."""
        wanted = list(paths)
        given = "".join(f"{self._objects[path]}\n" for path in wanted).encode()
        raw = self._git.run_bytes("cat-file", "--batch", given=given)
        at = 0
        for path in wanted:
            end = raw.index(b"\n", at)
            head = raw[at:end].split()
            if len(head) != 3:  # a partial clone lacks it
                at = end + 1
                continue
            size = int(head[2])
            with contextlib.suppress(InputError):
                yield path, decode(raw[end + 1 : end + 1 + size], path).text
            at = end + 1 + size + 1


def history_of(folder: Path) -> Git | None:
    """Git in a folder that has a history, or `None`. Raises `InputError` where the folder cannot be read."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder. Give the folder of the repository that the report is about.")
    git = Git(folder)
    return git if git.succeeds("rev-parse", "--verify", "--quiet", "HEAD^{commit}") else None
