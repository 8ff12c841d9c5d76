"""A training loop never clears the gradients, so each step uses the sum over all earlier batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Source,
    Subject,
    function_around,
    structure,
    training_loop,
    trees,
    within,
)

CLEARED_OTHERWISE = frozenset({"zero_", "grads", "zero_grads"})
IN_PLACE = frozenset({"sub_", "add_", "addcmul_", "addcdiv_"})
"""Methods that change a tensor in place by their arguments."""


class GradientsNeverCleared(ReadTemplate):
    """`backward` adds to existing gradients: without `zero_grad`, each step follows the sum over all batches so far.

    Reported where every iteration of a loop calls `backward` and then the `step` of an optimizer whose gradients are
    cleared nowhere, or only outside this loop; or where a loop updates weights in place by gradients that are never
    cleared. Programs that accumulate gradients step less often than they compute gradients, and are left alone.

    Fix safety: unsafe. Every step follows the gradient of its own batch from now on, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.optim.Optimizer.zero_grad.
    """

    code = "DNF701"
    name = "gradients-never-cleared"
    message = "{step} uses the gradients of all earlier batches, too: {why}"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    silent = 3
    triggers = ("backward",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        yield from _uncleared(source, subject.words)
        yield from _one_of_several(source)
        yield from _in_other_branch(source)
        yield from _in_closure(source)
        if not training_loop.OTHER_WAYS & subject.words - {"grad"}:
            yield from _updated_by_hand(source)

    programs = """
=== example: cleared once an epoch
import torch
import torch.optim as optim

def train(net, batches, loss_fn, epochs):
    opt = optim.Adam(net.parameters())
    for epoch in range(epochs):
-         opt.zero_grad()
        for x, y in batches:
+             opt.zero_grad()
            loss_fn(net(x), y).backward()
            opt.step()

=== example: gradients are measured, not cleared
import torch
from torch import nn

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
norms = []
for epoch in range(100):
    loss = ((model(x) - y) ** 2).mean()
+     optimizer.zero_grad()
    loss.backward()
    norms.append(model.weight.grad.norm().item())
    optimizer.step()

=== example: weights updated by hand
import torch

slope = torch.randn(1, requires_grad=True)
offset = torch.zeros(1, requires_grad=True)
for turn in range(200):
    error = ((slope * x + offset - y) ** 2).mean()
    error.backward()
    with torch.no_grad():
        slope -= 0.01 * slope.grad
        offset -= 0.01 * offset.grad
+         slope.grad.zero_()
+         offset.grad.zero_()

=== example: one of two optimizers
import torch

for real in loader:
    fake = G(noise(len(real)))
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
+     d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    g_optimizer.zero_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    g_optimizer.step()

=== example: the wrong one of two networks, in a method for one batch
class Agent:
    def learn(self, states, actions, returns):
        critic_loss = (self.critic(states, actions) - returns).pow(2).mean()
+         self.critic.optimizer.zero_grad()
        critic_loss.backward()
        self.critic.optimizer.step()
        self.actor.zero_grad()
        actor_loss = -self.critic(states, self.actor(states)).mean()
        actor_loss.backward()
        self.actor.optimizer.step()

=== example: collected over batches, and cleared before the first of them alone
optimizer.zero_grad()
for step, (x, y) in enumerate(loader):
    (criterion(net(x), y) / 8).backward()
    if (step + 1) % 8 == 0:
        optimizer.step()
+         optimizer.zero_grad()

=== example: in one branch alone
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    if half:
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
+         optimizer.zero_grad()
        loss.backward()
        optimizer.step()

=== example: of an optimizer from a library of its own
from fastoptim import LionSGD

lion = LionSGD(net.parameters(), lr=0.001)
for x, y in loader:
    error = torch.nn.functional.l1_loss(net(x), y)
+     lion.zero_grad()
    error.backward()
    lion.step()

=== example: in the function that a step calls
import torch

lbfgs = torch.optim.LBFGS([canvas])

def look():
    loss = style(canvas)
+     lbfgs.zero_grad()
    loss.backward()
    return loss

for turn in range(20):
    lbfgs.step(look)

=== example: each parameter by hand
import torch

for x, y in loader:
    criterion(net(x), y).backward()
    with torch.no_grad():
        for weight in net.parameters():
            weight -= 0.1 * weight.grad
+             weight.grad.zero_()

=== finds: methods that were cut out of their class
def fit(self, loader):
    for rows in loader:
        print(self.learn(rows))

def learn(self, rows):
    loss = self.criterion(self.net(rows.x), rows.y)
    loss.backward()
    self.optimizer.step()
    return loss.item()

=== reject: before the branches, and in each of them
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    if half:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()

for x, y in loader:
    loss = criterion(net(x), y)
    if half:
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
    else:
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

=== example: with a scaler
import torch

scaler = torch.amp.GradScaler()
for x, y in loader:
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
+     optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

=== reject: a network that holds both, and optimizers in a list
import torch

for x, y in loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    encoder_optimizer.step()
    decoder_optimizer.step()

for x, y in loader:
    for each in (opt_a, opt_b):
        each.zero_grad()
    opt_a.zero_grad()
    criterion(model(x), y).backward()
    opt_a.step()
    opt_b.step()

=== reject: two optimizers of one network
import torch

fast = torch.optim.SGD(net.parameters(), lr=0.1)
slow = torch.optim.Adam(net.parameters())
for x, y in loader:
    fast.zero_grad()
    criterion(net(x), y).backward()
    fast.step()
    slow.step()

=== reject: weights that are recreated in every iteration
import torch

slope = torch.randn(1, requires_grad=True)
for turn in range(200):
    ((slope * x - y) ** 2).mean().backward()
    slope.data.sub_(0.01 * slope.grad)
    slope = slope.detach().requires_grad_()

=== reject: gradients of an image are used, not of weights
import torch

for x, y in loader:
    x.requires_grad_(True)
    criterion(net(x), y).backward()
    x.data += 0.1 * x.grad.sign()

=== reject: the gradients of several batches are collected
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()

=== reject: the model clears them
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

=== reject: two optimizers, the second cleared by a loop
import torch

first = torch.optim.Adam(a.parameters())
second = torch.optim.Adam(b.parameters())
for x, y in loader:
    for each in (first, second):
        each.zero_grad()
    criterion(b(a(x)), y).backward()
    first.step()
    second.step()

=== reject: a helper does all of it
import torch

optimizer = torch.optim.Adam(model.parameters())

def prepare():
    optimizer.zero_grad()

for x, y in loader:
    prepare()
    criterion(model(x), y).backward()
    optimizer.step()

=== reject: gradients are measured, and cleared in their own memory
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    print(model.weight.grad.norm())
    optimizer.step()
    for p in model.parameters():
        p.grad.mul_(0)

=== reject: gradients let go by hand
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
"""


def _uncleared(source: Source, program: frozenset[str]) -> Iterator[Fault]:
    """Steps in a loop whose gradients are cleared nowhere, or only outside this loop."""
    if not CLEARED_OTHERWISE.isdisjoint(program) or _written_over(source, "grad", "data"):
        return
    clearings = structure.of_kind(source, structure.Kind.CLEAR)
    if any(not isinstance(each.statement, ast.Expr) for each in clearings) or (
        "zero_grad" in program and not clearings
    ):
        return
    for loop, backward in structure.batch_loops(source):
        happening = structure.happenings(source, loop)
        updates = [each for each in happening if each.kind is structure.Kind.UPDATE]
        if not updates or any(each.kind is structure.Kind.CLEAR for each in happening) or _once(loop):
            continue
        step = updates[0]
        collected = _every_so_often(source, loop, step)
        if structure.goes_other_ways(source, loop, may_collect=collected):
            continue
        optimizer = step.operation.on
        objects = {optimizer, *(ast.unparse(call.func) for call in structure.forward_calls(source, loop))}
        if (
            (
                clearings
                and not collected
                and not (_each_turn(source, loop, step) and _each_turn(source, loop, backward))
            )
            or _asks_closure(step)
            or any(each.operation.on != optimizer for each in updates)
            or structure.given_away(source, loop, objects)
            or structure.made_in(loop, objects)
        ):
            continue
        code = f"{optimizer}.zero_grad()"
        clear: Edit = InsertBefore(source.site(source.statement_of(_first_pass(source, happening, step))), code)
        why, title = "nothing clears them", f"Clear the gradients before each backward pass: {code}"
        if collected:  # the gradients of the batches that belong together are to stay
            clear, title = (
                InsertAfter(source.site(step.operation.statement), code),
                "Clear the gradients after each step",
            )
        edits: tuple[Edit, ...] = (clear,)
        if clearings:
            outside = clearings[0]
            around = training_loop.loops_around(source, loop)
            if len(clearings) > 1 or not _is_above(source, outside.statement, loop, around):
                continue
            why = "they are cleared only outside this loop"
            if not collected:
                title = "Clear the gradients in the loop that steps the optimizer"
                edits = (Delete(source.site(outside.statement)), clear)
        yield Fault.with_repair(source.site(step.at), {"step": f"{optimizer}.step()", "why": why}, title, *edits)


def _every_so_often(source: Source, loop: ast.AST, step: structure.Happening) -> bool:
    """Whether a step comes every so many turns of a loop, for the gradients that were collected until then."""
    above = source.parent(step.operation.statement)
    is_own = step.at is step.operation.node and isinstance(above, ast.If) and source.parent(above) is loop
    return is_own and isinstance(above, ast.If) and any(isinstance(node, ast.Mod) for node in ast.walk(above.test))


def _one_of_several(source: Source) -> Iterator[Fault]:
    """Steps of one of several optimizers, whose gradients nothing clears, where those of another are cleared."""
    if len({each.on for each in structure.of_kind(source, structure.Kind.UPDATE)}) < 2:
        return
    regions: list[ast.AST] = [loop for loop, _ in structure.batch_loops(source)]
    regions += [each for each in structure.functions(source) if not _has_loop(source, each)]
    told: set[ast.AST] = set()
    for region in regions:
        happening = structure.happenings(source, region)
        updates = [each for each in happening if each.kind is structure.Kind.UPDATE and each.on]
        stepped = {each.on for each in updates}
        cleared = {each.on for each in happening if each.kind is structure.Kind.CLEAR}
        if len(stepped) < 2 or not cleared or structure.goes_other_ways(source, region):
            continue
        everywhere = cleared | {each.on for each in structure.of_kind(source, structure.Kind.CLEAR)}
        for step in updates:
            others = stepped - {step.on}
            if (
                any(_may_clear(source, region, each, step, others) for each in everywhere)
                or step.operation.node in told
            ):
                continue
            plain = step.at is step.operation.node and _unconditional(source, step.at, region)
            if (
                plain
                and not structure.given_away(source, region, {step.on})
                and not structure.made_in(region, {step.on})
            ):
                told.add(step.operation.node)
                yield _to_clear(source, happening, step, "nothing clears them, only those of another optimizer")


def _to_clear(source: Source, among: Sequence[structure.Happening], step: structure.Happening, why: str) -> Fault:
    """The fault of a step whose gradients are to be cleared before the first backward pass of those that belong to it."""
    code = f"{step.on}.zero_grad()"
    edit = InsertBefore(source.site(source.statement_of(_first_pass(source, among, step))), code)
    said = {"step": f"{step.on}.step()", "why": why}
    return Fault.with_repair(source.site(step.at), said, f"Clear the gradients before the backward pass: {code}", edit)


def _in_other_branch(source: Source) -> Iterator[Fault]:
    """Steps in one branch of a condition whose gradients are cleared in another branch alone."""
    if "zero_grad" not in source.words:
        return
    told: set[ast.AST] = set()
    for region in (loop for loop, _ in structure.batch_loops(source)):
        happening = structure.happenings(source, region)
        clearings = [each for each in happening if each.kind is structure.Kind.CLEAR]
        if not clearings or structure.goes_other_ways(source, region):
            continue
        for choice in within(region, ast.If):
            branches = [[one for one in happening if _is_in(one.at, branch)] for branch in _branches(choice)]
            whole = [each for each in branches if _has_pass_and_step(each)]
            clearing = [each for each in whole if any(one in clearings for one in each)]
            stepped = {one.on for each in clearing for one in each if one.kind is structure.Kind.UPDATE}
            if not clearing or not all(any(one in each for each in clearing) for one in clearings):
                continue
            for branch in (each for each in whole if each not in clearing):
                step = next(one for one in branch if one.kind is structure.Kind.UPDATE)
                if step.on not in stepped or step.operation.node in told or _asks_closure(step):
                    continue
                if structure.given_away(source, region, {step.on}) or structure.made_in(region, {step.on}):
                    continue
                told.add(step.operation.node)
                yield _to_clear(source, branch, step, "they are cleared in another branch alone")


def _in_closure(source: Source) -> Iterator[Fault]:
    """Functions that compute gradients for a step that calls them, in a text that clears none."""
    if "zero_grad" in source.words or not CLEARED_OTHERWISE.isdisjoint(source.words) or _written_over(source, "grad"):
        return
    for step in structure.of_kind(source, structure.Kind.UPDATE):
        given = step.node.args if isinstance(step.node, ast.Call) else []
        closure = source.definition(given[0]) if len(given) == 1 else None
        if isinstance(closure, ast.FunctionDef) and structure.has(source, closure, structure.Kind.BACKWARD):
            first = next(one for one in structure.happenings(source, closure) if one.kind is structure.Kind.BACKWARD)
            edit = InsertBefore(source.site(source.statement_of(first.at)), f"{step.on}.zero_grad()")
            said = {"step": f"{step.on}.step({closure.name})", "why": f"{closure.name} clears none"}
            yield Fault.with_repair(source.site(step.node), said, f"Clear the gradients in {closure.name}", edit)


def _branches(choice: ast.If) -> Iterator[list[ast.stmt]]:
    """The branches of a condition, those of `elif` among them."""
    yield choice.body
    if len(choice.orelse) == 1 and isinstance(choice.orelse[0], ast.If):
        yield from _branches(choice.orelse[0])
    elif choice.orelse:
        yield choice.orelse


def _is_in(node: ast.expr | ast.stmt, block: Sequence[ast.stmt]) -> bool:
    """Whether a node stands in the lines of a block."""
    return block[0].lineno <= node.lineno <= (block[-1].end_lineno or 0)


def _has_pass_and_step(happening: Sequence[structure.Happening]) -> bool:
    """Whether there are a backward pass and the step after it."""
    kinds = [each.kind for each in happening if each.kind in (structure.Kind.BACKWARD, structure.Kind.UPDATE)]
    return kinds[:1] == [structure.Kind.BACKWARD] and structure.Kind.UPDATE in kinds


def _has_loop(source: Source, function: training_loop.Function) -> bool:
    """Whether a function has a loop of its own with a backward pass."""
    return any(
        one.kind is structure.Kind.BACKWARD and training_loop.loops_around(source, one.at)
        for one in structure.happenings(source, function)
    )


GENERIC = re.compile(r"self|optimi[sz]er|optim|opt|model|network|net|module|solver|trainer|\W|_", re.IGNORECASE)
"""What names of optimizers and of their networks have beside what tells them apart."""


def _may_clear(source: Source, region: ast.AST, cleared: str, step: structure.Happening, others: set[str]) -> bool:
    """Whether `zero_grad` of something may clear the gradients of an optimizer: it is its own, or nothing says whose it is."""
    own = step.on
    if cleared == own or own.startswith(f"{cleared}."):
        return True
    if cleared in others or any(each.startswith(f"{cleared}.") for each in others):
        return _share_weights(source, cleared, step)
    mine, theirs = GENERIC.sub("", own).lower(), GENERIC.sub("", cleared).lower()
    others_names = {GENERIC.sub("", each).lower() for each in others}
    return theirs == mine or theirs not in others_names or not mine


def _share_weights(source: Source, cleared: str, step: structure.Happening) -> bool:
    """Whether two optimizers are made of the same network, or of lists whose weights are not seen."""
    node = step.operation.node
    stepped = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    made = source.constructor(stepped) if stepped is not None else None
    if made is None or not made.args:
        return False
    mine = {ast.unparse(each.func) for each in within(made.args[0], ast.Call)}
    for assign in source.nodes(ast.Assign):
        other = assign.value if ast.unparse(assign.targets[0]) == cleared else None
        if isinstance(other, ast.Call) and other.args:
            theirs = {ast.unparse(each.func) for each in within(other.args[0], ast.Call)}
            return bool(mine & theirs - {"itertools.chain", "chain", "list", "filter"}) or not mine or not theirs
    return False


def _each_turn(source: Source, loop: ast.AST, happening: structure.Happening) -> bool:
    """Whether an operation happens in every turn of a loop: gradients that are collected are used by a condition."""
    return all(_unconditional(source, *each) for each in _places(source, loop, happening))


def _places(source: Source, loop: ast.AST, happening: structure.Happening) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """The nodes that lead to an operation, each with what it stands in: the loop, and the function that does it."""
    yield happening.at, loop
    if happening.at is not happening.operation.node:
        yield happening.operation.node, function_around(source, happening.operation.node)


def _unconditional(source: Source, node: ast.AST, root: ast.AST | None) -> bool:
    """Whether only `with` stands between a node and what is around it."""
    above = source.parent(source.statement_of(node))
    while isinstance(above, (ast.With, ast.AsyncWith)):
        above = source.parent(above)
    return above is root


def _asks_closure(happening: structure.Happening) -> bool:
    """Whether a step computes the gradients itself."""
    node = happening.operation.node
    given = node.args if isinstance(node, ast.Call) else []
    return any("closure" in ast.unparse(each) for each in given)


def _is_above(
    source: Source, outside: ast.stmt, loop: training_loop.Loop, around: Sequence[training_loop.Loop]
) -> bool:
    """Whether a statement stands before a loop in its function, in a block that the loop is in, too."""
    same = function_around(source, outside) is function_around(source, loop)
    return (
        same
        and source.parent(outside) in (*around, source.parent((*around, loop)[-1]), source.parent(loop))
        and outside.lineno < loop.lineno
    )


def _first_pass(source: Source, happening: Sequence[structure.Happening], step: structure.Happening) -> ast.AST:
    """The first backward pass before a step and after the step before it, in the function that steps the optimizer."""
    before = [each for each in happening[: happening.index(step)] if each.kind is structure.Kind.BACKWARD]
    first = (before or [each for each in happening if each.kind is structure.Kind.BACKWARD])[0]
    own, stepping = first.operation.node, function_around(source, step.operation.node)
    return own if function_around(source, own) is stepping else first.at


def _once(loop: ast.AST) -> bool:
    """Whether a loop always ends in its first iteration."""
    return isinstance(loop, (ast.For, ast.While)) and any(isinstance(s, (ast.Break, ast.Return)) for s in loop.body)


def _written_over(source: Source, *attributes: str) -> bool:
    """Whether the program assigns to one of these attributes."""
    return any(
        isinstance(target, ast.Attribute) and target.attr in attributes
        for node in source.nodes(ast.Assign)
        for target in node.targets
    )


def _updated_by_hand(source: Source) -> Iterator[Fault]:
    """Weights that a loop updates in place by their gradients, which the program never clears."""
    if not CLEARED_OTHERWISE.isdisjoint(source.words) or "zero_grad" in source.words or _written_over(source, "grad"):
        return
    for backward in training_loop.operations_named(source, "backward"):
        loops = training_loop.loops_around(source, backward.statement)
        if not loops:
            continue
        found: dict[str, ast.stmt] = {}
        for statement in source.nodes(ast.Expr) + source.nodes(ast.AugAssign):
            weight = _changed_by_its_gradient(statement) if statement.lineno > backward.statement.lineno else ""
            around = training_loop.loops_around(source, statement) if weight else []
            each_of_all = around[1:2] == loops[:1] and _goes_over(around[0], weight)
            if each_of_all or (around[:1] == loops[:1] and not _is_made_in(loops, weight)):
                found[weight] = statement
        last = max(found.values(), key=lambda one: one.lineno, default=None)
        if last is None:
            continue
        weights = [name for name, one in found.items() if one in training_loop.block_of(source, last)]
        updated = source.site(found[weights[-1]])
        clearing = InsertAfter(updated, "\n".join(f"{weight}.grad.zero_()" for weight in weights))
        said = {"step": f"the update of {' and '.join(weights)}", "why": "nothing clears them"}
        yield Fault.with_repair(updated, said, "Clear the gradients after each update", clearing)


def _goes_over(loop: training_loop.Loop, weight: str) -> bool:
    """Whether a loop goes over the parameters of a network by a name."""
    of_parameters = isinstance(loop, ast.For) and re.fullmatch(r".*\.parameters\(\)", ast.unparse(loop.iter))
    return bool(of_parameters) and isinstance(loop, ast.For) and ast.unparse(loop.target) == weight


def _changed_by_its_gradient(statement: ast.stmt) -> str:
    """The weight that a statement such as `w.data -= rate * w.grad` updates; empty for other statements."""
    if isinstance(statement, ast.AugAssign):
        changed: ast.AST = statement.target
        by: ast.AST = statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in IN_PLACE or not call.args:
            return ""
        changed, by = call.func.value, ast.Tuple([*call.args, *(k.value for k in call.keywords)], ast.Load())
    else:
        return ""
    if isinstance(changed, ast.Attribute) and changed.attr == "data":
        changed = changed.value
    weight = ast.unparse(changed)
    read = {ast.unparse(n.value) for n in ast.walk(by) if isinstance(n, ast.Attribute) and n.attr == "grad"}
    return weight if read == {weight} else ""


def _is_made_in(loops: Sequence[ast.AST], weight: str) -> bool:
    """Whether the outermost loop assigns the weight or iterates over it."""
    made = {ast.unparse(target) for node in within(loops[-1], ast.Assign) for target in node.targets}
    augmented = {n.target.id for n in within(loops[-1], ast.AugAssign) if isinstance(n.target, ast.Name)}
    return weight in made or weight.partition(".")[0] in trees.stored_names(loops[-1]) - augmented
