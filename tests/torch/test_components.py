"""Constructors: which component, where, with which arguments."""

from __future__ import annotations

from tests.observing import Observe

NETWORK = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, width, slope=0.1):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.activation = nn.LeakyReLU(slope)

    def forward(self, x):
        return self.activation(self.linear(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4) for _ in range(2)])
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(in_features=4, out_features=3))
        self.forgotten = nn.Linear(7, 7)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

net = Net()
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
"""


def test_a_site_is_the_constructor_expression_with_its_arguments(observe: Observe) -> None:
    seen = observe(NETWORK)
    linear = seen.component("torch.nn.Linear", 2)
    assert seen.text(linear["site"]) == "nn.Linear(in_features=4, out_features=3)"
    assert linear["args"] == {"in_features": 4, "out_features": 3, "bias": True, "device": None, "dtype": None}
    assert linear["kind"] == "layer"


def test_the_site_of_a_user_class_is_the_call_and_not_its_super_call(observe: Observe) -> None:
    seen = observe(NETWORK)
    net, block = seen.component("user.Net"), seen.component("user.Block")
    assert seen.text(net["site"]) == "Net()" and net["kind"] == "model"
    assert seen.text(block["site"]) == "Block(4)"
    assert block["args"] == {"width": 4, "slope": 0.1}


def test_attributes_children_and_counts_are_filled_in(observe: Observe) -> None:
    seen = observe(NETWORK)
    assert [c["attribute"] for c in seen.components.values() if c["name"] == "torch.nn.Linear"] == [
        "blocks.0.linear",
        "blocks.1.linear",
        "head.1",
        "forgotten",
    ]
    net = seen.component("user.Net")
    assert net["children"] == [
        seen.component("torch.nn.ModuleList")["id"],
        seen.component("torch.nn.Sequential")["id"],
        seen.component("torch.nn.Linear", 3)["id"],
    ]
    assert seen.component("torch.nn.Linear", 3)["called"] == 0
    assert seen.component("torch.nn.Linear", 0)["called"] > 0


def test_loss_optimizer_and_scheduler_are_components(observe: Observe) -> None:
    seen = observe(NETWORK)
    loss, optimizer = seen.component("torch.nn.CrossEntropyLoss"), seen.component("torch.optim.SGD")
    assert loss["kind"] == "loss" and loss["args"]["label_smoothing"] == 0.1 and loss["args"]["reduction"] == "mean"
    assert optimizer["kind"] == "optimizer" and optimizer["args"]["lr"] == 0.1 and optimizer["args"]["momentum"] == 0.9
    assert seen.text(optimizer["site"]) == "torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)"
    assert "head.1.weight" in optimizer["parameters"] and "forgotten.bias" in optimizer["parameters"]
    assert seen.component("torch.optim.lr_scheduler.StepLR")["kind"] == "scheduler"


def test_recurrent_layers_tell_the_arguments_that_their_base_class_takes(observe: Observe) -> None:
    seen = observe("import torch.nn as nn\nimport torch\nlstm = nn.LSTM(5, 7, num_layers=2, batch_first=True)\n")
    args = seen.component("torch.nn.LSTM")["args"]
    assert (args["input_size"], args["hidden_size"], args["num_layers"], args["batch_first"]) == (5, 7, 2, True)


def test_layers_that_the_library_makes_inside_another_have_no_site(observe: Observe) -> None:
    seen = observe("import torch\nlayer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)\n")
    assert seen.component("torch.nn.TransformerEncoderLayer")["site"] == [2, 9, 2, 67, ""]
    assert all(c["site"] is None for c in seen.components.values() if c["name"] == "torch.nn.Linear")


def test_a_class_made_from_a_class_made_from_a_layer(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        class Scaled(torch.nn.Linear):
            def __init__(self, size, scale=2.0):
                super().__init__(size, size)
                self.scale = scale
            def forward(self, x):
                return super().forward(x) * self.scale
        class Twice(Scaled):
            def __init__(self, size):
                super().__init__(size, scale=3.0)
        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Twice(4)
            def forward(self, x):
                return self.inner(x)
        print(Outer()(torch.ones(2, 4)).shape)
        """
    )
    twice = seen.component("user.Twice")
    assert seen.text(twice["site"]) == "Twice(4)" and twice["args"] == {"size": 4}
    assert len(seen.components) == 2
    assert seen.call("torch.Tensor.mul")["scope"] == ["Outer", "Twice"]


def test_a_deep_copy_is_a_component_of_its_own_with_the_site_of_the_original(observe: Observe) -> None:
    seen = observe(
        """
        import copy, torch
        layer = torch.nn.Linear(3, 3)
        net = torch.nn.Sequential(layer, copy.deepcopy(layer))
        net(torch.ones(2, 3))
        """
    )
    first, second = seen.component("torch.nn.Linear", 0), seen.component("torch.nn.Linear", 1)
    assert first["site"] == second["site"] and first["id"] != second["id"]
    assert (first["attribute"], second["attribute"]) == ("0", "1")


def test_data_loaders_run_without_workers_but_are_recorded_as_written(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(12, 3), torch.arange(12))
        loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=3, prefetch_factor=2, persistent_workers=True)
        for x, y in loader:
            print(x.shape, loader.num_workers)
        """
    )
    loader = seen.component("torch.utils.data.DataLoader")
    assert loader["kind"] == "loader" and loader["args"]["num_workers"] == 3 and loader["args"]["shuffle"] is True
    assert loader["args"]["dataset"] == "torch.utils.data.TensorDataset"
    assert seen.text(loader["site"]).startswith("DataLoader(data, batch_size=4")
    assert "torch.Size([4, 3]) 0" in seen.printed and any("worker" in note for note in seen.notes)


def test_layers_made_anew_in_every_forward_keep_their_arguments(observe: Observe) -> None:
    seen = observe("""
import torch
import torch.nn as nn

net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    for _ in range(60):
        weights = nn.Softmax(dim=-1)(net(torch.randn(2, 4)))
        loss = weights.pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""")
    calls = seen.calls("torch.nn.Softmax")
    assert len(calls) == 120
    assert all(seen.components[call["component"]]["args"] == {"dim": -1} for call in calls)
