"""The pair that a recurrent layer or a maximum gives is taken for its first part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    RaisedTemplate,
    Reject,
    Replace,
    Source,
    Subject,
    Wrap,
    mend,
    within,
)

_PAIRS = frozenset(f"torch.nn.{name}" for name in ("LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention"))
_WITH_PLACES = frozenset({"max", "min", "median", "mode", "sort", "topk", "kthvalue", "cummax"})
"""Functions of torch that give values and their places, the first ones only where they are told an axis."""
_SAYS = (
    r"not (tuple|torch\.return_types)|'tuple' object has no attribute|'torch\.return_types\.\w+' object has no attribute"
    r"|'(max|min|topk|sort|median)' object has no attribute|Received: \(|tuple indices must be"
    r"|unsupported operand type\(s\) for .*'tuple'|expects 1 input\(s\), but it received 2"
)


class TupleTakenForTensor(RaisedTemplate):
    """A recurrent layer, an attention or a maximum over an axis gives more than one tensor, and is used as if it gave one.

    `nn.LSTM` gives the outputs of all steps and its last states; `torch.max(x, dim)` the values and their places. The
    network goes on with the first of them.

    Fix safety: unsafe. The first of what is given goes on, the rest is left.

    References: torch.nn.LSTM ("Outputs"), torch.max.
    """

    code = "DNF435"
    name = "tuple-taken-for-tensor"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention", *sorted(_WITH_PLACES))
    raised = "TypeError AttributeError ValueError"
    said = _SAYS

    def mends(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Mend]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        found = _made_here(source, node) or _made_before(source, node) or _made_in_layer(subject)
        if found is not None:
            call, target = found
            taken = any(each.id == "_" and isinstance(each.ctx, ast.Load) for each in source.nodes(ast.Name))
            edit: Edit = Wrap(source.site(call), "", "[0]")
            if target is not None and not taken:
                edit = Replace(source.site(target), f"{target.id}, _")
            what = f"`{ast.unparse(call.func)}` gives several tensors, and they are used as if they were one"
            yield mend(source.site(call), what, "Go on with the first of them", edit, prior=0.85)

    examples = (
        Example(
            "used on the spot",
            """\
import torch

gru = torch.nn.GRU(3, 4)
head = torch.nn.Linear(4, 2)
- print(head(gru(torch.randn(5, 2, 3))))
+ print(head(gru(torch.randn(5, 2, 3))[0]))
""",
            runs=True,
        ),
        Example(
            "a maximum over the steps",
            """\
import torch
import torch.nn as nn

class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
-         strongest = torch.max(self.conv(x), 2)
+         strongest, _ = torch.max(self.conv(x), 2)
        return self.fc(strongest)

Pool()(torch.randn(2, 2, 7))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the pair taken apart",
            """\
import torch

gru = torch.nn.GRU(3, 4)
out, state = gru(torch.randn(5, 2, 3))
best = torch.max(out, 2)
print(torch.nn.Linear(4, 2)(out), best.values)
""",
            runs=True,
        ),
        Reject(
            "a tuple of another origin",
            """\
import torch

def both(x):
    return x, x

print(torch.nn.Linear(3, 2)(both(torch.randn(2, 3))))
""",
            runs=True,
        ),
    )


_Pair = tuple[ast.Call, ast.Name | None]
"""The call that gives several things, and the target that takes them for one; none where it is used on the spot."""


def _gives_pair(source: Source, expr: ast.expr) -> bool:
    if not isinstance(expr, ast.Call):
        return False
    made = source.constructor(expr.func) if not isinstance(expr.func, ast.Call) else expr.func
    if made is not None and source.qualified(made.func) in _PAIRS:
        return True
    name = source.qualified(expr.func) or ""
    if name.startswith("torch.") and name.count(".") == 1 and name.rpartition(".")[2] in _WITH_PLACES:
        second = expr.args[1:2] + [k.value for k in expr.keywords if k.arg in ("dim", "axis", "k")]
        return bool(second) or name.rpartition(".")[2] in ("sort", "topk", "kthvalue")
    return False


def _made_here(source: Source, node: ast.AST) -> _Pair | None:
    """The call that gives a pair, where it stands in the expression that failed itself."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Call):
        parts = [*node.args]
        if isinstance(node.func, ast.Attribute):
            parts.append(node.func.value)
    elif isinstance(node, ast.Attribute):
        parts = [node.value]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    for part in parts:
        if isinstance(part, ast.Call) and _gives_pair(source, part):
            return part, None
    return None


def _made_before(source: Source, node: ast.expr | ast.stmt) -> _Pair | None:
    """The statement that gave a name of the failing expression such a pair."""
    scope = source.enclosing(node, ast.FunctionDef) or source.tree
    for name in within(node, ast.Name):
        earlier = [
            each
            for each in within(scope, ast.Assign)
            if each.lineno < node.lineno
            and len(each.targets) == 1
            and isinstance(each.targets[0], ast.Name)
            and each.targets[0].id == name.id
        ]
        last = earlier[-1] if earlier else None
        if last is not None and isinstance(last.value, ast.Call) and _gives_pair(source, last.value):
            target = last.targets[0]
            return last.value, target if isinstance(target, ast.Name) else None
    return None


def _made_in_layer(subject: Subject) -> _Pair | None:
    """The one function that a layer of Keras is made of, where it returns a pair and the next layer was given two."""
    source = subject.source
    if subject.crash is None or "expects 1 input(s)" not in subject.crash.message:
        return None
    found: list[_Pair] = []
    for call in source.calls("keras.layers.Lambda"):
        function = call.args[0] if call.args else None
        body: ast.expr | None = None
        if isinstance(function, ast.Lambda):
            body = function.body
        elif isinstance(function, ast.Name):
            definition = source.definition(function)
            ends = within(definition, ast.Return) if isinstance(definition, ast.FunctionDef) else []
            body = ends[0].value if len(ends) == 1 else None
        if isinstance(body, ast.Call) and _gives_pair(source, body):
            found.append((body, None))
    return found[0] if len(found) == 1 else None
