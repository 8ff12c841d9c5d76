"""Trainings of torch that are watched: sound ones show no symptom, and each fault shows its own."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dnnfix
from dnnfix.watching.log import read_log

torch = pytest.importorskip("torch")

from torch import nn

from tests.watching import trainings

EAGER: dict[str, Any] = {"share": 1.0, "patience": 120, "log": None}
"""A look at about every step, and a judgement far sooner than by default: harder on sound trainings than what users have."""


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


def names(watch: Any) -> list[str]:
    return [seen.reading.name for seen in watch.seen]


@pytest.mark.parametrize("kind", sorted(trainings.HEALTHY))
def test_sound_trainings_show_nothing(kind: str) -> None:
    make, train = trainings.HEALTHY[kind]
    net = make()
    with dnnfix.watch(net, **EAGER) as watch:
        train(net)
    assert watch.seen == []
    assert watch.steps >= 140 and watch._looks >= 10, "a watch that does not look sees nothing"


def test_both_adversaries_may_be_watched_apart() -> None:
    net = trainings.Adversaries()
    with dnnfix.watch(net.generator, **EAGER) as first, dnnfix.watch(net.discriminator, **EAGER) as second:
        trainings.adversarial(net)
    assert first.seen == second.seen == []
    assert first.steps == second.steps == trainings.STEPS


def test_the_watch_changes_nothing_and_leaves_nothing() -> None:
    before = (torch.autograd.backward, nn.functional.cross_entropy, torch.utils.data.DataLoader.__iter__)
    weights = []
    for watched in (False, True):
        torch.manual_seed(0)
        net = trainings.perceptron()
        if watched:
            with dnnfix.watch(net, **EAGER):
                trainings.plainly(net, 60)
        else:
            trainings.plainly(net, 60)
        weights.append([weight.detach().clone() for weight in net.parameters()])
        assert not net._forward_hooks and not net[0]._forward_hooks
    assert all(torch.equal(one, other) for one, other in zip(*weights, strict=True))
    after = (torch.autograd.backward, nn.functional.cross_entropy, torch.utils.data.DataLoader.__iter__)
    assert before == after


def dead() -> nn.Module:
    net = trainings.perceptron()
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
    return net


def saturated() -> nn.Module:
    net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
    with torch.no_grad():
        net[0].bias.fill_(200.0)
    return net


def longer(net: nn.Module) -> None:
    trainings.plainly(net, 600)


def slowly(net: nn.Module) -> None:
    trainings.plainly(net, rate=1e-7)


def of_other_weights(net: nn.Module) -> None:
    """The optimizer holds the weights of a network that was made before."""
    measured, wanted = trainings.classes()
    optimizer = torch.optim.Adam(trainings.perceptron().parameters())
    for x, y in trainings.batches(measured, wanted):
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def of_a_layer_that_is_gone(net: nn.Module) -> None:
    """Only the last layer trains, and its optimizer holds the one that stood there before."""
    measured, wanted = trainings.classes()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for weight in net.parameters():
        weight.requires_grad = False
    net[2] = nn.Linear(32, 3)
    for x, y in trainings.batches(measured, wanted, steps=12_000):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def without_rate(net: nn.Module) -> None:
    """The rate is nothing after a while, as a schedule by batches makes it."""
    measured, wanted = trainings.classes()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step, (x, y) in enumerate(trainings.batches(measured, wanted)):
        if step == 50:
            optimizer.param_groups[0]["lr"] = 0.0
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def to_infinity(net: nn.Module) -> None:
    """A loss that grows without bound."""
    measured, _ = trainings.classes()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e3)
    for (x,) in trainings.batches(measured, steps=200):
        optimizer.zero_grad()
        (net(x) ** 2).mean().backward()
        optimizer.step()


def the_first_batch_again(net: nn.Module) -> None:
    """A loader that is begun anew for each step, with a rate at which nothing comes of it either."""
    data = torch.utils.data.TensorDataset(*trainings.classes())
    loader = torch.utils.data.DataLoader(data, batch_size=32)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-7)
    for _ in range(trainings.STEPS):
        x, y = next(iter(loader))
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


FAULTS: dict[str, tuple[Callable[[], nn.Module], Callable[[nn.Module], None], set[str]]] = {
    "dead": (dead, longer, {"at-chance", "dead-units"}),
    "saturated": (saturated, longer, {"at-chance", "saturated-units"}),
    "slow": (trainings.perceptron, slowly, {"at-chance", "rate-off", "small-updates"}),
    "not-held": (trainings.perceptron, of_other_weights, {"not-in-optimizer"}),
    "gone": (trainings.perceptron, of_a_layer_that_is_gone, {"at-chance"}),
    "no-rate": (trainings.perceptron, without_rate, {"weights-unmoved"}),
    "infinite": (trainings.perceptron, to_infinity, {"non-finite"}),
    "repeated": (trainings.perceptron, the_first_batch_again, {"repeated-data"}),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_each_fault_shows_its_symptoms(fault: str) -> None:
    make, train, wanted = FAULTS[fault]
    net = make()
    with dnnfix.watch(net, **EAGER) as watch:
        train(net)
    assert wanted <= set(names(watch)), names(watch)


def test_a_training_that_ends_before_it_is_found_twice_is_told_at_its_end() -> None:
    net = dead()
    with dnnfix.watch(net, **{**EAGER, "patience": 599}) as watch:
        trainings.plainly(net, 600)
        assert "at-chance" not in names(watch)
    assert "at-chance" in names(watch)


def test_training_ends_where_it_leaves_the_finite_numbers() -> None:
    net = trainings.perceptron()
    watch = dnnfix.watch(net, **EAGER, stop=True)
    with pytest.raises(dnnfix.TrainingStopped, match="finite"):
        to_infinity(net)
    assert watch.stopped and watch.closed and watch.steps < 200


def test_a_symptom_is_a_line_of_the_log_and_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = tmp_path / "symptoms.jsonl"
    net = nn.Sequential(
        nn.Linear(6, 32),
        nn.ReLU(),
        nn.Linear(32, 3),
    )
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
    with caplog.at_level(logging.WARNING, "dnnfix.watch"), dnnfix.watch(net, **{**EAGER, "log": log}) as watch:
        longer(net)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["schema"] == "dnnfix-symptoms/1" and lines[0]["program"] == __file__
    assert lines[-1]["steps"] == 600
    (unit,) = [line for line in lines if line.get("symptom") == "dead-units"]
    here = Path(__file__).read_text().splitlines()
    assert unit["where"] == "1" and unit["file"] == Path(__file__).name
    assert here[unit["line"] - 1].strip() == "nn.ReLU(),"
    assert len([record for record in caplog.records if "dead-units" in record.message]) == 1
    read = read_log(log)
    assert [seen.reading.name for seen in read.seen] == names(watch)
    assert read.steps == 600 and read.framework == "torch"


class Parts(nn.Module):  # type: ignore[misc]
    """A layer in an attribute, and an activation that is called as a function."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 32)
        self.last = nn.Linear(32, 3)

    def forward(self, x: Any) -> Any:
        return self.last(torch.relu(self.first(x) - 100.0))


def test_functions_are_seen_too_and_layers_found_in_classes() -> None:
    from dnnfix.watching import places

    net = Parts()
    with dnnfix.watch(net, **EAGER) as watch:
        longer(net)
    assert "dead-units" in names(watch)
    file, line = places.made_at(net, "last.weight", places.Program()) or ("", 0)
    assert file == __file__
    assert Path(file).read_text().splitlines()[line - 1].strip() == "self.last = nn.Linear(32, 3)"


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(dnnfix.ConfigError, match="Module. Received: int"):
        dnnfix.watch(3, log=None)
    with pytest.raises(dnnfix.ConfigError, match="share"):
        dnnfix.watch(trainings.perceptron(), log=None, share=0.0)
    with pytest.raises(dnnfix.InputError, match="cannot be written"):
        dnnfix.watch(trainings.perceptron(), log="/nowhere/symptoms.jsonl")


def test_a_model_that_is_watched_can_be_copied_and_kept(tmp_path: Path) -> None:
    net = trainings.perceptron()
    net.measure = nn.functional.cross_entropy
    with dnnfix.watch(net, **EAGER) as watch:
        for _ in range(40):
            trainings.plainly(net, 1)
            torch.save(net, tmp_path / "net.pt")
            copy.deepcopy(net)
    assert watch._looks > 3


def test_losses_that_wait_on_a_device_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnnfix.watching import torch as watching

    monkeypatch.setattr(watching, "_is_read_at_once", lambda loss: False)
    monkeypatch.setattr(watching, "_read_every", lambda seconds: 1)
    net = trainings.perceptron()
    with dnnfix.watch(net, log=None, share=1e-6) as watch:
        trainings.plainly(net, 100)
        assert [step for step, _ in watch._later] == [97, 98, 99, 100]  # type: ignore[attr-defined]
    with pytest.raises(dnnfix.TrainingStopped), dnnfix.watch(net, log=None, share=1e-6, stop=True) as watch:
        to_infinity(net)
    assert watch.seen[0].step == watch.steps and watch.steps % watching.MOST_WAITING == 0


def test_a_watch_ends_with_its_model() -> None:
    net = trainings.perceptron()
    watch = dnnfix.watch(net, log=None)
    del net
    assert watch.closed


class Writer:
    """What a `SummaryWriter` of TensorBoard is called with."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str, int]] = []

    def add_text(self, tag: str, text: str, step: int) -> None:
        self.texts.append((tag, text, step))

    def flush(self) -> None:
        pass


def test_a_writer_that_is_given_is_told() -> None:
    net, writer = trainings.perceptron(), Writer()
    with dnnfix.watch(net, **EAGER, to=writer) as watch:
        to_infinity(net)
    assert [tag for tag, _, _ in writer.texts] == [f"dnnfix/{name}" for name in names(watch)]


def test_tensorboard_itself(tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("torch.utils.tensorboard", reason="tensorboard is not installed")
    net = trainings.perceptron()
    with tensorboard.SummaryWriter(str(tmp_path)) as writer, dnnfix.watch(net, **EAGER, to=writer):
        to_infinity(net)
    assert b"dnnfix/non-finite" in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_a_run_of_wandb_that_is_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_SILENT", "true")
    net = trainings.perceptron()
    with wandb.init(mode="offline", dir=str(tmp_path)) as run, dnnfix.watch(net, **EAGER):
        to_infinity(net)
        assert "finite" in run.summary["dnnfix/non-finite"]


def test_a_run_of_mlflow_that_is_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # what the small package of MLflow can write
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    net = trainings.perceptron()
    with mlflow.start_run() as run, dnnfix.watch(net, **EAGER):
        to_infinity(net)
    assert "finite" in mlflow.get_run(run.info.run_id).data.tags["dnnfix.non-finite"]
