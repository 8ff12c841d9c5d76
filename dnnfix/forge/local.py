"""A forge in a folder: bare git repositories, and pull requests as files that a person can read and close.

    OWNER/NAME.git              the repository
    OWNER/NAME.pulls/7.json     a pull request: branch, title, state, when it was opened, comments
    OWNER/NAME.pulls/7.md       its text

To close one, write `closed` or `merged` for its state.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dnnfix.errors import ForgeError
from dnnfix.forge.git import Git
from dnnfix.forge.protocol import Pull, Repository, State

BRANCHES = "dnnfix/"
"""What the names of the bot's branches begin with."""


class LocalForge:
    """The forge in a folder. Pull requests appear in one step each, so that a reader never meets half of one."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock
        if not root.is_dir():
            raise ForgeError(f"{root}: no such folder. Name one with bare repositories OWNER/NAME.git in it.")

    def repositories(self) -> tuple[str, ...]:
        """Every bare repository in the folder."""
        found = sorted(self._root.glob("*/*.git"))
        return tuple(f"{path.parent.name}/{path.name.removesuffix('.git')}" for path in found)

    def repository(self, slug: str) -> Repository:
        """The repository; its default branch is what `HEAD` names."""
        git = Git(self._bare(slug))
        branch = git.run("symbolic-ref", "--short", "HEAD").strip()
        if not git.succeeds("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"):
            raise ForgeError(f"{slug}: has no commit on its default branch ({branch}).")
        return Repository(slug, branch)

    def remote(self, slug: str) -> str:
        """The folder of the bare repository."""
        return str(self._bare(slug))

    def pulls(self, slug: str) -> tuple[Pull, ...]:
        """What the files of pull requests say."""
        found = [self._read(path) for path in self._folder(slug).glob("*.json")]
        return tuple(sorted((one for one in found if one.branch.startswith(BRANCHES)), key=lambda one: one.number))

    def open_pull(self, slug: str, branch: str, title: str, body: str, *, draft: bool) -> int:
        """Write the two files of a new pull request, the one that counts last."""
        folder = self._folder(slug)
        folder.mkdir(exist_ok=True)
        number = 1 + max((int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit()), default=0)
        (folder / f"{number}.md").write_text(body, encoding="utf-8")
        said = {"branch": branch, "title": title, "state": State.OPEN.value, "draft": draft, "opened": self._clock()}
        _replace(folder / f"{number}.json", {**said, "comments": []})
        return number

    def update_pull(self, slug: str, number: int, title: str, body: str) -> None:
        """Write the text anew, then the title."""
        path = self._folder(slug) / f"{number}.json"
        path.with_suffix(".md").write_text(body, encoding="utf-8")
        _replace(path, {**_loaded(path), "title": title})

    def close_pull(self, slug: str, number: int, comment: str) -> None:
        """Set the state, and keep the sentence."""
        path = self._folder(slug) / f"{number}.json"
        said = _loaded(path)
        _replace(path, {**said, "state": State.CLOSED.value, "comments": [*said.get("comments", []), comment]})

    def _bare(self, slug: str) -> Path:
        owner, _, name = slug.partition("/")
        path = self._root / owner / f"{name}.git"
        if "/" in name or ".." in (owner, name) or not owner or not name or not path.is_dir():
            raise ForgeError(
                f"{slug}: no such repository in {self._root}. There are: {', '.join(self.repositories())}."
            )
        return path

    def _folder(self, slug: str) -> Path:
        return self._bare(slug).with_suffix(".pulls")

    @staticmethod
    def _read(path: Path) -> Pull:
        said = _loaded(path)
        try:
            body = path.with_suffix(".md").read_text(encoding="utf-8")
            return Pull(
                int(path.stem), said["branch"], said["title"], body, State(said["state"]), float(said["opened"])
            )
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise ForgeError(f"{path}: is no pull request ({error}). Mend it, or take it away.") from None


def _loaded(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ForgeError(f"{path}: cannot be read as JSON ({error}). Mend it, or take it away.") from None
    if not isinstance(said, dict):
        raise ForgeError(f"{path}: is no pull request. Mend it, or take it away.")
    return said


def _replace(path: Path, said: Mapping[str, Any]) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    os.replace(draft, path)
