"""Two parts of one array are passed to `fit` as inputs and targets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Subject,
    Symptom,
)

METHODS = frozenset({"fit", "evaluate", "train_on_batch", "test_on_batch"})
"""Methods whose first two arguments are inputs and targets."""


@dataclass(frozen=True, slots=True)
class Part:
    """A variable that is a `part` of the array `base`; `order` is its index in a tuple unpacking."""

    base: str
    part: str
    unpacking: ast.Assign | None = None
    order: int = 0


class FitArgumentsMixed(FixTemplate):
    """Two parts of one array are passed to `fit` as inputs and targets.

    `train_test_split(X, y)` returns the parts of `X` and then those of `y`. Unpacked or passed in another order,
    features become targets: the shapes do not match, or the network learns to map samples to other samples.

    Fix safety: unsafe. The model is trained on other pairs.

    References: sklearn.model_selection.train_test_split, keras.Model.fit (`x`, `y`).
    """

    code = "DNF114"
    name = "fit-arguments-mixed"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    message = "{method} expects inputs and targets, got {first} and {second}, two parts of the same array"
    triggers = ("fit", "evaluate", "train_on_batch")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call, first, second in _mixed(subject):
            site = subject.source.site(call)
            crashed = subject.crash is not None and any(frame.site == site for frame in subject.crash.frames)
            symptom = Symptom.CRASH if crashed else Symptom.VIOLATION if subject.ran else Symptom.NONE_OBSERVED
            yield self.finding(
                site,
                symptom=symptom,
                confidence=0.9,
                cause="crash" if crashed else "",
                evidence={"inputs": first.id, "targets": second.id},
                method=call.func.attr if isinstance(call.func, ast.Attribute) else "fit",
                first=first.id,
                second=second.id,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        mixed = list(_mixed(subject))
        parts = _parts(subject)
        unpacked = _reordered(subject, mixed, parts)
        if unpacked is not None:
            yield self.candidate(
                finding, "Unpack the parts in the order in which they are returned", unpacked, prior=0.9
            )
            return
        edits: list[Edit] = []
        base = _input_base(subject, parts)
        for _, first, second in mixed:
            one, other = parts[first.id], parts[second.id]
            wrong, like = (second, one) if one.base == base else (first, other)
            names = [n for n, p in parts.items() if p.part == like.part and p.base != like.base]
            if len(names) != 1:
                yield Decline("which variables belong together is not certain")
                return
            edits.append(Replace(subject.source.site(wrong), names[0]))
        yield self.candidate(finding, "Pass inputs and targets that belong together", *edits, prior=0.85)

    programs = """
=== example: parts unpacked in another order
import numpy as np
import keras
from sklearn.model_selection import train_test_split

X, y = np.random.rand(40, 4), np.random.rand(40)
- X_train, y_train, X_test, y_test = train_test_split(X, y, test_size=0.25)
+ X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(X_train, y_train, epochs=2)
model.evaluate(X_test, y_test)

=== example: the test inputs passed as targets
import keras
from sklearn.model_selection import train_test_split
from data import features, classes

a_train, a_test, b_train, b_test = train_test_split(features, classes)
net = keras.Sequential([keras.layers.Dense(1)])
net.compile("adam", "mse")
- net.fit(a_train, a_test, epochs=5)
+ net.fit(a_train, b_train, epochs=5)

=== example: slices of the inputs passed as targets
from tensorflow import keras
from data import table, labels

x1 = table[:100]
x2 = table[100:]
y1 = labels[:100]
y2 = labels[100:]
model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
- model.fit(x1, x2, epochs=5)
- model.evaluate(y1, y2)
+ model.fit(x1, y1, epochs=5)
+ model.evaluate(x2, y2)

=== reject: an autoencoder
import keras
from sklearn.model_selection import train_test_split
from data import images, labels

x_train, x_test, y_train, y_test = train_test_split(images, labels)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(9)])
model.compile("adam", "mse")
model.fit(x_train, x_train, validation_data=(x_test, x_test))

=== reject: columns of one table
import keras
from data import table

x, y = table[:, :8], table[:, 8]
inputs = table[:, :8]
targets = table[:, 8]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(inputs, targets)

=== reject: the next steps of a series as targets
import keras
from data import series, temperatures

past = series[:-1]
future = series[1:]
weather = temperatures[:-1]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(past, future)
"""


def _mixed(subject: Subject) -> Iterator[tuple[ast.Call, ast.Name, ast.Name]]:
    """Calls whose inputs and targets are different parts of one array, if the other array has such a part too."""
    parts = _parts(subject)
    for call in subject.source.all_calls if parts else ():
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS or len(call.args) < 2:
            continue
        first, second = call.args[:2]
        if not isinstance(first, ast.Name) or not isinstance(second, ast.Name):
            continue
        one, other = parts.get(first.id), parts.get(second.id)
        if one is None or other is None or one.base != other.base or one.part == other.part:
            continue
        if any(p.part == one.part and p.base != one.base for p in parts.values()):
            yield call, first, second


def _parts(subject: Subject) -> dict[str, Part]:
    """The variables that are parts of arrays: slices along the first axis, or results of a split."""
    found: dict[str, Part] = {}
    torn: set[str] = set()
    for node in subject.source.nodes(ast.Assign):
        if len(node.targets) != 1:
            continue
        for name, part in _assigned(subject, node, node.targets[0], node.value):
            if found.setdefault(name, part) != part:
                torn.add(name)
    return {name: part for name, part in found.items() if name not in torn}


def _assigned(subject: Subject, node: ast.Assign, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Part]]:
    if isinstance(target, ast.Name) and isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        # `series[:-1]` and `series[1:]` are a series and its next steps, on purpose
        backwards = any(isinstance(one, ast.USub) for one in ast.walk(value.slice))
        if isinstance(value.value, ast.Name) and not backwards:
            yield target.id, Part(value.value.id, ast.dump(value.slice))
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Call):
        name = subject.source.qualified(value.func) or ""
        arrays = [one for one in value.args if not isinstance(one, ast.Starred)]
        if name.endswith("train_test_split") and len(target.elts) == 2 * len(arrays) == 2 * len(value.args) > 2:
            for order, one in enumerate(target.elts):
                if isinstance(one, ast.Name):
                    yield one.id, Part(ast.dump(arrays[order // 2]), f"split {node.lineno} {order % 2}", node, order)


def _input_base(subject: Subject, parts: dict[str, Part]) -> str | None:
    """The array that the first `fit` gets its inputs from."""
    for call in subject.source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and call.args:
            first = call.args[0]
            if isinstance(first, ast.Name) and first.id in parts:
                return parts[first.id].base
    return None


def _reordered(
    subject: Subject, mixed: list[tuple[ast.Call, ast.Name, ast.Name]], parts: dict[str, Part]
) -> Edit | None:
    """The tuple unpacking with its second and third name swapped, if all calls pair the names in that order."""
    pairs = [(parts[first.id], parts[second.id]) for _, first, second in mixed]
    unpacking = pairs[0][0].unpacking if pairs else None
    if unpacking is None or any(part.unpacking is not unpacking for pair in pairs for part in pair):
        return None
    target = unpacking.targets[0]
    if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 4:
        return None
    orders = {(one.order, other.order) for one, other in pairs}
    if not orders <= {(0, 1), (2, 3)} or ((2, 3) not in orders and _used_apart(subject, target)):
        return None
    names = [subject.text(subject.source.site(one)) for one in target.elts]
    return Replace(subject.source.site(target), ", ".join((names[0], names[2], names[1], names[3])))


def _used_apart(subject: Subject, target: ast.Tuple | ast.List) -> bool:
    """Whether nothing in the program pairs the last two names, which would show the order meant."""
    names = {one.id for one in target.elts[2:] if isinstance(one, ast.Name)}
    return not any(
        names <= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        for node in ast.walk(subject.source.tree)
        if isinstance(node, (ast.Call, ast.Tuple)) and node is not target
    )
