"""The bot with a language model: who chooses it, which key it gets, and that its patches say who wrote them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from dnnfix.bot.analyse import analyse
from dnnfix.bot.analysis_process import Flags, secrets, without_secrets
from dnnfix.bot.body import body
from dnnfix.bot.proposal import Proposal
from dnnfix.bot.report import read
from dnnfix.cli.bot.choosing import Analysing
from dnnfix.errors import ConfigError
from dnnfix.forge.git import cloned
from dnnfix.testing import ScriptedModel
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, document

COMMIT = "0" * 40
STUCK = b"""import torch


def scores(rows, weights):
    return rows @ weights


rows, wanted = torch.randn(8, 6), torch.randint(3, (8,))
weights = torch.randn(5, 3, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
for epoch in range(20):
    loss = torch.nn.functional.cross_entropy(scores(rows[:, 0:3] * 1, weights), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ANSWER = """CAUSE: only three of the columns are taken @everyone
FILE: train.py
<<<<<<< SEARCH
    loss = torch.nn.functional.cross_entropy(scores(rows[:, 0:3] * 1, weights), wanted)
=======
    loss = torch.nn.functional.cross_entropy(scores(rows[:, 0:5] * 1, weights), wanted)
>>>>>>> REPLACE
"""


def model_file(folder: Path, text: str) -> Path:
    (folder / "model.toml").write_text(f"[model]\n{text}\n")
    return folder / "model.toml"


def test_a_pull_request_says_that_a_model_wrote_the_patch() -> None:
    said = document(COMMIT, ("train.py", TRAIN, REPAIRED), author="qwen`<b>@all")
    (patch,) = read(json.dumps(said).encode(), "report.json").patches
    text = body(Proposal((patch,)), COMMIT)
    assert patch.author == "qwen`<b>@all" and "Written by the language model ``qwen`<b>@all``, and proven" in text
    (plain,) = read(json.dumps(document(COMMIT, ("train.py", TRAIN, REPAIRED))).encode(), "report.json").patches
    assert "language model" not in body(Proposal((plain,)), COMMIT)


def test_the_analysis_gets_the_key_of_the_model_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "one")
    monkeypatch.setenv("GITHUB_TOKEN", "two")
    here = 'endpoint = "http://127.0.0.1:1/v1"\nmodel = "small"\nkey-env = "MODEL_API_KEY"'
    asked = model_file(tmp_path, here)
    with pytest.raises(ConfigError, match="MODEL_API_KEY"):
        Analysing(proposer="model", model_config=asked).flags()
    flags = Analysing(proposer="model", model_config=asked, allow_host="127.0.0.1").flags()
    assert flags.keys == ("MODEL_API_KEY",) and Flags().keys == ()
    assert without_secrets(flags.keys)["MODEL_API_KEY"] == "one" and "GITHUB_TOKEN" not in without_secrets(flags.keys)
    assert "MODEL_API_KEY" in secrets() and "MODEL_API_KEY" not in without_secrets()
    words = flags.command(tmp_path, SLUG, tmp_path / "report.json")
    assert words[words.index("--model-config") + 1] == str(tmp_path / "model.toml") and "one" not in words


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"proposer": "model"}, "go together"),
        ({"model_config": "endpoint = 'http://127.0.0.1:1'\nmodel = 'small'"}, "go together"),
        ({"proposer": "model", "model_config": "model = 'small'"}, "`endpoint` has to name a server"),
        ({"proposer": "model", "model_config": "endpoint = 'https://api.example/v1'\nmodel = 'small'"}, "--allow-host"),
        ({"proposer": "model", "model_config": "magic = 1"}, "has no setting `magic`"),
    ],
)
def test_a_model_that_may_not_be_asked_is_an_error_before_anything_runs(
    given: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = model_file(tmp_path, given["model_config"]) if "model_config" in given else None
    with pytest.raises(ConfigError, match=said):
        Analysing(proposer="model" if "proposer" in given else None, model_config=file).flags()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="the bot runs nothing without bubblewrap")
def test_a_model_proposes_in_a_repository_that_names_another_one(repository: Repository, tmp_path: Path) -> None:
    own = b'[bot]\n[model]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "theirs"\n'
    repository.commit({"dnnfix.toml": own, "train.py": STUCK})
    cloned(repository.forge.remote(SLUG), tmp_path / "checkout", "main")
    with ScriptedModel([ANSWER]) as model:
        file = model_file(tmp_path, f'endpoint = "{model.endpoint}"\nmodel = "{model.name}"\nsamples = 1')
        flags = Flags(60.0, None, sys.executable, 0, None, "model", str(file))
        given = {**flags.overrides(), "cache-dir": str(tmp_path / "cache"), "unfixable": ["ALL"]}
        text = analyse(tmp_path / "checkout", SLUG, given, 300.0, lambda text: None)
    found = read(text.encode(), "report.json")
    assert [patch.author for patch in found.patches] == ["scripted"], text[-3000:]
    assert any("does not read `model`" in said for said in json.loads(text)["report"]["unchecked"])
    assert "@everyone" not in body(Proposal(found.patches), found.commit)
