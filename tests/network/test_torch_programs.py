"""Where the prediction of a loss comes from, in torch programs written in many ways."""

from __future__ import annotations

import pytest

from tests.network.programs import losses, names, read

NET = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))
"""
SOFT = NET.replace("return self.fc2(F.relu(self.fc1(x)))", "return F.softmax(self.fc2(F.relu(self.fc1(x))), dim=1)")

CASES = {
    "a straight script": (
        SOFT + "model = Net()\nout = model(x)\nloss = nn.CrossEntropyLoss()(out, y)\nloss.backward()\n",
        [("CrossEntropyLoss", "F.softmax(self.fc2(F.relu(self.fc1(x))), dim=1)")],
    ),
    "softmax after training only": (
        NET
        + """
model = Net()
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    out = model(x)
    loss = criterion(out, y)
    loss.backward()
probabilities = F.softmax(model(x), dim=1)
""",
        [("CrossEntropyLoss", "Linear fc2")],
    ),
    "training code in a function with one call site": (
        NET
        + """
def train(model, loader, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

def main():
    net = Net().to("cuda")
    train(net, load(), nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1))

if __name__ == "__main__":
    main()
""",
        [("CrossEntropyLoss", "Linear fc2")],
    ),
    "training code that nothing calls": (
        SOFT
        + """
criterion = nn.CrossEntropyLoss()
def train(model, loader):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
""",
        [("CrossEntropyLoss", None)],
    ),
    "a trainer class with the criterion as attribute": (
        SOFT
        + """
class Trainer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optim.SGD(model.parameters(), lr=lr)

    def fit(self, loader):
        for x, y in loader:
            self.step(x, y)

    def step(self, x, y):
        prediction = self.model(x)
        loss = self.criterion(prediction, y)
        loss.backward()

Trainer(Net()).fit(loader)
""",
        [("CrossEntropyLoss", "F.softmax(self.fc2(F.relu(self.fc1(x))), dim=1)")],
    ),
    "log-softmax in forward and nll": (
        NET.replace("return self.fc2", "return F.log_softmax(self.fc2").replace("(x)))", "(x))), dim=1)")
        + "net = Net()\nloss = F.nll_loss(net(x), y)\n",
        [("nll_loss", "F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)")],
    ),
    "keyword arguments": (
        NET + "net = Net()\nloss = F.cross_entropy(target=y, input=net(x))\n",
        [("cross_entropy", "Linear fc2")],
    ),
    "forward called by name": (
        NET + "net = Net()\nloss = F.cross_entropy(net.forward(x), y)\n",
        [("cross_entropy", "Linear fc2")],
    ),
    "a tuple of outputs": (
        """
import torch.nn as nn
class Two(nn.Module):
    def __init__(self):
        super(Two, self).__init__()
        self.body = nn.Linear(4, 8)
        self.classes = nn.Linear(8, 3)
        self.box = nn.Linear(8, 4)
    def forward(self, x):
        h = self.body(x)
        return self.classes(h), self.box(h)
model = Two()
logits, box = model(x)
loss = nn.CrossEntropyLoss()(logits, y) + nn.SmoothL1Loss()(box, b)
both = model(x)
extra = nn.MSELoss()(both[1], b)
""",
        [("CrossEntropyLoss", "Linear classes"), ("SmoothL1Loss", "Linear box"), ("MSELoss", "Linear box")],
    ),
    "softmax unless in training": (
        NET.replace(
            "return self.fc2(F.relu(self.fc1(x)))",
            "x = self.fc2(F.relu(self.fc1(x)))\n        if self.training:\n            return x\n"
            "        return F.softmax(x, dim=1)",
        )
        + "net = Net()\nloss = F.cross_entropy(net(x), y)\n",
        [("cross_entropy", None)],
    ),
    "a condition that the text decides": (
        NET + "USE = False\nnet = Net()\nout = net(x)\nif USE:\n    out = F.softmax(out, 1)\nF.cross_entropy(out, y)\n",
        [("cross_entropy", "Linear fc2")],
    ),
    "one of two models": (
        NET + "net = Net() if flag else Other()\nloss = F.cross_entropy(net(x), y)\n",
        [("cross_entropy", None)],
    ),
    "a dictionary of models": (
        NET
        + "nets = {'a': Net(), 'b': nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())}\n"
        + "F.cross_entropy(nets['a'](x), y)\nF.binary_cross_entropy(nets['b'](x), y)\nF.mse_loss(nets[k](x), y)\n",
        [("cross_entropy", "Linear fc2"), ("binary_cross_entropy", "Sigmoid 1"), ("mse_loss", None)],
    ),
    "an adversarial pair": (
        """
import torch, torch.nn as nn
class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 64), nn.Tanh())
    def forward(self, z):
        return self.net(z)
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 1), nn.Sigmoid())
    def forward(self, x):
        return self.net(x)
g, d = G(), D()
bce = nn.BCELoss()
for real in loader:
    fake = g(torch.randn(8, 16))
    loss_d = bce(d(real), torch.ones(8, 1)) + bce(d(fake.detach()), torch.zeros(8, 1))
    loss_d.backward()
    loss_g = bce(d(fake), torch.ones(8, 1))
    loss_g.backward()
""",
        [("BCELoss", "Sigmoid net.1")] * 3,
    ),
    "lightning": (
        """
import pytorch_lightning as pl
import torch.nn as nn, torch.nn.functional as F
class Lit(pl.LightningModule):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(784, width)
        self.head = nn.Linear(width, 10)
    def forward(self, x):
        return self.head(self.layer(x))
    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)
""",
        [("cross_entropy", "Linear head")],
    ),
    "a base class with the training step": (
        """
import torch.nn as nn, torch.nn.functional as F
class Base(nn.Module):
    def loss(self, x, y):
        return F.cross_entropy(self(x), y)
class Child(Base):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 2)
    def forward(self, x):
        return self.out(x)
Child().loss(a, b)
""",
        [("cross_entropy", "Linear out")],
    ),
    "an ordered dictionary of layers": (
        """
from collections import OrderedDict
import torch.nn as nn
model = nn.Sequential(OrderedDict([('fc', nn.Linear(4, 3)), ('sm', nn.Softmax(dim=1))]))
nn.CrossEntropyLoss()(model(x), y)
""",
        [("CrossEntropyLoss", "Softmax sm")],
    ),
    "a sequence built by add_module": (
        """
import torch.nn as nn
model = nn.Sequential()
model.add_module('fc', nn.Linear(4, 3))
model.add_module('act', nn.LogSoftmax(dim=1))
nn.NLLLoss()(model(x), y)
""",
        [("NLLLoss", "LogSoftmax act")],
    ),
    "a list of layers given with a star": (
        """
import torch.nn as nn
def make(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        layers.append(nn.ReLU())
    layers.append(nn.Linear(sizes[-1], 10))
    return nn.Sequential(*layers)
nn.CrossEntropyLoss()(make([4, 8, 16])(x), y)
""",
        [("CrossEntropyLoss", "Linear")],
    ),
    "a loop that may not run": (
        NET + "net = Net()\nout = net(x)\nfor f in stages:\n    out = F.softmax(out, 1)\nF.cross_entropy(out, y)\n",
        [("cross_entropy", None)],
    ),
    "assigned in one branch only": (
        NET + "net = Net()\nout = net(x)\nif args.soft:\n    out = out.softmax(1)\nF.cross_entropy(out, y)\n",
        [("cross_entropy", None)],
    ),
    "an early return": (
        NET.replace(
            "return self.fc2(F.relu(self.fc1(x)))",
            "h = self.fc2(F.relu(self.fc1(x)))\n        if x.shape[0] == 1:\n            return h.sigmoid()\n        return h",
        )
        + "net = Net()\nF.cross_entropy(net(x), y)\n",
        [("cross_entropy", None)],
    ),
    "an early error": (
        NET.replace(
            "return self.fc2", "if x.dim() != 2:\n            raise ValueError(x)\n        return self.fc2"
        )
        + "net = Net()\nF.cross_entropy(net(x), y)\n",
        [("cross_entropy", "Linear fc2")],
    ),
    "wrapped and compiled": (
        NET + "net = torch.compile(nn.DataParallel(Net().cuda()))\nF.cross_entropy(net(x), y)\n",
        [("cross_entropy", "Linear fc2")],
    ),
    "a loss of the program's own": (
        NET
        + """
class Focal(nn.Module):
    def forward(self, inputs, targets):
        return F.cross_entropy(inputs, targets, reduction='none').mean()
focal = Focal()
net = Net()
focal(torch.sigmoid(net(x)), y)
""",
        [("cross_entropy", "torch.sigmoid(net(x))")],
    ),
    "a layer replaced after the model was made": (
        NET + "net = Net()\nnet.fc2 = nn.Sequential(nn.Linear(50, 2), nn.Sigmoid())\nF.binary_cross_entropy(net(x), y)\n",
        [("binary_cross_entropy", "Sigmoid fc2.1")],
    ),
    "a pretrained model with a new head": (
        """
import torch.nn as nn
from torchvision import models
net = models.resnet18(pretrained=True)
net.fc = nn.Linear(512, 10)
nn.CrossEntropyLoss()(net(x), y)
""",
        [("CrossEntropyLoss", None)],
    ),
    "recursion": (
        "import torch.nn.functional as F\ndef f(x, n):\n    return f(F.relu(x), n - 1) if n else x\nF.mse_loss(f(a, 3), b)\n",
        [("mse_loss", None)],
    ),
    "a decorated forward": (
        NET.replace("    def forward", "    @wrap\n    def forward") + "net = Net()\nF.cross_entropy(net(x), y)\n",
        [("cross_entropy", None)],
    ),
    "a try that may fail halfway": (
        NET
        + "net = Net()\nout = net(x)\ntry:\n    out = F.softmax(out, 1)\n    check(out)\nexcept ValueError:\n    pass\n"
        + "F.cross_entropy(out, y)\n",
        [("cross_entropy", None)],
    ),
    "a global that a function replaces": (
        NET
        + "net = Net()\ndef swap():\n    global net\n    if ask():\n        net = nn.Sequential(nn.Sigmoid())\nswap()\n"
        + "F.cross_entropy(net(x), y)\n",
        [("cross_entropy", None)],
    ),
    "elements written into a tensor": (
        NET + "net = Net()\nout = torch.zeros(8, 10)\nout[0:4] = net(x)\nF.mse_loss(out, y)\nF.mse_loss(net(x).add_(1), y)\n",
        [("mse_loss", None), ("mse_loss", "net(x).add_(1)")],
    ),
    "a tensor changed in place": (
        NET + "net = Net()\nout = net(x)\nif soft:\n    out.sigmoid_()\nF.cross_entropy(out, y)\n",
        [("cross_entropy", None)],
    ),
    "a forward put in place later": (
        NET + "net = Net()\nnet.forward = other\nF.cross_entropy(net(x), y)\nNet.forward = f\nF.mse_loss(Net()(x), y)\n",
        [("cross_entropy", None), ("mse_loss", None)],
    ),
    "a layer set by name": (
        NET + "net = Net()\nsetattr(net, 'fc2', nn.Sigmoid())\nF.mse_loss(net(x), y)\n",
        [("mse_loss", "Sigmoid fc2")],
    ),
    "a variable that an earlier round of the loop set": (
        NET
        + "net = Net()\nout = F.softmax(net(x), 1)\nfor x, y in loader:\n    F.cross_entropy(out, y)\n    out = net(x)\n",
        [("cross_entropy", None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_prediction_of_each_loss_is_traced_to_its_producer(name: str) -> None:
    code, expected = CASES[name]

    assert losses(code) == expected


def test_layers_are_called_in_order_with_paths_scopes_and_arguments() -> None:
    _, network = read(NET + "net = Net()\nnet(torch.randn(8, 20))\n")

    assert [(c.name, c.path, c.scope) for c in network.calls] == [
        ("torch.nn.Linear", "fc1", ("Net",)),
        ("torch.nn.functional.relu", "", ("Net",)),
        ("torch.nn.Linear", "fc2", ("Net",)),
    ]
    first, _, last = network.calls
    assert first.args["in_features"] == 20 and first.args["out_features"] == 50 and first.args["bias"] is True
    assert first.inputs[0].shape == (8, 20) and first.inputs[0].origin == "data"
    assert last.outputs[0].shape == (8, 10)
    assert network.known_from == "source" and network.framework == "torch"


def test_an_unused_layer_is_known_to_be_unused_and_an_escaping_one_is_not() -> None:
    code = """
    import torch.nn as nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Linear(4, 4)
            self.idle = nn.Linear(4, 4)
            self.lent = nn.Linear(4, 4)
            self.picked = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        def forward(self, x, i):
            helper(self.lent)
            return self.used(self.picked[i](x))
    """
    _, network = read(code)

    called = {c.attribute: c.called for c in network.components if c.kind == "layer"}
    assert called == {"used": 1, "idle": 0, "lent": None, "picked.0": None, "picked.1": None}


def test_an_optimizer_knows_the_model_whose_parameters_it_holds() -> None:
    program, network = read(NET + "a, b = Net(), Net()\nopt = optim.Adam(b.parameters(), lr=0.01)\n")

    optimizer = next(c for c in network.components if c.kind == "optimizer")
    assert optimizer.name == "torch.optim.Adam" and optimizer.args["lr"] == 0.01
    assert optimizer.parameters == ("b.parameters()",)
    model = network.component(optimizer.children[0])
    assert model is not None and model.name == "user.Net" and model.site is not None
    assert model.site.column == program.text.splitlines()[model.site.line - 1].rindex("Net()") + 1


def test_a_loop_over_a_module_list_calls_each_layer() -> None:
    code = """
    import torch.nn as nn, torch.nn.functional as F
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
            self.norms = nn.ModuleList([nn.LayerNorm(8), nn.LayerNorm(8)])
        def forward(self, x):
            for i, (layer, norm) in enumerate(zip(self.layers, self.norms)):
                x = F.relu(norm(layer(x)))
            for i in range(len(self.layers)):
                x = self.layers[i](x)
            return x
    F.mse_loss(Deep()(a), b)
    """
    _, network = read(code)

    assert names(network)[:8] == ["Linear", "LayerNorm", "relu", "Linear", "LayerNorm", "relu", "Linear", "Linear"]
    last = network.producer(network.calls[-1].inputs[0])
    assert last is not None and last.path == "layers.1"


def test_layers_in_a_plain_list_have_no_place_in_the_model() -> None:
    code = """
    import torch.nn as nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(4, 4), nn.Linear(4, 2)]
            self.head = nn.Linear(2, 2)
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.head(x)
    """
    _, network = read(code)

    layers = [c for c in network.components if c.kind == "layer"]
    assert [(c.attribute, c.called) for c in layers] == [(None, 1), (None, 1), ("head", 1)]
    model = next(c for c in network.components if c.kind == "model")
    assert model.children == (layers[2].id,)


def test_recurrent_layers_give_output_and_state() -> None:
    code = """
    import torch.nn as nn, torch.nn.functional as F
    lstm, gru = nn.LSTM(8, 16), nn.GRU(16, 4, batch_first=True)
    out, (h, c) = lstm(x)
    y, state = gru(out)
    F.mse_loss(h, target)
    F.mse_loss(y[:, -1], target)
    """
    _, network = read(code)
    lstm, gru, first, index, second = network.calls

    assert len(lstm.outputs) == 3 and gru.inputs[0].id == lstm.outputs[0].id
    assert first.inputs[0].id == lstm.outputs[1].id
    assert index.name == "torch.Tensor.getitem" and index.inputs[0].id == gru.outputs[0].id
    assert network.producer(second.inputs[0]) == index


def test_a_value_used_twice_keeps_its_identity() -> None:
    _, network = read("import torch.nn as nn\na, b = nn.Linear(3, 3), nn.Linear(3, 3)\ny = a(x) + b(x)\n")
    one, two, total = network.calls

    assert one.inputs[0].id is not None and one.inputs[0].id == two.inputs[0].id
    assert total.name == "torch.Tensor.add" and [v.producer for v in total.inputs] == [one.id, two.id]
    assert network.users(one.outputs[0]) == (total,)


def test_methods_record_what_they_do() -> None:
    _, network = read(
        "import torch\nx = torch.randn(2, 3, 4)\ny = x.view(2, -1).permute(1, 0).softmax(dim=1)\nz = y.item()\n"
    )

    assert [c.name for c in network.calls] == [f"torch.Tensor.{m}" for m in ("view", "permute", "softmax", "item")]
    assert [dict(c.args) for c in network.calls[:3]] == [{"shape": [2, -1]}, {"dims": [1, 0]}, {"dim": 1}]


def test_a_sequence_that_nothing_calls_is_told_as_if_called_unless_a_model_holds_it() -> None:
    code = """
    import torch.nn as nn
    shown = nn.Sequential(nn.Linear(2, 3), nn.Softmax(dim=1))
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.idle = nn.Sequential(nn.Linear(5, 6))
            self.out = nn.Linear(4, 4)
        def forward(self, x):
            return self.out(x)
    """
    _, network = read(code)

    assert sorted((c.name.rpartition(".")[2], c.called) for c in network.components if c.kind == "layer") == [
        ("Linear", 0),
        ("Linear", 1),
        ("Linear", 1),
        ("Softmax", 1),
    ]
