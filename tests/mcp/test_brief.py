"""The size of answers, whatever a report holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("mcp", reason="mcp is not installed: pip install 'dnnfix[mcp]'")

from dnnfix.emit.view import View
from dnnfix.mcp import brief
from dnnfix.mcp.answers import Suggested
from dnnfix.mcp.tools import BY_NAME
from dnnfix.records import (
    Applicability,
    Candidate,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Patch,
    PatchVerdict,
    Site,
)

FINDING = Finding("DNF301", "a-rule", Family.TRAINING, Site(1, 1, 1, 2), "m" * 10_000)


def patch(number: int, verdict: PatchVerdict, lines: int = 5, **changed: object) -> Patch:
    diff = "diff --git a/a.py b/a.py\n" + "+x\n" * (lines - 1)
    candidate = Candidate("t", f"title {number}", FixPattern.OPTIMIZER, (), (FINDING,))
    return replace(Patch(f"patch-{number}", candidate, diff, verdict, rank=number), **changed)  # type: ignore[arg-type]


def report(*patches: Patch, findings: int = 1) -> FileReport:
    results = [FindingResult(FINDING, FindingOutcome.DECLINED, "r" * 9000) for _ in range(findings)]
    return FileReport("a.py", tuple(results), patches, unchecked=tuple(f"{n} {'u' * 9000}" for n in range(40)))


def test_an_answer_is_bounded() -> None:
    room = brief.Room()
    reports = [report(*(patch(n, PatchVerdict.CHOICE, 90) for n in range(9)), findings=15) for _ in range(10)]
    programs = tuple(brief.repaired(one, View(), room) for one in reports)
    assert [len(one.findings) for one in programs] == [15, 5, *[0] * 8]
    diffs = [offered.diff for program in programs for offered in program.patches]
    assert sum(diff.count("\n") for diff in diffs) <= 200 and "" in diffs
    assert room.left_out[0].startswith("130 findings") and any("6 further patches" in said for said in room.left_out)
    answer = Suggested("/f", programs, (), room.left_out)
    assert len(json.dumps(BY_NAME["suggest"].given(answer))) < 100_000


def test_a_diff_is_whole_or_not_there() -> None:
    for long in (patch(1, PatchVerdict.ACCEPTED, 201), patch(1, PatchVerdict.ACCEPTED, 3, diff="+" + "y" * 30_000)):
        room = brief.Room()
        certain = replace(long, certificate="/cache/c.json")
        (offered,) = brief.repaired(report(certain), View(), room).patches
        assert offered.diff == "" and offered.certificate == "/cache/c.json"
        assert any("/cache/c.json" in said and "--output-format diff" in said for said in room.left_out)


def verdicts() -> Iterator[tuple[list[PatchVerdict], list[str]]]:
    accepted, partial, choice = PatchVerdict.ACCEPTED, PatchVerdict.PARTIAL, PatchVerdict.CHOICE
    yield [partial, accepted, accepted], ["accepted"]
    yield [choice, partial, PatchVerdict.REJECTED], ["partial"]
    yield [choice, choice], ["choice", "choice"]
    yield [PatchVerdict.REJECTED], []


@pytest.mark.parametrize(("had", "shown"), [*verdicts()])
def test_the_best_patch_is_offered(had: list[PatchVerdict], shown: list[str]) -> None:
    made = report(*(patch(number, verdict) for number, verdict in enumerate(had)))
    assert [one.verdict for one in brief.repaired(made, View(), brief.Room()).patches] == shown


def test_advice_is_never_offered() -> None:
    only = patch(1, PatchVerdict.ACCEPTED)
    shown = replace(only, candidate=replace(only.candidate, applicability=Applicability.DISPLAY_ONLY))
    assert not brief.repaired(report(shown), View(), brief.Room()).patches


def test_a_diff_with_what_is_no_character_is_left_out_as_it_would_not_apply() -> None:
    odd, room = patch(1, PatchVerdict.ACCEPTED, diff="diff a/a.py b/a.py\n+\udcff\n"), brief.Room()
    (offered,) = brief.repaired(report(odd), View(), room).patches
    assert offered.diff == "" and "UTF-8" in room.left_out[0]


def test_no_patch_leads_out_of_the_folder() -> None:
    out, room = (
        patch(1, PatchVerdict.ACCEPTED, diff="diff a/../a.py b/../a.py\n--- a/../a.py\n+++ b/../a.py\n"),
        brief.Room(),
    )
    assert not brief.repaired(report(out), View(), room).patches
    assert "outside of the folder" in room.left_out[0]
