"""A call that leaves out an argument whose default is another one today, or a seed that nothing hears today."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    PACKAGE_NAMES,
    AddImport,
    ApiChange,
    DefaultChange,
    Edit,
    Example,
    Hit,
    Json,
    Proof,
    Reject,
    Reliance,
    Replace,
    SetArgument,
    Subject,
    argument_value,
    older,
    relied_defaults,
    spell,
)

IN_BRACES = re.compile(r"\{([\w.]+)\}")
"""A name of a library in the code that a table gives, to be spelled as the program's imports have it."""

NUMPY = ("numpy.random.seed",)
TENSORFLOW = (
    "tensorflow.set_random_seed",
    "tensorflow.random.set_seed",
    "tensorflow.random.set_random_seed",
    "tensorflow.compat.v1.set_random_seed",
)
HEARD = ("keras.utils.set_random_seed", "random.seed")
"""Keras 3 takes the seeds of layers from Python's own generator, so that this one is heard as well."""


class ChangedDefault(ApiChange):
    """A program of before relies on a default that changed: nothing stops, and what is trained is something else.

    `Adadelta()` had the learning rate 1.0 in Keras 2 and has 0.001 today, which all but stops the training;
    `F.dropout(x)` did nothing and drops values now; weights saved from a GRU no longer fit. A program is told of it only
    where something in it shows that it was written before the change: a name that is gone, a pinned version, Python 2.
    What changed is said with the numbers of the table, and the patch states the former value, with the rest of the
    migration. Where a network is trained anew with gates of another form, a run tells of it, and nothing is changed.
    Changes without an effect that could be measured are in the table, and nobody is told.

    The generator behind the weights changed as well. Up to Keras 2.3 a seed for NumPy fixed weights and dropout, up to
    Keras 2.15 a seed for TensorFlow did. Keras 3 draws from generators of its own, which only `keras.utils.set_random_seed`
    (and Python's `random.seed`) reaches. A program that was made repeatable by `np.random.seed(7)` runs as ever and gives
    other numbers each time: five runs of a small network were 0 points of accuracy apart in Keras 2.3 and with
    `set_random_seed`, and 26 points without.

    Fix safety: unsafe: other weights are drawn with a seed than without it, and what is trained today changes, back to what it was when the program was written; whether
    results of then or of today are wanted, only its owner knows.

    References: `fix_templates/data/defaults.toml` gives one for each default; https://keras.io/guides/migrating_to_keras_3/;
    https://keras.io/api/utils/python_utils/#setrandomseed-function.
    """

    code = "DNF521"
    name = "changed-default"
    formerly = ("DNF522", "seed-not-heard")
    speaks_of_deprecated = True
    stands_alone = True

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """What the table of defaults says of the program's calls."""
        found: dict[str, list[tuple[Reliance, Proof]]] = {}
        for reliance, proof in relied_defaults(subject):
            found.setdefault(reliance.name, []).append((reliance, proof))
        for name, proven in found.items():
            yield _hit(subject, name, proven)
        apart: dict[str, list[tuple[Reliance, Proof]]] = {}
        for reliance, proof in relied_defaults(subject, apart=True) if subject.trace is not None else ():
            apart.setdefault(reliance.name, []).append((reliance, proof))
        for name, proven in apart.items():
            yield replace(_hit(subject, name, proven), edits=(), decline=_harmless(proven), confidence=0.5)
        yield from _seeds(subject)

    examples = (
        Example(
            "the optimizer of the first tutorials",
            """\
import keras
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
- model.add(Dense(10, activation="softmax", init="uniform"))
- model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adagrad())
+ model.add(Dense(10, activation="softmax", kernel_initializer="uniform"))
+ model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adagrad(learning_rate=0.01))
""",
        ),
        Example(
            "an optimizer given by name, in a program that pins its version",
            """\
# pip install keras==2.2.4
from keras.models import Sequential
from keras.layers import Dense
+ from keras.optimizers import Adadelta

model = Sequential([Dense(10, activation="softmax")])
- model.compile(loss="categorical_crossentropy", optimizer="adadelta", metrics=["accuracy"])
+ model.compile(loss="categorical_crossentropy", optimizer=Adadelta(learning_rate=1.0), metrics=["accuracy"])
""",
        ),
        Example(
            "a recurrent layer of Keras 1, with the weights of then",
            """\
from keras.models import Sequential
from keras.layers import Dense, GRU
+ from keras.ops import clip

model = Sequential()
- model.add(GRU(output_dim=32, input_shape=(10, 4)))
+ model.add(GRU(units=32, input_shape=(10, 4), recurrent_activation=lambda x: clip(0.2 * x + 0.5, 0.0, 1.0), reset_after=False))
model.add(Dense(1))
model.load_weights("gru.h5")
""",
        ),
        Example(
            "sampling on a grid with a PyTorch of before",
            """\
# Tested with PyTorch 0.4.1
import torch
import torch.nn.functional as F


def warp(x, flow):
    steps = torch.linspace(-1, 1, 8)
-     return F.grid_sample(x, torch.stack([steps, steps], -1) + flow)
+     return F.grid_sample(x, torch.stack([steps, steps], -1) + flow, align_corners=True)
""",
        ),
        Example(
            "initial weights of TensorFlow 1",
            """\
import tensorflow as tf

flags = tf.contrib.training.HParams(width=3)
- initial = tf.random_normal_initializer()
+ initial = tf.random_normal_initializer(stddev=1.0)
""",
        ),
        Example(
            "a tutorial of Keras 1",
            """\
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
""",
        ),
        Example(
            "seeds for NumPy and TensorFlow",
            """\
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
""",
        ),
        Example(
            "tf.keras of TensorFlow 2, pinned",
            """\
# pip install tensorflow==2.4.1
import numpy as np
import tensorflow as tf
from tensorflow import keras

- tf.random.set_seed(1)
+ keras.utils.set_random_seed(1)
np.random.seed(2)
x = tf.random.normal((9, 2)) + np.random.rand(9, 2)
model = keras.Sequential([keras.layers.Dense(3)])
""",
        ),
    )
    rejects = (
        Reject(
            "a program of today",
            """\
import keras

model = keras.Sequential([keras.Input((10, 4)), keras.layers.GRU(32), keras.layers.Dense(1)])
model.compile(loss="mse", optimizer=keras.optimizers.Adagrad())
""",
        ),
        Reject(
            "a program of before that states the value",
            """\
from keras.models import Sequential
from keras.layers import Dense
from keras.optimizers import Adadelta

model = Sequential()
model.add(Dense(10, init="uniform"))
model.compile(loss="mse", optimizer=Adadelta(lr=0.5, rho=0.9, epsilon=1e-6))
""",
        ),
        Reject(
            "what is gone went after the default had changed",
            """\
# Tested with Keras 2.6
from keras.models import Sequential
from keras.layers.core import Dense

model = Sequential([Dense(10)])
model.compile(loss="mse", optimizer="adadelta")
""",
        ),
        Reject(
            "a recurrent layer that is trained anew learns as well as before",
            """\
from keras.models import Sequential
from keras.layers import Dense, LSTM

model = Sequential([LSTM(output_dim=32, input_shape=(10, 4)), Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, nb_epoch=5)
""",
        ),
        Reject(
            "both ends of a spatial transformer changed alike",
            """\
# Tested with PyTorch 0.4.1
import torch.nn.functional as F


def transform(x, theta):
    return F.grid_sample(x, F.affine_grid(theta, x.size()))
""",
        ),
        Reject(
            "the nearest neighbour has no corners",
            """\
# Tested with PyTorch 0.3.1
import torch.nn.functional as F


def larger(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")
""",
        ),
        Reject(
            "a program of today that seeds its data",
            """\
import keras
import numpy as np

np.random.seed(7)
x = np.random.rand(100, 4)
model = keras.Sequential([keras.layers.Dense(3)])
""",
        ),
        Reject(
            "all generators are seeded",
            """\
import random

import numpy as np
from keras.models import Sequential
from keras.layers import Dense

random.seed(7)
np.random.seed(7)
model = Sequential()
model.add(Dense(12, input_dim=8, init="uniform"))
""",
        ),
        Reject(
            "NumPy's seed was not heard by tf.keras either",
            """\
# pip install tensorflow==2.4.1
import numpy as np
from tensorflow import keras

np.random.seed(1)
model = keras.Sequential([keras.layers.Dense(3)])
""",
        ),
        Reject(
            "no seed is given",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

np.random.seed(None)
model = Sequential([Dense(12, init="uniform")])
""",
        ),
    )


def _hit(subject: Subject, name: str, proven: list[tuple[Reliance, Proof]]) -> Hit:
    source = subject.source
    each = {r.change.argument + r.change.given: r for r, _ in proven}.values()
    nodes = list(dict.fromkeys(reliance.node for reliance, _ in proven))
    first, proof = proven[0]
    site = source.site(first.node)
    edits: list[Edit] = []
    for node in nodes:
        edits += _stated(subject, node, name, [r.change for r, _ in proven if r.node is node])
    last = name.rpartition(".")[2]
    also = f" (and {len(nodes) - 1} more such call{'s' if len(nodes) > 2 else ''})" if len(nodes) > 1 else ""
    shown = str(proof)
    evidence: dict[str, Json] = {
        "defaults": [
            {
                "argument": reliance.change.argument,
                "old": reliance.change.old,
                "new": reliance.change.new,
                "since": f"{PACKAGE_NAMES[reliance.package]} {reliance.since}",
                "effect": reliance.change.effect,
                "reference": reliance.change.reference,
            }
            for reliance in each
        ],
        "era": shown,
    }
    said = "; ".join(_said(last, reliance) for reliance in each)
    return Hit(
        site=site,
        what=f"{said}{also}. The program is from before ({shown})",
        title="state " + ", ".join(dict.fromkeys(f"{r.change.argument} of {last} as it was" for r in each)),
        edits=tuple(dict.fromkeys(edits)),
        deprecated=True,
        removed={first.package: first.since},
        evidence=evidence,
        confidence=0.8,
        within=site,
    )


def _harmless(proven: list[tuple[Reliance, Proof]]) -> str:
    """Why a change is only told of."""
    first = proven[0][0].change
    stated = " and ".join(dict.fromkeys(reliance.change.argument for reliance, _ in proven))
    return (
        f"without {' or '.join(first.beside[:2])} in the program the network is trained anew, and learned as well where it "
        f"was measured; state {stated} to have it as it was"
    )


def _said(last: str, reliance: Reliance) -> str:
    """A change in words."""
    change, when = reliance.change, f"{PACKAGE_NAMES[reliance.package]} {reliance.since}"
    if change.given:
        return f"{change.given!r} in {last} means {change.new} since {when} and meant {change.old}: {change.effect}"
    return f"{change.argument} of {last} is {change.new} since {when} and was {change.old}: {change.effect}"


def _stated(subject: Subject, node: ast.Call | ast.Constant, name: str, changes: list[DefaultChange]) -> Iterator[Edit]:
    """The edits by which a call says what was left to the default."""
    site = subject.source.site(node)
    codes: list[tuple[DefaultChange, str]] = []
    for change in changes:
        code, imports = _code(subject, change)
        yield from imports
        codes.append((change, code))
    if isinstance(node, ast.Call):
        for change, code in codes:
            yield SetArgument(site, _spelled(node, change), code, change.position if change.given else None)
        return
    optimizer = spell(subject, name)
    yield from optimizer.imports
    yield Replace(site, f"{optimizer.code}({', '.join(f'{change.argument}={code}' for change, code in codes)})")


def _spelled(call: ast.Call, change: DefaultChange) -> str:
    """The keyword to set: the one of today, unless the call gives the argument under a former name."""
    return next((k.arg for k in call.keywords if k.arg in change.also), None) or change.argument


def _code(subject: Subject, change: DefaultChange) -> tuple[str, list[AddImport]]:
    imports: list[AddImport] = []

    def spelled(match: re.Match[str]) -> str:
        spelling = spell(subject, match[1])
        imports.extend(spelling.imports)
        return spelling.code

    return IN_BRACES.sub(spelled, change.write or change.old), imports


def _seeds(subject: Subject) -> Iterator[Hit]:
    """The first seed of a program whose networks no longer hear it."""
    source = subject.source
    if "keras" not in source.frameworks or source.words.isdisjoint(("seed", "set_seed", "set_random_seed")):
        return
    standalone = any(module.partition(".")[0] == "keras" for _, module in source.imported_names)
    of_numpy = [call for call in source.calls(*NUMPY) if _given_seed(call)] if standalone else []
    of_tensorflow = [call for call in source.calls(*TENSORFLOW) if _given_seed(call)]
    if not (of_numpy or of_tensorflow) or any(True for _ in source.calls(*HEARD)) or not _builds(subject):
        return
    if standalone:
        proof = older(subject, "keras", "3.0" if of_tensorflow else "2.4")
    else:
        proof = older(subject, "tensorflow", "2.16")
    if proof is None:
        return
    call = (of_numpy or of_tensorflow)[0]
    setting = spell(subject, "keras.utils.set_random_seed")
    edits: list[AddImport | Replace] = [*setting.imports]
    site = source.site(call)
    edits.append(Replace(site, f"{setting.code}({subject.text(source.site(_given_seed(call) or call))})"))
    yield Hit(
        site,
        f"{subject.text(source.site(call.func))} does not reach the weights and the dropout of Keras 3, and did before: "
        "runs that were alike are up to 26 points of accuracy apart where it was measured. "
        f"The program is from before ({proof})",
        title="seed Python, NumPy and Keras together",
        edits=tuple(edits),
        deprecated=True,
        removed={"keras": "3.0"},
        evidence={"era": str(proof)},
        confidence=0.8,
    )


def _given_seed(call: ast.Call) -> ast.expr | None:
    """The seed that a call is given, where it is a whole number or has a name."""
    given = argument_value(call, "seed", 0)
    number = isinstance(given, ast.Constant) and type(given.value) is int
    return given if number or isinstance(given, ast.Name) else None


def _builds(subject: Subject) -> bool:
    """Whether the program builds layers of Keras."""
    names = (subject.source.qualified(call.func) for call in subject.source.all_calls)
    return any(name is not None and name.startswith("keras.layers.") for name in names)
