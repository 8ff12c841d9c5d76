"""A term of the loss has no lower bound: a penalty on the weights themselves, or an error that keeps its sign."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Site,
    Subject,
    arithmetic,
    goals,
    spelling,
    trees,
    within,
    words,
)


class Term(NamedTuple):
    """A term that keeps its sign: its expression, its description, and the forms that may be meant, likeliest first."""

    expr: ast.expr
    what: str
    shapes: tuple[str, ...]


class TermNotSquared(ReadTemplate):
    """A penalty adds weights, or an error adds differences, without a square or an absolute value.

    Such a term has no minimum: the weights are pushed towards minus infinity, and errors of both signs cancel. Reported
    where the terms beside it are squared, where the name says which norm is meant (`l1`, `l2`, `mse`), or where only
    the mean difference of prediction and label is minimized.

    Fix safety: unsafe. The loss is another one, which is the point.

    References: Goodfellow, Bengio, Courville, "Deep Learning", sections 7.1.1 and 7.1.2 (L2 and L1 regularization).
    """

    code = "DNF325"
    name = "term-not-squared"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "{what} is neither squared nor an absolute value, so it has no minimum"

    declined = "the program does not say whether a square or an absolute value is meant"

    def read(self, subject: Subject) -> Iterator[Fault]:
        if not subject.source.frameworks:
            return
        seen: set[Site] = set()
        for expr, what, shapes in (*_beside_squares(subject), *_sums_of_weights(subject), *_differences(subject)):
            site = subject.source.site(expr)
            if site not in seen:
                seen.add(site)
                titles = {"square": "Square it", "absolute": "Take its absolute value"}
                ways = [
                    (titles[shape], _shaped(subject, expr, shape), prior)
                    for shape, prior in zip(shapes, (0.85, 0.4), strict=False)
                ]
                yield Fault(site, what, tuple(ways), {"term": ast.unparse(expr)}, confidence=0.85)

    programs = """
=== example: one of three penalties
import torch

def penalty(self, bias, weights, factors):
-     return (self.rate_bias * bias
+     return (self.rate_bias * bias ** 2
            + self.rate_weights * (weights ** 2).sum()
            + self.rate_factors * (factors ** 2).sum())

=== example: the sum of all weights as their norm
import torch

l2_reg = 0.0
for param in model.parameters():
-     l2_reg += torch.sum(param)
+     l2_reg += torch.sum(param ** 2)
loss = criterion(model(x), y) + 1e-4 * l2_reg
loss.backward()

=== example: an L1 norm without absolute values
import torch

- l1_norm = sum(p.sum() for p in model.parameters())
+ l1_norm = sum(p.abs().sum() for p in model.parameters())
loss = criterion(model(x), y) + 0.001 * l1_norm
loss.backward()

=== example: the mean difference as the loss of Keras
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential

def my_mse(y_true, y_pred):
-     return K.mean(y_pred - y_true, axis=-1)
+     return K.mean((y_pred - y_true) ** 2, axis=-1)

model = Sequential([Dense(1)])
model.compile(optimizer="adam", loss=my_mse)

=== example: the sum of differences in torch
import torch

output = net(x)
loss = (output - target).sum() / len(x)
- mean = (output - target).mean()
+ mean = ((output - target) ** 2).mean()
mean.backward()

=== reject: squares and absolute values
import torch

l1 = sum(p.abs().sum() for p in model.parameters())
l2 = sum((p ** 2).sum() for p in model.parameters())
l2_norm = sum(p.norm(2) for p in model.parameters())
l2_count = sum(p.numel() for p in model.parameters())
loss = ((model(x) - y) ** 2).mean() + 0.1 * l1 + 0.1 * l2
loss.backward()

=== reject: what a critic says of both
import torch

gap = (critic(fake) - critic(real)).mean()
gap.backward()
loss_critic = torch.mean(fake_score - real_score)
loss_critic.backward()

=== reject: a polynomial, and a difference that is squared later
import torch

y = a * x + b * (x ** 2) + c * (x ** 3)
height = v * t + 0.5 * g * t ** 2
bias = (prediction - target).mean()
loss = bias ** 2
loss.backward()

=== reject: a loss beside a squared penalty
import torch

total = alpha * loss + beta * (w ** 2).sum()
objective = lam * entropy + mu * (v ** 2).sum() + nu * (u ** 2).sum()
total.backward()
"""


_LABELS = words("y yb by label labels target targets true truth gt")
_SQUARES = words("l2 mse squared square ridge rmse")
_ABSOLUTES = words("l1 mae absolute lasso")
_PENALTIES = words("l2 l1 reg regularizer regularize regularization regularisation penalty penalties decay ridge")
_WEIGHTS = words("parameters named_parameters trainable_variables trainable_weights trainable_params weights")


def _beside_squares(subject: Subject) -> Iterator[Term]:
    """Penalties on a weight itself, beside penalties on squares of other weights."""
    for node in subject.source.nodes(ast.BinOp):
        if not isinstance(node.op, ast.Add) or _is_added(subject.source.parent(node)):
            continue
        terms = [_scaled(term) for term in arithmetic.summands(node)]
        if len(terms) < 2 or any(term is None for term in terms) or not _is_penalty(subject, node):
            continue
        known = [term for term in terms if term is not None]
        plain = [body for _, body in known if isinstance(body, (ast.Name, ast.Attribute))]
        squares = [body for _, body in known if _squared(body)]
        if len(plain) != 1 or not squares or len(plain) + len(squares) != len(known):
            continue
        body = plain[0]
        rates = [frozenset(spelling.words_of(ast.unparse(rate))) - {"self"} for rate, _ in known]
        alike = all(first & second for first in rates for second in rates)
        weights = {ast.unparse(part) for square in squares for part in within(square, ast.Name, ast.Attribute)}
        if alike and ast.unparse(body) not in weights:
            yield Term(body, f"the penalty on `{ast.unparse(body)}`", ("square",))


def _is_added(node: ast.AST | None) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def _scaled(term: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The factor and the scaled value in a product."""
    if (
        isinstance(term, ast.BinOp)
        and isinstance(term.op, ast.Mult)
        and isinstance(term.left, (ast.Name, ast.Attribute))
    ):
        return term.left, term.right
    return None


def _squared(body: ast.expr) -> bool:
    """Whether a term is a square, possibly reduced."""
    inner: ast.expr | None = body
    while isinstance(inner, ast.Call) and (deeper := goals.reduced(inner)) is not None:
        inner = deeper
    if isinstance(inner, ast.Call):
        name = trees.last_name(inner.func)
        return name in ("square", "pow")
    square = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow)
    return square and isinstance(inner, ast.BinOp) and isinstance(inner.right, ast.Constant) and inner.right.value == 2


def _is_penalty(subject: Subject, node: ast.expr) -> bool:
    """Whether the sum is named a penalty: by its variable, function or class."""
    source = subject.source
    statement = source.statement_of(node)
    names = [ast.unparse(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
    function, owner = source.enclosing(node, ast.FunctionDef), source.enclosing(node, ast.ClassDef)
    names += [around.name for around in (function, owner) if around is not None]
    return any(_PENALTIES & frozenset(spelling.words_of(name)) for name in names)


def _sums_of_weights(subject: Subject) -> Iterator[Term]:
    """Sums over a model's weights of their sums, under a name that says which norm is meant."""
    for target, body in _loops(subject):
        weight = target.elts[-1] if isinstance(target, ast.Tuple) else target
        for added, name in body:
            inner = goals.reduced(added) if isinstance(added, ast.Call) else None
            shape = _shape(name)
            if inner is not None and shape and ast.unparse(inner) == ast.unparse(weight):
                yield Term(inner, f"`{name}`", (shape,))


def _of_weights(iterated: ast.expr) -> bool:
    weights = iterated.func if isinstance(iterated, ast.Call) else iterated
    return isinstance(weights, ast.Attribute) and weights.attr in _WEIGHTS


def _loops(subject: Subject) -> Iterator[tuple[ast.expr, list[tuple[ast.expr, str]]]]:
    """Loops and comprehensions over weights: their target, and what they add to which name."""
    source = subject.source
    for loop in source.nodes(ast.For):
        if not _of_weights(loop.iter):
            continue
        sums = [
            (node.value, ast.unparse(node.target))
            for node in within(loop, ast.AugAssign)
            if isinstance(node.op, ast.Add)
        ]
        yield loop.target, sums
    for made in (*source.nodes(ast.GeneratorExp), *source.nodes(ast.ListComp)):
        if not isinstance(made, (ast.GeneratorExp, ast.ListComp)) or len(made.generators) != 1:
            continue
        statement = source.statement_of(made) if _of_weights(made.generators[0].iter) else None
        if isinstance(statement, ast.Assign):
            name = ast.unparse(statement.targets[0])
            yield made.generators[0].target, [(made.elt, name)]


def _shape(name: str) -> str:
    said = frozenset(spelling.words_of(name)) | frozenset(name.lower().split("_"))
    square, absolute = bool(said & _SQUARES), bool(said & _ABSOLUTES)
    return "" if square == absolute else "square" if square else "absolute"


def _differences(subject: Subject) -> Iterator[Term]:
    """Mean differences of predictions and labels that are minimized alone."""
    source = subject.source
    for value in goals.minimized(subject):
        inner: ast.expr | None = value
        depth = 0
        while isinstance(inner, ast.Call) and (deeper := goals.reduced(inner)) is not None:
            inner, depth = deeper, depth + 1
        if not depth or not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Sub):
            continue
        sides = [_is_label(side) for side in (inner.left, inner.right)]
        if sides.count(True) != 1:
            continue
        statement = source.statement_of(value)
        names = [ast.unparse(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
        function = source.enclosing(value, ast.FunctionDef)
        names += [function.name] if function is not None else []
        said = {shape for name in names if (shape := _shape(name))}
        shapes = (said.pop(),) if len(said) == 1 else ("square", "absolute")
        yield Term(inner, "the mean difference of prediction and label", shapes)


def _is_label(side: ast.expr) -> bool:
    if not isinstance(side, (ast.Name, ast.Attribute, ast.Subscript)):
        return False
    base = side.value if isinstance(side, ast.Subscript) else side
    name = trees.last_name(base)
    said = frozenset(spelling.words_of(name))
    return bool(said & _LABELS) and not said & {"pred", "hat", "predicted", "prediction", "out", "output", "fake"}


def _shaped(subject: Subject, expr: ast.expr, shape: str) -> tuple[Edit, ...]:
    site = subject.source.site(expr)
    text = subject.text(site)
    plain = isinstance(expr, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    held = text if plain else f"({text})"
    if shape == "square":
        return (Replace(site, f"{held} ** 2"),)
    return (Replace(site, f"{held}.abs()" if "torch" in subject.source.frameworks else f"abs({text})"),)
