"""The labels that a Keras model is trained on are the names of the classes, as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Mend,
    Reject,
    Source,
    Subject,
    argument_value,
    change_data,
    is_compile,
    keyword_value,
    spell,
    within,
)

SAID = ("Invalid dtype", "could not convert string", "Unrecognized data type", "tuple index out of range")
"""What Keras and its backends say of text, each in a part of its message that stays."""

TEACHING = ("fit", "evaluate", "train_on_batch", "test_on_batch")

SPLITTER = "sklearn.model_selection.train_test_split"


class LabelsAsText(CrashTemplate):
    """The labels that a Keras model is trained on are the names of the classes, as text.

    A loss computes with numbers: `sparse_categorical_crossentropy` with the number of each sample's class,
    `categorical_crossentropy` with rows that have a one there, `binary_crossentropy` with 0 and 1. The names become
    numbers in the order of the alphabet, before the labels are split into those of the training and others, so that
    every part has the same numbers. A program that has sklearn's `LabelEncoder` uses it.

    Nothing is proposed for labels of a test that do not come from the same array, since they may lack a class, and for
    losses of a regression, and where the program has an order of its own for the names (`names[net.predict(x).argmax()]`),
    which is not that of the alphabet.

    Fix safety: unsafe. The program could not run before.

    References: keras.losses.SparseCategoricalCrossentropy, numpy.unique (`return_inverse`).
    """

    code = "DNF632"
    name = "labels-as-text"
    kinds = frozenset({"ValueError", "TypeError", "IndexError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in TEACHING:
            return
        labels = argument_value(node, "y", 1)
        if labels is None or not any(said in crash.message for said in SAID) or not _is_text(subject, crash, labels):
            return
        form = _form(subject.source)
        root = _root(subject.source, labels)
        if form is None or root is None or not _one_root(subject.source, root):
            return
        if _uses(subject.source, root) and not _has_own_order(subject.source):
            yield _mend(subject, labels, root, form)

    examples = (
        Example(
            "names drawn from an array",
            """\
import keras
import numpy as np

x = np.random.rand(12, 4)
y = np.array(["cat", "dog", "cow"])[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
- net.fit(x, y, verbose=0)
+ net.fit(x, np.unique(y, return_inverse=True)[1], verbose=0)
""",
            runs=True,
        ),
        Example(
            "a part of the labels is kept for a test",
            """\
import keras
import numpy as np

x = np.random.rand(12, 4)
labels = np.array(["no", "yes"] * 6)
x_train, x_test = x[:8], x[8:]
+ labels = np.unique(labels, return_inverse=True)[1]
y_train, y_test = labels[:8], labels[8:]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
net.compile(loss="binary_crossentropy", optimizer="adam")
net.fit(x_train, y_train, validation_data=(x_test, y_test), verbose=0)
""",
            runs=True,
        ),
        Example(
            "split by sklearn, with its encoder at hand",
            """\
import keras
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder

x, kinds = np.random.rand(12, 4), np.array(["a", "b", "c"] * 4)
- x_train, x_test, kinds_train, kinds_test = train_test_split(x, kinds, random_state=0)
+ x_train, x_test, kinds_train, kinds_test = train_test_split(x, LabelEncoder().fit_transform(kinds), random_state=0)
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x_train, kinds_train, validation_data=(x_test, kinds_test), verbose=0)
""",
            runs=True,
        ),
        Example(
            "rows with a one are wanted",
            """\
import keras
import numpy as np


def train(samples, names):
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    net.compile("adam", keras.losses.CategoricalCrossentropy())
-     net.fit(samples, names, verbose=0)
+     net.fit(samples, keras.utils.to_categorical(np.unique(names, return_inverse=True)[1]), verbose=0)


train(np.random.rand(12, 4), np.array(["a", "b", "c"] * 4))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an order of the names that predictions are read by",
            """\
import keras
import numpy as np

names = ["dog", "cat", "cow"]
x, y = np.random.rand(12, 4), np.array(names)[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x, y, verbose=0)
print(names[net.predict(x[:1], verbose=0).argmax()])
""",
            runs=True,
        ),
        Reject(
            "class numbers",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(np.random.rand(12, 4), np.arange(12) % 3, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "prices as text",
            """\
import keras
import numpy as np

prices = np.array(["1.5", "2.5", "0.5", "3.0"])
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(np.random.rand(4, 4), prices, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "the samples are text",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(np.array([["good"], ["bad"]]), np.array([0, 1]), verbose=0)
""",
            runs=True,
        ),
    )


def _is_text(subject: Subject, crash: Crash, labels: ast.expr) -> bool:
    """Whether the run saw text in the labels, and numbers in the inputs."""
    call = crash.call
    site = subject.source.site(labels)
    held = crash.held_at(site)
    if held is not None and held.of == "str" and held.kind in ("list", "tuple"):
        return True
    if call is None or len(call.inputs) < 2 or call.inputs[1].site != site:
        return False
    inputs, targets = call.inputs[0].dtype or "", call.inputs[1]
    return (targets.dtype or "").startswith(("str", "<U")) and len(targets.shape or ()) == 1 and "str" not in inputs


def _form(source: Source) -> str | None:
    """What the one loss that is compiled takes: `index` of a class, or `row` with a one at it."""
    compiled = [call for call in source.all_calls if is_compile(call) and source.qualified(call.func) != "re.compile"]
    loss = argument_value(compiled[0], "loss", 1) if len(compiled) == 1 else None
    if loss is None:
        return None
    told = source.bindings(loss) if isinstance(loss, ast.Name) else (loss,)
    written = ast.unparse(told[0]).lower().replace("_", "") if len(told) == 1 else ""
    if "sparsecategoricalcrossentropy" in written or "binarycrossentropy" in written:
        return "index"
    return "row" if "categoricalcrossentropy" in written else None


def _root(source: Source, labels: ast.expr) -> ast.expr | None:
    """The labels as they were before parts of them were taken; `None` where that cannot be told."""
    for _ in range(4):
        before = _taken_from(source, labels)
        if before is None:
            return labels
        labels = before
    return None


def _taken_from(source: Source, labels: ast.expr) -> ast.expr | None:
    """The labels that these are a part of, by a slice or a split of sklearn."""
    if isinstance(labels, ast.Subscript) and isinstance(labels.slice, ast.Slice):
        return labels.value
    if not isinstance(labels, ast.Name):
        return None
    for statement in source.nodes(ast.Assign):
        target = statement.targets[0]
        if source.enclosing(statement, ast.FunctionDef) is not source.enclosing(labels, ast.FunctionDef):
            continue
        if isinstance(target, ast.Name) and target.id == labels.id:
            value = statement.value
            return value.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) else None
        if isinstance(target, ast.Tuple):
            for place, one in enumerate(target.elts):
                if isinstance(one, ast.Name) and one.id == labels.id:
                    return _of_tuple(source, statement.value, place)
    return None


def _of_tuple(source: Source, value: ast.expr, place: int) -> ast.expr | None:
    if isinstance(value, ast.Tuple) and len(value.elts) > place:
        part = value.elts[place]
        return part.value if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) else None
    if isinstance(value, ast.Call) and source.qualified(value.func) == SPLITTER and len(value.args) > place // 2:
        return value.args[place // 2]
    return None


def _one_root(source: Source, root: ast.expr) -> bool:
    """Whether all the labels that the models of the program are given come from the same array."""
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in TEACHING:
            continue
        validation = keyword_value(call, "validation_data")
        given = [argument_value(call, "y", 1)]
        if isinstance(validation, ast.Tuple) and len(validation.elts) > 1:
            given.append(validation.elts[1])
        elif validation is not None:
            return False
        for one in given:
            behind = _root(source, one) if one is not None else root
            if behind is None or ast.unparse(behind) != ast.unparse(root):
                return False
    return True


def _mend(subject: Subject, labels: ast.expr, root: ast.expr, form: str) -> Mend:
    source = subject.source
    encoder = spell(subject, "sklearn.preprocessing.LabelEncoder")
    imports: tuple[Edit, ...] = ()
    if not encoder.imports:
        before, after = f"{encoder.code}().fit_transform(", ")"
    else:
        unique = spell(subject, "numpy.unique")
        before, after, imports = f"{unique.code}(", ", return_inverse=True)[1]", unique.imports
    if form == "row":
        rows = spell(subject, "keras.utils.to_categorical")
        before, after, imports = f"{rows.code}({before}", f"{after})", (*imports, *rows.imports)
    edits: tuple[Edit, ...] = (*change_data(subject, _uses(source, root), before, after), *imports)
    site = source.site(labels)
    title = "Number the classes" if form == "index" else "Make rows of the classes"
    what = f"{subject.text(site)} has the names of classes, where the loss takes numbers"
    return Mend(site, what, ((title, edits, 0.9),))


def _uses(source: Source, root: ast.expr) -> list[ast.expr]:
    """The places where the labels are split or handed over."""
    if not isinstance(root, ast.Name):
        return [root]
    uses: list[ast.expr] = []
    for node in source.nodes(ast.Name):
        if node.id != root.id or not isinstance(node.ctx, ast.Load) or node.lineno < root.lineno:
            continue
        parent = source.parent(node)
        sliced = isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice)
        handed = isinstance(parent, ast.Call) and any(node is one for one in _labels_of(source, parent))
        validated = isinstance(parent, ast.Tuple) and isinstance(source.parent(parent), ast.keyword)
        same = source.enclosing(node, ast.FunctionDef) is source.enclosing(root, ast.FunctionDef)
        if same and (sliced or handed or validated):
            uses.append(node)
    return uses


def _labels_of(source: Source, call: ast.Call) -> list[ast.expr]:
    if source.qualified(call.func) == SPLITTER:
        return list(call.args)
    labels = argument_value(call, "y", 1)
    teaches = isinstance(call.func, ast.Attribute) and call.func.attr in TEACHING
    return [labels] if labels is not None and teaches else []


def _has_own_order(source: Source) -> bool:
    """Whether elements are asked by their number of names that are listed in another order than that of the alphabet."""
    for node in source.nodes(ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            continue
        bound = source.bindings(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else ()
        lists: list[ast.List | ast.Tuple] = []
        for one in bound:
            lists += [*within(one, ast.List), *within(one, ast.Tuple)]
        for listed in lists:
            told = [one.value for one in listed.elts if isinstance(one, ast.Constant)]
            names = [one for one in told if isinstance(one, str)]
            if len(names) > 1 and len(names) == len(listed.elts) == len(set(names)) and names != sorted(names):
                return True
    return False
