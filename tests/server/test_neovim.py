"""A real editor without a screen: neovim starts the server, shows what it finds and carries an action out.

Debian 12 has neovim 0.7, which lacks `vim.lsp.start` and notebooks; what is done here works in it and in later ones.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.programs import FAULTY
from tests.server.conftest import PATIENCE

NVIM = shutil.which("nvim")


@pytest.mark.skipif(NVIM is None, reason="neovim is not installed: apt-get install neovim")
def test_neovim_shows_and_repairs(folder: Path, tmp_path: Path) -> None:
    text = FAULTY.replace("nn.Linear(20, 64)", 'nn.Linear({"𝒳語": 20}["𝒳語"], 64)')
    (folder / "модель 1.py").write_text(text)
    command = [sys.executable, "-m", "dnnfix", "server", "--cache-dir", str(tmp_path / "cache")]
    environment = {
        **os.environ,
        "DNNFIX_SERVER": json.dumps(command),
        "PATIENCE": str(PATIENCE),
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    script = Path(__file__).with_name("editing.lua")
    done = subprocess.run(
        (str(NVIM), "--clean", "--headless", "модель 1.py", "-c", f"luafile {script}"),
        cwd=folder,
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=4 * PATIENCE,
        check=False,
    )
    last = done.stdout.decode().strip().split("\n")[-1]
    assert last.startswith("{"), (done.stdout, done.stderr)
    said = json.loads(last)
    assert said.get("problem") is None, said
    assert (said["code"], said["source"], said["line"]) == ("DNF301", "dnnfix", 3)
    line = text.split("\n")[3]
    shown = line.encode()[said["column"] : said["end_column"]].decode()  # neovim counts bytes
    assert shown == "nn.Softmax(dim=1)"
    assert said["lines"][3] == line.replace(", nn.Softmax(dim=1)", "")
    assert said["lines"] == text.rstrip("\n").replace(", nn.Softmax(dim=1)", "").split("\n")
    assert (folder / "again.py").read_text() == text
