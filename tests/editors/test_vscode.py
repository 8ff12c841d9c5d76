"""The extension for VS Code: it compiles, its own tests run against the real server, and it is packaged.

Needs its packages: `npm ci --prefix editors/vscode`. VS Code itself is started in `test_in_vscode.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dnnfix import config
from dnnfix.errors import ConfigError

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
NPM = shutil.which("npm")
needs_packages = pytest.mark.skipif(
    NPM is None or not (FOLDER / "node_modules").is_dir(),
    reason="the packages of the extension are not installed: npm ci --prefix editors/vscode",
)
OF_THE_EXTENSION = {"check", "server.command", "server.args", "trace.server"}


def npm(*words: str, **more: str) -> str:
    """What a script of the extension writes; it has to succeed."""
    done = subprocess.run(
        (str(NPM), *words), cwd=FOLDER, env={**os.environ, **more}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_every_setting_of_the_extension_is_one_of_dnnfix() -> None:
    manifest = json.loads((FOLDER / "package.json").read_text())
    names = {name.removeprefix("dnnfix.") for name in manifest["contributes"]["configuration"]["properties"]}
    assert OF_THE_EXTENSION <= names
    table = {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(): None for name in names - OF_THE_EXTENSION}
    for name in table:
        with pytest.raises(ConfigError) as refused:
            config.freeze({name: object()}, Path.cwd())
        assert "unknown setting" not in str(refused.value), name


def test_what_runs_something_cannot_be_set_by_a_folder() -> None:
    manifest = json.loads((FOLDER / "package.json").read_text())
    assert manifest["capabilities"]["untrustedWorkspaces"]["supported"] is False
    properties = manifest["contributes"]["configuration"]["properties"]
    assert {properties[f"dnnfix.server.{name}"]["scope"] for name in ("command", "args")} == {"machine"}


@needs_packages
@pytest.mark.slow
def test_it_compiles_and_speaks_to_the_server() -> None:
    pytest.importorskip("pygls", reason="pygls is not installed: pip install 'dnnfix[server]'")
    npm("run", "compile")
    said = npm("test", DNNFIX_PYTHON=sys.executable)
    assert re.search(r"^# fail 0$", said, re.MULTILINE) and re.search(r"^# skipped 0$", said, re.MULTILINE)
    assert int(re.findall(r"^# pass (\d+)$", said, re.MULTILINE)[0]) >= 5


@needs_packages
@pytest.mark.slow
def test_it_is_packaged_with_what_it_needs_and_nothing_else() -> None:
    npm("run", "package")
    with zipfile.ZipFile(FOLDER / "dnnfix.vsix") as package:
        names = {name.removeprefix("extension/") for name in package.namelist()}
    assert names == {
        "dist/extension.js",
        "LICENSE.txt",
        "readme.md",
        "package.json",
        "extension.vsixmanifest",
        "[Content_Types].xml",
    }
