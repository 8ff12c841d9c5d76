"""The facts about losses, activations and layers, held against the installed frameworks."""

from __future__ import annotations

import inspect
import json

import keras
import pytest
import torch

from dnnfix.network import facts
from dnnfix.records import Call, Component
from dnnfix.run.probe.keras.names import OTHER_NAMES
from tests.network import read_signatures


def resolve(name: str) -> object:
    """The object of a canonical torch or Keras name."""
    found: object = {"torch": torch, "keras": keras}[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def installed(names: object) -> list[str]:
    return [n for n in names if not n.startswith(("tensorflow.", "keras.backend."))]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", installed(facts.LOSSES))
def test_each_loss_exists_and_takes_its_arguments_in_the_stated_order(name: str) -> None:
    loss = facts.LOSSES[name]
    target = resolve(name)
    takes = target if loss.function else target.forward if name.startswith("torch") else target.call  # type: ignore[attr-defined]
    parameters = list(inspect.signature(takes).parameters)  # type: ignore[arg-type]
    if parameters[:2] == ["args", "kwargs"]:
        pytest.skip("a wrapper hides its parameters")

    first = loss.prediction_argument if loss.prediction_first else loss.target_argument
    if parameters[0] == "self":
        parameters = parameters[1:]
    assert parameters[0] in (first, "x", "log_input")
    constructor = inspect.signature(target).parameters  # type: ignore[arg-type]
    assert loss.has_from_logits == ("from_logits" in constructor) or name.endswith(("Dice", "Tversky"))


@pytest.mark.parametrize("name", installed(facts.ACTIVATION_FORMS))
def test_each_activation_form_exists(name: str) -> None:
    if name == "keras.layers.ThresholdedReLU":
        pytest.skip("removed from current releases")

    assert callable(resolve(name))


CHECKED = [
    "softmax",
    "log_softmax",
    "sigmoid",
    "tanh",
    "relu",
    "relu6",
    "elu",
    "selu",
    "gelu",
    "silu",
    "mish",
    "celu",
    "softplus",
    "softsign",
    "log_sigmoid",
    "hard_sigmoid",
    "hard_tanh",
    "hard_silu",
]


@pytest.mark.parametrize("short", CHECKED)
def test_ranges_hold_on_real_values(short: str) -> None:
    known = facts.ACTIVATIONS[short]
    values = torch.linspace(-30, 30, 4000).reshape(100, 40)
    given = getattr(keras.activations, short)(values)

    assert known.low <= float(given.min()) and float(given.max()) <= known.high
    if known.low > -float("inf") and known.low != 0:
        assert float(given.min()) - known.low < 0.05
    assert known.rows_sum_to_one == bool(torch.allclose(given.sum(-1), torch.ones(100), atol=1e-4))


@pytest.mark.parametrize("name", [n for n in facts.LAYERS if not n.endswith("Convolution1DTranspose")])
def test_each_layer_exists_and_has_the_arguments_it_is_said_to_have(name: str) -> None:
    layer = facts.LAYERS[name]
    try:
        target = resolve(name)
    except AttributeError:
        assert name.startswith(("torch.nn.MaxUnpool", "keras.layers.")), name
        return
    known = facts.signature(name)

    assert callable(target)
    for argument in (layer.takes, layer.gives):
        assert argument is None or (known is not None and argument in known.parameters)


def test_keras_strings_are_those_that_keras_takes() -> None:
    from keras.src import losses, metrics, optimizers

    for given, made in losses.ALL_OBJECTS_DICT.items():
        if given not in ("Loss", "LossFunctionWrapper"):
            name = facts.LOSS_STRINGS[given]
            assert name.rpartition(".")[2].lower() == made.__name__.replace("_", "").lower()
    known = {k for k, v in metrics.ALL_OBJECTS_DICT.items() if v.__name__ not in ("Metric", "MeanMetricWrapper")}
    assert known <= set(facts.METRIC_STRINGS)
    real = set(optimizers.ALL_OBJECTS_DICT) - {"optimizer", "optimizermap", "lossscaleoptimizer", "multioptimizer"}
    assert real <= set(facts.OPTIMIZER_STRINGS)


def test_the_probe_knows_the_other_names_that_the_engine_knows() -> None:
    known = facts.OLD_LOSS_STRINGS | facts.METRIC_ALIASES.keys()
    assert {short: facts.snake(facts.LOSS_STRINGS[short].rpartition(".")[2]) for short in known} == OTHER_NAMES


def test_signatures_are_those_of_the_installed_frameworks() -> None:
    stored = json.loads(read_signatures.DATA.read_text(encoding="utf-8"))

    assert stored == json.loads(json.dumps(read_signatures.read()))


def test_from_logits_decides_what_a_loss_wants() -> None:
    name = "keras.losses.BinaryCrossentropy"

    wanted = [facts.loss_facts(name, {"from_logits": v}) for v in (True, False, {"repr": "flag"})]
    assert [f.prediction if f else "" for f in wanted] == [
        facts.Prediction.LOGITS,
        facts.Prediction.PROBABILITIES,
        None,
    ]
    assert facts.loss_facts("torch.nn.Linear") is None


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("torch.nn.functional.softmax", {"dim": 1}, ("softmax", None, 1, False)),
        ("torch.Tensor.softmax", {}, ("softmax", None, None, True)),
        ("torch.nn.Sigmoid", {}, ("sigmoid", None, None, False)),
        ("keras.layers.Dense", {"activation": "softmax"}, ("softmax", "activation", -1, False)),
        ("keras.layers.Dense", {"activation": None}, ("linear", "activation", None, False)),
        ("keras.layers.Activation", {"activation": "tanh"}, ("tanh", "activation", None, False)),
        ("keras.layers.Softmax", {"axis": 1}, ("softmax", None, 1, False)),
        ("tensorflow.nn.log_softmax", {}, ("log_softmax", None, -1, False)),
        ("keras.layers.Dense", {"activation": {"repr": "f"}}, None),
        ("keras.layers.LSTM", {"activation": "tanh"}, None),
        ("torch.nn.Linear", {}, None),
    ],
)
def test_the_activation_of_a_call(name: str, args: dict[str, object], expected: tuple[object, ...] | None) -> None:
    use = facts.activation_of(Call(1, name, None, args=args))  # type: ignore[arg-type]

    found = None if use is None else (use.name, use.as_argument, use.axis, use.implicit_axis)
    assert found == expected


def test_stated_sizes_count_both_directions() -> None:
    lstm = Component(
        1, "layer", "torch.nn.LSTM", args={"input_size": 5, "hidden_size": 8, "bidirectional": True, "proj_size": 0}
    )

    assert facts.stated_input(lstm) == 5 and facts.stated_output(lstm) == 16
    assert facts.stated_output(Component(2, "layer", "torch.nn.Linear", args={"out_features": {"repr": "n"}})) is None


def test_kinds_of_components() -> None:
    names = {
        "torch.nn.Linear": "layer", "torch.nn.CrossEntropyLoss": "loss", "torch.nn.functional.cross_entropy": None,
        "torch.optim.Adam": "optimizer", "torch.optim.lr_scheduler.StepLR": "scheduler", "torch.nn.Parameter": None,
        "torch.utils.data.DataLoader": "loader", "keras.layers.Dense": "layer", "keras.losses.Huber": "loss",
        "keras.optimizers.SGD": "optimizer", "keras.metrics.AUC": "metric", "keras.callbacks.EarlyStopping": "callback",
        "keras.Sequential": "model", "keras.applications.VGG16": "model", "torch.device": None,
    }  # fmt: skip

    assert {name: facts.component_kind(name) for name in names} == names
