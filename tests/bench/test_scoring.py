"""What a repair is worth beside the human one: over programs and hand-written traces."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from dnnfix.bench.arms import null_patch, random_patch
from dnnfix.bench.scoring import changed_lines, detected, localized, same_tree
from dnnfix.records import Call, Family, Finding, Network, RunOutcome, Site, Step, Trace, Value
from dnnfix.source.diff import unified_diff
from dnnfix.validate.behaviour import same_behaviour
from tests.bench.conftest import BROADCAST, CRASH, SLOW


def finding(family: Family, line: int, end: int | None = None) -> Finding:
    return Finding("DNF999", "rule", family, Site(line, 1, end or line, 9), "message")


def test_a_mismatch_is_detected_from_either_end() -> None:
    assert detected([finding(Family.DATA_DIMENSION, 1)], Family.LAYER_DIMENSION)
    assert not detected([finding(Family.DATA_DIMENSION, 1)], Family.DATA_TYPE)
    assert not detected([], Family.VERSIONING)


def test_lines_that_a_repair_changes() -> None:
    before = b"a\nb\nc\nd\n"
    assert changed_lines(unified_diff(before, b"a\nB\nC\nd\n", "p.py")) == {2, 3}
    assert changed_lines(unified_diff(before, b"a\nb\nx\nc\nd\n", "p.py")) == {2, 3}
    assert localized([finding(Family.DATA_TYPE, 1, 2)], {2, 3})
    assert not localized([finding(Family.DATA_TYPE, 4)], {2, 3})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("f(a, b=1, c=2)\n", "f(a,\n  c=2, b=1)  # turned round\n", True),
        ('def f():\n    "words"\n    return 1\n', "def f():\n    return 1\n", True),
        ("f(a, 1)\n", "f(a, 2)\n", False),
        ("f(b, a)\n", "f(a, b)\n", False),
        ("x = 'a'\n", "x = 'b'\n", False),
        ("f(\n", "f(\n", False),
    ],
)
def test_programs_that_read_the_same(one: str, other: str, same: bool) -> None:
    assert same_tree(one.encode(), other.encode()) is same


LAYER = Call(1, "torch.nn.Linear", None, component=3, outputs=(Value(1, (8, 3), "float32"),))
TRACE = Trace(
    RunOutcome.FINISHED,
    printed="epoch 1: loss 0.693147\n",
    steps=(Step(0, 0.693147), Step(1, 0.5)),
    network=Network("torch", "trace", calls=(LAYER,)),
)


def with_calls(*calls: Call) -> Trace:
    return replace(TRACE, network=Network("torch", "trace", calls=calls))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (TRACE, True),
        (replace(TRACE, printed="epoch 1:\n  loss 0.6931471\n"), True),
        (with_calls(LAYER, Call(2, "torch.Tensor.unsqueeze", None, outputs=(Value(2, (8, 3, 1)),))), True),
        (replace(TRACE, printed="epoch 1: loss 0.7\n"), False),
        (replace(TRACE, printed="step 1: loss 0.693147\n"), False),
        (replace(TRACE, steps=(Step(0, 0.693147), Step(1, 0.6))), False),
        (replace(TRACE, steps=(Step(0, 0.693147),)), False),
        (with_calls(replace(LAYER, outputs=(Value(1, (8, 4), "float32"),))), False),
        (with_calls(LAYER, LAYER), False),
    ],
)
def test_programs_that_do_the_same(other: Trace, same: bool) -> None:
    assert same_behaviour([TRACE, TRACE], [TRACE, other]) is same


def test_programs_that_do_nothing_are_not_the_same() -> None:
    silent = Trace(RunOutcome.FINISHED)
    assert not same_behaviour([silent], [silent])
    assert not same_behaviour([], [])


# --- The arms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [CRASH, SLOW, BROADCAST], ids=["crash", "slow", "broadcast"])
def test_arms_edit_as_they_say(program: str) -> None:
    raw = program.encode()
    assert same_tree(null_patch(raw), raw) and null_patch(raw) != raw
    made = {random_patch(raw, seed) for seed in range(20)}
    assert len(made) > 10, "edits differ by seed"
    for patched in made:
        assert not same_tree(patched, raw)
        old, new = raw.splitlines(), patched.splitlines()
        assert len([line for line in new if line not in old]) <= 1, "one edit"
    assert random_patch(raw, 3) == random_patch(raw, 3)


def test_random_edits_keep_to_characters_of_any_length() -> None:
    raw = "größe = 3\nf('ä', größe, 2)\n".encode()
    for seed in range(30):
        ast.parse(random_patch(raw, seed))


def test_a_program_that_offers_nothing_is_not_edited() -> None:
    with pytest.raises(ValueError, match="nothing to edit"):
        random_patch(b"import torch\n", 0)
