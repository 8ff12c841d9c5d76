"""`dnnfix suggest --proposer model` from end to end: what is accepted, what is refused, and what is said when no answer comes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dnnfix import pipeline
from dnnfix.cli.main import run
from dnnfix.config import FORMATS, Settings
from dnnfix.records import FileReport, PatchVerdict
from dnnfix.run.runner import Runner
from dnnfix.testing import Reply, Request, ScriptedModel
from tests.cli.programs import FAULTY, Said
from tests.proposer.asking import FAILING, PROGRAM, REPAIR, REPAIRED, answer, configure, endpoint

pytest.importorskip("openai", reason="the client of the protocol: pip install 'dnnfix[model]'")

SECRET = "zq-telling-secret-7c1f"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(Path(sys.executable)) as one:
        yield one


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program and no settings, and a cache of its own."""
    place = tmp_path / "work"
    place.mkdir()
    (place / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return place


def suggested(
    runner: Runner,
    answers: Callable[[Request], Reply | str] | list[Reply | str],
    program: str = PROGRAM,
    budget: float = 300.0,
    **settings: Any,
) -> tuple[FileReport, list[Request]]:
    """The report on the program with a model that answers so, and what that was asked."""
    with ScriptedModel(answers) as model:
        asking = endpoint(model.endpoint, **settings)
        chosen = Settings(proposer="model", model=asking, budget=budget)
        return pipeline.suggest_file(
            program.encode(), "train.py", chosen, lambda words: None, runner=runner
        ), model.asked


def written(report: FileReport, verdict: PatchVerdict = PatchVerdict.ACCEPTED) -> list[str]:
    """The diffs of the model's patches with that verdict."""
    return [patch.diff for patch in report.patches if patch.candidate.author and patch.verdict is verdict]


def use_of(report: FileReport) -> Any:
    assert report.model is not None
    return report.model


# --- a call on the command line


def called(capsys: pytest.CaptureFixture[str], *argv: str) -> Said:
    try:
        code = run([*argv])
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    return Said(code, said.out, said.err)


def test_an_accepted_edit_is_labelled_proven_again_without_the_model_and_replayed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TELLING_KEY", SECRET)
    ask = ("suggest", "train.py", "--proposer", "model", "--allow-host", "127.0.0.1")
    kept: list[FileReport] = []
    real = pipeline.suggest_file

    def remembered(*words: Any, **more: Any) -> FileReport:
        kept.append(real(*words, **more))
        return kept[-1]

    monkeypatch.setattr(pipeline, "suggest_file", remembered)
    with ScriptedModel([REPAIR]) as model:
        configure(folder, model.endpoint, key_env="TELLING_KEY")
        first = called(capsys, *ask, "-v")
        assert [request.headers["authorization"] for request in model.asked] == [f"Bearer {SECRET}"]
    assert first.code == 1 and "written by the language model scripted" in " ".join(first.out.split())
    assert "1 answer (0 kept from before, 0 malformed), 1 different edit" in " ".join(first.out.split())

    again = called(capsys, *ask, "--offline")
    assert re.findall(r"^ +[-+].*", again.out, re.MULTILINE) == re.findall(r"^ +[-+].*", first.out, re.MULTILINE) != []
    assert "1 answer (1 kept from before" in " ".join(again.out.split())

    (certificate,) = (tmp_path / "cache" / "dnnfix" / "certificates").iterdir()
    assert "scripted" in certificate.read_text()
    (folder / "dnnfix.toml").unlink()
    proof = called(capsys, "verify", str(certificate))
    assert proof.code == 0 and "the proof holds" in proof.out

    configure(folder, "http://127.0.0.1:1/v1")
    monkeypatch.setattr(pipeline, "suggest_file", lambda *words, **more: kept[0])
    said = {
        form: called(capsys, *ask, "-v", "--output-format", form, "--output-file", f"report.{form}")
        for form in FORMATS
        if form != "html"
    }
    documents = {form: Path(f"report.{form}").read_text() for form in said}
    (patch,) = (each for each in json.loads(documents["json"])["patches"] if each["author"])
    assert patch["author"] == "scripted" and patch["verdict"] == "accepted"
    assert json.loads(documents["json"])["models"][0]["answers"] == 1

    spoken = [first, again, proof, *said.values()]
    assert not [text for call in spoken for text in (call.out, call.err) if SECRET in text]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 8 and not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_a_dry_run_shows_the_prompt_and_sends_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedModel([REPAIR]) as model:
        configure(folder, model.endpoint)
        said = called(capsys, "suggest", "train.py", "--proposer", "model", "--dry-run")
        assert not model.asked
    assert "would ask scripted at 127.0.0.1" in said.out
    assert "You repair deep-learning programs" in said.out and f"  14| {FAILING}" in said.out
    assert not (tmp_path / "cache" / "dnnfix" / "model").exists()
    for word in (str(tmp_path), str(Path.home()) + "/"):
        assert word not in said.out


# --- answers that never come


@pytest.mark.slow
def test_a_server_that_is_down_takes_nothing_away(runner: Runner) -> None:
    without = pipeline.suggest_file(PROGRAM.encode(), "train.py", Settings(), lambda words: None, runner=runner)
    with ScriptedModel([""]) as model:
        address = model.endpoint
    settings = Settings(proposer="model", model=endpoint(address))
    report = pipeline.suggest_file(PROGRAM.encode(), "train.py", settings, lambda words: None, runner=runner)
    assert use_of(report).remarks == ("the server cannot be reached, or broke off",) and use_of(report).answers == 0
    assert without.findings and told(report) == told(without)


def told(report: FileReport) -> list[tuple[object, ...]]:
    return [(result.finding, result.outcome, result.patches) for result in report.findings]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "10000"}), "too busy"),
        (Reply(REPAIR, breaks_off=True), "broke its answer off"),
        (Reply(REPAIR, delay=5.0), "no answer within 1 seconds"),
        (Reply(REPAIR, pause=0.3), "no answer within 1 seconds|too slow"),
        (Reply(status=401, raw=b"{}"), "status 401"),
        (Reply(raw=b"<html>"), "no answer of the chat-completions protocol"),
    ],
)
def test_a_server_that_fails_takes_nothing_away(runner: Runner, reply: Reply, says: str) -> None:
    without = pipeline.suggest_file(PROGRAM.encode(), "train.py", Settings(), lambda words: None, runner=runner)
    report, asked = suggested(runner, [reply], timeout=1.0)
    (remark,) = use_of(report).remarks
    assert re.search(says, remark) and len(asked) == 1
    assert told(report) == told(without)


def test_an_answer_before_the_server_fails_counts(runner: Runner) -> None:
    report, asked = suggested(runner, [REPAIR, Reply(status=500, raw=b"")], samples=3)
    assert len(asked) == 2 and len(written(report)) == 1
    assert use_of(report).remarks == ("the server refused the request (status 500)",)


def test_a_program_that_changed_has_no_answer_that_is_kept(runner: Runner) -> None:
    suggested(runner, [REPAIR])
    changed = PROGRAM.replace('"depth": 2', '"depth": 3')
    settings = Settings(proposer="model", model=endpoint("http://127.0.0.1:1/v1"), offline=True)
    report = pipeline.suggest_file(changed.encode(), "train.py", settings, lambda words: None, runner=runner)
    (remark,) = use_of(report).remarks
    assert remark.startswith("--offline, and no answer to this prompt is kept") and not written(report)


def test_a_private_program_is_not_sent(runner: Runner) -> None:
    report, asked = suggested(runner, [REPAIR], f"# dnnfix: private\n{PROGRAM}")
    assert not asked and "marked `dnnfix: private`" in use_of(report).remarks[0]


# --- answers that are not believed


def test_what_fell_is_told_once_and_the_same_edit_is_tried_once(runner: Runner) -> None:
    wrong = answer(FAILING, FAILING.replace("widht", "lenght"))
    report, asked = suggested(runner, [wrong], samples=2)
    assert ["None of these edits was right" in request.text for request in asked] == [False, False, True]
    assert asked[0].text == asked[1].text and '+ model = nn.Sequential(nn.Linear(8, size_of("lenght"))' in asked[2].text
    assert (use_of(report).answers, use_of(report).candidates) == (3, 1)
    assert len(written(report, PatchVerdict.REJECTED)) == 1


def test_an_answer_of_another_form_is_asked_for_once_more(runner: Runner) -> None:
    report, asked = suggested(runner, ["The key is misspelt: take \u202e'width'.", REPAIR])
    assert len(asked) == 2 and "could not be used: it has control characters" in asked[1].text
    assert "\u202e" not in asked[1].text and len(written(report)) == 1
    assert (use_of(report).answers, use_of(report).malformed) == (2, 1)


def test_under_a_mask_the_same_patch_is_proven(runner: Runner) -> None:
    def read(request: Request) -> str:
        line = next(line for line in request.text.split("\n") if "nn.Linear(8, " in line and "  14| " in line)[6:]
        first = next(re.findall(r'"(\w+)": 16', line)[0] for line in request.text.split("\n") if '": 16' in line)
        return answer(line, re.sub(r'(\w+)\("\w+"\)', rf'\1("{first}")', line, count=1))

    report, asked = suggested(runner, read, mask=True)
    (diff,) = written(report)
    assert f"-{FAILING}\n+{REPAIRED}\n" in diff
    assert not re.search("size_of|SIZES|widht|width|depth|part", asked[0].text.partition("# What is wrong")[2])


HOSTILE = {
    "nothing that fails": f"try:\n    {FAILING}\nexcept KeyError:\n    model = nn.Linear(8, 2)",
    "an end": "raise SystemExit(0)",
    "an end at once": "import os\nos._exit(0)",
    "nothing": "pass",
    "a file that is read": f"print(open('/etc/passwd').read())\n{REPAIRED}",
    "a file that is gone": f"import os\nos.remove(__file__)\n{REPAIRED}",
    "a file": f"open('beside.txt', 'w').write('x')\n{REPAIRED}",
    "a file elsewhere": f"open('OUTSIDE', 'w').write('x')\n{REPAIRED}",
    "a process": f"import subprocess\nsubprocess.run(['touch', 'OUTSIDE'])\n{REPAIRED}",
    "a process by another way": f"torch.os.system('touch OUTSIDE')\n{REPAIRED}",
    "a connection": f"import socket\nsocket.create_connection(('127.0.0.1', 9), 1)\n{REPAIRED}",
    "no prints": f"{REPAIRED}\nprint = lambda *words: None",
    "an end of the loop": f"{REPAIRED}\nrange = lambda n: []",
}  # fmt: skip
GREEDY = {
    "many processes": f"import os\nfor _ in range(20):\n    os.fork()\n{REPAIRED}",
    "much memory": f"hoard = bytearray(400 * 2**30)\n{REPAIRED}",
    "many threads": f"import threading\n[threading.Thread(target=print).start() for _ in range(9999)]\n{REPAIRED}",
    "a long text": f"print('x' * 10**9)\n{REPAIRED}",
    "a deep text": "model = " + "(" * 90 + "-" * 9_000 + "1" + ")" * 90,
    "a long chain": "model = torch" + ".nn" * 4_000,
    "no end": "while True:\n    pass",
}


def assert_refused(runner: Runner, edits: dict[str, str], folder: Path, budget: float = 300.0) -> FileReport:
    outside = folder.parent / "outside.txt"
    texts = [answer(FAILING, new.replace("OUTSIDE", str(outside))) for new in edits.values()]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    report, _ = suggested(runner, lambda request: texts[request.settings["seed"]], budget=budget, samples=len(texts))
    assert use_of(report).answers >= len(texts) and not use_of(report).remarks
    assert written(report) == []
    assert {path: path.read_bytes() for path in folder.iterdir()} == before and not outside.exists()
    return report


def test_edits_that_hide_the_fault_or_reach_out_are_never_accepted(runner: Runner, folder: Path) -> None:
    report = assert_refused(runner, HOSTILE, folder)
    refused = " ".join(patch.refusal.reason for patch in report.patches if patch.candidate.author and patch.refusal)
    assert "adds an exception handler" in refused


@pytest.mark.slow
def test_edits_that_take_all_there_is_are_never_accepted(runner: Runner, folder: Path) -> None:
    assert_refused(runner, GREEDY, folder, budget=60.0)


def test_several_edits_that_do_different_things_are_choices(runner: Runner) -> None:
    other = answer(FAILING, FAILING.replace("widht", "depth").replace("nn.Linear(16, 2)", "nn.Linear(2, 2)"))
    texts = [REPAIR, other]
    report, _ = suggested(runner, lambda request: texts[request.settings["seed"]], samples=2)
    assert written(report) == [] and use_of(report).candidates == 2


def test_a_patch_of_a_rule_is_taken_without_asking(runner: Runner) -> None:
    report, asked = suggested(runner, [REPAIR], FAULTY)
    assert [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert not asked and report.model is None
