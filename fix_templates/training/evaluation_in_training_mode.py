"""A trained model is measured while its dropout drops and its batch normalization learns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    SAMPLING,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    function_around,
    loops_around,
    within,
    words,
)

DIFFERENT = tuple(
    f"torch.nn.{name}"
    for name in sorted(
        words("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm")
    )
)
"""Layers that compute another thing in evaluation than in training."""

MEASURED = words("argmax max eq topk accuracy_score item mean")


@dataclass(frozen=True, slots=True)
class Measured:
    """The `with torch.no_grad()` that measures, the model, and the loop over epochs that trains it between."""

    block: ast.With
    model: str
    epochs: ast.For | ast.While | None


class EvaluationInTrainingMode(FaultTemplate[Measured]):
    """A model with dropout or batch normalization is trained, and then measured without `model.eval()`.

    In training mode dropout changes a part of the activations at random, and batch normalization takes the statistics of
    the very batch that is measured and adds them to its running ones.

    Reported where a program with such layers trains a model, measures it under `torch.no_grad()`, and calls neither
    `eval` nor `train` anywhere. Programs that draw samples with dropout are left alone.

    Fix safety: unsafe. The figures are those of the model as it will be used.

    References: torch.nn.Module.eval; torch.nn.BatchNorm1d ("track_running_stats").
    """

    code = "DNF706"
    name = "evaluation-in-training-mode"
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    message = "`{model}` is measured in training mode: its dropout and batch normalization do not rest"
    triggers = ("no_grad",)
    declined = "the model has no name there"

    def faults(self, subject: Subject) -> Faults[Measured]:
        source = subject.source
        if "torch" not in source.frameworks or source.beside or not SAMPLING.isdisjoint(source.words):
            return
        if not {"eval", "train", "training", "functional_call"}.isdisjoint(_methods(source)):
            return
        if next(source.calls(*DIFFERENT), None) is None or "backward" not in source.words:
            return
        for found in _measured(source):
            yield source.site(found.block.items[0].context_expr), found

    def report(self, site: Site, fault: Measured) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.85, model=fault.model)

    def repairs(self, subject: Subject, fault: Measured) -> Repairs:
        site = subject.source.site
        edits: list[Edit] = [InsertBefore(site(fault.block), f"{fault.model}.eval()")]
        if fault.epochs is not None:
            edits.insert(0, InsertBefore(site(fault.epochs.body[0]), f"{fault.model}.train()"))
        yield "Measure the model in evaluation mode", tuple(edits), 0.85

    examples = (
        Example(
            "in each epoch",
            """\
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Linear(16, 1))
for epoch in range(10):
+     model.train()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
+     model.eval()
    with torch.no_grad():
        val_loss = criterion(model(x_val), y_val)
        print(epoch, val_loss.item())
""",
        ),
        Example(
            "a class of the program",
            """\
import torch
from torch.nn import Dropout2d, Module


class Net(Module):
    def __init__(self):
        super().__init__()
        self.drop = Dropout2d()


cnn = Net()
for images, labels in train_loader:
    optimizer.zero_grad()
    loss = loss_func(cnn(images), labels)
    loss.backward()
    optimizer.step()
correct = 0
+ cnn.eval()
with torch.no_grad():
    for images, labels in test_loader:
        _, predicted = torch.max(cnn(images).data, 1)
        correct += (predicted == labels).sum().item()
""",
        ),
    )
    rejects = (
        Reject(
            "no layer that cares",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    print(net(x_test).argmax(1))
""",
        ),
        Reject(
            "dropout for a spread of predictions",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    samples = torch.stack([net(x_test) for _ in range(50)])
    print(samples.mean(0), samples.std(0))
""",
        ),
        Reject(
            "weights are written under no_grad",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
""",
        ),
    )


def _methods(source: Source) -> frozenset[str]:
    return frozenset(call.func.attr for call in source.all_calls if isinstance(call.func, ast.Attribute)) | frozenset(
        node.attr for node in source.nodes(ast.Attribute) if node.attr == "training"
    )


def _measured(source: Source) -> Iterator[Measured]:
    trained = [
        call for call in source.all_calls if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
    ]
    seen: set[str] = set()
    if not trained:
        return
    for block in source.nodes(ast.With):
        made = block.items[0].context_expr
        name = source.qualified(made.func) if isinstance(made, ast.Call) else None
        if name not in ("torch.no_grad", "torch.inference_mode") or function_around(source, block) is not None:
            continue
        if not attribute_calls(block, *MEASURED) or block.lineno < min(call.lineno for call in trained):
            continue
        for call in within(block, ast.Call):
            model = call.func
            if not isinstance(model, ast.Name) or model.id in seen or not _is_model(source, model):
                continue
            between = [
                loop for loop in loops_around(source, block) if any(loop in loops_around(source, t) for t in trained)
            ]
            if len(between) > 1 or isinstance(between[0] if between else None, ast.AsyncFor):
                return
            seen.add(model.id)
            epochs = between[0] if between else None
            yield Measured(block, model.id, epochs if isinstance(epochs, (ast.For, ast.While)) else None)


def _is_model(source: Source, name: ast.Name) -> bool:
    """Whether a name holds a model: a container of torch or a class of the program with layers."""
    made = source.constructor(name)
    if made is None:
        return False
    if source.qualified(made.func) == "torch.nn.Sequential":
        return True
    owner = source.definition(made.func)
    return isinstance(owner, ast.ClassDef) and any("Module" in ast.unparse(base) for base in owner.bases)
