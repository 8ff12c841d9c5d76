"""Theano functions: those that `keras.ops` can replace, and calls that it would refuse or read otherwise."""

from __future__ import annotations

import pytest

from dnnfix.detect.versioning.migration import Hit, migration
from dnnfix.source.program import Source
from dnnfix.subject import Subject

HEAD = "import theano.tensor as T\nfrom keras.layers import Dense\n\n\ndef of(x, y):\n    return "


def hit(expression: str) -> Hit:
    """What is said of a program that uses Theano for an expression."""
    source = Source.from_bytes((HEAD + expression + "\n").encode(), "program.py")
    (found,) = [hit for hit in migration(Subject(source)) if hit.what.startswith("Theano")]
    return found


@pytest.mark.parametrize(
    "expression",
    [
        "T.stack(x, x)",
        "T.stack(*y)",
        "T.mean(x, 1, None, True)",
        "T.mean(x, 1, None)",
        "T.var(x, 1, 0)",
        "T.sum(x, dtype='float32')",
        "T.mean(x, axis=1, dtype='float32')",
        "T.sum(x, axis=1, acc_dtype='float64')",
        "T.round(x)",
        "T.clip(x, min=0, max=1)",
        "T.max(**y)",
        "T.nnet.relu(x, 0.1)",
        "map(T.sum, y)",
    ],
)
def test_calls_that_ops_does_not_take_are_declined(expression: str) -> None:
    assert hit(expression).decline and not hit(expression).edits


@pytest.mark.parametrize(
    "expression",
    [
        "T.stack([x, x], axis=1)",
        "T.stack([x, x], 1)",
        "T.stack(y)",
        "T.mean(x, 1, keepdims=True)",
        "T.max(x, axis=-1, keepdims=True)",
        "T.cast(x, dtype='float32')",
        "T.clip(x, 0, 1)",
        "T.zeros((2, 3), dtype='float32')",
        "Dense(2, activation=T.tanh)",
        "T.nnet.relu(T.dot(x, y))",
    ],
)
def test_calls_that_mean_the_same_are_of_ops(expression: str) -> None:
    assert hit(expression).edits and not hit(expression).decline
