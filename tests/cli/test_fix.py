"""`fix` writes what was proven and allowed, in one step, and nothing else. The pipeline is stood in for by a report."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.errors import InputError
from dnnfix.records import (
    PROGRESS,
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
    RunOutcome,
    RunRecord,
    Site,
    Status,
    Verdict,
)
from dnnfix.rewrite import Rewrite, replace_files
from dnnfix.source.diff import unified_diff
from tests.cli.programs import Call

BEFORE = b"import torch\r\na = old(1)\r\nb = 2\r\nc = 3\r\nd = 4\r\ne = bad(5)\r\n# \xe9"
UNSAFE, SAFE, DISPLAY = Applicability.UNSAFE, Applicability.SAFE, Applicability.DISPLAY_ONLY


def patch(id: str, line: int, old: bytes, new: bytes, how: Applicability, rank: int, accepted: bool = True) -> Patch:
    finding = Finding("DNF301", "rule", Family.LOSS_ACTIVATION, Site(line, 1, line, 5), f"line {line} is wrong")
    candidate = Candidate("DNF301", f"repair line {line}", FixPattern.LOSS_FUNCTION, (), (finding,), how)
    verdict = PatchVerdict.ACCEPTED if accepted else PatchVerdict.REJECTED
    status = Status.PASS if accepted else Status.FAIL
    diff = unified_diff(BEFORE, BEFORE.replace(old, new), "a.py")
    return Patch(id, candidate, diff, verdict, (Verdict("v", "run", status, "because"),), rank=rank)


def report(path: str, *patches: Patch) -> FileReport:
    findings: dict[str, Finding] = {p.candidate.findings[0].id: p.candidate.findings[0] for p in patches}
    results = []
    for finding in findings.values():
        own = [p for p in patches if p.candidate.findings[0] == finding]
        good = any(p.verdict is PatchVerdict.ACCEPTED for p in own)
        outcome = FindingOutcome.REPAIRED if good else FindingOutcome.REJECTED
        results.append(FindingResult(finding, outcome, "why", tuple(p.id for p in own)))
    runs = (RunRecord("run-1", RunOutcome.FINISHED, 0.1, 0),)
    return FileReport(path, tuple(results), patches, runs, ("training beyond 20 steps",), "limits")


Stage = Callable[..., Path]

BOTH = (
    patch("p-unsafe", 6, b"bad(5)", b"good(5)", UNSAFE, 0),
    patch("p-rival", 6, b"bad(5)", b"other(5)", UNSAFE, 1),
    patch("p-safe", 2, b"old(1)", b"new(1)", SAFE, 2),
)


@pytest.fixture
def stage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Makes the pipeline answer with these patches for `a.py`."""

    def made(*patches: Patch) -> Path:
        monkeypatch.setattr(
            pipeline, "suggest_file", lambda raw, path, settings, progress, log, said: report(path, *patches)
        )
        (folder / "a.py").write_bytes(BEFORE)
        return folder / "a.py"

    return made


def test_safe_only_by_default(call: Call, stage: Stage) -> None:
    file = stage(*BOTH)
    said = call("fix", "a.py")
    assert file.read_bytes() == BEFORE.replace(b"old(1)", b"new(1)")
    assert said.code == 1, "one finding is left"
    assert "a.py: applied p-safe" in said.err and "not applied: repair line 6 (p-unsafe)" in said.err


def step(how: Applicability) -> Patch:
    """A partial patch of line 2."""
    remains = Verdict(PROGRESS, "run", Status.PASS, "the program then stops at line 6: Error: bad")
    made = patch("p-step", 2, b"old(1)", b"new(1)", how, 0, accepted=False)
    return replace(made, verdict=PatchVerdict.PARTIAL, verdicts=(*made.verdicts, remains))


def test_a_safe_step_is_applied_and_what_remains_counts_as_left(call: Call, stage: Stage) -> None:
    file = stage(step(SAFE))
    said = call("fix", "a.py")
    assert file.read_bytes() == BEFORE.replace(b"old(1)", b"new(1)")
    assert said.code == 1
    assert "a.py: applied p-step (partial: the program then stops at line 6: Error: bad)" in said.err


def test_an_unsafe_step_is_applied_only_when_that_is_asked_for(call: Call, stage: Stage) -> None:
    file = stage(step(UNSAFE))
    said = call("fix", "a.py")
    assert file.read_bytes() == BEFORE and said.code == 1
    assert "not applied: repair line 2 (p-step (partial: the program then stops" in said.err
    assert call("fix", "--unsafe", "a.py").code == 1
    assert file.read_bytes() == BEFORE.replace(b"old(1)", b"new(1)")


def test_a_diff_says_what_it_leaves_out_and_what_puts_it_in(call: Call, stage: Stage) -> None:
    stage(patch("p-unsafe", 6, b"bad(5)", b"good(5)", UNSAFE, 0))
    said = call("fix", "--diff", "a.py")
    assert said.out == ""
    assert "a.py: left out of the diff: repair line 6 (p-unsafe); it changes what is trained: with --unsafe" in said.err
    said = call("fix", "a.py")
    assert "No patch applied." in said.out and "--unsafe or --interactive applies it" in said.err
    assert "1 patch applied." in call("fix", "--unsafe", "a.py").out


def test_a_step_in_a_diff_is_said_to_be_one(call: Call, stage: Stage) -> None:
    stage(step(SAFE))
    said = call("fix", "--diff", "a.py")
    assert "+a = new(1)" in said.out
    assert "a.py: p-step is partial: the program then stops at line 6: Error: bad" in said.err


def test_unsafe_takes_the_best_and_the_safe(call: Call, stage: Stage) -> None:
    file = stage(*BOTH)
    assert call("fix", "--unsafe", "a.py").code == 0
    assert file.read_bytes() == BEFORE.replace(b"old(1)", b"new(1)").replace(b"bad(5)", b"good(5)")
    file.write_bytes(BEFORE)
    call("fix", "--unsafe-fixes", "a.py")
    assert b"good(5)" in file.read_bytes()


def test_two_unsafe_patches_that_were_not_proven_together(call: Call, stage: Stage) -> None:
    file = stage(BOTH[0], patch("p-two", 2, b"old(1)", b"new(1)", UNSAFE, 1))
    said = call("fix", "--unsafe", "a.py")
    assert file.read_bytes() == BEFORE.replace(b"bad(5)", b"good(5)")
    assert "another run proves and applies the rest" in said.err


@pytest.mark.parametrize(
    "never", [patch("p", 2, b"old", b"new", DISPLAY, 0), patch("p", 2, b"old", b"new", SAFE, 0, False)]
)
def test_never_applied(call: Call, stage: Stage, never: Patch) -> None:
    file = stage(never)
    assert call("fix", "--unsafe", "a.py").code == 1
    assert file.read_bytes() == BEFORE


def test_suggest_writes_nothing(call: Call, stage: Stage) -> None:
    file = stage(*BOTH)
    said = call("suggest", "a.py")
    assert said.code == 1 and "repaired   repair line 2 (safe: the meaning is kept)" in said.out
    assert file.read_bytes() == BEFORE
    assert sorted(os.listdir(file.parent)) == ["a.py"]


def test_diff_changes_nothing_and_applies(call: Call, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stage(*BOTH)
    written = io.BytesIO()
    narrow = io.TextIOWrapper(written, encoding="ascii")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", narrow)
        assert call("fix", "--unsafe", "--diff", "a.py").code == 1
    assert file.read_bytes() == BEFORE
    subprocess.run(["git", "apply", "-"], input=written.getvalue(), cwd=file.parent, check=True)
    assert file.read_bytes() == BEFORE.replace(b"old(1)", b"new(1)").replace(b"bad(5)", b"good(5)")
    assert call("fix", "--diff", "--output-format", "json", "a.py").code == 2


def test_suggest_as_diff_shows_the_best(call: Call, stage: Stage) -> None:
    stage(*BOTH)
    call("suggest", "a.py", "--output-format", "diff", "--output-file", "p.diff")
    diff = Path("p.diff").read_bytes()
    assert b"+e = good(5)" in diff and b"other(5)" not in diff


@pytest.mark.parametrize(
    ("answers", "changed", "code"),
    [
        ("y\ny\n", [b"good(5)", b"new(1)"], 0),
        ("n\ny\nn\n", [b"other(5)"], 1),
        ("n\nn\ny\n", [b"new(1)"], 1),
        ("q\n", [], 1),
        ("", [], 1),
        ("y\nq\n", [b"good(5)"], 1),
        ("what?\nYES\nno\n", [b"good(5)"], 1),
    ],
)
def test_interactive(
    call: Call, stage: Stage, monkeypatch: pytest.MonkeyPatch, answers: str, changed: list[bytes], code: int
) -> None:
    file = stage(*BOTH)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    said = call("fix", "--interactive", "a.py")
    new = {b"good(5)": b"bad(5)", b"other(5)": b"bad(5)", b"new(1)": b"old(1)"}
    expected = BEFORE
    for text in changed:
        expected = expected.replace(new[text], text)
    assert file.read_bytes() == expected
    assert said.code == code
    assert "line 6 is wrong" in said.out and "pass           run: v: because" in said.out
    assert "Apply p-unsafe (unsafe)? [y/n/q]" in said.err


def test_a_choice_is_for_the_person(call: Call, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (replace(p, verdict=PatchVerdict.CHOICE) for p in BOTH[:2])
    file = stage(one, other)
    assert call("fix", "--unsafe", "a.py").code == 1
    assert file.read_bytes() == BEFORE
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\ny\n"))
    said = call("fix", "--interactive", "a.py")
    assert "Apply p-unsafe (unsafe, a choice)? [y/n/q]" in said.err
    assert file.read_bytes() == BEFORE.replace(b"bad(5)", b"other(5)")


def test_changed_meanwhile(call: Call, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stage(*BOTH)

    def slow(raw: bytes, path: str, *rest: object, log: object, said: str) -> FileReport:
        file.write_bytes(b"# mine\n" + BEFORE)
        return report(path, *BOTH)

    monkeypatch.setattr(pipeline, "suggest_file", slow)
    said = call("fix", "a.py")
    assert said.code == 2 and "changed while dnnfix worked on it" in said.err
    assert file.read_bytes() == b"# mine\n" + BEFORE
    assert sorted(os.listdir(file.parent)) == ["a.py"]


def test_standard_input_goes_to_standard_output(stage: Stage, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(*BOTH)
    raw = BEFORE.replace(b"# \xe9", b"#")

    def answer(given: bytes, path: str, *rest: object, log: object, said: str) -> FileReport:
        assert given == raw
        return report(path, *BOTH)

    monkeypatch.setattr(pipeline, "suggest_file", answer)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    written = io.BytesIO()
    stdout = io.TextIOWrapper(written)
    monkeypatch.setattr(sys, "stdout", stdout)
    said = call("fix", "-", "--unsafe", "--stdin-filename", "a.py")
    assert written.getvalue() == raw.replace(b"old(1)", b"new(1)").replace(b"bad(5)", b"good(5)")
    assert "line 6 is wrong" in said.err
    assert call("fix", "-", "--interactive").code == 2
    said = call("fix", "a.py", "--interactive", "--output-format", "json")
    assert said.code == 2 and "--output-file" in said.err


def test_interrupted_reports_what_is_known(call: Call, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    file = stage(*BOTH)
    (file.parent / "b.py").write_bytes(BEFORE)

    def interrupted(raw: bytes, path: str, *rest: object, log: object, said: str) -> FileReport:
        if path == "b.py":
            raise KeyboardInterrupt
        return report(path, *BOTH)

    monkeypatch.setattr(pipeline, "suggest_file", interrupted)
    said = call("suggest", ".", "--output-format", "json")
    assert said.code == 130
    document = json.loads(said.out)
    assert {f["path"] for f in document["findings"]} == {"a.py"}
    assert any("interrupted" in text for text in document["unchecked"])
    said = call("suggest", "b.py", "a.py")
    assert said.code == 130 and "could not be analysed" not in said.out and "interrupted" in said.err


def test_mode_and_link_are_kept(tmp_path: Path) -> None:
    file, link = tmp_path / "real.py", tmp_path / "link.py"
    file.write_bytes(b"old")
    file.chmod(0o750)
    link.symlink_to("real.py")
    replace_files([Rewrite(link, b"old", b"new")])
    assert link.is_symlink() and file.read_bytes() == b"new" and file.stat().st_mode & 0o777 == 0o750
    assert sorted(os.listdir(tmp_path)) == ["link.py", "real.py"]


def test_read_only_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(InputError, match="is read-only"):
        replace_files([Rewrite(file, b"old", b"new")])
    assert file.read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == ["a.py"]


def test_of_several_files_all_are_written_or_none(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for file in files:
        file.write_bytes(b"old")
    rewrites = [Rewrite(file, b"old", b"new") for file in files]
    with pytest.raises(InputError, match="c.py: changed while dnnfix worked on it"):
        replace_files([*rewrites[:2], Rewrite(files[2], b"another", b"new")])
    files[1].chmod(0o444)
    with pytest.raises(InputError, match="b.py: is read-only"):
        replace_files(rewrites)
    assert [file.read_bytes() for file in files] == [b"old"] * 3
    files[1].chmod(0o644)
    replace_files(rewrites)
    assert [file.read_bytes() for file in files] == [b"new"] * 3
    assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py", "c.py"]
