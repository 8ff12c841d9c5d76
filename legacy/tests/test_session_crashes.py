"""Crashes in sessions, whose examples run only where TensorFlow is installed."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from dnnfix.records import Crash, Decline, Frame, Json, RunOutcome, Trace
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate
from dnnfix_legacy.rules.value_fed_in_other_shape import ValueFedInOtherShape
from dnnfix_legacy.rules.variables_made_twice import VariablesMadeTwice


def array(*shape: int) -> Json:
    return {"shape": list(shape), "dtype": "float32", "kind": "numpy.ndarray"}


def crashed(text: str, message: str, *marks: str, names: Mapping[str, Json] | None = None) -> Subject:
    """The program after a run that ended with a ValueError, each mark the begin of the call of one frame, outermost first."""
    source = Source.from_bytes(text.encode(), "program.py")
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    called = (next(call for call in calls if ast.unparse(call).startswith(mark)) for mark in marks)
    frames = tuple(Frame(source.site(call), "function", names or {}) for call in called)
    return Subject(source, Trace(RunOutcome.CRASHED, crash=Crash("ValueError", message, frames)))


def repaired(template: type[FixTemplate], subject: Subject) -> list[str]:
    """Every program that the template's candidates make, or the reasons for declining."""
    made = []
    for finding in template().detect(subject):
        for proposal in template().propose(finding, subject):
            if isinstance(proposal, Decline):
                made.append(proposal.reason)
            else:
                made.append(apply_edits(subject.source, proposal.edits).decode())
    return made


DISCRIMINATOR = """\
import tensorflow.compat.v1 as tf

def discriminator(x{parameter}):
    with tf.variable_scope("D"{asked}):
        w = tf.get_variable("w", [4, 1])
        return tf.matmul(x, w)

real = tf.placeholder(tf.float32, [None, 4])
fake = tf.placeholder(tf.float32, [None, 4])
score_real = discriminator(real)
score_fake = discriminator(fake{given})
"""
TAKEN = "Variable D/w already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"


def test_a_part_that_is_applied_to_a_second_tensor_shares_its_variables() -> None:
    text = DISCRIMINATOR.format(parameter="", asked="", given="")
    subject = crashed(text, TAKEN, "discriminator(fake", "tf.get_variable")
    assert repaired(VariablesMadeTwice, subject) == [
        DISCRIMINATOR.format(parameter="", asked=", reuse=tf.AUTO_REUSE", given=""),
    ]


def test_a_part_that_can_be_told_to_share_is_told() -> None:
    text = DISCRIMINATOR.format(parameter=", reuse=False", asked=", reuse=reuse", given="")
    subject = crashed(text, TAKEN, "discriminator(fake", "tf.get_variable")
    assert repaired(VariablesMadeTwice, subject) == [
        DISCRIMINATOR.format(parameter=", reuse=False", asked=", reuse=reuse", given=", reuse=True"),
    ]


def test_two_layers_of_other_sizes_are_not_shared() -> None:
    text = """\
import tensorflow.compat.v1 as tf

def layer(x, size):
    with tf.variable_scope("layer"):
        return tf.matmul(x, tf.get_variable("w", [4, size]))

x = tf.placeholder(tf.float32, [None, 4])
hidden = layer(x, 4)
out = layer(hidden, 2)
"""
    subject = crashed(text, TAKEN, "layer(hidden", "tf.get_variable")
    assert repaired(VariablesMadeTwice, subject) == [
        "whether the variables are to be shared or made anew cannot be read"
    ]


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf

sess.run(out, feed_dict={x: images, y: labels})
"""


@pytest.mark.parametrize(
    ("given", "wanted", "changed"),
    [
        ("(4, 4, 3)", "(None, 4, 4, 3)", "x: [images]"),
        ("(9, 4, 4)", "(?, 16)", "x: np.reshape(images, (-1, 16))"),
        ("(9, 4, 4)", "(?, 4, 4, 1)", "x: np.reshape(images, (-1, 4, 4, 1))"),
        ("(9, 5)", "(?, 4)", ""),
    ],
)
def test_a_value_is_fed_in_the_shape_of_its_placeholder(given: str, wanted: str, changed: str) -> None:
    message = f"Cannot feed value of shape {given} for Tensor 'Placeholder:0', which has shape '{wanted}'"
    shape = [int(size) for size in given.strip("()").split(",")]
    names = {"images": array(*shape), "labels": array(9)}
    subject = crashed(FED, message, "sess.run", names=names)
    (made,) = repaired(ValueFedInOtherShape, subject)
    assert changed in made if changed else made == ValueFedInOtherShape.declined
