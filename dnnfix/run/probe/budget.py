"""The budget of a run: framework probes count optimizer steps here, and guarded loops ask whether to stop."""

from __future__ import annotations

import mmap
import time
from typing import Any, Dict, Optional

from . import wire

job: Dict[str, Any] = {}
"""The job under way, as its JSON object; set before the program starts."""

steps = 0
"""Optimizer steps done so far."""

spent = False
"""Whether all steps of the budget were done."""

hurried = False
"""Whether training was cut by the clock, before all steps of the budget were done."""

_OF_THE_FIRST = 0.5
"""Share of the time up to the end of the first step that is taken for the step's own; the rest loads and builds."""

_limit = 0
_until: Optional[float] = None
_last = 0.0
_pace = 0.0
_agreed: Optional[mmap.mmap] = None
"""The step after which all ranks end (0: not known yet), where a run has several: they share this memory."""


def start(of: Dict[str, Any]) -> None:
    """Begin to count for the job `of`."""
    global job, steps, spent, hurried, _limit, _agreed
    job = of
    steps = 0
    spent = hurried = False
    _agreed = None
    _limit = int(of.get("budget", {}).get("steps", 20))
    begin()


def begin() -> None:
    """The program's own time begins; imports of frameworks come before it and are not counted."""
    global _until, _last, _pace
    training = job.get("budget", {}).get("training")
    _last = time.monotonic()
    _pace = 0.0
    _until = None if training is None else _last + float(training)


def share() -> None:
    """Before this process is forked into ranks: they end after the same step, which the one that has a clock decides on."""
    global _agreed
    _agreed = mmap.mmap(-1, 8)


def count_step() -> int:
    """Count one optimizer step; returns the number of steps done, including this one."""
    global steps, _last, _pace
    steps += 1
    now = time.monotonic()
    _pace = (now - _last) * (_OF_THE_FIRST if steps == 1 else 1.0)
    _last = now
    return steps


def used_up() -> bool:
    """Whether all optimizer steps of the budget are done, or the next one would go beyond the time for training."""
    global spent, hurried
    if steps >= _limit:
        if not spent:
            spent = True
            wire.emit("spent")
        return True
    if not hurried and _is_late():
        hurried = True
        wire.emit("hurried")
    return hurried


def _is_late() -> bool:
    """Whether the time for training is over, for all ranks at the same step where there are several."""
    late = _until is not None and steps > 0 and time.monotonic() + _pace > _until
    if _agreed is None:
        return late
    last = int.from_bytes(_agreed, "little")
    if late and not last:
        # The others may be in their next step; gradients are averaged in it, so that they are not beyond it.
        last = steps + 1
        _agreed[:] = last.to_bytes(8, "little")
    return 0 < last <= steps


def end_after(more: int) -> None:
    """From now on, training loops end after that many more steps, without a time limit."""
    global steps, _limit, _until, _agreed
    steps, _limit, _until, _agreed = 0, more, None, None


def evaluation_batches() -> int:
    """How many batches a pass over data without optimizer steps may take: one once the time for training is over."""
    return 1 if hurried else int(job.get("budget", {}).get("evaluation_batches", 4))
