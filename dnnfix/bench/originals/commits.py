"""Downloads bug-fix commits by git: the changed files before and after, and nothing of the history before them."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dnnfix.bench.originals.addresses import Commit
from dnnfix.bench.originals.cache import Original
from dnnfix.errors import EnvironmentProblem

GITHUB = "https://github.com"
SECONDS = 300.0
"""Time that one commit may take to come."""
LARGEST = 2 * 2**20
"""Bytes of a file beyond which it is data."""
SOURCES = (".py", ".ipynb", ".lua", ".prototxt", ".m", ".cpp")
_GONE = re.compile(
    r"not found|does not exist|could not read Username|Authentication failed|not our ref|no such remote ref|"
    r"access denied|terms of service|unadvertised object|unable to access .* error: 4|find remote ref|"
    r"does not appear to be a git repository",
    re.IGNORECASE,
)


@dataclass
class Commits:
    """Fetches from `base`, which has repositories at `base/owner/name`; what git brings is kept under `folder`."""

    folder: Path
    base: str = GITHUB

    def bring(self, id: str, address: Commit) -> Original:
        """The files of a commit on both sides; `gone` where the repository or the commit is not there any more.

        Raises:
            EnvironmentProblem: git is missing, or the network is: asking again later may help.
        """
        place = self.folder / address.repository.replace("/", "+")
        if not (place / "HEAD").exists():
            self._git(self.folder, "init", "--quiet", "--bare", str(place))
        sha = self._git(place, "rev-parse", "--verify", "--quiet", f"{address.sha}^{{commit}}", fails=True).strip()
        if not sha:
            url = f"{self.base}/{address.repository}"
            words = ("fetch", "--quiet", "--no-tags", "--depth", "2", url, address.sha)
            try:
                self._git(place, *words)
            except _Refused as error:
                if _GONE.search(str(error)):
                    return Original(id, gone=f"{url} at {address.sha[:10]}: {_why(str(error))}")
                raise EnvironmentProblem(f"{url}: {_why(str(error))}") from None
            sha = self._git(place, "rev-parse", "FETCH_HEAD").strip()
        return self._files(id, address, place, sha)

    def _files(self, id: str, address: Commit, place: Path, sha: str) -> Original:
        parent = self._git(place, "rev-parse", "--verify", "--quiet", f"{sha}^", fails=True).strip()
        listed = self._git(place, "diff-tree", "-r", "--root", "--name-only", "--no-commit-id", "-z", *([parent] if parent else []), sha)  # fmt: skip
        changed = [path for path in listed.split("\0") if path]
        wanted = [path for path in changed if address.names(path)]
        if not address.path and not address.path_hash:
            wanted = [path for path in wanted if path.endswith(SOURCES)]
        if not wanted:
            return Original(id, gone=f"{address.repository} at {sha[:10]} changes no file that the address names")
        before = {path: self._text(place, parent, path) for path in wanted} if parent else {}
        after = {path: self._text(place, sha, path) for path in wanted}
        return Original(
            id,
            line=address.line,
            before={path: text for path, text in before.items() if text is not None},
            after={path: text for path, text in after.items() if text is not None},
        )

    def _text(self, place: Path, sha: str, path: str) -> str | None:
        """A file of a commit; `None` where it is not there, or is no text of a program."""
        size = self._git(place, "cat-file", "-s", f"{sha}:{path}", fails=True).strip()
        if not size or int(size) > LARGEST:
            return None
        return self._git(place, "show", f"{sha}:{path}")

    def _git(self, folder: Path, *words: str, fails: bool = False) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", "GIT_ASKPASS": "true"}
        try:
            done = subprocess.run(
                ["git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", *words],
                check=False,
                capture_output=True,
                timeout=SECONDS,
                cwd=folder,
                env={**os.environ, **quiet},
                stdin=subprocess.DEVNULL,
            )
        except FileNotFoundError:
            raise EnvironmentProblem("git is not installed; bug-fix commits are brought with it.") from None
        except subprocess.TimeoutExpired:
            raise EnvironmentProblem(f"git {words[0]} took longer than {SECONDS:.0f} s: {words[-2]}") from None
        if done.returncode and not fails:
            raise _Refused(done.stderr.decode("utf-8", "replace"))
        return done.stdout.decode("utf-8", "replace") if not done.returncode else ""


class _Refused(Exception):
    """What git said when it refused."""


def _why(text: str) -> str:
    """The line of git's words that says why."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "remote: "))]
    return (telling or lines or ["git refused without a word"])[0]
