"""Many small things done in forks of a process, or in the process itself where a fork lacks what is alive in it."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from dnnfix.run.probe.edits import forks


def _work(task: int) -> dict[str, Any]:
    os.write(1, b"said")
    if task == 3:
        raise ValueError("three")
    return {"square": task * task, "process": os.getpid()}


@pytest.mark.parametrize("possible", [True, False], ids=["in forks", "here"])
def test_every_task_has_its_answer_and_says_nothing_aloud(
    possible: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(forks, "possible", lambda: possible)
    told = forks.answers([2, 3, 4], _work, 2, 20.0, 3)
    assert [each.get("square") for each in told] == [4, None, 16]
    assert told[1] == {"failed": "ValueError: three"}
    assert (told[0]["process"] == os.getpid()) is not possible
    os.write(1, b"heard")
    assert capfd.readouterr().out == "heard"


def test_here_it_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def slept(seconds: float) -> dict[str, Any]:
        time.sleep(seconds)
        return {"ok": True}

    monkeypatch.setattr(forks, "possible", lambda: False)
    assert forks.answers([0.3, 0.3, 0.3], slept, 1, 0.2, 1) == [{"ok": True}, {}, {}]
