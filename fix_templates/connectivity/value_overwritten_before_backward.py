"""A tensor that the backward pass needs is changed in place before it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dnnfix.api import (
    Call,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    RemoveArgument,
    Repair,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    argument_value,
    function_around,
    graph,
    raised_errors,
    short,
    training_loop,
    trees,
    within,
    words,
)

MESSAGE = "needed for gradient computation has been modified by an inplace operation"

PLACES = {
    "relu": 0,
    "relu6": 0,
    "selu": 0,
    "silu": 0,
    "mish": 0,
    "hardswish": 0,
    "hardsigmoid": 0,
    "leakyrelu": 1,
    "elu": 1,
    "celu": 1,
    "dropout": 1,
    "dropout1d": 1,
    "dropout2d": 1,
    "dropout3d": 1,
    "alphadropout": 1,
    "hardtanh": 2,
    "threshold": 2,
    "rrelu": 2,
}
"""The index of the positional argument `inplace` of layers, by their names in lower case."""

TWINS = words(
    "add sub mul div pow clamp clamp_min clamp_max relu sigmoid tanh exp log sqrt rsqrt neg abs square reciprocal "
    "masked_fill index_fill index_add index_copy scatter scatter_add addmm addcmul addcdiv lerp leaky_relu elu "
    "floor round sin cos softmax multiply subtract divide true_divide"
)
"""Operations with an in-place variant, whose name ends in an underscore."""

KEEP_RESULT = words("sigmoid tanh exp sqrt rsqrt softmax logsoftmax relu leakyrelu elu selu reciprocal tan normalize")
"""Operations whose backward pass needs their output."""

VIEWS = words("view reshape flatten squeeze unsqueeze transpose permute t select narrow diagonal expand")
"""Methods that return a view of the tensor."""

READ_NOTHING = words("add sub add_ sub_ sum mean cat stack neg clone detach float size dim item numel contiguous")
"""Operations whose backward pass needs none of their inputs."""

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}

MOST = 3
"""The number of changes that are tried one by one."""


@dataclass(frozen=True, slots=True)
class _Change:
    """An in-place change, the edits that avoid it, and `more` edits that copy the tensor first."""

    site: Site
    code: str
    title: str
    edits: tuple[Edit, ...]
    more: tuple[Edit, ...] = ()
    likely: int = 0


@dataclass(frozen=True, slots=True)
class _Stepped:
    """The step that came too early, its network, the statements of the late loss, and those before the step."""

    step: ast.stmt
    owner: str
    made: tuple[ast.Assign | ast.AugAssign, ...]
    before: tuple[ast.stmt, ...]
    backward: ast.Call


class ValueOverwrittenBeforeBackward(ReadTemplate):
    """A tensor that the backward pass needs is changed in place: `out += x`, `ReLU(inplace=True)`, an optimizer step.

    Sigmoid, tanh and others compute their gradient from their output, products and layers from their inputs. If one of
    these is overwritten in the forward pass, autograd detects it and `backward` raises. The operation has to return a
    new tensor, or change a copy.

    The overwritten tensors are read from the run; the operation and the shape in the message rank them, and the run of
    the patched program decides.

    An optimizer step changes weights in place too. If a later loss was computed with the stepped network before the
    step, what only this loss needs from the network is computed after it; the estimate of a critic that only weights
    the loss of an actor is detached.

    Fix safety: unsafe. The tensors keep their values; other names for the same tensor no longer change with it. A loss
    that is moved is computed with the weights after the step.

    References: "In-place operations with autograd" and "In-place correctness checks" in "Autograd mechanics" of the
    torch manual; torch.Tensor.detach.
    """

    code = "DNF443"
    name = "value-overwritten-before-backward"
    message = "the backward pass needs a value that was changed in place: {what}"
    confidence = 0.85
    formerly = ("DNF449", "weights-stepped-before-backward")
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("backward", "grad")
    needs_run = True
    symptom = Symptom.CRASH
    declined = "which value is overwritten is not known, or the loss shares its inputs with the loss before it"

    def read(self, subject: Subject) -> Iterator[Fault]:
        node = raised_errors.raised_at(subject, "RuntimeError", MESSAGE)
        stepped = _stepped(subject.source, node) if isinstance(node, ast.Call) else None
        if stepped is not None:
            yield _after_the_step(subject.source, stepped)
        changes = _changes(subject) if node is not None else ()
        if changes:
            what = f"`{changes[0].code}` overwrites it"
            yield Fault(changes[0].site, what, tuple(_kept_values(changes)))

    programs = """
=== example: a sum into the output of a sigmoid
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        out = torch.sigmoid(self.lin(x))
-         out += x  # residual
+         out = out + x  # residual
        return out

net = Block()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()

=== example: a layer that works in place
import torch
import torch.nn as nn

- model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.ReLU(inplace=True), nn.Linear(5, 2))
+ model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.ReLU(), nn.Linear(5, 2))
opt = torch.optim.Adam(model.parameters())
for x in torch.randn(2, 6, 3):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 2, (6,)))
    loss.backward()
    opt.step()

=== example: a column that is set
import torch

lin, out = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*lin.parameters(), *out.parameters()], lr=0.1)
for _ in range(2):
    hidden = torch.tanh(lin(torch.randn(6, 3)))
+     hidden = hidden.clone()
    hidden[:, 0] = 1.0
    loss = out(hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: methods with an underscore, one after another
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x):
        weight = torch.exp(self.lin(x))
-         weight.mul_(0.5).add_(x)
+         weight = weight.mul(0.5).add(x)
        return weight

net = Scaled()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(2):
    opt.zero_grad()
    net(torch.randn(4, 3)).mean().backward()
    opt.step()

=== example: a function that works in place
import torch
import torch.nn.functional as F

lin = torch.nn.Linear(3, 3)
opt = torch.optim.SGD(lin.parameters(), lr=0.01)
for _ in range(2):
    score = lin(torch.randn(4, 3))
    squared = score * score
-     kept = F.relu(score, inplace=True)
+     kept = F.relu(score)
    opt.zero_grad()
    (squared + kept).mean().backward()
    opt.step()

=== example: steps in a tensor that is filled one after another
import torch

cell = torch.nn.Linear(3, 3)
opt = torch.optim.SGD(cell.parameters(), lr=0.01)
for _ in range(2):
    states = torch.ones(4, 3, 3)
    for t in range(2):
-         states[:, t + 1] = torch.tanh(cell(states[:, t]))
+         states[:, t + 1] = torch.tanh(cell(states[:, t].clone()))
    opt.zero_grad()
    states.mean().backward()
    opt.step()

=== example: in two steps
import torch
import torch.nn as nn
import torch.nn.functional as F

gen = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
disc = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1), nn.Sigmoid())
gen_opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
disc_opt = torch.optim.Adam(disc.parameters(), lr=1e-3)
one = torch.ones(4, 1)

def step(real):
    made = gen(torch.randn(4, 2))
-     judged = disc(made)
-     loss_g = F.binary_cross_entropy(judged, one)
    loss_d = F.binary_cross_entropy(disc(real), one) + F.binary_cross_entropy(disc(made.detach()), 1 - one)
    disc_opt.zero_grad()
    loss_d.backward()
    disc_opt.step()
+     judged = disc(made)
+     loss_g = F.binary_cross_entropy(judged, one)
    gen_opt.zero_grad()
    loss_g.backward()
    gen_opt.step()

for real in torch.randn(2, 4, 2):
    step(real)

=== example: a critic that weighs the loss of an actor
import torch
from torch import nn

actor = nn.Sequential(nn.Linear(3, 2), nn.LogSoftmax(dim=1))
critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for states in torch.randn(2, 5, 3):
    gains = torch.rand(5, 1)
    values = critic(states)
    critic_loss = (gains - values).pow(2).mean()
-     actor_loss = -(actor(states)[:, :1] * (gains - values)).mean()
+     actor_loss = -(actor(states)[:, :1] * (gains - values.detach())).mean()
    critic_opt.zero_grad()
    critic_loss.backward(retain_graph=True)
    critic_opt.step()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

=== reject: changes in place that autograd allows
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for _ in range(2):
    x = torch.randn(8, 4)
    out = net[0](x)
    out += x
    loss = net[1](out).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()

=== reject: a column that is changed through a name of its own
import torch

lin, out = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*lin.parameters(), *out.parameters()], lr=0.1)
for _ in range(2):
    hidden = torch.tanh(lin(torch.randn(6, 3)))
    first = hidden[:, 0]
    first *= 2.0
    loss = out(hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: the generator is judged after the step
import torch
from torch import nn

G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for real in torch.randn(2, 4, 2):
    fake = G(torch.randn(4, 2))
    d_loss = D(fake.detach()).mean() - D(real).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = -D(fake).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
"""


def _kept_values(changes: tuple[_Change, ...]) -> Iterator[Repair]:
    """The repairs that avoid in-place changes, one by one and together."""
    for rank, change in enumerate(changes[:MOST]):
        yield change.title, change.edits, 0.9 - 0.02 * rank
        if change.more:
            yield f"{change.title}, and copy it first", (*change.more, *change.edits), 0.8 - 0.02 * rank
    likely = [change for change in changes if change.likely]
    if 1 < len(likely):
        yield "Keep each value that the backward pass needs", _joined(likely), 0.7
    if 1 < len(changes) != len(likely):
        yield "Avoid all in-place changes", _joined(changes), 0.6


def _after_the_step(source: Source, fault: _Stepped) -> Fault:
    """The fault of a step that came too early; the loss is computed after it, or detached."""
    step = ast.unparse(fault.step)
    moved = _moved(source, fault)
    title, edits, prior = f"Compute the loss after `{step}`", moved, 0.9
    if moved is None:
        title, edits, prior = f"Detach the output of `{fault.owner}` for this loss", _detached(source, fault), 0.85
    what = f"`{step}` changes weights of `{fault.owner}` that `{ast.unparse(fault.backward)}` still needs"
    return Fault(source.site(fault.step), what, ((title, edits, prior),) if edits is not None else (), confidence=0.9)


def _joined(changes: tuple[_Change, ...] | list[_Change]) -> tuple[Edit, ...]:
    return tuple(dict.fromkeys(edit for change in changes for edit in change.edits))


def _changes(subject: Subject) -> tuple[_Change, ...]:
    """The in-place changes of the forward pass with their edits, the likeliest first."""
    found: dict[tuple[Edit, ...], _Change] = {}
    for call in subject.network.calls:
        if not _overwrites(call):
            continue
        told = _instead(subject, call)
        if told is None:
            continue
        likely = max(_likely(subject, call), found[told.edits].likely if told.edits in found else 0)
        found[told.edits] = replace(told, likely=likely)
    return tuple(sorted(found.values(), key=lambda change: -change.likely))


def _overwrites(call: Call) -> bool:
    """Whether a call changed a tensor between the weights and the loss in place."""
    if not call.inputs or not call.outputs or call.outputs[0].requires_grad is not True:
        return False
    if call.inputs[0].requires_grad and call.inputs[0].producer is None:
        return False
    named = short(call.name)
    return named == "setitem" or call.args.get("inplace") is True or named.endswith("_")


def _likely(subject: Subject, call: Call) -> int:
    """How likely a change is the cause: 0 if its old value is not needed, more if it matches the message."""
    calls = {each.id: each for each in subject.network.calls}
    changed = call.inputs[0]
    maker = calls.get(changed.producer) if changed.producer is not None else None
    made_by = short(maker.name).lower().strip("_") if maker is not None else ""
    read = any(
        each.id < call.id and short(each.name) not in READ_NOTHING and not short(each.name).endswith("_")
        for each in calls.values()
        if any(value.producer == changed.producer is not None for value in each.inputs)
    )
    if not read and made_by.replace("_", "") not in KEEP_RESULT:
        return 0
    crash = subject.crash
    said = re.search(
        r"\[(?:[\w.]+ )?\[?([\d, ]*)\]+, which is output \d+ of (\w+?)(?:Backward\d*)?,", crash.message if crash else ""
    )
    if said is None or maker is None:
        return 1
    sizes = tuple(int(size) for size in said[1].split(",") if size.strip())
    return 1 + (sizes == changed.shape) + (said[2].lower() == made_by)


def _instead(subject: Subject, call: Call) -> _Change | None:
    """The change with edits that return a new tensor instead."""
    if call.made_at is not None:
        return _layer(subject, call)
    node = subject.node(call.site)
    if node is None:
        return None
    source, statement = subject.source, subject.source.statement_of(node)
    if isinstance(statement, ast.AugAssign) and (node is statement or node is statement.target):
        return _augmented(subject, statement)
    if isinstance(statement, ast.Assign) and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _copied(subject, statement, node)
    node = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(node, ast.Call):
        return None
    if call.args.get("inplace") is True:
        return _function(subject, call, node)
    # A chain of in-place methods is rewritten as a whole, from the last one.
    above = source.parent(node)
    while isinstance(above, ast.Attribute) and isinstance(outer := source.parent(above), ast.Call):
        if not above.attr.endswith("_"):
            break
        node, above = outer, source.parent(outer)
    return _method(subject, statement, node)


def _layer(subject: Subject, call: Call) -> _Change | None:
    source, made = subject.source, subject.constructor_node(call)
    called = subject.node(call.site)
    if made is None or (called is not None and isinstance(source.parent(called), ast.Expr)):
        return None
    place = PLACES.get(short(call.name).lower())
    given = argument_value(made, "inplace", place)
    if not trees.is_true(given):
        return None
    site = source.site(made)
    code = ast.unparse(made)
    return _Change(site, code, f"Let `{code}` return a new tensor", (RemoveArgument(site, "inplace", place),))


def _function(subject: Subject, call: Call, node: ast.Call) -> _Change | None:
    """A function called with `inplace=True`; left alone if its result is discarded."""
    source, place = subject.source, PLACES.get(short(call.name).lower().replace("_", ""))
    place = None if place is None else place + 1
    given = argument_value(node, "inplace", place)
    if not isinstance(given, ast.Constant) or isinstance(source.parent(node), ast.Expr):
        return None
    site, code = source.site(node), ast.unparse(node)
    return _Change(site, code, f"Let `{code}` return a new tensor", (RemoveArgument(site, "inplace", place),))


def _augmented(subject: Subject, statement: ast.AugAssign) -> _Change | None:
    source, target = subject.source, statement.target
    sign = SIGNS.get(type(statement.op))
    site, value = source.site(statement), statement.value
    if isinstance(target, ast.Subscript) and _sets_item(subject, site):
        return _copied(subject, statement, target)
    if sign is None or not _own(source, statement, target):
        return None
    name, text = subject.text(source.site(target)), subject.text(source.site(value))
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)):
        text = f"({text})"
    edit = Replace(site, f"{name} = {name} {sign} {text}")
    return _Change(site, ast.unparse(statement), f"Create a new `{name}` instead of changing it in place", (edit,))


def _sets_item(subject: Subject, site: Site) -> bool:
    """Whether a statement assigned to an element of a tensor, not of a list."""
    return any(
        short(call.name) == "setitem" and call.site is not None and site.encloses(call.site)
        for call in subject.network.calls
    )


def _copied(subject: Subject, statement: ast.stmt, target: ast.Subscript) -> _Change | None:
    source, base = subject.source, target.value
    while isinstance(base, ast.Subscript):
        base = base.value
    if not _own(source, statement, base):
        return None
    name, site = ast.unparse(base), source.site(statement)
    code, copied = ast.unparse(statement), (InsertBefore(site, f"{name} = {name}.clone()"),)
    reads = _parts_read(source, statement, name)
    if any(read.lineno >= statement.lineno for read in reads):
        # The new value is computed from parts of the tensor that is changed right after: these are copied.
        wraps = tuple(Wrap(source.site(read), "", ".clone()") for read in reads)
        return _Change(site, code, f"Compute with copies of the parts of `{name}`", wraps, more=copied)
    return _Change(site, code, f"Change a copy of `{name}`", copied)


def _parts_read(source: Source, statement: ast.stmt, name: str) -> list[ast.Subscript]:
    """The parts of a tensor read by a statement that sets one, and before it in the loop around it."""
    loop = source.enclosing(statement, ast.For, ast.While)
    found = [
        node
        for node in within(loop or statement, ast.Subscript)
        if isinstance(node.ctx, ast.Load)
        and ast.unparse(node.value) == name
        and node.lineno <= (statement.end_lineno or 0)
    ]
    return [
        node for node in found if not isinstance(above := source.parent(node), ast.Subscript) and not _is_copied(above)
    ]


def _is_copied(above: ast.AST | None) -> bool:
    return isinstance(above, ast.Attribute) and above.attr in ("clone", "detach", "shape")


def _method(subject: Subject, statement: ast.stmt, node: ast.Call) -> _Change | None:
    """`x.mul_(2)` becomes `x = x.mul(2)`, or `x.mul(2)` where the result is used."""
    source = subject.source
    told = _without_underscores(subject, node)
    if told is None:
        return None
    text, root = told
    site, code = source.site(node), ast.unparse(node)
    if isinstance(statement, ast.Expr) and statement.value is node:
        if not _own(source, statement, root):
            return None
        text = f"{ast.unparse(root)} = {text}"
    return _Change(site, code, f"Let `{code}` return a new tensor", (Replace(site, text),))


def _without_underscores(subject: Subject, node: ast.Call) -> tuple[str, ast.expr] | None:
    """A call, or chain of calls, with the in-place variants replaced, and the tensor it is called on."""
    function, source = node.func, subject.source
    if not isinstance(function, ast.Attribute) or not function.attr.endswith("_") or function.attr[:-1] not in TWINS:
        return None
    whole, called = subject.text(source.site(node)), subject.text(source.site(function))
    inner = function.value
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr.endswith("_"):
        told = _without_underscores(subject, inner)
        if told is None:
            return None
        start = len(subject.text(source.site(inner)))
        return f"{told[0]}{called[start:-1]}{whole[len(called) :]}", told[1]
    root = inner
    if (source.qualified(function) or "").startswith("torch."):
        if not node.args:
            return None
        root = node.args[0]
    return f"{called[:-1]}{whole[len(called) :]}", root


def _own(source: Source, statement: ast.stmt, target: ast.expr) -> bool:
    """Whether a name may be bound to a new tensor, without breaking other names for the old one."""
    if isinstance(target, ast.Subscript):
        return isinstance(target.value, (ast.Name, ast.Attribute))
    if isinstance(target, ast.Name) and _is_view(source, statement, target):
        return False
    if isinstance(target, ast.Attribute):
        return isinstance(target.value, ast.Name) and target.attr not in ("data", "grad")
    if not isinstance(target, ast.Name):
        return False
    loop = source.enclosing(statement, ast.For)
    while loop is not None:
        if target.id in {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}:
            return False
        loop = source.enclosing(loop, ast.For)
    function = function_around(source, statement)
    given = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)} if function is not None else set()
    return target.id not in given or graph.next_use(source, statement, target)[0] is not None


def _is_view(source: Source, statement: ast.stmt, target: ast.Name) -> bool:
    """Whether a name is a view of a tensor that is read after the change."""
    function = function_around(source, statement)
    given = [
        each.value
        for each in within(function or source.tree, ast.Assign)
        if each.lineno < statement.lineno
        and function_around(source, each) is function
        and any(isinstance(one, ast.Name) and one.id == target.id for one in each.targets)
    ]
    for value in given[-1:]:
        base, seen = value, False
        while True:
            if isinstance(base, ast.Subscript):
                base, seen = base.value, True
            elif isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and base.func.attr in VIEWS:
                base, seen = base.func.value, True
            elif isinstance(base, ast.Attribute) and base.attr in ("T", "mT"):
                base, seen = base.value, True
            else:
                break
        if not seen or not isinstance(base, ast.Name) or base.id == target.id:
            continue
        if any(
            name.id == base.id and isinstance(name.ctx, ast.Load) and name.lineno > (statement.end_lineno or 0)
            for name in within(function or source.tree, ast.Name)
        ):
            return True
    return False


def _stepped(source: Source, backward: ast.Call) -> _Stepped | None:
    """The optimizer step before a backward pass, of a network that its loss was computed with before the step."""
    if not isinstance(backward.func, ast.Attribute) or not isinstance(backward.func.value, ast.Name):
        return None
    statement = source.statement_of(backward)
    block = training_loop.block_of(source, statement)
    until = block[: block.index(statement)]
    for index, each in reversed(list(enumerate(until))):
        owner = _owner_of_step(source, each)
        if owner is None:
            continue
        before = tuple(until[:index])
        made = training_loop.assignments_behind(before, {backward.func.value.id})
        passed = any(training_loop.attribute_calls(one, "backward") for one in before)
        if passed and any(_runs(node, owner) for node in made):
            return _Stepped(each, owner, made, before, backward)
    return None


def _owner_of_step(source: Source, statement: ast.stmt) -> str | None:
    """The network whose parameters are in the optimizer that a statement steps."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return None
    stepped, handed = _handed(source, call.func.value)
    made = source.constructor(stepped)
    given = made.args[0] if made is not None and made.args else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "parameters":
        owner = ast.unparse(given.func.value)
        return handed.get(owner, owner)
    return None


def _handed(source: Source, expr: ast.expr) -> tuple[ast.expr, dict[str, str]]:
    """The argument for a parameter in the only call of its function, and the parameters by their arguments."""
    function = function_around(source, expr)
    if not isinstance(expr, ast.Name) or function is None:
        return expr, {}
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    calls = [call for call in source.all_calls if source.definition(call.func) is function]
    if expr.id not in names or len(calls) != 1:
        return expr, {}
    given = dict(zip(names, calls[0].args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in calls[0].keywords if keyword.arg is not None}
    return given.get(expr.id, expr), {ast.unparse(value): name for name, value in given.items()}


def _runs(statement: ast.Assign | ast.AugAssign, owner: str) -> bool:
    return any(ast.unparse(call.func) == owner for call in within(statement.value, ast.Call))


def _moved(source: Source, fault: _Stepped) -> tuple[Edit, ...] | None:
    """Edits that move what only this loss computes with the network after the step."""
    moved: list[ast.Assign | ast.AugAssign] = []
    names: set[str] = set()
    for each in fault.made:
        if _runs(each, fault.owner) or training_loop.read_names(each) & names:
            moved.append(each)
            names |= trees.stored_names(each)
    for other in fault.before:
        later = moved and other.lineno > moved[0].lineno
        if other in moved:
            continue
        shared = training_loop.read_names(other) & names or (
            later and trees.stored_names(other) & (names | set().union(*map(training_loop.read_names, moved)))
        )
        if shared:
            return None
    targets = [target for each in moved for target in (each.targets if isinstance(each, ast.Assign) else [each.target])]
    if any(not isinstance(target, (ast.Name, ast.Tuple)) for target in targets):
        return None
    if any("\n" in source.segment(source.site(each)) for each in moved):
        return None
    code = "\n".join(source.segment(source.site(each)) for each in moved)
    gone = tuple(Delete(source.site(each)) for each in moved)
    return (*gone, InsertAfter(source.site(fault.step), code)) if moved else None


def _detached(source: Source, fault: _Stepped) -> tuple[Edit, ...] | None:
    """Edits that detach the estimate that both losses read, if no other network is behind it."""
    estimates = [each for each in fault.made if _runs(each, fault.owner)]
    block = training_loop.block_of(source, fault.step)
    if ast.unparse(fault.step) in [ast.unparse(each) for each in block[block.index(fault.step) + 1 :]]:
        return None  # it is stepped again for the late loss
    if len(estimates) != 1 or not isinstance(estimates[0], ast.Assign):
        return None
    estimate, name = estimates[0], estimates[0].targets[0]
    if not isinstance(name, ast.Name):
        return None
    given: tuple[ast.Assign | ast.AugAssign, ...] = ()
    for argument in training_loop.read_names(estimate.value) - {fault.owner}:
        earlier = [each for each in fault.before if each.lineno < estimate.lineno]
        given += training_loop.assignments_behind(earlier, {argument})
    if any(_is_network(source, call) for each in given for call in within(each.value, ast.Call)):
        return None
    if sum(_is_network(source, call) for call in within(estimate.value, ast.Call)) != 1:
        return None
    sent = [
        call
        for each in fault.before
        for call in training_loop.attribute_calls(each, "backward")
        if isinstance(call.func, ast.Attribute)
    ]
    first = sent[-1].func.value if sent and isinstance(sent[-1].func, ast.Attribute) else None
    others = training_loop.assignments_behind(fault.before, {first.id}) if isinstance(first, ast.Name) else ()
    own = [each for each in fault.made if each not in others]
    reads = [
        node
        for each in own
        for node in within(each.value, ast.Name)
        if node.id == name.id and not _is_detached(source.parent(node))
    ]
    return tuple(Wrap(source.site(node), "", ".detach()") for node in reads) or None


def _is_detached(above: ast.AST | None) -> bool:
    return isinstance(above, ast.Attribute) and above.attr in ("detach", "data", "item")


def _is_network(source: Source, call: ast.Call) -> bool:
    """Whether a call runs an object created by the program, not a library function."""
    if source.constructor(call.func) is not None:
        return True
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = source.constructor(owner) if owner is not None else None
    if made is not None and isinstance(source.definition(made.func), ast.ClassDef):
        return True  # a method of such an object, such as `decode` of a network
    unknown = isinstance(call.func, ast.Name) or ast.unparse(call.func).startswith("self.")
    return unknown and source.qualified(call.func) is None
