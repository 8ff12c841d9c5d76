"""The commands as a user calls them, on the real catalogue where nothing has to run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dnnfix import __version__, pipeline, registry
from dnnfix.cli.bench import COMMANDS as BENCH
from dnnfix.cli.bot import COMMANDS as BOT
from dnnfix.cli.main import COMMANDS
from dnnfix.emit import contract
from tests.cli.programs import FAULTY, HEALTHY, Call


@pytest.fixture
def faulty(folder: Path) -> Path:
    (folder / "model.py").write_text(FAULTY)
    (folder / "fine.py").write_text(HEALTHY)
    return folder


def test_help_teaches(call: Call) -> None:
    said = call("--help")
    assert said.code == 0
    assert all(f"  {name} " in said.out for name in COMMANDS) and "Examples:" in said.out
    assert call().code == 2


GROUPS = {"bench": BENCH, "bot": BOT}


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in COMMANDS if name not in GROUPS),
        *(f"{group} {name}" for group, commands in GROUPS.items() for name in commands),
    ],
)
def test_help_of_commands(call: Call, name: str) -> None:
    said = call(*name.split(), "--help")
    assert said.code == 0 and f"Usage: dnnfix {name} [OPTIONS]" in said.out
    assert "Examples:" in said.out and f"  dnnfix {name}" in said.out and "Exit codes:" in said.out


@pytest.mark.parametrize(("group", "word", "meant"), [("bench", "reply", "replay"), ("bot", "publsh", "publish")])
def test_a_group_of_commands_lists_them(call: Call, group: str, word: str, meant: str) -> None:
    said = call(group, "--help")
    assert said.code == 0 and all(f"  {name} " in said.out for name in GROUPS[group]) and "Examples:" in said.out
    assert call(group).code == 2
    assert f"Did you mean `dnnfix {group} {meant}`?" in call(group, word).err


def test_version(call: Call) -> None:
    assert call("--version").out == f"dnnfix {__version__}\n"


def test_wrong_words(call: Call, faulty: Path) -> None:
    assert "Did you mean `dnnfix suggest`?" in call("sugest", "x").err
    assert "Did you mean `dnnfix --version`?" in call("version").err

    assert "run: dnnfix suggest model.py" in call("model.py").err
    assert call("check", "model.py", "--frobnicate").code == 2
    assert "no path was given" in call("check").err


def test_an_option_of_another_command_is_named_with_it(call: Call) -> None:
    assert "No such option: --unsafe: it is one of `dnnfix fix`" in call("suggest", "--unsafe", "x.py").err
    assert "--output-format)" in call("check", "--output-formt", "text").err


def test_check_text(call: Call, faulty: Path) -> None:
    said = call("check", "model.py")
    assert said.code == 1
    assert re.search(r"^model.py:[46]:\d+: DNF301 output-unfit-for-loss$", said.out, re.MULTILINE)
    assert "Found 1 problem in 1 file." in said.out and "Not checked:" in said.out


def test_check_healthy(call: Call, faulty: Path) -> None:
    said = call("check", "fine.py")
    assert said.code == 0 and said.out.startswith("No problems found in 1 file") and "Not checked: " in said.out


def test_exit_zero(call: Call, faulty: Path) -> None:
    assert call("check", "model.py", "--exit-zero").code == 0
    assert call("check", "model.py", "missing.py", "--exit-zero").code == 2


def test_check_json_follows_the_schema(call: Call, faulty: Path) -> None:
    said = call("check", "model.py", "fine.py", "missing.py", "--output-format", "json")
    assert said.code == 2
    document: Any = json.loads(said.out)
    jsonschema.validate(document, contract.schema())
    (found,) = document["findings"]
    assert (found["path"], found["code"]) == ("model.py", "DNF301")
    assert document["runs"] == [] and document["tool"]["sandbox"] is None
    assert {patch["verdict"] for patch in document["patches"]} <= {"unvalidated"}
    assert "missing.py: no such file or folder. Check the path." in document["unchecked"]


def test_check_sarif_and_github(call: Call, faulty: Path) -> None:
    log: Any = json.loads(call("check", ".", "--output-format", "sarif").out)
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["DNF301"]
    assert [r["id"] for r in log["runs"][0]["tool"]["driver"]["rules"]] == ["DNF301"]
    lines = call("check", ".", "--output-format", "github").out.splitlines()
    assert lines[0].startswith("::warning title=dnnfix DNF301 output-unfit-for-loss,file=model.py,line=")


def test_output_file(call: Call, faulty: Path) -> None:
    said = call("check", ".", "--output-format", "json", "--output-file", "report.json")
    assert said.out == "" and said.code == 1
    assert json.loads((faulty / "report.json").read_text())["schema"] == "dnnfix/1"
    assert (faulty / "report.json").stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert call("check", ".", "--output-file", "no/such/folder.txt").code == 2
    assert sorted(p.name for p in faulty.iterdir()) == ["fine.py", "model.py", "report.json"]


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_select_and_ignore(call: Call, faulty: Path) -> None:
    assert call("check", "model.py", "--select", "DNF4").code == 0
    assert call("check", "model.py", "--ignore", "DNF301").code == 0
    assert call("check", "model.py", "--ignore", "output-unfit-for-loss").code == 0
    assert call("check", "model.py", "--select", "DNF4,DNF301").code == 1
    said = call("check", "model.py", "--select", "output-unfit-for-lose")
    assert said.code == 2 and "Did you mean `output-unfit-for-loss`?" in said.err


def test_settings_of_the_folder(call: Call, faulty: Path) -> None:
    (faulty / "pyproject.toml").write_text('[tool.dnnfix]\nignore = ["DNF301"]\n')
    assert call("check", "model.py").code == 0
    assert call("check", "model.py", "--isolated").code == 1
    (faulty / "pyproject.toml").write_text('[tool.dnnfix]\nignored = ["DNF301"]\n')
    said = call("check", "model.py")
    assert said.code == 2 and "unknown setting `ignored`. Did you mean `ignore`?" in said.err
    (faulty / "other.toml").write_text('select = ["DNF5"]')
    assert call("check", "model.py", "--config", "other.toml").code == 0
    assert "no such file" in call("check", "model.py", "--config", "nowhere.toml").err


def test_noqa(call: Call, faulty: Path) -> None:
    found = json.loads(call("check", "model.py", "--output-format", "json").out)["findings"]
    line = FAULTY.split("\n")[found[0]["line"] - 1]
    (faulty / "model.py").write_text(FAULTY.replace(line, f"{line}  # noqa: DNF301"))
    assert call("check", "model.py").code == 0
    (faulty / "model.py").write_text(FAULTY.replace("import torch\n", "import torch  # noqa: DNF301\n", 1))
    said = call("check", "model.py")
    assert "model.py:1:15: DNF900 unused-suppression" in said.out and "DNF301" in said.out


def test_baseline(call: Call, faulty: Path) -> None:
    assert call("check", ".", "--write-baseline", "known.json").code == 0
    assert call("check", ".", "--baseline", "known.json").code == 0
    (faulty / "model.py").write_text("# moved\n" + FAULTY)
    assert call("check", ".", "--baseline", "known.json").code == 0
    (faulty / "second.py").write_text(FAULTY)
    said = call("check", ".", "--baseline", "known.json")
    assert said.code == 1 and "Found 1 problem" in said.out
    assert call("check", ".", "--baseline", "nowhere.json").code == 2


def test_standard_input(call: Call, faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FAULTY.encode())))
    said = call("check", "-", "--stdin-filename", "src/m.py")
    assert said.code == 1 and "src/m.py:" in said.out and "DNF301" in said.out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "stdin.py: is empty" in call("check", "-").err


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("binary.py", b"\x7fELF\x02\x00\x01import torch softmax CrossEntropyLoss\x00"),
        ("undecodable.py", b"# coding: utf-8\nimport torch\nx = '\xff\xfe CrossEntropyLoss softmax'\n"),
        ("broken.py", b"import torch\nCrossEntropyLoss softmax ((((( def 8 = '''"),
        ("broken.ipynb", b"{'cells': torch CrossEntropyLoss softmax"),
        ("list.ipynb", b'[1, 2, "torch CrossEntropyLoss softmax"]'),
    ],
)
def test_bad_input_is_never_a_traceback(call: Call, faulty: Path, name: str, raw: bytes) -> None:
    (faulty / name).write_bytes(raw)
    said = call("check", name, "model.py", "--no-cache")
    assert said.code in (1, 2)
    assert "internal error" not in said.err and "Traceback" not in said.err
    assert "DNF301 output-unfit-for-loss" in said.out, "the other file is still checked"
    if said.code == 2:
        assert f"dnnfix: {name}: " in said.err


def test_internal_error(call: Call, faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pipeline.check_file

    def broken(raw: bytes, path: str, *rest: Any) -> Any:
        if path == "fine.py":
            raise KeyError("oops")
        return real(raw, path, *rest)

    monkeypatch.setattr(pipeline, "check_file", broken)
    said = call("check", ".", "--no-cache")
    assert said.code == 2 and "DNF301" in said.out
    assert "fine.py: internal error: KeyError at test_commands.py:" in said.err and "Please report it" in said.err
    assert "Traceback" not in said.err
    assert "Traceback" in call("check", ".", "--no-cache", "-v").err


def test_jobs_change_nothing(call: Call, faulty: Path) -> None:
    for number in range(5):
        (faulty / f"more{number}.py").write_text(FAULTY)
    (faulty / "bad.py").write_bytes(b"import torch\nCrossEntropyLoss softmax ((((( def 8 = '''")
    one, two = call("check", ".", "--no-cache"), call("check", ".", "--no-cache", "--jobs", "2")
    assert one == two


def test_explain(call: Call) -> None:
    by_code, by_name = call("explain", "dnf301"), call("explain", "output-unfit-for-loss")
    assert by_code == by_name and by_code.code == 0
    assert "Fix safety:" in by_code.out and "Example:" in by_code.out and "    +" in by_code.out
    assert "DNF900 unused-suppression" in call("explain", "DNF900").out
    unknown = call("explain", "DNF301x")
    assert unknown.code == 2 and "Did you mean `DNF301`?" in unknown.err
    assert "Did you mean" not in call("explain", "DNF999").err


def test_templates(call: Call) -> None:
    said = call("templates")
    listed = json.loads(call("templates", "--output-format", "json").out)
    assert [rule["code"] for rule in listed] == [template.code for template in registry.templates()]
    assert all(f"  {rule['code']}  {rule['rule']}" in said.out for rule in listed)
    page = call("templates", "--output-format", "markdown").out
    assert all(f"### {rule['code']} {rule['rule']}\n" in page for rule in listed)
    family = json.loads(call("templates", "--family", "loss-activation", "--output-format", "json").out)
    assert family and {rule["family"] for rule in family} == {"loss-activation"}


def test_verify_needs_a_certificate(call: Call, folder: Path) -> None:
    said = call("verify", "nowhere.json")
    assert said.code == 2 and "nowhere.json" in said.err and "internal error" not in said.err


def test_what_was_read_otherwise_than_it_stands_is_told(call: Call, folder: Path) -> None:
    (folder / "a.py").write_text("import torch\nx = torch.ones(3)\ny = = 3\nprint（x）\n")
    said = call("check", "a.py", "--no-cache")
    assert said.code == 1 and "a.py:3:1: DNF901" in said.out and "3 | y = = 3" in said.out
    assert "the file as it stands: lines that are not Python were left out (lines 3)" in said.out
    assert "full-width punctuation" in said.out


def test_a_notebook_on_standard_input_is_read_as_one(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    cells = [{"cell_type": "code", "id": "c1", "metadata": {}, "source": FAULTY, "outputs": []}]
    raw = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    said = call("check", "-")
    assert said.code == 1 and "stdin.ipynb:cell 1:" in said.out and "DNF301" in said.out


def test_what_help_tells_holds(call: Call) -> None:
    shown = "".join(call(*words).out for words in (["--help"], *([name, "--help"] for name in COMMANDS)))
    rules = re.findall(r"^  dnnfix explain (\S+)", shown, re.MULTILINE)
    assert len(rules) > 2 and call("explain", *rules).code == 0
    assert "[options] \n" not in shown


def test_a_prefix_of_codes_is_no_rule(call: Call) -> None:
    said = call("explain", "DNF30")
    assert said.code == 2 and "means " in said.err and "DNF301, DNF302" in said.err


def test_paths_that_look_like_flags(call: Call, folder: Path) -> None:
    (folder / "-v.py").write_text(FAULTY)
    assert "-v.py:4:" in call("check", "--no-cache", "--", "-v.py").out


def test_every_certificate_is_looked_at(call: Call, folder: Path) -> None:
    (folder / "broken.json").write_text('{"schema": 3}')
    said = call("verify", "broken.json", "missing.json")
    assert said.code == 2 and "broken.json: not a dnnfix certificate" in said.err and "missing.json" in said.err


def test_a_mistake_is_told_where_it_was_made(call: Call, faulty: Path) -> None:
    (faulty / "pyproject.toml").write_text("[tool.dnnfix]\nbudget = 30\n")
    said = call("check", "model.py", "--jobs", "0")
    assert said.code == 2 and said.err.startswith("dnnfix: command line: `jobs`")
    (faulty / "pyproject.toml").write_text("[tool.dnnfix]\njobs = 0\n")
    assert "pyproject.toml: `jobs`" in call("check", "model.py").err
    (faulty / "pyproject.toml").write_text("tool = 3  # dnnfix\n")
    assert call("check", "model.py", "--config", "pyproject.toml").code == 1
    said = call("check", "model.py", "--isolated", "--write-baseline", "no/such.json")
    assert said.code == 2 and "no/such.json: there is no such folder" in said.err
    assert call("check", "model.py", "--write-baseline", "b.json").err == "1 finding recorded in b.json\n"


def test_a_baseline_is_whole_or_not_written(call: Call, faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(raw: bytes, path: str, *rest: object) -> Any:
        raise KeyboardInterrupt

    assert call("check", "model.py", "missing.py", "--write-baseline", "known.json").code == 2
    before = (faulty / "known.json").read_bytes()
    monkeypatch.setattr(pipeline, "check_file", interrupted)
    said = call("check", ".", "--no-cache", "--write-baseline", "known.json")
    assert said.code == 130 and "no baseline was written" in said.err
    assert (faulty / "known.json").read_bytes() == before


def test_a_diff_without_a_run_takes_no_gradient_away(call: Call, folder: Path) -> None:
    text = """import torch
from torch.autograd import Variable


def evaluate(net, data):
    x = Variable(data, volatile=True)
    out = net(x)
    return out


evaluate(torch.nn.Linear(2, 2), torch.ones(2)).sum().backward()
"""
    (folder / "a.py").write_text(text)
    said = call("check", "a.py", "--no-cache", "--output-format", "diff")
    assert said.code == 1 and said.out == "" and "Found 2 problems" in said.err


def test_a_file_of_many_thousand_lines_is_followed_to_its_end(call: Call, folder: Path) -> None:
    one = "".join(f"h_N_{n} = torch.relu(torch.zeros({n + 1}))\n" for n in range(20))
    fault = FAULTY.partition("\n\n")[2]
    for word in ("model", "loss_fn", "loss"):
        fault = re.sub(rf"\b{word}\b", f"{word}_N", fault)
    text = "import torch\nfrom torch import nn\n" + "".join((fault + one).replace("_N", f"_{n}") for n in range(250))
    (folder / "a.py").write_text(text)
    said = call("check", "a.py", "--no-cache")
    assert len(text.splitlines()) > 5000
    assert "Found 250 problems in 1 file" in said.out
    assert "too long" not in said.out


def test_what_a_program_is_too_long_for_is_told(call: Call, folder: Path) -> None:
    row = "x = torch.relu(torch.relu(torch.relu(torch.relu(x))))\n"
    (folder / "a.py").write_text("import torch\nfrom torch import nn\nx = torch.zeros(3)\n" + row * 1200 + FAULTY)
    said = call("check", "a.py", "--no-cache")
    assert "layers and losses after line 1003: the program is too long to be followed further" in said.out
