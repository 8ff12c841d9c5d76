"""The best weights of a training are kept as references to the model's tensors, which later steps overwrite."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Source,
    Subject,
    Wrap,
    training_loop,
    within,
)

TRAINING = frozenset({"backward", "step", "train_one_epoch", "train_epoch"})


class BestStateByReference(ReadTemplate):
    """`best = model.state_dict()` refers to the model's own tensors: every later step changes `best` as well.

    After the training, `load_state_dict(best)` restores the weights of the last epoch instead of the best ones.

    Reported where a training loop assigns `model.state_dict()` to a name without a copy, and the program loads that
    name into the same model after the loop.

    Fix safety: unsafe. The model gets the best weights instead of the last ones, which is the point.

    References: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html ("Saving & Loading Model for
    Inference", on `best_model_state`).
    """

    code = "DNF715"
    name = "best-state-by-reference"
    message = "`{kept}` refers to the model's own weights: every later training step changes it"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    triggers = ("state_dict",)
    declined = "the name `copy` is taken"
    confidence = 0.95

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for state, kept_as in _references(source) if "torch" in source.frameworks else ():
            site = source.site(state)
            names = dict(source.imported_names)
            name = next((bound for bound, what in names.items() if what == "copy.deepcopy"), "")
            edits: tuple[Edit, ...] | None = (Wrap(site, f"{name or 'copy.deepcopy'}(", ")"),)
            if not name and names.get("copy") != "copy":
                taken = "copy" in names or any(node.id == "copy" for node in source.nodes(ast.Name))
                edits = (Wrap(site, "copy.deepcopy(", ")"), AddImport("import copy")) if not taken else None
            yield Fault(site, {"kept": kept_as}, (("Keep a copy of the weights", edits, 0.95),))

    programs = """
=== example: the best of all epochs
import torch
+ import copy

best_loss = float("inf")
for epoch in range(20):
    train(net)
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
    val_loss = validate(net)
    if val_loss < best_loss:
        best_loss = val_loss
-         best_weights = net.state_dict()
+         best_weights = copy.deepcopy(net.state_dict())
net.load_state_dict(best_weights)

=== example: copied before the first epoch only
import copy
import torch

def fit(model, epochs):
    best_acc, best_wts = 0.0, copy.deepcopy(model.state_dict())
    for epoch in range(epochs):
        loss = step_of(model)
        loss.backward()
        optimizer.step()
        acc = measure(model)
        if acc > best_acc:
            best_acc = acc
-             best_wts = model.state_dict()
+             best_wts = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_wts)
    return model

=== reject: written to a file at once
import torch

for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()
    state = net.state_dict()
    torch.save(state, "last.pt")

=== reject: a target network is brought up to date
import torch

for step in range(100):
    loss(net).backward()
    optimizer.step()
    if step % 10 == 0:
        state = net.state_dict()
        target.load_state_dict(state)

=== reject: cloned
import torch

for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()
    best = {k: v.clone() for k, v in net.state_dict().items()}
net.load_state_dict(best)
"""


def _references(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """The `state_dict()` calls that a training loop keeps and the program loads later, each with its name."""
    loaded = {
        call.args[0].id: call
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "load_state_dict"
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Name)
    }
    for statement in source.nodes(ast.Assign):
        loops = training_loop.loops_around(source, statement)
        for target, value in _parts(statement):
            call = loaded.get(target.id)
            if call is None or not _is_state(value) or not loops or not isinstance(value, ast.Call):
                continue
            if ast.unparse(value.func)[: -len("state_dict")] != ast.unparse(call.func)[: -len("load_state_dict")]:
                continue
            outer = loops[-1]
            trains = any(isinstance(n, ast.Attribute) and n.attr in TRAINING for n in ast.walk(outer))
            if trains and outer not in training_loop.loops_around(source, call) and call.lineno > outer.lineno:
                yield value, target.id


def _parts(statement: ast.Assign) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The names that an assignment binds, each with its value."""
    for target in statement.targets:
        if isinstance(target, ast.Name):
            yield target, statement.value
        elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for one, other in zip(target.elts, statement.value.elts, strict=False):
                if isinstance(one, ast.Name):
                    yield one, other


def _is_state(value: ast.expr) -> bool:
    """Whether an expression is `model.state_dict()` and nothing else."""
    if not isinstance(value, ast.Call) or value.args or value.keywords or within(value, ast.Lambda):
        return False
    return isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict"
