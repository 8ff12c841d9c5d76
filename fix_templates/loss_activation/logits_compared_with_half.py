"""Logits of a binary classifier are compared with 0.5, as if they were probabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from dnnfix.api import (
    AddImport,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Subject,
    Wrap,
    origins,
    spelling_edits,
    words,
)


class LogitsComparedWithHalf(ReadTemplate):
    """The loss expects logits (`BCEWithLogitsLoss`), and the accuracy counts logits above 0.5 as positive.

    A logit of 0 is a probability of 0.5: samples with logits between 0 and 0.5 are counted as negative although the
    network says the opposite, and a rounded logit is not a class. Reported where the loss and the comparison read the
    output of the same network.

    Fix safety: unsafe. What is reported changes, and decisions that depend on it; training is the same.

    References: torch.nn.BCEWithLogitsLoss ("combines a Sigmoid layer and the BCELoss in one single class").
    """

    code = "DNF327"
    name = "logits-compared-with-half"
    formerly = ("scores-compared-with-half",)
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "logits are compared or rounded as if they were probabilities: only the loss applies a sigmoid"
    triggers = ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits")

    declined = "the logits are not an operand of the comparison"

    def read(self, subject: Subject) -> Iterator[Fault]:
        networks = _scoring(subject) - {""}
        if not networks or _may_squash(subject):
            return
        for scores in _taken_for_probabilities(subject):
            made = _maker(subject, scores)
            if made is not None and _called(subject, made) in networks:
                site = subject.source.site(scores)
                needed = () if spelling_edits.imports(subject, "torch") else (AddImport("import torch"),)
                ways: list[tuple[str, tuple[Edit, ...], float]]
                ways = [("Apply a sigmoid to the logits", (Wrap(site, "torch.sigmoid(", ")"), *needed), 0.9)]
                around = subject.source.parent(scores)
                if isinstance(around, ast.Compare):
                    half = Replace(subject.source.site(around.comparators[0]), "0.0")
                    ways.append(("Compare the logits with 0", (half,), 0.6))
                yield Fault(site, {}, tuple(ways), {"scores": ast.unparse(scores)})

    programs = """
=== example: rounded after training
import torch
import torch.nn.functional as F

for x, y in batches:
    out = net(x).squeeze(1)
    F.binary_cross_entropy_with_logits(out, y).backward()
with torch.no_grad():
-     guesses = torch.round(net(x_test))
+     guesses = torch.round(torch.sigmoid(net(x_test)))
    print((guesses.squeeze(1) == y_test).float().mean())

=== example: compared in a function
import torch
from torch import nn

loss_fn = nn.BCEWithLogitsLoss()

def accuracy(scores, y):
-     return ((scores >= 0.5) == y).float().mean()
+     return ((torch.sigmoid(scores) >= 0.5) == y).float().mean()

for x, y in batches:
    scores = clf(x)
    loss = loss_fn(scores, y)
    loss.backward()
    print(accuracy(scores, y))

=== reject: probabilities compared with a half
import torch
from torch import nn

criterion = nn.BCEWithLogitsLoss()
for x, y in batches:
    outputs = model(x)
    loss = criterion(outputs, y)
    probs = torch.sigmoid(outputs)
    predicted = probs > 0.5
    again = torch.round(torch.sigmoid(model(x)))
    third = outputs > 0
    outputs = outputs.sigmoid()
    fourth = (outputs > 0.5).float()

=== reject: a network that applies a sigmoid itself
import torch
from torch import nn

class Judge(nn.Module):
    def forward(self, x):
        return torch.sigmoid(self.layer(x))

judge = Judge()
criterion = nn.BCEWithLogitsLoss()
for x, y in batches:
    p = judge(x)
    loss = criterion(p, y)
    hits = ((p > 0.5) == y).sum()
"""


_RESHAPES = words("squeeze view reshape flatten float cpu detach data numpy unsqueeze double item ravel to")


def _may_squash(subject: Subject) -> bool:
    """Whether a network of the program may apply the sigmoid itself: then 0.5 is right, and the loss is wrong."""
    source = subject.source
    inside = (node for owner in source.nodes(ast.ClassDef) for node in ast.walk(owner))
    return "Sigmoid" in source.words or any(
        isinstance(node, ast.Attribute) and node.attr in ("sigmoid", "expit", "softmax") for node in inside
    )


def _scoring(subject: Subject) -> frozenset[str]:
    """The names of the networks whose outputs go into a loss that expects logits."""
    source = subject.source
    found: set[str] = set()
    for call in source.all_calls:
        made = source.constructor(call.func)
        if made is None:
            calls = list(islice((one for one in origins.origins(subject, call.func) if isinstance(one, ast.Call)), 2))
            made = calls[0] if len(calls) == 1 else None
        chosen = source.qualified(made.func) if made is not None else source.qualified(call.func)
        wanted = (
            "torch.nn.BCEWithLogitsLoss" if made is not None else "torch.nn.functional.binary_cross_entropy_with_logits"
        )
        if chosen != wanted or not call.args:
            continue
        maker = _maker(subject, call.args[0])
        if maker is not None:
            found.add(_called(subject, maker))
    return frozenset(found)


def _taken_for_probabilities(subject: Subject) -> Iterator[ast.expr]:
    """Expressions that are compared with 0.5, or rounded."""
    source = subject.source
    for node in source.nodes(ast.Compare):
        half = node.comparators[0]
        if (
            len(node.ops) == 1
            and isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE))
            and isinstance(half, ast.Constant)
            and half.value == 0.5
        ):
            yield node.left
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "round":
            if source.qualified(call.func) == "torch.round" and call.args:
                yield call.args[0]
            elif not call.args and source.qualified(call.func) is None:
                yield call.func.value


def _maker(subject: Subject, expr: ast.expr, depth: int = 6) -> ast.Call | None:
    """The call that computed the expression, through reshapes, names and one parameter; `None` if unclear."""
    source = subject.source
    for _ in range(depth):
        match expr:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _RESHAPES:
                if source.qualified(expr.func) is not None and expr.args:
                    value = expr.args[0]
                expr = value
            case ast.Attribute(value=value, attr="data"):
                expr = value
            case ast.Subscript(value=value):
                expr = value
            case ast.Call():
                return expr
            case ast.Name():
                bound = source.bindings(expr, at=expr) or source.bindings(expr) or _given(subject, expr)
                makers = [one for one in bound if one is not expr]
                if len(makers) != 1 and len({ast.unparse(one) for one in makers}) != 1:
                    return None
                expr = makers[0]
            case _:
                return None
    return None


def _given(subject: Subject, name: ast.Name) -> tuple[ast.expr, ...]:
    """The arguments that the program passes for a parameter that its function does not rebind."""
    source = subject.source
    function = source.enclosing(name, ast.FunctionDef)
    if function is None or name.id not in [one.arg for one in function.args.args]:
        return ()
    stored = any(
        isinstance(node, ast.Name) and node.id == name.id and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )
    return () if stored else tuple(one for one in origins.origins(subject, name) if one is not name)[:1]


def _called(subject: Subject, call: ast.Call) -> str:
    """The source text of the called object, unless it is a library's function or a method of another object."""
    known = subject.source.qualified(call.func) is not None
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    plain = isinstance(call.func, ast.Name) or (isinstance(owner, ast.Name) and owner.id == "self")
    return ast.unparse(call.func) if plain and not known else ""
