"""Cases: reading them, refusing malformed ones, and proving them with real runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix.bench.cases import case_ids, read_case
from dnnfix.bench.instances import read_index
from dnnfix.bench.ledger import counts, read_ledger, record
from dnnfix.bench.symptoms import Shown
from dnnfix.bench.verify import Proof, fingerprint, verify
from dnnfix.errors import InputError
from dnnfix.run.runner import Runner
from dnnfix.source.diff import git_diff


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_case_is_read_with_what_the_index_says_of_it(benchmark: Path) -> None:
    case = read_case(benchmark, read_index(benchmark), "so-1")
    assert case.instance.fix_pattern == "layer-dimension" and case.symptom.exception == "RuntimeError"
    assert b"4 * 3 * 3" in case.repaired[0] and b"4 * 3 * 3" not in case.program
    assert case_ids(benchmark) == ["gh-someone-nets-abc1234", "so-1", "so-2"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('library = "torch"', 'library = "keras"', r"case.toml: library is torch in the index. Received: 'keras'"),
        ('framework = "torch"', 'framework = "caffe"', r"'caffe' is not a valid Framework"),
        ('family = "layer-dimension"', 'family = "layers"', r"'layers' is not a valid Family"),
        ('fidelity = "label"', 'fidelity = ""', r"fidelity needs a text. Received: ''"),
        ("seeds = [0, 1, 2, 3, 4]", "seeds = [0, 1, 2, 3, 3]", "seeds needs 5 different whole numbers"),
        ("seeds = [0, 1, 2, 3, 4]", "seeds = [", "case.toml: .*line"),
        ("[symptom]", "[symptoms]", "known keys are"),
        ('exception = "RuntimeError"', "", r"\[symptom\] crash needs exception|crash needs exception"),
        ("seeds =", 'alternatives = ["../../x.diff"]\nseeds =', "names of .diff files beside it"),
        ("seeds =", 'alternatives = ["other.diff"]\nseeds =', "other.diff: there is no such file"),
    ],
)
def test_a_malformed_case_is_named_with_its_key(benchmark: Path, old: str, new: str, said: str) -> None:
    rewrite(benchmark / "cases" / "so-1" / "case.toml", old, new)
    with pytest.raises(InputError, match=said):
        read_case(benchmark, read_index(benchmark), "so-1")


def test_a_case_without_an_instance_is_refused(benchmark: Path) -> None:
    (benchmark / "cases" / "so-999").mkdir()
    with pytest.raises(InputError, match="no instance of the index has the id 'so-999'"):
        read_case(benchmark, read_index(benchmark), "so-999")


# --- Proving ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    pytest.importorskip("torch")
    with Runner(Path(sys.executable)) as made:
        yield made


def proof(benchmark: Path, id: str, runner: Runner) -> Proof:
    index = read_index(benchmark)
    programs = {name: (benchmark / "cases" / name / "buggy.py").read_bytes() for name in case_ids(benchmark)}
    return verify(read_case(benchmark, index, id), programs, runner)


def test_sound_cases_hold_and_are_recorded(benchmark: Path, runner: Runner) -> None:
    index = read_index(benchmark)
    for id in case_ids(benchmark):
        case, found = read_case(benchmark, index, id), proof(benchmark, id, runner)
        assert found.problems == ()
        assert [*found.shown] == [Shown.YES] * 5 and [*found.repaired] == [Shown.NO] * 5
        assert not counts(case, read_ledger(benchmark))
        record(benchmark, [(case, found)])
        assert counts(case, read_ledger(benchmark))
    rewrite(benchmark / "cases" / "so-1" / "buggy.py", "lr=0.01", "lr=0.02")
    changed = read_case(benchmark, index, "so-1")
    assert not counts(changed, read_ledger(benchmark))
    record(benchmark, [(changed, Proof("so-1", ("refuted",)))])
    assert "so-1" not in read_ledger(benchmark) and "so-2" in read_ledger(benchmark)


def write_repair(case: Path, *changes: tuple[str, str], name: str = "repair.diff") -> None:
    before = (case / "buggy.py").read_text()
    after = before
    for old, new in changes:
        assert old in after
        after = after.replace(old, new, 1)
    (case / name).write_text(git_diff(before.encode(), after.encode(), "buggy.py"))


def test_a_program_that_does_not_show_its_symptom_is_no_case(benchmark: Path, runner: Runner) -> None:
    case = benchmark / "cases" / "so-1"
    rewrite(case / "case.toml", "shapes cannot be multiplied", "another message")
    found = proof(benchmark, "so-1", runner)
    assert "buggy.py shows the symptom on 0 of 5 seeds: seed 0: other, crashed" in found.problems[0]


def test_a_repair_that_leaves_the_symptom_is_none(benchmark: Path, runner: Runner) -> None:
    write_repair(benchmark / "cases" / "so-1", ("4 * 4 * 4", "4 * 4 * 5"))
    found = proof(benchmark, "so-1", runner)
    assert "with repair.diff 0 of 5 seeds end well without the symptom, 4 are needed" in found.problems[0]


@pytest.mark.slow
def test_a_proof_that_fails_says_what_every_run_printed_against_the_bound(benchmark: Path, runner: Runner) -> None:
    rewrite(benchmark / "cases" / "so-2" / "case.toml", "below = 0.8", "below = 0.1")
    (said,) = proof(benchmark, "so-2", runner).problems
    assert re.search(r"seed 0: no, finished; by seed: (0\.\d+, ){4}0\.\d+; the symptom is: below 0\.1$", said), said


@pytest.mark.slow
def test_an_alternative_has_to_repair_too(benchmark: Path, runner: Runner) -> None:
    case = benchmark / "cases" / "so-1"
    rewrite(case / "case.toml", "seeds =", 'alternatives = ["resize.diff"]\nseeds =')
    write_repair(case, ("nn.Conv2d(1, 4, 3)", "nn.Conv2d(1, 4, 3, padding=1)"), name="resize.diff")
    assert proof(benchmark, "so-1", runner).holds
    write_repair(case, ("nn.Conv2d(1, 4, 3)", "nn.Conv2d(1, 4, 5)"), name="resize.diff")
    assert "with resize.diff 0 of 5" in proof(benchmark, "so-1", runner).problems[0]


@pytest.mark.slow
def test_a_superfluous_change_is_seen(benchmark: Path, runner: Runner) -> None:
    case = benchmark / "cases" / "so-1"
    write_repair(case, ("4 * 4 * 4", "4 * 3 * 3"), ("lr=0.01", "lr=0.02"))
    (said,) = proof(benchmark, "so-1", runner).problems
    assert said == "repair.diff is not minimal: it repairs as well without its change of line 26"


def test_what_can_be_said_without_a_run(benchmark: Path, runner: Runner) -> None:
    case = benchmark / "cases" / "so-1"
    copied = (benchmark / "cases" / "so-2" / "buggy.py").read_text()
    (case / "buggy.py").write_text(copied.replace("network", "net") + "# the wrong size is in line 13\n" + "\n" * 120)
    write_repair(case, ("lr=1e-6", "lr=0.5"))
    said = "\n".join(proof(benchmark, "so-1", runner).problems)
    assert "lines; 30 to 120 are wanted" in said
    assert "buggy.py:32: 'wrong' gives the fault away" in said
    assert "is a near copy of case so-2: similarity 0.9" in said


def test_a_diff_has_to_apply_and_to_be_as_git_writes_it(benchmark: Path, runner: Runner) -> None:
    case = benchmark / "cases" / "so-1"
    rewrite(case / "repair.diff", "diff --git a/buggy.py b/buggy.py\n", "")
    assert "is not what `git diff` writes" in proof(benchmark, "so-1", runner).problems[0]
    rewrite(case / "repair.diff", "-        self.scores = nn.Linear(4 * 4 * 4, 3)", "-        self.scores = nothing")
    (said,) = proof(benchmark, "so-1", runner).problems
    assert "repair.diff: the diff does not apply to buggy.py: line 13" in said


def test_the_fingerprint_changes_with_what_a_proof_rests_on(benchmark: Path) -> None:
    index = read_index(benchmark)
    before = fingerprint(read_case(benchmark, index, "so-1"))
    rewrite(benchmark / "cases" / "so-1" / "case.toml", "nothing: made for a test", "its page")
    assert fingerprint(read_case(benchmark, index, "so-1")) == before
    rewrite(benchmark / "cases" / "so-1" / "case.toml", "multiplied", "multi")
    assert fingerprint(read_case(benchmark, index, "so-1")) != before
