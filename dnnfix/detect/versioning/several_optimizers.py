"""Several optimizers of one module of Lightning: Lightning 1 called `training_step` for each of them, Lightning 2 leaves that to the module.

What the step was becomes a method that gives the loss for one optimizer, and `training_step` does with each of them what Lightning did.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.lightning_modules import (
    Function,
    always_returns,
    constructed,
    lightning_modules,
    method_of,
    own_method,
    parameters,
    returns,
)
from dnnfix.detect.versioning.lightning_trainers import TRAINERS
from dnnfix.detect.versioning.method_headers import Header
from dnnfix.detect.versioning.migration import Hit
from dnnfix.records import Edit, InsertAfter
from dnnfix.source.program import Source
from dnnfix.subject import Subject

INDEX = "optimizer_idx"

NAMES = ("optimizer_loss", "loss_for_optimizer")
"""What the former step is called, if the program has no such name."""

BY_HAND = ("accumulate_grad_batches", "gradient_clip_val", "gradient_clip_algorithm")
"""Settings of a trainer that only work where Lightning itself optimizes."""

HOOKS = (
    "optimizer_step",
    "optimizer_zero_grad",
    "backward",
    "training_step_end",
    "configure_gradient_clipping",
)
"""Methods by which a module changed how it was optimized."""

DICTIONARIES = ("dict", "collections.OrderedDict", "builtins.dict")

GUIDE = "https://lightning.ai/docs/pytorch/stable/model/manual_optimization.html"


def steps_for_optimizers(subject: Subject) -> Iterator[Hit]:
    """The training steps that expect to be called for each optimizer."""
    source = subject.source
    if INDEX not in source.words or "automatic_optimization" in source.words:
        return
    for owner, package in lightning_modules(source).items():
        step = own_method(owner, "training_step")
        if step is None or INDEX not in parameters(step):
            continue
        optimizers = method_of(source, owner, "configure_optimizers")
        decline = _reason(source, owner, step, optimizers)
        crash = subject.crash
        told = crash is not None and crash.kind in ("RuntimeError", "TypeError") and INDEX in crash.message
        multiple = (
            crash is not None and "multiple optimizers is only supported with manual optimization" in crash.message
        )
        yield Hit(
            source.site(step),
            f"training_step of {owner.name} is not called for each optimizer since Lightning 2.0; a module steps several itself",
            title="step each optimizer in training_step",
            edits=() if decline or optimizers is None else tuple(_edits(source, owner, step, optimizers)),
            decline=decline,
            exact=True,
            removed={package: "2.0"},
            evidence={"old": INDEX, "reference": GUIDE},
            felt=crash.site if crash is not None and (told or multiple) else None,
        )


def _reason(source: Source, owner: ast.ClassDef, step: Function, optimizers: Function | None) -> str:
    """Why the step cannot be written anew; empty where it can."""
    if (
        parameters(step)[3:] != [INDEX]
        or step.args.vararg
        or step.args.kwonlyargs
        or step.args.kwarg
        or step.args.defaults
    ):
        return "the parameters of training_step are not the batch, its index and that of the optimizer"
    if not Header(source, step).is_apart or step.decorator_list:
        return "training_step has a decorator, or stands on the line of its `def`"
    if constructed(owner) is None:
        return f"{owner.name} has no constructor of its own in which automatic_optimization can be turned off"
    own = [name for name in HOOKS if method_of(source, owner, name) is not None]
    if own:
        return f"{owner.name} has its own {own[0]}"
    if any(node.attr == "training_step" for node in source.nodes(ast.Attribute)):
        return "the program calls training_step itself"
    if not any(name not in source.words for name in NAMES):
        return f"the program has a name {NAMES[0]} already"
    settings = [k.arg for call in source.calls(*TRAINERS) for k in call.keywords if k.arg in BY_HAND]
    if settings:
        return f"the trainer has {settings[0]}, which a module that steps its optimizers itself has to do as well"
    if optimizers is None:
        return "configure_optimizers is not seen"
    number, schedulers = _configured(source, optimizers)
    if number < 2:
        return "how many optimizers there are cannot be seen"
    if schedulers is None or "frequency" in source.words:
        return "how its schedulers step cannot be seen: call step of each of self.lr_schedulers()"
    if schedulers and own_method(owner, "on_train_epoch_end") is not None:
        return "its schedulers have to step in on_train_epoch_end, which it defines: call step of each of self.lr_schedulers()"
    return ""


def _configured(source: Source, method: Function) -> tuple[int, int | None]:
    """How many optimizers and schedulers a method makes; 0 and `None` where that cannot be told."""
    values = [each.value for each in returns(method)]
    if len(values) != 1 or values[0] is None:
        return 0, None
    value = values[0]
    parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    if isinstance(value, ast.Tuple) and len(parts) == 2 and any(isinstance(each, ast.List) for each in parts):
        first, second = (_listed(source, each) for each in parts)
        if first is None or second is None:
            return 0, None
        plain = all(_is_counting(source, each) for each in second)
        return len(first), len(second) if plain else None
    dictionaries = any(isinstance(bound, ast.Dict) for each in parts for bound in (each, *source.bindings(each)))
    return (0, None) if dictionaries else (len(parts), 0)


def _listed(source: Source, value: ast.expr) -> list[ast.expr] | None:
    """What a list holds that is written here, or has a name."""
    values = (value,) if isinstance(value, ast.List) else source.bindings(value)
    return values[0].elts if len(values) == 1 and isinstance(values[0], ast.List) else None


def _is_counting(source: Source, scheduler: ast.expr) -> bool:
    """Whether a scheduler steps once an epoch, without being told of anything."""
    made = scheduler if isinstance(scheduler, ast.Call) else source.constructor(scheduler)
    name = source.qualified(made.func) or "" if made is not None else ""
    return name.startswith("torch.optim.lr_scheduler.") and not name.endswith("ReduceLROnPlateau")


def _edits(source: Source, owner: ast.ClassDef, step: Function, optimizers: Function) -> Iterator[Edit]:
    number, schedulers = _configured(source, optimizers)
    name = next(each for each in NAMES if each not in source.words)
    own, batch, batch_idx, _ = parameters(step)
    given = [source.bindings(each.value, each) if isinstance(each.value, ast.Name) else () for each in returns(step)]
    values = [known[0] if known else each.value for known, each in zip(given, returns(step), strict=True)]
    kinds = {_kind(source, owner, value) for value in values if value is not None}
    loss = f"{own}.{name}({batch}, {batch_idx}, {INDEX})"
    taken = [f"loss = {loss}"]
    if kinds == {"dictionary"} and _is_covered(step, number):
        taken = [f'loss = {loss}["loss"]']
    elif kinds != {"tensor"}:
        taken = [f"output = {loss}", 'loss = output["loss"] if isinstance(output, dict) else output']
    stepping = ["optimizer.zero_grad()", f"{own}.manual_backward(loss)", "optimizer.step()"]
    if not _is_covered(step, number):
        stepping = ["if loss is not None:", *(f"    {line}" for line in stepping)]
    lines = [
        f"def training_step({own}, {batch}, {batch_idx}):",
        f"    for {INDEX}, optimizer in enumerate({own}.optimizers()):",
        *(
            f"        {line}"
            for line in (
                f"{own}.toggle_optimizer(optimizer)", *taken, *stepping, f"{own}.untoggle_optimizer(optimizer)",
            )
        ),
    ]  # fmt: skip
    hooks = ["\n".join(lines)]
    if schedulers == 1:
        hooks.append(f"def on_train_epoch_end({own}):\n    {own}.lr_schedulers().step()")
    elif schedulers:
        hooks.append(
            f"def on_train_epoch_end({own}):\n    for scheduler in {own}.lr_schedulers():\n        scheduler.step()"
        )
    yield Header(source, step).written_anew(name, above=hooks)
    behind_super = constructed(owner)
    if behind_super is not None:
        yield InsertAfter(source.site(behind_super), f"{own}.automatic_optimization = False")


def _kind(source: Source, owner: ast.ClassDef, value: ast.expr, depth: int = 3) -> str:
    """Whether an expression is a `dictionary` or a `tensor`; empty where that cannot be told."""
    if isinstance(value, ast.Dict):
        return "dictionary"
    if isinstance(value, (ast.BinOp, ast.UnaryOp)):
        return "tensor"
    if isinstance(value, ast.Name):
        kinds = {_kind(source, owner, each, depth - 1) for each in source.bindings(value)} if depth else set()
        return kinds.pop() if len(kinds) == 1 else ""
    if not isinstance(value, ast.Call):
        return ""
    name = source.qualified(value.func) or ""
    if name in DICTIONARIES:
        return "dictionary"
    if name.startswith("torch."):
        return "tensor"
    head = value.func if isinstance(value.func, ast.Attribute) else None
    method = method_of(source, owner, head.attr) if head is not None and ast.unparse(head.value) == "self" else None
    if method is None or not depth:
        return ""
    kinds = {_kind(source, owner, each.value, depth - 1) for each in returns(method) if each.value is not None}
    return kinds.pop() if len(kinds) == 1 else ""


def _is_covered(step: Function, number: int) -> bool:
    """Whether a step surely returns something for each optimizer."""
    if always_returns(step):
        return True
    found: set[int] = set()
    branches = [each for each in step.body if isinstance(each, ast.If)]
    while branches:
        branch = branches.pop()
        match branch.test:
            case ast.Compare(
                left=ast.Name(id="optimizer_idx"), ops=[ast.Eq()], comparators=[ast.Constant(value=int(index))]
            ):
                if isinstance(branch.body[-1], ast.Return):
                    found.add(index)
        branches += [each for each in branch.orelse if isinstance(each, ast.If)]
    return found >= set(range(number)) and all(each.value is not None for each in returns(step))
