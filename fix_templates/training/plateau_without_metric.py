"""`ReduceLROnPlateau.step()` is called without the metric that the scheduler watches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Family,
    Fault,
    FixPattern,
    Replace,
    Subject,
    argument_value,
    function_around,
    training_loop,
    within,
    words,
)

_NO_LOSS = words(
    "weight weights scale factor coef coeff ratio lambda alpha beta threshold best min max prev previous last"
)
"""Words in names that contain `loss` and are not the loss of an epoch."""

_HELD_OUT = ("val", "valid", "validation", "test", "dev", "eval")


class PlateauWithoutMetric(CrashTemplate):
    """`ReduceLROnPlateau` lowers the learning rate when a metric stops improving; its `step()` needs that metric.

    Other schedulers only count steps. This one needs the validation loss of each epoch, or the training loss where
    there is no validation. Proposed where the program computes exactly one such loss before the step. Schedulers with
    `mode="max"` are left alone.

    Fix safety: unsafe. The learning rate follows the loss that is passed.

    References: torch.optim.lr_scheduler.ReduceLROnPlateau.
    """

    code = "DNF720"
    name = "plateau-without-metric"
    message = "`{call}` is called without the metric that the scheduler watches"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    kinds = frozenset({"TypeError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        node = subject.node(crash.site)
        source = subject.source
        missing = "step() missing 1 required positional argument: 'metrics'" in crash.message
        if not missing or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        made = source.constructor(node.func.value)
        mode = argument_value(made, "mode", 1) if made is not None else None
        if made is None or mode is not None and ast.unparse(mode) != "'min'":
            return
        figure = _figure(subject, crash, node)
        if figure is not None and not node.args and not node.keywords:
            function = subject.text(source.site(node.func))
            edit = Replace(source.site(node), f"{function}({figure})")
            yield Fault(source.site(node), {"call": ast.unparse(node)}, ((f"Pass `{figure}`", (edit,), 0.9),))

    programs = """
=== example: the loss of the validation
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters())
plateau = ReduceLROnPlateau(optimizer, mode="min")
for epoch in range(2):
    train_loss = model(torch.ones(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    train_loss.backward()
    optimizer.step()
    with torch.no_grad():
        val_loss = model(torch.zeros(4, 3)).pow(2).mean().item()
-     plateau.step()
+     plateau.step(val_loss)

=== example: the loss of an epoch
import torch


def fit(net, batches):
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
    for epoch in range(2):
        running_loss = 0.0
        for batch in batches:
            loss = net(batch).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            running_loss += loss.item()
-         sched.step()
+         sched.step(running_loss)


fit(torch.nn.Linear(3, 1), torch.ones(2, 4, 3))

=== reject: the metric is passed
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
for epoch in range(2):
    loss = net(torch.ones(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step(loss)

=== reject: two losses that may be meant
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
for epoch in range(2):
    class_loss = net(torch.ones(4, 3)).pow(2).mean()
    box_loss = net(torch.zeros(4, 3)).pow(2).mean()
    opt.zero_grad()
    (class_loss + box_loss).backward()
    opt.step()
    scheduler.step()

=== reject: the weight of a loss, and the loss of the last batch
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
for epoch in range(2):
    loss_weight = min(1.0, epoch / 5)
    for x in torch.ones(2, 4, 3):
        loss = net(x).pow(2).mean() + loss_weight * net(x).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    scheduler.step()

=== reject: the loss of the last batch of the validation
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
for epoch in range(2):
    opt.zero_grad()
    net(torch.ones(4, 3)).pow(2).mean().backward()
    opt.step()
    total = 0.0
    with torch.no_grad():
        for x in torch.ones(2, 4, 3):
            val_loss = net(x).pow(2).mean()
            total += val_loss.item()
    print(total / 2)
    scheduler.step()

=== reject: an accuracy is wanted
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max")
for epoch in range(2):
    loss = net(torch.ones(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
"""


def _figure(subject: Subject, crash: Crash, step: ast.Call) -> str | None:
    """The one loss that is computed before the step in its loop: of held-out data, else of the training."""
    source = subject.source
    loops = training_loop.loops_around(source, step)
    around: ast.AST | None = loops[0] if loops else function_around(source, step)
    if around is None:
        return None
    depths: dict[str, int] = {}
    for name in within(around, ast.Name):
        if not isinstance(name.ctx, ast.Store) or name.lineno >= step.lineno or "loss" not in name.id.lower():
            continue
        if _is_number(crash, name.id) and _NO_LOSS.isdisjoint(name.id.lower().split("_")):
            depth = len(training_loop.loops_around(source, name))
            depths[name.id] = min(depth, depths.get(name.id, depth))
    held_out = [name for name in depths if set(name.lower().split("_")) & set(_HELD_OUT)]
    if held_out:
        whole = len(held_out) == 1 and depths[held_out[0]] <= len(loops)
        return held_out[0] if whole else None  # the loss of the last batch is not that of the epoch
    # A loss assigned in an inner loop is that of the last batch; one assigned outside it is that of the epoch.
    outer = [name for name, depth in depths.items() if depth <= len(loops)]
    return outer[0] if len(outer) == 1 else None


def _is_number(crash: Crash, name: str) -> bool:
    """Whether the name held a number, or a tensor without axes, at the crash."""
    value = crash.frames[-1].names.get(name) if crash.frames else None
    if isinstance(value, dict):
        return value.get("shape") == []
    return isinstance(value, (int, float)) and not isinstance(value, bool)
