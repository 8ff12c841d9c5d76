"""The model is moved to a device, and its batches are not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    Repairs,
    Site,
    Subject,
    Symptom,
    words,
)

MOVERS = words("to cuda")
"""Methods that move a tensor to a device."""

PLAIN = words(
    """size shape view reshape flatten squeeze unsqueeze permute transpose float long double int type dim numel numpy item detach
    clone data dtype max mean sum"""
)
"""Attributes of tensors; a batch with others is a graph, a dictionary or the like."""

ELSEWHERE = words(
    "DataParallel DistributedDataParallel Accelerator set_default_device set_default_tensor_type collate_fn"
)
"""Names of what may move batches itself."""


@dataclass(frozen=True, slots=True)
class Unmoved:
    """A loop over batches for a model on a device: the call of the model, the code that moves, the names to move."""

    loop: ast.For
    call: ast.Call
    model: str
    code: str
    names: tuple[str, ...]
    symptom: Symptom


class BatchNotMovedToDevice(FaultTemplate[Unmoved]):
    """The model is moved to a device, and its batches are not.

    Batches come from the loader on the CPU, and each has to be moved. On a GPU the first layer raises; if the device is
    the CPU, as on a test machine, nothing shows.

    Fix safety: unsafe. The batches, and what is computed from them, are on another device; nothing changes if that is
    the CPU.

    References: torch.Tensor.to, torch.nn.Module.to.
    """

    code = "DNF607"
    name = "batch-not-moved-to-device"
    formerly = ("batch-on-other-device",)
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{model} is moved to another device by {code}, and the batches passed to it here are not"
    triggers = ("to", "cuda")
    declined = "the loop over the batches was not found"

    def faults(self, subject: Subject) -> Faults[Unmoved]:
        for found in _unmoved(subject):
            yield subject.source.site(found.call), found

    def report(self, site: Site, found: Unmoved) -> Finding:
        return self.finding(
            site,
            symptom=found.symptom,
            confidence=0.8,
            evidence={"batches": list(found.names), "moved": found.model},
            model=found.model,
            code=found.code,
        )

    def repairs(self, subject: Subject, found: Unmoved) -> Repairs:
        left, right = ", ".join(found.names), ", ".join(f"{name}{found.code}" for name in found.names)
        edit = InsertBefore(subject.source.site(found.loop.body[0]), f"{left} = {right}")
        yield "Move every batch to the model's device", (edit,), 0.85

    programs = """
=== example: batches that stay on the CPU
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from data import dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(4, 2).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, labels in DataLoader(dataset, batch_size=8):
+     inputs, labels = inputs.to(device), labels.to(device)
    optimizer.zero_grad()
    loss = criterion(net(inputs), labels)
    loss.backward()
    optimizer.step()

=== example: a model moved in place
import torch
from torch import nn
from data import train_loader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)


model = Net()
model.cuda()
loss_fn = nn.MSELoss()
for epoch in range(3):
    for i, (x, y) in enumerate(train_loader):
+         x, y = x.cuda(), y.cuda()
        out = model(x)
        loss = loss_fn(out, y)
        loss.backward()

=== reject: batches that are moved, here or by a function, or are graphs, and a model that is only cast
import torch
from torch import nn
from data import loader, parts, prepare

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(4, 2).to(device)
for x, y in loader:
    x = x.to(device)
    loss = nn.functional.cross_entropy(net(x), y.to(device))
for batch in loader:
    x, y = prepare(batch)
    loss = nn.functional.cross_entropy(net(x), y)
for part in parts:
    out = net(part)
    loss = nn.functional.cross_entropy(out, part.ndata["label"])
cast = nn.Linear(4, 2).to(torch.float64)
for x, y in loader:
    loss = nn.functional.cross_entropy(cast(x), y)

=== reject: a loader that makes its batches on the device
import torch
from torch import nn
from graphs import Loader, graph

net = nn.Linear(4, 2).to("cuda")
for x, y in Loader(graph, device="cuda"):
    loss = nn.functional.cross_entropy(net(x), y)

=== reject: a model that moves what it gets
import torch
from torch import nn
from data import loader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x.to(self.fc.weight.device))


net = Net().to("cuda")
for x, y in loader:
    out = net(x)
"""


def _unmoved(subject: Subject) -> Iterator[Unmoved]:
    if "torch" not in subject.source.frameworks or ELSEWHERE & subject.source.words:
        return
    moved = _moved_models(subject)
    if not moved or _moves_within(subject):
        return
    for loop in subject.source.nodes(ast.For):
        if not loop.orelse:
            found = _in_loop(subject, loop, moved)
            if found is not None:
                yield found


def _moved_models(subject: Subject) -> dict[str, str]:
    """The models moved to a device, by name, with the code that moves them."""
    found: dict[str, str] = {}
    for call in subject.source.all_calls:
        code = _device_code(subject, call)
        if code is None or not isinstance(call.func, ast.Attribute):
            continue
        statement = subject.source.statement_of(call)
        held = call.func.value
        if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
            held = statement.targets[0]
        if isinstance(held, ast.Name) and _is_model(subject, held):
            found[held.id] = code
    return found


def _device_code(subject: Subject, call: ast.Call) -> str | None:
    """The `.to(device)` or `.cuda()` of a call, if the device may be a GPU."""
    if not isinstance(call.func, ast.Attribute) or call.keywords or call.func.attr not in MOVERS:
        return None
    if call.func.attr == "cuda":
        return ".cuda()" if not call.args else None
    if len(call.args) != 1 or not _may_be_gpu(subject, call.args[0]):
        return None
    return f".to({subject.text(subject.source.site(call.args[0]))})"


def _may_be_gpu(subject: Subject, node: ast.expr, depth: int = 4) -> bool:
    """Whether the expression is known to be a device, and may be a GPU."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith(("cuda", "mps"))
    if isinstance(node, ast.IfExp):
        return _may_be_gpu(subject, node.body, depth) or _may_be_gpu(subject, node.orelse, depth)
    if isinstance(node, ast.Call):
        return subject.source.qualified(node.func) == "torch.device" and bool(node.args) and _may_be_gpu(
            subject, node.args[0], depth
        )  # fmt: skip
    if isinstance(node, ast.Name) and depth:
        return any(_may_be_gpu(subject, value, depth - 1) for value in subject.source.bindings(node))
    return False


def _is_model(subject: Subject, node: ast.expr) -> bool:
    made = subject.source.constructor(node)
    if made is None:
        return False
    name = subject.source.qualified(made.func)
    if name is not None:
        return name.startswith("torch.nn.") and not name.startswith("torch.nn.functional.")
    definition = subject.source.definition(made.func)
    bases = definition.bases if isinstance(definition, ast.ClassDef) else []
    return any(subject.source.qualified(base) == "torch.nn.Module" for base in bases)


def _moves_within(subject: Subject) -> bool:
    """Whether a class or a loader may move batches itself."""
    for call in subject.source.all_calls:
        made_there = any(keyword.arg == "device" for keyword in call.keywords)
        if made_there and not (subject.source.qualified(call.func) or "").startswith("torch."):
            return True
        moves = isinstance(call.func, ast.Attribute) and call.func.attr in (*MOVERS, "to_device")
        if moves and subject.source.enclosing(call, ast.ClassDef) is not None:
            return True
    return False


def _in_loop(subject: Subject, loop: ast.For, moved: dict[str, str]) -> Unmoved | None:
    names = _batch_names(loop.target, loop.iter)
    if not names or _touched(loop, names):
        return None
    used: list[str] = []
    call, model = None, ""
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        given = [one.id for one in node.args if isinstance(one, ast.Name) and one.id in names]
        if isinstance(node.func, ast.Name) and node.func.id in moved and given:
            call, model = call or node, model or node.func.id
        if isinstance(node.func, ast.Name) or subject.source.qualified(node.func) is not None:
            used += given
    if call is None or subject.source.enclosing(call, ast.For) is not loop:
        return None
    symptom = Symptom.VIOLATION if subject.ran else Symptom.NONE_OBSERVED
    return Unmoved(loop, call, model, moved[model], tuple(name for name in names if name in used), symptom)


def _batch_names(target: ast.expr, iterated: ast.expr) -> list[str]:
    """The names of the parts of a batch, without the index of `enumerate`."""
    counted = isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id == "enumerate"
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id in ("range", "zip"):
        return []
    if counted:
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return []
        target = target.elts[1]
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [one.id for one in parts if isinstance(one, ast.Name)]


def _touched(loop: ast.For, names: list[str]) -> bool:
    """Whether the loop assigns one of the names, moves it, or uses it as something other than a tensor."""
    own = {id(part) for part in ast.walk(loop.target)}
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names and id(node) not in own:
            return True
        held = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
        if not isinstance(held, ast.Name) or held.id not in names:
            continue
        if isinstance(node, ast.Attribute) and node.attr not in PLAIN:
            return True
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            return True
    return False
