"""A loop accumulates gradients over several batches, and its steps, its schedule or its loss do not reckon with that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Enclose,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    SetArgument,
    Source,
    Subject,
    argument_value,
    function_around,
    training_loop,
    trees,
    within,
)

LENGTHS = {
    "get_linear_schedule_with_warmup": ("num_training_steps", 2),
    "get_cosine_schedule_with_warmup": ("num_training_steps", 2),
    "get_polynomial_decay_schedule_with_warmup": ("num_training_steps", 2),
    "get_cosine_with_hard_restarts_schedule_with_warmup": ("num_training_steps", 2),
    "get_scheduler": ("num_training_steps", 3),
    "OneCycleLR": ("total_steps", 2),
}
"""Schedules that end: the argument that says after how many of their steps, and its place."""

OF_SIZE = frozenset({"torch.optim.SGD", "torch.optim.ASGD", "torch.optim.Adagrad"})
"""Optimizers whose steps grow with the gradient; that of Adam is the same whatever its scale."""

SETTING = "gradient_accumulation_steps"
"""What accelerate calls the number of accumulated batches, and most programs with it."""

CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})


@dataclass(frozen=True, slots=True)
class _Guard:
    """The loop over the batches that are accumulated, what is done once for so many of them, and how many these are in the source."""

    loop: training_loop.Loop
    once: tuple[ast.stmt, ...]
    count: ast.expr

    def holds(self, node: ast.AST) -> bool:
        """Whether a node is run once for all of the batches."""
        return any(node is part for statement in self.once for part in ast.walk(statement))

    def stepped(self, source: Source) -> Iterator[tuple[str, ast.Call]]:
        """What is stepped once for all of the batches: how it is written, and the call that made it."""
        for step in training_loop.operations_named(source, "step"):
            made = source.constructor(training_loop.operated_on(step)) if self.holds(step.statement) else None
            if made is not None:
                yield step.on, made

    def calls(self) -> Iterator[ast.Call]:
        """The calls in the loop and in what is done once."""
        for statement in (self.loop, *self.once):
            yield from within(statement, ast.Call)


class AccumulationLeftOut(ReadTemplate):
    """Gradients are to be accumulated over several batches, and a step follows each, the schedule counts batches, or the loss is not divided.

    A scheduler that is stepped once in `k` batches, and whose length is that of all batches, ends at `1 / k` of its way: the
    learning rate never comes down, and a warm-up takes `k` times as long. And gradients of `k` batches add up to `k` times
    their mean: plain SGD takes steps `k` times as long, and clipping cuts nearly all of them. Adam does not mind, and is reported only
    where gradients are clipped. A loss that is divided by `k` in a loop that steps after each batch makes the gradients smaller and
    nothing else, and `accelerator.accumulate(model)` of an `Accelerator()` that is not told `k` takes every batch for the last.

    Fix safety: unsafe. The learning rate, or the size of the gradients, is another one from now on, which is the point.

    References: https://huggingface.co/docs/transformers/main/en/main_classes/optimizer_schedules (`num_training_steps`),
    https://docs.pytorch.org/docs/stable/notes/amp_examples.html ("loss = loss / iters_to_accumulate").
    """

    code = "DNF733"
    name = "accumulation-left-out"
    message = "{what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    confidence = 0.85
    triggers = ("backward", "accumulate")
    declined = "the number of accumulated batches is not known where the schedule is made"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for guard in _guards(source):
            yield from _schedules(source, guard)
            yield from _losses(source, guard)
            yield from _own_schedules(source, guard)
        yield from _steps_of_each(source)
        yield from _not_told(source)

    programs = """
=== example: a schedule of all batches
import torch
from transformers import get_linear_schedule_with_warmup

every = 4
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scheduler = get_linear_schedule_with_warmup(
    optimizer,
    num_warmup_steps=2,
-     num_training_steps=len(loader) * epochs,
+     num_training_steps=len(loader) * epochs // every,
)
for epoch in range(epochs):
    for step, (x, y) in enumerate(loader):
        loss = criterion(net(x), y) / every
        loss.backward()
        if (step + 1) % every == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

=== example: the length under a name
import torch
from torch.optim.lr_scheduler import OneCycleLR

k = 4
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = epochs * len(loader)
- cycle = OneCycleLR(optimizer, 0.1, total)
+ cycle = OneCycleLR(optimizer, 0.1, total // k)
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        (criterion(net(x), y) / k).backward()
        if i % k == k - 1:
            optimizer.step()
            cycle.step()
            optimizer.zero_grad()

=== example: gradients that are added up
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = criterion(net(x), y)
-         loss.backward()
+         (loss / 4).backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

=== example: gradients that are clipped
import torch

optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    loss = criterion(net(x), y)
-     loss.backward()
+     (loss / accumulate).backward()
    if (i + 1) % accumulate == 0 or i + 1 == len(loader):
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

=== example: a schedule of the program's own
import torch

def rate(step, total):
    return 0.1 * (1 - step / total)

optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
updates = 0
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        is_last = (i + 1) % args.accumulate == 0
        (criterion(net(x), y) / args.accumulate).backward()
        if is_last:
-             optimizer.param_groups[0]["lr"] = rate(updates, len(loader) * epochs)
+             optimizer.param_groups[0]["lr"] = rate(updates, len(loader) * epochs // args.accumulate)
            optimizer.step()
            optimizer.zero_grad()
            updates += 1

=== example: a step for each batch
import torch

optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = criterion(net(x), y) / accumulation_steps
        loss.backward()
-         optimizer.step()
-         optimizer.zero_grad()
+         if (i + 1) % accumulation_steps == 0:
+             optimizer.step()
+             optimizer.zero_grad()

=== example: a counter, and gradients that are cleared first
import torch

def train(model, loader, grad_accum):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    done = 0
    for x, y in loader:
-         optimizer.zero_grad()
+         if done % grad_accum == 0:
+             optimizer.zero_grad()
        loss = criterion(model(x), y)
        if grad_accum > 1:
            loss = loss / grad_accum
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
-         optimizer.step()
+         if (done + 1) % grad_accum == 0:
+             optimizer.step()
        done += 1

=== example: accelerate is not told
from accelerate import Accelerator

- accelerator = Accelerator(log_with=args.report_to) if args.track else Accelerator()
+ accelerator = Accelerator(log_with=args.report_to, gradient_accumulation_steps=args.gradient_accumulation_steps) if args.track else Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
total = batch_size * accelerator.num_processes * args.gradient_accumulation_steps
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()

=== reject: accelerate is told, by an argument or later; a loop over micro-batches; a mean of several losses
import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="no")
accelerator.gradient_accumulation_steps = args.gradient_accumulation_steps
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
for step in range(100):
    for _ in range(grad_accum_steps):
        x, y = batch()
        loss = criterion(net(x), y) / grad_accum_steps
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== reject: steps that wait for their number
import torch

optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
n_accumulated = 0
for x, y in loader:
    loss = criterion(net(x), y) / accumulate
    loss.backward()
    n_accumulated += 1
    if n_accumulated < accumulate:
        continue
    optimizer.step()
    optimizer.zero_grad()
    n_accumulated = 0

=== reject: a schedule that counts batches
import torch

optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
batches = 0
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        (criterion(net(x), y) / every).backward()
        batches += 1
        if (i + 1) % every == 0:
            optimizer.param_groups[0]["lr"] = rate(batches, len(loader) * epochs)
            optimizer.step()
            optimizer.zero_grad()

=== reject: Adam, whose step does not depend on the scale; a loss that is divided, a schedule that reckons with it
import torch
from transformers import get_scheduler

optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
scheduler = get_scheduler("linear", optimizer, 0, len(loader) // every)
for i, (x, y) in enumerate(loader):
    loss = criterion(net(x), y)
    loss.backward()
    if (i + 1) % every == 0:
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    loss = criterion(net(x), y)
    loss /= every
    loss.backward()
    if (i + 1) % every == 0:
        sgd.step()
        sgd.zero_grad()

=== reject: what is done now and then is no accumulation
import torch
from transformers import get_scheduler

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = get_scheduler("linear", optimizer, 0, len(loader) * epochs)
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if i % 100 == 0:
            print(i, loss.item())
"""


def _guards(source: Source) -> Iterator[_Guard]:
    """Where something is stepped once in several batches: under a condition in their loop, or after a loop over a few."""
    seen: set[ast.AST] = set()
    for step in training_loop.operations_named(source, "step"):
        loops = training_loop.loops_around(source, step.statement)
        condition = source.enclosing(step.statement, ast.If)
        is_within = bool(loops) and any(condition is part for part in ast.walk(loops[0]))
        if isinstance(condition, ast.If) and is_within and not condition.orelse:
            count = _count(source, condition.test)
            if count is not None and condition not in seen:
                seen.add(condition)
                yield _Guard(loops[0], tuple(condition.body), count)
        block = training_loop.block_of(source, step.statement)
        before = block[: block.index(step.statement)] if step.statement in block else []
        for loop in before:
            if isinstance(loop, ast.For) and loop not in seen and (count := _few(loop)) is not None:
                seen.add(loop)
                yield _Guard(loop, tuple(block[block.index(loop) + 1 :]), count)


def _few(loop: ast.For) -> ast.expr | None:
    """The `k` of a loop over `range(k)` that says it accumulates; others may take the sum of tasks or of players."""
    over = loop.iter
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range" or len(over.args) != 1:
        return None
    says = f"{ast.unparse(over.args[0])} {ast.unparse(loop.target)}".lower()
    return over.args[0] if "accum" in says or "micro" in says else None


def _count(source: Source, test: ast.expr) -> ast.expr | None:
    """The `k` of `(i + 1) % k == 0`, `not i % k`, `i % k == k - 1`; `None` where the condition is another."""
    known = source.bindings(test) if isinstance(test, ast.Name) else ()
    for part in ast.walk(known[0] if len(known) == 1 else test):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            count = part.right
            is_number = isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value > 1
            return count if is_number or isinstance(count, ast.Name | ast.Attribute) else None
    return None


def _schedules(source: Source, guard: _Guard) -> Iterator[Fault]:
    count = ast.unparse(guard.count)
    for stepped, made in guard.stepped(source):
        found = LENGTHS.get(ast.unparse(made.func).rpartition(".")[2])
        length = argument_value(made, *found) if found is not None else None
        if length is None or not _counts_batches(source, length, guard):
            continue
        what = (
            f"`{stepped}` is stepped once in `{count}` batches, and ends after `{ast.unparse(length)}` steps, which "
            "counts every batch: the schedule is cut off"
        )
        text = source.segment(source.site(length))
        is_plain = isinstance(length, ast.Name | ast.Attribute | ast.Call) or _is_product(length)
        new = f"{text} // {count}" if is_plain else f"({text}) // {count}"
        edits = (Replace(source.site(length), new),) if _is_known_at(source, guard.count, made) else None
        yield Fault(source.site(length), what, (("Count the steps of the optimizer", edits, 0.85),), reading="schedule")


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _counts_batches(source: Source, length: ast.expr, guard: _Guard) -> bool:
    """Whether a length is a multiple of the number of batches, and nothing in it reckons with the accumulation."""
    known = source.bindings(length) if isinstance(length, ast.Name) else (length,)
    return bool(known) and all(_is_all_batches(source, each, guard) for each in known)


def _is_all_batches(source: Source, length: ast.expr, guard: _Guard) -> bool:
    parts = list(ast.walk(length))
    behind = [each for part in parts if isinstance(part, ast.Name) for each in source.bindings(part)]
    divides = any(isinstance(part, ast.Div | ast.FloorDiv) for each in (length, *behind) for part in ast.walk(each))
    over = ast.unparse(guard.loop.iter) if isinstance(guard.loop, ast.For) else ""
    sizes = [
        part.args[0] for part in parts if isinstance(part, ast.Call) and ast.unparse(part.func) == "len" and part.args
    ]
    is_of_loader = any(ast.unparse(size) in over or "load" in ast.unparse(size) for size in sizes)
    is_product = all(isinstance(part.op, ast.Mult) for part in parts if isinstance(part, ast.BinOp))
    return is_of_loader and is_product and not divides and ast.unparse(guard.count) not in ast.unparse(length)


def _is_known_at(source: Source, count: ast.expr, made: ast.Call) -> bool:
    """Whether the number of accumulated batches can be read where a schedule is made."""
    if isinstance(count, ast.Constant):
        return True
    around = function_around(source, made)
    bound = source.bindings(count) if isinstance(count, ast.Name) else ()
    here = [each for each in bound if function_around(source, each) in (None, around) and each.lineno < made.lineno]
    if here or around is function_around(source, count):
        return bool(here) or isinstance(count, ast.Attribute) or _is_parameter(around, count)
    return isinstance(count, ast.Attribute) and ast.unparse(count).startswith(("self.", "args.", "config.", "cfg."))


def _is_parameter(around: object, count: ast.expr) -> bool:
    return isinstance(around, training_loop.FUNCTIONS) and any(
        isinstance(count, ast.Name) and each.arg == count.id
        for each in ast.walk(around.args)
        if isinstance(each, ast.arg)
    )


def _losses(source: Source, guard: _Guard) -> Iterator[Fault]:
    count = ast.unparse(guard.count)
    if not _minds_scale(source, guard) or _divides_by(source, guard.loop, count):
        return
    backward = [call for call in training_loop.attribute_calls(guard.loop, "backward") if not call.args]
    own = [call for call in backward if training_loop.loops_around(source, call)[:1] == [guard.loop]]
    if len(own) != 1 or guard.holds(own[0]) or not isinstance(own[0].func, ast.Attribute):
        return
    loss = own[0].func.value
    if isinstance(loss, ast.Call) and ast.unparse(loss.func).endswith(".scale") and len(loss.args) == 1:
        site, text = source.site(loss.args[0]), f"{ast.unparse(loss.args[0])} / {count}"
    elif isinstance(loss, ast.Name):
        site, text = source.site(loss), f"{loss.id} / {count}"
    else:
        return
    what = f"gradients of `{count}` batches are added up, and the loss is not divided by their number"
    edit = Replace(site, text)
    yield Fault(source.site(own[0]), what, (("Take the mean of the batches", (edit,), 0.85),), reading="loss")


def _minds_scale(source: Source, guard: _Guard) -> bool:
    """Whether the step depends on the scale of the gradients: by the optimizer, or as they are clipped."""
    if any(isinstance(call.func, ast.Attribute) and call.func.attr in CLIPS for call in guard.calls()):
        return True
    return any(source.qualified(made.func) in OF_SIZE for _, made in guard.stepped(source))


def _divides_by(source: Source, loop: training_loop.Loop, count: str) -> bool:
    """Whether anything in the program is divided by the number of batches, or anything in the loop scaled with it."""
    in_loop = set(within(loop, ast.BinOp))
    for node in source.nodes(ast.BinOp):
        is_scaled = isinstance(node.op, ast.Div) or (isinstance(node.op, ast.Mult) and node in in_loop)
        if is_scaled and count in (ast.unparse(node.left), ast.unparse(node.right)):
            return True
    scaled = (node for node in source.nodes(ast.AugAssign) if isinstance(node.op, ast.Div | ast.Mult))
    return any(ast.unparse(node.value) == count for node in scaled)


def _own_schedules(source: Source, guard: _Guard) -> Iterator[Fault]:
    """Functions of the program that are given how many updates were made, and a total that counts every batch."""
    count, edits, found = ast.unparse(guard.count), [], []
    for statement in guard.once:
        for call in within(statement, ast.Call):
            totals = [
                each for each in call.args if isinstance(each, ast.BinOp) and _is_all_batches(source, each, guard)
            ]
            counters = [
                each for each in call.args if isinstance(each, ast.Name) and _counts_updates(source, each, guard)
            ]
            if len(totals) == 1 and counters:
                found.append((call, totals[0]))
                edits.append(Replace(source.site(totals[0]), f"{source.segment(source.site(totals[0]))} // {count}"))
    if found:
        call, total = found[0]
        what = (
            f"`{ast.unparse(call.func)}` is given the number of updates, one in `{count}` batches, and a total of "
            f"`{ast.unparse(total)}`, which counts every batch: the schedule is cut off"
        )
        repair = "Count the steps of the optimizer", tuple(edits), 0.85
        yield Fault(source.site(total), what, (repair,), reading="own schedule")


def _counts_updates(source: Source, name: ast.Name, guard: _Guard) -> bool:
    """Whether a number grows by one where the optimizer is stepped, and nowhere else."""
    tests = {ast.unparse(above.test) for each in guard.once if isinstance(above := source.parent(each), ast.If)}
    grows = [
        each
        for each in source.nodes(ast.AugAssign)
        if isinstance(each.target, ast.Name) and each.target.id == name.id and isinstance(each.op, ast.Add)
    ]
    conditions = (source.enclosing(each, ast.If) for each in grows)
    return bool(grows) and all(above is not None and ast.unparse(above.test) in tests for above in conditions)


def _steps_of_each(source: Source) -> Iterator[Fault]:
    """Loops that divide the loss by a number of accumulated batches, and step after each batch."""
    for backward in training_loop.operations_named(source, "backward"):
        loops = training_loop.loops_around(source, backward.statement)
        count = _divisor(source, loops[0], backward) if loops else None
        if count is None or _reckons_with(source, loops[0], count):
            continue
        block = training_loop.block_of(source, backward.statement)
        later = {id(each): each for each in training_loop.operations(source) if each.statement in block}
        steps = [
            each
            for each in later.values()
            if each.name == "step" and each.statement.lineno > backward.statement.lineno and not each.call.args
        ]
        counter = _counter(source, loops[0], backward.statement)
        if block is not loops[0].body or not steps or not _is_cleared(source, steps[0].on):
            continue
        text = ast.unparse(count)
        what = f"the loss is divided by `{text}`, and `{steps[0].on}.step()` follows each batch: nothing is accumulated"
        edits = tuple(_waiting(source, block, backward.statement, counter, text)) if counter else None
        repair = f"Step once in {text} batches", edits, 0.85
        yield Fault(source.site(steps[0].call), what, (repair,), reading="step")


def _divisor(source: Source, loop: training_loop.Loop, backward: training_loop.LoopOperation) -> ast.expr | None:
    """The number of accumulated batches that the loss of a backward pass is divided by."""
    loss = training_loop.operated_on(backward)
    names = training_loop.read_names(loss)
    divided = [(each.left, each.right) for each in within(loss, ast.BinOp) if isinstance(each.op, ast.Div)]
    for each in (*within(loop, ast.Assign), *within(loop, ast.AugAssign)):
        if each.lineno >= backward.statement.lineno or not trees.stored_names(each) & names:
            continue
        if isinstance(each, ast.AugAssign) and isinstance(each.op, ast.Div):
            divided.append((each.target, each.value))
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.BinOp) and isinstance(each.value.op, ast.Div):
            divided.append((each.value.left, each.value.right))
    found = [by for _, by in divided if isinstance(by, ast.Name | ast.Attribute) and "accum" in ast.unparse(by).lower()]
    return found[0] if len({ast.unparse(by) for by in found}) == 1 else None


def _reckons_with(source: Source, loop: training_loop.Loop, count: ast.expr) -> bool:
    """Whether a loop may leave batches without a step: something is taken modulo, compared with the number, or passed over."""
    around = function_around(source, loop) or source.tree
    text = ast.unparse(count)
    in_modulo = any(isinstance(each.op, ast.Mod) and text in ast.unparse(each) for each in within(around, ast.BinOp))
    compared = any(
        text in ast.unparse(each) and not all(isinstance(side, ast.Constant) for side in each.comparators)
        for each in within(around, ast.Compare)
    )
    skips = any(isinstance(each, ast.Continue) for part in loop.body for each in ast.walk(part))
    ranged = any(text in ast.unparse(each) for each in within(loop, ast.Call) if ast.unparse(each.func) == "range")
    contexts = any("accumulate" in ast.unparse(item) for each in within(around, ast.With) for item in each.items)
    return (
        in_modulo
        or compared
        or skips
        or ranged
        or contexts
        or text in ast.unparse(loop.test if isinstance(loop, ast.While) else loop.iter)
    )


def _is_cleared(source: Source, optimizer: str) -> bool:
    return bool(training_loop.operations_named(source, "zero_grad")) and "sched" not in optimizer.lower()


def _counter(source: Source, loop: training_loop.Loop, before: ast.stmt) -> tuple[str, int] | None:
    """What counts the batches of a loop, and by how much it is behind where the optimizer is stepped."""
    if isinstance(loop, ast.For) and "enumerate(" in ast.unparse(loop.iter):
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else None
        return (first.id, 1) if isinstance(first, ast.Name) else None
    around = function_around(source, loop) or source.tree
    for each in loop.body:
        if (
            not isinstance(each, ast.AugAssign)
            or not isinstance(each.target, ast.Name)
            or not isinstance(each.op, ast.Add)
        ):
            continue
        name, by = each.target.id, each.value
        set_to = [one for one in within(around, ast.Assign) if name in trees.stored_names(one)]
        if isinstance(by, ast.Constant) and by.value == 1 and len(set_to) == 1:
            return name, 1 if each.lineno > before.lineno else 0
    return None


def _waiting(
    source: Source, block: list[ast.stmt], backward: ast.stmt, counter: tuple[str, int], count: str
) -> Iterator[Enclose]:
    """The steps, and what goes with them, under a condition; gradients that are cleared before under one of their own."""
    name, behind = counter
    number = f"({name} + 1)" if behind else name
    run: list[ast.stmt] = []
    for each in (*block, None):
        call = each.value if isinstance(each, ast.Expr) else None
        method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        if each is not None and method in ("step", "zero_grad"):
            run.append(each)
            continue
        if run:
            first = f"{name} % {count} == 0" if behind else f"({name} - 1) % {count} == 0"
            is_before = run[0].lineno < backward.lineno
            test = first if is_before else f"{number} % {count} == 0"
            yield Enclose(source.site(run[0]), source.site(run[-1]), f"if {test}:")
        run = []


def _not_told(source: Source) -> Iterator[Fault]:
    """`accelerator.accumulate(model)`, where no `Accelerator` is told over how many batches, and the program has a setting for it."""
    used = training_loop.method_calls(source, "accumulate")
    if not used:
        return
    made = [call for call in source.all_calls if ast.unparse(call.func).rpartition(".")[2] == "Accelerator"]
    named = {each.arg for call in made for each in call.keywords}
    if (
        not made
        or None in named
        or any(name and (name.startswith("gradient_acc") or "plugin" in name) for name in named)
    ):
        return
    asked: list[ast.expr] = [node for node in source.nodes(ast.Attribute) if node.attr == SETTING]
    asked += [node for node in source.nodes(ast.Name) if node.id == SETTING]
    texts = {ast.unparse(node) for node in asked if isinstance(getattr(node, "ctx", None), ast.Load)}
    is_set = any(isinstance(getattr(node, "ctx", None), ast.Store) for node in asked if isinstance(node, ast.Attribute))
    if is_set or len(texts) != 1:
        return
    count = next(node for node in asked if ast.unparse(node) in texts)
    text = ast.unparse(count)
    what = f"`accelerator.accumulate` is used, and no Accelerator is told `{text}`: each batch is followed by a step"
    is_known = all(_is_known_at(source, count, call) for call in made)
    edits = tuple(SetArgument(source.site(call), SETTING, text) for call in made) if is_known else None
    yield Fault(
        source.site(used[0]), what, (("Tell accelerate over how many batches", edits, 0.9),), reading="not told"
    )
