"""What the examples of the connectivity templates cannot express: silence on look-alikes, and the readings behind them."""

from __future__ import annotations

import ast

import pytest

from dnnfix import registry
from dnnfix.detect.graph import held_by, holds_tensor, loss_ends, next_use, read_again, torch_modules
from dnnfix.records import Call, Crash, Decline, Network, Parameter, RunOutcome, Symptom, Trace, Value
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

TEMPLATES = {template.code: template for template in registry.templates()}


def source_of(text: str) -> Source:
    return Source.from_bytes(text.encode(), "program.py")


def found(code: str, text: str) -> list[str]:
    return [finding.message for finding in TEMPLATES[code]().detect(Subject(source_of(text)))]


def repaired(code: str, text: str) -> list[str]:
    """Every program that the template's candidates make of the text, or the reasons for declining."""
    subject = Subject(source_of(text))
    template: FixTemplate = TEMPLATES[code]()
    made = []
    for finding in template.detect(subject):
        for proposal in template.propose(finding, subject):
            if isinstance(proposal, Decline):
                made.append(proposal.reason)
            else:
                made.append(apply_edits(subject.source, proposal.edits).decode())
    return made


def statement(source: Source, line: int) -> ast.stmt:
    return next(n for n in ast.walk(source.tree) if isinstance(n, ast.stmt) and n.lineno == line)


@pytest.mark.parametrize(
    ("text", "line", "again"),
    [
        ("def f(x):\n    x.t()\n    return x\n", 2, True),
        ("def f(x):\n    x.t()\n    x = 1\n    return x\n", 2, False),
        ("def f(x, c):\n    x.t()\n    if c:\n        x = 1\n    return x\n", 2, True),
        ("def f(x):\n    for _ in range(3):\n        y = x\n        x.t()\n", 4, True),
        ("def f(x):\n    for x in range(3):\n        x.t()\n", 3, False),
        ("def f(x):\n    x.t()\n    x += 1\n", 2, True),
    ],
)
def test_what_is_read_again(text: str, line: int, again: bool) -> None:
    source = source_of(text)
    assert read_again(source, statement(source, line), ast.parse("x", mode="eval").body) is again


def test_the_next_use_is_a_reading_or_another_value() -> None:
    source = source_of("def f(x):\n    y = a(x)\n    y = b(x)\n    return y\n")
    read, rebound = next_use(source, statement(source, 2), ast.parse("y", mode="eval").body)
    assert read is None and rebound is statement(source, 3)


def test_batches_of_a_loader_are_tensors() -> None:
    head = "from torch.utils.data import DataLoader\nloader = DataLoader(data)\n"
    for loop in ("for x, y in loader:", "for i, (x, y) in enumerate(loader):"):
        source = source_of(f"{head}{loop}\n    x.to(0)\n")
        name = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Attribute) and n.attr == "to").value
        assert holds_tensor(source, name)
    source = source_of("for x in models:\n    x.to(0)\n")
    name = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Attribute)).value
    assert not holds_tensor(source, name)


def test_modules_are_found_through_their_bases() -> None:
    text = "import torch.nn as nn\nclass A(nn.Module): pass\nclass B(A): pass\nclass C: pass\n"
    assert [owner.name for owner in torch_modules(source_of(text))] == ["A", "B"]


def test_what_holds_a_module() -> None:
    source = source_of("from torch import nn\nnet = nn.Linear(1, 2).to(device)\na, b = nn.ReLU(), nn.Tanh()\n")
    calls = {ast.unparse(call): call for call in source.all_calls}
    names = [held_by(source, source.site(calls[text])) for text in ("nn.Linear(1, 2)", "nn.Tanh()")]
    assert [ast.unparse(name) for name in names if name is not None] == ["net", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ndef f(model, x):\n    model.to('cpu')\n    return model(x)\n",
        "import torch\ndef f(x):\n    x.view(2, 3)\n",
        "import torch\nfrom . import backend as F\ndef f(x):\n    F.reshape(x, 2)\n    return F.sum(x)\n",
        "import torch\ndef f(x, out):\n    torch.relu(x, out=out)\n    return x\n",
        "import torch\nx = torch.zeros(6)\nx.view(2, 3)\nx\nprint(x)\n",
        "import torch, pytest\ndef f(x):\n    with pytest.raises(ValueError):\n        x.unsqueeze(4)\n    return x\n",
        "import torch\ndef f(x):\n    try:\n        x.view(4)\n    except RuntimeError:\n        pass\n    return x\n",
        "import torch\ndef f(self, x):\n    self.backend.numpy.reshape(x, 4)\n    return self.backend.numpy.sum(x)\n",
    ],
)
def test_nothing_is_thrown_away(text: str) -> None:
    assert found("DNF402", text) == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("DNF401", ("from torch import nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
         "        self.m = nn.ModuleList()\n        self.down = nn.AvgPool2d(2)\n    def forward(self, x):\n"
         "        outs = []\n        for m in self.m:\n            outs.append(m(x))\n            x = self.down(x)\n"
         "        return outs\n")),
        ("DNF407", ("from torch import nn\nclass N(nn.Module):\n    @cached\n    def head(self, x):\n"
         "        return nn.Linear(4, 2)\n    def forward(self, x):\n        return self.head(x)(x)\n")),
        ("DNF410", ("from keras import Input, Model, layers\nx = i = Input((4,))\nfor _ in range(3):\n"
         "    x = layers.Dense(4)(x)\nmodel = Model(i, x)\n")),
        ("DNF411", ("from keras.layers import Dense, Input, TimeDistributed\nfrom keras.models import Model\n"
         "i = Input((3, 4))\nd = Dense(2)\nmodel = Model(i, TimeDistributed(d)(i))\n")),
        ("DNF408", ("from keras.layers import Dense\nfrom keras.models import Sequential\nm = Sequential()\n"
         "for _ in range(3):\n    d = Dense(4)\n    m.add(d)\n")),
    ],
)  # fmt: skip
def test_look_alikes_are_left_alone(code: str, text: str) -> None:
    assert found(code, text) == []


def test_sizes_that_only_the_forward_pass_knows_are_declined() -> None:
    text = (
        "from torch import nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "    def forward(self, x):\n        return nn.Linear(x.shape[1], 2)(x)\n"
    )
    assert repaired("DNF407", text) == ["the layer's arguments are known in the forward pass only"]


def test_two_layers_of_one_class_get_two_names() -> None:
    text = (
        "from torch import nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "    def forward(self, x):\n        return nn.Linear(8, 2)(nn.Linear(4, 8)(x))\n"
    )
    first, second = repaired("DNF407", text)
    assert "self.linear = nn.Linear(8, 2)" in first and "self.linear2 = nn.Linear(4, 8)" in second


def test_branches_that_meet_are_joined_together() -> None:
    text = (
        "from keras.layers import Dense, GRU, Input, concatenate\nfrom keras.models import Model\n"
        "a = Input((3, 1))\nb = Input((3, 1))\nx = GRU(4)(a)\nx = Dense(2)(a)\ny = GRU(4)(b)\ny = Dense(2)(b)\n"
        "model = Model([a, b], Dense(1)(concatenate([x, y])))\n"
    )
    joint = [after for after in repaired("DNF401", text) if "x = Dense(2)(x)" in after and "y = Dense(2)(y)" in after]
    assert joint


def trace_of(network: Network, crash: Crash | None = None) -> Trace:
    return Trace(RunOutcome.CRASHED if crash else RunOutcome.FINISHED, network=network, crash=crash)


def test_a_graph_is_cut_only_where_weights_are_starved() -> None:
    source = source_of("import torch\nout = net(x).detach()\nloss = out.sum()\nloss.backward()\n")
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    sites = {ast.unparse(call): source.site(call) for call in calls}
    given, cut, end = (
        Value(1, requires_grad=True, producer=1),
        Value(2, requires_grad=False, producer=2),
        Value(3, producer=3),
    )
    network_calls = (
        Call(1, "torch.nn.Linear", sites["net(x)"], component=1, outputs=(given,)),
        Call(2, "torch.Tensor.detach", sites["net(x).detach()"], inputs=(given,), outputs=(cut,)),
        Call(3, "torch.Tensor.sum", sites["out.sum()"], inputs=(cut,), outputs=(end,)),
    )
    backward = Call(
        0, "torch.Tensor.backward", sites["loss.backward()"], inputs=(Value(3, producer=3, requires_grad=False),)
    )
    crash = Crash("RuntimeError", "no grad", call=backward)
    for gradient, expected in ((None, 1), (0.5, 0)):
        weight = Parameter("weight", (2, 2), component=1, trainable=True, gradient=gradient)
        subject = Subject(source, trace_of(Network("torch", "trace", (), network_calls, (weight,)), crash))
        findings = list(TEMPLATES["DNF405"]().detect(subject))
        assert len(findings) == expected
        assert loss_ends(subject) == [backward]
        if findings:
            assert findings[0].symptom is Symptom.CRASH and findings[0].site == sites["net(x).detach()"]
