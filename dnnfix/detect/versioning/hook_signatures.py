"""Hooks of Lightning that are called with fewer arguments today: `optimizer_step(self, epoch, batch_idx, optimizer, optimizer_idx, …)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.lightning_modules import (
    Function,
    is_of_lightning_1,
    lightning_modules,
    own_method,
    parameters,
)
from dnnfix.detect.versioning.method_headers import Header
from dnnfix.detect.versioning.migration import Hit
from dnnfix.records import Edit, RemoveArgument
from dnnfix.source.program import Source
from dnnfix.subject import Subject

OPTIMIZER = frozenset({"optimizer_idx", "optimizer_i", "opt_idx"})
"""What the index of an optimizer was called, which is never given now."""

LOADER = frozenset({"dataloader_idx", "unused", "unused_dataloader_idx"})

OUTPUTS = frozenset({"epoch_end_outputs", "outputs", "outs", "training_step_outputs", "unused"})
"""What the outputs of an epoch were called, or left unnamed."""

BY_INDEX = (
    "backward", "configure_gradient_clipping", "lr_scheduler_step", "on_before_optimizer_step", "optimizer_step", "optimizer_zero_grad",
)  # fmt: skip
"""Hooks that were told of which optimizer they were called."""

BATCH = ("on_train_batch_start", "on_train_batch_end")
"""Hooks of a training that were told the loader, of which it has one."""

STEPS = ("training_step",)
"""Methods that were told of an optimizer even where the module itself stepped all of them."""

SEVERAL = tuple(f"on_{kind}_batch_{end}" for kind in ("validation", "test", "predict") for end in ("start", "end"))
"""Hooks that are told the loader only where there are several."""

EPOCH = {"LightningModule": 1, "Callback": 3}
"""By class, how many arguments `on_train_epoch_end` has today; another one had the outputs of the epoch."""

CLOSURES = frozenset({"optimizer_closure", "second_order_closure", "closure"})

BEHIND = CLOSURES | {"metric"}
"""What stood behind the index of an optimizer, and stands in its place now."""

GUIDE = "https://lightning.ai/docs/pytorch/stable/upgrade/from_1_9.html"


def longer_hooks(subject: Subject) -> Iterator[Hit]:
    """The hooks that the program defines with parameters for which nothing is given any more."""
    source = subject.source
    if source.words.isdisjoint({*BY_INDEX, *BATCH, *SEVERAL, *STEPS, "on_train_epoch_end"}):
        return
    steps = STEPS if "automatic_optimization" in source.words else ()
    for kind, needed in EPOCH.items():
        for owner, package in lightning_modules(source, kind).items():
            yield from _without_loader(subject, owner, package)
            for name in (*BY_INDEX, *BATCH, *steps, "on_train_epoch_end"):
                method = own_method(owner, name)
                gone = _gone(method, name, needed) if method is not None else []
                if method is None or not gone:
                    continue
                decline = _reason(source, method, name, gone)
                yield Hit(
                    source.site(method),
                    f"{name} is called without {' and '.join(gone)} since Lightning 2.0",
                    title=f"take {' and '.join(gone)} from {name}",
                    edits=() if decline else tuple(_edits(source, method, gone)),
                    decline=decline,
                    exact=True,
                    removed={package: "2.0"},
                    evidence={"reference": GUIDE},
                    felt=subject.crash.site if subject.crash is not None and name in subject.crash.message else None,
                )


def hooks_of_any_epoch(subject: Subject) -> Iterator[Hit]:
    """`on_epoch_end`, which was called for the epochs of every kind: where there is only training it has another name."""
    source = subject.source
    for old in ("on_epoch_start", "on_epoch_end"):
        today = old.replace("epoch", "train_epoch")
        for kind in EPOCH if old in source.words else ():
            for owner, package in lightning_modules(source, kind).items():
                method = own_method(owner, old)
                if method is None or any(node.attr == old for node in source.nodes(ast.Attribute)):
                    continue
                header, decline = Header(source, method), ""
                if not source.words.isdisjoint({"validation_step", "test_step", "predict_step"}):
                    decline = f"it was called for epochs of training and of validation: name it {today}, or for both"
                elif own_method(owner, today) is not None:
                    decline = f"{owner.name} defines {today} too"
                elif not header.is_apart:
                    decline = "it stands on the line of its `def`"
                yield Hit(
                    source.site(method),
                    f"{old} was removed in Lightning 1.8, and nothing calls the one that {owner.name} defines",
                    title=f"write {old} as {today}",
                    edits=() if decline else (header.written_anew(today),),
                    decline=decline,
                    exact=True,
                    removed={package: "1.8"},
                    evidence={
                        "old": old,
                        "new": today,
                        "reference": "https://github.com/Lightning-AI/pytorch-lightning/pull/14373",
                    },
                )


def _without_loader(subject: Subject, owner: ast.ClassDef, package: str) -> Iterator[Hit]:
    """The hooks that demand the index of a loader."""
    crash = subject.crash
    for name in SEVERAL:
        method = own_method(owner, name)
        told = crash is not None and name in crash.message
        if not told and not is_of_lightning_1(subject.source):
            continue  # there may be several loaders
        needed = parameters(method)[: len(parameters(method)) - len(method.args.defaults)] if method is not None else []
        if method is None or not needed or needed[-1] not in LOADER:
            continue
        header = Header(subject.source, method)
        yield Hit(
            subject.source.site(method),
            f"{name} is called without {needed[-1]} since Lightning 2.0, where there is one loader",
            title=f"{needed[-1]} is 0 where it is not given",
            edits=(header.written_anew(default=(needed[-1], "0")),) if header.is_apart else (),
            decline="" if header.is_apart else "it stands on the line of its `def`",
            safe=True,
            removed={package: "2.0"},
            evidence={"reference": GUIDE},
            felt=crash.site if crash is not None and told else None,
        )


def _gone(method: Function, name: str, own: int) -> list[str]:
    """The parameters for which there are no arguments."""
    given = parameters(method)
    needed = given[: len(given) - len(method.args.defaults)]
    if name == "backward":
        return [each for each in needed[2:] if each in OPTIMIZER or each == "optimizer"]
    if name in BY_INDEX:
        return [
            each for at, each in enumerate(given) if each in OPTIMIZER and (each in needed or BEHIND & {*given[at:]})
        ]
    if name in STEPS:
        return [each for each in given if each in OPTIMIZER]
    if name in BATCH:
        return [each for each in needed if each in LOADER]
    return [each for each in needed[own:] if each in OUTPUTS] if len(needed) == own + 1 else []


def _reason(source: Source, method: Function, name: str, gone: list[str]) -> str:
    """Why the parameters cannot go."""
    if not Header(source, method).is_apart:
        return "it stands on the line of its `def`"
    passed = {
        id(node) for call, _ in _passed_on(source, method, gone) for node in ast.walk(call) if _is_one(node, gone)
    }
    used = [node for each in method.body for node in ast.walk(each) if _is_one(node, gone) and id(node) not in passed]
    if used:
        return f"it uses {gone[0]}"
    named = {node.id for each in method.body for node in ast.walk(each) if isinstance(node, ast.Name)}
    if name == "optimizer_step" and named.isdisjoint(CLOSURES):
        return "it never calls the closure, which makes the loss and its gradients since Lightning 1.0: give it to step"
    return ""


def _is_one(node: ast.AST, names: list[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _passed_on(
    source: Source, method: Function, gone: list[str]
) -> Iterator[tuple[ast.Call, list[tuple[str, int | None]]]]:
    """The calls by which the hook goes on with that of a base class, with what of the parameters each of them is given."""
    for call in source.all_calls:
        head = call.func if isinstance(call.func, ast.Attribute) and call.func.attr == method.name else None
        above = head.value if head is not None else None
        if source.enclosing(call, ast.FunctionDef) is not method or not isinstance(above, ast.Call):
            continue
        if not isinstance(above.func, ast.Name) or above.func.id != "super":
            continue
        given: list[tuple[str, int | None]] = [
            ("", place) for place, each in enumerate(call.args) if _is_one(each, gone)
        ]
        given += [(str(keyword.arg), None) for keyword in call.keywords if _is_one(keyword.value, gone)]
        yield call, given


def _edits(source: Source, method: Function, gone: list[str]) -> Iterator[Edit]:
    yield Header(source, method).written_anew(without=gone)
    for call, given in _passed_on(source, method, gone):
        yield from (RemoveArgument(source.site(call), name, place) for name, place in given)
