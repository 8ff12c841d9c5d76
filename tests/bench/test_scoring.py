"""What a repair is worth beside the human one: over programs and hand-written traces."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from dnnfix.bench.arms import null_patch, random_patch
from dnnfix.bench.scoring import changed_lines, detected, localized, same_tree
from dnnfix.records import Call, Family, Finding, Network, RunOutcome, Site, Step, Trace, Value
from dnnfix.source.diff import unified_diff
from dnnfix.validate.behaviour import Mask, differing, same_behaviour, same_but_for_itself
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
        ('async def f():\n    "words"\n    return 1\n', "async def f():\n    return 1\n", True),
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
        (with_calls(LAYER, replace(LAYER, id=2, name="torch.nn.Sequential")), True),
        (with_calls(LAYER, replace(LAYER, id=2, name="user.Net")), False),
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


def said(line: str, trace: Trace = TRACE) -> Trace:
    """The run, had it printed that line too."""
    return replace(trace, printed=f"{trace.printed}{line}\ndone\n")


CLOCK = said("took 0.53s (1.5 a step)")


def printing(text: str, *losses: float) -> Trace:
    steps = tuple(Step(n, loss) for n, loss in enumerate(losses))
    return Trace(RunOutcome.FINISHED, printed=text, steps=steps)


@pytest.mark.parametrize(
    ("again", "other", "same"),
    [
        pytest.param(said("took 0.61s (1.5 a step)"), said("took 0.7s (1.5 a step)"), True, id="a clock"),
        pytest.param(said("took 0.61s (1.9 a step)"), said("took 7s (2 a step)"), True, id="two clocks"),
        pytest.param(said("took 980ms (1.5 a step)"), said("took 1.02s (1.5 a step)"), True, id="another unit"),
        pytest.param(said("took 0.61s (1.5 a step)"), said("took 0.7s (2.5 a step)"), False, id="a number beside it"),
        pytest.param(said("took 0.61s (1.5 a step)"), said("left 0.7s (1.5 a step)"), False, id="a word beside it"),
        pytest.param(said("took 0.61s (1.5 a step)"), said("took (1.5 a step)"), False, id="no clock"),
        pytest.param(said("took 0.61s (1.5 a step)"), said("took 0.7s 3 (1.5 a step)"), False, id="one number more"),
        pytest.param(
            said("took 0.61s (1.5 a step)"),
            said("took 0.7s (1.5 a step)", replace(TRACE, steps=(Step(0, 0.693147), Step(1, 0.6)))),
            False,
            id="another loss",
        ),
        pytest.param(
            said("took 0.61s (1.5 a step)"),
            said("took 0.7s (1.5 a step)", with_calls(LAYER, LAYER)),
            False,
            id="a layer",
        ),
        pytest.param(CLOCK, said("took 0.7s (1.5 a step)"), False, id="two runs that agree"),
        pytest.param(CLOCK, CLOCK, True, id="all the same"),
        pytest.param(
            said("took about 0.61s (1.5 a step)"), said("took 0.7s (1.5 a step)"), False, id="more words in a line"
        ),
        pytest.param(said("took 0.61s\n(1.5 a step)"), said("took 0.7s (1.5 a step)"), False, id="more lines"),
    ],
)
def test_what_a_repair_does_otherwise_each_time_is_not_asked_for(again: Trace, other: Trace, same: bool) -> None:
    assert same_but_for_itself([CLOCK, other], [CLOCK, CLOCK], [[CLOCK], [again]]) is same
    assert same_but_for_itself([CLOCK], [CLOCK], [[again]]), "a program is the same as itself"


def test_a_clock_that_stood_alike_in_two_runs_shows_in_a_third() -> None:
    first, third = said("took 0.53s (1.5 a step)"), said("took 0.61s (1.5 a step)")
    late, wrong = said("took 0.55s (1.5 a step)"), said("took 0.55s (2.5 a step)")
    assert not same_but_for_itself([late], [first], [[first]])
    assert same_but_for_itself([late], [first], [[first, third]])
    assert not same_but_for_itself([wrong], [first], [[first, third]]), "what stands beside the clock counts"


@pytest.mark.parametrize(
    ("one", "again", "other", "same"),
    [
        pytest.param(
            printing("loss 0.5 0.4\n"), printing("loss 0.6 0.3\n"), printing("loss 0.9 0.8\n"), False, id="all numbers"
        ),
        pytest.param(
            printing("round 1: 0.01s\nround 2: 0.02s\n", 0.7),
            printing("round 1: 0.01s\nround 2: 0.03s\n", 0.7),
            printing("round 1: 0.02s\nround 2: 0.01s\n", 0.7),
            True,
            id="a clock that stood alike in one round",
        ),
        pytest.param(
            printing("round 1: 0.01s\nround 2: 0.02s\n", 0.7),
            printing("round 1: 0.01s\nround 2: 0.03s\n", 0.7),
            printing("round 1: 0.01s\nround 3: 0.02s\n", 0.7),
            False,
            id="a number beside a clock",
        ),
        pytest.param(
            printing("ok", 0.7, 0.5), printing("ok", 0.6, 0.3), printing("ok", 0.9, 0.8), False, id="all losses"
        ),
        pytest.param(
            printing("step 1: 0.7", 0.7, 0.5),
            printing("step 1: 0.6", 0.6, 0.3),
            printing("step 1: 0.9", 0.9, 0.8),
            False,
            id="all losses, and a count",
        ),
        pytest.param(printing("", 0.7, 0.5), printing("", 0.7, 0.3), printing("", 0.7, 0.8), True, id="a later loss"),
        pytest.param(
            printing("", 0.7, 0.5), printing("", 0.7, 0.3), printing("", 0.6, 0.5), False, id="an earlier loss"
        ),
        pytest.param(printing("", 0.7, 0.5), printing("", 0.7), printing("", 0.7, 0.4), False, id="fewer losses"),
        pytest.param(printing("a"), printing("b"), printing("c"), False, id="nothing that tells"),
    ],
)
def test_a_mask_that_leaves_nothing_makes_nothing_equal(one: Trace, again: Trace, other: Trace, same: bool) -> None:
    assert same_but_for_itself([other], [one], [[again]]) is same
    assert not same_but_for_itself([], [], [])


def test_a_mask_names_pieces_losses_and_layers() -> None:
    assert differing(CLOCK, CLOCK) == Mask()
    assert differing(CLOCK, said("took 0.61s (1.5 a step)")) == Mask(printed=frozenset({6}))
    assert differing(CLOCK, said("took 0.53s (1.50001 a step)")) == Mask(), "rounding is no difference"
    assert differing(printing("", 1.0, 2.0), printing("", 1.0, 3.0)) == Mask(losses=frozenset({1}))
    wider = with_calls(LAYER, replace(LAYER, outputs=()))
    assert differing(with_calls(LAYER, LAYER), wider) == Mask(shapes=frozenset({1}))


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
