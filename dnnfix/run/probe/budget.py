"""How much of a run is left, shared by the framework probes (which count) and the rewritten loops (which stop)."""

from __future__ import annotations

from typing import Any, Dict

job: Dict[str, Any] = {}
"""The job under way, as its JSON object; set before the program starts."""

steps = 0
"""Optimizer steps done so far."""

_limit = 0


def start(of: Dict[str, Any]) -> None:
    """Begin to count for the job `of`."""
    global job, steps, _limit
    job = of
    steps = 0
    _limit = int(of.get("budget", {}).get("steps", 20))


def count_step() -> int:
    """Count one optimizer step; gives the number of steps done, this one included."""
    global steps
    steps += 1
    return steps


def used_up() -> bool:
    """Whether all optimizer steps of the budget are done."""
    return steps >= _limit


def evaluation_batches() -> int:
    """How many batches a pass over data without optimizer steps may take."""
    return int(job.get("budget", {}).get("evaluation_batches", 4))
