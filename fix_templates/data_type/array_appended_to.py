"""A value is appended to an array of NumPy as if it were a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Source,
    Subject,
    bound_by,
    spell,
    words,
)

ONE_AXIS = 1

MADE_WITH_PLACES = words("zeros ones empty full zeros_like ones_like empty_like full_like")
SEVERAL = words("numpy.ndarray torch.Tensor torch.nn.parameter.Parameter list tuple")


class ArrayAppendedTo(CrashTemplate):
    """`losses = np.array([])` and `losses.append(loss)`: an array has a fixed length and no `append`.

    `np.append` makes an array that is longer by the value, and the name is given that array. Told for arrays of one axis,
    where the name is a variable of the same function or an attribute. An array that was made with places for the values
    (`np.zeros(epochs)`) is left: they would stay before the values. So is an array that is appended, as `np.append` would
    take its axes away.

    Fix safety: unsafe. The program could not run before.

    References: numpy.append.
    """

    code = "DNF647"
    name = "array-appended-to"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"AttributeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if "'numpy.ndarray' object has no attribute 'append'" not in crash.message or crash.site is None:
            return
        node, source = subject.node(crash.site), subject.source
        if node is None:
            return
        statement = source.statement_of(node)
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
            return
        array = call.func.value
        held = crash.held_at(source.site(array))
        if held is None or held.size != ONE_AXIS or len(call.args) != 1 or not _may_be_bound(source, array):
            return
        if _has_places(source, array) or not _is_one_value(crash, source, call.args[0]):
            return
        name, value = subject.text(source.site(array)), subject.text(source.site(call.args[0]))
        spelling = spell(subject, "numpy.append")
        code = f"{name} = {spelling.code}({name}, {value})"
        edits: tuple[Edit, ...] = (*spelling.imports, Replace(source.site(statement), code))
        yield Mend(
            source.site(call), f"{name} is an array, which has no append", (("Make a longer array", edits, 0.9),)
        )

    examples = (
        Example(
            "losses of each step",
            """\
import numpy as np
import torch

net = torch.nn.Linear(2, 1)
losses = np.array([])
for step in range(3):
-     losses.append(net(torch.ones(1, 2)).item())
+     losses = np.append(losses, net(torch.ones(1, 2)).item())
print(losses.mean())
""",
            runs=True,
        ),
        Example(
            "labels in a function",
            """\
import numpy
import torch


def labels_of(net, batches):
    found = numpy.zeros(0)
    for batch in batches:
-         found.append(net(batch).argmax().item())
+         found = numpy.append(found, net(batch).argmax().item())
    return found


print(labels_of(torch.nn.Linear(2, 3), torch.ones(3, 1, 2)).shape)
""",
            runs=True,
        ),
        Example(
            "kept by an object",
            """\
import numpy as np
import torch


class Meter:
    def __init__(self):
        self.values = np.empty(0)

    def add(self, loss):
-         self.values.append(loss.item())
+         self.values = np.append(self.values, loss.item())


meter = Meter()
meter.add(torch.ones(1))
print(meter.values.sum())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "places for the values",
            """\
import numpy as np
import torch

losses = np.zeros(3)
for step in range(3):
    losses.append(torch.ones(1).item())
print(losses.mean())
""",
            runs=True,
        ),
        Reject(
            "outputs of batches",
            """\
import numpy as np
import torch

outputs = np.array([])
for batch in torch.ones(4, 5, 2):
    outputs.append(torch.nn.Linear(2, 3)(batch).detach().numpy())
print(len(outputs))
""",
            runs=True,
        ),
        Reject(
            "a list",
            """\
import numpy as np
import torch

losses = []
losses.append(torch.ones(1).item())
print(np.mean(losses))
""",
            runs=True,
        ),
        Reject(
            "rows of a table",
            """\
import numpy as np
import torch

rows = np.zeros((0, 3))
rows.append(torch.ones(3).numpy())
print(rows.shape)
""",
            runs=True,
        ),
    )


def _may_be_bound(source: Source, array: ast.expr) -> bool:
    """Whether the name can be given a new array where it is used: an attribute, or a variable of the same scope."""
    if isinstance(array, ast.Attribute):
        return isinstance(array.value, ast.Name)
    function = source.enclosing(array, ast.FunctionDef)
    if not isinstance(array, ast.Name) or array.id not in bound_by(source, array):
        return False
    if function is None:
        return True
    return any(
        isinstance(node, ast.Name) and node.id == array.id and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )


def _has_places(source: Source, array: ast.expr) -> bool:
    """Whether the array was made with places that hold no values of the program yet."""
    made = [one for one in source.bindings(array) if isinstance(one, ast.Call)]
    return any(
        (source.qualified(call.func) or "").rpartition(".")[2] in MADE_WITH_PLACES
        and not (call.args and ast.unparse(call.args[0]) in ("0", "(0,)", "[0]"))
        for call in made
    )


def _is_one_value(crash: Crash, source: Source, value: ast.expr) -> bool:
    """Whether what is appended is no array with axes, as far as the run and its last method tell."""
    held = crash.held_at(source.site(value))
    if held is not None:
        return held.kind not in SEVERAL or held.size in (0, None) and held.kind not in ("list", "tuple")
    method = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return method not in ("numpy", "tolist", "detach", "cpu", "flatten", "ravel", "reshape")
