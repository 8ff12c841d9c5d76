"""A result is put into a part of a tensor that has one axis of one element less, or more."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Json,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    Wrap,
)

Shape = tuple[int, ...]

SLICE = re.compile(r"(None|-?\d+):(None|-?\d+):(None|-?\d+)")
"""How the probe writes a slice down."""

NUMPY = re.compile(r"could not broadcast input array from shape \(([\d, ]+)\) into shape \(([\d, ]+)\)")
"""NumPy's own words for it: the call is none of the frameworks', so nothing recorded its shapes."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """An assignment of a value of one shape to a part of another; `change` is the method that makes them agree."""

    value: ast.expr
    received: Shape
    wanted: Shape
    change: str


class ValueDoesNotFitSlot(FaultTemplate[_Slot]):
    """A value with an axis of one element is assigned to a part of a tensor without it, or the other way round.

    `torch.multinomial(p, 1)`, a layer of one unit and Keras's `predict` give a column of shape (n, 1), while `table[:, i]`
    and `results[a:b]` are rows of n numbers. The values are the same; only the axis has to go, or to come.

    Fix safety: unsafe. The program did not run before; no number changes.

    References: torch.Tensor.expand, numpy's "General broadcasting rules".
    """

    code = "DNF116"
    name = "value-does-not-fit-slot"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "a value of {received} is put into a place of {wanted}"
    needs_run = True
    declined = "the value is not given at a place that can be changed"

    def faults(self, subject: Subject) -> Faults[_Slot]:
        crash = subject.crash
        shapes = _shapes(crash) if crash is not None else None
        node = subject.node(crash.site) if crash is not None else None
        if crash is None or shapes is None or node is None:
            return
        statement = subject.source.statement_of(node)
        change = _change(*shapes, array=crash.call is None)
        if isinstance(statement, ast.Assign) and statement.targets[0] is node and change is not None:
            yield crash.site, _Slot(statement.value, *shapes, change)

    def report(self, site: Site, fault: _Slot) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            evidence={"received": fault.received, "wanted": fault.wanted},
            cause="crash",
            received=" x ".join(map(str, fault.received)),
            wanted=" x ".join(map(str, fault.wanted)),
        )

    def repairs(self, subject: Subject, fault: _Slot) -> Repairs:
        simple = isinstance(fault.value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        site = subject.source.site(fault.value)
        edit: Edit = Wrap(site, "" if simple else "(", f"{fault.change}" if simple else f"){fault.change}")
        yield f"Give the value the shape of its place with {fault.change}", (edit,), 0.9

    examples = (
        Example(
            "one token sampled for each row",
            """\
import torch
import torch.nn.functional as F

samples = torch.zeros(4, 6, dtype=torch.long)
scores = torch.randn(4, 9)
for i in range(6):
-     samples[:, i] = torch.multinomial(F.softmax(scores, dim=1), 1)
+     samples[:, i] = torch.multinomial(F.softmax(scores, dim=1), 1).squeeze(1)
""",
            runs=True,
        ),
        Example(
            "a column of a table filled with a row of numbers",
            """\
import torch

table = torch.zeros(6, 4)
steps = torch.arange(6.0)
- table[:, 0:1] = steps
+ table[:, 0:1] = steps.unsqueeze(1)
""",
            runs=True,
        ),
        Example(
            "predictions of a Keras model put into an array",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1)])
x = np.ones((8, 3))
out = np.zeros(8)
- out[:4] = model.predict(x[:4], verbose=0)
+ out[:4] = model.predict(x[:4], verbose=0).squeeze(1)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "values that fit, and one row for all",
            """\
import torch

table = torch.zeros(4, 6)
table[:, 0] = torch.ones(4)
table[1:3] = torch.ones(1, 6)
table[:, 2:3] = torch.ones(4, 1)
table[0] = torch.ones(1, 6)
""",
            runs=True,
        ),
        Reject(
            "values of another number",
            """\
import torch

table = torch.zeros(4, 6)
table[:, 0] = torch.ones(5)
""",
            runs=True,
        ),
    )


def _shapes(crash: Crash) -> tuple[Shape, Shape] | None:
    """The shape of the value and that of the place it is put into, where the crash tells them."""
    if crash.call is None:
        said = NUMPY.search(crash.message) if crash.kind == "ValueError" else None
        return (_numbers(said[1]), _numbers(said[2])) if said is not None else None
    if crash.call.name != "torch.Tensor.setitem" or len(crash.call.inputs) != 2:
        return None
    table, value = (one.shape for one in crash.call.inputs)
    if table is None or value is None or None in table or None in value:
        return None
    wanted = _part(tuple(size for size in table if size is not None), crash.call.args.get("index"))
    return (tuple(size for size in value if size is not None), wanted) if wanted is not None else None


def _numbers(text: str) -> Shape:
    return tuple(int(one) for one in text.split(",") if one.strip())


def _part(shape: Shape, index: Json) -> Shape | None:
    """The shape of what an index of whole numbers and slices takes from a tensor; `None` for any other index."""
    listed = index if isinstance(index, (list, tuple)) else [index]
    if len(listed) > len(shape):
        return None
    sizes: list[int] = []
    for size, one in zip(shape, listed, strict=False):
        written = one.get("repr") if isinstance(one, dict) else None
        found = SLICE.fullmatch(written) if isinstance(written, str) else None
        if found is not None:
            bounds = [None if part == "None" else int(part) for part in found.groups()]
            sizes.append(len(range(*slice(*bounds).indices(size))))
        elif not isinstance(one, int) or isinstance(one, bool):
            return None
    return (*sizes, *shape[len(listed) :])


def _change(received: Shape, wanted: Shape, array: bool) -> str | None:
    """The method that takes out, or puts in, the one axis of one element in which the shapes differ."""
    for axis in reversed(range(len(received))):
        if received[axis] == 1 and received[:axis] + received[axis + 1 :] == wanted:
            return f".squeeze({axis})"
    for axis in reversed(range(len(wanted))):
        if wanted[axis] == 1 and wanted[:axis] + wanted[axis + 1 :] == received:
            if array:
                return ".reshape(-1, 1)" if axis == 1 and len(wanted) == 2 else None
            return f".unsqueeze({axis})"
    return None
