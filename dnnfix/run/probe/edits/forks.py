"""Runs many small tasks in forks of this process and collects their results, so that no task changes this process.

Each fork takes tasks from a queue and writes one line for each; if a fork hangs or dies, only its current task is lost
and a new fork continues with the next one. What tasks print is dropped, and no fork outlives the call.

A GPU that this process uses is not usable in a fork. The tasks are then done here, one after the other.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import Any, Callable, Dict, List, Sequence

SILENCE = 2.0
"""Seconds without a word after which a fork counts as hanging: twice what any one task is given."""

MOST_SILENT = 3
"""Forks that hang before any has said a word after which it is given up: what was alive before the fork is needed in it."""

_STANDARD = (0, 1, 2)

Answer = Dict[str, Any]


def answers(
    tasks: Sequence[Any], work: Callable[[Any], Answer], parallel: int, seconds: float, share: int
) -> List[Answer]:
    """The result of `work` for each task, in order; an empty one for tasks that could not be done in `seconds`.

    `parallel` forks work at a time, each on `share` of the tasks: what one of them leaves behind spoils those only.
    """
    if not possible():
        return _here(tasks, work, seconds)
    done: List[Answer] = [{} for _ in tasks]
    waiting = list(range(len(tasks)))
    running: Dict[int, _Fork] = {}
    silent = 0
    until = time.monotonic() + seconds
    try:
        while (waiting or running) and time.monotonic() < until and (silent < MOST_SILENT or any(done)):
            while waiting and len(running) < parallel:
                taken, waiting = waiting[:share], waiting[share:]
                fork = _Fork(taken, tasks, work)
                running[fork.reader] = fork
            ready, _, _ = select.select(list(running), [], [], 0.2)
            for reader in list(running):
                fork = running[reader]
                over = reader in ready and not fork.hear(done)
                hangs = not over and time.monotonic() - fork.heard > SILENCE
                if over or hangs:
                    silent += hangs
                    fork.end()
                    del running[reader]
                    waiting = fork.left() + waiting
    finally:
        for fork in running.values():
            fork.end()
    return done


def possible() -> bool:
    """Whether forks can do the tasks: not once torch has started a GPU in this process."""
    torch: Any = sys.modules.get("torch")
    return torch is None or not torch.cuda.is_initialized()


def _here(tasks: Sequence[Any], work: Callable[[Any], Answer], seconds: float) -> List[Answer]:
    """The same in this process."""
    done: List[Answer] = [{} for _ in tasks]
    until = time.monotonic() + seconds
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in _STANDARD]
    _silence()
    try:
        for number, task in enumerate(tasks):
            if time.monotonic() >= until:
                break
            done[number] = _answer(task, work)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, own in zip(_STANDARD, kept):
            os.dup2(own, number)
            os.close(own)
    return done


class _Fork:
    """One fork at work on some of the tasks."""

    def __init__(self, taken: List[int], tasks: Sequence[Any], work: Callable[[Any], Answer]) -> None:
        self.reader, writer = os.pipe()
        self.heard = time.monotonic()
        self._taken = taken
        self._told = 0
        self._rest = b""
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            try:
                os.close(self.reader)
                _work(taken, tasks, work, writer)
            finally:
                os._exit(0)
        os.close(writer)

    def hear(self, done: List[Answer]) -> bool:
        """Take what has come; false once the fork has said all that it will."""
        data = os.read(self.reader, 1 << 16)
        self.heard = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            done[self._taken[self._told]] = json.loads(line)
            self._told += 1
        return bool(data)

    def left(self) -> List[int]:
        """The tasks behind the one that the fork did not come to an end with."""
        return self._taken[self._told + 1 :]

    def end(self) -> None:
        """End the fork, if it has not ended."""
        os.close(self.reader)
        try:
            os.kill(self._process, signal.SIGKILL)
        except OSError:
            pass
        os.waitpid(self._process, 0)


def _work(taken: List[int], tasks: Sequence[Any], work: Callable[[Any], Answer], writer: int) -> None:
    _silence()
    for number in taken:
        os.write(writer, json.dumps(_answer(tasks[number], work)).encode("ascii") + b"\n")


def _answer(task: Any, work: Callable[[Any], Answer]) -> Answer:
    try:
        return work(task)
    except BaseException as error:
        return {"failed": "%s: %s" % (type(error).__name__, str(error)[:200])}


def _silence() -> None:
    """Let what is read be empty, and what is written go nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in _STANDARD:
        os.dup2(nothing, number)
    os.close(nothing)
