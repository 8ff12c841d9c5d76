"""A call relies on a default that has changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Hit,
    Json,
    Replace,
    SetArgument,
    Subject,
    changed_defaults,
    era,
    spell,
    tables,
)

IN_BRACES = re.compile(r"\{([\w.]+)\}")
"""The name of a library in the code of a table, spelled as the program imports it."""


class ChangedDefault(ApiChange):
    """An older program relies on a default that changed: nothing crashes, but it computes something else.

    `Adadelta()` had the learning rate 1.0 in Keras 2 and has 0.001 today, which all but stops training; `F.dropout(x)`
    did nothing and drops values now; weights saved from a GRU no longer fit. Reported only where the program shows that
    it was written before the change: a removed name, a pinned version, Python 2. The patch states the former value.
    Where the network is trained anew and learned as well with the new default, a run reports it without a patch.
    Changes without a measurable effect are in the table and never reported.

    Fix safety: unsafe: what is trained today changes, back to what it was when the program was written; only its owner
    knows which results are wanted.

    References: `fix_templates/data/defaults.toml` has one for each default;
    https://keras.io/guides/migrating_to_keras_3/.
    """

    code = "DNF521"
    name = "changed-default"
    message = "the default of {argument} in {call} changed from {old} to {new} in {version}: {effect}. The program is older ({proof})"
    speaks_of_deprecated = True
    stands_alone = True

    def hits(self, subject: Subject) -> Iterator[Hit]:
        found: dict[str, list[tuple[changed_defaults.Reliance, era.Proof]]] = {}
        for reliance, proof in changed_defaults.relied_defaults(subject):
            found.setdefault(reliance.name, []).append((reliance, proof))
        for name, proven in found.items():
            yield _hit(subject, name, proven)
        apart: dict[str, list[tuple[changed_defaults.Reliance, era.Proof]]] = {}
        for reliance, proof in (
            changed_defaults.relied_defaults(subject, apart=True) if subject.trace is not None else ()
        ):
            apart.setdefault(reliance.name, []).append((reliance, proof))
        for name, proven in apart.items():
            yield replace(_hit(subject, name, proven), edits=(), decline=_harmless(proven), confidence=0.5)

    programs = """
=== example: the optimizer of the first tutorials
import keras
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
- model.add(Dense(10, activation="softmax", init="uniform"))
- model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adagrad())
+ model.add(Dense(10, activation="softmax", kernel_initializer="uniform"))
+ model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adagrad(learning_rate=0.01))

=== example: an optimizer by name, in a program that pins its version
# pip install keras==2.2.4
from keras.models import Sequential
from keras.layers import Dense
+ from keras.optimizers import Adadelta

model = Sequential([Dense(10, activation="softmax")])
- model.compile(loss="categorical_crossentropy", optimizer="adadelta", metrics=["accuracy"])
+ model.compile(loss="categorical_crossentropy", optimizer=Adadelta(learning_rate=1.0), metrics=["accuracy"])

=== example: a recurrent layer of Keras 1, with the weights of then
from keras.models import Sequential
from keras.layers import Dense, GRU
+ from keras.ops import clip

model = Sequential()
- model.add(GRU(output_dim=32, input_shape=(10, 4)))
+ model.add(GRU(units=32, input_shape=(10, 4), recurrent_activation=lambda x: clip(0.2 * x + 0.5, 0.0, 1.0), reset_after=False))
model.add(Dense(1))
model.load_weights("gru.h5")

=== example: sampling on a grid with a PyTorch of before
# Tested with PyTorch 0.4.1
import torch
import torch.nn.functional as F


def warp(x, flow):
    steps = torch.linspace(-1, 1, 8)
-     return F.grid_sample(x, torch.stack([steps, steps], -1) + flow)
+     return F.grid_sample(x, torch.stack([steps, steps], -1) + flow, align_corners=True)

=== example: initial weights of TensorFlow 1
import tensorflow as tf

flags = tf.contrib.training.HParams(width=3)
- initial = tf.random_normal_initializer()
+ initial = tf.random_normal_initializer(stddev=1.0)

=== reject: a program of today
import keras

model = keras.Sequential([keras.Input((10, 4)), keras.layers.GRU(32), keras.layers.Dense(1)])
model.compile(loss="mse", optimizer=keras.optimizers.Adagrad())

=== reject: a program of before that states the value
from keras.models import Sequential
from keras.layers import Dense
from keras.optimizers import Adadelta

model = Sequential()
model.add(Dense(10, init="uniform"))
model.compile(loss="mse", optimizer=Adadelta(lr=0.5, rho=0.9, epsilon=1e-6))

=== reject: what is gone went after the default had changed
# Tested with Keras 2.6
from keras.models import Sequential
from keras.layers.core import Dense

model = Sequential([Dense(10)])
model.compile(loss="mse", optimizer="adadelta")

=== reject: a recurrent layer that is trained anew learns as well as before
from keras.models import Sequential
from keras.layers import Dense, LSTM

model = Sequential([LSTM(output_dim=32, input_shape=(10, 4)), Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, nb_epoch=5)

=== reject: both ends of a spatial transformer changed alike
# Tested with PyTorch 0.4.1
import torch.nn.functional as F


def transform(x, theta):
    return F.grid_sample(x, F.affine_grid(theta, x.size()))

=== reject: the nearest neighbour has no corners
# Tested with PyTorch 0.3.1
import torch.nn.functional as F


def larger(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")
"""


def _hit(subject: Subject, name: str, proven: list[tuple[changed_defaults.Reliance, era.Proof]]) -> Hit:
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
                "since": f"{era.NAMES[reliance.package]} {reliance.since}",
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
        what=f"{said}{also}. The program is older ({shown})",
        title="state " + ", ".join(dict.fromkeys(f"{r.change.argument} of {last} as it was" for r in each)),
        edits=tuple(dict.fromkeys(edits)),
        deprecated=True,
        removed={first.package: first.since},
        evidence=evidence,
        confidence=0.8,
        within=site,
    )


def _harmless(proven: list[tuple[changed_defaults.Reliance, era.Proof]]) -> str:
    """Why a change is only reported."""
    first = proven[0][0].change
    stated = " and ".join(dict.fromkeys(reliance.change.argument for reliance, _ in proven))
    return (
        f"without {' or '.join(first.beside[:2])} in the program the network is trained from scratch, and learned as well in "
        f"measurements; pass {stated} to keep the old default"
    )


def _said(last: str, reliance: changed_defaults.Reliance) -> str:
    """A change in words."""
    change, when = reliance.change, f"{era.NAMES[reliance.package]} {reliance.since}"
    if change.given:
        return f"{change.given!r} in {last} changed its meaning from {change.old} to {change.new} in {when}: {change.effect}"
    return f"the default of {change.argument} in {last} changed from {change.old} to {change.new} in {when}: {change.effect}"


def _stated(subject: Subject, node: ast.Call | ast.Constant, name: str, changes: list[tables.Change]) -> Iterator[Edit]:
    """The edits that state the former defaults in a call."""
    site = subject.source.site(node)
    codes: list[tuple[tables.Change, str]] = []
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


def _spelled(call: ast.Call, change: tables.Change) -> str:
    """The keyword to set: today's, unless the call uses a former name."""
    return next((k.arg for k in call.keywords if k.arg in change.also), None) or change.argument


def _code(subject: Subject, change: tables.Change) -> tuple[str, list[AddImport]]:
    imports: list[AddImport] = []

    def spelled(match: re.Match[str]) -> str:
        spelling = spell(subject, match[1])
        imports.extend(spelling.imports)
        return spelling.code

    return IN_BRACES.sub(spelled, change.write or change.old), imports
