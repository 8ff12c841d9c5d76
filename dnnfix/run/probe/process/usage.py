"""Measures the memory, processes and disk that a trial's process tree uses, and kills that tree."""

from __future__ import annotations

import os
import signal
from typing import Any, Dict, List, Optional

from . import scratch

_PAGE = os.sysconf("SC_PAGE_SIZE")
DISK_EVERY = 5
"""The disk is measured at every so many looks at the processes."""


class Watch:
    """Looks at the tree below one process; `shared` is what the process had in memory when it was forked."""

    def __init__(self, process: int, budget: Dict[str, Any], folder: Optional[str]) -> None:
        self._process = process
        self._memory = int(budget["memory"])
        self._processes = int(budget["processes"])
        self._disk = int(budget["disk"])
        self._folder = folder
        self._shared = resident(os.getpid())
        self._looks = 0
        self.peak = 0

    def excess(self) -> Optional[str]:
        """What is used beyond the budget: `memory`, `processes`, `disk`, or `None`."""
        members = tree(self._process)
        if len(members) > self._processes:
            return "processes"
        used = self._shared + sum(max(0, resident(member) - self._shared) for member in members)
        self.peak = max(self.peak, used)
        if used > self._memory + self._shared:
            return "memory"
        self._looks += 1
        if self._folder and self._looks % DISK_EVERY == 0 and scratch.size_of(self._folder, self._disk) > self._disk:
            return "disk"
        return None


def tree(process: int) -> List[int]:
    """The process and all its descendants, as far as they can be read."""
    found = [process]
    for member in found:
        try:
            for task in os.listdir("/proc/%d/task" % member):
                with open("/proc/%d/task/%s/children" % (member, task)) as stream:
                    found.extend(int(word) for word in stream.read().split())
        except (OSError, ValueError):
            continue
        if len(found) > 5000:
            break
    return found


def resident(process: int) -> int:
    """Bytes of memory that a process holds; 0 where that cannot be seen."""
    try:
        with open("/proc/%d/statm" % process) as stream:
            return int(stream.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def pending(process: int, number: int) -> bool:
    """Whether a signal was sent to the process and not yet delivered; `False` where that cannot be read."""
    try:
        with open("/proc/%d/status" % process) as stream:
            waiting = [line.split()[1] for line in stream if line.startswith(("SigPnd:", "ShdPnd:"))]
    except OSError:
        return False
    return any(int(mask, 16) >> (number - 1) & 1 for mask in waiting)


def kill_below(process: int) -> None:
    """Kill all descendants of this process that it has not waited for, also those that left its session.

    They are stopped first, so that none can start another one while they are counted.
    """
    for _attempt in range(200):
        members = tree(process)[1:]
        if not members:
            return
        _send(members, signal.SIGSTOP)
        again = tree(process)[1:]
        if len(again) <= len(members):
            _send(again, signal.SIGKILL)
        _reap()


def _send(members: List[int], number: int) -> None:
    for member in members:
        try:
            os.kill(member, number)
        except OSError:
            continue


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return
