"""The first phase on real programs: what is run, what is said, and that nothing of the repository gets a token or a say in the sandbox."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from dnnfix.bot.analyse import analyse
from dnnfix.bot.settings import asked
from dnnfix.cli.main import run
from dnnfix.errors import ForgeError, InputError
from dnnfix.forge.git import cloned
from tests.bot.people import SLUG, Repository

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="the bot runs nothing without bubblewrap")

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
ignore = ["DNF501"]
[bot]
"""


def said(checkout: Path, tmp_path: Path) -> dict[str, Any]:
    given = {"python": sys.executable, "cache-dir": str(tmp_path / "cache")}
    return dict(json.loads(analyse(checkout, SLUG, given, 300.0, lambda text: None)))


def proven(found: dict[str, Any], path: str) -> bool:
    """Whether a patch of a program is accepted, proposed or not."""
    accepted = [patch["id"] for patch in found["report"]["patches"] if patch["verdict"] == "accepted"]
    return any(name.startswith(path) for name in accepted)


def checked_out(repository: Repository, folder: Path) -> Path:
    cloned(repository.forge.remote(SLUG), folder, "main")
    return folder


def test_programs_are_run_without_tokens_and_the_settings_of_a_repository_name_nothing_to_run(
    repository: Repository, tmp_path: Path
) -> None:
    own = b"raise SystemExit('a template of the repository was run')\n"
    repository.commit({"dnnfix.toml": HOSTILE, "train.py": OLD, "own/template.py": own, "link.py": b"train.py"})
    checkout = checked_out(repository, tmp_path / "checkout")
    found = said(checkout, tmp_path)
    assert found["programs"] == ["train.py"]
    codes = {finding["code"] for finding in found["report"]["findings"]}
    assert codes and "DNF501" not in codes
    assert not [one for one in found["report"]["findings"] if "a token is here" in one["message"]]
    said_of = "people/digits: dnnfix.toml: the bot does not read `{}` of a repository"
    kept_out = ("test-command", "templates", "python", "sandbox", "trust")
    assert {said_of.format(key) for key in kept_out} < set(found["report"]["unchecked"])
    assert not (checkout / "ran").exists() and found["report"]["tool"]["sandbox"] == "bubblewrap"


NEVER_REACHED = b"""import torch


def solved(a, b):
    return torch.gesv(b, a)[0]


if __name__ == "__main__":
    print(torch.zeros(1))
"""


def test_what_no_run_came_to_is_not_proposed(repository: Repository, tmp_path: Path) -> None:
    reached = NEVER_REACHED.replace(b"print(torch.zeros(1))", b"print(solved(torch.eye(2), torch.ones(2, 1)))")
    repository.commit({"dnnfix.toml": b"[bot]\n", "never.py": NEVER_REACHED, "reached.py": reached})
    found = said(checked_out(repository, tmp_path / "checkout"), tmp_path)
    assert proven(found, "reached.py") and not proven(found, "never.py")
    assert any(
        one["id"].startswith("never.py") and one["verdict"] == "unvalidated" for one in found["report"]["patches"]
    )
    assert {name.partition("::")[0] for name in found["titles"]} & {"never.py", "reached.py"} == {"reached.py"}


@pytest.mark.parametrize(
    ("wanted", "proposed"),
    [
        (b"torch==1.1", False),
        (b"torch==1.9", True),
        pytest.param(b"torch>=1.1", True, marks=pytest.mark.slow),
    ],
)
def test_what_works_in_the_versions_that_the_repository_asks_for_is_left_alone(
    repository: Repository, tmp_path: Path, wanted: bytes, proposed: bool
) -> None:
    reached = NEVER_REACHED.replace(b"print(torch.zeros(1))", b"print(solved(torch.eye(2), torch.ones(2, 1)))")
    repository.commit({"dnnfix.toml": b"[bot]\n", "reached.py": reached, "requirements.txt": wanted})
    found = said(checked_out(repository, tmp_path / "checkout"), tmp_path)
    assert proven(found, "reached.py")
    assert any(name.startswith("reached.py") for name in found["titles"]) is proposed


ROWS = b"""import torch

table = {table}
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(30):
    loss = torch.nn.CrossEntropyLoss()(torch.softmax(net(table[:, :3]), dim=1), table[:, 3].long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
READ = b'torch.from_numpy(np.loadtxt("rows.csv", delimiter=",", dtype=np.float32))'


@pytest.mark.parametrize("made_up", [False, True])
def test_what_shows_on_data_that_were_made_up_is_proposed_only_where_it_keeps_the_meaning(
    repository: Repository, tmp_path: Path, made_up: bool
) -> None:
    program = b"import numpy as np\n" + ROWS.replace(b"{table}", READ if made_up else b"torch.rand(80, 4).round()")
    repository.commit({"dnnfix.toml": b"[bot]\n", "rows.py": program})
    found = said(checked_out(repository, tmp_path / "checkout"), tmp_path)
    assert proven(found, "rows.py")
    assert any(name.startswith("rows.py") for name in found["titles"]) is not made_up


SAVES = b"""import keras

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.save_weights("model.h5")
"""


@pytest.mark.parametrize(
    "read_as",
    [
        b"",
        b'"out/model.h5"',
        pytest.param(b'"out/" + sys.argv[0] + ".h5"', marks=pytest.mark.slow),
        pytest.param(b'f"{sys.path}/{sys.argv}.h5"', marks=pytest.mark.slow),
    ],
)
def test_a_file_is_called_otherwise_only_where_no_other_program_looks_for_it(
    repository: Repository, tmp_path: Path, read_as: bytes
) -> None:
    loads = b"import sys\n" + SAVES.replace(b"save_weights", b"load_weights").replace(b'"model.h5"', read_as)
    beside = {"load.py": loads} if read_as else {}
    repository.commit({"dnnfix.toml": b"[bot]\n", "save.py": SAVES, **beside})
    found = said(checked_out(repository, tmp_path / "checkout"), tmp_path)
    assert proven(found, "save.py")
    assert any(name.startswith("save.py") for name in found["titles"]) is not bool(read_as)


def test_an_interpreter_of_the_repository_is_refused_and_excluded_files_are_not_looked_at(
    repository: Repository, tmp_path: Path
) -> None:
    settings = b'exclude = ["legacy"]\n[bot]\n'
    repository.commit(
        {"dnnfix.toml": settings, "train.py": b"print(1)\n", "legacy/old.py": OLD, "bin/python": b"#!/bin/sh\n"}
    )
    checkout = checked_out(repository, tmp_path / "checkout")
    (checkout / "bin" / "link").symlink_to(sys.executable)
    for name in ("python", "link"):
        with pytest.raises(InputError, match="is a file of the repository, which is not trusted"):
            analyse(checkout, SLUG, {"python": str(checkout / "bin" / name)}, 1.0, lambda text: None)
    with pytest.raises(InputError, match="inside of a repository. Name the top of it"):
        analyse(checkout / "legacy", SLUG, {}, 1.0, lambda text: None)
    found = said(checkout, tmp_path)
    assert found["programs"] == [] and found["report"]["findings"] == []


def test_settings_in_the_folder_of_workflows_count_and_links_do_not(repository: Repository, tmp_path: Path) -> None:
    modes = {"dnnfix.toml": "120000"}
    repository.commit(
        {"dnnfix.toml": b"/etc/hostname", ".github/dnnfix.toml": b"\xef\xbb\xbf[bot]\ndraft = false\n"}, modes=modes
    )
    assert asked(repository.bare, "main", SLUG).bot.enabled


def test_a_program_that_nobody_can_read_ends_nothing(repository: Repository, tmp_path: Path) -> None:
    deep = b"import torch\nx = " + b"(" * 5000 + b")" * 5000 + b"\n"
    repository.commit(
        {"train.py": deep, "other.py": b"import torch\nprint(torch.zeros(1))\nif " + b"a+" * 3000 + b"a: pass\n"}
    )
    found = said(checked_out(repository, tmp_path / "checkout"), tmp_path)
    assert set(found["left_out"]) <= {"train.py", "other.py"}


def test_both_phases_by_the_command_open_a_pull_request_and_the_second_call_none(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("DEPLOY_KEY", "k")
    repository.commit({"train.py": OLD})
    words = ["bot", "run", "--forge", f"local:{tmp_path}", "--python", sys.executable, "--quiet"]
    assert run([*words, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "would open" in told and "AssertionError" not in told and repository.forge.pulls(SLUG) == ()
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
    given = ["--repo", SLUG, "--forge"]
    assert run(["bot", "publish", str(tmp_path / "nothing.json"), *given, f"local:{tmp_path}"]) == 2
    assert "nothing.json: cannot be read" in capsys.readouterr().err
    (tmp_path / "report.json").write_text("[]")
    assert run(["bot", "publish", str(tmp_path / "report.json"), *given, "elsewhere"]) == 2
    assert "report.json" in capsys.readouterr().err


def test_a_repository_that_has_not_asked_is_not_run(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"dnnfix.toml": b"", "train.py": OLD})
    assert run(["bot", "run", "--forge", f"local:{tmp_path}", "--quiet"]) == 0
    assert "has not asked for the bot" in capsys.readouterr().out
