"""A score that should grow is minimized: a Dice coefficient as the loss, or a log-likelihood without its minus."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Subject,
    Wrap,
    argument_value,
    compile_calls,
    goals,
    progress_figures,
    spelling,
    words,
)


class ScoreMinimized(ReadTemplate):
    """Training minimizes a quantity of which greater is better.

    A Dice coefficient or an intersection over union used as the loss falls to 0: the network learns to miss. A
    cross-entropy written out as `sum(y * log(p))` without its minus has no lower bound: the network learns to assign
    the true class no probability. A score is recognized by its name and a function that returns it unchanged; a
    log-likelihood by the product of labels with a logarithm.

    Fix safety: unsafe. Training goes the other way, which is the point.

    References: Goodfellow, Bengio, Courville, "Deep Learning", section 5.5 (the negative log-likelihood).
    """

    code = "DNF324"
    name = "score-minimized"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "{what} is minimized, although a greater value is better"
    triggers = ("compile", "backward", "minimize", "gradient")

    declined = "the sign cannot be changed in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        if _ascends(subject):
            return
        yield from _compiled(subject)
        for value in goals.minimized(subject):
            yield from _score(subject, value)
            yield from _likelihood(subject, value)

    programs = """
=== example: the Dice coefficient as the loss of Keras
from keras import backend as K
from keras.layers import Conv2D
from keras.models import Sequential

def dice_coef(y_true, y_pred, smooth=1.0):
    overlap = K.sum(y_true * y_pred)
    return (2.0 * overlap + smooth) / (K.sum(y_true) + K.sum(y_pred) + smooth)

model = Sequential([Conv2D(1, 3, padding="same", activation="sigmoid")])
- model.compile(optimizer="adam", loss=dice_coef, metrics=[dice_coef])
+ model.compile(optimizer="adam", loss=lambda y_true, y_pred: 1 - dice_coef(y_true, y_pred), metrics=[dice_coef])

=== example: a loss that is there and not used
import tensorflow as tf

def iou(y_true, y_pred):
    both = tf.reduce_sum(y_true * y_pred)
    return both / (tf.reduce_sum(y_true + y_pred) - both)

def iou_loss(y_true, y_pred):
    return -iou(y_true, y_pred)

net = unet()
- net.compile("adam", iou, metrics=["accuracy"])
+ net.compile("adam", iou_loss, metrics=["accuracy"])

=== example: an overlap with a gradient tape
import torch

def dice_score(pred, mask):
    overlap = (pred * mask).sum()
    score = 2 * overlap / (pred.sum() + mask.sum() + 1e-6)
    return score

for image, mask in batches:
-     loss = dice_score(torch.sigmoid(net(image)), mask)
+     loss = 1 - dice_score(torch.sigmoid(net(image)), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a cross-entropy without its minus in a graph
import tensorflow.compat.v1 as tf

y = tf.nn.softmax(tf.matmul(x, w) + b)
- cross_entropy = tf.reduce_mean(tf.reduce_sum(y_ * tf.log(y), axis=1))
+ cross_entropy = -tf.reduce_mean(tf.reduce_sum(y_ * tf.log(y), axis=1))
train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)

=== example: a binary cross-entropy without its minus in torch
import torch

p = torch.sigmoid(x @ w)
- cost = (y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
+ cost = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
cost.backward()

=== reject: turned round where it is returned
import torch
from keras import backend as K

def dice_coef(y_true, y_pred):
    dice = 2 * K.sum(y_true * y_pred) / (K.sum(y_true) + K.sum(y_pred))
    return 1 - dice

def iou_score(pred, mask):
    score = (pred * mask).sum() / (pred + mask).sum()
    loss = 1 - score
    return loss

model.compile(optimizer="adam", loss=dice_coef)
loss = iou_score(net(x), mask)
loss.backward()

=== reject: turned round where it is used
import torch

def dice_score(pred, mask):
    return 2 * (pred * mask).sum() / (pred + mask).sum()

loss = 1 - dice_score(net(x), mask)
loss.backward()
gain = (y * torch.log(p)).mean()
loss = -gain
loss.backward()

=== reject: a loss that is reduced in steps, under one name
import torch

loss = (net(x) - y) ** 2
loss = loss.view(-1, 4)
loss = loss.sum(1)
loss = loss.mean(0)
loss.backward()

=== reject: other products with logarithms
import torch

p = net(x).softmax(1)
entropy = (p * torch.log(p)).sum(1).mean()
entropy.backward()
divergence = (q * torch.log(q / p)).sum()
divergence.backward()
fooled = torch.log(1 - judge(fake)).mean()
fooled.backward()
loss = (weight * -torch.log(p)).mean()
loss.backward()

=== reject: losses with a score in their names
import torch

def dice_loss(pred, mask):
    return 1 - 2 * (pred * mask).sum() / (pred + mask).sum()

def map_error(pred, y):
    return (pred - y).abs().mean()

loss = dice_loss(net(x), mask)
loss.backward()
loss = map_error(net(x), y)
loss.backward()
"""


_SCORES = words("dice iou miou jaccard accuracy f1 ssim psnr")
_LOSSES = words("loss losses cost error err distance dist objective neg negative criterion entropy")


def _ascends(subject: Subject) -> bool:
    """Whether the program implements gradient ascent."""
    steps = (node for node in subject.source.nodes(ast.AugAssign) if isinstance(node.op, ast.Add))
    return "maximize" in subject.source.words or any("grad" in ast.unparse(node.value) for node in steps)


def _is_score(name: str) -> bool:
    """Whether a function's name is that of a score and not of a loss."""
    said = frozenset(spelling.words_of(name))
    return bool(said & _SCORES) and not said & _LOSSES and progress_figures.better(name) != "smaller"


def _compiled(subject: Subject) -> Iterator[Fault]:
    """Functions of the program that `compile` gets as the loss."""
    source = subject.source
    for call in source.all_calls:
        if not compile_calls.is_compile(call):
            continue
        given = argument_value(call, "loss", 1)
        function = source.definition(given) if isinstance(given, ast.Name) else None
        if given is None or not isinstance(function, ast.FunctionDef) or not _returns_score(subject, function):
            continue
        site, name = source.site(given), function.name
        ways: list[tuple[str, tuple[Edit, ...], float]]
        ways = [(f"Minimize `{other}`", (Replace(site, other),), 0.9) for other in _turned_round(subject, name)]
        lambda_ = Replace(site, f"lambda y_true, y_pred: 1 - {name}(y_true, y_pred)")
        ways.append((f"Minimize 1 minus `{name}`", (lambda_,), 0.7))
        yield Fault(site, f"`{name}`", tuple(ways))


def _turned_round(subject: Subject, name: str) -> Iterator[str]:
    """Functions of the program that return the negated score."""
    for function in subject.source.tree.body:
        if isinstance(function, ast.FunctionDef) and len(function.args.args) == 2:
            (*_, last) = function.body
            value = last.value if isinstance(last, ast.Return) else None
            turned = value.operand if isinstance(value, ast.UnaryOp) else getattr(value, "right", None)
            if (
                isinstance(turned, ast.Call)
                and progress_figures.name_of(turned.func) == name
                and isinstance(turned.func, ast.Name)
            ):
                yield function.name


def _score(subject: Subject, value: ast.expr) -> Iterator[Fault]:
    """A call of one of the program's scores whose result is minimized unchanged."""
    function = subject.source.definition(value.func) if isinstance(value, ast.Call) else None
    if isinstance(function, ast.FunctionDef) and _returns_score(subject, function):
        site = subject.source.site(value)
        way = f"Minimize 1 minus the result of `{function.name}`", (Wrap(site, "1 - ", ""),), 0.8
        yield Fault(site, f"`{function.name}`", (way,))


def _returns_score(subject: Subject, function: ast.FunctionDef) -> bool:
    """Whether a function named as a score returns a quotient, or its reduction, without a minus."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    if not _is_score(function.name) or len(returned) != 1 or returned[0] is None:
        return False
    value: ast.expr = returned[0]
    for _ in range(4):
        if isinstance(value, ast.Name):
            bound = subject.source.bindings(value)
            if len(bound) != 1:
                return False
            value = bound[0]
        elif isinstance(value, ast.Call) and goals.reduced(value) is not None:
            value = goals.reduced(value) or value
    divides = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)
    return divides and not any(isinstance(node, ast.USub) for node in ast.walk(value))


def _likelihood(subject: Subject, value: ast.expr) -> Iterator[Fault]:
    """Reductions of labels times logarithms that are minimized without a minus."""
    inner: ast.expr | None = value
    depth = 0
    passed: set[ast.expr] = set()  # `loss = loss.mean()` leads to itself
    while isinstance(inner, ast.Call) and inner not in passed and (deeper := goals.reduced(inner)) is not None:
        passed.add(inner)
        inner, depth = deeper, depth + 1
        if isinstance(inner, ast.Name):
            bound = subject.source.bindings(inner, at=value) or subject.source.bindings(inner)
            inner = bound[0] if len(bound) == 1 else None
    if not depth or inner is None or not _is_log_likelihood(subject, inner):
        return
    site = subject.source.site(value)
    way = "Minimize the negative log-likelihood", (Wrap(site, "-", ""),), 0.9
    yield Fault(site, "a log-likelihood", (way,))


def _is_log_likelihood(subject: Subject, expr: ast.expr) -> bool:
    """Whether the expression is `y * log(p)`, or a sum of such products."""
    match expr:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_log_likelihood(subject, left) and _is_log_likelihood(subject, right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any(_is_label(subject, y, log) for y, log in ((left, right), (right, left)))
    return False


def _is_label(subject: Subject, label: ast.expr, log: ast.expr) -> bool:
    """Whether one factor is the logarithm of a probability and the other one its labels."""
    if not isinstance(log, ast.Call) or progress_figures.name_of(log.func) not in ("log", "log_softmax"):
        return False
    method = isinstance(log.func, ast.Attribute) and subject.source.qualified(log.func) is None
    inside = log.func.value if method and isinstance(log.func, ast.Attribute) else log.args[0] if log.args else None
    if inside is None or any(isinstance(node, ast.Div) for node in ast.walk(inside)):
        return False
    names = {node.id for node in ast.walk(label) if isinstance(node, ast.Name)}
    predicted = {node.id for node in ast.walk(inside) if isinstance(node, ast.Name)}
    plain = not any(isinstance(node, (ast.Call, ast.USub)) for node in ast.walk(label))
    return plain and bool(names) and not names & predicted and bool(_LABELS & {w for n in names for w in _parts(n)})


_LABELS = words("y y_ label labels target targets true ys truth onehot gt yb by")


def _parts(name: str) -> set[str]:
    return {name.lower(), *spelling.words_of(name)}
