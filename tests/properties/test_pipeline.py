"""What holds for any bytes and any program: a report, never an exception; diffs that apply; nothing touched."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import unidiff
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dnnfix.config import Settings
from dnnfix.emit import contract
from dnnfix.emit.text import file_text, summary
from dnnfix.emit.view import view
from dnnfix.errors import InputError
from dnnfix.pipeline import check_file, suggest_file
from dnnfix.records import FileReport, Patch, Report
from dnnfix.source.diff import unified_diff
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from tests.properties.programs import PROGRAMS, damaged, notebook_of, programs

VALIDATOR = jsonschema.Draft202012Validator(contract.schema())
QUIET = settings(deadline=None, derandomize=True, max_examples=120)
FEW = settings(deadline=None, derandomize=True, max_examples=60)


def checked(raw: bytes, path: str = "a.py") -> FileReport | None:
    """The report of the static path; `None` where the input was refused with a message."""
    try:
        return check_file(raw, path, Settings(select=("ALL",)))
    except InputError as error:
        assert str(error).strip() and "\n" not in str(error)
        return None


def applied(raw: bytes, patch: Patch, path: str) -> bytes:
    """The bytes that `git apply` makes of a file; fails where it refuses the patch."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, path)
        target.write_bytes(raw)
        diff = patch.diff.encode("utf-8", "surrogateescape")
        done = subprocess.run(["git", "apply", "-"], input=diff, cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, (done.stderr, patch.diff)
        return target.read_bytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_worth_damaging(name: str) -> None:
    report = checked(PROGRAMS[name].encode())
    assert report is not None and report.patches


@QUIET
@given(raw=st.binary(max_size=300), path=st.sampled_from(["a.py", "a.ipynb"]))
@example(raw=b'{"cells": [{"cell_type": "code", "source": [1]}], "nbformat": 4}', path="a.ipynb")
@example(raw=b"# -*- coding: utf-7 -*-\nimport torch\n+AGE-", path="a.py")
@example(raw=b"\xef\xbb\xbf# coding: latin-1\nimport torch", path="a.py")
def test_any_bytes_give_a_report(raw: bytes, path: str) -> None:
    told(raw, path, checked(raw, path))


@QUIET
@given(raw=damaged())
def test_any_damage_to_a_program_gives_a_report(raw: bytes) -> None:
    told(raw, "a.py", checked(raw))


@FEW
@given(raw=damaged().map(lambda raw: raw.decode("utf-8", "replace")).map(notebook_of) | damaged(notebook=True))
def test_any_damage_to_a_notebook_gives_a_report(raw: bytes) -> None:
    told(raw, "a.ipynb", checked(raw, "a.ipynb"))


def told(raw: bytes, path: str, report: FileReport | None) -> None:
    """The report can be written in every way, and its document follows the schema."""
    if report is None:
        return
    assert not [text for text in report.unchecked if "failed" in text or "Error" in text], report.unchecked
    seen = view(raw, path)
    VALIDATOR.validate(json.loads(contract.text(Report((report,)), {path: seen})))
    (file_text(report, seen) + summary(Report((report,)), static=True)).encode("utf-8")


@settings(FEW, max_examples=40)
@given(raw=programs() | damaged())
def test_every_diff_applies_and_says_what_the_edits_say(raw: bytes) -> None:
    report = checked(raw)
    for patch in report.patches if report is not None else ():
        after = apply_edits(Source.from_bytes(raw, "a.py"), patch.candidate.edits)
        assert applied(raw, patch, "a.py") == after
        text = patch.diff.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        assert [file.path for file in unidiff.PatchSet(text)] == ["a.py"]
        assert unified_diff(raw, after, "a.py") == patch.diff


@settings(FEW, max_examples=40)
@given(raw=programs() | damaged())
def test_a_patched_program_is_not_patched_again_at_the_same_place(raw: bytes) -> None:
    report = checked(raw)
    if report is None:
        return
    for patch in report.patches:
        again = checked(apply_edits(Source.from_bytes(raw, "a.py"), patch.candidate.edits))
        assert again is not None, "a patched program can be read"
        before = [finding.code for finding in findings(report)].count(patch.candidate.template)
        after = [finding.code for finding in findings(again)].count(patch.candidate.template)
        assert after < before, (patch.candidate.title, patch.diff)


def findings(report: FileReport) -> list[Any]:
    """The findings of a report."""
    return [result.finding for result in report.findings]


@FEW
@given(raw=programs())
def test_a_report_depends_on_nothing_but_the_bytes(raw: bytes) -> None:
    first, second = checked(raw), checked(raw)
    assert first == second


@pytest.mark.parametrize("name", ["crash", "training"])
def test_the_same_seed_gives_the_same_report(name: str, tmp_path: Path) -> None:
    file = tmp_path / "project" / "a.py"
    file.parent.mkdir()
    file.write_text(PROGRAMS[name])
    said = []
    for number in range(2):
        options = Settings(cache_dir=tmp_path / "cache", seed=5, jobs=number + 1)
        report = suggest_file(file.read_bytes(), str(file), options, lambda text: None)
        document = json.loads(contract.text(Report((report,)), {}))
        VALIDATOR.validate(document)
        assert document["patches"], "the program is repaired"
        said.append(without_times(document))
    assert said[0] == said[1]
    assert file.read_text() == PROGRAMS[name] and [path.name for path in file.parent.iterdir()] == ["a.py"]


MEASURED = {"seconds", "step_seconds", "peak_memory"}
"""What a clock or the machine's memory says; it differs from run to run."""


def without_times(value: Any) -> Any:
    """The document without what is measured by the clock."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in MEASURED}
    return [without_times(item) for item in value] if isinstance(value, list) else value
