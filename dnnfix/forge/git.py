"""Calls the `git` command on repositories that are not trusted.

The command rather than a library of git: it brings the transports and credentials that people have set up, and its plumbing
makes a commit without a working tree, so that no hook, filter, link or submodule of a repository ever comes into play.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from dnnfix.errors import ForgeError
from dnnfix.forge.protocol import Remote

SECONDS = 600.0
"""What one call of git may take: a large repository over a slow line."""

GUARDED = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never",
    "-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false", "-c", "gc.auto=0",
    "-c", "commit.gpgSign=false", "-c", "core.quotePath=false",
)  # fmt: skip
"""Settings under which nothing that a repository brings along is run, and names are told as they are."""

REGULAR = ("100644", "100755")
"""Modes of files that are neither links nor submodules."""

NAME, EMAIL = "dnnfix", "dnnfix@users.noreply.github.com"


class Git:
    """Git in one folder, bare or not."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._environment = environment or {}

    def run(self, *words: str, given: bytes = b"", beside: Mapping[str, str] | None = None) -> str:
        """What the command prints. Raises `ForgeError` with what git said."""
        return self.run_bytes(*words, given=given, beside=beside).decode("utf-8", "surrogateescape")

    def run_bytes(self, *words: str, given: bytes = b"", beside: Mapping[str, str] | None = None) -> bytes:
        """The same, as bytes; `given` is its standard input, `beside` what its environment has more."""
        done = self._done(words, given, beside or {})
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise ForgeError(f"git {words[0]} in {self.folder}: {said[-1] if said else f'status {done.returncode}'}")
        return done.stdout

    def succeeds(self, *words: str) -> bool:
        """Whether the command ends well."""
        return not self._done(words, b"", {}).returncode

    def regular_file(self, commit: str, path: str) -> tuple[str, str] | None:
        """Mode and object of a file at a commit; `None` where there is none, a link, a submodule or a folder."""
        mode, _, rest = self.run("ls-tree", "-z", commit, "--", path).split("\0")[0].partition(" ")
        return (mode, rest.split()[1]) if mode in REGULAR else None

    def _done(
        self, words: tuple[str, ...], given: bytes, beside: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {
            **os.environ,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_AUTHOR_NAME": NAME,
            "GIT_AUTHOR_EMAIL": EMAIL,
            "GIT_COMMITTER_NAME": NAME,
            "GIT_COMMITTER_EMAIL": EMAIL,
            "LC_ALL": "C.UTF-8",
            **self._environment,
            **beside,
        }
        command = ["git", *GUARDED, *words]
        try:
            return subprocess.run(
                command,
                cwd=self.folder,
                input=given,
                capture_output=True,
                timeout=SECONDS,
                env=environment,
                check=False,
            )
        except FileNotFoundError:
            raise ForgeError("git is not installed, and the bot needs it.") from None
        except subprocess.TimeoutExpired:
            raise ForgeError(f"git {words[0]} in {self.folder}: took longer than {SECONDS:g} seconds.") from None


def cloned(remote: Remote, into: Path, branch: str, beside: str = "") -> Git:
    """A checkout of the newest commit of a branch, without its history and submodules; with the commit `beside`, if it can be had."""
    into.parent.mkdir(parents=True, exist_ok=True)
    git = Git(into.parent, remote.environment)
    git.run(
        "clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-recurse-submodules",
        "-c", "core.symlinks=true", f"--branch={branch}", "--", remote.url, str(into),
    )  # fmt: skip
    if beside:
        Git(into, remote.environment).succeeds("fetch", "--quiet", "--depth=1", "--no-tags", "origin", beside)
    return Git(into)


def checked_out(remote: Remote, into: Path, reference: str, beside: str) -> tuple[Git, str]:
    """A checkout of the newest commit of any reference, without history, and the newest commit of the reference `beside`, which is there too."""
    git = _empty(remote, into)
    wanted = [f"+{reference}:refs/wanted/head", f"+{beside}:refs/wanted/beside"]
    git.run("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "origin", *wanted)
    git.run("checkout", "--quiet", "--detach", "refs/wanted/head")
    return Git(into), git.run("rev-parse", "refs/wanted/beside^{commit}").strip()


def fetched(remote: Remote, into: Path, branch: str) -> tuple[Git, str]:
    """A bare repository with the newest commit of a branch, and that commit."""
    git, there = _empty(remote, into, "--bare"), f"refs/remotes/origin/{branch}"
    git.run("fetch", "--quiet", "--depth=2", "--no-tags", "origin", f"+refs/heads/{branch}:{there}")
    return git, git.run("rev-parse", there).strip()


def with_history(remote: Remote, into: Path, *references: str) -> tuple[Git, tuple[str, ...]]:
    """A bare repository with every commit of some references, and the newest one of each.

    What files hold comes when it is asked for, where the other side can do that: histories are long, and few files of them are read.
    """
    git = _empty(remote, into, "--bare")
    wanted = [f"+{name}:refs/wanted/{number}" for number, name in enumerate(references)]
    git.run("fetch", "--quiet", "--no-tags", "--filter=blob:none", "origin", *wanted)
    newest = [git.run("rev-parse", f"refs/wanted/{number}^{{commit}}") for number in range(len(references))]
    return git, tuple(one.strip() for one in newest)


def changes(git: Git, base: str, head: str, *patterns: str) -> str:
    """What `head` changed in the files that match since it parted from `base`: a unified diff without lines around.

    Moved files are detected, as forges do it, so that their unchanged lines are not changes. Raises `ForgeError` where
    the two have no commit in common.
    """
    if not git.succeeds("merge-base", base, head):
        raise ForgeError(f"git merge-base in {git.folder}: {base} and {head} have no commit in common.")
    parted = git.run("merge-base", base, head).strip()
    return git.run(
        "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=0", "--find-renames", "--src-prefix=a/",
        "--dst-prefix=b/", parted, head, "--", *patterns,
    )  # fmt: skip


def _empty(remote: Remote, into: Path, *kind: str) -> Git:
    """A new repository that knows where the other one is."""
    into.mkdir(parents=True)
    git = Git(into, remote.environment)
    git.run("init", "--quiet", *kind)
    git.run("remote", "add", "origin", remote.url)
    return git
