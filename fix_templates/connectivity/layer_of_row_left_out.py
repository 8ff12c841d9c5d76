"""One layer of a numbered row is passed over in the pass: another takes its place, or none does."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    component_kind,
    kept_in_self,
    keras_modules,
    method,
    torch_modules,
    within,
)

_NUMBERED = re.compile(r"(?P<stem>.*?[A-Za-z]_?)(?P<number>\d+)")
_PASSES = ("forward", "call")


@dataclass(frozen=True, slots=True)
class _Passed:
    """The layer that nothing calls, the title of the repair and its edits, and what is to be seen."""

    layer: str
    told: str
    title: str
    edit: Edit
    node: ast.expr


class LayerOfRowLeftOut(FaultTemplate[_Passed]):
    """A model has `fc1`, `fc2`, `fc3`, and its pass calls `fc2` twice and `fc3` never; or `bn2` alone is left out.

    A layer that nothing calls is no part of the network and is never trained. Reported where the row of names tells its
    place: a call of its neighbour stands twice in a row, or the other layers of its row all stand around the output of a
    layer of another row that has their number, and that layer's output goes on bare.

    Fix safety: unsafe. The layer becomes part of the network, which is the point.

    References: torch.nn.Module, keras.Model (subclassing).
    """

    code = "DNF434"
    name = "layer-of-row-left-out"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`self.{layer}` is made and never called: {told}"
    triggers = ("Module", "Model", "Layer")
    declined = "its place cannot be told"

    def faults(self, subject: Subject) -> Faults[_Passed]:
        source = subject.source
        for owner in (*torch_modules(source), *keras_modules(source)):
            entry = next((found for name in _PASSES if (found := method(owner, name)) is not None), None)
            if not isinstance(entry, ast.FunctionDef):
                continue
            layers = {
                name: made
                for name, made in kept_in_self(owner)
                if isinstance(made, ast.Call) and component_kind(source.qualified(made.func) or "") == "layer"
            }
            for name in layers:
                if _NUMBERED.fullmatch(name) and _never_named(source, name):
                    passed = _called_twice(source, entry, layers, name) or _bare(source, entry, layers, name)
                    if passed is not None:
                        yield source.site(passed.node), passed

    def report(self, site: Site, found: _Passed) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.85, layer=found.layer, told=found.told)

    def repairs(self, subject: Subject, found: _Passed) -> Repairs:
        yield found.title, (found.edit,), 0.85

    examples = (
        Example(
            "the second layer twice",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
-         x = torch.relu(self.fc2(x))
+         x = torch.relu(self.fc3(x))
        return self.out(x)
""",
        ),
        Example(
            "a normalization that was forgotten",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, width):
        super(Block, self).__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
-         out = self.conv2(out)
+         out = self.bn2(self.conv2(out))
        return F.relu(out + x)
""",
        ),
        Example(
            "a Keras model with statements for each layer",
            """\
import keras
from keras import layers

class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense_1 = layers.Dense(16, activation="relu")
        self.drop_1 = layers.Dropout(0.3)
        self.dense_2 = layers.Dense(16, activation="relu")
        self.drop_2 = layers.Dropout(0.3)
        self.last = layers.Dense(3)

    def call(self, inputs):
        x = self.dense_1(inputs)
        x = self.drop_1(x)
-         x = self.dense_2(x)
+         x = self.drop_2(self.dense_2(x))
        return self.last(x)
""",
        ),
    )
    rejects = (
        Reject(
            "a layer that is applied twice on purpose, and layers that are reached by name",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 8)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.relu(self.fc1(x)) + getattr(self, "fc%d" % 2)(x)
""",
        ),
        Reject(
            "a second head that another method calls, and one that stands alone",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 2)
        self.bn3 = nn.BatchNorm1d(8)

    def forward(self, x):
        return torch.relu(self.fc1(x))

    def logits(self, x):
        return self.fc2(self.forward(x))
""",
        ),
    )


def _never_named(source: Source, name: str) -> bool:
    """Whether the attribute is only ever assigned, and no text could reach it by its name."""
    every = [node for node in source.nodes(ast.Attribute) if node.attr == name]
    by_name = {"getattr", "__getattr__", "children", "modules", "named_children", "_modules"} & source.words
    return not by_name and sum(isinstance(node.ctx, ast.Store) for node in every) == 1 == len(every)


def _self_calls(entry: ast.FunctionDef, name: str) -> list[ast.Call]:
    return [
        call
        for call in within(entry, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == name
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "self"
    ]


def _beside(name: str, by: int) -> str:
    found = _NUMBERED.fullmatch(name)
    return f"{found['stem']}{int(found['number']) + by}" if found else ""


def _called_twice(source: Source, entry: ast.FunctionDef, layers: dict[str, ast.Call], name: str) -> _Passed | None:
    """The layer before it is called twice in a row, in statements that are written alike."""
    before = _beside(name, -1)
    calls = _self_calls(entry, before)
    if before not in layers or len(calls) != 2 or ast.dump(layers[before].func) != ast.dump(layers[name].func):
        return None
    first, second = (source.statement_of(call) for call in calls)
    block = getattr(source.parent(first), "body", [])
    if first not in block or second not in block or ast.dump(first) != ast.dump(second):
        return None
    between = block[block.index(first) + 1 : block.index(second)]
    if any(_self_calls_any(each, layers) for each in between):
        return None
    function = calls[1].func
    edit = Replace(source.site(function), f"self.{name}")
    return _Passed(name, f"`self.{before}` is called twice", f"Call `self.{name}` here", edit, function)


def _self_calls_any(statement: ast.stmt, layers: dict[str, ast.Call]) -> bool:
    """Whether a statement calls another layer with weights: then the second call has a place of its own."""
    called = {node.attr for node in within(statement, ast.Attribute)}
    return any(name in called and _NUMBERED.fullmatch(name) for name in layers if "Pool" not in ast.dump(layers[name]))


def _bare(source: Source, entry: ast.FunctionDef, layers: dict[str, ast.Call], name: str) -> _Passed | None:
    """The layers of its row stand around those of another row; the one with its own number goes on bare."""
    own = _NUMBERED.fullmatch(name)
    if own is None:
        return None
    stem, number = own["stem"], own["number"]
    row = [n for n in layers if n != name and (m := _NUMBERED.fullmatch(n)) and m["stem"] == stem]
    stems = {_stem_of(_fed_by(source, entry, layers, each), _number(each)) for each in row}
    if len(stems) != 1 or None in stems:
        return None
    partner = f"{stems.pop()}{number}"
    calls = _self_calls(entry, partner)
    if partner not in layers or len(calls) != 1:
        return None
    edit = Wrap(source.site(calls[0]), f"self.{name}(", ")")
    told = f"`self.{row[0]}` stands behind its layer, and `self.{partner}` goes on bare"
    return _Passed(name, told, f"Call `self.{name}` on the output of `self.{partner}`", edit, calls[0])


def _number(name: str) -> str:
    found = _NUMBERED.fullmatch(name)
    return found["number"] if found else ""


def _stem_of(name: str | None, number: str) -> str | None:
    """The stem of a name that has this number."""
    found = _NUMBERED.fullmatch(name or "")
    return found["stem"] if found and found["number"] == number else None


def _fed_by(source: Source, entry: ast.FunctionDef, layers: dict[str, ast.Call], name: str) -> str | None:
    """The layer whose output a layer is given at its one call, directly or by the statement before."""
    calls = _self_calls(entry, name)
    if len(calls) != 1 or len(calls[0].args) < 1:
        return None
    given: ast.expr | None = calls[0].args[0]
    if isinstance(given, ast.Name):
        given = _before(source, calls[0], given.id)
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in layers:
        return given.func.attr
    return None


def _before(source: Source, call: ast.Call, name: str) -> ast.expr | None:
    """What the statement before the call's own gives the name."""
    statement = source.statement_of(call)
    block = getattr(source.parent(statement), "body", [])
    earlier = block[: block.index(statement)] if statement in block else []
    previous = earlier[-1] if earlier else None
    if not isinstance(previous, ast.Assign) or not isinstance(previous.targets[0], ast.Name):
        return None
    return previous.value if previous.targets[0].id == name else None
