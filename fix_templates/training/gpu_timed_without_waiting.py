"""Work on a GPU is timed by the clock of the program, which does not wait for it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    all_written,
    devices,
    function_around,
    structure,
    trees,
    within,
    words,
)

CLOCKS = words(
    "time.time time.perf_counter time.monotonic time.process_time time.clock timeit.default_timer time.time_ns time.perf_counter_ns"
    " datetime.datetime.now datetime.now datetime.datetime.utcnow"
)
SPELT = words("time perf_counter default_timer monotonic timer perf_counter_ns process_time")


class GpuTimedWithoutWaiting(ReadTemplate):
    """Work on a GPU is timed without `torch.cuda.synchronize()`: what is measured is how long it takes to ask for it.

    Calls return before the GPU has computed anything. The clock is read early, and the work is charged to whatever waits next, such as
    `loss.item()`. Reported where a clock is read before and after calls of networks or operations of tensors, and nothing between the
    last of them and the second reading waits.

    Fix safety: unsafe. Waiting costs a little time at each place.

    References: https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution; torch.cuda.synchronize; torch.utils.benchmark.
    """

    code = "DNF770"
    name = "gpu-timed-without-waiting"
    message = "the clock is read before the GPU has done what it was asked for: nothing waits for it"
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    nature = Nature.RISK
    silent = 13
    default = False
    triggers = ("time", "perf_counter", "default_timer", "timeit", "elapsed_time", "datetime")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks or not devices.uses_gpu(source):
            return
        seen: set[ast.stmt] = set()
        for first, end in (*_measured(source), *_in_a_row(source)):
            if end not in seen and _is_uneasy(source, first, end):
                seen.add(end)
                edit = InsertBefore(source.site(end), "torch.cuda.synchronize()")
                title = "Wait for the GPU before the clock is read"
                yield Fault.with_repair(source.site(end), {}, title, edit, prior=0.8)
        for call in source.calls("timeit.timeit", "timeit.repeat"):
            timed = call.args[0] if call.args else None
            inside = within(timed, ast.Call) if isinstance(timed, ast.Lambda) else ()
            if (
                timed is not None
                and any(devices.works(source, one) for one in inside)
                and not devices.waits(source, timed)
            ):
                yield Fault(source.site(call), {}, (Decline("what is timed has to wait: write a function that does"),))

    programs = """
=== example: a forward pass
import time
import torch

model = model.cuda()
start = time.time()
out = model(x.cuda())
+ torch.cuda.synchronize()
end = time.time()
print(end - start)

=== example: many of them
import time
import torch

def measure(model, x, device):
    model.to(device)
    x = x.to(device)
    t0 = time.perf_counter()
    for _ in range(100):
        y = model(x)
+     torch.cuda.synchronize()
    print("took", time.perf_counter() - t0)

=== example: in a cell, by the date
from datetime import datetime

began = datetime.now()
depth = depth_net(frame.to(device))
+ torch.cuda.synchronize()
print(datetime.now() - began)

=== example: a product of matrices
import time
import torch

left = torch.rand(4000, 4000, device="cuda")
right = torch.rand(4000, 4000, device="cuda")
start = time.time()
both = left @ right
+ torch.cuda.synchronize()
print("took", time.time() - start)

=== finds: by timeit
import timeit
import torch

net = Net().cuda()
print(timeit.timeit(lambda: net(x), number=100))

=== reject: by timeit, and it waits; a product of arrays
import time
import timeit
import numpy as np
import torch

net = Net().cuda()
print(timeit.timeit(lambda: net(x).cpu(), number=100))
left = np.ones((40, 40))
start = time.time()
both = left @ left
print(time.time() - start)

=== reject: two readings that are not compared
import time
import torch

for x in loader:
    began = time.time()
    t0 = time.time()
    out = model(x.cuda())
    t1 = time.time()
    total += out.mean().item()
    ended = time.time()
    print(ended - began)
    rounds += 1

=== reject: what is made of the results is not seen, or is text
import time
import torch

start = time.time()
boxes = detector(picture.cuda())
kept = self.tools.only_certain(boxes, 0.5)
print(time.time() - start)

start = time.time()
said = model.generate(prompt.cuda())
print(time.time() - start)

=== reject: a training that a module from elsewhere does
import time
import torch
from torch import nn
from ours import engine

begin = time.time()
loss_fn = nn.CrossEntropyLoss()
engine.fit(net.cuda(), loader, loss_fn)
print(time.time() - begin)

=== reject: it waits
import time
import torch

def measure(model, x):
    torch.cuda.synchronize()
    start = time.time()
    y = model(x.cuda())
    torch.cuda.synchronize()
    return time.time() - start

=== reject: the loss is read
import time
import torch

for x, y in loader:
    start = time.time()
    loss = criterion(model(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
    total += loss.item()
    print(time.time() - start)

=== reject: no GPU
import time
import torch

start = time.time()
out = model(x)
print(time.time() - start)

=== reject: loading is timed
import time
import torch

model.cuda()
end = time.time()
for x, y in loader:
    data_time.update(time.time() - end)
    loss = criterion(model(x.cuda()), y.cuda())
    losses.update(loss.item())
    end = time.time()
"""


def _is_clock(source: Source, expr: ast.expr) -> bool:
    """Whether an expression reads a clock."""
    if not isinstance(expr, ast.Call) or expr.args:
        return False
    name = source.qualified(expr.func) or ast.unparse(expr.func)
    return name in CLOCKS or (name in SPELT and isinstance(expr.func, ast.Name))


def _readings(source: Source, expr: ast.expr) -> list[ast.stmt]:
    """The statements that read the clock for an expression: its own, or those that assign it to its name."""
    if _is_clock(source, expr):
        return [source.statement_of(expr)]
    if not isinstance(expr, (ast.Name, ast.Attribute)):
        return []
    around = function_around(source, expr)
    written = [one for one in all_written(source, expr) if _is_clock(source, one.value)]
    return [one.statement for one in written if function_around(source, one.statement) is around]


def _measured(source: Source) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """The readings of a clock whose difference is computed."""
    for node in source.nodes(ast.BinOp):
        if isinstance(node.op, ast.Sub):
            for end in _readings(source, node.left):
                first = _started(source, _readings(source, node.right), end)
                if first is not None:
                    yield first, end


def _in_a_row(source: Source) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Readings of a clock into two names one after the other, which are used together, or in a fragment that ends before they are."""
    kept = [
        node
        for node in source.nodes(ast.Assign)
        if _is_clock(source, node.value) and isinstance(node.targets[0], ast.Name)
    ]
    read = [node for node in source.nodes(ast.Name) if isinstance(node.ctx, ast.Load)]
    last = source.tree.body[-1]
    for first, second in itertools.pairwise(kept):
        names = {ast.unparse(first.targets[0]), ast.unparse(second.targets[0])}
        in_one = function_around(source, first) is function_around(source, second)
        uses = [source.statement_of(node) for node in read if node.id in names]
        together = any(names <= trees.names_in(one) for one in uses if not hasattr(one, "body"))
        if len(names) == 2 and in_one and (together or not uses and (last.end_lineno or 0) - second.lineno <= 2):
            yield first, second


def _started(source: Source, starts: list[ast.stmt], end: ast.stmt) -> ast.stmt | None:
    """The reading before another one; in a loop it may be the last of the round before."""
    before = [one for one in starts if one.lineno < end.lineno]
    return max(before, key=lambda one: one.lineno, default=None)


def _is_uneasy(source: Source, start: ast.stmt, end: ast.stmt) -> bool:
    """Whether the GPU is given work between two readings of the clock, and nothing waits for the last of it."""
    around: ast.AST = function_around(source, end) or source.tree
    between = [
        call
        for call in within(around, ast.Call, ast.BinOp)
        if (start.end_lineno or start.lineno) < call.lineno
        and (call.end_lineno or call.lineno) <= end.lineno
        and source.statement_of(call) is not end
    ]
    if isinstance(source.parent(start), (ast.For, ast.While)) and source.parent(start) is not source.parent(end):
        return False
    work = [node for node in between if _is_work(source, node)]
    if not work:
        return False
    last = max(work, key=lambda call: call.lineno)
    loop = devices.loop_around(source, last)
    loops = [one for one in within(around, ast.For, ast.While) if start.lineno < one.lineno < end.lineno]
    if any(structure.has(source, one, structure.Kind.UPDATE) for one in loops):
        return False  # an epoch: what its last batch takes does not count
    begins = last.lineno if loop is None or loop.lineno <= start.lineno else loop.lineno
    after = [call for call in between if call.lineno >= begins]
    statements = {source.statement_of(call) for call in after}
    if any(devices.waits(source, one) for one in statements):
        return False
    results = {name for call in work for name in trees.stored_names(source.statement_of(call))}
    for statement in sorted({source.statement_of(call) for call in between}, key=lambda one: one.lineno):
        if results & trees.names_in(statement):
            results |= trees.stored_names(statement) if isinstance(statement, ast.Assign) else set()
    if any(devices.looks_at(source, one, results) for one in statements):
        return False
    return not any(_unknown(source, call, results) for call in after if isinstance(call, ast.Call) and call not in work)


def _is_work(source: Source, node: ast.AST) -> bool:
    """Whether a call gives the GPU work, also by a function of this text, or a product of tensors is computed."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult) and devices.is_tensor(source, node.left)
    if not isinstance(node, ast.Call):
        return False
    body = structure.callee(source, node)
    inside = within(body, ast.Call) if body is not None else ()
    return devices.works(source, node) or any(devices.works(source, inner) for inner in inside)


def _unknown(source: Source, call: ast.Call, results: set[str]) -> bool:
    """Whether a call of a function or method from elsewhere, given results, may wait for them."""
    if structure.callee(source, call) is not None:
        return False
    name = source.qualified(call.func) or ""
    if name.startswith(("torch.", "builtins.")) or source.constructor(call.func) is not None:
        return False
    text = ast.unparse(call.func)
    if trees.last_name(call.func) in devices.PLAIN or "loss" in text or "crit" in text:
        return False
    if not isinstance(call.func, ast.Attribute):
        return bool(call.args)
    given = {each for one in (*call.args, *(k.value for k in call.keywords)) for each in trees.names_in(one)}
    return bool(results & given) and results.isdisjoint(trees.names_in(call.func))
