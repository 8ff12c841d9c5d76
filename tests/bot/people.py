"""A forge in a folder with one repository, and reports as an analysis writes them."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dnnfix.bot.report import Analysis, read
from dnnfix.forge.git import Git
from dnnfix.forge.local import LocalForge
from dnnfix.source.diff import unified_diff

SLUG = "people/digits"
ASKED = b"[bot]\nmost-open = 5\nan-hour = 5\n"
TRAIN = (
    b"import torch\n\nnet = torch.nn.Linear(4, 2)\nloss = torch.nn.CrossEntropyLoss(size_average=True)\nprint(net)\n"
)
REPAIRED = TRAIN.replace(b"size_average=True", b'reduction="mean"')


class Repository:
    """A repository of people on the forge, and what they do to it."""

    def __init__(self, root: Path, slug: str = SLUG) -> None:
        self.root = root
        self.forge = LocalForge(root, lambda: self.now)
        self.now = 1_000_000.0
        self.bare = Git(root / f"{slug}.git")

    def commit(
        self,
        files: Mapping[str, bytes],
        branch: str = "main",
        modes: Mapping[str, str] | None = None,
        amend: bool = False,
    ) -> str:
        """Commit files (content by path) to a branch as a person, and give the commit."""
        index = {"GIT_INDEX_FILE": str(self.root / "people.index")}
        there = self.bare.succeeds("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        self.bare.run(*(["read-tree", branch] if there else ["read-tree", "--empty"]), beside=index)
        for path, content in files.items():
            made = self.bare.run("hash-object", "-w", "--stdin", given=content).strip()
            mode = (modes or {}).get(path, "100644")
            self.bare.run("update-index", "--add", "--cacheinfo", f"{mode},{made},{path}", beside=index)
        tree = self.bare.run("write-tree", beside=index).strip()
        parent = ["-p", f"{branch}^" if amend else branch] if there else []
        person = {"GIT_COMMITTER_EMAIL": "person@example.org"}
        person |= {} if amend else {"GIT_AUTHOR_EMAIL": "person@example.org"}
        made = self.bare.run("commit-tree", tree, *parent, given=b"work", beside=person).strip()
        self.bare.run("update-ref", f"refs/heads/{branch}", made)
        return made

    def text(self, path: str, branch: str = "main") -> bytes:
        """A file of a branch."""
        return self.bare.run_bytes("cat-file", "blob", f"{branch}:{path}")

    def set_state(self, number: int, state: str) -> None:
        """What a person does with a pull request."""
        path = self.root / f"{SLUG}.pulls" / f"{number}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "state": state}))


def repository_in(folder: Path) -> Repository:
    """A repository that asks for the bot, with one program."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / f"{SLUG}.git")], check=True)
    made = Repository(folder)
    made.commit({"dnnfix.toml": ASKED, "train.py": TRAIN})
    return made


Document = dict[str, Any]


def blob(content: bytes) -> str:
    """What git calls an object of that content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def document(
    commit: str,
    *changes: tuple[str, bytes, bytes],
    left_out: tuple[str, ...] = (),
    unchanged: tuple[str, ...] = (),
    **changed: Any,
) -> Document:
    """A report in which every change (path, before, after) is a patch with a finding of its own; `changed` goes into the patches."""
    findings, patches = [], []
    for number, (path, before, after) in enumerate(changes):
        fault = {"id": f"f{number}", "code": "DNF502", "rule": "deprecated-api", "path": path, "line": 4}
        findings.append({**fault, "message": f"`size_average` is gone, says @{path}"})
        verdict = {"validator": "runs", "status": "pass", "reason": "still runs", "measured": {}}
        patch = {"id": f"p{number}", "verdict": "accepted", "applicability": "safe", "findings": [f"f{number}"]}
        patches.append({**patch, "diff": unified_diff(before, after, path), "verdicts": [verdict], **changed})
    report = {"findings": findings, "patches": patches, "unchecked": []}
    beside = {
        "programs": ["train.py"],
        "left_out": list(left_out),
        "unchanged": list(unchanged),
        "titles": {str(patch["id"]): "Write reduction for size_average" for patch in patches},
        "certificates": {},
        "blobs": {path: blob(before) for path, before, _ in changes},
    }
    return {"schema": "dnnfix-bot/1", "repository": SLUG, "commit": commit, **beside, "report": report}


def analysis(commit: str, *changes: tuple[str, bytes, bytes], **changed: Any) -> Analysis:
    """The same, read."""
    return read_document(document(commit, *changes, **changed))


def read_document(said: Document) -> Analysis:
    """What is read of a report."""
    return read(json.dumps(said).encode(), "report.json")
