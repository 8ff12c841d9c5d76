"""A float16 training lacks one of the steps that keep its gradients from vanishing: scale, unscale, step and update."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    AddImport,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Replace,
    SetArgument,
    Source,
    Subject,
    argument_value,
    function_around,
    spelling_edits,
    training_loop,
    trees,
    within,
    words,
)

AUTOCASTS = words("torch.autocast torch.amp.autocast torch.amp.autocast_mode.autocast torch.cuda.amp.autocast")
UNDER_NO_GRAD = words("no_grad inference_mode")
CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"})

SCALED_ELSEWHERE = words("""scaler GradScaler loss_scaler grad_scaler NativeScaler scale_loss loss_scale Accelerator accelerator Fabric
    fabric deepspeed Trainer LightningModule apex set_autocast_gpu_dtype set_autocast_dtype""")
"""Words of programs in which something else may scale the loss, or set what is cast to."""


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A statement `scaler.scale(loss).backward()`: the scaler and how it is written, the call, and the function around it."""

    scaler: str
    on: ast.expr
    call: ast.Call
    around: ast.AST

    def calls(self, method: str) -> list[ast.Call]:
        """The calls of a method of the scaler in that function."""
        return [
            call
            for call in training_loop.attribute_calls(self.around, method)
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == self.scaler
        ]


class LossScaleLeftOut(ReadTemplate):
    """A training in float16 does not scale its loss, or leaves out one of the steps that go with a scaled loss.

    Gradients below 6e-8 are zero in float16. `GradScaler` multiplies the loss by a large number, and has to be asked for the
    update (`scaler.step(optimizer)`), which divides the gradients by it, and told when it is done (`scaler.update()`). With
    `optimizer.step()` in place of it, every update is thousands of times too long; gradients that are clipped before
    `scaler.unscale_(optimizer)` are clipped by the scale and nothing else; and an `autocast` in float16 without any scaler
    loses small gradients. bfloat16 has the range of float32 and needs no scale.

    Fix safety: unsafe. The weights are updated by other numbers from now on, which is the point.

    References: https://docs.pytorch.org/docs/stable/notes/amp_examples.html, https://docs.pytorch.org/docs/stable/amp.html
    ("Gradient Scaling").
    """

    code = "DNF735"
    name = "loss-scale-left-out"
    message = "{what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    triggers = ("backward",)
    declined = "the program does not show which optimizer is stepped"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for scaled in _scaled(source):
            yield from _stepped_without(source, scaled)
            yield from _clipped_scaled(source, scaled)
        yield from _unscaled(source)
        yield from _never_scaled(subject)

    programs = """
=== example: the optimizer's own step
import torch

scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = criterion(net(x), y)
    scaler.scale(loss).backward()
-     optimizer.step()
+     scaler.step(optimizer)
    scaler.update()

=== example: neither step nor update
from torch.cuda.amp import GradScaler, autocast


class Runner:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.scaler = GradScaler()

    def epoch(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            with autocast():
                loss = self.loss(self.net(x), y)
            self.scaler.scale(loss).backward()
-             self.optimizer.step()
+             self.scaler.step(self.optimizer)
+             self.scaler.update()

=== example (runs): the loss is not scaled
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.rand(8, 4), torch.rand(8, 1)
for step in range(5):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(net(x).float(), y)
-     loss.backward()
+     scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

=== example (runs): no update
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.rand(8, 4), torch.rand(8, 1)
for step in range(5):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(net(x).float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
+     scaler.update()

=== example: clipped while they are scaled
import torch
from torch.nn.utils import clip_grad_norm_

scaler = torch.cuda.amp.GradScaler()
for x, y in loader:
    with torch.cuda.amp.autocast():
        loss = criterion(net(x), y)
    scaler.scale(loss).backward()
+     scaler.unscale_(optimizer)
    clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()

=== example: an autocast without a scaler
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(4, 1).to(device)
optimizer = torch.optim.Adam(net.parameters())
for x, y in loader:
    optimizer.zero_grad()
-     with torch.autocast(device_type=device.type):
+     with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
        out = net(x)
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    optimizer.step()

=== example: float16 by name, in a function
import torch
from torch.amp import autocast

def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
-         with autocast("cuda", dtype=torch.float16):
+         with autocast("cuda", dtype=torch.bfloat16):
            loss = model(x, labels=y).loss
        loss.backward()
        optimizer.step()

=== reject: all that is needed, with clipped gradients and a scaler that may be switched off
import torch

scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
for i, (x, y) in enumerate(loader):
    with torch.autocast("cuda", enabled=use_amp):
        loss = criterion(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    schedule.step()

=== reject: a way with a scaler and one without
import torch

scaler = torch.cuda.amp.GradScaler() if args.amp else None
for x, y in loader:
    with torch.cuda.amp.autocast(enabled=args.amp):
        loss = criterion(net(x), y)
    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

=== reject: bfloat16, a processor, a frozen model under autocast, and an evaluation
import torch

optimizer = torch.optim.Adam(net.parameters())
for x, y in loader:
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        codes = encoder(x)
    loss = criterion(net(codes.float()), y)
    loss.backward()
    optimizer.step()
with torch.autocast("cuda"):
    print(net(x))
with torch.autocast("cpu"):
    loss = criterion(net(x), y)
loss.backward()

=== reject: a scaler of a table, which has a scale of its own
import torch
from sklearn.preprocessing import StandardScaler

scaler = StandardScaler()
for x, y in loader:
    loss = criterion(net(scaler.transform(x)), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()

=== reject: steps that a helper takes
import torch

class Scaler:
    def __init__(self):
        self.inner = torch.cuda.amp.GradScaler()

    def __call__(self, loss, optimizer):
        self.inner.scale(loss).backward()
        self.inner.step(optimizer)
        self.inner.update()

def backward(scaler, loss):
    scaler.scale(loss).backward()
"""


def _scaled(source: Source) -> Iterator[_Scaled]:
    for step in training_loop.operations_named(source, "backward"):
        made = training_loop.operated_on(step)
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
            continue
        if made.func.attr == "scale" and len(made.args) == 1 and not made.keywords:
            around = function_around(source, made) or source.tree
            yield _Scaled(ast.unparse(made.func.value), made.func.value, step.call, around)


def _stepped_without(source: Source, scaled: _Scaled) -> Iterator[Fault]:
    """`optimizer.step()` after a scaled backward pass, or `scaler.step(optimizer)` that nothing ends."""
    own_step, own_update = scaled.calls("step"), scaled.calls("update")
    is_updated = bool(own_update) or bool(_anywhere(source, scaled.scaler, "update"))
    loop = training_loop.loops_around(source, scaled.call)[:1]
    if own_step and not is_updated and len(own_step) == 1:
        after = InsertAfter(source.site(source.statement_of(own_step[0])), f"{scaled.scaler}.update()")
        what = f"`{scaled.scaler}.update()` is never called: the second step of a scaler raises"
        yield Fault.with_repair(source.site(own_step[0]), what, "Update the scale after each step", after)
    if own_step or _anywhere(source, scaled.scaler, "step") or not loop or not _is_scaler(source, scaled.on):
        return
    cleared = {each.on for each in training_loop.operations_named(source, "zero_grad")}
    steps = [
        each
        for each in training_loop.operations_named(source, "step")
        if not each.call.args
        and each.statement.lineno > scaled.call.lineno
        and loop == training_loop.loops_around(source, each.statement)[:1]
        and (training_loop.is_optimizer(source, training_loop.operated_on(each)) or each.on in cleared)
    ]
    if len(steps) != 1:
        return
    new = f"{scaled.scaler}.step({steps[0].on})"
    edit = Replace(source.site(steps[0].statement), new if is_updated else f"{new}\n{scaled.scaler}.update()")
    what = f"the loss is scaled, and `{steps[0].on}.step()` takes the scaled gradients as they are"
    yield Fault.with_repair(source.site(steps[0].call), what, "Let the scaler take the step", edit)


def _is_scaler(source: Source, expr: ast.expr) -> bool:
    made = source.constructor(expr)
    return made is not None and source.qualified(made.func) in training_loop.SCALERS


def _anywhere(source: Source, scaler: str, method: str) -> list[ast.Call]:
    """Calls of a method of a scaler, in whatever function, under its last name."""
    last = scaler.rpartition(".")[2]
    return [
        call
        for call in training_loop.method_calls(source, method)
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).rpartition(".")[2] == last
    ]


def _clipped_scaled(source: Source, scaled: _Scaled) -> Iterator[Fault]:
    """Gradients that are clipped between the scaled backward pass and the scaler's step."""
    steps = scaled.calls("step")
    if "unscale_" in source.words or not steps:
        return
    loop = training_loop.loops_around(source, scaled.call)[:1]
    for clip in within(scaled.around, ast.Call):
        name = ast.unparse(clip.func).rpartition(".")[2]
        is_between = scaled.call.lineno < clip.lineno < steps[0].lineno and bool(steps[0].args)
        if name not in CLIPS or not is_between or training_loop.loops_around(source, clip)[:1] != loop:
            continue
        if not _is_sure_to_run(source, scaled.call, clip):
            continue
        before = InsertBefore(
            source.site(source.statement_of(clip)), f"{scaled.scaler}.unscale_({ast.unparse(steps[0].args[0])})"
        )
        what = f"gradients are clipped while they are scaled: `{scaled.scaler}.unscale_` is never called"
        yield Fault.with_repair(source.site(clip), what, "Unscale the gradients before they are clipped", before)


def _is_sure_to_run(source: Source, first: ast.AST, then: ast.AST) -> bool:
    """Whether what follows is in no other branch of a condition than what comes first."""
    above = source.parent(first)
    while above is not None and not isinstance(above, (*training_loop.LOOPS, *training_loop.FUNCTIONS)):
        if isinstance(above, ast.If):
            own = above.body if any(first is part for each in above.body for part in ast.walk(each)) else above.orelse
            others = above.orelse if own is above.body else above.body
            if any(then is part for each in others for part in ast.walk(each)):
                return False
        above = source.parent(above)
    return True


def _unscaled(source: Source) -> Iterator[Fault]:
    """`scaler.step(optimizer)` of a scaler that never scaled a loss."""
    for step in training_loop.operations_named(source, "step"):
        if (
            not _is_scaler(source, training_loop.operated_on(step))
            or len(step.call.args) != 1
            or _anywhere(source, step.on, "scale")
        ):
            continue
        loop = training_loop.loops_around(source, step.statement)[:1]
        passes = [
            each
            for each in training_loop.operations_named(source, "backward")
            if not each.call.args and loop and loop == training_loop.loops_around(source, each.statement)[:1]
        ]
        if len(passes) != 1 or len(training_loop.method_calls(source, "backward")) != 1:
            continue
        loss = training_loop.operated_on(passes[0])
        edit = Replace(source.site(loss), f"{step.on}.scale({ast.unparse(loss)})")
        what = f"`{step.on}` takes the step, and the loss was not scaled with it"
        yield Fault.with_repair(source.site(passes[0].call), what, "Scale the loss", edit)


def _never_scaled(subject: Subject) -> Iterator[Fault]:
    """Trained models that are called under an autocast in float16, in a program without any scaler."""
    source = subject.source
    casts = [call for call in source.all_calls if source.qualified(call.func) in AUTOCASTS]
    halves = [call for call in casts if _is_half(source, call)]
    if not halves or not SCALED_ELSEWHERE.isdisjoint(subject.words):
        return
    for call in halves:
        item = source.parent(call)
        block = source.parent(item) if isinstance(item, ast.withitem) else None
        if isinstance(block, ast.With) and _is_trained_in(source, block):
            edits = [edit for each in halves for edit in _in_bfloat16(source, each)]
            if not spelling_edits.imports(subject, "torch"):
                edits.append(AddImport("import torch"))
            what = "the model is trained under `autocast` in float16, and no `GradScaler` scales its loss"
            site = source.site(call)
            yield Fault.with_repair(site, what, "Cast to bfloat16, which needs no scale", *edits, prior=0.8)
            return


def _in_bfloat16(source: Source, call: ast.Call) -> Iterator[Edit]:
    given = argument_value(call, "dtype", 1)
    if given is not None:
        yield Replace(source.site(given), "torch.bfloat16")
    else:
        yield SetArgument(source.site(call), "dtype", "torch.bfloat16")


def _names_half(source: Source, call: ast.Call) -> bool:
    given = argument_value(call, "dtype", 1)
    return given is not None and source.qualified(given) in training_loop.HALF


def _is_half(source: Source, call: ast.Call) -> bool:
    """Whether an autocast casts to float16: as it says, or as it does on a GPU where it says nothing."""
    enabled, of_cuda = argument_value(call, "enabled", None), source.qualified(call.func) == "torch.cuda.amp.autocast"
    if isinstance(enabled, ast.Constant) and not enabled.value or (of_cuda and call.args):
        return False
    if argument_value(call, "dtype", None if of_cuda else 1) is not None:
        return _names_half(source, call)
    device = argument_value(call, "device_type", 0)
    if of_cuda or (isinstance(device, ast.Constant) and device.value == "cuda"):
        return True
    return device is not None and not isinstance(device, ast.Constant) and "cuda" in source.words


def _is_trained_in(source: Source, block: ast.With) -> bool:
    """Whether a model with an optimizer, or in training mode, is called in a block, and the loss goes back through it."""
    around = function_around(source, block) or source.tree
    loop = training_loop.loops_around(source, block)[:1]
    backward = [call for call in training_loop.attribute_calls(around, "backward") if call.lineno > block.lineno]
    backward = [call for call in backward if loop and training_loop.loops_around(source, call)[:1] == loop]
    if not backward or _is_without_gradient(source, block):
        return False
    trained = {
        ast.unparse(call.func.value)
        for call in training_loop.method_calls(source, "parameters", "train")
        if isinstance(call.func, ast.Attribute)
    }
    called = {ast.unparse(call.func) for call in within(block, ast.Call)}
    reached = trees.stored_names(block)
    for each in sorted(within(loop[0], ast.Assign), key=lambda one: one.lineno):
        if each.lineno > block.lineno and training_loop.read_names(each.value) & reached:
            reached |= trees.stored_names(each)
    goes_back = any(training_loop.read_names(call) & reached for call in backward)
    return bool(called & trained) and goes_back


def _is_without_gradient(source: Source, block: ast.With) -> bool:
    above: ast.AST | None = block
    inside = [each for each in within(block, ast.Call) if ast.unparse(each.func).rpartition(".")[2] in UNDER_NO_GRAD]
    while above is not None and not inside:
        items = above.items if isinstance(above, ast.With) else []
        decorators = above.decorator_list if isinstance(above, training_loop.FUNCTIONS[:2]) else []
        if any(name in ast.unparse(each) for each in (*items, *decorators) for name in UNDER_NO_GRAD):
            return True
        above = source.parent(above)
    return bool(inside)
