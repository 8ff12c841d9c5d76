"""What a constructor of an old autograd Function keeps, where `forward` is given it: how sure that is, and where it ends."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.detect.versioning.migration import ApiChange, Hit
from dnnfix.source.program import Source
from dnnfix.subject import Subject

PROGRAM = """\
import math
import torch


class Own(torch.autograd.Function):
    {of_class}
    def __init__(self{taken}):
        self.kept = {kept}

    def forward(self, x):
        {more}
        return x * 2

    def backward(self, g):
        return {given}


own = Own({told})
y = own(torch.ones(2, requires_grad=True)) + own(torch.ones(2))
"""


def hit(kept: str, taken: str = "", more: str = "pass", given: str = "g * 2", of_class: str = "") -> Hit:
    """What is said of the Function of the program."""
    told = "2" if taken else ""
    text = PROGRAM.format(kept=kept, taken=taken, more=more, given=given, of_class=of_class, told=told)
    found = registry.template("DNF513")
    assert found is not None and issubclass(found, ApiChange)
    (only,) = found().hits(Subject(Source.from_bytes(text.encode(), "program.py")))
    return only


@pytest.mark.parametrize("kept", ["2", "-0.5", "(1, 'a')", "None", "2 ** 3"])
def test_a_constant_is_the_same_in_every_call(kept: str) -> None:
    assert hit(kept).safe and hit(kept).edits


@pytest.mark.parametrize("kept", ["FACTOR", "[]", "{}", "math.pi", "math.log(2)", "torch.tensor([1.0])"])
def test_what_others_may_change_is_not_safe(kept: str) -> None:
    assert not hit(kept).safe and hit(kept).edits


@pytest.mark.parametrize("kept", ["torch.rand(2)", "next(masks)", "Mask()", "(1, counter.up())"])
def test_what_may_be_another_each_time_is_left_to_its_constructor(kept: str) -> None:
    assert not hit(kept).edits and hit(kept).decline


def test_what_is_counted_from_call_to_call_is_not_safe() -> None:
    assert not hit("0", more="self.kept += 1").safe


def test_values_of_the_class_are_not_the_contexts() -> None:
    assert not hit("0", of_class="rate = 2").edits


@pytest.mark.parametrize("given", ["torch.autograd.grad(x, y, g)", "g, None", "[g]"])
def test_an_unknown_number_of_gradients_gets_no_other(given: str) -> None:
    assert "number of gradients" in hit("a", taken=", a", given=given).decline


def test_one_gradient_gets_none_beside_it() -> None:
    assert hit("a", taken=", a").edits and not hit("a", taken=", a").safe


@pytest.mark.parametrize("more", ["ctx = 3", "x = x * ctx", "self = x", "x = [ctx for ctx in x][0]"])
def test_a_method_that_means_something_else_by_the_name_is_left(more: str) -> None:
    assert not hit("0", more=more).edits and "uses the name of the context argument" in hit("0", more=more).decline


def test_a_local_of_forward_may_have_the_name_of_an_argument_but_not_a_global() -> None:
    assert hit("a", taken=", a", more="a = self.kept").edits
    assert not hit("a", taken=", a", more="x = x * a").edits


ARGUMENT = """\
import torch


class Own(torch.autograd.Function):
    def __init__(self, rate):
        self.rate = rate

    def forward(self, x):
        return x * self.rate

    def backward(self, g):
        return g * self.rate


rate = 2
own = Own({given})
{between}
y = own(torch.ones(2, requires_grad=True))
"""


@pytest.mark.parametrize(
    ("given", "between", "mended"),
    [
        ("rate", "pass", True),
        ("0.5", "rate = 3", True),
        ("rate", "rate = 3", False),
        ("rate + 1", "rate += 1", False),
        ("next(rates)", "pass", False),
        ("rates[0]", "rates[0] = 3", False),
        ("rate", "def call(rate):\n    return own(rate)", False),
        ("0.5", "own = Own(2)", False),
    ],
)
def test_an_argument_is_given_later_only_where_nothing_binds_it_anew(given: str, between: str, mended: bool) -> None:
    text = ARGUMENT.format(given=given, between=between)
    found = registry.template("DNF513")
    assert found is not None and issubclass(found, ApiChange)
    (only,) = found().hits(Subject(Source.from_bytes(text.encode(), "program.py")))
    assert bool(only.edits) is mended
