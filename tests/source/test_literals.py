"""The literal that an argument comes from."""

from __future__ import annotations

import ast

import pytest

from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.literals import number_written

TRAINER = """
class Trainer:
    def __init__(self, hidden, rate=0.1):
        self.net = make(hidden)
        self.rate = show(rate)

    def fit(self, epochs):
        return range(epochs)

def train(rounds, size=3, *, quiet=False):
    show(size)
    return range(rounds)
"""


@pytest.mark.parametrize(
    ("calls", "asked", "value"),
    [
        ("t = Trainer(64)\nt.fit(3)", "make(hidden)", 64),
        ("t = Trainer(64)\nt.fit(3)", "show(rate)", 0.1),
        ("t = Trainer(64)\nt.fit(3)", "range(epochs)", None),
        ("train(5)", "range(rounds)", 5),
        ("train(5)", "show(size)", 3),
        ("train(*given)", "range(rounds)", None),
        ("train(**given)", "show(size)", None),
        ("train(5)\ntrain(6)", "range(rounds)", None),
    ],
)
def test_number_written(calls: str, asked: str, value: float | None) -> None:
    source = Source.from_bytes(f"{TRAINER}\n{calls}\n".encode(), "p.py")
    (call,) = [call for call in source.nodes(ast.Call) if ast.unparse(call) == asked]
    found = number_written(Subject(source), call.args[0])
    assert (None if found is None else found.value) == value
