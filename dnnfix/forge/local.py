"""A forge in a local folder: bare git repositories, and pull requests as files that a person can read and close.

    OWNER/NAME.git              the repository
    OWNER/NAME.pulls/7.json     a pull request: branch, title, text, state, when it was opened, comments, reviews
    OWNER/NAME.pulls/7.md       its text, to be read
    OWNER/NAME.issues/1.json    an issue of the bot: title, text, state
    OWNER/NAME.issues/1.md      its text, to be read

To close one, write `closed` or `merged` for its state. Those of people are files as well; `base` is the branch that they are for, if
it is not the default branch. A box of an issue is ticked in its JSON.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dnnfix.errors import ForgeError
from dnnfix.forge.git import NAME, Git
from dnnfix.forge.protocol import BRANCHES, Dress, Issue, Pull, Remark, Remote, Repository, Reviewed, State, Thread

PULLS, ISSUES = ".pulls", ".issues"
"""What the names of the folders end with."""


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

    def remote(self, slug: str) -> Remote:
        """The folder of the bare repository, as an address, so that a shallow clone is one."""
        return Remote(self._bare(slug).absolute().as_uri())

    def pulls(self, slug: str) -> tuple[Pull, ...]:
        """What the files of pull requests say; what a writer that was killed did not show of them is shown now."""
        found = [self._read(path) for path in self._numbered(slug)]
        for one in found:
            self._show(slug, one.number, one.body)
        return tuple(sorted((one for one in found if one.branch.startswith(BRANCHES)), key=lambda one: one.number))

    def open_pull(self, slug: str, branch: str, title: str, body: str, *, draft: bool) -> int:
        """Write the file of a new pull request."""
        said = {"branch": branch, "title": title, "state": State.OPEN.value, "draft": draft, "opened": self._clock()}
        return self._add(slug, {**said, "comments": [], "body": body})

    def dress_pull(self, slug: str, number: int, dress: Dress) -> None:
        """Write them into its file."""
        path = self._folder(slug) / f"{number}.json"
        said = _loaded(path)
        worn = {name: [*dict.fromkeys((*said.get(name, []), *value))] for name, value in asdict(dress).items()}
        _replace(path, {**said, **worn})

    def update_pull(self, slug: str, number: int, title: str, body: str) -> None:
        """Write title and text anew."""
        path = self._folder(slug) / f"{number}.json"
        _replace(path, {**_loaded(path), "title": title, "body": body})
        self._show(slug, number, body)

    def close_pull(self, slug: str, number: int, comment: str) -> None:
        """Set the state, and keep the sentence."""
        path = self._folder(slug) / f"{number}.json"
        said = _loaded(path)
        _replace(path, {**said, "state": State.CLOSED.value, "comments": [*said.get("comments", []), comment]})

    def reviewed(self, slug: str, number: int) -> Reviewed:
        """What the file of a pull request says, and what of its reviews is the bot's own."""
        path = self._folder(slug) / f"{number}.json"
        if not path.exists():
            raise ForgeError(f"{slug}: no pull request {number}. There are: {self._numbers(slug)}.")
        pull, said = self._read(path), _loaded(path)
        try:
            own = [(at, one) for at, one in enumerate(said.get("reviews", [])) if one["by"] == NAME]
            threads = [
                Thread(f"{at}.{place}", str(one["path"]), str(one["body"]), bool(one["resolved"]))
                for at, review in own
                for place, one in enumerate(review["comments"])
            ]
            texts = tuple(str(review["body"]) for _, review in own)
        except (KeyError, TypeError) as error:
            raise ForgeError(f"{path}: has a review that is none ({error}). Mend it, or take it away.") from None
        base = f"refs/heads/{said.get('base') or self.repository(slug).default_branch}"
        head = f"refs/heads/{pull.branch}"
        return Reviewed(base, head, pull.state, pull.branch.startswith(BRANCHES), texts, tuple(threads))

    def review(self, slug: str, number: int, commit: str, body: str, remarks: Sequence[Remark]) -> None:
        """Write the review into the file of the pull request."""
        path = self._folder(slug) / f"{number}.json"
        said = _loaded(path)
        made = {
            "by": NAME,
            "commit": commit,
            "body": body,
            "comments": [{**asdict(one), "resolved": False} for one in remarks],
        }
        _replace(path, {**said, "reviews": [*said.get("reviews", []), made]})

    def resolve(self, slug: str, number: int, thread: str) -> None:
        """Write that a comment is settled."""
        path = self._folder(slug) / f"{number}.json"
        said = _loaded(path)
        review, _, comment = thread.partition(".")
        said["reviews"][int(review)]["comments"][int(comment)]["resolved"] = True
        _replace(path, said)

    def _numbers(self, slug: str) -> str:
        return ", ".join(str(number) for number in sorted(int(path.stem) for path in self._numbered(slug))) or "none"

    def issues(self, slug: str) -> tuple[Issue, ...]:
        """What the files of issues say; what a writer that was killed did not show of them is shown now."""
        found = [self._read_issue(path) for path in self._numbered(slug, ISSUES)]
        for one in found:
            self._show(slug, one.number, one.body, ISSUES)
        return tuple(sorted(found, key=lambda one: one.number))

    def issue(self, slug: str, number: int) -> Issue:
        """What its file says. Raises `ForgeError` where there is none of that number."""
        path = self._folder(slug, ISSUES) / f"{number}.json"
        if not path.is_file():
            raise ForgeError(f"{slug}: there is no issue {number}.")
        return replace(self._read_issue(path), written=path.stat().st_mtime)

    def open_issue(self, slug: str, title: str, body: str) -> int:
        """Write the file of a new issue."""
        return self._add(slug, {"title": title, "state": State.OPEN.value, "body": body}, ISSUES)

    def update_issue(self, slug: str, number: int, body: str) -> None:
        """Write the text anew."""
        path = self._folder(slug, ISSUES) / f"{number}.json"
        _replace(path, {**_loaded(path), "body": body})
        self._show(slug, number, body, ISSUES)

    def _add(self, slug: str, said: Mapping[str, Any], kind: str = PULLS) -> int:
        """Write a file under the next number; of two that take one number, one takes another."""
        folder = self._folder(slug, kind)
        folder.mkdir(exist_ok=True)
        number = 1 + max((int(path.stem) for path in self._numbered(slug, kind)), default=0)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as place:
            whole = Path(place, "whole")
            whole.write_text(_text(said), encoding="utf-8")
            while True:
                try:
                    os.link(whole, folder / f"{number}.json")
                    break
                except FileExistsError:
                    number += 1
        self._show(slug, number, said["body"], kind)
        return number

    def _show(self, slug: str, number: int, body: str, kind: str = PULLS) -> None:
        """The text for a person to read; what counts is in the other file."""
        path = self._folder(slug, kind) / f"{number}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != body:
            path.write_text(body, encoding="utf-8")

    def _numbered(self, slug: str, kind: str = PULLS) -> list[Path]:
        return [path for path in self._folder(slug, kind).glob("*.json") if path.stem.isdigit()]

    def _bare(self, slug: str) -> Path:
        owner, _, name = slug.partition("/")
        path = self._root / owner / f"{name}.git"
        if "/" in name or ".." in (owner, name) or not owner or not name or not path.is_dir():
            raise ForgeError(
                f"{slug}: no such repository in {self._root}. There are: {', '.join(self.repositories())}."
            )
        return path

    def _folder(self, slug: str, kind: str = PULLS) -> Path:
        return self._bare(slug).with_suffix(kind)

    @staticmethod
    def _read(path: Path) -> Pull:
        said = _loaded(path)
        try:
            opened, state = float(said["opened"]), State(said["state"])
            return Pull(int(path.stem), str(said["branch"]), str(said["title"]), str(said["body"]), state, opened)
        except (KeyError, TypeError, ValueError) as error:
            raise ForgeError(f"{path}: is no pull request ({error}). Mend it, or take it away.") from None

    @staticmethod
    def _read_issue(path: Path) -> Issue:
        said = _loaded(path)
        try:
            return Issue(int(path.stem), str(said["title"]), str(said["body"]), State(said["state"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ForgeError(f"{path}: is no issue ({error}). Mend it, or take it away.") from None


def _loaded(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ForgeError(f"{path}: cannot be read as JSON ({error}). Mend it, or take it away.") from None
    if not isinstance(said, dict):
        raise ForgeError(f"{path}: is no object of JSON. Mend it, or take it away.")
    return said


def _text(said: Mapping[str, Any]) -> str:
    return json.dumps(said, indent=2) + "\n"


def _replace(path: Path, said: Mapping[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(_text(said), encoding="utf-8")
    os.replace(draft, path)
