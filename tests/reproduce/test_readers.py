"""Functions that are nowhere and whose results are data."""

from __future__ import annotations

import pytest

from dnnfix.records import EditStep
from dnnfix.reproduce.actions import imports, input_data
from dnnfix.reproduce.case import Case, Gap
from dnnfix.source.program import Source

NETWORK = """
import keras
from keras import layers, utils
model = keras.Sequential([keras.Input((30,)), layers.Dense(8, activation="relu"), layers.Dense(4, activation="softmax")])
model.compile("adam", "categorical_crossentropy")
"""


def made(code: str) -> list[EditStep]:
    """The steps that make data or modules for a program."""
    case = Case(Source.from_bytes(code.encode(), "program.py"), (), lambda name: name in ("keras", "numpy"))
    found = [*imports.steps(case), *input_data.steps(case)]
    assert not [gap for gap in found if isinstance(gap, Gap)], found
    return [step for step in found if isinstance(step, EditStep)]


@pytest.mark.parametrize(
    "reads",
    [
        "x, y = read_data('train/')\nmodel.fit(x, utils.to_categorical(y, 4))",
        "(x, y), (vx, vy) = load_data()\nmodel.fit(x, y, validation_data=(vx, vy))",
        "x, y, vx, vy, vocabulary_size = get_splits(0.2)\nmodel.fit(x, y, validation_data=(vx, vy))",
        "from data_helpers import load_set\nx, y = load_set('train')\nvx, vy = load_set('test')\nmodel.fit(x, y)\nmodel.evaluate(vx, vy)",
        "import mylib\ndata = mylib.fetch()\nmodel.fit(data['x_train'], data['y_train'])",
        "model.fit_generator(train_generator(32), steps_per_epoch=2)",
        "for x, y in batches_of_data():\n    model.train_on_batch(x, y)",
    ],
)
def test_a_function_that_reads_is_made_from_what_becomes_of_its_results(reads: str) -> None:
    (step,) = made(NETWORK + reads)
    assert "made_function(" in step.scaffold.start
    assert "(30,)" in step.scaffold.start


@pytest.mark.parametrize(
    "reads",
    [
        "x = preprocess_data(3)\nprint(x)",
        "def read_data(path):\n    return 1, 2\nx, y = raed_data('a')\nmodel.fit(x, y)",
        "def run(x, y):\n    model.fit(smooth(x), y)",
        "def run(x, y):\n    model.fit(load_part(x), y)",
    ],
)
def test_other_functions_are_left_alone(reads: str) -> None:
    assert not [step for step in made(NETWORK + reads) if "made_function" in step.scaffold.start]


@pytest.mark.parametrize("name", ["read_csv", "loadtxt", "load", "imread"])
def test_a_reader_of_a_library_misses_its_import(name: str) -> None:
    code = f"{NETWORK}x = {name}('x.csv')\ny = {name}('y.csv')\nmodel.fit(x, y)\n"
    case = Case(Source.from_bytes(code.encode(), "program.py"), (), lambda name: name in ("keras", "numpy", "pandas"))
    (found,) = [*imports.steps(case), *input_data.steps(case)]
    said = found.what
    assert ("is imported" in said) == (name in ("read_csv", "loadtxt")) and ("nothing binds" in said) != (
        "is imported" in said
    )


def test_samples_that_are_taken_by_their_places_are_there() -> None:
    code = (
        "import numpy as np\nx = np.load('a.npy')\ny = np.load('b.npy')\n"
        "model.fit(x[0:1500, :], utils.to_categorical(y[:1500], 4))\nmodel.evaluate(x[1500:2000, :], y[1500:2000])\n"
        "print(x[3].reshape(5, 6))"
    )
    for step in made(NETWORK + code):
        assert "made_pair(2000, (30,), 'classes', 4" in step.scaffold.start


def test_files_of_an_autoencoder_hold_the_same_kind_of_things() -> None:
    network = "import keras\nfrom keras import layers\nm = keras.Sequential([keras.Input((200,)), layers.Dense(9), layers.Dense(200)])\n"
    code = (
        "m.compile('sgd', 'mse')\nimport numpy as np\na = np.load('noisy.npy')\nb = np.load('clean.npy')\nm.fit(a, b)"
    )
    x, y = (step.scaffold.start for step in made(network + code))
    assert "(200,), 'same'" in x
    assert "(200,), 'same'" in y
