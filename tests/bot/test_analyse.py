"""The first phase on real programs: what is run, what is said, and that nothing of the repository gets a token or a say in the sandbox."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dnnfix.bot.analyse import analyse
from dnnfix.cli.main import run
from dnnfix.errors import ForgeError
from dnnfix.forge.git import cloned
from tests.bot.people import SLUG, Repository

OLD = b"""import os
import torch

assert not {"GITHUB_TOKEN", "DEPLOY_KEY"} & set(os.environ), "a token is here"
scores, wanted = torch.randn(8, 3, requires_grad=True), torch.randint(3, (8,))
loss = torch.nn.CrossEntropyLoss(size_average=True)(scores, wanted)
loss.backward()
print(loss.data[0])
"""
HOSTILE = b"""test-command = "touch ran"
templates = ["own"]
python = "/bin/false"
sandbox = "none"
trust = true
ignore = ["DNF502"]
[bot]
"""


def said(checkout: Path, tmp_path: Path) -> dict[str, Any]:
    given = {"python": sys.executable, "cache-dir": str(tmp_path / "cache")}
    return dict(json.loads(analyse(checkout, SLUG, given, 300.0, lambda text: None)))


def checked_out(repository: Repository, folder: Path) -> Path:
    cloned(repository.forge.remote(SLUG), folder, "main")
    return folder


def test_programs_are_run_without_tokens_and_the_settings_of_a_repository_name_nothing_to_run(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("DEPLOY_KEY", "k")
    own = b"raise SystemExit('a template of the repository was run')\n"
    repository.commit({"dnnfix.toml": HOSTILE, "train.py": OLD, "own/template.py": own, "link.py": b"train.py"})
    checkout = checked_out(repository, tmp_path / "checkout")
    found = said(checkout, tmp_path)
    assert found["programs"] == ["train.py"]
    codes = {finding["code"] for finding in found["report"]["findings"]}
    assert codes and "DNF502" not in codes
    assert not [one for one in found["report"]["findings"] if "a token is here" in one["message"]]
    assert [key for key in ("test-command", "templates", "python", "sandbox", "trust")
            if f"dnnfix.toml: the bot does not read `{key}` of a repository" in found["report"]["unchecked"]] == [
        "test-command", "templates", "python", "sandbox", "trust"]  # fmt: skip
    assert not (checkout / "ran").exists() and found["report"]["tool"]["sandbox"] != "none"


def test_both_phases_by_the_command_open_a_pull_request_and_the_second_call_none(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"train.py": OLD})
    words = ["bot", "run", "--forge", f"local:{tmp_path}", "--python", sys.executable, "--quiet"]
    assert run([*words, "--dry-run"]) == 0
    assert "would open" in capsys.readouterr().out and repository.forge.pulls(SLUG) == ()
    assert run(words) == 0
    assert "people/digits: opened 1: fix:" in capsys.readouterr().out
    pull = repository.forge.pulls(SLUG)[0]
    assert b"size_average" not in repository.text("train.py", pull.branch) or b"loss.data[0]" not in repository.text(
        "train.py", pull.branch
    )
    assert "Certificate" in pull.body
    assert run(words) == 0
    assert "opened 1" not in capsys.readouterr().out


def test_a_folder_that_is_no_checkout_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(ForgeError, match="git rev-parse in"):
        analyse(tmp_path / "plain", SLUG, {}, 1.0, lambda text: None)
    assert run(["bot", "analyse", str(tmp_path / "nothing"), "--repo", SLUG]) == 2
    assert "nothing: no such folder" in capsys.readouterr().err
    assert run(["bot", "publish", str(tmp_path / "nothing.json"), "--forge", f"local:{tmp_path}"]) == 2
    assert "nothing.json: cannot be read" in capsys.readouterr().err
    (tmp_path / "report.json").write_text("[]")
    assert run(["bot", "publish", str(tmp_path / "report.json"), "--forge", "elsewhere"]) == 2
    assert "report.json" in capsys.readouterr().err


def test_a_repository_that_has_not_asked_is_not_run(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"dnnfix.toml": b"", "train.py": OLD})
    assert run(["bot", "run", "--forge", f"local:{tmp_path}", "--quiet"]) == 0
    assert "has not asked for the bot" in capsys.readouterr().out
