"""Runs the user's own test command against a patched program.

The command is the user's, so it runs with the user's rights and environment; but in a scratch copy of the program's
folder, so that neither the patch nor the tests touch the original.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

SECONDS = 120.0
"""Time that one run of the test command may take."""

LARGEST_COPY = 256 * 2**20
"""Bytes of the program's folder that are copied at most; files beyond that are linked to."""

SKIPPED = frozenset({".git", ".hg", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".mypy_cache"})


def run_tests(command: str, path: Path, program: bytes) -> tuple[int, str]:
    """Exit status and the end of the output of `command`, run in a copy of the folder of `path` with `program` in it.

    A command that takes longer than `SECONDS` is ended and has status 124.
    """
    with tempfile.TemporaryDirectory(prefix="dnnfix-tests-") as scratch:
        folder = Path(scratch, "project")
        _copy(path.resolve().parent, folder)
        target = folder / path.name
        target.unlink(missing_ok=True)
        target.write_bytes(program)
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 124, f"the test command took longer than {SECONDS:.0f} s"
        return process.returncode, output[-4000:].decode("utf-8", "replace")


def _copy(source: Path, target: Path) -> None:
    left = LARGEST_COPY
    for folder, names, files in os.walk(source):
        names[:] = [name for name in names if name not in SKIPPED]
        place = target / Path(folder).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            original = Path(folder, name)
            with contextlib.suppress(OSError):
                size = original.stat().st_size
                if size <= left:
                    shutil.copy2(original, place / name)
                    left -= size
                else:
                    os.symlink(original, place / name)
