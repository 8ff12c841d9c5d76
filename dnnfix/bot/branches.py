"""The bot's branches: each is one commit on top of the newest one, made from git objects without a working tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from dnnfix.errors import InputError
from dnnfix.forge.git import EMAIL, REGULAR, Git


class Branch(Enum):
    """The outcome for a branch."""

    MADE = auto()
    THERE = auto()
    LEFT = auto()


@dataclass(frozen=True, slots=True)
class Branches:
    """The bot's branches of a repository, on its newest commit `head`; nothing is pushed where `push` is off."""

    git: Git
    head: str
    push: bool = True

    def file(self, path: str) -> tuple[str, str]:
        """Mode and object of a file in the newest commit. Raises `InputError` where there is no regular file."""
        found = self.git.regular_file(self.head, path)
        if found is None:
            raise InputError(f"{path}: is no regular file in the newest commit")
        return found

    def bring(self, name: str, contents: Mapping[str, bytes], message: str) -> Branch:
        """Bring a branch to where it has to be: the newest commit, with other contents of some files, new ones among them.

        One with a commit of a person is left alone.
        """
        tree = self._tree(contents)
        there = self.newest(name)
        if there is not None:
            *people, made_of, parents = self.git.run("log", "-1", "--format=%ae%n%ce%n%T%n%P", there).split("\n")[:4]
            if set(people) != {EMAIL} or len(parents.split()) != 1:
                return Branch.LEFT
            if (made_of, parents) == (tree, self.head):
                return Branch.THERE
        made = self.git.run("commit-tree", tree, "-p", self.head, given=message.encode()).strip()
        if self.push:
            lease = f"--force-with-lease=refs/heads/{name}:{there or ''}"
            self.git.run("push", "--quiet", lease, "origin", f"{made}:refs/heads/{name}")
        return Branch.MADE

    def newest(self, name: str) -> str | None:
        """The commit of a branch on the forge, fetched; `None` where there is no such branch."""
        reference = f"refs/heads/{name}"
        if not self.git.run("ls-remote", "--heads", "origin", reference).strip():
            return None
        here = f"refs/remotes/origin/{name}"
        self.git.run("fetch", "--quiet", "--depth=2", "--no-tags", "origin", f"+{reference}:{here}")
        return self.git.run("rev-parse", here).strip()

    def changed_in(self, name: str) -> frozenset[str]:
        """The files that the commit of a branch changes; none where it is gone."""
        there = self.newest(name)
        if there is None:
            return frozenset()
        return frozenset(self.git.run("diff", "--name-only", "-z", f"{there}^", there).split("\0")) - {""}

    def _tree(self, contents: Mapping[str, bytes]) -> str:
        """The tree of the newest commit with these contents in it."""
        index = {"GIT_INDEX_FILE": str(self.git.folder / "branch.index")}
        self.git.run("read-tree", self.head, beside=index)
        for path, content in contents.items():
            is_there = bool(self.git.run("ls-tree", "-z", self.head, "--", path))
            mode = self.file(path)[0] if is_there else REGULAR[0]
            made = self.git.run("hash-object", "-w", "--stdin", given=content).strip()
            self.git.run("update-index", "--add", "--cacheinfo", f"{mode},{made},{path}", beside=index)
        return self.git.run("write-tree", beside=index).strip()
