"""Whether the rows of a batch stay apart, over sound Keras networks of many kinds and over ones that mix them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.observing import Observe

APART = 1e-3

PROGRAM = """
import numpy as np, keras
from keras import layers, ops
rng = np.random.default_rng(0)
{model}
model.compile("adam", {loss!r})
model.fit({data}, batch_size=8, epochs=1, verbose=0)
"""
ROWS = "rng.normal(size=(24, 5)), rng.integers(4, size=24)"
SERIES = "rng.normal(size=(24, 6, 5)), rng.integers(4, size=24)"
IMAGES = "rng.normal(size=(24, 12, 12, 3)), rng.integers(4, size=24)"
PICTURES = "(rng.normal(size=(24, 12, 12, 3)),) * 2"
WORDS = "rng.integers(9, size=(24, 6)), rng.integers(4, size=24)"
CLASSES = "sparse_categorical_crossentropy"


def sequential(*lines: str) -> str:
    return "model = keras.Sequential([" + ", ".join(lines) + ', layers.Dense(4, activation="softmax")])'


def functional(shape: str, *lines: str) -> str:
    return "\n".join([f"x = i = keras.Input({shape})", *lines, "model = keras.Model(i, x)"])


def rows(observe: Observe, model: str, data: str, loss: str = CLASSES) -> Any:
    arguments = data if not data.startswith("(") else "*" + data
    seen = observe(PROGRAM.format(model=model, data=arguments, loss=loss), experiments=["rows-apart"])
    assert seen.outcome == "finished", seen.of("crash")
    assert not [note for note in seen.notes if "the probe failed" in note]
    return seen.probe("rows-apart")


@pytest.mark.parametrize(
    ("model", "data", "loss"),
    [
        (sequential("layers.Dense(8)", "layers.Dropout(0.5)", "layers.BatchNormalization()"), ROWS, CLASSES),
        (sequential("layers.Conv2D(4, 3)", "layers.MaxPooling2D()", "layers.Flatten()"), IMAGES, CLASSES),
        (sequential("layers.LSTM(6)"), SERIES, CLASSES),
        (sequential("layers.Embedding(9, 4, mask_zero=True)", "layers.GRU(6)"), WORDS, CLASSES),
        (sequential("layers.Masking()", "layers.Bidirectional(layers.LSTM(4))"), SERIES, CLASSES),
        (functional("(6, 5)", "x = layers.MultiHeadAttention(2, 3)(x, x)", "x = layers.GlobalAveragePooling1D()(x)", "x = layers.Dense(4, activation='softmax')(x)"), SERIES, CLASSES),
        (functional("(12, 12, 3)", "d = layers.Conv2D(4, 3, 2, padding='same')(x)", "x = layers.Concatenate()([x, layers.Conv2DTranspose(3, 2, 2)(d)])",
                    "x = layers.Conv2D(3, 1)(x)"), PICTURES, "mse"),
        (functional("(5,)", "a, b = layers.Dense(1, name='a')(x), layers.Dense(1, name='b')(x)", "x = [a, b]"),
         "rng.normal(size=(24, 5)), [rng.normal(size=(24, 1))] * 2", "mse"),
        ("a, b = keras.Input((5,)), keras.Input((5,))\nd = layers.Dense(3)\nmodel = keras.Model([a, b], layers.Dense(1)(layers.Subtract()([d(a), d(b)])))",
         "[rng.normal(size=(24, 5)), rng.normal(size=(24, 5))], rng.normal(size=(24, 1))", "mse"),
    ],
    ids=["mlp", "conv-net", "lstm", "masked-gru", "masked-lstm", "attention", "u-net", "two-outputs", "siamese"],
)  # fmt: skip
def test_sound_networks_keep_rows_apart(observe: Observe, model: str, data: str, loss: str) -> None:
    found = rows(observe, model, data, loss)
    assert found["change"] < APART


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (functional("(5,)", "x = ops.softmax(layers.Dense(4)(x), axis=0)"), ROWS),
        (functional("(5,)", "h = layers.Dense(4)(x)", "x = ops.softmax(h - ops.mean(h, axis=0))"), ROWS),
        (functional("(6, 5)", "x = ops.reshape(ops.transpose(x, (1, 0, 2)), (-1, 30))", "x = layers.Dense(4, activation='softmax')(x)"), SERIES),
    ],
    ids=["softmax", "mean", "transpose"],
)  # fmt: skip
def test_mixed_rows_show(observe: Observe, model: str, data: str) -> None:
    assert rows(observe, model, data)["change"] > 10 * APART


def test_other_numbers_in_each_call_say_nothing(observe: Observe) -> None:
    noisy = "class Noise(layers.Layer):\n    def call(self, x):\n        return x + rng.normal()\n"
    assert (
        rows(observe, noisy + functional("(5,)", "x = layers.Dense(4, activation='softmax')(Noise()(x))"), ROWS) is None
    )
