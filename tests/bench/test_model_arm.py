"""The arm of a language model: who is asked, what is counted, and that it is kept apart from the others."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dnnfix.bench.assessment import Arm, Assessed
from dnnfix.bench.replay import planned, surroundings
from dnnfix.bench.results import MODEL, as_markdown
from dnnfix.bench.store import hash_of
from dnnfix.bench.totals import totals
from dnnfix.bench.worker import settings_from_json, settings_to_json
from dnnfix.config import Settings
from dnnfix.endpoint import Endpoint
from dnnfix.records import ModelUse
from dnnfix.run.job import Tier
from dnnfix.testing import ScriptedModel
from tests.bench.conftest import CRASH_LINES
from tests.bench.test_replay import Played, assessed, cases_of, verified
from tests.cli.programs import Call

__all__ = ["verified"]

SCRIPTED = Endpoint("http://127.0.0.1:1/v1", "scripted")
REPAIR = """CAUSE: the pictures are 3 by 3 after pooling
FILE: program.py
<<<<<<< SEARCH
        self.scores = {}
=======
        self.scores = {}
>>>>>>> REPLACE
""".format(*CRASH_LINES)


def asked(id: str, correct: bool, answers: int, malformed: int = 0) -> Assessed:
    use = ModelUse("small", "127.0.0.1", answers=answers, malformed=malformed)
    return Assessed(id, Arm.MODEL, accepted=correct, correct=correct, model=asdict(use))


def test_a_model_alone_proposes_and_what_rules_find_is_still_told(
    benchmark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, settings = assessed(benchmark, Arm.MODEL, Played(lambda program, turn: "loss 0.5\n"), monkeypatch)
    assert (found.arm, found.failed, settings.proposer) == (Arm.MODEL, "", "model")
    assert settings.enabled("DNF201", "some-rule") and not settings.may_fix("DNF201", "some-rule")
    assert settings.exchanges == Settings().exchanges, "what was paid for is kept where the user's caches are"


def test_a_result_of_a_model_is_that_of_one_model(benchmark: Path) -> None:
    case = cases_of(benchmark)[0]
    around = surroundings(Settings(), Tier.LIMITS)
    one, other = (list(planned([case], 60.0, [Arm.MODEL, Arm.REPAIR], name)) for name in ("small", "large"))
    assert hash_of(one[0], around) != hash_of(other[0], around) and hash_of(one[1], around) == hash_of(other[1], around)
    asking = Settings(proposer="model", model=SCRIPTED)
    assert "scripted" in surroundings(asking, Tier.LIMITS)["proposer"] and "proposer" not in around


def test_a_worker_is_told_of_the_model() -> None:
    settings = Settings(proposer="model", model=replace(SCRIPTED, prices=(1.0, 2.0)), allow_host=("api.example",))
    again = settings_from_json(json.loads(json.dumps(settings_to_json(settings))))
    assert (again.model.model, again.proposer) == ("scripted", "model") and again.model.cost(10**6, 10**6) == 3.0
    assert again.exchanges == settings.exchanges.absolute() and tuple(again.allow_host) == settings.allow_host


def test_models_have_a_table_of_their_own_and_change_nothing_else(benchmark: Path) -> None:
    usual = [Assessed("so-1", Arm.REPAIR, accepted=True, correct=True), Assessed("so-2", Arm.REPAIR)]
    of_model = [asked("so-1", True, 4, malformed=1), asked("so-2", True, 2)]
    before, after = (totals(cases_of(benchmark), found) for found in (usual, [*usual, *of_model]))
    assert before.model == () and before.whole == after.whole and before.groups == after.groups
    whole = after.model[0]
    assert (whole.name, whole.model, whole.cases) == ("all", "small", 2)
    assert (whole.well_formed.count, whole.well_formed.of) == (5, 6)
    assert (whole.correct.count, whole.in_reach.count, whole.in_reach.of) == (2, 1, 2)
    assert f"## {MODEL}" in as_markdown(after, {}, {}) and MODEL not in as_markdown(before, {}, {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--arms", "model"), "`endpoint` has to name a server"),
        (("--proposer", "model"), "`endpoint` has to name a server"),
        (("--arms", "model", "--dry-run"), "dnnfix bench prompts writes the prompts"),
    ],
)
def test_what_a_model_lacks_is_said_at_once(
    call: Call, verified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("bench", "replay", "--benchmark", str(verified), "--output", str(tmp_path / "o"), *words)
    assert done.code == 2 and said in done.err and not (tmp_path / "o").exists()


def test_prompts_go_into_an_empty_folder_alone(call: Call, verified: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("notes")
    done = call("bench", "prompts", str(tmp_path), "--benchmark", str(verified))
    assert done.code == 2 and "is not empty" in done.err and (tmp_path / "mine.txt").read_text() == "notes"


@pytest.mark.slow
def test_the_whole_way_of_a_case(call: Call, verified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("bench", "prompts", "prompts", "--benchmark", str(verified), "--select", "so-1")
    assert done.code == 0 and "cannot be multiplied" in (tmp_path / "prompts" / "so-1.txt").read_text()
    with ScriptedModel([REPAIR]) as model:
        Path("dnnfix.toml").write_text(f'[model]\nendpoint = "{model.endpoint}"\nmodel = "{model.name}"\nsamples = 1\n')
        words = ("--benchmark", str(verified), "--select", "so-1", "--arms", "model", "--cache-dir", "kept")
        done = call("bench", "replay", *words, "--output", "replay", "--no-cache")
    assert done.code == 0 and "alone: correct 1 of 1" in done.out, done
    (result,) = json.loads(Path("replay/report.json").read_text())["results"]
    assert result["author"] == "scripted" and result["model"]["answers"] == 1
    assert len(list(Path("kept/model/exchanges").iterdir())) == 1
