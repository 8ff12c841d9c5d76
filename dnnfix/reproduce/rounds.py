"""The loop that makes a program run: plan steps from the last trace, run inside the scaffold, a few times at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dnnfix.records import Reproduction, RunOutcome, Trace
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.plan import plan

RUNS = 2
"""Runs at most before the first trial, beyond the run of the program as it stands (issue of the project: at most two)."""
RUNS_FURTHER_ON = 4
"""The same for a program that was repaired or migrated, and so comes to more that it needs."""

_HOPELESS = {RunOutcome.TIMEOUT, RunOutcome.OUT_OF_MEMORY, RunOutcome.KILLED}

Run = Callable[[Reproduction], Trace]
"""Runs the program inside the scaffold of a reproduction."""


def attempt(case: Case, run: Run, runs: int = RUNS) -> tuple[Reproduction, tuple[Trace, ...]]:
    """The steps that make the program of a case run, as far as any do, and the traces of the runs that this took.

    The case holds the run of the program as it stands. Where no action has anything to do the reproduction has no steps,
    and says what is missing. A scaffold that breaks by itself is given up; what it lacked is told.
    """
    kept = Reproduction()
    made: list[Trace] = []
    for _ in range(runs):
        planned = plan(case)
        if not planned.steps or planned.scaffold == kept.scaffold:
            kept = replace(kept, missing=_joined(kept, planned.missing))
            break
        trace = run(planned)
        made.append(trace)
        if broke(trace):
            lacks = f"what dnnfix made for the program does not work with it: {trace.detail}"
            return replace(kept, missing=_joined(kept, (*planned.missing, lacks))), tuple(made)
        if _got_on(case.latest) and not _got_on(trace):
            break  # made smaller, what was slow no longer fits the program
        kept = planned
        case = replace(case, traces=(*case.traces, trace), taken=frozenset())
        if not needed(trace) and not case.too_much:
            break
    return kept, tuple(made)


def _got_on(trace: Trace | None) -> bool:
    return trace is not None and trace.outcome in {RunOutcome.FINISHED, RunOutcome.BUDGET} and not needed(trace)


def needed(trace: Trace) -> bool:
    """Whether a run needs reproduction: it ended early, or it ended and no network was ever called."""
    if trace.outcome in _HOPELESS:
        return False
    if trace.outcome in {RunOutcome.FINISHED, RunOutcome.BUDGET}:
        return not trace.steps and (trace.network is None or not trace.network.calls)
    return True


def broke(trace: Trace) -> bool:
    """Whether a run ended in code of the scaffold rather than in the program."""
    return trace.outcome is RunOutcome.ENVIRONMENT and trace.detail.startswith(SCAFFOLD_FAILED)


SCAFFOLD_FAILED = "the scaffold failed: "
"""How the probe begins its account of such an end (`run/probe/crash/outcome.py`)."""


def _joined(kept: Reproduction, more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*kept.missing, *more)))
