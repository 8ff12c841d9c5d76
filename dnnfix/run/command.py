"""Runs the user's own test command (`--test-command`) on a copy of the repository that holds the patched program.

The command is the user's, given on the command line, and may need what no trial gets (other programs, a display). It is
not put into the sandbox; but it works on a copy, without the tokens of the environment, and ends with its time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dnnfix.run.project import Project, gather
from dnnfix.run.visible import repository_of

TAIL = 4000
"""Characters of the output that are kept, from its end."""
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
TIMED_OUT = 124
"""Exit status of a command that was ended because its time was over."""


def run_command(
    command: str, path: Path, program: bytes, scratch: Path, seconds: float, beside: Mapping[str, bytes] | None = None
) -> tuple[int, str]:
    """Exit status and last lines of a shell command, run in the folder of `path` in a copy that holds `program`.

    `beside` has the text of modules in that folder, by their paths in it, where it is not that of the file. The copy is
    made in `scratch`. A command that runs longer than `seconds` is ended with all that it started, and has the status 124.
    """
    return run_in_copy(command, path.resolve().parent, {path.name: program, **(beside or {})}, scratch, seconds)


def run_in_copy(
    command: str, folder: Path, texts: Mapping[str, bytes], scratch: Path, seconds: float
) -> tuple[int, str]:
    """Exit status and last lines of a shell command, run in a folder of a copy of its repository in which files have these texts.

    The first of them is the program whose data are copied too.
    """
    repository = repository_of(folder)
    copy = scratch / (repository.name or "program")
    work = copy / folder.relative_to(repository)
    _copy(gather(folder, next(iter(texts.values()), b""), repository), copy)
    work.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        place = work / name
        place.unlink(missing_ok=True)  # in a large folder it may be a link to the user's own file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"HOME": str(scratch), "TMPDIR": str(scratch), "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, shell=True, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = TIMED_OUT
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
        return status, output.read().decode("utf-8", "replace")


def _copy(project: Project, work: Path) -> None:
    try:
        work.mkdir(parents=True, exist_ok=True)
        for name in project.folders:
            (work / name).mkdir(parents=True, exist_ok=True)
        for name, offset, size in project.files:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(os.pread(project.bundle, size, offset))
        for name, target in project.links:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).symlink_to(target)
    finally:
        os.close(project.bundle)
