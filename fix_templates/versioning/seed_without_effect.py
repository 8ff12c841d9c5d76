"""`np.random.seed(7)` seeded the weights of Keras networks, and does not in Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import AddImport, ApiChange, Hit, Replace, Subject, argument_value, era, spell

NUMPY = ("numpy.random.seed",)
TENSORFLOW = (
    "tensorflow.set_random_seed",
    "tensorflow.random.set_seed",
    "tensorflow.random.set_random_seed",
    "tensorflow.compat.v1.set_random_seed",
)
HEARD = ("keras.utils.set_random_seed", "random.seed")
"""Keras 3 draws the seeds of layers from Python's generator, so `random.seed` works as well."""


class SeedWithoutEffect(ApiChange):
    """A seed for NumPy (up to Keras 2.3) or TensorFlow (up to 2.15) fixed weights and dropout; in Keras 3 it does not.

    Keras 3 has its own generators, which only `keras.utils.set_random_seed` and Python's `random.seed` reach. An older
    program that was reproducible with `np.random.seed(7)` still runs, and returns other numbers each time: five runs of
    a small network differed by 0 points of accuracy in Keras 2.3 and with `set_random_seed`, and by 26 points without.
    Reported only where the program shows that it was written before.

    Fix safety: unsafe: other weights are drawn than without it, though always the same.

    References: https://keras.io/api/utils/python_utils/#setrandomseed-function.
    """

    code = "DNF522"
    name = "seed-without-effect"
    formerly = ("seed-not-heard",)
    message = (
        "{function} does not seed the weights and the dropout of Keras 3, as it did before: identical runs differ by up to "
        "26 points of accuracy in measurements. The program is older ({proof})"
    )
    speaks_of_deprecated = True
    stands_alone = True
    triggers = ("seed", "set_seed", "set_random_seed")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks or source.words.isdisjoint(self.triggers):
            return
        standalone = any(module.partition(".")[0] == "keras" for _, module in source.imported_names)
        of_numpy = [call for call in source.calls(*NUMPY) if _seed(call)] if standalone else []
        of_tensorflow = [call for call in source.calls(*TENSORFLOW) if _seed(call)]
        if not (of_numpy or of_tensorflow) or any(True for _ in source.calls(*HEARD)) or not _builds(subject):
            return
        if standalone:
            proof = era.older(subject, "keras", "3.0" if of_tensorflow else "2.4")
        else:
            proof = era.older(subject, "tensorflow", "2.16")
        if proof is None:
            return
        call = (of_numpy or of_tensorflow)[0]
        setting = spell(subject, "keras.utils.set_random_seed")
        edits: list[AddImport | Replace] = [*setting.imports]
        site = source.site(call)
        edits.append(Replace(site, f"{setting.code}({subject.text(source.site(_seed(call) or call))})"))
        yield Hit(
            site,
            self.message.format(function=subject.text(source.site(call.func)), proof=proof),
            title="seed Python, NumPy and Keras together",
            edits=tuple(edits),
            deprecated=True,
            removed={"keras": "3.0"},
            evidence={"era": str(proof)},
            confidence=0.8,
        )

    programs = """
=== example: a tutorial of Keras 1
from keras.models import Sequential
from keras.layers import Dense
import numpy as np
+ import keras

# fix random seed for reproducibility
- np.random.seed(7)
+ keras.utils.set_random_seed(7)
dataset = np.loadtxt("pima.csv", delimiter=",")
model = Sequential()
- model.add(Dense(12, input_dim=8, init="uniform", activation="relu"))
+ model.add(Dense(12, input_dim=8, kernel_initializer="uniform", activation="relu"))

=== example: seeds for NumPy and TensorFlow
import numpy
import tensorflow as tf
import keras
- from keras.layers.core import Dense
+ from keras.layers import Dense

SEED = 42
- numpy.random.seed(SEED)
+ keras.utils.set_random_seed(SEED)
x = numpy.random.rand(9, 2)
- tf.set_random_seed(SEED)
+ tf.random.set_seed(SEED)
model = keras.models.Sequential([Dense(3)])

=== example: tf.keras of TensorFlow 2, pinned
# pip install tensorflow==2.4.1
import numpy as np
import tensorflow as tf
from tensorflow import keras

- tf.random.set_seed(1)
+ keras.utils.set_random_seed(1)
np.random.seed(2)
x = tf.random.normal((9, 2)) + np.random.rand(9, 2)
model = keras.Sequential([keras.layers.Dense(3)])

=== reject: a program of today that seeds its data
import keras
import numpy as np

np.random.seed(7)
x = np.random.rand(100, 4)
model = keras.Sequential([keras.layers.Dense(3)])

=== reject: all generators are seeded
import random

import numpy as np
from keras.models import Sequential
from keras.layers import Dense

random.seed(7)
np.random.seed(7)
model = Sequential()
model.add(Dense(12, input_dim=8, init="uniform"))

=== reject: NumPy's seed was not heard by tf.keras either
# pip install tensorflow==2.4.1
import numpy as np
from tensorflow import keras

np.random.seed(1)
model = keras.Sequential([keras.layers.Dense(3)])

=== reject: no seed
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

np.random.seed(None)
model = Sequential([Dense(12, init="uniform")])
"""


def _seed(call: ast.Call) -> ast.expr | None:
    """The seed of a call, where it is an integer or a name."""
    given = argument_value(call, "seed", 0)
    number = isinstance(given, ast.Constant) and type(given.value) is int
    return given if number or isinstance(given, ast.Name) else None


def _builds(subject: Subject) -> bool:
    """Whether the program creates layers of Keras."""
    names = (subject.source.qualified(call.func) for call in subject.source.all_calls)
    return any(name is not None and name.startswith("keras.layers.") for name in names)
