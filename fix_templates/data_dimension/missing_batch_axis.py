"""A single sample is given to a network that takes batches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Arrival,
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    arrival,
    change_data,
    meets,
    method,
    size_conflict,
    stated_input,
    with_numpy,
    wrapped,
)

GIVEN_BY_OWN = 0.2
"""Prior where a function of the program gives the sample, which itself gives axes: that is where one is missing."""

OF_AXES = frozenset({"expand_dims", "newaxis", "reshape", "unsqueeze", "view"})


class MissingBatchAxis(FixTemplate):
    """A single sample is given to a network that takes batches.

    Networks work on batches: the first axis counts the samples. A sample without that axis has one axis too few, or is
    read as a batch of something else, and the run ends in the first layer or, where torch takes unbatched input, in
    the first operation that does not.

    Fix safety: unsafe. The result has a batch axis of size one as well, which code behind it has to expect.

    References: torch.nn.Conv2d (shape of the input), torch.nn.BatchNorm2d, keras.Model.predict.
    """

    code = "DNF101"
    name = "missing-batch-axis"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "a single sample of shape {shape} is given where {wanted} is taken"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        came = arrival(subject)
        wanted = _wanted(came) if came is not None else None
        if came is None or wanted is None or _explained(subject, came) or _counts_samples(subject, came):
            return
        yield self.finding(
            subject.source.site(came.node),
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"shape": list(came.shape), "wanted": wanted},
            shape=came.shape,
            wanted=wanted,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        came = arrival(subject)
        if came is None:
            yield Decline("what is handed over is not known")
            return
        if came.is_keras:
            function, imports = with_numpy(subject, "expand_dims")
            edits = (wrapped(subject, came.node, f"{function}(", ", axis=0)"), *imports)
        else:
            edits = change_data(subject, (came.node,), "", ".unsqueeze(0)")
        prior = GIVEN_BY_OWN if _gives_axes(subject, came.node) else 0.9
        yield self.candidate(finding, "Give the sample a batch axis of size one", *edits, prior=prior)

    examples = (
        Example(
            "an image through convolution and batch normalization",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
image = torch.rand(3, 8, 8)
- scores = model(image)
+ scores = model(image.unsqueeze(0))
""",
            runs=True,
        ),
        Example(
            "softmax over the classes of one row",
            """\
import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return torch.softmax(self.out(x), dim=1)


table = torch.rand(10, 6)
clf = Classifier()
- print(clf(table[0]))
+ print(clf(table[0].unsqueeze(0)))
""",
            runs=True,
        ),
        Example(
            "predict on one row",
            """\
import numpy as np
import keras

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
row = np.random.rand(8)
- print(model.predict(row))
+ print(model.predict(np.expand_dims(row, axis=0)))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an unbatched image where every layer takes one",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
scores = model(torch.rand(3, 8, 8))
""",
            runs=True,
        ),
        Reject(
            "a table that is trained on, a target for each of its rows",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import LSTM, Dense

table, target = np.random.rand(12, 6), np.random.rand(12, 1)
model = Sequential([LSTM(3, input_shape=(None, 6)), Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(table, target, epochs=1, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "images without channels",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
scores = model(torch.rand(5, 8, 8))
""",
            runs=True,
        ),
    )


def _explained(subject: Subject, came: Arrival) -> bool:
    """Whether sizes that do not meet explain the crash: a batch axis mends them only where a flatten went wrong."""
    conflict = size_conflict(subject)
    if conflict is None:
        return False
    return conflict.facts.kind != "linear" or came.facts is None or came.facts.kind == "linear"


def _counts_samples(subject: Subject, came: Arrival) -> bool:
    """Whether the first axis counts samples already: training data with a target for each of its rows."""
    for call in reversed(subject.network.calls):
        if call.name.startswith("keras.Model.") and call.inputs and call.inputs[0].site == came.value.site:
            rows = [value.shape[0] if value.shape else None for value in call.inputs[:2]]
            return len(rows) == 2 and rows[0] == rows[1] and (rows[0] or 0) > 1
    return False


def _gives_axes(subject: Subject, node: ast.expr) -> bool:
    """Whether a value is the result of a function or method of the program in which axes are given."""
    source = subject.source
    function: ast.AST | None
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            owner = source.enclosing(node, ast.ClassDef)
            function = method(owner, name) if isinstance(owner, ast.ClassDef) else None
        case ast.Call(func=called):
            function = source.definition(called)
        case _:
            return False
    return function is not None and any(
        isinstance(each, ast.Attribute) and each.attr in OF_AXES for each in ast.walk(function)
    )


def _wanted(came: Arrival) -> str | None:
    """The shape that would be right, in words, where the data is exactly that without its first axis."""
    shape = came.shape
    if came.wanted is not None:
        return str(came.wanted) if shape and meets((None, *shape), came.wanted) else None
    facts = came.facts
    if came.is_keras or facts is None or not shape:
        return None
    stated, axis = stated_input(came.call), facts.takes_axis
    if stated is None or axis is None or not -len(shape) <= axis < 0 or shape[axis] != stated:
        return None
    if facts.kind == "linear":
        return f"(batch, {stated})" if len(shape) == 1 else None
    if facts.kind == "convolution" and len(shape) == facts.spatial + 1:
        return f"(batch, {', '.join(str(size) for size in shape)})"
    if facts.kind == "recurrent" and facts.ranks and len(shape) == facts.ranks[0] and len(facts.ranks) > 1:
        return (
            f"(batch, {', '.join(str(size) for size in shape)})" if came.call.args.get("batch_first") is True else None
        )
    return None
