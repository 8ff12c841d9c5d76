"""The page as the commands write it: of a real run, beside nothing else, and shown in the browser of the user."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.programs import FAULTY, HEALTHY, Call
from tests.emit.browser import Shown, browser, needs_browser

pytest.importorskip("vl_convert", reason="dnnfix[html] is not installed")

BRANCHES = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(8, 16)
        self.right = nn.Linear(8, 16)
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        x = torch.relu(self.left(x)) + self.right(x)
        return self.head(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
for _ in range(20):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    optimizer.zero_grad()
    loss_fn(model(x), y).backward()
    optimizer.step()
"""

TRAINED = """import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(400, 20)
y = (x @ torch.randn(20, 5)).argmax(dim=1)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5), nn.Softmax(dim=1))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _ in range(20):
    for i in range(0, 400, 50):
        loss = loss_fn(model(x[i : i + 50]), y[i : i + 50])
        loss.backward()
        optimizer.step()
"""


def test_check_writes_a_page(call: Call, folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    (folder / "b.py").write_text(HEALTHY)
    done = call("check", "a.py", "b.py", "--output-format", "html", "--output-file", "report.html")
    assert (done.code, done.out) == (1, "")
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "DNF301" in html
    assert 'data-name="patch-' in html  # the edit that check does not prove is shown
    assert "nothing was run" in html
    cached = call("check", "a.py", "b.py", "--output-format", "html")
    assert cached.out == html


def test_page_in_a_terminal_of_another_encoding(folder: Path) -> None:
    (folder / "ü.py").write_text(FAULTY.replace("model =", "# ünï→ \nmodel ="), encoding="utf-8")
    words = [sys.executable, "-m", "dnnfix", "check", "ü.py", "--output-format", "html"]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)
    assert done.returncode == 1
    assert "ünï→" in done.stdout.decode("utf-8")


def test_open_shows_the_page(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.py").write_text(FAULTY)
    opener = folder / "opener"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > "{folder}/opened"\n')
    opener.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{opener} %s")
    monkeypatch.setattr("webbrowser._tryorder", None)  # it reads BROWSER once in a process
    done = call("check", "a.py", "--open")
    assert done.code == 1
    address = (folder / "opened").read_text()
    file = Path(address.removeprefix("file://"))
    assert "DNF301" in file.read_text(encoding="utf-8")
    assert str(file) in done.err
    call("check", "a.py", "--open", "--output-file", "mine.html")
    assert (folder / "opened").read_text() == (folder / "mine.html").as_uri()


def test_open_is_for_pages(call: Call, folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    done = call("check", "a.py", "--open", "--output-format", "json")
    assert (done.code, done.out) == (2, "")
    assert "--open shows a page. Received: --output-format json" in done.err


def test_a_terminal_is_not_flooded_with_a_page(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.py").write_text(FAULTY)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    done = call("check", "a.py", "--output-format", "html")
    assert (done.code, done.out) == (2, "") and "--open shows it in the browser, --output-file keeps it" in done.err


def test_packages_that_are_missing_are_told_before_any_run(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.py").write_text(FAULTY)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr("dnnfix.pipeline.suggest_file", None)  # nothing is begun
    done = call("suggest", "a.py", "--output-format", "html")
    assert done.code == 2
    assert "vl-convert-python" in done.err
    assert "pip install 'dnnfix[html]'" in done.err


def test_other_formats_import_nothing_of_it(folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    code = (
        "import sys\nfrom dnnfix.cli.main import run\n"
        "try:\n    run(['check', 'a.py', '--no-cache'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'jinja2', 'pygments', 'vl_convert', 'markupsafe'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("[]")


@needs_browser
def test_page_of_a_crash(call: Call, folder: Path) -> None:
    pytest.importorskip("torch")
    (folder / "a.py").write_text(BRANCHES)
    asked = ("--output-format", "html", "--output-file", "report.html", "--isolated", "--budget", "10")
    done = call("suggest", "a.py", *asked)
    assert done.code == 1, done.err
    with browser() as started:
        shown = Shown(started, folder / "report.html")
        nodes = shown.page.locator(".network .node")
        assert [text.split()[0] for text in nodes.locator(".call b").all_inner_texts()] == [
            "Linear", "relu", "Linear", "add", "Linear",
        ]  # fmt: skip
        broken = shown.page.locator(".network .node.broken")
        assert broken.count() == 1
        assert "32 × 16" in broken.inner_text()
        assert "does not fit" in broken.inner_text()
        assert "head" in broken.inner_text()
        assert "DNF201" in broken.inner_text()
        lines = shown.page.locator(".slice li .at").all_inner_texts()
        assert lines[0] == "14"
        assert {"13", "10"} <= set(lines)  # what gave x, and where the layer was made
        assert shown.complaints == []
        shown.close()


@pytest.mark.slow
@needs_browser
def test_page_of_a_training(call: Call, folder: Path) -> None:
    pytest.importorskip("torch")
    (folder / "a.py").write_text(TRAINED)
    done = call("suggest", "a.py", "--output-format", "html", "--output-file", "report.html", "--isolated")
    assert done.code == 1, done.err
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert len(html) < 1_500_000
    lines: list[Any] = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[0])
    assert {line["side"] for line in lines} == {"before", "after"}
    assert len({line["label"] for line in lines}) >= 5
    with browser() as started:
        shown = Shown(started, folder / "report.html")
        assert shown.page.locator(".finding[open] .plot svg").count() == 3  # loss, skill, gradient norm
        assert "Is each edit needed?" in shown.page.locator("body").inner_text()
        assert shown.complaints == []
        shown.close()
