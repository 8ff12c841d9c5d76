"""Repositories with what other tools stumble over: large files kept elsewhere, submodules, links, no commit, protected branches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dnnfix.bot.publish import publish
from dnnfix.bot.visit import visited
from dnnfix.errors import ForgeError
from dnnfix.forge.git import cloned
from dnnfix.forge.protocol import State
from tests.bot.people import ASKED, REPAIRED, SLUG, TRAIN, Repository, analysis, document

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="the bot runs nothing without bubblewrap")

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 2000000000\n"


def run(repository: Repository) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dnnfix", "bot", "run", "--forge", f"local:{repository.root}", "--budget", "200"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=repository.root)


def head(repository: Repository) -> str:
    return repository.bare.run("rev-parse", "main").strip()


def published(repository: Repository) -> tuple[str, ...]:
    found = publish(
        repository.forge, SLUG, analysis(head(repository), ("train.py", TRAIN, REPAIRED)), clock=lambda: repository.now
    )
    return (*found.done, *found.left)


@pytest.mark.slow
def test_large_files_submodules_and_links_are_neither_fetched_nor_followed_nor_changed(
    repository: Repository, tmp_path: Path
) -> None:
    outside, touched = tmp_path / "outside.py", tmp_path / "touched"
    outside.write_bytes(TRAIN)
    modules = f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% {touched}\n'
    repository.commit(
        {
            ".gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "weights.bin": POINTER,
            ".gitmodules": modules.encode(),
            "linked.py": os.fsencode(outside),
        },
        modes={"linked.py": "120000"},
    )
    repository.bare.run("update-ref", "refs/heads/main", _with_submodule(repository))
    done = run(repository)
    assert done.returncode == 0, done.stderr
    (pull,) = repository.forge.pulls(SLUG)
    assert (
        repository.text("train.py", pull.branch) == REPAIRED and repository.text("weights.bin", pull.branch) == POINTER
    )
    changed = repository.bare.run("diff", "--name-only", "main", pull.branch).split()
    assert changed == ["train.py"] and outside.read_bytes() == TRAIN and not touched.exists()


def _with_submodule(repository: Repository) -> str:
    """The newest commit with a submodule in it."""
    index = {"GIT_INDEX_FILE": str(repository.root / "submodule.index")}
    repository.bare.run("read-tree", "main", beside=index)
    repository.bare.run("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},x", beside=index)
    tree = repository.bare.run("write-tree", beside=index).strip()
    return repository.bare.run("commit-tree", tree, "-p", "main", given=b"submodule").strip()


def test_the_past_of_a_repository_is_not_fetched(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"data.bin": os.urandom(20 * 2**20)})
    repository.commit({"data.bin": b"small now"})
    cloned(repository.forge.remote(SLUG), tmp_path / "work" / "digits", "main")
    size = sum(path.stat().st_size for path in (tmp_path / "work").rglob("*") if path.is_file())
    assert size < 2**20


@pytest.mark.slow
def test_a_repository_without_a_commit_is_said_and_the_others_are_done(repository: Repository) -> None:
    empty = repository.root / "people" / "empty.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(empty)], check=True)
    done = run(repository)
    assert done.returncode == 2 and "people/empty: has no commit on its default branch (main)" in done.stderr
    assert len(repository.forge.pulls(SLUG)) == 1


def test_a_branch_that_may_not_be_pushed_opens_nothing(repository: Repository) -> None:
    hook = repository.bare.folder / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/dnnfix/*) echo "protected" >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    with pytest.raises(ForgeError, match="git push"):
        published(repository)
    assert repository.forge.pulls(SLUG) == ()
    hook.unlink()
    published(repository)
    assert len(repository.forge.pulls(SLUG)) == 1


def test_a_branch_that_was_deleted_meanwhile_is_made_anew_for_its_open_pull_request(repository: Repository) -> None:
    published(repository)
    (pull,) = repository.forge.pulls(SLUG)
    repository.bare.run("update-ref", "-d", f"refs/heads/{pull.branch}")
    published(repository)
    (again,) = repository.forge.pulls(SLUG)
    assert again.state is State.OPEN and repository.text("train.py", again.branch) == REPAIRED


def test_names_with_shell_characters_are_names(repository: Repository) -> None:
    name = "train $(touch pwned); `x` 'q' \"d\" & é.py"
    repository.commit({name: TRAIN, "dnnfix.toml": ASKED})
    done = run(repository)
    assert done.returncode == 0, done.stderr
    branches = {pull.branch for pull in repository.forge.pulls(SLUG)}
    changed = {path for branch in branches for path in _changed(repository, branch)}
    assert changed == {name, "train.py"} and not list(repository.root.rglob("pwned"))


def _changed(repository: Repository, branch: str) -> list[str]:
    return [path for path in repository.bare.run("diff", "-z", "--name-only", "main", branch).split("\0") if path]


def test_a_repository_may_be_called_as_a_file_of_the_bots_own(repository: Repository) -> None:
    slug = "people/report.json"
    shutil.copytree(repository.root / f"{SLUG}.git", repository.root / f"{slug}.git")

    def analysed(checkout: Path, name: str, report: Path, since: str) -> None:
        made = document(head(repository), ("train.py", (checkout / "train.py").read_bytes(), REPAIRED))
        report.write_text(json.dumps({**made, "repository": name}))

    visited(repository.forge, slug, analysed)
    assert len(repository.forge.pulls(slug)) == 1
