"""`dnnfix locate` as a user calls it, on sound and on bad input."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.records import FileReport
from tests.cli.programs import Call
from tests.locate.conftest import FILES, commit

REPORT = """# focal_loss refuses my masks

The loss stops with an error as soon as the masks have a channel.

```
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/train.py", line 3, in <module>
  File "/opt/lib/python3.11/site-packages/shop/loss.py", line 7, in focal_loss
ValueError: scores and target must have the same shape, got torch.Size([2, 1, 4])
```

torch 2.1.0
"""


JUDGE = """\
import torch
from torch import nn


class Judge(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(sizes["width"], 32), nn.ReLU(), nn.Linear(32, 1))

    def loss(self, x, y):
        return nn.functional.binary_cross_entropy(self.layers(x).squeeze(1), y)
"""
LEARN = """\
import torch
from judge import Judge

torch.manual_seed(0)
judge = Judge({"width": 5})
optimizer = torch.optim.Adam(judge.parameters(), lr=0.01)
x = torch.randn(256, 5)
y = (x[:, 0] > 0).float()
for _ in range(50):
    optimizer.zero_grad()
    judge.loss(x, y).backward()
    optimizer.step()
"""


@pytest.fixture
def shop(folder: Path) -> Path:
    """The repository of `tests/locate`, with one commit, in the working folder."""
    place = folder / "shop"
    place.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    commit(place, "First version", "2024-01-01", FILES)
    (folder / "report.md").write_text(REPORT)
    return place


def test_the_place_is_found_with_its_reasons(call: Call, shop: Path) -> None:
    said = call("locate", "--report", "report.md", "shop", "--isolated")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "report.md against 5 files of shop"
    first = next(i for i, line in enumerate(lines) if line.startswith("  1  "))
    assert lines[first].endswith("shop/loss.py")
    assert "the innermost frame here of the traceback: line 7 in focal_loss" in said.out
    assert any(line.split()[:2] == ["in", "focal_loss,"] for line in lines[first:])
    assert "line       7: a frame of the traceback" in said.out
    assert "fault      program" in said.out


def test_lines_that_a_sentence_names_or_quotes_lead_to_their_function(call: Call, shop: Path, folder: Path) -> None:
    (folder / "report.md").write_text(
        "# The result is odd\n\nI think that shop/loss.py, line 13 is to blame, or\n\n"
        "```python\nreturn open(path, 'rb').read()  # here\n    self.head = nn.Linear(768, 37)\n```\n"
    )
    said = call("locate", "--report", "report.md", "shop", "--output-format", "json", "--isolated")
    files = {file["path"]: file for file in json.loads(said.out)["files"]}
    assert files["shop/loss.py"]["definitions"][0]["name"] == "dice_loss"
    assert files["shop/loss.py"]["lines"] == [{"line": 13, "end_line": 13, "reason": "the report names the line"}]
    assert files["shop/model.py"]["lines"] == [{"line": 9, "end_line": 9, "reason": "the report quotes it"}]


def test_a_folder_that_is_named_leads_to_its_files(call: Call, shop: Path, folder: Path) -> None:
    commit(shop, "More", "2024-02-01", {"old_store/run.py": "import shop\n", "new_store/run.py": "import shop\n"})
    (folder / "report.md").write_text("# It does not start\n\nWhat lies in old_store does not start any more.\n")
    said = call("locate", "--report", "report.md", "shop", "--top", "1", "--isolated")
    assert "old_store/run.py" in said.out and "lies in old_store, which the report names" in said.out


def test_json_says_the_same_and_more(call: Call, shop: Path) -> None:
    said = call("locate", "--report", "report.md", "shop", "--top", "2", "--output-format", "json", "--isolated")
    document = json.loads(said.out)
    assert said.code == 0 and document["schema"] == "dnnfix-location/1" and document["searched"] == 5
    assert [len(document["files"]), document["files"][0]["path"]] == [2, "shop/loss.py"]
    assert document["files"][0]["share"] > document["files"][1]["share"]
    assert document["files"][0]["definitions"][0]["name"] == "focal_loss"
    assert {"fault", "sure", "chance", "sentence", "next"} == set(document["triage"])
    assert document["missing"] and document["reply"].startswith("Thank you for the report.")


def test_a_page_is_written(call: Call, shop: Path, folder: Path) -> None:
    (folder / "report.md").write_text(
        REPORT.replace("focal_loss refuses", "<script>alert(1)</script> focal_loss refuses")
    )
    said = call(
        "locate", "--report", "report.md", "shop", "--output-format", "html", "--output-file", "a.html", "--isolated"
    )
    page = (folder / "a.html").read_text()
    assert said.code == 0 and said.out == "" and "shop/loss.py" in page and "<script>alert" not in page


def test_an_older_version_is_looked_in(call: Call, shop: Path) -> None:
    commit(shop, "Losses go elsewhere", "2024-05-01", {"shop/loss.py": "", "shop/other.py": FILES["shop/loss.py"]})
    said = call("locate", "--report", "report.md", "shop", "--revision", "HEAD~1", "--top", "1", "--isolated")
    assert "shop/loss.py" in said.out and " at " in said.out.splitlines()[0]


def test_a_report_comes_from_a_forge(call: Call, shop: Path, folder: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--bare", shop, folder / "forge/me/shop.git"], check=True)
    issues = folder / "forge/me/shop.issues"
    issues.mkdir()
    (issues / "7.json").write_text(json.dumps({"title": "focal_loss refuses", "body": REPORT, "state": "open"}))
    said = call("locate", "--issue", "me/shop#7", "--forge", f"local:{folder / 'forge'}", "shop", "--isolated")
    assert said.code == 0 and said.out.startswith("me/shop#7 against 5 files"), said.err
    said = call("locate", "--issue", "me/shop#8", "--forge", f"local:{folder / 'forge'}", "shop", "--isolated")
    assert said.code == 2 and "me/shop: there is no issue 8" in said.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "says nothing that could be looked for"),
        (b"   \n\n", "says nothing that could be looked for"),
        (b"![screenshot](a.png)", None),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is not text"),
    ],
)
def test_a_report_without_words_is_refused(
    call: Call, shop: Path, folder: Path, content: bytes, words: str | None
) -> None:
    (folder / "bad.md").write_bytes(content)
    said = call("locate", "--report", "bad.md", "shop", "--isolated")
    if words is None:
        assert said.code in (0, 2) and "Traceback" not in said.err
    else:
        assert said.code == 2 and words in said.err and said.out == ""


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--report", "none.md", "shop"), "none.md: No such file or directory"),
        (("--report", "report.md", "nowhere"), "nowhere: no such folder"),
        (("--report", "report.md", "report.md"), "report.md: no such folder"),
        (("shop",), "give the report by --report FILE"),
        (("--report", "report.md", "--issue", "a/b#1", "shop"), "give the report by --report FILE"),
        (("--issue", "a/b", "shop"), "has to be OWNER/NAME#N"),
        (("--report", "report.md", "--top", "0", "shop"), "has to be at least 1"),
        (("--report", "report.md", "--revision", "v9", "shop"), "v9"),
        (("--report", "report.md", "empty"), "holds no Python files but tests"),
    ],
)
def test_bad_calls_say_what_to_do(call: Call, shop: Path, folder: Path, argv: tuple[str, ...], words: str) -> None:
    (folder / "empty").mkdir()
    said = call("locate", *argv, "--isolated")
    assert said.code == 2 and words in said.err and "Traceback" not in said.err and said.out == ""


def test_five_megabytes_of_log_are_cut_and_that_is_said(call: Call, shop: Path, folder: Path) -> None:
    (folder / "log.md").write_text(REPORT + "step 1 loss 0.5 accuracy 0.1\n" * 180_000)
    said = call("locate", "--report", "log.md", "shop", "--isolated")
    assert said.code == 0 and "characters, of which the first and last 100,000 were read" in said.out
    assert "shop/loss.py" in said.out


def test_another_language_is_said_and_names_still_count(call: Call, shop: Path, folder: Path) -> None:
    (folder / "chinese.md").write_text(
        "# focal_loss 报错\n\n训练的时候损失函数报错，形状不一致，应该怎么办？请帮我看看这个问题。\n"
    )
    said = call("locate", "--report", "chinese.md", "shop", "--top", "1", "--isolated")
    assert said.code == 0 and "another alphabet" in said.out and "shop/loss.py" in said.out


def test_without_a_history_files_are_ranked_all_the_same(call: Call, shop: Path, folder: Path) -> None:
    (shop / ".git").rename(folder / "away")
    said = call("locate", "--report", "report.md", "shop", "--top", "1", "--isolated")
    assert said.code == 0 and "has no git history" in said.out and "shop/loss.py" in said.out


def test_broken_files_and_links_do_not_end_it(call: Call, shop: Path) -> None:
    (shop / "broken.py").write_text("def f(:\n")
    (shop / "null.py").write_bytes(b"\0\1\2")
    (shop / "loop.py").symlink_to("loop.py")
    (shop / "large.py").write_bytes(b"x = 1\n" * 1_000_000)
    said = call("locate", "--report", "report.md", "shop", "--top", "1", "--isolated")
    assert said.code == 0 and "shop/loss.py" in said.out


def test_a_damaged_index_is_made_anew(call: Call, shop: Path, folder: Path) -> None:
    assert call("locate", "--report", "report.md", "shop", "--cache-dir", "kept", "--isolated").code == 0
    (kept,) = (folder / "kept").glob("locate-*.sqlite")
    kept.write_bytes(b"no database" * 1000)
    said = call("locate", "--report", "report.md", "shop", "--cache-dir", "kept", "--top", "1", "--isolated")
    assert said.code == 0 and "shop/loss.py" in said.out


def test_failing_tests_are_evidence(call: Call, shop: Path) -> None:
    (shop / "tests/test_reader.py").write_text(
        "from shop.data.reader import ImageReader\n\n\ndef test_resize():\n    assert ImageReader().resize([1, 2, 3], 1) == [1]\n"
    )
    (shop / "shop/__init__.py").write_text("")
    (shop / "report.md").write_text("# Pictures are wrong\n\nThey come out in another size.\n")
    command = "python -m pytest -q tests/test_reader.py"
    said = call("locate", "--report", "shop/report.md", "shop", "--test-command", command, "--top", "1", "--isolated")
    assert said.code == 0, said.err
    assert "shop/data/reader.py" in said.out and "failing tests execute it" in said.out


@pytest.mark.slow
def test_a_report_is_repaired(call: Call, folder: Path) -> None:
    program = "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(32, 3))\nprint(model(torch.zeros(2, 20)))\n"
    (folder / "issue.md").write_text(f"# It stops\n\n```python\n{program}```\n")
    said = call("suggest", "--report", "issue.md", "--isolated")
    assert said.code == 1 and "issue.py" in said.out and "+model = nn.Sequential" in said.out


@pytest.mark.slow
def test_patches_of_a_suspect_module_are_judged_by_running_the_program_that_uses_it(call: Call, folder: Path) -> None:
    (folder / "issue.md").write_text("# The loss of Judge never falls\n\nWhatever I train, Judge stays at chance.\n")
    (folder / "judge.py").write_text(JUDGE)
    (folder / "learn.py").write_text(LEARN)
    command = ("suggest", "--report", "issue.md", ".", "--isolated", "--output-format", "json")
    document = json.loads(call(*command).out)
    assert {"module": "judge.py", "program": "learn.py"} in document["through"]
    (found,) = [found for found in document["findings"] if found["path"] == "judge.py"]
    assert (found["line"], found["symptom"], found["outcome"]) == (8, "crash", "undecided")
    choices = [patch for patch in document["patches"] if patch["verdict"] == "choice"]
    assert len(choices) > 1 and {patch["id"].partition("::")[0] for patch in choices} == {"learn.py"}
    assert all("+++ b/judge.py" in patch["diff"] for patch in choices)


def test_a_part_of_a_program_is_not_run_beside_its_repository(call: Call, shop: Path, folder: Path) -> None:
    warning = "/opt/shop/loss.py:7: UserWarning: Using a target size\n  loss = F.smooth_l1_loss(scores, target)"
    (folder / "issue.md").write_text(
        f"# A warning\n\n```\n{warning}\n```\n\n```python\nself.loss(scores, target)\n```\n"
    )
    (shop / "shop/model.py").unlink()  # what is left imports no framework, so that nothing is run
    said = call("suggest", "--report", "issue.md", "shop", "--isolated")
    assert "since it is a part of a program: nothing in it defines self" in said.err
    assert "report.py" not in said.out and "issue.py" not in said.out


def test_a_report_without_code_needs_a_repository(call: Call, folder: Path) -> None:
    (folder / "issue.md").write_text("# It stops\n\nNothing helps.\n")
    said = call("suggest", "--report", "issue.md", "--isolated")
    assert said.code == 2 and "holds no Python code" in said.err


def test_a_shallow_clone_and_a_cache_that_cannot_be_written_are_said_and_used(
    call: Call, shop: Path, folder: Path
) -> None:
    commit(shop, "More", "2024-06-01", {"shop/more.py": "x = 1\n"})
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{shop}", folder / "shallow"], check=True)
    (folder / "file").write_text("")
    said = call("locate", "--report", "report.md", "shallow", "--cache-dir", "file/cache", "--top", "1", "--isolated")
    assert said.code == 0 and "cloned without all of its history" in said.out and "shop/loss.py" in said.out, said.err


def test_what_a_report_says_is_heard_of_its_suspects(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: dict[str, str] = {}

    def suggest_file(raw: bytes, path: str, *rest: object, log: object, said: str) -> FileReport:
        heard[path] = said
        return FileReport(path)

    monkeypatch.setattr(pipeline, "suggest_file", suggest_file)
    (folder / "issue.md").write_text(
        "# train.py and setup.py stop\n\nI call it by\n\n```shell\npython train.py --width 3\n```\n"
    )
    (folder / "train.py").write_text("import torch\n\ntorch.nn.Linear(2, 1)\n")
    (folder / "setup.py").write_text("import torch\nfrom setuptools import setup\n\nsetup()\n")
    (folder / "train_all.py").write_text("")
    assert call("suggest", "--report", "issue.md", ".", "--isolated").code == 0
    assert list(heard) == ["train.py"] and "python train.py --width 3" in heard["train.py"]
