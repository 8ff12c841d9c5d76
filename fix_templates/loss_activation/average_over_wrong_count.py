"""A sum over samples is divided by the number of batches, or a sum over batches by the number of samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Subject,
    argument_value,
    loaders,
    origins,
    spelling,
    within,
    words,
)

SAMPLES, BATCHES = "samples", "batches"


class AverageOverWrongCount(ReadTemplate):
    """An accuracy or loss that is summed over the batches of a loader is averaged over the wrong count.

    `correct += (predicted == labels).sum()` counts samples: divided by `len(loader)`, the number of batches, it becomes
    an accuracy of several thousand percent. `total += criterion(output, target).item()` adds one mean per batch:
    divided by `len(loader.dataset)`, it becomes a loss that is too small by the batch size. Reported where the program
    creates the loader with batches of more than one sample.

    Fix safety: unsafe. What is reported changes, and decisions that depend on it.

    References: torch.utils.data.DataLoader (`len(dataloader)` is the number of batches); torch.nn.CrossEntropyLoss
    (reduction: "`mean`: the weighted mean of the output is taken").
    """

    code = "DNF323"
    name = "average-over-wrong-count"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "`{sum}` {counted}, and is divided by the number of {divided}"
    triggers = ("DataLoader",)

    declined = "the divisor cannot be replaced in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for loop in source.nodes(ast.For):
            adds = any(isinstance(node.op, ast.Add) for node in within(loop, ast.AugAssign))
            loader = _loader(subject, loop) if adds else None
            if loader is None:
                continue
            for name, counted in _sums(subject, loop).items():
                for divisor in _divisors(subject, loop, name):
                    by = _divided_by(subject, divisor, loader, loop)
                    if by and by != counted:
                        yield _average(subject, divisor, name, loader, counted)

    programs = """
=== example: hits over batches
import torch
from torch.utils.data import DataLoader

test_loader = DataLoader(test_set, batch_size=64)
correct = 0
with torch.no_grad():
    for images, labels in test_loader:
        predicted = model(images).argmax(dim=1)
        correct += (predicted == labels).sum().item()
- print("accuracy", 100 * correct / len(test_loader))
+ print("accuracy", 100 * correct / len(test_loader.dataset))

=== example: means over samples
import torch.nn.functional as F
from torch.utils.data import DataLoader

def test(model, loader):
    test_loss = 0
    for data, target in loader:
        output = model(data)
        test_loss += F.nll_loss(output, target).item()
-     test_loss /= len(loader.dataset)
+     test_loss /= len(loader)
    return test_loss

test(net, DataLoader(digits, batch_size=100, shuffle=False))

=== example: a loss that is created once, and an enumerated loop
from torch import nn, optim
from torch.utils.data import DataLoader
from tqdm import tqdm

train_loader = DataLoader(train_set, 32, shuffle=True)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    running_loss = 0.0
    hits = 0
    for step, (inputs, labels) in enumerate(tqdm(train_loader)):
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        hits += outputs.argmax(1).eq(labels).sum().item()
-     epoch_loss = running_loss / len(train_set)
+     epoch_loss = running_loss / len(train_loader)
    epoch_acc = hits / len(train_set)

=== reject: each sum over its own count
import torch
from torch import nn
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=64)
criterion = nn.CrossEntropyLoss()
correct, total, mean_loss, weighted = 0, 0, 0.0, 0.0
for x, y in loader:
    out = model(x)
    loss = criterion(out, y)
    mean_loss += loss.item()
    weighted += loss.item() * x.size(0)
    correct += (out.argmax(1) == y).sum().item()
    total += y.size(0)
print(correct / total, correct / len(loader.dataset), mean_loss / len(loader), weighted / len(loader.dataset))

=== reject: one sample per batch
import torch
from torch.utils.data import DataLoader

loader = DataLoader(data)
correct = 0
for x, y in loader:
    correct += (model(x).argmax(1) == y).sum().item()
print(correct / len(loader))

=== reject: sums of losses, and shares of batches
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=64)
test_loss, accuracy = 0, 0
for x, y in loader:
    out = model(x)
    test_loss += F.nll_loss(out, y, reduction="sum").item()
    accuracy += (out.argmax(1) == y).float().mean().item()
test_loss /= len(loader.dataset)
accuracy /= len(loader)

=== reject: hits of pixels
import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=64)
correct = 0
for x, masks in loader:
    correct += (model(x).argmax(1) == masks).sum().item()
print(correct / len(loader))

=== reject: divided twice
import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=64, drop_last=True)
correct = 0
for x, y in loader:
    correct += (model(x).argmax(1) == y).sum().item()
print(correct / len(loader) / 64, correct / (len(loader) * 64))
"""


_LOSSES = words(
    "CrossEntropyLoss NLLLoss MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss cross_entropy "
    "nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits"
)
"""Losses of torch that return the mean over the batch by default."""

_COUNTED = frozenset({"enumerate", "tqdm"})
_MANY = words("mask masks pixel pixels token tokens seg segmentation map maps")
"""Words of targets with many values per sample, so that correct predictions do not count samples."""
_PLAIN = words("item cpu detach float double int long numpy tolist")


def _average(subject: Subject, divisor: ast.expr, name: str, loader: ast.expr, counted: str) -> Fault:
    """The fault of a sum that is divided by the wrong count."""
    site, text = subject.source.site(divisor), subject.text(subject.source.site(loader))
    samples = counted == SAMPLES
    way = f"Divide by the number of {counted}", (Replace(site, f"len({text}{'.dataset' if samples else ''})"),), 0.9
    said = "counts samples" if samples else "adds one mean per batch"
    return Fault(site, {"sum": name, "counted": said, "divided": BATCHES if samples else SAMPLES}, (way,))


def _loader(subject: Subject, loop: ast.For) -> ast.expr | None:
    """The loader that a loop iterates over, where the program creates it with several samples per batch."""
    given: ast.expr = loop.iter
    while isinstance(given, ast.Call) and given.args and ast.unparse(given.func).rpartition(".")[2] in _COUNTED:
        given = given.args[0]
    if not isinstance(given, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    made = False
    for one in origins.origins(subject, given):
        if isinstance(one, ast.Call):
            if not _has_batches(subject, one):
                return None
            made = True
    return given if made else None


def _has_batches(subject: Subject, call: ast.Call) -> bool:
    if subject.source.qualified(call.func) != loaders.LOADER:
        return False
    size = argument_value(call, "batch_size", 1)
    return size is not None and not (isinstance(size, ast.Constant) and size.value in (1, None))


def _sums(subject: Subject, loop: ast.For) -> dict[str, str]:
    """The names that the loop adds to: whether every addition counts samples or adds one mean per batch."""
    found: dict[str, set[str]] = {}
    for node in within(loop, ast.AugAssign):
        if isinstance(node.op, ast.Add) and isinstance(node.target, (ast.Name, ast.Attribute)):
            inner = subject.source.enclosing(node, ast.For) is not loop
            found.setdefault(ast.unparse(node.target), set()).add("" if inner else _unit(subject, node.value, loop))
    return {name: units.copy().pop() for name, units in found.items() if len(units) == 1 and units != {""}}


def _unit(subject: Subject, added: ast.expr, loop: ast.For, depth: int = 4) -> str:
    """What one addition counts: `SAMPLES`, `BATCHES` (one mean per batch), or "" where it is not known."""
    if depth == 0:
        return ""
    match added:
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[]) if attr in _PLAIN:
            return _unit(subject, value, loop, depth)
        case ast.Call(func=ast.Name(id="float" | "int"), args=[value]):
            return _unit(subject, value, loop, depth)
        case ast.Attribute(value=value, attr="data"):
            return _unit(subject, value, loop, depth)
        case ast.Call(func=ast.Attribute(value=value, attr="sum"), args=[], keywords=[]):
            return SAMPLES if _is_comparison(subject, value, loop) else ""
        case ast.Call(func=ast.Attribute(attr="sum"), args=[value], keywords=[]):
            return SAMPLES if _is_comparison(subject, value, loop) else ""
        case ast.Call(func=ast.Attribute(value=value, attr="mean"), args=[], keywords=[]):
            return BATCHES if _is_comparison(subject, value, loop) else ""
        case ast.Call():
            return BATCHES if _is_mean_loss(subject, added) else ""
        case ast.Name(id=name):
            values = [
                node.value
                for node in within(loop, ast.Assign)
                if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
            ]
            units = {_unit(subject, value, loop, depth - 1) for value in values}
            changed = any(isinstance(n.target, ast.Name) and n.target.id == name for n in within(loop, ast.AugAssign))
            return units.pop() if len(units) == 1 and not changed else ""
    return ""


def _is_comparison(subject: Subject, value: ast.expr, loop: ast.For, depth: int = 3) -> bool:
    """Whether the value says of each sample whether its prediction is correct."""
    match value:
        case ast.Compare(ops=[ast.Eq()]) | ast.Call(func=ast.Attribute(attr="eq")):
            return not _MANY & {
                part for word in re.findall(r"[A-Za-z]+", ast.unparse(value)) for part in spelling.words_of(word)
            }
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[]) if attr in _PLAIN:
            return _is_comparison(subject, inner, loop, depth)
        case ast.Name(id=name) if depth:
            values = [
                node.value
                for node in within(loop, ast.Assign)
                if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
            ]
            return len(values) == 1 and _is_comparison(subject, values[0], loop, depth - 1)
    return False


def _is_mean_loss(subject: Subject, call: ast.Call) -> bool:
    """Whether the call computes a loss of torch with its default reduction."""
    source = subject.source
    function = (source.qualified(call.func) or "").rpartition(".")
    if function[0] == "torch.nn.functional":
        return function[2] in _LOSSES and not _reduces(call)
    known = source.constructor(call.func)
    made = [known] if known is not None else [o for o in origins.origins(subject, call.func) if isinstance(o, ast.Call)]
    names = {(source.qualified(one.func) or "").rpartition(".")[2] for one in made}
    return bool(made) and names <= _LOSSES and not any(_reduces(one) for one in made)


def _reduces(call: ast.Call) -> bool:
    """Whether a loss is called with a reduction, or with arguments that are not known."""
    return any(k.arg in ("reduction", "size_average", "reduce", None) for k in call.keywords)


def _divisors(subject: Subject, loop: ast.For, name: str) -> Iterator[ast.expr]:
    """What the sum is divided by in its function after the loop."""
    source = subject.source
    own = source.enclosing(loop, ast.FunctionDef, ast.AsyncFunctionDef)
    around: ast.AST = own if own is not None else source.tree
    last = loop.end_lineno or loop.lineno
    begun_again = [
        node.lineno
        for node in within(around, ast.For)
        if node.lineno > last and any(ast.unparse(a.target) == name for a in within(node, ast.AugAssign))
    ]
    until = min(begun_again, default=10**9)
    for update in within(around, ast.AugAssign):
        if not isinstance(update.op, ast.Div) or not last < update.lineno < until:
            continue
        if ast.unparse(update.target) == name and not _divided_again(update, around):
            yield update.value
    for node in within(around, ast.BinOp):
        if not isinstance(node.op, ast.Div) or not last < node.lineno < until:
            continue
        if _is_sum(node.left, name) and not _scaled(subject, node):
            yield node.right


def _is_sum(expr: ast.expr, name: str) -> bool:
    """Whether the expression is the sum, unchanged or as a percentage."""
    match expr:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any(_is_sum(a, name) and _is_percent(b) for a, b in ((left, right), (right, left)))
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[]) if attr in _PLAIN:
            return _is_sum(value, name)
        case ast.Call(func=ast.Name(id="float"), args=[value]):
            return _is_sum(value, name)
    return ast.unparse(expr) == name


def _is_percent(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value in (100, 1)


def _scaled(subject: Subject, division: ast.BinOp) -> bool:
    """Whether the quotient is divided or multiplied by anything but 100."""
    around = subject.source.parent(division)
    if not isinstance(around, ast.BinOp) or not isinstance(around.op, (ast.Div, ast.Mult)):
        return False
    other = around.right if around.left is division else around.left
    return not _is_percent(other)


def _divided_again(division: ast.AugAssign, around: ast.AST) -> bool:
    name = ast.unparse(division.target)
    others = [node for node in within(around, ast.AugAssign) if ast.unparse(node.target) == name]
    return sum(isinstance(node.op, (ast.Div, ast.Mult)) for node in others) > 1


def _divided_by(subject: Subject, divisor: ast.expr, loader: ast.expr, loop: ast.For) -> str:
    """What the divisor counts: `SAMPLES`, `BATCHES`, or "" where it is not known."""
    if not isinstance(divisor, ast.Call) or ast.unparse(divisor.func) != "len" or len(divisor.args) != 1:
        return ""
    counted, name = ast.unparse(divisor.args[0]), ast.unparse(loader)
    if counted == name:
        return BATCHES
    if counted == f"{name}.dataset":
        return SAMPLES
    made = [one for one in origins.origins(subject, loader) if isinstance(one, ast.Call)]
    sets = {ast.unparse(one.args[0]) for one in made if one.args and not isinstance(loop.iter, ast.Attribute)}
    same = _same_scope(subject, made, divisor)
    return SAMPLES if len(made) == 1 and sets == {counted} and same else ""


def _same_scope(subject: Subject, made: list[ast.Call], divisor: ast.expr) -> bool:
    """Whether a name means the same where the loaders are created and where the sum is divided."""
    scope = subject.source.enclosing(divisor, ast.FunctionDef)
    return all(subject.source.enclosing(one, ast.FunctionDef) in (scope, None) for one in made)
