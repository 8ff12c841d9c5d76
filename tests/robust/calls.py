"""Calls of `python -m dnnfix` as a stranger makes them, and what of them is left behind."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "dnnfix")
_SUBREAPER = 36


class Said(NamedTuple):
    """What one call did."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the JSON document that it is."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


def environment(cache: Path) -> dict[str, str]:
    """The variables of a call: the package is found, caches stay in the test's folder, one thread."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}


def dnnfix(*argv: str, folder: Path, answers: bytes = b"", seconds: float = 300.0) -> Said:
    """Carry out one call in `folder`; a traceback on either stream is never right."""
    started = [*COMMAND, *argv]
    variables = environment(folder.parent / "cache")
    done = subprocess.run(
        started, cwd=folder, env=variables, input=answers, capture_output=True, timeout=seconds, check=False
    )
    said = Said(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
    assert "Traceback" not in said.err and "internal error" not in said.err, said.err
    return said


def contents(folder: Path) -> dict[str, str]:
    """The hash of every file below the folder by its path, with the mode of the file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest() if os.access(path, os.R_OK) else "unreadable"
            found[str(path.relative_to(folder))] = f"{content} {path.stat().st_mode:o}"
    return found


def adopt_orphans() -> None:
    """From now on processes whose parents ended become children of this one, where `left_running` sees them."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def children(of: int) -> set[int]:
    """The processes that descend from a process, those that ended and were not waited for left out."""
    found: set[int] = set()
    try:
        threads = os.listdir(f"/proc/{of}/task")
        listed = " ".join(Path(f"/proc/{of}/task/{thread}/children").read_text() for thread in threads)
    except OSError:
        return found
    for child in map(int, listed.split()):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        found |= children(child) | (set() if state == "Z" else {child})
    return found


def left_running(before: set[int], seconds: float = 10.0) -> set[int]:
    """Descendants of this process that were not there before and do not end within `seconds`; they are ended."""
    deadline = time.monotonic() + seconds
    while (left := children(os.getpid()) - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return left
