"""Experiments on the model, made after the program has ended."""

from __future__ import annotations

from tests.observing import Observe

PROGRAM = """
import torch
from torch import nn
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)
    def forward(self, x):
        {forward}

x = torch.randn(30, {shape})
y = torch.arange(30) % 3
net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for _ in range(40):
    optimizer.zero_grad()
    loss = criterion(net(x[:10]), y[:10])
    loss.backward()
    optimizer.step()
"""


def program(forward: str = "return self.fc(x)", shape: str = "8") -> str:
    return PROGRAM.format(forward=forward, shape=shape)


def test_a_sound_model_takes_other_batch_sizes(observe: Observe) -> None:
    assert observe(program(), experiments=["batch-sizes"]).probe("batch-sizes") == {"1": "ok", "3": "ok", "5": "ok"}


def test_a_model_that_fixes_its_batch_size_does_not(observe: Observe) -> None:
    answer = observe(program("return self.fc(x.view(10, 8))"), experiments=["batch-sizes"]).probe("batch-sizes")
    assert set(answer) == {"1", "3", "5"} and all("invalid for input of size" in text for text in answer.values())


def test_a_view_that_mixes_samples_changes_the_number_of_rows(observe: Observe) -> None:
    source = program("return self.fc(x.reshape(10, -1)[:, :8])", shape="16")
    answer = observe(source, experiments=["batch-sizes"]).probe("batch-sizes")
    assert "ok" not in answer.values() or answer["5"] == "the output has 10 rows for 5 samples"


def test_the_output_depends_on_the_input_or_does_not(observe: Observe) -> None:
    experiments = ["input-dependence"]
    assert observe(program(), experiments=experiments).probe("input-dependence") > 0.1
    assert observe(program("return self.fc(x * 0)"), experiments=experiments).probe("input-dependence") == 0.0


def test_a_sum_over_the_rows_depends_on_their_values_though_not_on_their_order(observe: Observe) -> None:
    source = """
    import torch
    from torch import nn

    class Context(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(9, 4)
            self.out = nn.Linear(4, 9)

        def forward(self, words):
            return self.out(self.embedding(words).sum(0, keepdim=True){factor})

    Context()(torch.tensor([3, 1, 7, 2]))
    """
    experiments = ["input-dependence"]
    assert observe(source.replace("{factor}", ""), experiments=experiments).probe("input-dependence") > 0.01
    assert observe(source.replace("{factor}", " * 0"), experiments=experiments).probe("input-dependence") == 0.0


def test_the_same_input_again_says_nothing_of_dependence(observe: Observe) -> None:
    """Indices that are all zero have no other value of their kind to try: that is no constant output."""
    source = """
    import torch
    from torch import nn
    words = nn.Sequential(nn.Embedding(1, 4), nn.Linear(4, 2))
    words(torch.zeros(1, 6, dtype=torch.long))
    """
    assert observe(source, experiments=["input-dependence"]).probe("input-dependence") is None


def test_an_adversarial_step_raises_the_loss(observe: Observe) -> None:
    assert observe(program(), experiments=["adversarial"]).probe("adversarial") > 0.0


def test_information_is_the_share_of_the_data_that_reaches_the_first_layer(observe: Observe) -> None:
    assert observe(program(), experiments=["information"]).probe("information") == 1.0
    cropped = observe(program("return self.fc(x[:, :8])", shape="32"), experiments=["information"])
    assert cropped.probe("information") == 0.25


def test_shuffled_targets_cannot_be_learnt(observe: Observe) -> None:
    source = program().replace("y = torch.arange(30) % 3", "y = x[:, :3].argmax(1)").replace("range(40)", "range(300)")
    honest = [s["skill"] for s in observe(source, steps=200).steps if s["skill"] is not None]
    shuffled = observe(source, steps=200, experiments=["shuffle-targets"])
    assert shuffled.probe("shuffle-targets") is True
    assert honest[-1] > 0.8
    assert max(s["skill"] for s in shuffled.steps[20:] if s["skill"] is not None) < 0.6


def test_experiments_leave_no_trace_in_the_run(observe: Observe) -> None:
    everything = ["batch-sizes", "input-dependence", "adversarial", "information"]
    source = program("print('forward'); return self.fc(x)")
    plain, measured = observe(source), observe(source, experiments=everything)
    assert plain.printed == measured.printed
    kept = {"begin", "call", "loop", "step", "parameters"}
    assert [e for e in plain.events if e["event"] in kept] == [e for e in measured.events if e["event"] in kept]


def test_a_single_vector_without_batch_axis_is_not_resized(observe: Observe) -> None:
    text = program().replace("net(x[:10]), y[:10]", "net(x[0]), y[0]")
    assert not observe(text, experiments=["batch-sizes"]).probe("batch-sizes")


LAYERS = """
import torch
from torch import nn
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(8, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.act = nn.ReLU()
    def forward(self, x):
        x = torch.sigmoid(100 * self.first(x))
        x = self.act(self.second(x) {shift})
        return self.last(x)

x, y = torch.randn(30, 8), torch.arange(30) % 3
net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(20):
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        net(x * 0)
    net.train()
"""


def test_what_layers_give_and_which_gradients_reach_them_is_looked_at_in_a_few_steps(observe: Observe) -> None:
    seen = observe(LAYERS.format(shift=""), steps=20, experiments=["units"])
    found = seen.probe("units")
    assert found["steps"] == [4, 8, 16]
    layers = {(layer["name"], layer["site"][0]): layer for layer in found["layers"]}
    assert all(share > 0.6 for share in layers["sigmoid", 11]["shares"])
    assert all(0.2 < share < 0.8 for share in layers["ReLU", 9]["shares"])
    assert [weight["name"] for weight in found["weights"]] == ["first.weight", "second.weight", "last.weight"]
    assert all(size > 0 for weight in found["weights"] for size in weight["gradients"])
    dead = observe(LAYERS.format(shift="- 50"), steps=20, experiments=["units"]).probe("units")
    (rectifier,) = [layer for layer in dead["layers"] if layer["name"] == "ReLU"]
    assert rectifier["shares"] == [1.0, 1.0, 1.0]
    reached = {weight["name"]: max(weight["gradients"]) for weight in dead["weights"]}
    assert reached["first.weight"] == reached["last.weight"] == 0.0


def test_looking_at_layers_changes_nothing(observe: Observe) -> None:
    plain, looked = (observe(LAYERS.format(shift=""), steps=20, experiments=wanted) for wanted in ([], ["units"]))
    assert [step["loss"] for step in plain.steps] == [step["loss"] for step in looked.steps]


ONE_BY_ONE = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(60, 8)
y = (x[:, 0] > 0).long()
net = nn.Linear(8, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for place in list(range(60)) * 3:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x[place : place + 1]), y[place : place + 1]).backward()
    optimizer.step()
"""


def test_targets_that_come_one_by_one_are_those_of_earlier_steps(observe: Observe) -> None:
    plain, shuffled = (observe(ONE_BY_ONE, steps=180, experiments=wanted) for wanted in ([], ["shuffle-targets"]))
    assert shuffled.probe("shuffle-targets") is True
    ends = [sum(step["loss"] for step in seen.steps[-40:]) / 40 for seen in (plain, shuffled)]
    assert ends[0] < 0.3 and ends[1] > 0.6
