"""The button in a real JupyterLab, clicked in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.notebook.conftest import ROOT

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
browsers = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium")

OLD = "%%dnnfix\nif False:\n    from keras.layers import Dense\n    layer = Dense(output_dim=3)\n'ran'"
PATIENCE = 60_000
"""Milliseconds for what takes a second on an idle machine."""


@pytest.fixture
def lab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab that serves the folder, on loopback alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = str(folder.parent / "home")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": home, "JUPYTER_CONFIG_DIR": f"{home}/.jupyter"}
    options = ("--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", f"--ServerApp.root_dir={folder}")
    command = [sys.executable, "-m", "jupyterlab", *options, "--IdentityProvider.token="]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/api", timeout=5):
                break
            time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_click_and_a_run_replace_the_source_of_a_cell(folder: Path, lab: str) -> None:
    path = folder / "train.ipynb"
    kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": id, "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for id, source in (("a", "%load_ext dnnfix"), ("b", OLD))
    ]
    notebook = {"cells": cells, "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook))
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{lab}/lab/tree/train.ipynb")
        code = page.locator(".jp-Notebook .jp-CodeCell")
        browsers.expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle", timeout=PATIENCE)
        for number in (0, 1):
            code.nth(number).locator(".cm-content").click()
            page.keyboard.press("Control+Enter")
            prompt = code.nth(number).locator(".jp-InputPrompt")
            browsers.expect(prompt).to_have_text(f"[{number + 1}]:", timeout=PATIENCE)
        report = code.nth(1).locator(".dnnfix section")
        browsers.expect(report).to_contain_text("In [2], line 4 DNF501", timeout=PATIENCE)
        code.nth(1).get_by_role("button", name="Apply patch-").click()
        browsers.expect(code.nth(1)).to_contain_text("Run In [2] again", timeout=PATIENCE)
        code.nth(1).locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        browsers.expect(code.nth(1).locator(".cm-content")).to_contain_text("Dense(units=3)", timeout=PATIENCE)
        browsers.expect(code.nth(1).locator(".jp-OutputArea-output")).to_have_text("'ran'", timeout=PATIENCE)
        browser.close()
