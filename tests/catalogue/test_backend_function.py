"""A function of Keras's backend that asks for gradients has no model that gives the same."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.detect.versioning.migration import ApiChange, Hit
from dnnfix.source.program import Source
from dnnfix.subject import Subject

PROGRAM = """\
import tensorflow as tf
from keras import backend as K
from keras.models import load_model

model = load_model("net.h5")
asked = {asked}
run = K.function([model.input], [asked])
"""


def hit(asked: str) -> Hit:
    """What is said of the function that gives this."""
    found = registry.template("DNF595")
    assert found is not None and issubclass(found, ApiChange)
    source = Source.from_bytes(PROGRAM.format(asked=asked).encode(), "program.py")
    (only,) = found().hits(Subject(source))
    return only


@pytest.mark.parametrize(
    "asked",
    [
        "K.gradients(model.output, model.input)[0]",
        "tf.gradients(model.output, model.input)[0]",
        "tf.compat.v1.gradients(model.output, model.input)[0]",
        "model.optimizer.get_gradients(model.total_loss, model.trainable_weights)[0]",
    ],
)
def test_gradients_are_declined(asked: str) -> None:
    assert not hit(asked).edits and "gradients" in hit(asked).decline


def test_a_place_of_the_network_is_not() -> None:
    assert hit("model.layers[2].output").edits
