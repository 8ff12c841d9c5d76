"""The hook as pre-commit runs it: installed from this repository into an environment of its own, in a repository of a user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit", reason="pre-commit is not installed")

ROOT = Path(__file__).parents[2]
FAULTY = b"import torch\nfrom torch.autograd import Variable\nx = Variable(torch.ones(2), volatile=True)\nprint(x)\n"
CONFIGURATION = """repos:
  - repo: {source}
    rev: {rev}
    hooks:
      - id: dnnfix-check
"""


def git(folder: Path, *words: str) -> bytes:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(("git", *person, *words), cwd=folder, capture_output=True, check=True).stdout


def repository(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """This project as it stands, committed or not, as a repository that hooks are installed from."""
    copy = tmp_path / "dnnfix"
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").decode().split("\0"):
        file = ROOT / name
        if name and (file.is_file() or file.is_symlink()):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            if file.is_symlink():
                (copy / name).symlink_to(file.readlink())
            else:
                (copy / name).write_bytes(file.read_bytes())
    return repository(copy)


def pre_commit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "pre_commit", *words),
        cwd=folder,
        env={**os.environ, "PRE_COMMIT_HOME": str(folder.parent / "hooks"), "PRE_COMMIT_COLOR": "never"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_commit_with_a_fault_is_stopped_and_a_sound_one_is_not(tmp_path: Path, source: Path) -> None:
    users = tmp_path / "users own"
    users.mkdir()
    rev = git(source, "rev-parse", "HEAD").decode().strip()
    (users / ".pre-commit-config.yaml").write_text(CONFIGURATION.format(source=source, rev=rev))
    (users / "notes.txt").write_bytes(FAULTY)
    (users / "to train.py").write_bytes(FAULTY)
    repository(users)
    stopped = pre_commit(users, "run", "--all-files")
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    assert "to train.py:3:" in stopped.stdout and "DNF" in stopped.stdout and "notes.txt" not in stopped.stdout
    (users / "to train.py").write_text("import torch\nprint(torch.ones(2))\n")
    passed = pre_commit(users, "run", "--all-files")
    assert passed.returncode == 0 and "Passed" in passed.stdout, passed.stdout + passed.stderr


def test_the_hooks_and_our_own_configuration_are_as_pre_commit_wants_them() -> None:
    for words in (("validate-manifest", ".pre-commit-hooks.yaml"), ("validate-config", ".pre-commit-config.yaml")):
        done = pre_commit(ROOT, *words)
        assert done.returncode == 0, done.stdout + done.stderr
