"""Calls: which are recorded, on which values, and who made those."""

from __future__ import annotations

from tests.observing import Observe

CLASSIFIER = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.fc = nn.Linear(2 * 26 * 26, 10)

    def forward(self, x):
        x = F.relu(self.conv(x))
        x = x.view(-1, 2 * 26 * 26)
        return torch.softmax(self.fc(x), dim=1)

net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters())
images, labels = torch.rand(4, 1, 28, 28), torch.tensor([1, 2, 3, 9])
for _ in range(4):
    optimizer.zero_grad()
    output = net(images)
    loss = criterion(output, labels)
    loss.backward()
    optimizer.step()
"""


def test_the_chain_from_the_data_to_the_loss(observe: Observe) -> None:
    seen = observe(CLASSIFIER)
    assert seen.names(step=0) == [
        "torch.nn.Conv2d",
        "torch.nn.functional.relu",
        "torch.Tensor.view",
        "torch.nn.Linear",
        "torch.softmax",
        "torch.nn.CrossEntropyLoss",
    ]
    loss = seen.call("torch.nn.CrossEntropyLoss")
    chain, value = [], loss["inputs"][0]
    while value["producer"] is not None:
        call = next(c for c in seen.calls() if c["id"] == value["producer"])
        chain.append(call["name"].rpartition(".")[2])
        value = call["inputs"][0]
    assert chain == ["softmax", "Linear", "view", "relu", "Conv2d"]
    assert value["origin"] == "data" and seen.text(value["site"]) == "torch.rand(4, 1, 28, 28)"


def test_the_inputs_of_a_loss_carry_statistics(observe: Observe) -> None:
    seen = observe(CLASSIFIER)
    prediction, target = seen.call("torch.nn.CrossEntropyLoss")["inputs"]
    assert prediction["row_sums_to_one"] is True and 0 <= prediction["low"] <= prediction["high"] <= 1
    assert target["integral"] and target["distinct"] == 4 and (target["low"], target["high"]) == (1.0, 9.0)
    assert target["dtype"] == "int64" and target["origin"] == "data"
    assert seen.text(target["site"]) == "torch.tensor([1, 2, 3, 9])"


def test_inputs_and_outputs_of_the_model_carry_statistics_and_others_do_not(observe: Observe) -> None:
    seen = observe(CLASSIFIER)
    assert seen.call("torch.nn.Conv2d")["inputs"][0]["finite"] is True
    assert seen.call("torch.softmax")["outputs"][0]["row_sums_to_one"] is True
    assert "low" not in seen.call("torch.nn.Conv2d")["outputs"][0]


def test_calls_of_layers_carry_path_scope_phase_and_the_constructors_site(observe: Observe) -> None:
    seen = observe(CLASSIFIER)
    call = seen.call("torch.nn.Linear")
    assert (call["path"], call["scope"], call["phase"], call["step"]) == ("fc", ["Net"], "train", 0)
    assert seen.text(call["site"]) == "self.fc(x)" and seen.text(call["made_at"]) == "nn.Linear(2 * 26 * 26, 10)"
    assert call["args"]["in_features"] == 1352 and call["inputs"][0]["shape"] == [4, 1352]
    assert seen.call("torch.Tensor.view")["args"] == {"size": [-1, 1352]}
    assert seen.call("torch.softmax")["args"] == {"dim": 1}


def test_only_the_recorded_steps_are_recorded(observe: Observe) -> None:
    seen = observe(CLASSIFIER, record_steps=1)
    assert {c["step"] for c in seen.calls()} == {0}
    assert len(seen.steps) == 4


def test_nothing_is_recorded_of_the_inside_of_a_library_layer(observe: Observe) -> None:
    seen = observe(
        "import torch\nlayer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)\nlayer(torch.rand(2, 3, 8))\n"
    )
    assert seen.names() == ["torch.nn.TransformerEncoderLayer"]


def test_containers_are_no_calls_but_scopes(observe: Observe) -> None:
    seen = observe(
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())\nnet(torch.ones(1, 3))\n"
    )
    assert seen.names() == ["torch.nn.Linear", "torch.nn.Tanh"]
    assert [c["path"] for c in seen.calls()] == ["0", "1"]
    assert all(seen.text(c["site"]) == "net(torch.ones(1, 3))" and c["scope"] == ["Sequential"] for c in seen.calls())
    assert seen.call("torch.nn.Linear")["inputs"][0]["origin"] == "constant"


def test_operators_functions_and_methods_are_called_by_their_names(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        import torch.nn.functional as F
        a = torch.tensor([[1.0, 2.0]])
        b = (a + 1) * a - 2 / a
        c = -(a @ a.T) ** 2
        d = F.sigmoid(b)[0]
        e = torch.cat([d, d], dim=0).mean()
        a += 1
        """
    )
    assert seen.names() == [
        *["torch.Tensor." + name for name in ("add", "mul", "rdiv", "sub", "T", "matmul", "pow", "neg")],
        "torch.nn.functional.sigmoid",
        "torch.Tensor.getitem",
        "torch.cat",
        "torch.Tensor.mean",
        "torch.Tensor.add_",
    ]
    assert len(seen.call("torch.cat")["inputs"]) == 2 and seen.call("torch.cat")["args"] == {"dim": 0}


def test_an_output_tuple_is_several_outputs(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        lstm, head = torch.nn.LSTM(5, 7, batch_first=True), torch.nn.Linear(7, 1)
        out, (h, c) = lstm(torch.rand(2, 3, 5))
        head(h[-1])
        """
    )
    lstm = seen.call("torch.nn.LSTM")
    assert [v["shape"] for v in lstm["outputs"]] == [[2, 3, 7], [1, 2, 7], [1, 2, 7]]
    assert seen.call("torch.Tensor.getitem")["inputs"][0]["id"] == lstm["outputs"][1]["id"]


CUT = """
import numpy as np
import torch
from torch.autograd import Variable
net = torch.nn.Linear(2, 1)
x = torch.rand(4, 2)
out = net(x)
cut = {expression}
loss = (cut * 2).mean()
"""


def test_provenance_survives_what_cuts_the_graph(observe: Observe) -> None:
    expected = {
        "out.detach()": ["detach"],
        "out.data": ["data"],
        "torch.tensor(out.sum().item())": ["tensor", "item", "sum"],
        "torch.from_numpy(out.detach().numpy())": ["from_numpy", "numpy", "detach"],
        "torch.tensor(out.tolist())": ["tensor", "tolist"],
        "torch.tensor(out)": ["tensor"],
        "Variable(out.data)": ["Variable", "data"],
        "torch.tensor(float(out.mean()))": ["tensor", "item", "mean"],
        "torch.as_tensor(np.asarray(out.detach()))": ["as_tensor", "numpy", "detach"],
    }
    for expression, names in expected.items():
        seen = observe(CUT.format(expression=expression))
        chain, value = [], seen.call("torch.Tensor.mul")["inputs"][0]
        while value["producer"] is not None:
            call = next(c for c in seen.calls() if c["id"] == value["producer"])
            chain.append(call["name"].rpartition(".")[2])
            value = call["inputs"][0]
        assert chain == [*names, "Linear"], expression


def test_parameters_constants_and_data_are_told_apart(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.ones(3, 3))
                self.register_buffer("scale", torch.tensor(2.0))
            def forward(self, x):
                return x @ self.w * self.scale + torch.zeros(3)
        Net()(torch.rand(2, 3))
        """
    )
    assert [v["origin"] for v in seen.call("torch.Tensor.matmul")["inputs"]] == ["data", "parameter"]
    assert seen.text(seen.call("torch.Tensor.matmul")["inputs"][1]["site"]) == "torch.nn.Parameter(torch.ones(3, 3))"
    assert seen.call("torch.Tensor.mul")["inputs"][1]["origin"] == "constant"
    assert seen.call("torch.Tensor.add")["inputs"][1]["origin"] == "constant"


def test_an_operation_in_place_makes_a_new_value_of_the_same_tensor(observe: Observe) -> None:
    seen = observe("import torch\nx = torch.rand(3)\nx.mul_(2)\nx[0] = 5.0\ny = x + 1\n")
    assert seen.producer(seen.call("torch.Tensor.add")["inputs"][0]) == "torch.Tensor.setitem"
    assert seen.producer(seen.call("torch.Tensor.setitem")["inputs"][0]) == "torch.Tensor.mul_"


def test_evaluation_after_training_is_recorded_as_such(observe: Observe) -> None:
    seen = observe(CLASSIFIER + "\nnet.eval()\nwith torch.no_grad():\n    print(net(images).argmax(1))\n")
    last = seen.calls()[-1]
    assert last["name"] == "torch.Tensor.argmax" and last["phase"] == "eval"
    assert [c["phase"] for c in seen.calls("torch.nn.Linear")] == ["train", "train", "eval"]


def test_a_loop_does_not_use_the_recorder_up(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        net = torch.nn.Linear(2, 1)
        total = torch.zeros(1)
        for i in range(9000):
            total = total + i
        print(net(torch.rand(1, 2)))
        """
    )
    assert len(seen.calls("torch.Tensor.add")) < 100
    assert seen.calls("torch.nn.Linear")


def test_batches_of_a_loader_come_from_the_loop_over_it(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        loader = DataLoader(TensorDataset(torch.rand(8, 3), torch.rand(8, 1)), batch_size=4)
        net = torch.nn.Linear(3, 1)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(net(x), y)
        """
    )
    values = [seen.call("torch.nn.Linear")["inputs"][0], seen.call("torch.nn.functional.mse_loss")["inputs"][1]]
    assert [(v["origin"], seen.text(v["site"])) for v in values] == [("data", "loader")] * 2


def test_a_model_whose_forward_is_called_directly_is_one_model(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 1)
            def forward(self, x):
                return self.second(torch.relu(self.first(x)))
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net.forward(torch.ones(2, 2)).sum().backward()
            optimizer.step()
        """
    )
    assert set(seen.parameters) == {"first.weight", "first.bias", "second.weight", "second.bias"}
    assert all(p["optimized"] for p in seen.parameters.values())
    assert [(c["path"], c["scope"]) for c in seen.calls(step=0)[:3]] == [
        ("first", ["Net"]),
        ("", ["Net"]),
        ("second", ["Net"]),
    ]
    assert [e["name"] for e in seen.of("loop")][:4] == ["zero_grad", "forward", "backward", "step"]


def test_modules_that_run_in_other_threads_are_left_alone(observe: Observe) -> None:
    seen = observe(
        """
        import threading, torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2))
        threads = [threading.Thread(target=net, args=(torch.ones(1, 2),)) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(net(torch.ones(1, 2)).shape)
        """
    )
    assert len(seen.calls("torch.nn.Linear")) == 1


def test_layers_and_losses_whose_forward_is_called(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        model = torch.nn.Sequential()
        model.add_module("linear", torch.nn.Linear(6, 3))
        model.add_module("softmax", torch.nn.Softmax(dim=1))
        criterion = torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            output = model.forward(torch.rand(5, 6))
            loss = criterion.forward(output, torch.tensor([0, 1, 2, 0, 1]))
            loss.backward()
            optimizer.step()
        """
    )
    assert seen.names(step=0) == ["torch.nn.Linear", "torch.nn.Softmax", "torch.nn.CrossEntropyLoss"]
    loss = seen.call("torch.nn.CrossEntropyLoss")
    assert seen.text(loss["site"]).startswith("criterion.forward(output")
    assert seen.producer(loss["inputs"][0]) == "torch.nn.Softmax" and loss["inputs"][0]["high"] <= 1
    assert [e["name"] for e in seen.of("loop")][:4] == ["zero_grad", "forward", "backward", "step"]
    assert all(p["optimized"] for p in seen.parameters.values())
    assert seen.component("torch.nn.CrossEntropyLoss")["called"] >= 2


def test_a_layer_within_a_model_whose_forward_is_called_is_counted_once(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch import nn
        class Wide(nn.Linear):
            def forward(self, x):
                return super().forward(x) * 2
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.rnn = Wide(2, 3), nn.Linear(3, 4), nn.LSTM(4, 5)
            def forward(self, x):
                x, _ = self.rnn.forward(self.b.forward(self.a(x)))
                return x
        Net()(torch.ones(7, 2, 2)).sum().backward()
        """
    )
    assert seen.outcome == "finished", seen.printed
    layers = [c["name"] for c in seen.calls() if c["component"] is not None]
    assert layers.count("torch.nn.Linear") == 1 and layers.count("torch.nn.LSTM") == 1
    assert seen.call("torch.nn.Linear")["path"] == "b"


def test_a_crash_in_a_forward_that_is_called_names_the_layer(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        layer = torch.nn.Conv2d(3, 4, 3)
        layer.forward(torch.rand(2, 1, 8, 8))
        """
    )
    assert seen.crash["call"]["name"] == "torch.nn.Conv2d"
    assert seen.text(seen.crash["call"]["site"]) == "layer.forward(torch.rand(2, 1, 8, 8))"
