"""Steps, skill, parameters and the order of the training loop."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from tests.observing import Observe

REGRESSION = """
import torch
torch.manual_seed(1)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for i in range(60):
    optimizer.zero_grad()
    prediction = net(x)
    loss = {loss}
    loss.backward()
    optimizer.step()
"""


def test_the_events_of_the_loop_in_order_for_three_steps(observe: Observe) -> None:
    seen = observe(REGRESSION.format(loss="torch.nn.functional.mse_loss(prediction, y)"))
    events = [(e["name"], e["step"]) for e in seen.of("loop")]
    assert events == [(name, step) for step in range(3) for name in ("zero_grad", "forward", "backward", "step")]
    assert [seen.text(e["site"]) for e in seen.of("loop")[:4]] == [
        "optimizer.zero_grad()",
        "net(x)",
        "loss.backward()",
        "optimizer.step()",
    ]


def test_train_eval_and_no_grad_are_events_and_nested_modules_are_not(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
        @torch.no_grad()
        def evaluate(x):
            return net(x)
        net.train()
        net.eval()
        evaluate(torch.rand(1, 2))
        net.train(False)
        with torch.no_grad():
            torch.optim.SGD(net.parameters(), lr=0.1).zero_grad()
        """
    )
    assert [e["name"] for e in seen.of("loop")] == [
        "train",
        "eval",
        "no_grad",
        "forward",
        "eval",
        "no_grad",
        "zero_grad",
    ]


def test_steps_measure_loss_gradient_update_and_skill(observe: Observe) -> None:
    seen = observe(REGRESSION.format(loss="torch.nn.functional.mse_loss(prediction, y)"), steps=60)
    assert [s["index"] for s in seen.steps] == list(range(60))
    first, last = seen.steps[0], seen.steps[-1]
    assert first["loss"] > 1 > last["loss"] and first["gradient"] > 0 and first["update"] > 0
    assert last["skill"] > 0.95 and last["skill"] > first["skill"]
    assert last["output_std"] > 1


def test_the_skill_of_a_loss_that_the_program_writes_out(observe: Observe) -> None:
    def told(run: Any) -> list[float]:
        return [s["skill"] for s in run.steps if s["skill"] is not None]

    known = observe(REGRESSION.format(loss="torch.nn.functional.mse_loss(prediction, y)"), steps=60)
    assert len(told(known)) > 30
    for written in (
        "((prediction - y) ** 2).mean()",
        "(y - prediction).pow(2).sum() / len(y)",
        "torch.mean((prediction - y)**2)",
    ):
        seen = observe(REGRESSION.format(loss=written), steps=60)
        assert told(seen) == pytest.approx(told(known), abs=1e-3)


WRITTEN_OUT = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, {outputs})
x = torch.randn(200, 3)
y = {target}
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

def penalty(weight):
    return ((weight - torch.zeros(3)) ** 2).sum()

def error(rows):
    return {loss}

for i in range(100):
    loss = error(slice(i % 4 * 50, i % 4 * 50 + 50)) + 1e-4 * penalty(net.weight)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

AMOUNTS = ("x @ torch.tensor([[1.0], [2.0], [-1.0]])", 1)
ANSWERS = ("torch.eye(3)[x.argmax(1)]", 3)


@pytest.mark.parametrize(
    ("data", "loss"),
    [
        (AMOUNTS, "((net(x[rows]) - y[rows]) ** 2).mean()"),
        (AMOUNTS, "(y[rows] - net(x[rows])).abs().mean()"),
        (AMOUNTS, "torch.sub(net(x[rows]), y[rows]).square().mean()"),
        (AMOUNTS, "(y[rows].sub(net(x[rows])) ** 2).mean()"),
        (ANSWERS, "-(y[rows] * torch.log(net(x[rows]).softmax(1))).mean()"),
        (ANSWERS, "-(net(x[rows]).softmax(1).log() * y[rows]).mean()"),
    ],
)
def test_what_a_loss_compares_needs_no_names(observe: Observe, data: tuple[str, int], loss: str) -> None:
    source = WRITTEN_OUT.format(target=data[0], outputs=data[1], loss=loss)
    honest = [step["skill"] for step in observe(source, steps=100).steps]
    assert None not in honest[1:32] and honest[96] > 0.8
    shuffled = observe(source, steps=100, experiments=["shuffle-targets"])
    assert shuffled.probe("shuffle-targets") is True
    assert max(step["skill"] for step in shuffled.steps[20:] if step["skill"] is not None) < 0.4


def test_a_network_can_be_compiled_to_a_script_behind_a_loss_that_is_written_out(observe: Observe) -> None:
    source = (
        WRITTEN_OUT.format(target=AMOUNTS[0], outputs=1, loss="((net(x[rows]) - y[rows]) ** 2).mean()")
        + """
@torch.jit.script
def shifted(a, b):
    return torch.sub(a, b) - torch.mul(a, b) * a.sub(b)
print(shifted(x, x).shape)
"""
    )
    assert "torch.Size([200, 3])" in observe(source, steps=100).printed


def test_listening_where_a_loss_is_written_out_leaves_the_program_as_it_is(observe: Observe) -> None:
    kept = """
{program}
a = torch.arange(3.0)
print(a - 1, 1 - a, a.sub(2, alpha=3), torch.sub(a, a), (a - a[:, None]).shape, [2.0] * 3)
try:
    a - "text"
except TypeError as error:
    print(error)
"""
    written = kept.format(
        program=WRITTEN_OUT.format(target=AMOUNTS[0], outputs=1, loss="((net(x[rows]) - y[rows]) ** 2).mean()")
    )
    named = kept.format(
        program=WRITTEN_OUT.format(
            target=AMOUNTS[0], outputs=1, loss="torch.nn.functional.mse_loss(net(x[rows]), y[rows])"
        )
    )
    heard, known = observe(written, steps=100), observe(named, steps=100)
    assert heard.printed == known.printed and "unsupported operand" in heard.printed and heard.of("note") == []
    assert heard.steps[-1]["loss"] == pytest.approx(known.steps[-1]["loss"], rel=1e-4)


def test_a_broadcast_does_not_hide_in_the_skill(observe: Observe) -> None:
    source = REGRESSION.format(loss="torch.nn.functional.mse_loss(prediction, y.squeeze(1))")
    seen = observe(source, steps=60)
    assert seen.steps[-1]["skill"] < 0.3
    prediction, target = seen.call("torch.nn.functional.mse_loss")["inputs"]
    assert (prediction["shape"], target["shape"]) == ([64, 1], [64])


CLASSES = """
import torch
torch.manual_seed(3)
x = torch.randn(60, 4)
y = {target}
net = torch.nn.Linear(4, {outputs})
criterion = {criterion}
optimizer = torch.optim.Adam(net.parameters(), lr=0.3)
for i in range(60):
    for start in range(0, 60, {batch}):
        optimizer.zero_grad()
        output = net(x[start:start + {batch}])
        loss = criterion(output, y[start:start + {batch}])
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("target", "outputs", "criterion", "batch"),
    [
        ("x[:, :3].argmax(1)", 3, "torch.nn.CrossEntropyLoss()", 20),
        ("x[:, :3].argmax(1)", 3, "torch.nn.CrossEntropyLoss()", 1),
        ("torch.nn.functional.one_hot(x[:, :3].argmax(1)).float()", 3, "torch.nn.MSELoss()", 20),
        ("(x[:, :1] > 0).float()", 1, "torch.nn.BCEWithLogitsLoss()", 20),
    ],
)
def test_skill_nears_one_for_what_is_learnt(
    observe: Observe, target: str, outputs: int, criterion: str, batch: int
) -> None:
    source = CLASSES.format(target=target, outputs=outputs, criterion=criterion, batch=batch)
    skills = [s["skill"] for s in observe(source, steps=300).steps]
    assert None not in skills[1:32] and skills[-1] is not None
    assert skills[-1] > (0.75 if batch > 1 else 0.4)


def test_skill_is_about_zero_for_targets_that_say_nothing(observe: Observe) -> None:
    source = CLASSES.format(
        target="torch.randint(0, 3, (60,))", outputs=3, criterion="torch.nn.CrossEntropyLoss()", batch=60
    ).replace("lr=0.3", "lr=0.0")
    skills = [s["skill"] for s in observe(source, steps=50).steps]
    assert max(skill for skill in skills if skill is not None) < 0.3


def test_a_loss_that_is_not_finite_is_told_as_such(observe: Observe) -> None:
    seen = observe(REGRESSION.format(loss="torch.log(prediction - 100).mean()"), steps=4)
    assert math.isnan(seen.steps[0]["loss"]) and seen.steps[0]["skill"] is None


PARAMETERS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4), nn.Linear(4, 4)]
        self.head = nn.Linear(4, 1)
        self.unused = nn.Linear(2, 2)
        self.frozen = nn.Linear(4, 4)
        self.frozen.weight.requires_grad = False
        nn.init.zeros_(self.head.weight)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(self.frozen(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.MSELoss()(net(torch.ones(4, 4)), torch.ones(4, 1))
    loss.backward()
    optimizer.step()
"""


def test_what_is_said_of_parameters(observe: Observe) -> None:
    seen = observe(PARAMETERS)
    p = seen.parameters
    assert p["head.weight"]["optimized"] and p["head.weight"]["constant"] and p["head.weight"]["gradient"] > 0
    assert (
        p["head.weight"]["update"] > 0 and p["head.weight"]["component"] == seen.component("torch.nn.Linear", 2)["id"]
    )
    assert p["unused.weight"]["gradient"] is None and p["unused.weight"]["update"] == 0.0
    assert p["frozen.weight"]["trainable"] is False and p["frozen.weight"]["constant"] is False
    assert p["head.bias"]["constant"] is None


def test_layers_in_a_plain_list_have_parameters_that_no_optimizer_holds(observe: Observe) -> None:
    seen = observe(PARAMETERS)
    assert seen.parameters["layers[0].weight"]["optimized"] is False
    assert seen.parameters["layers[0].weight"]["component"] == seen.component("torch.nn.Linear", 0)["id"]
    assert seen.component("torch.nn.Linear", 1)["attribute"] == "layers[1]"
    assert "layers[0].weight" not in seen.component("torch.optim.SGD")["parameters"]


def test_parameters_that_the_optimizer_does_not_hold(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
        optimizer = torch.optim.Adam(net[1].parameters())
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        """
    )
    assert {n: p["optimized"] for n, p in seen.parameters.items()} == {
        "0.weight": False,
        "0.bias": False,
        "1.weight": True,
        "1.bias": True,
    }
    assert seen.component("torch.optim.Adam")["parameters"] == ["1.weight", "1.bias"]


def test_two_networks_with_two_optimizers(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch import nn
        class Generator(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(2, 4)
            def forward(self, z):
                return self.body(z)
        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 1)
            def forward(self, x):
                return torch.sigmoid(self.body(x))
        generator, critic = Generator(), Critic()
        g_optimizer = torch.optim.Adam(generator.parameters())
        d_optimizer = torch.optim.Adam(critic.parameters())
        criterion = nn.BCELoss()
        for _ in range(5):
            d_optimizer.zero_grad()
            fake = generator(torch.randn(8, 2))
            d_loss = criterion(critic(torch.rand(8, 4)), torch.ones(8, 1)) + criterion(critic(fake.detach()), torch.zeros(8, 1))
            d_loss.backward()
            d_optimizer.step()
            g_optimizer.zero_grad()
            g_loss = criterion(critic(fake), torch.ones(8, 1))
            g_loss.backward()
            g_optimizer.step()
        """,
        steps=10,
    )
    assert len(seen.steps) == 10
    assert set(seen.parameters) == {
        "Generator.body.weight",
        "Generator.body.bias",
        "Critic.body.weight",
        "Critic.body.bias",
    }
    assert all(p["optimized"] and p["gradient"] is not None for p in seen.parameters.values())
    assert seen.component("torch.optim.Adam", 1)["parameters"] == ["Critic.body.weight", "Critic.body.bias"]
    assert seen.producer(seen.calls("torch.nn.Linear")[2]["inputs"][0]) == "torch.Tensor.detach"


def test_training_without_an_optimizer_counts_steps_by_backward(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        torch.manual_seed(0)
        x = torch.randn(32, 1)
        y = 3 * x
        w = torch.zeros(1, 1, requires_grad=True)
        for i in range(1000):
            loss = ((x @ w - y) ** 2).mean()
            loss.backward()
            w.data -= 0.1 * w.grad.data
            w.grad.data.zero_()
        print("done", i)
        """,
        steps=8,
    )
    assert len(seen.steps) == 8 and seen.of("cut")
    assert seen.steps[0]["loss"] > seen.steps[-1]["loss"] and seen.steps[0]["gradient"] > 0
    assert seen.parameters["w"]["optimized"] and seen.parameters["w"]["update"] > 0
    assert "torch.Tensor.sub_" in seen.names()


def test_backward_of_torch_autograd_is_one_backward(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        for i in range(20):
            loss = (w ** 2).sum()
            torch.autograd.backward(loss)
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad.zero_()
        """,
        steps=5,
    )
    assert len(seen.steps) == 5
    assert [e["name"] for e in seen.of("loop")] == ["backward", "no_grad"] * 3
    assert seen.text(seen.of("loop")[1]["site"]) == "torch.no_grad()"


def test_an_optimizer_that_never_steps_is_cut_too(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(100000):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(torch.ones(2, 2)), torch.zeros(2, 1))
            loss.backward()
        """,
        steps=6,
    )
    assert seen.outcome == "finished" and not [e for e in seen.of("loop") if e["name"] == "step"]
    assert not any(p["optimized"] for p in seen.parameters.values())


def test_accumulated_gradients_are_one_step(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(12):
            net(torch.ones(2, 2)).sum().backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
        """,
        steps=20,
    )
    assert len(seen.steps) == 3


def test_evaluation_is_cut_to_its_batches_and_training_is_not(observe: Observe) -> None:
    seen = observe(
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        loader = DataLoader(TensorDataset(torch.rand(80, 3), torch.rand(80, 1)), batch_size=4)
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained = evaluated = 0
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
            trained += 1
        net.eval()
        for x, y in loader:
            net(x)
            evaluated += 1
        print(trained, evaluated)
        """,
        steps=100,
        evaluation_batches=3,
    )
    assert "20 3" in seen.printed
    assert [seen.text(e["site"]) for e in seen.of("cut")] == ["loader"]


def test_the_same_seed_gives_the_same_trace(observe: Observe) -> None:
    def told(seen: Any) -> list[dict[str, Any]]:
        return [e for e in seen.events if e["event"] != "end"]

    assert told(observe(PARAMETERS, seed=5)) == told(observe(PARAMETERS, seed=5))


def test_random_numbers_are_those_of_a_run_without_the_probe(observe: Observe) -> None:
    source = """
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
        loss.backward()
        optimizer.step()
    print("%.12f %.12f" % (loss.item(), net[2].running_mean.sum().item()))
    """
    everything = ["batch-sizes", "input-dependence", "adversarial", "information"]
    code = "import torch\ntorch.manual_seed(0)\ntorch.set_num_threads(1)\n" + textwrap.dedent(source)
    plain = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert observe(source, steps=100, experiments=everything).printed.split()[-2:] == plain.stdout.split()


TWO_OPTIMIZERS = """
import torch
first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
ours = torch.optim.SGD(first.parameters(), lr=0.1)
theirs = torch.optim.SGD(second.parameters(), lr=0.1)
for i in range(40):
    second(first(torch.ones(1, 2))).sum().backward()
    ours.step()
    if i % 5 == 4:
        theirs.step()
"""


def test_an_optimizer_whose_turn_comes_late_still_counts(observe: Observe) -> None:
    seen = observe(TWO_OPTIMIZERS, steps=20)
    assert [p["optimized"] for p in seen.parameters.values()] == [True] * 4
    assert all(p["update"] > 0 and p["gradient"] > 0 for p in seen.parameters.values())


def test_an_optimizer_whose_turn_the_budget_took_is_unknown(observe: Observe) -> None:
    seen = observe(TWO_OPTIMIZERS, steps=3)
    assert [p["optimized"] for p in seen.parameters.values()] == [True, True, None, None]


WARMED_UP = """
import torch
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: {rate})
for i in range(10):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    schedule.step()
"""


@pytest.mark.parametrize(("rate", "moves"), [("step / 10", True), ("0", False)])
def test_a_step_at_a_learning_rate_of_zero_is_not_the_one_that_is_measured(
    observe: Observe, rate: str, moves: bool
) -> None:
    seen = observe(WARMED_UP.format(rate=rate), steps=10)
    assert all(p["optimized"] and (p["update"] > 0) is moves for p in seen.parameters.values())


@pytest.mark.parametrize(("rate", "moves"), [("0.1 * min(self.count, 1)", True), ("0.0 * self.count", False)])
def test_a_step_with_which_an_optimizer_of_the_program_moves_nothing_is_not_the_one_that_counts(
    observe: Observe, rate: str, moves: bool
) -> None:
    seen = observe(
        f"""
        import torch
        class Warm(torch.optim.Optimizer):
            count = 0
            def step(self, closure=None):
                for group in self.param_groups:
                    for weight in group["params"]:
                        weight.data -= {rate} * weight.grad
                self.count += 1
        net = torch.nn.Linear(2, 1)
        optimizer = Warm(net.parameters(), dict(lr=0.1))
        for step in range(3):
            loss = net(torch.rand(4, 2)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    assert all(p["optimized"] and (p["update"] > 0) is moves for p in seen.parameters.values())
    assert all(p["gradient"] > 0 for p in seen.parameters.values())
