"""What programs and reports say about shapes, with the place of each clue; what contradicts itself is found."""

from __future__ import annotations

import pytest

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import clues
from dnnfix.source.program import Source


def case(code: str, said: str = "") -> Case:
    return Case(Source.from_bytes(code.encode(), "program.py"), (), lambda name: True, said=said)


@pytest.mark.parametrize(
    ("code", "name", "shape", "line"),
    [
        ("x = load()  # (60000, 28, 28)\n", "x", (60000, 28, 28), 1),
        ("# x: [batch, 3, 224, 224]\nf(x)\n", "x", (None, 3, 224, 224), 1),
        ("data = load()  # 1000 x 784\n", "data", (1000, 784), 1),
        ("print(y.shape)\n# (60000,)\n", "y", (60000,), 2),
        ("print(x_train.shape)  # => (25000, 80)\n", "x_train", (25000, 80), 1),
        ("steps = 50\n'''\nX has shape (100, steps, 7)\n'''\n", "X", (100, 50, 7), 3),
        ("f(images)  # images.size() is torch.Size([64, 1, 28, 28])\n", "images", (64, 1, 28, 28), 1),
    ],
)
def test_comments_and_docstrings(code: str, name: str, shape: clues.Shape, line: int) -> None:
    (clue,) = clues.shapes_of(case(code), name)
    assert clue.shape == shape
    assert clue.line == line and f"line {line}" in clue.evidence


@pytest.mark.parametrize(
    ("said", "name", "shape"),
    [
        ("My x_train is (203158, 1506) and more.", "x_train", (203158, 1506)),
        ("x_train.shape: (100, 20)", "x_train", (100, 20)),
        ("The shape of my `x_train` data is (100, 20).", "x_train", (100, 20)),
        (
            "ValueError: Error when checking input: expected lstm_1_input to have 3 dimensions, but got array with shape (9, 4)",
            clues.INPUTS,
            (9, 4),
        ),
        (
            "ValueError: Error when checking model target: expected dense_2 to have shape (None, 10) but got array with shape (60, 1)",
            clues.TARGETS,
            (60, 1),
        ),
        ("ValueError: Target size (torch.Size([64])) must be the same as input size", clues.TARGETS, (64,)),
    ],
)
def test_reports(said: str, name: str, shape: clues.Shape) -> None:
    found = clues.messages(case("", said), name) if name.startswith("<") else clues.shapes_of(case("", said), name)
    assert [clue.shape for clue in found] == [shape]
    assert "the report" in found[0].evidence


@pytest.mark.parametrize(
    "comment", ["see section (3, 4)", "lr (0.1, 0.2)", "call f(x, y) here", "x (as before)", "done"]
)
def test_what_is_no_shape(comment: str) -> None:
    assert clues.shapes_of(case(f"f(x)  # {comment}\n"), "x") == []


def test_what_is_said_after_the_name_is_bound_again_is_another_thing() -> None:
    code = "print(x.shape)  # (60000, 28, 28)\nx = x.reshape(60000, 784)\nprint(x.shape)  # (60000, 784)\n"
    assert [clue.shape for clue in clues.shapes_of(case(code), "x")] == [(60000, 28, 28)]


def test_contradictory_shapes_are_found_and_other_counts_of_samples_are_none() -> None:
    first, second = clues.Clue((60, 28, 28), "a"), clues.Clue((50, 28, 28), "b")
    third = clues.Clue((60, 784), "c")
    assert clues.contradiction([first, second]) is None
    assert clues.contradiction([first, second, third]) == (first, third)


KERAS = """
from keras.models import Sequential
from keras.layers import *
model = Sequential()
{layers}
model.compile(loss={loss!r}, optimizer='sgd')
"""


@pytest.mark.parametrize(
    ("layers", "loss", "inputs", "outputs", "form"),
    [
        ("model.add(Dense(4, input_dim=8))\nmodel.add(Dense(1))", "mse", (8,), 1, "values"),
        ("model.add(Dense(4, input_shape=(8,)))\nmodel.add(Dense(3))", "categorical_crossentropy", (8,), 3, "one-hot"),
        ("model.add(LSTM(4, input_shape=(50, 7)))\nmodel.add(Dense(1))", "binary_crossentropy", (50, 7), 1, "binary"),
        ("model.add(Conv2D(4, 3, input_shape=(9, 9, 1)))\nmodel.add(Flatten())\nmodel.add(Dense(5))",
         "sparse_categorical_crossentropy", (9, 9, 1), 5, "classes"),
        ("model.add(Dense(4, input_dim=8))\nmodel.add(Dense(6))", "binary_crossentropy", (8,), 6, "labels"),
    ],
)  # fmt: skip
def test_the_ends_of_a_keras_network(layers: str, loss: str, inputs: clues.Shape, outputs: int, form: str) -> None:
    ends = clues.ends(case(KERAS.format(layers=layers, loss=loss)).source)
    assert (ends.inputs, ends.outputs, ends.form) == (inputs, outputs, form)


def test_the_ends_of_a_torch_network() -> None:
    code = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(1352, 10)
    def forward(self, x):
        return self.fc(self.pool(torch.relu(self.conv(x))).flatten(1))
net = Net()
loss = nn.CrossEntropyLoss()(net(images), labels)
"""
    ends = clues.ends(case(code).source)
    assert (ends.inputs, ends.outputs, ends.form) == ((1, 28, 28), 10, "classes")


def test_a_snippet_without_imports_has_its_ends_as_well() -> None:
    code = "model = Sequential()\nmodel.add(LSTM(5, input_shape=(None, 1506)))\nmodel.compile(loss='mse')\n"
    ends = clues.ends(case(code).source)
    assert (ends.inputs, ends.outputs, ends.form) == ((None, 1506), 5, "values")


def test_an_embedding_takes_token_ids() -> None:
    layers = "model.add(Embedding(2000, 16, input_length=30))\nmodel.add(Flatten())\nmodel.add(Dense(1))"
    ends = clues.ends(case(KERAS.format(layers=layers, loss="binary_crossentropy")).source)
    assert (ends.inputs, ends.vocabulary) == ((30,), 2000)
