"""What a user can do about a run that was cut short or recorded little: one sentence of advice per outcome."""

from __future__ import annotations

from dnnfix.records import RunOutcome, Trace

_ADVICE = {
    RunOutcome.EXITED: "if it asks for arguments, give them with --arguments; else take the exit out",
    RunOutcome.TIMEOUT: "a longer --budget gives each run a third of it; less data before the first step is quicker",
    RunOutcome.OUT_OF_MEMORY: "let it start with a smaller network or with less data",
    RunOutcome.ENVIRONMENT: "--python names the interpreter that has what the program needs",
    RunOutcome.NEEDS_NETWORK: "runs have no network; fetch the file first and read it from the program's folder",
    RunOutcome.NEEDS_DATA: "runs see the files of the program's repository only; put it there",
    RunOutcome.NEEDS_INPUT: "nobody answers in a run; write the answer into the program or take it from --arguments",
    RunOutcome.NEEDS_GPU: "runs have none here; choose the device by `torch.cuda.is_available()`",
    RunOutcome.KILLED: "take out what is not needed to show the fault, and try again",
}


def advice(outcome: RunOutcome, detail: str) -> str:
    """The advice for a run that ended with this outcome; an empty string where there is none."""
    if outcome is RunOutcome.ENVIRONMENT and "is not installed" not in detail:
        return ""
    return _ADVICE.get(outcome, "")


NOT_BEGUN = frozenset(
    {
        RunOutcome.ENVIRONMENT,
        RunOutcome.NEEDS_NETWORK,
        RunOutcome.NEEDS_DATA,
        RunOutcome.NEEDS_INPUT,
        RunOutcome.NEEDS_GPU,
    }
)
"""Outcomes of programs that lack something, which the detail names."""


def ending(trace: Trace) -> str:
    """How a run ended, with the advice for it: `it could not be run: it needs data (table.csv); runs see the folder …`."""
    said = advice(trace.outcome, trace.detail)
    how = trace.detail if trace.outcome is RunOutcome.EXITED else f"{in_words(trace.outcome)} ({trace.detail})"
    return f"{how}{'; ' if said else ''}{said}"


def in_words(outcome: RunOutcome) -> str:
    """How a run ended, as the end of a sentence."""
    if outcome not in NOT_BEGUN:
        return f"the run ended with {outcome.value}"
    lacked = outcome.value.partition("-")[2]
    return f"it could not be run{f': it needs {lacked}' if lacked else ''}"
