"""VS Code's workbench for tests: code-server, which serves it as a page, and what a person does there by keyboard and mouse."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CODE_SERVER = os.environ.get("DNNFIX_CODE_SERVER") or shutil.which("code-server")
PATIENCE = 180_000
"""Milliseconds for what takes a few seconds on an idle machine."""

QUIET = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.editor.useModal": "off",
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off"},
    "editor.autoClosingBrackets": "never",
    "extensions.autoCheckUpdates": False,
}
"""Settings that leave on the page what the tests are about, and of what is typed only what was typed."""


class CodeServer:
    """An installation with folders of its own below `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.options = (
            f"--user-data-dir={home}/data",
            f"--extensions-dir={home}/extensions",
            f"--config={home}/none.yaml",
        )

    def install(self, extension: Path) -> None:
        """Install an extension from its package."""
        done = subprocess.run(
            self._words("--install-extension", str(extension)), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @contextlib.contextmanager
    def serving(
        self, machine: Mapping[str, Any], user: Mapping[str, Any], environment: Mapping[str, str]
    ) -> Iterator[str]:
        """The address of the workbench, on loopback alone, with settings of the machine and of its user."""
        for name, settings in (("Machine", machine), ("User", {**QUIET, **user})):
            file = self.home / "data" / name / "settings.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = self._words(
            f"--bind-addr=127.0.0.1:{port}", "--auth=none", "--disable-telemetry", "--disable-update-check"
        )
        with (self.home / "log").open("ab") as log:
            server = subprocess.Popen(words, env={**os.environ, **environment}, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(120):
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/healthz", timeout=5):
                    break
                time.sleep(0.5)
            yield address
        finally:
            server.terminate()
            server.wait()

    def _words(self, *more: str) -> list[str]:
        return [str(CODE_SERVER), *self.options, *more]


class Workbench:
    """A window with a folder."""

    def __init__(self, browser: Any, address: str, folder: Path) -> None:
        self.page = browser.new_page(viewport={"width": 1400, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(f"{address}/?folder={folder}")
        self.files = self.page.locator(".explorer-folders-view .monaco-list-row")
        self.findings = self.page.locator(".squiggly-warning, .squiggly-error")
        self.toasts = self.page.locator(".notifications-toasts .notification-toast")
        self.hover = self.page.locator(".monaco-hover:visible")

    def open(self, name: str) -> None:
        """Open a file of the folder."""
        self.files.filter(has_text=name).dblclick()
        self.page.locator(".tab.active", has_text=name).wait_for()

    def lines(self, text: str) -> Any:
        """The lines in view that contain a text; VS Code writes spaces that do not break."""
        return self.page.locator(".view-line").filter(has_text=re.compile(re.escape(text).replace(r"\ ", r"\s")))

    def command(self, title: str) -> None:
        """Run a command from the palette."""
        row = self.page.locator(".quick-input-list .monaco-list-row.focused", has_text=title)

        def search() -> None:
            self.page.keyboard.press("F1")
            self.page.locator(".quick-input-widget input:visible").fill(f">{title}")

        self._until(row, search)
        self.page.keyboard.press("Enter")

    def toast(self, text: str) -> Any:
        """The notification with a text."""
        return self.toasts.filter(has_text=text)

    def hover_finding(self) -> Any:
        """What is told where the mouse rests on the first finding in view."""

        def rest() -> None:
            self.page.mouse.move(0, 0)
            self.page.mouse.move(*self._finding())

        self._until(self.hover.first, rest)
        return self.hover.first

    def quick_fix(self, title: str) -> None:
        """Take an action at the first finding in view."""
        action = self.page.locator(".action-widget .action:visible", has_text=title)

        def ask() -> None:
            self.page.mouse.click(*self._finding())
            self.page.keyboard.press("Control+.")

        self._until(action, ask)
        action.click()

    def _finding(self) -> tuple[float, float]:
        """The middle of the first finding in view; VS Code draws it anew, and then it is nowhere for a moment."""
        for _ in range(100):
            self.findings.first.wait_for()
            box = self.findings.first.bounding_box()
            if box is not None:
                return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        raise AssertionError("no finding stays in view")

    def _until(self, shown: Any, ask: Callable[[], None]) -> None:
        """Ask until something is shown: what can be asked for has no sign of its own on the page."""
        for _ in range(60):
            ask()
            with contextlib.suppress(sync_api.TimeoutError):
                shown.wait_for(timeout=PATIENCE / 60)
                return
        shown.wait_for()
