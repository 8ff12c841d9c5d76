"""What names say of figures, and what a program minimizes."""

from __future__ import annotations

import ast

import pytest

from dnnfix.detect.loops.metric_direction import better, name_of
from dnnfix.detect.loops.minimized import minimized, reduced
from dnnfix.source.program import Source
from dnnfix.subject import Subject


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("val_acc", "greater"),
        ("valAccuracy", "greater"),
        ("test_f1", "greater"),
        ("val_loss", "smaller"),
        ("RMSE", "smaller"),
        ("acc_loss", ""),
        ("neg_acc", ""),
        ("error_rate", ""),
        ("score", ""),
        ("accumulated", ""),
    ],
)
def test_a_name_says_which_way_is_better(name: str, wanted: str) -> None:
    assert better(name) == wanted


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("val_acc", "val_acc"),
        ("self.best_acc", "best_acc"),
        ("history['val_loss']", "val_loss"),
        ("losses[-1]", "losses"),
        ("loss.item()", "loss"),
        ("-acc", ""),
        ("1 - acc", ""),
    ],
)
def test_the_name_of_what_is_read(text: str, name: str) -> None:
    assert name_of(ast.parse(text, mode="eval").body) == name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torch.mean(a)", "a"),
        ("a.mean()", "a"),
        ("a.sum(1)", "a"),
        ("a.mean((1, 2))", "a"),
        ("tf.reduce_sum(a, axis=1)", "a"),
        ("sum(a)", "a"),
        ("max(a)", None),
    ],
)
def test_what_a_call_reduces(text: str, wanted: str | None) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    inner = reduced(call)
    assert (ast.unparse(inner) if inner is not None else None) == wanted


def test_what_a_program_minimizes() -> None:
    text = """\
import tensorflow as tf

def own(y_true, y_pred):
    return tf.reduce_mean(y_true - y_pred)

loss = f(x)
loss.backward()
cost = g(x)
tf.train.AdamOptimizer().minimize(cost)
h(x).backward()
tape.gradient(target=k(x), sources=w)
model.compile("adam", loss=own)
either = a
either = b
either.backward()
"""
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    assert [ast.unparse(value) for value in minimized(subject)] == [
        "f(x)",
        "g(x)",
        "h(x)",
        "k(x)",
        "tf.reduce_mean(y_true - y_pred)",
        "b",
    ]
