"""What is defined and never used is built, fed and trained; the harness brings no fault of its own and hides none."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix import registry
from dnnfix.detect.run_rules import detect
from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import network
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data.input_operations import feeds
from dnnfix.reproduce.harness.unused import is_active, roots
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source
from dnnfix.subject import Subject

Run = Callable[..., Trace]

IMPORTS = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

CNN = IMPORTS + textwrap.dedent(
    """
    class Net(nn.Module):
        def __init__(self, num_classes=10):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 4 * 4, 60)
            self.fc2 = nn.Linear(60, num_classes)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = x.view(x.size(0), -1)
            return self.fc2(F.relu(self.fc1(x)))
    """
)

HEALTHY = {
    "convolutions, whose size only 28 x 28 fits": CNN,
    "tokens into a recurrent network": IMPORTS
    + textwrap.dedent(
        """
        class Tagger(nn.Module):
            def __init__(self, vocab_size, embedding_dim, hidden_dim, tagset_size):
                super().__init__()
                self.embed = nn.Embedding(vocab_size, embedding_dim)
                self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
                self.out = nn.Linear(hidden_dim, tagset_size)

            def forward(self, sentence):
                states, _ = self.lstm(self.embed(sentence))
                return F.log_softmax(self.out(states[:, -1]), dim=1)
        """
    ),
    "a sequence before its batch, with a hidden state": IMPORTS
    + textwrap.dedent(
        """
        class Recurrent(nn.Module):
            def __init__(self, input_size, hidden_size):
                super().__init__()
                self.hidden_size = hidden_size
                self.rnn = nn.GRU(input_size, hidden_size)

            def forward(self, x, hidden):
                out, hidden = self.rnn(x, hidden)
                return out, hidden
        """
    ),
    "probabilities at its end": IMPORTS
    + textwrap.dedent(
        """
        class Classifier(nn.Module):
            def __init__(self, in_features, n_hidden, num_classes):
                super().__init__()
                self.layers = nn.Sequential(nn.Linear(in_features, n_hidden), nn.ReLU(), nn.Linear(n_hidden, num_classes))

            def forward(self, x):
                return torch.softmax(self.layers(x), dim=1)
        """
    ),
    "an autoencoder that gives three things": IMPORTS
    + textwrap.dedent(
        """
        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc, self.mu, self.logvar = nn.Linear(784, 40), nn.Linear(40, 8), nn.Linear(40, 8)
                self.dec = nn.Linear(8, 784)

            def forward(self, x):
                h = F.relu(self.enc(x.view(-1, 784)))
                mu, logvar = self.mu(h), self.logvar(h)
                z = mu + torch.randn_like(mu) * torch.exp(logvar / 2)
                return torch.sigmoid(self.dec(z)), mu, logvar
        """
    ),
    "a training function and its network": CNN
    + textwrap.dedent(
        """
        def train(model, device, train_loader, optimizer, epoch, log_interval):
            model.train()
            for number, (data, target) in enumerate(train_loader):
                data, target = data.to(device), target.to(device)
                optimizer.zero_grad()
                loss = F.cross_entropy(model(data), target)
                loss.backward()
                optimizer.step()
        """
    ),
    "a training function alone": IMPORTS
    + textwrap.dedent(
        """
        def train(net, loader, criterion, optimizer, epoch):
            for data, target in loader:
                optimizer.zero_grad()
                loss = criterion(net(data), target)
                loss.backward()
                optimizer.step()
        """
    ),
    "a function of autograd": IMPORTS
    + textwrap.dedent(
        """
        class Clip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)

            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return grad * (x > 0).float()
        """
    ),
    "Keras: a function that builds": textwrap.dedent(
        """
        from keras import Sequential
        from keras.layers import Dense, Input

        def build_model():
            model = Sequential([Input((8,)), Dense(16, activation="relu"), Dense(3, activation="softmax")])
            model.compile(loss="categorical_crossentropy", optimizer="adam")
            return model
        """
    ),
    "a class that trains what it is built with": textwrap.dedent(
        """
        import torch

        class Runner:
            def __init__(self, model, optimizer, loss_f, save_dir=None):
                self.model, self.optimizer, self.loss_f = model, optimizer, loss_f

            def _pass(self, loader, is_train=True):
                for data, target in loader:
                    with torch.set_grad_enabled(is_train):
                        loss = self.loss_f(self.model(data), target)
                        if is_train:
                            self.optimizer.zero_grad()
                            loss.backward()
                            self.optimizer.step()

            def train(self, data_loader):
                self.model.train()
                self._pass(data_loader)

            def test(self, data_loader):
                self.model.eval()
                self._pass(data_loader, is_train=False)

            def loop(self, epochs, train_data, test_data):
                for _ in range(epochs):
                    self.train(train_data)
                    self.test(test_data)
        """
    ),
    "batches with named parts, time first and classes from 1": textwrap.dedent(
        """
        import torch
        import torch.nn.functional as F

        def fit(train_iter, dev_iter, model, args):
            optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
            steps = 0
            model.train()
            for batch in train_iter:
                words, wanted = batch.text, batch.label
                words.t_(), wanted.sub_(1)
                optimizer.zero_grad()
                F.cross_entropy(model(words), wanted).backward()
                optimizer.step()
                steps += 1
                if steps % args.test_interval == 0:
                    check(dev_iter, model)
            torch.save(model.state_dict(), f"{args.save_dir}.pt")

        def check(data_iter, model):
            model.eval()
            with torch.no_grad():
                right = sum(int((model(batch.text.t()).argmax(1) == batch.label - 1).sum()) for batch in data_iter)
            model.train()
            print(right / len(data_iter.dataset))
        """
    ),
    "Keras: a subclass": textwrap.dedent(
        """
        import keras
        from keras import layers

        class Net(keras.Model):
            def __init__(self, units, num_classes):
                super().__init__()
                self.first = layers.Dense(units, activation="relu")
                self.last = layers.Dense(num_classes, activation="softmax")

            def call(self, inputs):
                return self.last(self.first(inputs))
        """
    ),
    "Keras: a network that is never fitted": textwrap.dedent(
        """
        from keras import Sequential
        from keras.layers import Dense, Input

        model = Sequential([Input((8,)), Dense(16, activation="relu"), Dense(1, activation="sigmoid")])
        model.compile(loss="binary_crossentropy", optimizer="adam")
        model.summary()
        """
    ),
}


def case(text: str) -> Case:
    return Case(Source.from_bytes(text.encode(), "program.py"), (), lambda name: True, Path("/nowhere"))


def planned(text: str) -> list[EditStep | Gap]:
    return list(network.steps(case(text)))


def steps(text: str) -> list[EditStep]:
    return [step for step in planned(text) if isinstance(step, EditStep)]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_definitions_run_and_nothing_is_found_in_them(name: str, run_in: Run) -> None:
    text = HEALTHY[name]
    scaffold = joined(steps(text))
    assert scaffold.end, planned(text)
    trace = run_in(text, scaffold)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.network is not None
    assert trace.network.calls
    assert trace.steps, trace.printed
    active = [template for template in registry.templates(()) if template.default]
    found = detect(Subject(Source.from_bytes(text.encode(), "program.py"), trace), active)
    assert not found.failures
    assert not [(f.code, f.site.line, f.message) for f in found.findings]


def test_a_mismatch_between_two_layers_shows(run_in: Run) -> None:
    text = CNN.replace("nn.Conv2d(6, 16, 5)", "nn.Conv2d(8, 16, 5)")
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.CRASHED
    assert trace.crash is not None and trace.crash.site is not None
    assert "self.conv2(x)" in text.split("\n")[trace.crash.site.line - 1]


def test_a_name_that_a_class_lacks_shows(run_in: Run) -> None:
    text = CNN.replace("self.fc2(F", "self.fc3(F")
    trace = run_in(text, joined(steps(text)))
    assert trace.crash is not None and trace.crash.kind == "AttributeError"


def test_the_stated_shape_is_taken_even_where_it_does_not_fit(run_in: Run) -> None:
    text = CNN + "\n# x = torch.randn(4, 1, 32, 32)\n"
    found = steps(text)
    assert "x = torch.randn(4, 1, 32, 32)" in found[0].evidence
    trace = run_in(text, joined(found))
    assert trace.crash is not None and "mat1 and mat2" in trace.crash.message
    assert trace.crash.site is not None and "self.fc1" in text.split("\n")[trace.crash.site.line - 1]


def test_a_shape_in_the_docstring_is_taken_and_one_of_a_later_value_is_not(run_in: Run) -> None:
    text = CNN.replace("(self, x):\n", '(self, x):\n        """x: (batch, 1, 32, 32)"""\n')
    assert "self.fc1" in text.split("\n")[(run_in(text, joined(steps(text))).crash.site.line) - 1]  # type: ignore[union-attr]
    later = CNN.replace("self.conv1(x)), 2)", "self.conv1(x)), 2)  # (batch, 6, 12, 12)")
    assert network.CANNOT_SHOW in steps(later)[0].evidence


def test_an_unstated_shape_is_told() -> None:
    assert network.CANNOT_SHOW in steps(CNN)[0].evidence


def test_a_network_that_no_size_fits_is_not_run(run_in: Run) -> None:
    text = CNN.replace("16 * 4 * 4", "1111")
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.FINISHED
    assert not trace.steps
    assert trace.network is None or not trace.network.calls


def test_guessed_sizes_that_do_not_go_together_are_no_fault(run_in: Run) -> None:
    text = IMPORTS + textwrap.dedent(
        """
        class Residual(nn.Module):
            def __init__(self, in_channels, out_channels):
                super().__init__()
                self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)

            def forward(self, x):
                return F.relu(self.conv(x) + x)
        """
    )
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert "no usual sizes go through Residual" in trace.printed


def test_an_update_that_a_training_function_forgets_shows(run_in: Run) -> None:
    text = HEALTHY["a training function alone"].replace("optimizer.zero_grad()", "pass")
    trace = run_in(text, joined(steps(text)))
    source = Source.from_bytes(text.encode(), "program.py")
    assert trace.steps
    assert "zero_grad" not in {event.name for event in trace.loop}
    assert source.text == text


def test_programs_that_do_something_are_left_alone() -> None:
    used = CNN + "\nnet = Net()\nprint(net(torch.zeros(2, 1, 28, 28)).shape)\n"
    assert is_active(case(used).source)
    assert not planned(used)
    assert not planned(CNN + '\nif __name__ == "__main__":\n    print(Net()(torch.zeros(2, 1, 28, 28)))\n')
    assert not planned("def f(x):\n    return x + 1\n")
    assert not planned(
        "import numpy as np\nclass Table:\n    def __init__(self, rows):\n        self.rows = np.array(rows)\n"
    )


def test_what_cannot_be_built_or_fed_is_said() -> None:
    text = CNN.replace("num_classes=10", "num_classes, mystery")
    assert [one.what for one in planned(text) if isinstance(one, Gap)] == [
        "Net is never used, and to build it what `mystery` of Net is is missing: add a call of it"
    ]
    text = CNN.replace("def forward(self, x):", "def forward(self, x, mystery):")
    assert any(isinstance(one, Gap) and "nothing tells what goes into it" in one.what for one in planned(text))


def test_a_function_that_trains_by_itself_is_called() -> None:
    found = steps(CNN + "\ndef main():\n    net = Net()\n    net(torch.zeros(1, 1, 28, 28)).sum().backward()\n")
    assert [step.scaffold.end for step in found] == ["main()"]


def test_the_way_in_is_followed_through_methods_and_reshapes() -> None:
    text = IMPORTS + textwrap.dedent(
        """
        class Net(nn.Module):
            def forward(self, x, y):
                x = self.features(x.unsqueeze(1).float())
                for layer in self.rest:
                    y = layer(y.permute(0, 2, 1))
                return x + y

            def features(self, image):
                return self.conv(image)
        """
    )
    first, second = feeds(case(text).source)["Net"]
    assert (first.operations, first.layer, first.known) == ((("unsqueeze", (1,)),), "conv", True)
    assert (second.operations, second.layer) == ((("permute", (0, 2, 1)),), "rest.0")


def test_only_the_roots_are_brought_to_life() -> None:
    text = (
        IMPORTS
        + "class A(nn.Module):\n    pass\n\nclass B(nn.Module):\n    def __init__(self):\n        self.a = A()\n"
    )
    assert [node.name for node in roots(case(text).source)] == ["B"]


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        (IMPORTS + "net = nn.Linear(3, 2)\nloss = criterion(net(x), y)\n", "criterion", "torch.nn.CrossEntropyLoss()"),
        (
            IMPORTS + "net = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())\nloss_fn(net(x), y)\n",
            "loss_fn",
            "torch.nn.BCELoss()",
        ),
        (
            IMPORTS + "net = nn.Sequential(nn.Linear(3, 1))\noptimizer.zero_grad()\n",
            "optimizer",
            "torch.optim.Adam(net",
        ),
        (IMPORTS + "net = nn.Linear(3, 2).to(device)\n", "device", "torch.device("),
    ],
)
def test_undefined_parts_of_a_training_are_the_usual_ones(text: str, name: str, code: str) -> None:
    found = {pair[0]: (step, pair[1]) for step in steps(text) for pair in step.scaffold.definitions}
    assert code in found[name][1].replace("_made_torch", "torch")


def test_an_undefined_network_is_not_made_up() -> None:
    found = planned(IMPORTS + "out = model(torch.zeros(2, 3))\n")
    assert [one.what for one in found if isinstance(one, Gap)] == [
        "`model` is used and nothing says what network it is: add the code that builds it"
    ]
    assert not [one for one in found if isinstance(one, EditStep)]


PRINTED = """
# Sequential(
#   (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1))
#   (1): ReLU()
#   (2): Flatten(start_dim=1, end_dim=-1)
#   (3): Linear(in_features=2704, out_features=10, bias=True)
# )
"""


def test_a_network_that_was_printed_is_built_as_it_was(run_in: Run) -> None:
    text = IMPORTS + PRINTED + "print(net(torch.zeros(2, 1, 28, 28)).shape)\n"
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "torch.Size([2, 10])\n"
    unclear = text.replace("(1): ReLU()", "(1): Mystery()")
    assert not [one for one in planned(unclear) if isinstance(one, EditStep)]


def test_the_class_of_settings_of_a_program_is_used_where_it_is_complete() -> None:
    net = "class Net(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    net += "        self.fc = nn.Linear(config.n_embd, 3)\n    def forward(self, x):\n        return self.fc(x)\n"
    assert "Net(config=ModelConfig())" in steps(IMPORTS + "class ModelConfig:\n    n_embd = 8\n\n" + net)[0].what
    assert "n_embd=32" in steps(IMPORTS + "class ModelConfig:\n    n_embd: int = None\n\n" + net)[0].what


def test_a_layer_of_another_file_is_no_layer_of_torch_by_its_name(run_in: Run) -> None:
    beside = """
        import sys, types
        beside = types.ModuleType("beside")
        exec("class Linear(nn.Module):\\n    def __init__(self, inner):\\n        super().__init__()\\n"
             "        self.inner = inner\\n    def forward(self, x):\\n        return self.inner(x).tanh()",
             {"nn": nn, "__name__": "beside"}, vars(beside))
        sys.modules["beside"] = beside
        from beside import Linear

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = Linear(nn.Linear(6, 4))

            def forward(self, x):
                return self.first(x)
    """
    text = IMPORTS + textwrap.dedent(beside)
    trace = run_in(text, joined(steps(text)))
    assert trace.outcome is RunOutcome.FINISHED and trace.steps, trace.detail
