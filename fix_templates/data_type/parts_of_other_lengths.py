"""Inputs and targets are handed to a Keras model in parts that do not have the same samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Example,
    Mend,
    Reject,
    Replace,
    Source,
    Subject,
    argument_value,
    keyword_value,
    shape_of,
)

SIZES = re.compile(r"[Dd]ata cardinality is ambiguous.*?'?x'? sizes: (\d+)\s*'?y'? sizes: (\d+)\s", re.DOTALL)

TRAINING = re.compile(r"train(?:ing)?|tr|trn", re.IGNORECASE)

SPLIT = re.compile(r"train(?:ing)?|tr|trn|test(?:ing)?|te|val(?:id(?:ation)?)?|dev", re.IGNORECASE)
"""Words that names of a part of the data have, one by one."""


class PartsOfOtherLengths(CrashTemplate):
    """Inputs and targets are handed to a Keras model in parts that do not have the same samples.

    Two ways to come there can be told. The bounds of two slices differ (`x[:240]`, `y[:200]`): where another slice of
    the program goes on at one of the bounds (`x[240:]`), and none at the other, both take this one. Or the two names
    are of other parts (`x_train`, `y_test`): in a training the one that is not of the training becomes the array of the
    program that is, elsewhere the other way round, where it has as many samples.

    Everything else is declined: to cut the longer array would pair samples with the targets of others.

    Fix safety: unsafe. The program could not run before.

    References: keras.Model.fit ("Data cardinality is ambiguous").
    """

    code = "DNF636"
    name = "parts-of-other-lengths"
    kinds = frozenset({"ValueError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        said = SIZES.search(f"{crash.message} ")
        if said is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        sizes = (int(said[1]), int(said[2]))
        for inputs, targets in _pairs(node):
            seen = (_count(subject, inputs), _count(subject, targets))
            if seen not in ((None, None), sizes):
                continue
            found = _by_slices(subject, inputs, targets) or _by_names(subject, node, inputs, targets, sizes)
            if found is not None:
                old, new = found
                site = subject.source.site(old)
                part = subject.source.enclosing(old, ast.Subscript) or old
                what = f"{ast.unparse(part)} has other samples than what it is handed over with"
                yield Mend(site, what, ((f"Take {new}", (Replace(site, new),), 0.9),))
                return

    examples = (
        Example(
            "two bounds",
            """\
import keras
import numpy as np

x = np.random.rand(20, 3)
y = x.sum(1)
- x_train, y_train = x[:16], y[:12]
+ x_train, y_train = x[:16], y[:16]
x_test, y_test = x[16:], y[16:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x_train, y_train, verbose=0)
print(net.evaluate(x_test, y_test, verbose=0))
""",
            runs=True,
        ),
        Example(
            "the labels of another part",
            """\
import keras
import numpy as np


def train(net, x_train, y_train, x_val, y_val):
-     net.fit(x_train, y_val, verbose=0)
+     net.fit(x_train, y_train, verbose=0)
    return net.evaluate(x_val, y_val, verbose=0)


x, y = np.random.rand(20, 3), np.random.rand(20)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
train(net, x[:16], y[:16], x[16:], y[16:])
""",
            runs=True,
        ),
        Example(
            "data of the validation",
            """\
import keras
import numpy as np

features, prices = np.random.rand(20, 3), np.random.rand(20)
cut = 15
train_features, train_prices = features[:cut], prices[:cut]
test_features, test_prices = features[cut:], prices[cut:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
- net.fit(train_features, train_prices, validation_data=(test_features, train_prices), verbose=0)
+ net.fit(train_features, train_prices, validation_data=(test_features, test_prices), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "two bounds that each go on",
            """\
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(20)
x_train, x_test = x[:16], x[16:]
y_train, y_test = y[:12], y[12:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x_train, y_train, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "arrays of other lengths",
            """\
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(18)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x, y, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "parts of equal lengths",
            """\
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(20)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x[:16], y[:16], validation_data=(x[16:], y[16:]), verbose=0)
""",
            runs=True,
        ),
    )


def _pairs(call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The inputs and targets that a call hands over together."""
    inputs, targets = argument_value(call, "x", 0), argument_value(call, "y", 1)
    if inputs is not None and targets is not None:
        yield inputs, targets
    validation = keyword_value(call, "validation_data")
    if isinstance(validation, ast.Tuple) and len(validation.elts) == 2:
        yield validation.elts[0], validation.elts[1]


def _count(subject: Subject, data: ast.expr) -> int | None:
    shape = shape_of(subject, data)
    return shape[0] if shape else None


def _by_slices(subject: Subject, inputs: ast.expr, targets: ast.expr) -> tuple[ast.expr, str] | None:
    """The bound that differs, and the one that it has to be."""
    source = subject.source
    first, second = _slice(source, inputs), _slice(source, targets)
    if first is None or second is None:
        return None
    whole = (_count(subject, first.value), _count(subject, second.value))
    bounds = list(zip(_bounds(first), _bounds(second), strict=True))
    unlike = [(a, b) for a, b in bounds if _code(a) != _code(b)]
    if whole[0] != whole[1] or len(unlike) != 1:  # what is not known of either does not count
        return None
    one, other = unlike[0]
    if one is None or other is None:
        return None
    of = {ast.unparse(first.value), ast.unparse(second.value)}
    rest = [
        _code(bound)
        for node in source.nodes(ast.Subscript)
        if node not in (first, second) and isinstance(node.slice, ast.Slice) and ast.unparse(node.value) in of
        for bound in _bounds(node)[:2]
    ]
    goes_on = [_code(each) in rest for each in (one, other)]
    if goes_on == [True, False]:
        return other, _code(one)
    return (one, _code(other)) if goes_on == [False, True] else None


def _bounds(part: ast.Subscript) -> tuple[ast.expr | None, ...]:
    bounds = cast(ast.Slice, part.slice)
    return bounds.lower, bounds.upper, bounds.step


def _code(bound: ast.expr | None) -> str:
    return ast.unparse(bound) if bound is not None else ""


def _slice(source: Source, data: ast.expr) -> ast.Subscript | None:
    """The slice of a variable that the data are."""
    for _ in range(2):
        if isinstance(data, ast.Subscript):
            plain = isinstance(data.slice, ast.Slice) and isinstance(data.value, ast.Name)
            return data if plain else None
        bound = _bound(source, data)
        if bound is None:
            return None
        data = bound
    return None


def _bound(source: Source, data: ast.expr) -> ast.expr | None:
    """What a name is given, by itself or in a tuple, where that happens once."""
    if not isinstance(data, ast.Name):
        return None
    found: list[ast.expr] = []
    for node in source.nodes(ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and target.id == data.id:
            found.append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            found += [given for one, given in pairs if isinstance(one, ast.Name) and one.id == data.id]
    return found[0] if len(found) == 1 else None


def _by_names(
    subject: Subject, call: ast.Call, inputs: ast.expr, targets: ast.expr, sizes: tuple[int, int]
) -> tuple[ast.expr, str] | None:
    """The name that is of another part than the call is about, and the one that it has to be."""
    if not isinstance(inputs, ast.Name) or not isinstance(targets, ast.Name):
        return None
    first, second = _part(inputs.id), _part(targets.id)
    if first is None or second is None or first.lower() == second.lower():
        return None
    trains = isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
    of_fit = trains and inputs is argument_value(call, "x", 0)
    kept = [bool(TRAINING.fullmatch(part)) is of_fit for part in (first, second)]
    if kept == [True, False]:
        wrong, part, size = targets, first, sizes[0]
    elif kept == [False, True]:
        wrong, part, size = inputs, second, sizes[1]
    else:
        return None
    name = _of_part(wrong.id, part)
    frames = subject.crash.frames if subject.crash is not None else ()
    description = frames[-1].names.get(name) if frames else None
    shape = description.get("shape") if isinstance(description, dict) else None
    return (wrong, name) if isinstance(shape, list) and shape[:1] == [size] else None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"(_)|(?<=[a-z])(?=[A-Z])", name) if word]


def _part(name: str) -> str | None:
    found = [word for word in _words(name) if SPLIT.fullmatch(word)]
    return found[0] if len(found) == 1 else None


def _of_part(name: str, part: str) -> str:
    """The name with another word for its part, in the capitals that its own word has."""
    changed = [
        (part.capitalize() if word[0].isupper() else part.lower()) if SPLIT.fullmatch(word) else word
        for word in _words(name)
    ]
    return "".join(changed)
