"""A wrong name stands for a known one only where a single one fits."""

from __future__ import annotations

import ast

import pytest

from dnnfix.detect.crashes.undefined import bound_by
from dnnfix.source.program import Source
from dnnfix.source.spelling import alike, longer, one_letter_off, parts, same_letters


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("num_filters", ("num", "filters")),
        ("numFilters", ("num", "filters")),
        ("LayerNormalization", ("layer", "normalization")),
        ("conv2d", ("conv", "2", "d")),
        ("RNNCell", ("rnn", "cell")),
    ],
)
def test_words_of_a_name(name: str, words: tuple[str, ...]) -> None:
    assert parts(name) == words


def test_capitals_and_underscores() -> None:
    assert same_letters("Time_Distributed", ["TimeDistributed", "Dense"]) == "TimeDistributed"
    assert same_letters("max_pool", ["MaxPool", "maxpool"]) is None


def test_one_letter() -> None:
    assert one_letter_off("matmult", ["matmul", "mul"]) == "matmul"
    assert one_letter_off("layer1", ["layer2", "layer3"]) is None
    assert one_letter_off("labels", ["label", "labelss"]) is None


def test_what_goes_on() -> None:
    assert longer("LayerNorm", ["LayerNormalization", "BatchNormalization"]) == "LayerNormalization"
    assert longer("sum", ["reduce_sum", "sparse_reduce_sum", "cumsum"]) == "reduce_sum"
    assert longer("mul", ["multiply", "multinomial", "matmul"]) is None


def test_likeness() -> None:
    assert alike("lesser_equal", ["less_equal", "greater_equal", "equal"]) == "less_equal"
    assert alike("x_train", ["y_train"]) != "z_train"
    assert alike("conv_block_1", ["conv_block_2"]) is None


def test_names_in_scope() -> None:
    source = Source.from_bytes(
        b"import os\na = 1\ndef f(b):\n    c = [d for d in b]\n    def g(e):\n        return wanted\n", "program.py"
    )
    (node,) = [name for name in source.nodes(ast.Name) if name.id == "wanted"]
    assert bound_by(source, node) == {"os", "a", "f", "b", "c", "g", "e"}
