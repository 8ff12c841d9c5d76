"""Proving patches in the background: `suggest` in a process of its own, which tells how far it is and can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dnnfix.apart import apart
from dnnfix.config import Settings
from dnnfix.records import FileReport


@dataclass(frozen=True)
class Task:
    """What is to be proven: a program, its settings, and the folder that programs of its workspace are run from."""

    raw: bytes
    path: str
    settings: Settings
    folder: Path


async def proven(task: Task, progress: Callable[[str], None]) -> FileReport:
    """The report of `suggest` on a program. Cancelling it ends the process and its trials.

    Raises:
        UserError: the program cannot be analysed, or a setting makes no sense.
        EnvironmentProblem: nothing can be run here, or the process died.
    """
    return await apart(partial(_proven, task), task.folder, progress, "dnnfix suggest")


def _proven(task: Task, progress: Callable[[str], None]) -> FileReport:
    from dnnfix import pipeline

    return pipeline.suggest_file(task.raw, task.path, task.settings, progress)
