"""`next(iter(loader))` in a training loop begins the loader anew each time: only first batches are ever seen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    loader_uses,
    structure,
    training_loop,
    trees,
    within,
)

FIGURES = re.compile(r"acc|loss|crit|score|correct|error|metric|entropy|==", re.IGNORECASE)


class FirstBatchAgain(ReadTemplate):
    """`x, y = next(iter(loader))` in each turn of a training loop.

    `iter` begins a new pass over the loader: without shuffling, every turn trains on the same first batch; with it, worker processes are started for a single batch each time,
    and epochs mean nothing. Going over the loader (`for x, y in loader`) sees all of it. Programs that look at one batch
    on purpose do so before their loop and are left alone.

    Fix safety: unsafe. The loop sees each batch once, and ends with them.

    References: torch.utils.data.DataLoader; iter.
    """

    code = "DNF764"
    name = "first-batch-again"
    message = "`{call}` begins the loader anew in every turn: it gives first batches only"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 6
    default = False
    triggers = ("iter",)
    declined = "the loop has to be written anew, over the loader"
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or "next" not in source.words:
            return
        for call in source.all_calls:
            loops = training_loop.loops_around(source, call)
            if not _is_first(source, call) and not (loops and _begun_again(source, call, loops[0])):
                continue
            if not loops:
                loops = _loops_of_callers(source, call)
            if not loops:
                continue
            if not structure.has(source, loops[0], structure.Kind.BACKWARD):
                if not _stands_for_loader(source, call, loops[0]) or not _is_measured(source, call, loops[0]):
                    continue
            elif not _is_of_step(source, loops[0]) and not _is_measured(source, call, loops[0]):
                continue  # a picture of the progress, once in an epoch
            said, edits = {"call": ast.unparse(call)}, _edits(source, call, loops[0])
            yield Fault(source.site(call), said, (("Go over the loader", edits, 0.6),))

    programs = """
=== example: a loop over numbers
import torch

- for step in range(1000):
-     x, y = next(iter(train_loader))
+ for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== finds: an iterator that each turn makes anew
import torch

for step in range(1000):
    batches = iter(train_loader)
    x, y = next(batches)
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== finds: in a function that makes a step
import torch

def step():
    x, y = next(iter(train_loader))
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

for _ in range(1000):
    step()

=== finds: statistics of batch norm, of first batches
import torch
from torch import nn

def refresh(net: nn.Module, steps, train_loader):
    net.train()
    total = 0.0
    with torch.no_grad():
        for _ in range(steps):
            pictures, kinds = next(iter(train_loader))
            total += nn.functional.cross_entropy(net(pictures), kinds).item()
    return total / steps

=== reject: pictures of the progress
import torch

for epoch in range(10):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    x, _ = next(iter(test_loader))
    save(net(x), epoch)

=== reject: one batch to try with
import torch

x, y = next(iter(train_loader))
for _ in range(100):
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== reject: an iterator that goes on
import torch

batches = iter(train_loader)
for _ in range(100):
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(train_loader)
        x, y = next(batches)
    criterion(net(x), y).backward()
    optimizer.step()

=== reject: names of a dictionary
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    first = next(iter(net.parameters()))
"""


def _loader(call: ast.Call) -> ast.expr | None:
    """What `next(iter(over))` or `iter(over).next()` takes its first element of."""
    func = call.func
    inner: ast.expr | None = None
    if isinstance(func, ast.Name) and func.id == "next" and call.args:
        inner = call.args[0]
    elif isinstance(func, ast.Attribute) and func.attr in ("next", "__next__"):
        inner = func.value
    is_iter = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "iter"
    return inner.args[0] if isinstance(inner, ast.Call) and is_iter and inner.args else None


def _is_first(source: Source, call: ast.Call) -> bool:
    """Whether a call takes the first batch of what is a loader."""
    over = _loader(call)
    return over is not None and _is_loader(source, over)


def _is_loader(source: Source, over: ast.expr) -> bool:
    """Whether an expression is a loader: by what made it, or by its name where that is not seen."""
    made = source.constructor(over)
    if made is not None:
        return loader_uses.is_loader(source, made)
    is_named = isinstance(over, (ast.Name, ast.Attribute, ast.Subscript))
    return is_named and bool(loader_uses.OF_LOADER.search(ast.unparse(over)))


def _loops_of_callers(source: Source, call: ast.Call) -> list[training_loop.Loop]:
    """The loops around the calls of the function that makes a step with its first batch."""
    function = training_loop.function_around(source, call)
    if (
        function is None
        or within(function, ast.For, ast.While)
        or not structure.has(source, function, structure.Kind.BACKWARD)
    ):
        return []
    return [loop for each in structure.callers(source, function) for loop in training_loop.loops_around(source, each)]


def _is_of_step(source: Source, loop: training_loop.Loop) -> bool:
    """Whether a loop makes a step of training in each turn, and no loop within it does."""
    passes = (each for each in structure.happenings(source, loop) if each.kind is structure.Kind.BACKWARD)
    return any(training_loop.loops_around(source, each.at)[:1] == [loop] for each in passes)


def _stands_for_loader(source: Source, call: ast.Call, loop: training_loop.Loop) -> bool:
    """Whether a loop over numbers asks the network about this batch in each turn, and has no other data."""
    statement = source.statement_of(call)
    inner = [each for each in within(loop, ast.For, ast.While) if each is not loop]
    named = trees.stored_names(statement) | ({"batch"} if isinstance(statement, ast.Expr) else set())
    asked = any(named & trees.names_in(each) for each in structure.forward_calls(source, loop))
    of_epochs = isinstance(loop, ast.For) and "epoch" in ast.unparse(loop.target) + ast.unparse(loop.iter)
    return statement in loop.body and not inner and not of_epochs and asked


def _is_measured(source: Source, call: ast.Call, loop: training_loop.Loop) -> bool:
    """Whether a figure is made of a batch further down in a loop."""
    statement = source.statement_of(call)
    names = trees.names_in(statement) - {"next", "iter"}
    names = {name.id for name in within(statement, ast.Name) if isinstance(name.ctx, ast.Store)} or names
    for node in sorted(within(loop, ast.Assign, ast.AugAssign, ast.Expr), key=lambda one: one.lineno):
        if node.lineno <= statement.lineno or not trees.names_in(node) & names:
            continue
        if FIGURES.search(ast.unparse(node)):
            return True
        names |= {name.id for name in within(node, ast.Name) if isinstance(name.ctx, ast.Store)}
    return False


def _begun_again(source: Source, call: ast.Call, loop: training_loop.Loop) -> bool:
    """Whether a call is the only one that takes a batch of an iterator which each turn of a loop makes anew."""
    over = call.args[0] if isinstance(call.func, ast.Name) and call.func.id == "next" and call.args else None
    if not isinstance(over, ast.Name):
        return False
    begun = [
        node.value
        for node in loop.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == over.id and node.lineno <= call.lineno
    ]
    uses = [name for name in source.nodes(ast.Name) if name.id == over.id]
    if len(begun) != 1 or len(uses) != 2:
        return False
    asked = begun[0]
    is_iter = isinstance(asked, ast.Call) and isinstance(asked.func, ast.Name) and asked.func.id == "iter"
    return isinstance(asked, ast.Call) and is_iter and len(asked.args) == 1 and _is_loader(source, asked.args[0])


def _edits(source: Source, call: ast.Call, loop: training_loop.Loop) -> tuple[Edit, ...] | None:
    """Edits that let a loop over numbers go over the loader instead; `None` for other loops."""
    statement = source.statement_of(call)
    if not isinstance(loop, ast.For) or not isinstance(statement, ast.Assign) or statement.value is not call:
        return None
    counts = (
        isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range" and isinstance(loop.target, ast.Name)
    )
    over = _loader(call)
    if not counts or statement not in loop.body or len(statement.targets) != 1 or over is None:
        return None
    batch = ast.unparse(statement.targets[0])
    header = (
        Replace(source.site(loop.target), f"{ast.unparse(loop.target)}, {batch}"),
        Replace(source.site(loop.iter), f"enumerate({ast.unparse(over)})"),
    )
    return (*header, Delete(source.site(statement)))
