"""A tensor is wrapped in a `Variable`, which has not been needed since torch 0.4."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    graph,
    structure,
    trees,
    words,
)

VARIABLE = "torch.autograd.Variable"
OPTIONS = words("data requires_grad")
"""What it is given by keyword; `volatile` has a rule of its own, and others are given to classes of that name from elsewhere."""


class VariableWrapper(ReadTemplate):
    """`Variable(x)` is a plain tensor since torch 0.4: tensors record gradients themselves.

    It is not without effect: it cuts what it is given out of the graph, so that `Variable(loss, requires_grad=True)` has a
    backward pass that reaches no weight, and `Variable(net(x))` trains nothing that is before it. `Variable(x.data)` is `x.detach()`.

    Reported once for each statement. Calls with `volatile` are left to a rule of their own (volatile-variable).

    Fix safety: safe for tensors without a graph, such as those of a batch; what was computed keeps its graph from now on.

    References: https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated.
    """

    code = "DNF910"
    name = "variable-wrapper"
    message = "`Variable` is deprecated since torch 0.4: {what}"
    confidence = 0.9
    family = Family.OPINIONATED
    fix_pattern = FixPattern.VERSIONING
    nature = Nature.ADVICE
    silent = 9
    default = False
    triggers = ("Variable",)
    declined = "what is wrapped is not given in its place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        found: dict[ast.stmt, list[ast.Call]] = {}
        for call in _wrappings(source):
            several = found.setdefault(source.statement_of(call), [])
            if not any(call in trees.within(outer, ast.Call) for outer in several):
                several.append(call)
        for statement, several in found.items():
            first = several[0]
            edits = _edits(source, statement, several)
            repairs = (("Use the tensor itself", edits, 0.9),)
            yield Fault(source.site(first), {"what": _said(source, first, _given(first))}, repairs)

    programs = """
=== example: a batch
import torch
from torch.autograd import Variable

for x, y in loader:
-     x, y = Variable(x.cuda()), Variable(y)
+     x, y = x.cuda(), y
    loss = criterion(net(x), y)

=== example: a loss out of its graph
for x, y in loader:
    loss = criterion(net(x), y)
-     loss = Variable(loss, requires_grad=True)
    loss.backward()

=== example: the values alone, and a leaf
import torch
from torch import autograd

def step(x, size):
-     w = autograd.Variable(torch.zeros(3), requires_grad=True)
+     w = torch.zeros(3).requires_grad_()
    return w + x

=== example: without its graph
from torch.autograd import Variable

def repackage(h):
-     return Variable(h.data)
+     return h.detach()

=== reject: asked for, and not made
from torch.autograd import Variable

def detached(h):
    return h.detach() if isinstance(h, Variable) else tuple(detached(each) for each in h)

=== reject: variables of others
import tensorflow as tf
from sympy import Variable

w = tf.Variable(1.0)
x = Variable("x")

=== reject: a class of settings, from elsewhere
wanted = {"rate": Variable(group="training", name="rate")}
assert wanted == read_settings(text)

=== reject: a class of the program
import torch

class Variable:
    def __init__(self, name):
        self.name = name

x = Variable("x")
y = torch.zeros(3)
"""


def _wrappings(source: Source) -> list[ast.Call]:
    """The calls that make a `Variable` of torch, in a fragment also where nothing says whose it is."""
    found = list(source.calls(VARIABLE))
    if not source.frameworks or "torch" in source.frameworks:
        bound = {name for name, _ in source.imported_names}
        for call in source.all_calls:
            name = ast.unparse(call.func)
            unsaid = name in ("Variable", "autograd.Variable", "torch.autograd.Variable")
            if unsaid and call not in found and source.qualified(call.func) is None and name.split(".")[0] not in bound:
                found.append(call)
    plain = [call for call in found if all(keyword.arg in OPTIONS for keyword in call.keywords)]
    return sorted(plain, key=trees.position)


def _given(call: ast.Call) -> ast.expr | None:
    """What is wrapped."""
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    return next((keyword.value for keyword in call.keywords if keyword.arg == "data"), None)


def _asks_gradient(call: ast.Call) -> bool:
    """Whether the tensor is to record gradients."""
    second = call.args[1] if len(call.args) > 1 else None
    asked = next((keyword.value for keyword in call.keywords if keyword.arg == "requires_grad"), second)
    return trees.is_true(asked)


def _is_computed(source: Source, given: ast.expr | None) -> bool:
    """Whether what is wrapped comes out of a network, a loss or an operation on such."""
    made = source.constructor(given) if isinstance(given, (ast.Name, ast.Attribute)) else given
    if isinstance(made, ast.Call):
        name = source.qualified(made.func) or ast.unparse(made.func)
        return structure.is_network(source, made.func) or name.startswith("torch.nn.functional.") or "criterion" in name
    return isinstance(given, ast.Name) and given.id.lower().endswith("loss")


def _said(source: Source, call: ast.Call, given: ast.expr | None) -> str:
    if isinstance(given, ast.Attribute) and given.attr == "data":
        return f"`{ast.unparse(given.value)}.detach()` is the tensor without its graph"
    if _is_computed(source, given):
        return f"it cuts `{ast.unparse(given) if given is not None else ''}` out of its graph, and no weight before it is trained"
    if _asks_gradient(call):
        return "a tensor takes requires_grad itself"
    return "tensors need no wrapper"


def _edits(source: Source, statement: ast.stmt, several: Sequence[ast.Call]) -> tuple[Edit, ...] | None:
    """The edits that put each tensor in place of its wrapper; a statement that then does nothing goes."""
    codes = [_unwrapped(source, call) for call in several]
    whole = isinstance(statement, ast.Assign) and statement.value is several[0]
    if isinstance(statement, ast.Assign) and whole and [ast.unparse(each) for each in statement.targets] == codes:
        return (Delete(source.site(statement)),)
    if "" in codes:
        return None
    return tuple(Replace(source.site(call), code) for call, code in zip(several, codes, strict=True))


def _unwrapped(source: Source, call: ast.Call) -> str:
    """The code of the tensor that a wrapper is given, empty where that is not told."""
    given = _given(call)
    if given is None:
        return ""
    code = source.segment(source.site(given))
    if isinstance(given, ast.Attribute) and given.attr == "data":
        return f"{source.segment(source.site(given.value))}.detach()"
    asks = _asks_gradient(call) and not _is_computed(source, given)
    loose = isinstance(given, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Lambda))
    if loose and (asks or not isinstance(source.parent(call), (ast.Assign, ast.Return))):
        code = f"({code})"
    if asks:
        code += ".requires_grad_()" if graph.holds_tensor(source, given) else ".detach().requires_grad_()"
    return code
