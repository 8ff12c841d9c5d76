"""What a function of the program counts is one number, or it is left alone."""

from __future__ import annotations

import ast

import pytest

from dnnfix.detect.tensors.counts import counts_tensors, is_counted
from dnnfix.source.program import Source

PROGRAM = """\
import torch

SIZE = 8


def accuracy(output, target, weights, among=10, rest: int = 3):
    found = []
    kept = output.view(-1).sum(0)
    {first}
    found.append({value})
    return found


one = accuracy(torch.ones(3), torch.ones(3), torch.ones(3){given})[0]
print(one[0])
"""


def counted(value: str, given: str = "", first: str = "pass") -> bool:
    """Whether what the program prints is read as one number."""
    text = PROGRAM.format(value=value, given=given, first=first)
    source = Source.from_bytes(text.encode(), "program.py")
    (name,) = [n for n in source.nodes(ast.Name) if isinstance(n, ast.Name) and n.id == "one" and n.lineno == 15]
    return is_counted(source, name)


@pytest.mark.parametrize(
    "value",
    [
        "kept",
        "output.sum()",
        "kept.mul_(100.0 / target.size(0))",
        "kept.mul_(weights)",
        "kept.mul(100.0 / target.size()[0])",
        "kept * 100 / len(target)",
        "100 * kept.float() / (SIZE * target.shape[0])",
        "kept / among",
        "kept / output.sum()",
    ],
)
def test_a_sum_scaled_by_numbers_is_one_number(value: str) -> None:
    assert counted(value)


@pytest.mark.parametrize(
    "value",
    [
        "kept / weights",
        "weights * kept",
        "kept.mul(weights)",
        "kept / unknown",
        "kept / target.size()",
        "weights.sum(0)",
    ],
)
def test_what_may_have_an_axis_is_left(value: str) -> None:
    assert not counted(value)


def test_a_parameter_is_a_number_where_the_call_gives_it_one() -> None:
    assert counted("kept / among", given=", 5") and counted("kept / among", given=", among=len(one)")
    assert not counted("kept / among", given=", torch.ones(3)")
    assert not counted("kept / among", given=", **options")
    assert not counted("kept / among", first="among = weights * among")


def test_what_is_made_of_itself_is_read_in_the_end() -> None:
    assert not counted("kept", first="kept = kept * weights")
    assert not counted("found", first="found = [weights]")


@pytest.mark.parametrize(
    "more", ["found.insert(0, output)", "found.extend([output])", "found += [output]", "keep(found)"]
)
def test_a_list_that_gets_more_than_what_is_appended_is_left(more: str) -> None:
    assert not counted("kept", first=more)


@pytest.mark.parametrize(("summed", "seen"), [("output.view(-1)", True), ("torch.ones(3)", True), ("output", False)])
def test_only_what_is_seen_to_be_a_tensor_is_one(summed: str, seen: bool) -> None:
    text = PROGRAM.format(value="kept", given="", first="pass").replace("output.view(-1).sum(0)", f"{summed}.sum()")
    source = Source.from_bytes(text.encode(), "program.py")
    (name,) = [n for n in source.nodes(ast.Name) if isinstance(n, ast.Name) and n.id == "one" and n.lineno == 15]
    assert is_counted(source, name) and counts_tensors(source, name) is seen
