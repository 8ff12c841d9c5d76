"""A language model's edit mends a fault: it does not keep the program away from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnnfix import registry
from dnnfix.records import Candidate, Crash, FixPattern, RunOutcome, Status, Trace, Verdict
from dnnfix.source.program import Source
from dnnfix.validate.evidence import Evidence

PROGRAM = """\
def build(depth, parts=-1):
    if parts == -1:
        parts = (depth - 4) / 3
    print("built", parts)
    return [0] * parts


build(10)
"""
CAME = (1, 2, 3, 4, 5, 8)


def source(text: str) -> Source:
    return Source.from_bytes(text.encode(), "a.py")


def evidence(new: str, runs: tuple[int, ...], author: str = "a model") -> Evidence:
    candidate = Candidate("DNF901", "title", FixPattern.DATA_TYPE, (), (), author=author)
    crashed = Trace(
        RunOutcome.CRASHED, crash=Crash("TypeError", "can't multiply sequence"), probes={"lines": {"": list(CAME)}}
    )
    ended = Trace(RunOutcome.FINISHED, probes={"lines": {"": list(runs)}})
    return Evidence((candidate,), source(PROGRAM), source(new), crashed, ended)


def judged(given: Evidence) -> Verdict:
    return next(v for v in registry.validators() if v.name == "nothing-skipped").judge(given)


@pytest.mark.parametrize(
    ("old", "new", "runs", "reason"),
    [
        ("(depth - 4) / 3", "(depth - 4) // 3", CAME, ""),
        ("parts == -1", "parts == -2", (1, 2, 4, 5, 8), "what ran at line 3 does not run any more"),
        ("    print", "    if depth > 99:\n        print", (1, 2, 3, 4, 6, 9), "what ran at line 4 does not run any more"),
        ("    print", "    if depth > 9:\n        print", (1, 2, 3, 4, 5, 6, 9), ""),
        ("    return [0] * parts\n", "", (1, 2, 3, 4, 7), "what ran at line 5 is taken away, and nothing is put there"),
        (
            "    return [0] * parts\n",
            "    pass  # nothing\n",
            (1, 2, 3, 4, 5, 8),
            "what ran at line 5 is taken away, and nothing is put there",
        ),
        ("    return [0] * parts\n", "    return [0] * int(parts)\n", CAME, ""),
        (
            '        parts = (depth - 4) / 3\n    print("built", parts)\n',
            '        parts = depth // 3 - 1\n    print("built")\n',
            CAME,
            "",
        ),
    ],
    ids=["mended", "a branch not taken", "a condition put before it", "a condition that holds", "taken away", "passed over", "at the crash", "two lines"],
)  # fmt: skip
def test_what_ran_still_runs(old: str, new: str, runs: tuple[int, ...], reason: str) -> None:
    assert old in PROGRAM
    verdict = judged(evidence(PROGRAM.replace(old, new), runs))
    assert (verdict.status, verdict.reason) == (
        (Status.FAIL, reason) if reason else (Status.PASS, "all that ran still runs")
    )


def test_a_statement_that_did_not_run_may_go() -> None:
    given = evidence(PROGRAM.replace('    print("built", parts)\n', ""), (1, 2, 3, 4, 7))
    before = replace(given.before, probes={"lines": {"": [1, 2, 3, 5, 8]}})
    assert judged(given).status is Status.FAIL
    assert judged(replace(given, before=before)).status is Status.PASS


def test_a_handler_of_the_exception_that_is_gone_need_not_run() -> None:
    program = "try:\n    x = [0] * 1.5\nexcept TypeError:\n    print('no list')\n    raise\n"
    given = evidence(program.replace("1.5", "1"), (1, 2))
    before = replace(given.before, probes={"lines": {"": [1, 2, 4, 5]}})
    assert judged(replace(given, source_before=source(program), before=before)).status is Status.PASS


def test_it_is_asked_at_crashes_of_models_alone_and_where_lines_are_known() -> None:
    skipping = evidence(PROGRAM.replace("parts == -1", "parts == -2"), (1, 2, 4, 5, 8))
    assert judged(skipping).status is Status.FAIL
    assert judged(replace(skipping, after=Trace(RunOutcome.FINISHED))).status is Status.NOT_APPLICABLE
    assert judged(replace(skipping, before=replace(skipping.before, crash=None))).status is Status.NOT_APPLICABLE
    by_rule = evidence(PROGRAM.replace("parts == -1", "parts == -2"), (1, 2, 4, 5, 8), author="")
    assert judged(by_rule).status is Status.NOT_APPLICABLE
