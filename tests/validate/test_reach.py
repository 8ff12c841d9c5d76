"""What of a patch a run came to, and where what it replaces still stands unrun."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnnfix import registry
from dnnfix.records import (
    LEFT,
    NOT_RUN,
    Candidate,
    Crash,
    Family,
    Finding,
    FixPattern,
    RunOutcome,
    Site,
    Status,
    Trace,
    Verdict,
)
from dnnfix.source.program import Source
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.reach import reach
from dnnfix.validate.twins import twins

PROGRAM = """\
import torch


def evaluate(loss, count=1):
    total = loss.data[0]
    if count > 1:
        total = total / count
    return total


def train(loss):
    print(loss.data[0])


evaluate(torch.ones(()))
"""


def source(text: str) -> Source:
    return Source.from_bytes(text.encode(), "a.py")


def ran(*lines: int) -> Trace:
    return Trace(RunOutcome.FINISHED, probes={"lines": {"": list(lines)}})


@pytest.mark.parametrize(
    ("old", "new", "lines", "came", "missed"),
    [
        ("total = loss.data[0]", "total = loss.item()", (5,), {5}, set()),
        ("print(loss.data[0])", "print(loss.item())", (5,), set(), {12}),
        ("loss.data[0]", "loss.item()", (5,), {5}, {12}),
        ("def evaluate(loss, count=1)", "def evaluate(loss, count=2)", (4, 5), {4}, set()),
        ("def train(loss)", "def train(loss, count=2)", (4, 5, 11), set(), {11}),
        ("import torch\n", "import torch\nimport math\n", (1, 2), {2}, set()),
        ("import torch\n\n\ndef evaluate", "import math\n\n\ndef estimate", (1, 4), set(), {4}),
        ("    if count > 1:\n        total = total / count\n", "", (5, 6), {5, 6}, set()),
        (
            "    total = loss.data[0]\n    if count > 1:\n        total = total / count\n",
            "    with torch.no_grad():\n        total = loss.item()\n        if count > 1:\n            total = total / count\n",
            (5, 6, 7),
            {5, 6},
            set(),
        ),
    ],
    ids=["ran", "not run", "in part", "a function that ran", "one that did not", "imports alone", "imports do not count",
         "taken away", "indented only"],
)  # fmt: skip
def test_statements_of_a_patch_that_ran(
    old: str, new: str, lines: tuple[int, ...], came: set[int], missed: set[int]
) -> None:
    found = reach(source(PROGRAM), source(PROGRAM.replace(old, new)), ran(*lines))
    assert found is not None
    assert {line for _, line in found.came} == came
    assert {line for _, line in found.missed} == missed


def evidence(old: str, new: str, trace: Trace, family: Family = Family.VERSIONING) -> Evidence:
    found = Finding("DNF504", "one", family, Site(5, 1, 5, 2), "message")
    candidate = Candidate("DNF504", "title", FixPattern.VERSIONING, (), (found,))
    before = source(PROGRAM)
    return Evidence((candidate,), before, source(PROGRAM.replace(old, new)), Trace(RunOutcome.FINISHED), trace)


def judged(given: Evidence, name: str = "edits-reached") -> Verdict:
    return next(v for v in registry.validators() if v.name == name).judge(given)


def test_a_patch_that_did_not_run_is_not_proven_not_even_a_migration() -> None:
    unrun = evidence("print(loss.data[0])", "print(loss.item())", ran(5))
    assert judged(unrun).status is Status.INCONCLUSIVE
    assert judged(unrun).measured == {NOT_RUN: ("12",)}
    crashed = replace(unrun, before=Trace(RunOutcome.CRASHED, crash=Crash("IndexError", "invalid index")))
    assert judged(crashed).status is Status.PASS
    assert judged(replace(unrun, after=Trace(RunOutcome.FINISHED))).status is Status.NOT_APPLICABLE


def test_what_of_a_patch_did_not_run_is_named() -> None:
    verdict = judged(evidence("loss.data[0]", "loss.item()", ran(5)))
    assert (verdict.status, verdict.measured) == (Status.PASS, {NOT_RUN: ("12",)})
    assert NOT_RUN not in judged(evidence("loss.data[0]", "loss.item()", ran(5, 12))).measured


@pytest.mark.parametrize(
    ("family", "status"), [(Family.VERSIONING, Status.PASS), (Family.TRAINING_LOOP, Status.INCONCLUSIVE)]
)
def test_a_step_that_did_not_run_rides_along_only_where_tables_know_it(family: Family, status: Status) -> None:
    whole = evidence("loss.data[0]", "loss.item()", ran(5), family)
    step = replace(
        whole,
        applied=whole.applied * 2,
        made_from=source(PROGRAM.replace("total = loss.data[0]", "total = loss.item()")),
    )
    assert judged(step).status is status


def test_what_is_replaced_at_one_place_and_left_at_another_that_did_not_run_is_told() -> None:
    old, new = source(PROGRAM), source(PROGRAM.replace("total = loss.data[0]", "total = loss.item()"))
    assert twins(old, new, ran(5)) == {("", 12): "loss.data[0]"}
    assert twins(old, new, ran(5, 12)) == {}  # it ran, and nothing came of it
    assert twins(old, source(PROGRAM.replace("loss.data[0]", "loss.item()")), ran(5)) == {}
    verdict = judged(evidence("total = loss.data[0]", "total = loss.item()", ran(5)), "twins-repaired")
    assert (verdict.status, verdict.measured) == (Status.PASS, {LEFT: ("12",)})


def test_a_number_is_no_twin_by_itself() -> None:
    old = source("a = f(100, 10)\nif a:\n    b = g(100)\n    c = f(100, 10)\n")
    new = source("a = f(256, 10)\nif a:\n    b = g(100)\n    c = f(100, 10)\n")
    assert twins(old, new, ran(1, 2)) == {("", 4): "f(100, 10)"}
