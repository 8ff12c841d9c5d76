"""`nn.Sequential` is given a list, a function or a class where it takes layers; or a `ModuleList` is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Subject,
    Wrap,
    sibling,
    spell,
)

_LAYERS = {
    "relu": "ReLU",
    "relu6": "ReLU6",
    "leaky_relu": "LeakyReLU",
    "elu": "ELU",
    "selu": "SELU",
    "celu": "CELU",
    "gelu": "GELU",
    "silu": "SiLU",
    "mish": "Mish",
    "hardswish": "Hardswish",
    "sigmoid": "Sigmoid",
    "logsigmoid": "LogSigmoid",
    "tanh": "Tanh",
    "softplus": "Softplus",
    "softsign": "Softsign",
}
"""The layers that do, as they are made without arguments, what functions of torch do to one tensor."""
_NOT_ONE = "is not a Module subclass"
_UNCALLED = 'Module [ModuleList] is missing the required "forward" function'
_SEQUENTIAL = "torch.nn.Sequential"
_LIST = "torch.nn.ModuleList"


class SequenceOfNoModules(CrashTemplate):
    """`nn.Sequential([...])`, `nn.Sequential(linear, F.relu)`, `nn.Sequential(linear, nn.ReLU)`, or a called `ModuleList`.

    `Sequential` takes layers one by one: a list is unpacked, a list of pairs of names and layers becomes an
    `OrderedDict`, a function becomes the layer that computes it, and a class is called. A `ModuleList` holds layers
    without an order in which they are run; one that is called as a whole is meant to be a `Sequential`.

    Fix safety: unsafe. The network could not be made, or run, before.

    References: torch.nn.Sequential, torch.nn.ModuleList.
    """

    code = "DNF452"
    name = "sequence-of-no-modules"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "NotImplementedError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call):
            return
        if crash.kind == "NotImplementedError":
            if crash.message.startswith(_UNCALLED):
                yield from _called_list(subject, node)
        elif crash.message.endswith(_NOT_ONE):
            made = subject.source.qualified(node.func)
            refused = crash.message.removesuffix(_NOT_ONE).strip()
            if made in (_SEQUENTIAL, _LIST):
                yield from _refused(subject, crash, node, refused, made == _SEQUENTIAL)

    examples = (
        Example(
            "a list of layers",
            """\
from torch import nn

layers = [nn.Linear(3, 4), nn.ReLU()]
layers.append(nn.Linear(4, 2))
- net = nn.Sequential(layers)
+ net = nn.Sequential(*layers)
""",
            runs=True,
        ),
        Example(
            "functions among the layers",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F

- net = nn.Sequential(nn.Linear(3, 4), F.relu, nn.Linear(4, 1), torch.sigmoid)
+ net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1), nn.Sigmoid())
""",
            runs=True,
        ),
        Example(
            "a class that is not called",
            """\
import torch

net = torch.nn.Sequential(
    torch.nn.Linear(3, 4),
-     torch.nn.Tanh,  # squashes
+     torch.nn.Tanh(),  # squashes
    torch.nn.Linear(4, 1),
)
""",
            runs=True,
        ),
        Example(
            "names and layers",
            """\
from collections import OrderedDict

from torch import nn

- net = nn.Sequential([("fc", nn.Linear(3, 4)), ("act", nn.ReLU())])
+ net = nn.Sequential(OrderedDict([("fc", nn.Linear(3, 4)), ("act", nn.ReLU())]))
""",
            runs=True,
        ),
        Example(
            "a list of modules that is called",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
-         self.layers = nn.ModuleList([nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)])
+         self.layers = nn.Sequential(*[nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)])

    def forward(self, x):
        return self.layers(x)


Net()(torch.randn(2, 3))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "layers one by one",
            """\
from torch import nn

layers = [nn.Linear(3, 4), nn.ReLU()]
net = nn.Sequential(*layers)
""",
            runs=True,
        ),
        Reject(
            "a function that no layer computes",
            """\
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), lambda x: x * 2)
""",
            runs=True,
        ),
        Reject(
            "a list of modules that is gone through",
            """\
import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 1)])
x = torch.randn(2, 3)
for layer in layers:
    x = layer(x)
""",
            runs=True,
        ),
    )


def _refused(subject: Subject, crash: Crash, call: ast.Call, refused: str, sequential: bool) -> Iterator[Mend]:
    """Repairs of what a container was given that is no layer."""
    source = subject.source
    if call.keywords:
        return
    made = _as_layers(subject, crash, call, sequential)
    if made is not None:
        what = "a function or a class stands among the layers"
        yield Mend(source.site(call), what, (("Make layers of them", made, 0.9),))
        return
    if not sequential or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return
    given = call.args[0]
    place, code = source.site(given), subject.text(source.site(given))
    pairs = _pairs(subject, given)
    if refused == "dict" or refused == "list" and pairs:
        ordered = spell(subject, "collections.OrderedDict")
        edits: tuple[Edit, ...] = (Wrap(place, f"{ordered.code}(", ")"), *ordered.imports)
        what = f"`{_short(code)}` has names and layers, and is no OrderedDict"
        yield Mend(source.site(call), what, (("Make an OrderedDict of it", edits, 0.9),))
    elif refused in ("list", "tuple", "<genexpr>") and not pairs and "#" not in code:
        function = subject.text(source.site(call.func))
        unpacked = (
            code if isinstance(given, (ast.Name, ast.Attribute, ast.Call, ast.List, ast.ListComp)) else f"({code})"
        )
        what = f"`{_short(code)}` is one argument, and Sequential takes layers one by one"
        edit = Replace(source.site(call), f"{function}(*{unpacked})")
        yield Mend(source.site(call), what, (("Unpack the layers", (edit,), 0.9),))


def _short(code: str) -> str:
    return code if len(code) < 40 and "\n" not in code else f"{code.splitlines()[0][:36]}…"


def _pairs(subject: Subject, given: ast.expr) -> bool:
    """Whether a list, where it can be read, has pairs of names and layers."""
    values = subject.source.bindings(given) if isinstance(given, (ast.Name, ast.Attribute)) else (given,)
    return any(
        isinstance(value, (ast.List, ast.Tuple)) and any(isinstance(one, ast.Tuple) for one in value.elts)
        for value in values
    )


def _as_layers(subject: Subject, crash: Crash, call: ast.Call, sequential: bool) -> tuple[Edit, ...] | None:
    """The edits that make layers of the functions and classes among the layers; `None` where there are none."""
    source = subject.source
    given = call.args
    if len(given) == 1 and not sequential and isinstance(given[0], (ast.List, ast.Tuple)):
        given = given[0].elts
    edits: list[Edit] = []
    for one in given:
        if not isinstance(one, (ast.Name, ast.Attribute)):
            continue
        name = source.qualified(one) or ""
        module, _, last = name.rpartition(".")
        told = crash.held_at(source.site(one))
        if module in ("torch", "torch.nn.functional") and last in _LAYERS:
            like = call.func
            named = sibling(subject, like, _LAYERS[last])
            if named is None:
                return None
            edits += [Replace(source.site(one), f"{named[0]}()"), *named[1]]
        elif module == "torch.nn" and "Softmax" in last:
            return None  # its axis has to be said
        elif module == "torch.nn" and last[:1].isupper() and (told is None or told.kind == "type"):
            edits.append(Wrap(source.site(one), "", "()"))
    return tuple(edits) or None


def _called_list(subject: Subject, call: ast.Call) -> Iterator[Mend]:
    """Make a `Sequential` where the list of modules that is called is made."""
    source = subject.source
    made = source.constructor(call.func)
    if made is None or source.qualified(made.func) != _LIST or made.keywords or len(made.args) > 1:
        return
    if len(call.args) != 1 or call.keywords:
        return
    named = sibling(subject, made.func, "Sequential")
    if named is None:
        return
    code = subject.text(source.site(made.args[0])) if made.args else ""
    if "#" in code:
        return  # its comments would be lost
    if made.args and not isinstance(made.args[0], (ast.Name, ast.Attribute, ast.Call, ast.List, ast.ListComp)):
        code = f"({code})"
    edits = (Replace(source.site(made), f"{named[0]}({'*' if code else ''}{code})"), *named[1])
    what = f"`{ast.unparse(call.func)}` holds modules, and has no order in which it could run them"
    yield Mend(source.site(call), what, (("Make a Sequential of them", edits, 0.9),))
