"""What has to be looked at again after a change, and that a partial look takes nothing for gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dnnfix.bot.changed import touched
from dnnfix.bot.publish import publish
from dnnfix.forge.git import cloned
from dnnfix.forge.protocol import State
from tests.bot.people import ASKED, REPAIRED, SLUG, TRAIN, Repository, analysis

FILES = {
    "train.py": b"import torch\nfrom nets.resnet import make\nimport data\n",
    "test.py": b"import torch\nopen('settings.yaml')\n",
    "data.py": b"import torch\n",
    "nets/__init__.py": b"",
    "nets/resnet.py": b"from . import blocks\n",
    "nets/blocks.py": b"import torch\n",
    "look.ipynb": b'{"cells": [{"source": ["from data import load"]}]}',
    "broken.py": b"import (\n",
    "README.md": b"run `python test.py`\n",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"train.py"}, {"train.py"}),
        ({"nets/blocks.py"}, {"nets/blocks.py", "nets/resnet.py", "train.py"}),
        ({"data.py"}, {"data.py", "train.py", "look.ipynb"}),
        ({"nets/__init__.py"}, {"nets/__init__.py", "train.py"}),
        ({"settings.yaml"}, {"test.py"}),
        ({"README.md"}, {"test.py"}),
        ({"broken.py"}, {"broken.py"}),
        ({"nets/gone.py"}, set()),
        ({"picture.png"}, set()),
        (set(), set()),
        ({"sub/requirements-dev.txt"}, set(FILES) - {"README.md"}),
        ({"dnnfix.toml"}, set(FILES) - {"README.md"}),
    ],
)
def test_what_a_change_can_be_felt_in(changed: set[str], expected: set[str]) -> None:
    assert touched(FILES, frozenset(changed)) == expected


def test_who_imports_a_module_that_is_gone_is_looked_at() -> None:
    assert touched({"train.py": b"import data\n"}, frozenset({"data.py"})) == {"train.py"}


def report(checkout: Path, tmp_path: Path, *words: str) -> dict[str, Any]:
    target = tmp_path / "report.json"
    command = [
        sys.executable,
        "-m",
        "dnnfix",
        "bot",
        "analyse",
        str(checkout),
        "--repo",
        SLUG,
        "--output-file",
        str(target),
    ]
    subprocess.run([*command, "--quiet", "--budget", "200", *words], check=True)
    return dict(json.loads(target.read_bytes()))


@pytest.mark.slow
def test_only_what_changed_is_analysed_and_everything_where_the_commit_is_gone(
    repository: Repository, tmp_path: Path
) -> None:
    before = repository.bare.run("rev-parse", "main").strip()
    repository.commit({"other.py": TRAIN})
    checkout = tmp_path / "work" / "digits"
    cloned(repository.forge.remote(SLUG), checkout, "main", before)
    found = report(checkout, tmp_path, "--since", before)
    assert found["unchanged"] == ["train.py"] and {one["path"] for one in found["report"]["findings"]} == {"other.py"}
    whole = report(checkout, tmp_path, "--since", "1" * 40)
    assert whole["unchanged"] == [] and {one["path"] for one in whole["report"]["findings"]} == {"other.py", "train.py"}
    assert any("1" * 40 in note for note in whole["report"]["unchecked"])


def test_what_was_not_looked_at_is_not_gone(repository: Repository) -> None:
    head = repository.bare.run("rev-parse", "main").strip()
    publish(repository.forge, SLUG, analysis(head, ("train.py", TRAIN, REPAIRED)), clock=lambda: repository.now)
    commit = repository.commit({"other.py": b"import torch\n"})
    publish(repository.forge, SLUG, analysis(commit, unchanged=("train.py",)), clock=lambda: repository.now)
    assert [pull.state for pull in repository.forge.pulls(SLUG)] == [State.OPEN]
    commit = repository.commit({"train.py": REPAIRED})
    publish(repository.forge, SLUG, analysis(commit, unchanged=("other.py",)), clock=lambda: repository.now)
    assert [pull.state for pull in repository.forge.pulls(SLUG)] == [State.CLOSED]


BOTH = (("train.py", TRAIN, REPAIRED), ("other.py", TRAIN, REPAIRED))


def test_a_pull_request_of_several_places_keeps_those_that_were_not_looked_at(repository: Repository) -> None:
    commit = repository.commit({"other.py": TRAIN})
    publish(repository.forge, SLUG, analysis(commit, *BOTH), clock=lambda: repository.now)
    (before,) = repository.forge.pulls(SLUG)
    commit = repository.commit({"README.md": b"read me\n"})
    found = publish(repository.forge, SLUG, analysis(commit, BOTH[1], unchanged=("train.py",)))
    assert found.done == [] and "not all of them were looked at" in found.left[0]
    assert repository.forge.pulls(SLUG) == (before,) and repository.text("train.py", before.branch) == REPAIRED
    publish(repository.forge, SLUG, analysis(commit, *BOTH))
    assert repository.bare.run("rev-parse", f"{before.branch}^").strip() == commit


def test_a_new_place_waits_until_it_can_go_with_those_of_an_open_pull_request(repository: Repository) -> None:
    head = repository.bare.run("rev-parse", "main").strip()
    publish(repository.forge, SLUG, analysis(head, BOTH[0]), clock=lambda: repository.now)
    commit = repository.commit({"other.py": TRAIN})
    found = publish(repository.forge, SLUG, analysis(commit, BOTH[1], unchanged=("train.py",)))
    assert found.done == [] and "not all of them were looked at" in found.left[0]
    publish(repository.forge, SLUG, analysis(commit, *BOTH))
    (pull,) = repository.forge.pulls(SLUG)
    assert repository.text("train.py", pull.branch) == repository.text("other.py", pull.branch) == REPAIRED


def test_a_commit_has_to_be_named_as_a_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dnnfix", "bot", "analyse", str(tmp_path), "--repo", SLUG, "--since", "main; x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--since" in done.stderr and "Traceback" not in done.stderr


def test_a_repository_that_asks_for_less_changes_what_is_looked_at() -> None:
    assert touched({"train.py": TRAIN, "dnnfix.toml": ASKED}, frozenset({".github/dnnfix.toml"})) == {"train.py"}
