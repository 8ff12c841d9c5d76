"""Predicates over hand-written traces, and the tables that they are read from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dnnfix.bench.symptoms import Shown, read_predicate
from dnnfix.records import CodeWarning, Crash, Network, Parameter, RunOutcome, Step, Trace

FINISHED = Trace(RunOutcome.FINISHED, printed="epoch 1 loss 0.7\naccuracy 0.51\naccuracy 0.93\n")
CRASHED = Trace(RunOutcome.CRASHED, crash=Crash("torch.OutOfRangeError", "index 7 is out of bounds"))
NOISY = replace(FINISHED, warnings=(CodeWarning("UserWarning", "Using a target size (8,) that is different"),))
BROKEN = replace(FINISHED, steps=(Step(0, 0.5), Step(1, float("nan"))))
FROZEN = replace(FINISHED, network=Network("torch", "trace", parameters=(Parameter("w", (3,), update=0.0),)))
MOVING = replace(FINISHED, network=Network("torch", "trace", parameters=(Parameter("w", (3,), update=0.1),)))
TIMED_OUT = Trace(RunOutcome.TIMEOUT)
CUT = replace(FINISHED, outcome=RunOutcome.BUDGET)
LEFT = Trace(RunOutcome.EXITED, detail="exit code 3")

ACCURACY = {"kind": "not-learning", "printed": r"accuracy ([\d.]+)", "below": 0.8}


@pytest.mark.parametrize(
    ("table", "trace", "shown"),
    [
        ({"kind": "crash", "exception": "OutOfRangeError"}, CRASHED, Shown.YES),
        ({"kind": "crash", "exception": "OutOfRangeError", "message": r"index \d+"}, CRASHED, Shown.YES),
        ({"kind": "crash", "exception": "OutOfRangeError", "message": "shape"}, CRASHED, Shown.OTHER),
        ({"kind": "crash", "exception": "ValueError"}, CRASHED, Shown.OTHER),
        ({"kind": "crash", "exception": "ValueError"}, FINISHED, Shown.NO),
        (ACCURACY, FINISHED, Shown.NO),
        ({**ACCURACY, "below": 0.95}, FINISHED, Shown.YES),
        (ACCURACY, replace(FINISHED, printed="accuracy nan\n"), Shown.YES),
        (ACCURACY, replace(FINISHED, printed="nothing\n"), Shown.YES),
        (ACCURACY, CRASHED, Shown.OTHER),
        (ACCURACY, LEFT, Shown.OTHER),
        (ACCURACY, TIMED_OUT, Shown.UNKNOWN),
        (ACCURACY, CUT, Shown.UNKNOWN),
        ({"kind": "violation", "printed": r"loss ([\d.]+)", "above": 0.5}, FINISHED, Shown.YES),
        ({"kind": "violation", "printed": "epoch", "present": True}, FINISHED, Shown.YES),
        ({"kind": "violation", "printed": "validation", "present": True}, FINISHED, Shown.NO),
        ({"kind": "violation", "printed": "validation", "present": True}, CRASHED, Shown.OTHER),
        ({"kind": "violation", "printed": "epoch", "present": False}, FINISHED, Shown.NO),
        ({"kind": "violation", "printed": "validation", "present": False}, FINISHED, Shown.YES),
        ({"kind": "silent-broadcast", "message": "target size"}, NOISY, Shown.YES),
        ({"kind": "silent-broadcast", "message": "target size"}, FINISHED, Shown.NO),
        ({"kind": "warning", "message": "^UserWarning: Using"}, NOISY, Shown.YES),
        ({"kind": "non-finite"}, BROKEN, Shown.YES),
        ({"kind": "non-finite"}, FINISHED, Shown.NO),
        ({"kind": "non-finite", "printed": r"loss (\S+)"}, replace(FINISHED, printed="loss inf\n"), Shown.YES),
        ({"kind": "no-gradient"}, FROZEN, Shown.YES),
        ({"kind": "no-gradient"}, MOVING, Shown.NO),
    ],
)
def test_what_a_run_says(table: dict[str, Any], trace: Trace, shown: Shown) -> None:
    assert read_predicate(table).shown(trace) is shown


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "kind has to be one of crash"),
        ({"kind": "none-observed"}, "kind has to be one of"),
        ({"kind": "crash"}, "crash needs exception"),
        ({"kind": "crash", "exception": "E", "below": 1}, "crash has no below"),
        ({"kind": "crash", "exception": 3}, "exception is of the wrong kind"),
        ({"kind": "not-learning", "printed": "x (.)"}, "needs one of below, above"),
        ({"kind": "not-learning", "printed": "x (.)", "below": 1, "above": 2}, "needs one of"),
        ({"kind": "not-learning", "printed": "x", "below": 1}, "one group"),
        ({"kind": "not-learning", "printed": "x (", "below": 1}, "no regular expression"),
        ({"kind": "not-learning", "printed": "x (.)", "below": True}, "of the wrong kind"),
        ({"kind": "not-learning", "printed": "x", "present": True}, "has no present"),
        ({"kind": "violation", "printed": "x"}, "needs one of below, above or present"),
        ({"kind": "violation", "printed": "x", "present": True, "above": 1}, "needs one of"),
        ({"kind": "violation", "printed": "x", "present": 1}, "of the wrong kind"),
        ({"kind": "violation", "printed": "x (.)", "present": False}, "no group"),
    ],
)
def test_a_malformed_predicate_is_refused_with_what_is_possible(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_predicate(table)


@pytest.mark.parametrize(
    ("table", "printed", "bound"),
    [
        (ACCURACY, "0.93", "below 0.8"),
        ({"kind": "violation", "printed": r"loss ([\d.]+)", "above": 0.5}, "0.7", "above 0.5"),
        ({"kind": "violation", "printed": r"error (\d+)", "above": 2}, "no number", "above 2"),
        ({"kind": "violation", "printed": r"(\w+) 0.7", "above": 2}, "nan", "above 2"),
        ({"kind": "violation", "printed": "epoch", "present": True}, "it is printed", "'epoch' is printed"),
        (
            {"kind": "violation", "printed": "round", "present": False},
            "it is printed nowhere",
            "'round' is printed nowhere",
        ),
        ({"kind": "non-finite", "printed": r"loss (\S+)"}, "0.7", "not finite"),
        ({"kind": "non-finite"}, "", "not finite"),
    ],
)
def test_what_was_printed_is_told_against_the_bound(table: dict[str, Any], printed: str, bound: str) -> None:
    predicate = read_predicate(table)
    assert (predicate.printed_by(FINISHED), predicate.bound) == (printed, bound)
