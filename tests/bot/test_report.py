"""Reports are anybody's input: what does not follow the schema, or asks for what no patch may do, is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix.bot.body import body
from dnnfix.bot.proposal import Proposal
from dnnfix.bot.report import read
from dnnfix.errors import BotReportError
from tests.bot.people import REPAIRED, TRAIN, Document, document

COMMIT = "0" * 40


def told(change: Callable[[Document], object]) -> str:
    """What is said of a report that is changed in one place."""
    said = document(COMMIT, ("train.py", TRAIN, REPAIRED))
    change(said)
    with pytest.raises(BotReportError) as caught:
        read(json.dumps(said).encode(), "report.json")
    assert str(caught.value).startswith("report.json: ")
    return str(caught.value)


def test_a_report_is_read_as_it_was_meant() -> None:
    found = read(json.dumps(document(COMMIT, ("train.py", TRAIN, REPAIRED))).encode(), "report.json")
    (patch,) = found.patches
    assert (found.slug, found.commit, found.programs) == ("people/digits", COMMIT, ("train.py",))
    assert patch.is_safe and patch.title == "Write reduction for size_average" and list(patch.changes) == ["train.py"]
    assert patch.proof == ("still runs",) and patch.faults[0].code == "DNF502"
    assert found.findings == patch.faults and found.unchanged == frozenset()


def test_reports_from_before_there_was_anything_unchanged_are_read() -> None:
    said = document(COMMIT, ("train.py", TRAIN, REPAIRED))
    del said["unchanged"]
    assert read(json.dumps(said).encode(), "report.json").unchanged == frozenset()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(schema="dnnfix/1"), "schema has to be dnnfix-bot/1"),
        (lambda d: d.update(commit="main"), "commit has to be"),
        (lambda d: d.update(repository="../x"), "repository has to be"),
        (lambda d: d.update(report=[]), "report has to be an object"),
        (lambda d: d["report"].update(patches=None), "patches has to be a list"),
        (lambda d: d["report"]["findings"][0].update(code="DNF502; rm"), "code has to be"),
        (lambda d: d["report"]["findings"][0].update(rule="../../x"), "rule has to be"),
        (lambda d: d["report"]["findings"][0].update(line="4"), "line of a finding"),
        (lambda d: d["report"]["patches"][0].update(findings=["nothing"]), "settles no finding"),
        (lambda d: d["report"]["patches"][0].update(diff=""), "changes nothing"),
        (lambda d: d["report"]["patches"][0].update(diff="@@ -" + "1" * 5000), "changes nothing"),
        (lambda d: d["report"]["patches"][0].update(diff="\ud800"), "diff has to be a text"),
        (lambda d: d["report"]["patches"][0].update(verdict="rejected"), "is rejected, and proposed"),
        (lambda d: d["titles"].update(p0="a\0b"), "title has to be"),
        (lambda d: d["blobs"].clear(), "the object of train.py has to be"),
        (lambda d: d["report"].update(patches=d["report"]["patches"] * 201), "proposes 201 patches"),
        (lambda d: d.update(unchanged=None), "unchanged has to be a list"),
        (lambda d: d.update(unchanged={"train.py": 1}), "unchanged has to be a list"),
        (lambda d: d.update(unchanged=["train.py", 3]), "a file has to be a text"),
        (lambda d: d.update(unchanged=["a\0b"]), "a file has to be a text"),
    ],
)
def test_what_does_not_hold_together_is_refused(change: Callable[[Document], object], said: str) -> None:
    assert said in told(change)


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.py", ".git/hooks/x.py", "../up.py", "/etc/x.py", "a/../../x.py", "setup.cfg",
        "Makefile", "a\\b.py", ".GitHub/x.py",
    ],
)  # fmt: skip
def test_no_patch_may_leave_the_repository_or_change_what_runs_with_rights(path: str) -> None:
    def change(said: Document) -> None:
        patch = said["report"]["patches"][0]
        patch["diff"] = patch["diff"].replace("train.py", path.replace("\\", "\\\\"))

    assert "changes nothing" in (found := told(change)) or "may not change" in found


def test_what_no_run_came_to_is_told_apart_from_the_proof() -> None:
    said = document(COMMIT, ("train.py", TRAIN, REPAIRED))
    unseen = {"status": "pass", "reason": "the run did not come to line 9", "measured": {"not_run": ["9"]}}
    said["report"]["patches"][0]["verdicts"].append(unseen)
    (patch,) = read(json.dumps(said).encode(), "report.json").patches
    assert patch.unshown == ("the run did not come to line 9",) and patch.proof
    assert not set(patch.unshown) & set(patch.proof)
    told = body(Proposal((patch,)), "0" * 40)
    assert told.index("What the runs did not show") < told.index("the run did not come to line 9")


def test_patches_that_are_not_proposed_are_passed_over_whatever_they_are() -> None:
    said = document(COMMIT, ("train.py", TRAIN, REPAIRED))
    said["report"]["patches"] += [{"id": f"r{number}", "verdict": "rejected"} for number in range(300)]
    assert len(read(json.dumps(said).encode(), "report.json").patches) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(raw: bytes) -> None:
    with pytest.raises(BotReportError, match=r"report\.json: "):
        read(raw, "report.json")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6
)  # fmt: skip


@given(st.sampled_from(["findings", "patches", "unchecked", "programs", "left_out", "unchanged", "titles"]), VALUES)
def test_any_value_in_any_place_is_read_or_refused_in_words(name: str, value: Any) -> None:
    said = document(COMMIT, ("train.py", TRAIN, REPAIRED))
    (said if name in said else said["report"])[name] = value
    try:
        read(json.dumps(said).encode(), "report.json")
    except BotReportError as error:
        assert str(error).startswith("report.json: ")
