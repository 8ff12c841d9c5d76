"""Crashes: the call in flight with its inputs, whether or not it was being recorded."""

from __future__ import annotations

import pytest

from dnnfix.detect.tensors.values import loss_uses
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from tests.observing import Observe

TRAINING = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2)
        self.fc = nn.Linear({features}, 10)

    def forward(self, x):
        x = F.relu(self.conv(x))
        {reshape}
        return self.fc(x)

net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    images, labels = torch.rand(2, 1, 28, 28), {labels}
    optimizer.zero_grad()
    output = net(images)
    loss = {loss}
    loss.backward()
    optimizer.step()
"""


def program(
    features: str = "1352",
    reshape: str = "x = x.view(x.size(0), -1)",
    labels: str = "torch.tensor([0, 1])",
    loss: str = "criterion(output, labels)",
) -> str:
    return TRAINING.format(features=features, reshape=reshape, labels=labels, loss=loss)


def test_a_linear_layer_that_receives_other_features(observe: Observe) -> None:
    seen = observe(program(features="100"))
    call = seen.crash["call"]
    assert (call["name"], call["path"], call["args"]["in_features"]) == ("torch.nn.Linear", "fc", 100)
    assert call["inputs"][0]["shape"] == [2, 1352] and seen.producer(call["inputs"][0]) == "torch.Tensor.view"
    assert seen.text(call["made_at"]) == "nn.Linear(100, 10)" and seen.text(call["site"]) == "self.fc(x)"
    assert call["outputs"] == []


def test_a_view_that_does_not_fit(observe: Observe) -> None:
    call = observe(program(reshape="x = x.view(-1, 1000)")).crash["call"]
    assert call["name"] == "torch.Tensor.view" and call["args"] == {"size": [-1, 1000]}
    assert call["inputs"][0]["shape"] == [2, 8, 13, 13]


def test_a_loss_with_targets_of_another_type(observe: Observe) -> None:
    seen = observe(program(labels="torch.tensor([0, 1], dtype=torch.int32)"))
    call = seen.crash["call"]
    assert call["name"] == "torch.nn.CrossEntropyLoss"
    assert [v["dtype"] for v in call["inputs"]] == ["float32", "int32"]
    assert seen.producer(call["inputs"][0]) == "torch.nn.Linear"
    assert seen.text(call["inputs"][1]["site"]) == "torch.tensor([0, 1], dtype=torch.int32)"


def test_targets_out_of_range_are_seen_with_their_range(observe: Observe) -> None:
    call = observe(program(labels="torch.tensor([1, 10])")).crash["call"]
    assert call["inputs"][1]["high"] == 10.0 and call["inputs"][1]["integral"]


def test_a_functional_loss(observe: Observe) -> None:
    call = observe(program(loss="F.nll_loss(output, labels.float())")).crash["call"]
    assert call["name"] == "torch.nn.functional.nll_loss" and call["inputs"][1]["dtype"] == "float32"


def test_the_backward_pass(observe: Observe) -> None:
    seen = observe(program(loss="F.cross_entropy(output, labels, reduction='none')"))
    call = seen.crash["call"]
    assert call["name"] == "torch.Tensor.backward" and call["inputs"][0]["shape"] == [2]
    assert seen.producer(call["inputs"][0]) == "torch.nn.functional.cross_entropy"


def test_a_loss_without_gradient(observe: Observe) -> None:
    seen = observe(program(loss="F.cross_entropy(output.detach(), labels)"))
    call = seen.crash["call"]
    assert call["name"] == "torch.Tensor.backward" and call["inputs"][0]["requires_grad"] is False


def test_numpy_of_a_tensor_that_needs_gradients(observe: Observe) -> None:
    seen = observe(program(loss="output.numpy()"))
    assert seen.crash["call"]["name"] == "torch.Tensor.numpy"
    assert seen.producer(seen.crash["call"]["inputs"][0]) == "torch.nn.Linear"


@pytest.mark.parametrize(
    ("change", "name", "shape"),
    [
        ({"loss": "criterion(output if step < 4 else output[:1], labels)"}, "torch.nn.CrossEntropyLoss", [1, 10]),
        (
            {"loss": "F.cross_entropy(output if step < 4 else output[:1], labels)"},
            "torch.nn.functional.cross_entropy",
            [1, 10],
        ),
        ({"reshape": "x = x.view(x.size(0), -1)[:, :1352 if step < 4 else 9]"}, "torch.nn.Linear", [2, 9]),
        ({"reshape": "size = -1 if step < 4 else 7; x = x.view(2, size)"}, "torch.Tensor.view", [2, 8, 13, 13]),
        ({"loss": "criterion(output, labels) if step < 4 else output + labels"}, "torch.Tensor.add", [2, 10]),
        ({"loss": "criterion(output, labels) if step < 4 else torch.matmul(output, output)"}, "torch.matmul", [2, 10]),
        ({"loss": "criterion(output, labels) if step < 4 else output"}, "torch.Tensor.backward", [2, 10]),
    ],
)
def test_a_crash_after_the_recorded_steps(
    observe: Observe, change: dict[str, str], name: str, shape: list[int]
) -> None:
    seen = observe(program(**change))
    assert len(seen.steps) == 4
    call = seen.crash["call"]
    assert call["name"] == name and call["inputs"][0]["shape"] == shape and call["step"] == 4
    if name == "torch.nn.Linear":
        assert call["path"] == "fc" and seen.text(call["made_at"]) == "nn.Linear(1352, 10)"
        assert call["scope"] == ["Net"]


def test_the_parts_of_the_network_that_a_library_refused(observe: Observe) -> None:
    trace = observe("""
import torch
from torch import nn

library = {}
exec(compile("def adapt(network): raise ValueError('modules not found')", torch.__file__, "exec"), library)
layer = nn.TransformerEncoderLayer(8, 2, 16)
library["adapt"](nn.ModuleDict({"body": nn.TransformerEncoder(layer, 2), "head": nn.Linear(8, 2)}))
""")
    parts = trace.crash["parts"]
    assert parts["body.layers.*.linear1"] == parts["head"] == "Linear" and "body" not in parts


def test_an_exception_of_the_users_own_has_no_call(observe: Observe) -> None:
    seen = observe(
        "import torch\nx = torch.rand(2)\ntry:\n    x.view(3)\nexcept RuntimeError:\n    pass\nraise ValueError('mine')\n"
    )
    assert seen.crash["kind"] == "ValueError" and "call" not in seen.crash


def test_a_crash_inside_nested_user_modules_keeps_scope_and_path(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch import nn
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(5)
            def forward(self, x):
                return self.norm(x)
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps = nn.Sequential(nn.Linear(3, 4), Inner())
            def forward(self, x):
                return self.steps(x)
        Outer()(torch.rand(2, 3))
        """
    )
    call = seen.crash["call"]
    assert call["name"] == "torch.nn.BatchNorm1d" and call["path"] == "steps.1.norm"
    assert call["scope"] == ["Outer", "Sequential", "Inner"]


WANTING = """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x).softmax(dim=1)

net = Net()
print(net(torch.rand(2, 4)).shape)
table = open({table}).read()
criterion = nn.CrossEntropyLoss()
out = net(torch.rand(2, 4))
loss = criterion(out, torch.tensor([0, 1]))
loss.backward()
"""


@pytest.mark.parametrize(("table", "count"), [('"no-such-table.csv"', 1), ('"a" + 1', 0)])
def test_losses_are_read_from_the_source_only_where_a_file_is_wanting(observe: Observe, table: str, count: int) -> None:
    text = WANTING.format(table=table)
    source = Source.from_bytes(text.encode(), "program.py")
    uses = loss_uses(Subject(source, observe(text).trace()))
    assert [use.activation_name for use in uses] == ["softmax"] * count
