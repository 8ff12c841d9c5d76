"""The operations of a training step are in an order in which one of them finds no gradients."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Repair,
    Source,
    Subject,
    progress_figures,
    structure,
    training_loop,
    trees,
    within,
)

Kind = structure.Kind
CLIPPING = tuple(f"torch.nn.utils.clip_grad_{name}" for name in ("norm", "norm_", "value_"))
STEPS = (Kind.CLEAR, Kind.BACKWARD, Kind.UPDATE)
HARMLESS = frozenset({"zero_grad", "train", "print", "append", "info", "debug", "set_description"})
"""Calls that may be made for their effect around the loss."""


class TrainingStepOutOfOrder(ReadTemplate):
    """`backward()`, `zero_grad()`, `step()` in that order: the step finds no gradients, and nothing is trained.

    Also reported: a step between `zero_grad()` and `backward()`, whose gradients the next iteration clears unused; a
    step after the loop over the batches, which clears the gradients of all but the last; and `clip_grad_norm_` before
    `backward()`, which clips nothing.

    And a step or a backward pass that comes twice, gradients that are collected over batches and cleared in each, clipping after
    the step, and a backward pass after the loop that computed a loss for each batch.

    The operations have to happen in each turn, those of functions of the program among them, and on one optimizer. Gradients that are
    cleared once for all batches are accumulated on purpose.

    Fix safety: unsafe. Every batch trains the model, with clipped gradients, from now on, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.nn.utils.clip_grad_norm_ ("Gradients are modified
    in-place").
    """

    code = "DNF703"
    name = "training-step-out-of-order"
    formerly = (
        "gradients-cleared-before-step",
        "DNF704",
        "step-outside-batch-loop",
        "DNF707",
        "gradients-clipped-before-backward",
    )
    message = "the steps of the training loop are in the wrong order: {what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    silent = 3
    triggers = ("zero_grad", "backward", "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_")
    confidence = 0.95

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or not structure.of_kind(source, Kind.UPDATE):
            return
        loops: list[ast.AST] = [*source.nodes(ast.For), *source.nodes(ast.While)]
        for region in (*loops, *structure.functions(source)):
            if not structure.has(source, region, Kind.UPDATE):
                continue
            if not structure.goes_other_ways(source, region):
                yield from _in_order(source, region)
                yield from _outside(source, region)
                yield from _after_batches(source, region)
                yield from _clipped_late(source, region)
            if not structure.goes_other_ways(source, region, may_collect=True):
                yield from _cleared_each_turn(source, region)
        if training_loop.OTHER_WAYS.isdisjoint(subject.words):
            for call in source.calls(*CLIPPING):
                yield from _clipped(source, call)

    programs = """
=== example: the step comes before the backward pass
import torch

def train(model, opt, batches):
    for epoch in range(5):
        for x, y in batches:
            opt.zero_grad()
            error = ((model(x) - y) ** 2).mean()
+             error.backward()
            opt.step()
-             error.backward()
            print(error.item())

=== example: in a method for one batch
import torch

class Learner:
    def update(self, batch):
        loss = self.loss(batch)
+         self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
-         self.optimizer.zero_grad()
        self.optimizer.step()
        return loss.item()

=== example: the backward pass stands in a block of its own
import torch

def train(model, optimizer, batches, precision):
    for x, y in batches:
        with precision:
            error = ((model(x) - y) ** 2).mean()
            error.backward()
        print(error.item())
-         optimizer.zero_grad()
        optimizer.step()
+         optimizer.zero_grad()

=== example: after the only loop
import torch

def train(model, opt, data):
    model.train()
    for i, (x, y) in enumerate(data):
        opt.zero_grad()
        error = (model(x) - y).pow(2).mean()
        error.backward()
+         opt.step()
        if i % 10 == 0:
            print(error.item())
-     opt.step()

=== example: between the loss and the pass
import torch
from torch import nn

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(rnn(x), y)
+     loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
-     loss.backward()
    optimizer.step()

=== example: in a method, before the old gradients are cleared
import torch
from torch.nn.utils import clip_grad_value_

class Learner:
    def update(self, batch):
-         clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.zero_grad()
        self.loss(batch).backward()
+         clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.step()

=== example: a condition stands between, and the loss is scaled
import torch

scaler = torch.amp.GradScaler()
for step, (x, y) in enumerate(loader):
+     optimizer.zero_grad()
    scaler.scale(criterion(net(x), y)).backward()
    if step % 100 == 0:
        print(step)
-     optimizer.zero_grad()
    scaler.step(optimizer)
    scaler.update()

=== example: stepped twice
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()
-     optimizer.step()

=== example: clipped when the step is done
import torch

for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
+     torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
-     torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

=== finds: the last batch alone
for epoch in range(9):
    for x, y in train_loader:
        cost = criterion(net(x), y)
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()

=== finds: collected, and cleared in each turn
for step, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    (criterion(net(x), y) / accumulation_steps).backward()
    if (step + 1) % accumulation_steps == 0:
        optimizer.step()

=== finds: by methods, the second loss alone counts
class Learner:
    def first(self, x, y):
        self.sgd.zero_grad()
        self.near(self.net(x), y).backward()

    def second(self, x, y):
        self.sgd.zero_grad()
        self.far(self.net(x), y).backward()

    def turn(self, batches):
        for x, y in batches:
            self.first(x, y)
            self.second(x, y)
            self.sgd.step()

=== finds: cleared in each batch, and again with the step every so often
for step, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = criterion(net(x), y) / every
    loss.backward()
    if (step + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()

=== reject: losses that are added up over the batches, and one for a whole sequence
for epoch in range(9):
    cost = 0
    for x, y in train_loader:
        cost = cost + criterion(net(x), y)
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()

for epoch in range(9):
    for letter in range(len(word)):
        out, state = net(word[letter], state)
        cost = criterion(out, label)
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()

=== reject: collected as it should be, and two losses for one step
for step, (x, y) in enumerate(loader):
    (criterion(net(x), y) / 4).backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()

for x, y in loader:
    optimizer.zero_grad()
    near(net(x), y).backward()
    far(net(x), y).backward()
    optimizer.step()

=== reject: every usual order without clipping
import torch

for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()

for x, y in loader:
    optimizer.step()
    optimizer.zero_grad()
    criterion(net(x), y).backward()

=== reject: the two halves of a GAN
import torch

for real in loader:
    opt_g.zero_grad()
    loss_g = -D(G(noise())).mean()
    loss_g.backward()
    opt_g.step()
    opt_d.zero_grad()
    loss_d = D(G(noise()).detach()).mean() - D(real).mean()
    loss_d.backward()
    opt_d.step()

=== reject: the gradients are read, changed and assigned
import torch

for x, y in loader:
    criterion(net(x), y).backward()
    mine = project(net)
    optimizer.zero_grad()
    put_back(net, mine)
    optimizer.step()

=== reject: a step that computes the gradients itself
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step(closure)

=== reject: the gradients of all batches are collected
import torch

for epoch in range(epochs):
    optimizer.zero_grad()
    for x, y in loader:
        criterion(net(x), y).backward()
    optimizer.step()

=== reject: a step in the loop and one after it
import torch

for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    optimizer.step()

=== reject: the gradients of each sample are clipped and summed up by hand
import torch

for batch in loader:
    for x, y in batch:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        sums = [s + clip(p.grad) for s, p in zip(sums, net.parameters())]
    write(net, sums)
    optimizer.step()

=== reject: another optimizer is cleared
import torch

for epoch in range(epochs):
    for x, y in loader:
        inner.zero_grad()
        criterion(net(x), y).backward()
    outer.step()

=== reject: every usual order
import torch
from torch.nn.utils import clip_grad_norm_

for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()

for x, y in loader:
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    criterion(net(x), y).backward()

=== reject: the two halves of a GAN, and a loss whose gradients are clipped alone
import torch
from torch.nn.utils import clip_grad_norm_

for real in loader:
    loss_d.backward()
    clip_grad_norm_(D.parameters(), 1.0)
    loss_g.backward()
    opt_d.step()
    opt_g.step()

for x, y in loader:
    optimizer.zero_grad()
    if adversarial:
        attack(x, y).backward()
    clip_grad_norm_(net.parameters(), 0.1)
    criterion(net(x), y).backward()
    optimizer.step()

=== reject: the first pass is in a method, and a helper gathers gradients
import torch
from torch.nn.utils import clip_grad_norm_

class Pair:
    def turn(self, real):
        self.backward_D(real)
        clip_grad_norm_(self.D.parameters(), 1.0)
        self.opt_d.zero_grad()
        loss_g = self.generate()
        loss_g.backward()
        self.opt_g.step()

    def backward_D(self, real):
        self.loss_d(real).backward()

for batch in loader:
    optimizer.zero_grad()
    reward = collect_gradients(policy, batch)
    clip_grad_norm_(policy.parameters(), 0.5)
    entropy(policy).backward()
    optimizer.step()

=== reject: clipped before and after
import torch
from torch.nn.utils import clip_grad_norm_

for x, y in loader:
    optimizer.zero_grad()
    clip_grad_norm_(net.parameters(), 1.0)
    criterion(net(x), y).backward()
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
"""


def _moved(source: Source, statement: ast.stmt, to: ast.stmt, before: bool = False) -> tuple[Edit, ...]:
    """The edits that move a statement before or after another one."""
    place = source.site(statement)
    code = textwrap.dedent("\n".join(source.places.lines[place.line - 1 : place.end_line]))
    put: Edit = InsertBefore(source.site(to), code) if before else InsertAfter(source.site(to), code)
    return Delete(place), put


def _own_steps(source: Source, region: ast.AST) -> list[structure.Happening] | None:
    """The operations of a region on one optimizer, in their order, where each happens once in each turn and nothing else may do them."""
    steps = [each for each in structure.happenings(source, region) if each.kind in STEPS]
    updates = [each for each in steps if each.kind is Kind.UPDATE]
    optimizers = {each.on for each in updates}
    if len(optimizers) != 1 or "" in optimizers or any(each.operation.by_hand for each in steps):
        return None
    asked = {on for on, _ in structure.forwards(source, region)}
    if any(_closure(each) for each in updates) or structure.given_away(source, region, asked | optimizers):
        return None
    if any(each.kind is Kind.CLEAR and each.on not in asked | optimizers for each in steps):
        return None  # of something else
    return steps


def _closure(update: structure.Happening) -> bool:
    """Whether a step is given something, which computes the gradients, and is no step of a scaler."""
    node = update.operation.node
    return (
        isinstance(node, ast.Call)
        and bool(node.args or node.keywords)
        and ast.unparse(node.args[0] if node.args else node) != update.operation.on
    )


def _in_order(source: Source, region: ast.AST) -> Iterator[Fault]:
    """Gradients that are cleared before the step that would use them, and steps that find none or the same ones again."""
    steps = _own_steps(source, region)
    if steps is None or not all(_each_turn(source, each, region) for each in steps):
        return
    kinds = [each.kind for each in steps]
    updates = [each for each in steps if each.kind is Kind.UPDATE]
    is_loop = isinstance(region, training_loop.LOOPS)
    for place, one in enumerate(steps[:-1]):
        following = steps[place + 1]
        if one.kind is Kind.BACKWARD and following.kind is Kind.CLEAR:
            used = next((each for each in steps[place + 1 :] if each.kind is not Kind.CLEAR), None)
            if used is None:
                continue
            what = f"{updates[-1].on}.step() finds no gradients, as they are cleared after the backward pass"
            if used.kind is Kind.BACKWARD:
                what = f"the gradients of line {one.at.lineno} are cleared before {updates[-1].on}.step() uses them"
            if len(updates) == 1:
                title = f"Put {source.segment(source.site(source.statement_of(following.at)))}"
                first = next(each for each in steps if each.kind is Kind.BACKWARD)
                if _beside(source, following, updates[0]) and not _beside(source, following, first):
                    yield _fault(
                        source, updates[0], what, f"{title} after the step", following, updates[0], before=False
                    )
                else:
                    yield _fault(
                        source, updates[0], what, f"{title} before the backward pass", following, first, before=True
                    )
                return
        if (
            one.kind is following.kind
            and one.on == following.on
            and one.kind is not Kind.CLEAR
            and _side_by_side(source, one, following)
        ):
            call = "step()" if one.kind is Kind.UPDATE else "backward()"
            effect = (
                "goes along the same gradients again" if one.kind is Kind.UPDATE else "adds the same gradients again"
            )
            what = f"{one.on}.{call} comes twice: the second one {effect}"
            edit = Delete(source.site(source.statement_of(following.at)))
            yield Fault.with_repair(source.site(following.at), what, f"Call {call} once", edit, prior=0.8)
            return
    if kinds == [Kind.CLEAR, Kind.UPDATE, Kind.BACKWARD] and is_loop:
        what = f"{updates[0].on}.step() finds no gradients, as they are cleared after the backward pass"
        title = f"Put {source.segment(source.site(source.statement_of(updates[0].at)))} after the backward pass"
        yield _fault(source, updates[0], what, title, updates[0], steps[2], before=False)


def _side_by_side(source: Source, one: structure.Happening, other: structure.Happening) -> bool:
    """Whether two operations stand in one block, and nothing between them binds what they are done to anew."""
    if one.at is not one.operation.node or other.at is not other.operation.node:
        return False
    first, second = source.statement_of(one.at), source.statement_of(other.at)
    block = training_loop.block_of(source, first)
    between = block[block.index(first) + 1 : block.index(second)] if second in block and first is not second else None
    return between is not None and not any(structure.made_in(each, {one.on}) for each in between)


def _after_batches(source: Source, region: ast.AST) -> Iterator[Fault]:
    """A backward pass after the loop that computes a loss for each batch: it learns from the last batch alone."""
    for one in structure.happenings(source, region):
        statement = source.statement_of(one.at)
        if one.kind is not Kind.BACKWARD or one.at is not one.operation.node or not one.on.isidentifier():
            continue
        if training_loop.loops_around(source, statement)[:1] != (
            [region] if isinstance(region, training_loop.LOOPS) else []
        ):
            continue
        block = training_loop.block_of(source, statement)
        above = block[: block.index(statement)]
        loop = next((each for each in reversed(above) if isinstance(each, training_loop.LOOPS)), None)
        if (
            not isinstance(loop, ast.For)
            or not structure.goes_over_data(loop)
            or structure.evaluates(source, loop.body[0])
        ):
            continue
        bound = [
            each for each in within(loop, ast.Assign) if one.on in {ast.unparse(target) for target in each.targets}
        ]
        again = [each for each in above[above.index(loop) + 1 :] if one.on in trees.stored_names(each)]
        added = [each for each in within(loop, ast.AugAssign) if ast.unparse(each.target) == one.on]
        plain = len(bound) == 1 and one.on not in training_loop.read_names(bound[0].value) and bound[0] in loop.body
        works = structure.has(source, loop, Kind.BACKWARD) or structure.without_gradients(source, loop.body[0])
        if plain and not again and not added and not works and structure.forward_calls(source, loop):
            what = f"{one.on}.backward() comes after the loop over the batches, and learns from the last of them alone"
            decline = Decline(
                "whether each batch is to be learned from, or all of them at once, is for a person to say"
            )
            yield Fault(source.site(one.at), {"what": what}, (decline,), confidence=0.8)


def _clipped_late(source: Source, region: ast.AST) -> Iterator[Fault]:
    """Gradients that are clipped after the step that used them, and cleared before the next backward pass."""
    if not isinstance(region, training_loop.LOOPS):
        return
    for call in source.calls(*CLIPPING):
        statement = source.statement_of(call)
        if training_loop.loops_around(source, call)[:1] != [region] or source.parent(statement) is not region:
            continue
        steps = _own_steps(source, region) or []
        if [each.kind for each in steps].count(Kind.UPDATE) != 1 or not all(
            _each_turn(source, each, region) for each in steps
        ):
            continue
        before = [each for each in steps if each.at.lineno < call.lineno]
        turned = [*steps[len(before) :], *before]
        if before and before[-1].kind is Kind.UPDATE and turned[0].kind is Kind.CLEAR:
            what = f"{progress_figures.name_of(call.func)} comes after {before[-1].on}.step(), which has used the gradients"
            there = source.statement_of(before[-1].at)
            edits = (
                _moved(source, statement, there, before=True)
                if there in training_loop.block_of(source, statement)
                else ()
            )
            repair: Repair | Decline = ("Clip the gradients before the step", edits, 0.9)
            yield Fault(
                source.site(call),
                {"what": what},
                (repair if edits else Decline("the step is in a function"),),
                confidence=0.9,
            )


def _fault(
    source: Source,
    update: structure.Happening,
    what: str,
    title: str,
    moved: structure.Happening,
    to: structure.Happening,
    *,
    before: bool,
) -> Fault:
    """The fault of a step, with the statement to be moved where it is one of its own beside the other."""
    statement, there = source.statement_of(moved.at), source.statement_of(to.at)
    repair: Repair | Decline = Decline(
        "the operations stand in functions, and which of them is to be moved is for a person to say"
    )
    if _beside(source, moved, to):
        repair = (title, _moved(source, statement, there, before), 0.95)
    return Fault(source.site(update.at), {"what": what}, (repair,), confidence=0.95)


def _beside(source: Source, moved: structure.Happening, to: structure.Happening) -> bool:
    """Whether an operation is a statement of its own in the same block as another."""
    statement, there = source.statement_of(moved.at), source.statement_of(to.at)
    direct = moved.at is moved.operation.node and isinstance(statement, ast.Expr)
    return direct and training_loop.block_of(source, statement) is training_loop.block_of(source, there)


def _each_turn(source: Source, happening: structure.Happening, region: ast.AST) -> bool:
    """Whether an operation happens once in each turn of a region, by its own place and that of the call that leads to it."""
    own = happening.operation.node
    in_function = happening.at is own or structure.is_unconditional(
        source, own, training_loop.function_around(source, own)
    )
    return in_function and structure.is_unconditional(source, happening.at, region)


def _cleared_each_turn(source: Source, region: ast.AST) -> Iterator[Fault]:
    """Gradients that are collected for a step every so many batches, and cleared in each."""
    steps = _own_steps(source, region) or []
    cleared = [each for each in steps if each.kind is Kind.CLEAR]
    passes = [each for each in steps if each.kind is Kind.BACKWARD]
    updates = [each for each in steps if each.kind is Kind.UPDATE]
    if not cleared or len(updates) != 1 or not passes or not isinstance(region, training_loop.LOOPS):
        return
    around = source.parent(source.statement_of(updates[0].at))
    cleared = [
        each for each in cleared if source.parent(source.statement_of(each.at)) is not around
    ]  # not with the step
    if len(cleared) != 1:
        return
    rarely = isinstance(around, ast.If) and any(isinstance(node, ast.Mod) for node in ast.walk(around.test))
    same = source.parent(around) is region if around is not None else False
    if rarely and same and all(_each_turn(source, each, region) for each in (*cleared, *passes)):
        what = f"the gradients are cleared in each turn, and {updates[0].on}.step() only uses those of the last one before it"
        yield _fault(source, updates[0], what, "", cleared[0], updates[0], before=False)


def _outside(source: Source, region: ast.AST) -> Iterator[Fault]:
    """A step after the loop over the batches in which the gradients are cleared and computed, or a pass after it for the last batch alone."""
    steps = _own_steps(source, region)
    direct = [
        each
        for each in steps or []
        if training_loop.loops_around(source, each.at)[:1] == [region]
        or not training_loop.loops_around(source, each.at)
    ]
    for update in (each for each in direct if each.kind is Kind.UPDATE and each.at is each.operation.node):
        statement = source.statement_of(update.at)
        block = training_loop.block_of(source, statement)
        for loop in block[: block.index(statement)]:
            inside = [each for each in steps or [] if loop in training_loop.loops_around(source, each.at)]
            kinds = [each.kind for each in inside]
            if isinstance(loop, training_loop.LOOPS) and sorted(kinds) == [Kind.BACKWARD, Kind.CLEAR]:
                if not all(_each_turn(source, each, loop) for each in inside):
                    continue
                what = f"{update.on}.step() comes after the loop over the batches, which clears the gradients of each"
                last = next(each for each in inside if each.kind is Kind.BACKWARD)
                edits = _moved(source, statement, source.statement_of(last.at))
                yield Fault.with_repair(source.site(update.at), what, "Step the optimizer for each batch", *edits)


def _clipped(source: Source, call: ast.Call) -> Iterator[Fault]:
    """The clipping, where one backward pass and one step follow it in its block."""
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return
    block = training_loop.block_of(source, statement)
    place = block.index(statement)
    if not all(_is_harmless(source, each) for each in block[:place]):
        return
    named = [
        (each, progress_figures.name_of(c.func))
        for each in block
        for c in training_loop.attribute_calls(each, "backward", "step")
    ]
    clipped = [c for each in block for c in source.calls(*CLIPPING) if source.statement_of(c) is each]
    if [name for _, name in named] != ["backward", "step"] or len(clipped) != 1:
        return
    backward = next((o for o in training_loop.operations_named(source, "backward") if o.statement is named[0][0]), None)
    if backward is None or block.index(backward.statement) < place:
        return
    between = block[place + 1 : block.index(backward.statement)]
    bound = {each.id for s in between for each in within(s, ast.Name) if isinstance(each.ctx, ast.Store)}
    if all(_is_harmless(source, each) for each in between) and not bound & {n.id for n in within(call, ast.Name)}:
        what = f"{progress_figures.name_of(call.func)} finds no gradients, as {backward.on}.backward() computes them afterwards"
        edits = _moved(source, statement, backward.statement)
        yield Fault.with_repair(
            source.site(statement), what, "Clip the gradients after the backward pass", *edits, prior=0.95
        )


def _is_harmless(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement surely computes no gradients and takes no step."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func).rpartition(".")[2] in HARMLESS
    for call in within(statement, ast.Call):
        body = source.definition(call.func)
        if (
            body is not None
            and training_loop.attribute_calls(body, "backward", "step")
            or "grad" in ast.unparse(call.func)
        ):
            return False
    return True
