"""A publishing that is killed at any point, and done again: no second pull request, and none lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dnnfix.bot.publish import publish
from dnnfix.forge.git import Git
from dnnfix.forge.local import LocalForge
from dnnfix.forge.protocol import State
from tests.bot.people import REPAIRED, SLUG, TRAIN, Repository, analysis, repository_in
from tests.slow import slow_after

SEVERAL = TRAIN.replace(b"print(net)", b"print(net.weight)")
SEVERAL_REPAIRED = SEVERAL.replace(b"size_average=True", b'reduction="mean"')


def killed_at(step: int, repository: Repository, work: Callable[[], object]) -> bool:
    """Do some work in a process that is killed before its call number `step` of git or the forge; whether it came that far."""
    child = os.fork()
    if child == 0:
        calls = 0

        def counted(own: Any) -> Any:
            def called(*given: Any, **named: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return own(*given, **named)

            return called

        try:
            Git.run_bytes = counted(Git.run_bytes)  # type: ignore[method-assign]
            for name in ("open_pull", "update_pull", "close_pull", "_show"):
                setattr(LocalForge, name, counted(getattr(LocalForge, name)))
            work()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("stage", slow_after(1, ["opening", "renewing", "closing"]))
def test_killed_anywhere_and_done_again_is_as_if_nothing_had_happened(tmp_path: Path, stage: str) -> None:
    step, was_killed = 0, True
    while was_killed:
        step += 1
        folder = tmp_path / str(step)
        folder.mkdir()
        repository = repository_in(folder)
        commit = repository.commit({"train.py": TRAIN})
        found = analysis(commit, ("train.py", TRAIN, REPAIRED))

        def work() -> object:
            return publish(repository.forge, SLUG, found, clock=lambda: repository.now)  # noqa: B023 - called in this round

        if stage != "opening":
            work()
            changed = SEVERAL if stage == "renewing" else REPAIRED
            commit = repository.commit({"train.py": changed})
            found = (
                analysis(commit, ("train.py", SEVERAL, SEVERAL_REPAIRED)) if stage == "renewing" else analysis(commit)
            )
        was_killed = killed_at(step, repository, work)
        work()
        work()
        (pull,) = repository.forge.pulls(SLUG)
        assert pull.state is (State.CLOSED if stage == "closing" else State.OPEN), step
        if stage != "closing":
            after = REPAIRED if stage == "opening" else SEVERAL_REPAIRED
            assert repository.text("train.py", pull.branch) == after, step
            assert repository.bare.run("rev-parse", f"{pull.branch}^").strip() == commit, step
            assert commit[:12] in pull.body, step
            assert (folder / f"{SLUG}.pulls" / "1.md").read_text(encoding="utf-8") == pull.body, step
    assert step > 10, "the work was never interrupted where it matters"
