"""The extension in a real VS Code: code-server, the workbench of VS Code as a page, in a real browser.

Needs code-server, on the path or named by the environment variable `DNNFIX_CODE_SERVER`, Chromium and Playwright, and the packages
of the extension (`npm ci --prefix editors/vscode`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.test_vscode import FOLDER, needs_packages, npm
from tests.editors.workbench import CODE_SERVER, PATIENCE, CodeServer, Workbench, sync_api
from tests.emit.browser import browser, needs_browser

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'dnnfix[server]'")
expect = sync_api.expect

pytestmark = [
    pytest.mark.slow,
    needs_packages,
    needs_browser,
    pytest.mark.skipif(
        CODE_SERVER is None, reason="code-server is not installed, nor named by DNNFIX_CODE_SERVER: tests/README.md"
    ),
]

ROOT = Path(__file__).parents[2]
SERVER = [sys.executable, "-m", "dnnfix", "server", "--isolated"]
TRUSTED = {"security.workspace.trust.enabled": False}

SOUND = "from torch import nn, randint, randn\n\nmodel = nn.Sequential(nn.Linear(20, 10))\n"
TYPED = "loss = nn.CrossEntropyLoss()(model(randn(8, 20)).softmax(1), randint(10, (8,)))"
ENDLESS = "import time\nimport torch\n\nwhile True:\n    time.sleep(0.1)\n"
CRASHING = (
    "import numpy as np\nimport torch",
    "sizes = np.zeros(3, dtype=np.float)",
    "print(torch.tensor(sizes).sum())",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> CodeServer:
    """A code-server with the extension as it is packaged."""
    npm("run", "package")
    code = CodeServer(tmp_path_factory.mktemp("code"))
    code.install(FOLDER / "dnnfix.vsix")
    return code


@pytest.fixture
def window(chromium: Any, installed: CodeServer, tmp_path: Path) -> Iterator[Any]:
    """Opens a window on `tmp_path`, with a command for the server, and other settings of its user."""
    environment = {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'legacy'}",
        "HOME": str(installed.home),
        "OMP_NUM_THREADS": "1",
    }
    with contextlib.ExitStack() as ends:

        def opened(server: list[str] = SERVER, user: Mapping[str, object] = TRUSTED) -> Workbench:
            machine = {"dnnfix.server.command": server, "dnnfix.budget": 300}
            address = ends.enter_context(installed.serving(machine, user, environment))
            workbench = Workbench(chromium, address, tmp_path)
            ends.callback(workbench.page.close)
            return workbench

        yield opened


def test_what_is_typed_into_a_trusted_folder_is_looked_at_and_repaired(window: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{SOUND}{TYPED}\n")
    code = window(user={})
    code.open("train.py")
    # The folder is not trusted yet, and nothing of it starts a server.
    code.page.get_by_role("button", name="Restricted Mode").click()
    code.page.locator(".workspace-trust-editor").get_by_role("button", name="Trust", exact=True).click()
    code.open("train.py")
    code.findings.first.wait_for()
    # Without the line nothing is found, and with it again there is.
    code.lines("loss =").click()
    code.page.keyboard.press("Control+Shift+K")
    expect(code.findings).to_have_count(0, timeout=PATIENCE)
    code.page.keyboard.press("Control+End")
    code.page.keyboard.type(TYPED)
    code.page.keyboard.press("Control+Shift+M")  # the list of problems
    expect(code.page.locator(".markers-panel-container")).to_contain_text("DNF301", timeout=PATIENCE)
    told = code.hover_finding()
    expect(told).to_contain_text("DNF301 output-unfit-for-loss", timeout=PATIENCE)
    assert told.inner_text().count("gets the output of softmax") == 1  # VS Code itself says what was found
    code.page.keyboard.press("Escape")
    code.quick_fix("Pass the loss the logits")
    code.lines("(model(randn(8, 20)), randint").wait_for()
    expect(code.findings).to_have_count(0, timeout=PATIENCE)


def test_a_proof_can_be_stopped_is_shown_and_is_applied_to_a_notebook(window: Any, tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for i, source in enumerate(CRASHING)
    ]
    about = {"language_info": {"name": "python"}}
    (tmp_path / "a.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5})
    )
    (tmp_path / "endless.py").write_text(ENDLESS)
    code = window()
    code.open("endless.py")
    code.command("dnnfix: Find faults")
    running = code.toast("proving patches for endless.py: running the program")
    running.get_by_role("button", name="Cancel").click()
    expect(running).to_have_count(0, timeout=PATIENCE)
    code.open("a.ipynb")
    code.quick_fix("Prove this patch by running")
    offer = code.toast("(proven")
    expect(offer).to_contain_text("passed parse, run", timeout=PATIENCE)
    offer.get_by_role("button", name="Show the diff").click()
    code.lines('"sizes = np.zeros(3, dtype=float)"').wait_for()
    code.open("a.ipynb")
    code.quick_fix("(proven")
    code.lines("dtype=float)").wait_for()
    expect(code.findings).to_have_count(0, timeout=PATIENCE)


@pytest.mark.parametrize("before", ["", "sleep 1; "], ids=["at-once", "after-a-while"])
def test_a_server_that_does_not_start_says_once_what_to_do(window: Any, tmp_path: Path, before: str) -> None:
    (tmp_path / "train.py").write_text(SOUND)
    code = window(["sh", "-c", f"{before}echo no such module >&2; exit 1"])
    code.open("train.py")
    told = code.toast("Install it with: python -m pip install 'dnnfix[server]'")
    told.get_by_role("button", name="Show the log").click()
    code.lines("no such module").first.wait_for()
    expect(code.toasts).to_have_count(0, timeout=PATIENCE)
