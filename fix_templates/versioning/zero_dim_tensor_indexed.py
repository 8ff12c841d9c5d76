"""`loss.data[0]`, `loss.backward(torch.FloatTensor([1]))`: a tensor without axes is treated as one with one element."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, Replace, Source, Subject, Wrap, tensor_counts, trees, uses_of, words

PEELED_CALLS = frozenset({"cpu", "detach", "numpy", "cuda", "float"})
"""Methods before the index that do not change the number."""

REDUCTIONS = frozenset({"sum", "mean", "norm", "max", "min", "prod"})
"""Methods of tensors that return a single number when called without arguments."""


AT_ZERO = re.compile(r"\[\s*0")
"""The end of `INDEXED`, which is searched much faster."""

INDEXED = re.compile(r"(?:\.data|\)|\w)\s*\[\s*0")
"""What the source must contain for this rule, where no run crashed at an index."""

ONE_NUMBER = words("acc accuracy bce cost crit criterion dice elbo err error kl kld loss mse nll")
"""Words in the name of a value, or of the function that returns it, that is usually reduced to one number."""

OF_ARRAYS = frozenset({"cpu", "cuda", "data", "detach", "dim", "numpy", "shape", "size", "squeeze", "view"})
"""Attributes of arrays that plain numbers do not have."""

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

REFUSED = re.compile(
    r"grad_output\[0\] has a shape of torch\.Size\(\[1\]\) and output\[0\] has a shape of torch\.Size\(\[\]\)"
)
"""torch's message about a gradient with one element for a tensor without axes."""

MAKERS = frozenset(("torch.FloatTensor", "torch.Tensor", "torch.tensor", "torch.cuda.FloatTensor"))
MOVES = frozenset(("cuda", "cpu", "to", "float", "type", "clone"))
"""Methods that keep a tensor's shape."""


class ZeroDimTensorIndexed(ApiChange):
    """Losses and full reductions have no axes since torch 0.4: indexing one raises an IndexError.

    Programs for torch 0.3 wrote `loss.data[0]` for the value of a loss. The indexed tensor counts as one without axes
    where it is the result of a loss that reduces or of `sum()` or `mean()` over everything; where `backward()` is
    called on it, or on a sum with it, without an argument; where a function of the program collects `sum(0)` of
    flattened values in a list, as the usual `accuracy` does; or where the run crashed at this index. Once a program has
    one of these, `.data[0]` of anything named like a loss or an accuracy counts, too.

    The gradient passed to `backward` had one element as well, `loss.backward(torch.FloatTensor([1]))`, and is refused.
    It is created without an axis where it is only used for `backward`; else it is squeezed in the call.

    Fix safety: unsafe for gradients, which are found from a crash. For indices, safe: `item()` returns the same number
    for a tensor of one element, whatever its shape; unsafe where only the name says that it has one.

    References: https://github.com/pytorch/pytorch/releases/tag/v0.4.0 (0-dimensional tensors),
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html,
    https://pytorch.org/blog/pytorch-0_4_0-migration-guide/.
    """

    code = "DNF504"
    name = "zero-dim-tensor-indexed"
    message = "{expression} indexes a tensor without axes, which raises since torch 0.4"
    formerly = ("DNF594", "gradient-of-one-element")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        yield from _gradients(subject)
        source = subject.source
        stopped = subject.crash is not None and subject.crash.kind == "IndexError"
        if "torch" not in source.frameworks or not (
            stopped or AT_ZERO.search(source.text) and INDEXED.search(source.text)
        ):
            return
        found: list[tuple[ast.Subscript, ast.expr, bool]] = []
        named: list[tuple[ast.Subscript, ast.expr, bool]] = []
        scalars = None
        for node in uses_of(source).subscripts():
            if not tensor_counts.is_zero(node.slice):
                continue
            base, unwrapped = _peeled(node)
            if isinstance(source.parent(node), ast.Subscript) or _becomes_array(source, node):
                continue
            beside = stopped and _crashed_beside(subject, node)
            if beside or tensor_counts.is_counted(source, base):
                found.append((node, base, beside or tensor_counts.counts_tensors(source, base)))
                continue
            if not stopped and not unwrapped and not isinstance(base, (ast.Call, ast.Name)):
                continue
            if scalars is None:
                scalars = _driven(subject)
            if _crashed_at(subject, node) or _is_number(subject, base, scalars, unwrapped):
                found.append((node, base, True))
            elif isinstance(node.value, ast.Attribute) and node.value.attr == "data" and _called_number(subject, base):
                named.append((node, base, False))
        if found or not source.words.isdisjoint({"volatile", "Variable"}):
            found += named
        texts = _formatted(source, [(node, _number(source, base)) for node, base, _ in found])
        for node, base, certain in found:
            yield _hit(subject, node, texts.get(node, Replace(source.site(node), _number(source, base))), certain)

    programs = """
=== example (runs): the loss of a training loop
import torch

model = torch.nn.Linear(1, 1)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(4, 1), torch.randn(4, 1)
for epoch in range(3):
    loss = criterion(model(x), y)
-     print(epoch, loss.data[0])
+     print(epoch, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example (runs): a loss by hand
import torch

w = torch.randn(3, 2, requires_grad=True)
y = torch.randn(4, 3).mm(w)
loss = (y - 1).pow(2).sum()
loss.backward()
- print(f"{loss.data.cpu().numpy()[0]:.3f}", loss.data[0], f"{2 + 3}: {loss.data[0]} {loss.data[0]:.2f}")
+ print(f"{loss.item():.3f}", loss.item(), f"{2 + 3}: {loss.item()} {loss.item():.2f}")

=== example: a loss added up while testing
import torch.nn.functional as F


def test(model, loader):
    total = 0
    for data, target in loader:
-         total += F.nll_loss(model(data), target).data[0]
+         total += F.nll_loss(model(data), target).item()
    return total

=== example: losses that are added up as tensors, and read where few data do not come
import torch

criterion = torch.nn.MSELoss()


def evaluate(model, loader):
    total = 0
    for x, y in loader:
        total += len(x) * criterion(model(x), y).data
-     return total[0] / len(loader)
+     return total.item() / len(loader)


def train(model, optimizer, loader, every=100):
    best = [1.0]
    total = 0
    for number, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.data
        if number % every == 0 and number:
-             print(total[0] / every, best[0])
+             print(total.item() / every, best[0])
            total = 0

=== reject: rows that are added up
import torch

criterion = torch.nn.MSELoss(reduction="none")


def evaluate(model, loader):
    total = rows = 0
    for x, y in loader:
        total += criterion(model(x), y).data
        rows += x.data
    return total[0], rows[0]

=== example: parts of a loss, and an accuracy that another file works out
import torch
from metrics import accuracy


def train(net, criterion, optimizer, loader, meters):
    for x, y in loader:
        out = net(x)
        fit = criterion(out, y)
        size = out.norm(2) * 0.1
        loss = fit + 0.01 * size
        acc = accuracy(out, y)
        loss.backward()
        optimizer.step()
-         meters.update(fit.data[0], size.data[0] / 3, acc.data[0], out.data[0])
+         meters.update(fit.item(), size.item() / 3, acc.item(), out.data[0])

=== example (runs): the precision of the likeliest classes
import torch


def accuracy(output, target, topk=(1,)):
    _, pred = output.topk(max(topk), 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    res = []
    for k in topk:
        correct_k = correct[:k].reshape(-1).float().sum(0)
        res.append(correct_k.mul_(100.0 / target.size(0)))
    return res


def share(output, target, percent=100.0):
    res = []
    count = len(target)
    res.append(100 * output.max(1)[1].eq(target).sum() * percent / (count * target.shape[0]))
    return res


part = share(torch.randn(8, 9), torch.zeros(8).long())[0]
- print(part[0])
+ print(part.item())
prec1, prec5 = accuracy(torch.randn(8, 9), torch.zeros(8).long(), topk=(1, 5))
best = accuracy(torch.randn(8, 9), torch.zeros(8).long())[0]
- print(prec1[0], prec5[0] / 2, best[0])
+ print(prec1.item(), prec5.item() / 2, best.item())

=== example (runs): the two gradients of a critic
import torch

critic = torch.nn.Linear(3, 1)
- one = torch.FloatTensor([1])
+ one = torch.tensor(1.0)
mone = one * -1
if torch.cuda.is_available():
    one, mone = one.cuda(), mone.cuda()
critic(torch.ones(4, 3)).mean().backward(mone)
critic(torch.zeros(4, 3)).mean().backward(one)
print(critic.weight.grad)

=== example (runs): a gradient that something else is done with as well
import torch

net = torch.nn.Linear(3, 1)
one = torch.ones(1)
print(torch.cat([one, one]))
- net(torch.ones(4, 3)).sum().backward(one)
+ net(torch.ones(4, 3)).sum().backward(one.squeeze())

=== reject (runs): the precision with its axis kept
import torch


def accuracy(output, target):
    res = []
    correct = output.max(1)[1].eq(target)
    res.append(correct.view(-1).float().sum(0, keepdim=True))
    return res


def rows(output):
    res = []
    res.append(output.float().sum(0))
    return res


prec = accuracy(torch.randn(8, 9), torch.zeros(8).long())[0]
row = rows(torch.randn(8, 9))[0]
print(prec[0], row[0])

=== reject (runs): a count that is scaled by several numbers
import torch


def accuracy(output, target, weights, scale=None):
    res = []
    correct = output.max(1)[1].eq(target).view(-1).float()
    res.append(correct.sum() / weights)
    res.append(correct.sum(0).mul(weights * 2))
    return res


def scaled(output, weights):
    rows = torch.ones(3) / weights.size(0)
    res = [rows]
    res.append(output.sum() * rows)
    return res


prec, five = accuracy(torch.randn(8, 9), torch.zeros(8).long(), torch.ones(3))
other = scaled(torch.randn(8, 9), torch.ones(3))[1]
print(prec[0], five[0], other[0])

=== reject (runs): the first of several losses
import torch
from torch.autograd import Variable

criterion = torch.nn.MSELoss(reduction="none")
loss = criterion(torch.zeros(3), torch.ones(3))
first = Variable(torch.zeros(3)).data[0]
print(loss.data[0], first, criterion(torch.zeros(3), torch.ones(3)).data[0])

=== reject (runs): a part of a sum over several values
import torch

weights = torch.randn(3, requires_grad=True)
values = weights * 2
(values.sum() + 1).backward()
print(values.data[0])

=== reject (runs): a loss of one row, whose sum is used as an array
import torch

weights = torch.randn(1, 3, requires_grad=True)
total = 0.0
for row in torch.randn(4, 3, 1):
    loss = weights.mm(row)
    total += loss.data[0]
    loss.backward()
print(total.cpu().numpy()[0])

=== reject (runs): the first row of a batch
import torch

model = torch.nn.Linear(2, 1)
output = model(torch.randn(4, 2))
print(output.data[0], output[0], output.data.numpy()[0])

=== reject (runs): a loss that has an axis too
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(1, 3))[0].backward(torch.FloatTensor([1]))

=== reject: gradients of a batch
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(2, 3)).backward(torch.ones(2))
"""


def _becomes_array(source: Source, node: ast.Subscript) -> bool:
    """Whether the value is assigned to a name with an attribute that plain numbers do not have."""
    above = source.parent(node)
    while isinstance(above, ast.BinOp):
        above = source.parent(above)
    if isinstance(above, ast.AugAssign):
        target: ast.expr = above.target
    elif isinstance(above, ast.Assign) and len(above.targets) == 1:
        target = above.targets[0]
    else:
        return False
    if not isinstance(target, ast.Name):
        return False
    function = source.enclosing(node, ast.FunctionDef)
    return any(
        each.attr in OF_ARRAYS
        and isinstance(each.value, ast.Name)
        and each.value.id == target.id
        and source.enclosing(each, ast.FunctionDef) is function
        for each in source.nodes(ast.Attribute)
        if isinstance(each, ast.Attribute)
    )


def _peeled(node: ast.Subscript) -> tuple[ast.expr, bool]:
    """The tensor that is indexed, without `.data`, `.cpu()` and the like; and whether there was any of these."""
    base: ast.expr = node.value
    unwrapped = False
    while True:
        if isinstance(base, ast.Subscript) and tensor_counts.is_zero(base.slice):
            base = base.value
        elif isinstance(base, ast.Attribute) and base.attr == "data":
            base, unwrapped = base.value, True
        elif (
            isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and not base.args and not base.keywords
        ):
            if base.func.attr not in PEELED_CALLS:
                return base, unwrapped
            base, unwrapped = base.func.value, True
        else:
            return base, unwrapped


def _number(source: Source, base: ast.expr) -> str:
    text = source.segment(source.site(base))
    return f"({text}).item()" if isinstance(base, (ast.BinOp, ast.UnaryOp, ast.Compare)) else f"{text}.item()"


def _formatted(source: Source, codes: list[tuple[ast.Subscript, str]]) -> dict[ast.Subscript, Replace]:
    """For indices within f-strings, the edit of the whole string, the smallest part that can be edited."""
    inside: dict[ast.JoinedStr, list[tuple[ast.Subscript, str]]] = {}
    for node, code in codes:
        string = source.enclosing(node, ast.JoinedStr)
        written = source.segment(source.site(node))  # older Pythons have other positions in some strings
        if isinstance(string, ast.JoinedStr) and written.replace(" ", "") == ast.unparse(node).replace(" ", ""):
            inside.setdefault(string, []).append((node, code))
    found: dict[ast.Subscript, Replace] = {}
    for string, group in inside.items():
        site = source.site(string)
        text = source.segment(site)
        for node, code in sorted(group, key=lambda one: -one[0].col_offset):
            own = source.site(node)
            text = text[: own.column - site.column] + code + text[own.end_column - site.column :]
        found |= {node: Replace(site, text) for node, _ in group}
    return found


def _hit(subject: Subject, node: ast.Subscript, edit: Replace, certain: bool) -> Hit:
    source = subject.source
    return Hit(
        source.site(node),
        ZeroDimTensorIndexed.message.format(expression=source.segment(source.site(node))),
        title="extract the number with item()",
        edits=(edit,),
        safe=certain,
        removed={"torch": "0.5"},
        confidence=0.95 if certain else 0.8,
    )


def _driven(subject: Subject) -> frozenset[tuple[ast.AST | None, str]]:
    """The names on which `backward()` is called without a gradient: they hold one number.

    A name means the same in the whole program. The operands of a sum or product that is one number are so too, in the
    function where it is computed, which is then returned along with the name.
    """
    source = subject.source
    found: set[tuple[ast.AST | None, str]] = set()
    sums: list[ast.expr] = []
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or call.args:
            continue
        if all(k.arg == "retain_graph" for k in call.keywords):
            sums.append(call.func.value)
            if isinstance(call.func.value, ast.Name):
                found.add((None, call.func.value.id))
    while sums:
        value = sums.pop()
        if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult):
            sums += [value.left, value.right]
        elif isinstance(value, ast.UnaryOp):
            sums.append(value.operand)
        elif isinstance(value, ast.Name) and (scope := _scope(subject, value), value.id) not in found:
            found.add((scope, value.id))
            sums += [bound for bound in source.bindings(value) if isinstance(bound, ast.BinOp)]
    return frozenset(found)


def _scope(subject: Subject, node: ast.AST) -> ast.AST | None:
    return subject.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or subject.source.tree


def _called_number(subject: Subject, base: ast.expr) -> bool:
    """Whether the name of the indexed value says that it is one number, and nothing known contradicts that."""
    made = base.func if isinstance(base, ast.Call) else base
    name = trees.last_name(made)
    if ONE_NUMBER.isdisjoint(word.lower() for word in WORD.findall(name)):
        return False
    values = subject.source.bindings(base) if isinstance(base, ast.Name) else (base,)
    return not any(_may_be_many(subject, value) for value in values)


def _may_be_many(subject: Subject, value: ast.expr) -> bool:
    """Whether a value is created with an argument that keeps its elements apart."""
    if not isinstance(value, ast.Call):
        return isinstance(value, (ast.Subscript, ast.List, ast.Tuple, ast.ListComp))
    made = subject.source.constructor(value.func)
    return not all(_reduces(call) for call in (value, made) if call is not None)


def _is_number(
    subject: Subject, base: ast.expr, driven: frozenset[tuple[ast.AST | None, str]], unwrapped: bool
) -> bool:
    """Whether an expression holds a tensor without axes."""
    if isinstance(base, ast.Name):
        if _is_sum(subject, base, driven):
            return True
        if not unwrapped:
            return False
        if (None, base.id) in driven or (_scope(subject, base), base.id) in driven:
            return True
        bound = subject.source.bindings(base)
        return bool(bound) and all(_gives_number(subject, value) for value in bound)
    return _gives_number(subject, base)


def _is_sum(subject: Subject, name: ast.Name, driven: frozenset[tuple[ast.AST | None, str]]) -> bool:
    """Whether a name holds what losses add up to: `total = 0`, and then `total += loss.data`."""
    source, scope = subject.source, _scope(subject, name)
    stores = [one for one in uses_of(source).names(name.id) if not isinstance(one.ctx, ast.Load)]
    statements = [source.parent(one) for one in stores if _scope(subject, one) is scope]
    added = [one.value for one in statements if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add)]
    begun = [one.value for one in statements if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)]
    return (
        bool(added)
        and len(added) + len(begun) == len(statements)
        and all(isinstance(value.value, (int, float)) for value in begun if isinstance(value, ast.Constant))
        and all(_is_tensor_of_one(subject, value, driven) for value in added)
    )


def _is_tensor_of_one(subject: Subject, value: ast.expr, driven: frozenset[tuple[ast.AST | None, str]]) -> bool:
    """Whether an expression is a tensor without axes, or one that is scaled by numbers of Python."""
    if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult):
        sides = (value.left, value.right)
        tensors = [_is_tensor_of_one(subject, side, driven) for side in sides]
        return any(tensors) and all(
            known or tensor_counts.is_number(subject.source, side) for side, known in zip(sides, tensors, strict=True)
        )
    if isinstance(value, ast.Attribute) and value.attr == "data":
        return _is_number(subject, value.value, driven, True)
    return isinstance(value, ast.Name) and _is_number(subject, value, driven, True)


def _gives_number(subject: Subject, value: ast.expr) -> bool:
    source = subject.source
    if isinstance(value, ast.BinOp):
        return _gives_number(subject, value.left) and _gives_number(subject, value.right)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (int, float))
    if not isinstance(value, ast.Call):
        return False
    name = source.qualified(value.func) or ""
    if name.startswith("torch.nn.functional.") and name.endswith(("_loss", "cross_entropy", "kl_div", "logits")):
        return _reduces(value)
    if name in ("torch.sum", "torch.mean"):
        return len(value.args) == 1 and not value.keywords
    made = source.constructor(value.func)
    kind = source.qualified(made.func) if made is not None else None
    if made is not None and kind and kind.startswith("torch.nn.") and kind.endswith("Loss"):
        return _reduces(made)
    if isinstance(value.func, ast.Attribute) and value.func.attr in REDUCTIONS and not source.qualified(value.func):
        return not value.args and not value.keywords
    return False


def _crashed_beside(subject: Subject, node: ast.Subscript) -> bool:
    """Whether the run crashed at the index of another value, or another use, of the same function's result."""
    crash = subject.crash
    if crash is None or crash.site is None or crash.site.path or "0-dim tensor" not in crash.message:
        return False
    source = subject.source
    functions = {ast.unparse(call.func) for call in tensor_counts.given_by(source, node.value)}
    at = [
        n
        for n in uses_of(source).subscripts()
        if tensor_counts.is_zero(n.slice) and crash.site.encloses(source.site(n))
    ]
    if any(source.statement_of(n) is source.statement_of(node) and _peeled(n)[1] and _peeled(node)[1] for n in at):
        return True  # written alike, in one statement
    if not functions:
        return False
    return any(
        {ast.unparse(call.func) for call in tensor_counts.given_by(source, one.value)} == functions for one in at
    )


def _reduces(call: ast.Call) -> bool:
    """Whether a loss is reduced to one number, as far as its arguments say."""
    for keyword in call.keywords:
        given = keyword.value.value if isinstance(keyword.value, ast.Constant) else "none"
        if keyword.arg in (None, "reduction", "reduce") and given in ("none", False):
            return False
    return True


def _crashed_at(subject: Subject, node: ast.Subscript) -> bool:
    """Whether the run crashed at this index: an IndexError, in user code, that no recorded call explains."""
    crash = subject.crash
    if crash is None or crash.kind != "IndexError" or crash.site is None or crash.site.path:
        return False
    site = subject.source.site(node)
    if "0-dim tensor" in crash.message and crash.site == site:
        return True
    if crash.call is not None and crash.call.inputs and crash.call.inputs[0].shape not in ((), None):
        return False
    _, unwrapped = _peeled(node)
    return unwrapped and (crash.site == site or (crash.site.encloses(site) and _lone(subject, node)))


def _lone(subject: Subject, node: ast.Subscript) -> bool:
    """Whether the statement has no other index that could have failed."""
    statement = subject.source.statement_of(node)
    return sum(isinstance(each, ast.Subscript) for each in ast.walk(statement)) == 1


def _gradients(subject: Subject) -> Iterator[Hit]:
    """The call of `backward` that crashed."""
    crash, source = subject.crash, subject.source
    if crash is None or not REFUSED.search(crash.message):
        return
    call = subject.node(crash.site)
    if not isinstance(call, ast.Call) or not _is_backward(call) or not call.args:
        return
    made = tuple(dict.fromkeys(_made(source, call.args[0])))
    edits: tuple[Edit, ...] = tuple(Replace(source.site(each), f"torch.tensor({_only_number(each)})") for each in made)
    if not made and _is_plain(call.args[0]):
        edits = (Wrap(source.site(call.args[0]), "", ".squeeze()"),)
    if edits:
        yield Hit(
            source.site(call),
            "a loss has no axes since torch 0.4, and the gradient that backward is called with has one",
            title="pass a gradient without axes",
            edits=edits,
            exact=True,
            confidence=0.9,
            felt=source.site(call),
        )


def _is_backward(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"


def _is_plain(expr: ast.expr) -> bool:
    return isinstance(expr, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))


def _made(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> list[ast.Call]:
    """The calls that create a gradient of one element; empty where it is created or used otherwise."""
    if isinstance(expr, ast.Call):
        if source.qualified(expr.func) in MAKERS and _only_number(expr):
            return [expr]
        held = expr.func.value if isinstance(expr.func, ast.Attribute) and expr.func.attr in MOVES else None
        return _made(source, held, under) if held is not None else []
    if isinstance(expr, (ast.BinOp, ast.UnaryOp)):
        sides = [expr.operand] if isinstance(expr, ast.UnaryOp) else [expr.left, expr.right]
        return [call for side in sides if not isinstance(side, ast.Constant) for call in _made(source, side, under)]
    if not isinstance(expr, ast.Name) or not all(_is_harmless(source, each) for each in uses_of(source).names(expr.id)):
        return []
    if expr.id in under:
        return []
    return [call for value in source.bindings(expr) for call in _made(source, value, under | {expr.id})]


def _is_harmless(source: Source, name: ast.Name) -> bool:
    """Whether a name is assigned, moved, multiplied by a number, or passed to `backward`."""
    above = source.parent(name)
    if isinstance(name.ctx, ast.Store) or isinstance(above, ast.UnaryOp) or _is_backward(above):
        return True
    if isinstance(above, ast.BinOp):
        return isinstance(above.left if above.right is name else above.right, (ast.Constant, ast.UnaryOp))
    return isinstance(above, ast.Attribute) and above.attr in MOVES


def _only_number(call: ast.Call) -> str:
    """The one number in a call such as `torch.FloatTensor([1])`, as a float; empty otherwise."""
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    only = given.elts[0] if isinstance(given, ast.List) and len(given.elts) == 1 else None
    try:
        value = ast.literal_eval(only) if only is not None else None
    except ValueError:
        return ""
    return repr(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
