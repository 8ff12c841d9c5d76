"""The pair that a recurrent layer or a maximum gives is taken for its first part."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    raised_at,
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


@dataclass(frozen=True, slots=True)
class _Pair:
    """The call that gives several things, and the target that takes them for one; none where it is used on the spot."""

    call: ast.Call
    target: ast.Name | None
    what: str


class TupleTakenForTensor(FaultTemplate[_Pair]):
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
    message = "`{what}` gives several tensors, and they are used as if they were one"
    triggers = ("LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention", *sorted(_WITH_PLACES))
    needs_run = True
    declined = "where the tensors are made cannot be told"

    def faults(self, subject: Subject) -> Faults[_Pair]:
        source = subject.source
        node = raised_at(subject, "TypeError AttributeError ValueError", _SAYS)
        if node is None or "torch" not in source.frameworks:
            return
        found = _made_here(source, node) or _made_before(source, node) or _made_in_layer(subject)
        if found is not None:
            yield source.site(found.call), found

    def report(self, site: Site, found: _Pair) -> Finding:
        return self.finding(site, symptom=Symptom.CRASH, confidence=0.85, cause="crash", what=found.what)

    def repairs(self, subject: Subject, found: _Pair) -> Repairs:
        source = subject.source
        edits: tuple[Edit, ...]
        if found.target is None:
            edits = (Wrap(source.site(found.call), "", "[0]"),)
        else:
            edits = (Replace(source.site(found.target), f"{found.target.id}, _"),)
            taken = any(node.id == "_" and isinstance(node.ctx, ast.Load) for node in source.nodes(ast.Name))
            if taken:
                edits = (Wrap(source.site(found.call), "", "[0]"),)
        yield "Go on with the first of them", edits, 0.85

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
            return _Pair(part, None, ast.unparse(part.func))
    return None


def _made_before(source: Source, node: ast.AST) -> _Pair | None:
    """The statement that gave a name of the failing expression such a pair."""
    if not isinstance(node, (ast.expr, ast.stmt)):
        return None
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
            return _Pair(last.value, target if isinstance(target, ast.Name) else None, ast.unparse(last.value.func))
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
            found.append(_Pair(body, None, ast.unparse(body.func)))
    return found[0] if len(found) == 1 else None
