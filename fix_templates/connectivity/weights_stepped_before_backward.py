"""An optimizer changes weights between the forward pass that used them and its backward pass."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Delete,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertAfter,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    attribute_calls,
    block_of,
    function_around,
    raised_at,
    stored_names,
    within,
)

MESSAGE = "needed for gradient computation has been modified by an inplace operation"


@dataclass(frozen=True, slots=True)
class _Stepped:
    """The update that came too early, the weights' owner, and the statements before it that the late loss is made by."""

    step: ast.stmt
    owner: str
    made: tuple[ast.Assign | ast.AugAssign, ...]
    before: tuple[ast.stmt, ...]
    backward: ast.Call


class WeightsSteppedBeforeBackward(FaultTemplate[_Stepped]):
    """The loss of one network was computed with another one, whose optimizer steps before that loss is sent back.

    The backward pass needs the weights that the forward pass used, and `step` has changed them in place. The samples of
    a generator have to be judged after the step of the discriminator; the estimate of a critic that only weighs the loss
    of an actor has to be detached from it.

    Reported where the run ended so and the optimizer that stepped in between holds a network that the loss was computed
    with. What is computed with that network for this loss alone is moved behind the step.

    Fix safety: unsafe. The loss is computed with the weights after the step.

    References: "In-place correctness checks" in "Autograd mechanics" of the torch manual; torch.Tensor.detach.
    """

    code = "DNF449"
    name = "weights-stepped-before-backward"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{step}` changes weights of `{owner}` that `{backward}` still needs"
    triggers = ("backward",)
    needs_run = True
    declined = "the loss shares what it is computed from with the loss before it"

    def faults(self, subject: Subject) -> Faults[_Stepped]:
        node = raised_at(subject, "RuntimeError", MESSAGE)
        found = _stepped(subject.source, node) if isinstance(node, ast.Call) else None
        if found is not None:
            yield subject.source.site(found.step), found

    def report(self, site: Site, fault: _Stepped) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            step=ast.unparse(fault.step),
            owner=fault.owner,
            backward=ast.unparse(fault.backward),
        )

    def repairs(self, subject: Subject, fault: _Stepped) -> Repairs:
        source = subject.source
        moved = _moved(source, fault)
        if moved is not None:
            yield f"Compute the loss after `{ast.unparse(fault.step)}`", moved, 0.9
            return
        detached = _detached(source, fault)
        if detached is not None:
            yield f"Keep the loss from reaching `{fault.owner}`", detached, 0.85

    examples = (
        Example(
            "in two steps",
            """\
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
""",
            runs=True,
        ),
        Example(
            "a critic that weighs the loss of an actor",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the generator is judged after the step",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "a value is overwritten in the forward pass",
            """\
import torch

lin = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
for x in torch.randn(2, 4, 2):
    out = torch.sigmoid(lin(x))
    out += x
    loss = out.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
            runs=True,
        ),
    )


def _stepped(source: Source, backward: ast.Call) -> _Stepped | None:
    """The update before a backward pass, in the same block, of a network that its loss was computed with before it."""
    if not isinstance(backward.func, ast.Attribute) or not isinstance(backward.func.value, ast.Name):
        return None
    statement = source.statement_of(backward)
    block = block_of(source, statement)
    until = block[: block.index(statement)]
    for index, each in reversed(list(enumerate(until))):
        owner = _owner_of_step(source, each)
        if owner is None:
            continue
        before = tuple(until[:index])
        made = _behind(before, backward.func.value.id)
        passed = any(attribute_calls(one, "backward") for one in before)
        if passed and any(_calls(node, owner) for node in made):
            return _Stepped(each, owner, made, before, backward)
    return None


def _owner_of_step(source: Source, statement: ast.stmt) -> str | None:
    """The network whose parameters the optimizer holds that a statement steps."""
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
    """What the only call of a function gives for one of its parameters, and its parameters by what each was given."""
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


def _read(statement: ast.AST) -> set[str]:
    changed = stored_names(statement.target) if isinstance(statement, ast.AugAssign) else set()
    return changed | {node.id for node in within(statement, ast.Name) if isinstance(node.ctx, ast.Load)}


def _behind(before: tuple[ast.stmt, ...], name: str) -> tuple[ast.Assign | ast.AugAssign, ...]:
    """The assignments among statements that a name's value comes from, in their order."""
    names: set[str] = {name}
    found: list[ast.Assign | ast.AugAssign] = []
    for each in reversed(before):
        if isinstance(each, ast.Assign) and stored_names(each) & names:
            found.append(each)
            names = (names - stored_names(each)) | _read(each.value)
        elif isinstance(each, ast.AugAssign) and stored_names(each) & names:
            found.append(each)
            names |= _read(each)
    return tuple(reversed(found))


def _calls(statement: ast.Assign | ast.AugAssign, owner: str) -> bool:
    return any(ast.unparse(call.func) == owner for call in within(statement.value, ast.Call))


def _moved(source: Source, fault: _Stepped) -> tuple[Edit, ...] | None:
    """Edits that move what the loss alone computes with the network behind the update."""
    moved: list[ast.Assign | ast.AugAssign] = []
    names: set[str] = set()
    for each in fault.made:
        if _calls(each, fault.owner) or _read(each) & names:
            moved.append(each)
            names |= stored_names(each)
    for other in fault.before:
        later = moved and other.lineno > moved[0].lineno
        if other in moved:
            continue
        shared = _read(other) & names or (later and stored_names(other) & (names | set().union(*map(_read, moved))))
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
    """Edits that detach what both losses read, where no other network stands behind it."""
    estimates = [each for each in fault.made if _calls(each, fault.owner)]
    block = block_of(source, fault.step)
    if ast.unparse(fault.step) in [ast.unparse(each) for each in block[block.index(fault.step) + 1 :]]:
        return None  # it is stepped again with what the late loss tells it
    if len(estimates) != 1 or not isinstance(estimates[0], ast.Assign):
        return None
    estimate, name = estimates[0], estimates[0].targets[0]
    if not isinstance(name, ast.Name):
        return None
    given: tuple[ast.Assign | ast.AugAssign, ...] = ()
    for argument in _read(estimate.value) - {fault.owner}:
        given += _behind(tuple(each for each in fault.before if each.lineno < estimate.lineno), argument)
    if any(_is_network(source, call) for each in given for call in within(each.value, ast.Call)):
        return None
    if sum(_is_network(source, call) for call in within(estimate.value, ast.Call)) != 1:
        return None
    sent = [
        call
        for each in fault.before
        for call in attribute_calls(each, "backward")
        if isinstance(call.func, ast.Attribute)
    ]
    first = sent[-1].func.value if sent and isinstance(sent[-1].func, ast.Attribute) else None
    others = _behind(fault.before, first.id) if isinstance(first, ast.Name) else ()
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
    """Whether a call runs something that the program made, and no function of a library."""
    if source.constructor(call.func) is not None:
        return True
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = source.constructor(owner) if owner is not None else None
    if made is not None and isinstance(source.definition(made.func), ast.ClassDef):
        return True  # a method of something that the program made, as `decode` of a network
    unknown = isinstance(call.func, ast.Name) or ast.unparse(call.func).startswith("self.")
    return unknown and source.qualified(call.func) is None
