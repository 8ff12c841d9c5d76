"""A network gets a list of samples or a sparse matrix instead of an array."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    Family,
    Fault,
    FixPattern,
    Json,
    Repairs,
    ShapeTemplate,
    Site,
    Source,
    Subject,
    Wrap,
    data_edits,
    held_values,
    keyword_value,
    tensor_axes,
    words,
)

METHODS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})

COUNTED = re.compile(r"expects? (\d+) (?:named )?input\(s\)(?: with keys [^,]*)?, but it received (\d+) input")
"""The message of Keras for a list whose length is not the number of inputs."""

SPARSE = re.compile(r"\b(csr|csc|coo|lil|dok|bsr|dia)_(matrix|array)\b|sparse (matrix|array) length", re.IGNORECASE)

TAKING = words("fit train_on_batch test_on_batch evaluate predict predict_on_batch predict_proba")

TORCH = ("torch.tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor", "torch.as_tensor")


class BatchNotAsArray(ShapeTemplate):
    """A network gets a list of samples or a sparse matrix where it expects one array.

    Keras reads a list as one array per input of the model. Samples of equal shape become one array with the batch axis
    first. The matrix of a `TfidfVectorizer` or `OneHotEncoder` is sparse: it is converted where the batch is passed, so
    that the whole matrix stays sparse.

    Fix safety: unsafe. The same numbers are copied into one dense array, which takes more memory.

    References: keras.Model.fit (`x`: "a list of arrays, in case the model has multiple inputs"), numpy.array,
    scipy.sparse.csr_matrix.toarray, sklearn.feature_extraction.text.TfidfVectorizer.
    """

    code = "DNF143"
    name = "batch-not-as-array"
    formerly = ("list-of-samples", "DNF163", "sparse-matrix-as-batch")
    message = "the batch is not an array: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING

    def explain(self, subject: Subject) -> Iterator[Fault]:
        crash = subject.crash
        node = subject.node(crash.site) if crash is not None else None
        if crash is None or crash.site is None:
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield from _list_of_samples(subject, crash, node)
        given = next(_given(subject.source, crash.site), None) if SPARSE.search(crash.message) else None
        if given is not None and not crash.site.path:
            call, argument = given
            what = f"`{ast.unparse(argument)}` is a sparse matrix, and {ast.unparse(call.func)} expects arrays"
            yield Fault(
                subject.source.site(argument), what, tuple(_made_dense(subject, call, argument)), {}, reading="sparse"
            )

    programs = """
=== example: recordings and their answers in lists
import keras
import numpy as np

x, y = [], []
for number in range(12):
    x.append(np.random.rand(5, 2))
    y.append(number % 3)
net = keras.Sequential([keras.Input((5, 2)), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
net.compile("sgd", "sparse_categorical_crossentropy")
- net.fit(x, y, epochs=1, verbose=0)
+ net.fit(np.array(x), np.array(y), epochs=1, verbose=0)

=== example: answers in an array already
import numpy as np
from keras import layers, models


def pictures(count):
    return [np.full((4, 4, 1), k / count) for k in range(count)]


images = pictures(10)
labels = np.arange(10) % 2
model = models.Sequential([layers.Input((4, 4, 1)), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(1)])
model.compile(loss="mse", optimizer="sgd")
- model.fit(x=images, y=labels, verbose=0)
+ model.fit(x=np.array(images), y=labels, verbose=0)

=== example: words counted, a batch at a time
import keras
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

texts = ["good film", "bad film", "good play", "bad play"] * 4
counts = CountVectorizer().fit_transform(texts)
labels = np.array([1, 0, 1, 0] * 4)
model = keras.Sequential([keras.Input((counts.shape[1],)), keras.layers.Dense(1, activation="sigmoid")])
model.compile("sgd", "binary_crossentropy")
- model.train_on_batch(counts[:8], labels[:8])
+ model.train_on_batch(counts[:8].toarray(), labels[:8])

=== example: a matrix of SciPy as a tensor
import scipy.sparse
import torch

graph = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
- adjacency = torch.tensor(graph)
+ adjacency = torch.tensor(graph.toarray())
net = torch.nn.Linear(2, 2).double()
print(net(adjacency).shape)

=== reject: a model of two inputs
import keras
import numpy as np

a, b = keras.Input((3,)), keras.Input((3,))
model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Concatenate()([a, b])))
model.compile("sgd", "mse")
model.fit([np.ones((4, 3)), np.ones((4, 3))], np.ones((4, 1)), verbose=0)

=== reject: a crash of the loss, with two inputs that are right
import keras
import numpy as np

a, b = keras.Input((3,)), keras.Input((3,))
model = keras.Model([a, b], keras.layers.Dense(5)(keras.layers.Concatenate()([a, b])))
model.compile("sgd", "mse")
inputs = [np.ones((4, 3)), np.ones((4, 3))]
model.fit(inputs, np.ones((4, 2)), verbose=0)

=== reject: a dense array
import scipy.sparse
import torch

graph = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
adjacency = torch.tensor(graph.toarray())

=== reject: another crash beside a sparse matrix
import scipy.sparse
import torch

graph = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
torch.nn.Linear(3, 1)(torch.tensor(graph.toarray()).float())
"""


# --- a list of samples


def _list_of_samples(subject: Subject, crash: Crash, node: ast.Call) -> Iterator[Fault]:
    """A list of samples of one shape, which a model with one input reads as several inputs."""
    first, target = tensor_axes.first_argument(node), _target(node)
    listed = held_values.held_list(subject, first) if first is not None else None
    if first is None or listed is None or listed[0] < 2:
        return
    count, shapes = listed[0], {held_values.described_shape(one) for one in listed[1]}
    shape = shapes.pop() if len(shapes) == 1 else None
    if not shape:
        return
    answers = held_values.held_list(subject, target) if target is not None else None
    rows = held_values.shape_of(subject, target) if target is not None else None
    said = COUNTED.search(crash.message)
    one_each = (
        answers is not None and answers[0] == count and all(held_values.described_shape(a) == () for a in answers[1])
    )
    each = one_each or (bool(rows) and rows is not None and rows[0] == count != shape[0])
    counted = said is not None and said[2] == str(count) != said[1]
    if each or counted or _is_sample(subject, shape):
        nodes = (first, target) if target is not None and answers is not None else (first,)
        what = f"a list of {count} samples of shape {shape} is read as {count} inputs"
        evidence: dict[str, Json] = {"count": count, "shape": list(shape)}
        yield Fault(
            subject.source.site(first),
            what,
            tuple(_one_array(subject, nodes)),
            evidence,
            confidence=0.95,
            reading="list",
        )


def _one_array(subject: Subject, nodes: tuple[ast.expr, ...]) -> Repairs:
    function, imports = data_edits.with_numpy(subject, "array")
    edits = [data_edits.wrapped(subject, node, f"{function}(", ")") for node in nodes]
    yield "Convert the samples to one array", (*edits, *imports), 0.95


def _is_sample(subject: Subject, shape: tuple[int | None, ...]) -> bool:
    """Whether the model has one input, and expects batches of samples of that shape."""
    built = {
        (value.id, value.shape)
        for call in subject.network.calls
        for value in call.inputs
        if value.origin == "symbolic" and value.producer is None and value.shape is not None
    }
    wanted = next(iter(built))[1][1:] if len(built) == 1 else ()
    return len(wanted) == len(shape) and all(a is None or a == b for a, b in zip(wanted, shape, strict=True))


def _target(call: ast.Call) -> ast.expr | None:
    if len(call.args) > 1 and not isinstance(call.args[1], ast.Starred):
        return call.args[1]
    return keyword_value(call, "y")


# --- a sparse matrix


def _made_dense(subject: Subject, call: ast.Call, argument: ast.expr) -> Repairs:
    text = ast.unparse(argument)
    others = [
        other.args[0]
        for other in subject.source.all_calls
        if other is not call and _takes(subject.source, other) and other.args and ast.unparse(other.args[0]) == text
    ]
    edits = tuple(Wrap(subject.source.site(each), "", ".toarray()") for each in (argument, *others))
    yield f"Convert `{text}` to a dense array", edits, 0.9


def _given(source: Source, crashed: Site) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls at the site of a crash that may have got the matrix, the innermost first, and their argument."""
    calls = [call for call in source.all_calls if _takes(source, call) and _at(source.site(call), crashed)]
    for call in sorted(calls, key=lambda each: len(ast.unparse(each))):
        if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            yield call, call.args[0]


def _takes(source: Source, call: ast.Call) -> bool:
    if source.qualified(call.func) in TORCH:
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in TAKING


def _at(site: Site, crashed: Site) -> bool:
    return site.encloses(crashed) or crashed.encloses(site)
