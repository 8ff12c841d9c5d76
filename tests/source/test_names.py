"""What names mean: canonical names, scopes, bindings, customs of snippets."""

from __future__ import annotations

import ast

import pytest

from dnnfix.source.names import canonical
from dnnfix.source.program import Source
from tests.source.helpers import place, read


def of(text: str, expression: str, number: int = 0) -> str | None:
    """The canonical name of an expression of a program."""
    source = read(text)
    return source.qualified(node(source, expression, number))


def node(source: Source, expression: str, number: int = 0) -> ast.expr:
    found = source.node_at(place(source, expression, number))
    assert isinstance(found, ast.expr)
    return found


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("tensorflow.keras.layers.Dense", "keras.layers.Dense"),
        ("tensorflow.python.keras.layers.Dense", "keras.layers.Dense"),
        ("keras.layers.core.Dense", "keras.layers.Dense"),
        ("keras.src.layers.core.dense.Dense", "keras.layers.Dense"),
        ("keras.layers.convolutional.Conv2D", "keras.layers.Conv2D"),
        ("keras.layers.merge.concatenate", "keras.layers.concatenate"),
        ("keras.layers.Dense.from_config", "keras.layers.Dense.from_config"),
        ("keras.optimizers.legacy.Adam", "keras.optimizers.Adam"),
        ("keras.optimizers.schedules.ExponentialDecay", "keras.optimizers.schedules.ExponentialDecay"),
        ("keras.utils.np_utils.to_categorical", "keras.utils.to_categorical"),
        ("keras.Sequential", "keras.models.Sequential"),
        ("keras.engine.training.Model", "keras.models.Model"),
        ("keras.engine.topology.Input", "keras.layers.Input"),
        ("keras.datasets.mnist.load_data", "keras.datasets.mnist.load_data"),
        ("keras.applications.vgg16.VGG16", "keras.applications.VGG16"),
        ("tensorflow.nn.softmax", "tensorflow.nn.softmax"),
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.functional.softmax", "torch.nn.functional.softmax"),
        ("torch.optim.adam.Adam", "torch.optim.Adam"),
        ("torch.optim.lr_scheduler.StepLR", "torch.optim.lr_scheduler.StepLR"),
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
        ("numpy.array", "numpy.array"),
    ],
)
def test_one_thing_has_one_name(written: str, expected: str) -> None:
    assert canonical(written) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("import torch.nn as n\nn.Linear", "n.Linear", "torch.nn.Linear"),
        ("import torch.nn\ntorch.nn.Linear", "torch.nn.Linear", "torch.nn.Linear"),
        ("from torch import nn as q\nq.Linear", "q.Linear", "torch.nn.Linear"),
        ("import tensorflow as tf\ntf.keras.layers.Dense", "tf.keras.layers.Dense", "keras.layers.Dense"),
        ("import tensorflow as tf\nL = tf.keras.layers\nL.Dense(1)", "L.Dense", "keras.layers.Dense"),
        ("from keras.layers import *\nDense(1)", "Dense", "keras.layers.Dense"),
        ("from torch.nn import *\nLinear(1, 2)", "Linear", "torch.nn.Linear"),
        (
            "try:\n  import tensorflow.keras as k\nexcept E:\n  import keras as k\nk.Model",
            "k.Model",
            "keras.models.Model",
        ),
        ("if a:\n  import torch as k\nelse:\n  import numpy as k\nk.ones", "k.ones", None),
        ("from .layers import Dense\nDense(1)", "Dense(1)", None),
        ("def nn(): pass\nnn.Linear", "nn.Linear", None),
        ("import torch\ntorch = 3\ntorch.ones", "torch.ones", None),
        ("import torch\ndef f(torch):\n  return torch.ones", "torch.ones", None),
        ("import torch\nfor torch in x:\n  torch.ones", "torch.ones", None),
        ("import torch\n[torch.ones for torch in x]", "torch.ones", None),
        ("import torch\n[torch.ones for x in torch.y]", "torch.y", "torch.y"),
        ("import torch\nclass A:\n  torch = 1\n  def f(self):\n    torch.ones", "torch.ones", "torch.ones"),
        ("def f():\n  import numpy as torch\ntorch.ones", "torch.ones", "torch.ones"),
        ("import torch\ndef f():\n  global torch\n  torch = None\ntorch.ones", "torch.ones", None),
        ("import torch\ndef f(x=torch.ones(1)):\n  torch = 2", "torch.ones", "torch.ones"),
        ("import torch\n@torch.no_grad()\ndef torch_f(): pass", "torch.no_grad", "torch.no_grad"),
        ("print(len)", "len", "builtins.len"),
        ("a = b\nb = a\na.x", "a.x", None),
        ("import torch\nlambda torch: torch.ones", "torch.ones", None),
    ],
)
def test_imports_scopes_and_assignments_decide(text: str, expression: str, expected: str | None) -> None:
    assert of(text, expression) == expected


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("x = nn.Linear(1, 2)", "nn.Linear", "torch.nn.Linear"),
        ("x = F.relu(nn.Linear(1, 2))", "F.relu", "torch.nn.functional.relu"),
        ("model.add(Dense(1))\nmodel.compile(Adam(1))", "Adam", "keras.optimizers.Adam"),
        ("net = nn.Linear(1, 2)\no = Adam(net.parameters())", "Adam", "torch.optim.Adam"),
        ("o = Adam(p)", "Adam", None),
        ("x = layers.Dense(1)", "layers.Dense", "keras.layers.Dense"),
        ("from models import *\nx = Dense(1)", "Dense", None),
        ("from models import *\nx = np.ones(1)", "np.ones", "numpy.ones"),
        ("import torch\nx = Dense(1)", "Dense", None),
        ("import torch\nx = optim.SGD(p)", "optim.SGD", "torch.optim.SGD"),
        ("x = tf.keras.Sequential()", "tf.keras.Sequential", "keras.models.Sequential"),
        ("x = whatever.Thing()", "whatever.Thing", None),
    ],
)
def test_snippets_without_imports_follow_custom(text: str, expression: str, expected: str | None) -> None:
    assert of(text, expression) == expected


def test_the_written_name_keeps_the_module_of_the_import() -> None:
    source = read("from tensorflow.keras.layers.core import Dense as D\nD(1)")
    call = source.all_calls[0]
    assert source.written(call.func) == "tensorflow.keras.layers.core.Dense"
    assert source.qualified(call.func) == "keras.layers.Dense"


NET = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self, n):
        self.fc, self.n = nn.Linear(n, 2), n
        self.act = F.relu
        self.twice = nn.Linear(1, 2)
        self.net = None
    def more(self, x):
        self.twice = nn.Linear(3, 4)
        self.many += 1
    def forward(self, x):
        y = [self.fc(x) for x in self.n]
        def inner(z):
            return self.act(z)
        return self.twice(self.fc(x)) + self.net(x) + self.many
class Other:
    def forward(self, x):
        return self.fc(x)
net = Net(3).to(device)
net = net.cuda()
a = b = nn.Linear(5, 6)
b = nn.Linear(7, 8)
loop = nn.Linear(1, 1)
for loop in x: pass
fc(net(a)(b))
"""


def test_attributes_of_self_are_bound_in_their_class() -> None:
    source = read(NET)

    def made(expression: str, number: int = 0) -> str | None:
        call = source.constructor(node(source, expression, number))
        return source.segment(source.site(call)) if call is not None else None

    assert made("self.fc", 1) == "nn.Linear(n, 2)"
    assert made("self.fc", 3) is None
    assert made("self.twice", 2) is None
    assert made("self.net", 1) is None
    assert source.bindings(node(source, "self.many", 1)) == ()
    assert [ast.unparse(v) for v in source.bindings(node(source, "self.n", 2))] == ["n"]
    assert [source.segment(source.site(v)) for v in source.bindings(node(source, "self.twice", 2))] == [
        "nn.Linear(1, 2)",
        "nn.Linear(3, 4)",
    ]
    assert source.qualified(node(source, "self.act", 1)) == "torch.nn.functional.relu"
    assert source.qualified(node(source, "self.fc", 1)) is None


def test_names_are_bound_in_their_scope() -> None:
    source = read(NET)
    call = node(source, "net(a)")
    made = source.constructor(call.func) if isinstance(call, ast.Call) else None
    assert made is not None and source.segment(source.site(made)) == "Net(3)"
    last_b = node(source, "b", NET.count("b") - 1)
    assert [ast.unparse(v) for v in source.bindings(last_b)] == ["nn.Linear(5, 6)", "nn.Linear(7, 8)"]
    assert source.constructor(last_b) is None
    assert source.bindings(node(source, "loop", 1)) == ()
    definition = source.definition(node(source, "Net", 1))
    assert isinstance(definition, ast.ClassDef)


def test_the_assignment_that_holds_at_a_place() -> None:
    text = "x = f(1)\nx = g(x)\nh(x)\nif y:\n    x = k(2)\nm(x)\nfor i in y:\n    n(x)\n    x = o(3)\n"
    source = read(text)

    def held(call: str) -> list[str]:
        argument = node(source, call)
        assert isinstance(argument, ast.Call)
        return [source.segment(source.site(v)) for v in source.bindings(argument.args[0], at=argument.args[0])]

    assert held("g(x)") == ["f(1)"]
    assert held("h(x)") == ["g(x)"]
    assert len(held("m(x)")) == 4
    assert len(held("n(x)")) == 4


def test_an_attribute_that_is_set_from_outside_is_unknown() -> None:
    text = "class A:\n  def __init__(self):\n    self.fc = f(1)\n  def g(self):\n    self.fc(2)\na = A()\na.fc = h(3)\n"
    source = read(text)
    assert source.bindings(node(source, "self.fc", 1)) == ()
    kept = read(text.replace("a.fc", "a.fd"))
    assert len(kept.bindings(node(kept, "self.fc", 1))) == 1


def test_calls_come_in_source_order_by_any_of_their_names() -> None:
    source = read(
        "from torch import nn\nimport keras\nb = keras.layers.Dense(1)\nnn.Linear(1, nn.Linear(2, 3))\nnn.ReLU()\n"
    )
    found = list(source.calls("torch.nn.Linear", "keras.layers.Dense", "torch.nn.Linear"))
    assert [source.segment(source.site(c)) for c in found] == [
        "keras.layers.Dense(1)",
        "nn.Linear(1, nn.Linear(2, 3))",
        "nn.Linear(2, 3)",
    ]
    assert list(source.calls("torch.nn.GRU")) == []
    assert set(found) < set(source.all_calls)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch", {"torch"}),
        ("from torchvision import models", {"torch"}),
        ("from tensorflow.keras import layers", {"tensorflow", "keras"}),
        ("import tensorflow as tf\ntf.keras.Model", {"tensorflow", "keras"}),
        ("import tensorflow as tf\ntf.nn.relu", {"tensorflow"}),
        ("import keras\nimport torch", {"keras", "torch"}),
        ("import os  # not torch\ns = 'keras'", set()),
        ("x = nn.Linear(1, 2)", {"torch"}),
        ("m.add(Dense(3))", {"keras"}),
        ("x = 1", set()),
    ],
)
def test_frameworks(text: str, expected: set[str]) -> None:
    assert read(text).frameworks == expected


def test_every_expression_of_odd_programs_gets_an_answer() -> None:
    text = (
        "match x:\n    case {'a': b, **rest}: b.c\n    case [p, *q]: q.r\n    case A(k=v) as w: w.z\n"
        "async def f(*a, b: int = 1, **c):\n    async with d as (e, *g): e.x\n    nonlocal_ = (y := f)(1)\n"
        "class C(A, metaclass=B):\n    x: int\n    x.y = 1\n    def n(self):\n        def m(self): return self.q\n"
        "        self.q, [*self.r] = z\ndel x\nf'{a.b!r:{c.d}}'\n{**k, 'z': lambda self: self.q}\n"
        "[i.j for i in x for j in i.k if j.l]\n"
    )
    source = read(text)
    for found in ast.walk(source.tree):
        if isinstance(found, ast.expr):
            source.qualified(found)
            source.written(found)
            source.bindings(found)
            source.bindings(found, at=found)
            source.constructor(found)
            source.definition(found)
    assert source.all_calls
