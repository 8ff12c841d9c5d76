"""A setting is taken, and the part of the network that it is for is made without it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    method,
    within,
)

_BY_NAME = frozenset({"getattr", "vars", "locals", "asdict", "__dict__", "save_hyperparameters", "get_params", "eval"})
"""Words of a program that reads its settings by their names."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The call that is made without the setting, the setting's name, and how it is reached at the call."""

    call: ast.Call
    setting: str
    text: str


class SettingNotHandedOn(FaultTemplate[_Kept]):
    """A model takes a setting such as `dropout`, and makes its network, which knows it too, without it.

    The setting is read nowhere, so that whatever it says has no effect: the network is made with its own default.

    Reported only where the setting is never read, exactly one call of a function or class of the program could take it
    under the same name, and the value that is given here is not the default there.

    Fix safety: unsafe. The setting begins to count, which is the point.

    References: the reference of Python on calls ("default parameter value").
    """

    code = "DNF423"
    name = "setting-not-handed-on"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.ADD_LAYER
    message = "`{setting}` is taken and never used; `{callee}`, which takes it too, is called without it"
    triggers = ("torch", "keras", "tensorflow")
    declined = "the call cannot take the setting"

    def faults(self, subject: Subject) -> Faults[_Kept]:
        source = subject.source
        if not _BY_NAME.isdisjoint(source.words):
            return
        functions = source.nodes(ast.FunctionDef)
        taken = Counter(setting for each in functions for setting, default in _settings(each) if default is not None)
        for function in functions:
            for setting, default in _settings(function):
                if taken[setting] == (default is not None):
                    continue  # no other function could take it
                places = list(_unread(source, function, setting))
                calls = [
                    _Kept(call, setting, text)
                    for where, text in places
                    for call in within(where, ast.Call)
                    if source.enclosing(call, ast.FunctionDef) is where and _could_take(source, call, setting)
                ]
                if len(calls) == 1 and _differs(source, function, calls[0], default):
                    yield source.site(calls[0].call), calls[0]

    def report(self, site: Site, found: _Kept) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.85,
            setting=found.setting,
            callee=ast.unparse(found.call.func),
        )

    def repairs(self, subject: Subject, found: _Kept) -> Repairs:
        site = subject.source.site(found.call)
        yield f"Hand `{found.setting}` on", (SetArgument(site, found.setting, found.text),), 0.85

    examples = (
        Example(
            "a function that builds a model out of another",
            """\
from keras import layers, models

def block(x, filters, normalize=False):
    x = layers.Conv2D(filters, 3, padding="same")(x)
    return layers.BatchNormalization()(x) if normalize else x

def build(shape, normalize=True):
    inputs = layers.Input(shape)
-     x = block(inputs, 8)
+     x = block(inputs, 8, normalize=normalize)
    return models.Model(inputs, layers.Flatten()(x))
""",
        ),
        Example(
            "a setting that another method of the model needs",
            """\
import torch

def network(inputs, outputs, hidden=32):
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs))

class Agent:
    def __init__(self, states, actions, hidden):
        self.states, self.actions = states, actions
        self.hidden = hidden
        self.reset()

    def reset(self):
-         self.net = network(self.states, self.actions)
+         self.net = network(self.states, self.actions, hidden=self.hidden)

agent = Agent(4, 2, hidden=128)
""",
        ),
    )
    rejects = (
        Reject(
            "a setting that is read, and one that the network does not know",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, size, dropout=0.0):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.dropout = nn.Dropout(dropout)

class Model:
    def __init__(self, size, dropout=0.2, name="model"):
        self.dropout = dropout
        self.name = name
        self.net = Net(size)

    def describe(self):
        return self.dropout
""",
        ),
        Reject(
            "the same default at both places, and an argument of an interface",
            """\
import torch

def step(x, scale=1.0, training=False):
    return x * scale if training else x

class Net(torch.nn.Module):
    def forward(self, x, scale=1.0):
        return step(x)
""",
        ),
    )


def _settings(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters of a function with their defaults."""
    taken = [*function.args.posonlyargs, *function.args.args]
    defaults: list[ast.expr | None] = [None] * (len(taken) - len(function.args.defaults)) + list(function.args.defaults)
    if function.args.kwarg is not None or function.decorator_list:
        return
    for parameter, default in zip(taken, defaults, strict=True):
        if parameter.arg != "self":
            yield parameter.arg, default
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        yield parameter.arg, default


def _unread(source: Source, function: ast.FunctionDef, setting: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions in which a setting that nothing reads can be had, and the text that gives it there."""
    named = [node for node in within(function, ast.Name) if node.id == setting]
    owner = source.parent(function)
    if not named:
        yield function, setting
        return
    stored = source.parent(named[0])
    if len(named) != 1 or not isinstance(owner, ast.ClassDef) or not isinstance(stored, ast.Assign):
        return
    target = stored.targets[0]
    if not isinstance(target, ast.Attribute) or stored.value is not named[0] or target.attr != setting:
        return
    if any(isinstance(node.ctx, ast.Load) for node in source.nodes(ast.Attribute) if node.attr == setting):
        return
    yield function, setting
    for other in owner.body:
        if isinstance(other, ast.FunctionDef) and other is not function:
            yield other, f"self.{setting}"


def _could_take(source: Source, call: ast.Call, setting: str) -> bool:
    """Whether a function or class of the program is called that has the setting, with a default, and is not given it."""
    taken = _callee(source, call)
    if taken is None or any(isinstance(given, ast.Starred) for given in call.args):
        return False
    if any(keyword.arg in (None, setting) for keyword in call.keywords):
        return False
    names = [name for name, _ in _settings(taken)]
    known = dict(_settings(taken))
    own = known.get(setting)
    if own is None or len(call.args) > names.index(setting):
        return False
    return any(node.id == setting for node in within(taken, ast.Name))


def _callee(source: Source, call: ast.Call) -> ast.FunctionDef | None:
    definition = source.definition(call.func)
    if isinstance(definition, ast.ClassDef):
        found = method(definition, "__init__")
        return found if isinstance(found, ast.FunctionDef) else None
    return definition if isinstance(definition, ast.FunctionDef) else None


def _differs(source: Source, function: ast.FunctionDef, found: _Kept, default: ast.expr | None) -> bool:
    """Whether another value than the default of the called part is stated for the setting."""
    taken = _callee(source, found.call)
    if taken is None or taken is function:
        return False
    own = dict(_settings(taken))[found.setting]
    if default is not None and own is not None and ast.dump(own) != ast.dump(default):
        return not (isinstance(default, ast.Constant) and default.value is None)
    return any(
        keyword.arg == found.setting and own is not None and ast.dump(keyword.value) != ast.dump(own)
        for call in source.all_calls
        if _callee(source, call) is function
        for keyword in call.keywords
    )
