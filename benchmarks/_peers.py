"""The tools that `check` is measured against, in an environment of their own that is made once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

PINS = ("TorchFix==0.7.0", "fixit==2.2.1", "libcst==1.5.1", "pyflakes==4.1.0", "ruff==0.17.5")
"""TorchFix and fixit on the LibCST that both of them work with."""

COMMANDS = {
    "torchfix": ("--select", "ALL"),
    "fixit": ("lint",),
    "pyflakes": (),
    "ruff": ("check", "--isolated", "--no-cache", "--quiet"),
}


def peers() -> dict[str, tuple[str, ...]]:
    """The command of each peer by its name, without paths; empty, with a message, where they cannot be installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dnnfix" / "benchmarks"
    folder = cache / f"peers-{hashlib.sha256(repr((PINS, sys.version_info[:2])).encode()).hexdigest()[:12]}"
    ready = folder / ".ready"
    if not ready.exists():
        sys.stdout.write(f"setting up the peers in {folder}\n")
        sys.stdout.flush()
        pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS)
        for command in ((sys.executable, "-m", "venv", str(folder)), pip):
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                said = (done.stderr.strip() or "no reason was given").splitlines()[-1]
                sys.stdout.write(f"peers are left out, since they cannot be installed: {said}\n")
                return {}
        ready.touch()
    return {name: (str(folder / "bin" / name), *flags) for name, flags in COMMANDS.items()}
