"""What rules may ask about a call of the network: the targets a loss expects, an activation's effect, a layer's sizes.

Everything is answered from the canonical name and the arguments; what depends on an unknown argument is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dnnfix.network.activations import ACTIVATION_FORMS, ACTIVATIONS, ActivationFacts, activation_name
from dnnfix.network.layers import KEEPS_VALUES, LAYERS, SHAPE_ONLY, LayerFacts
from dnnfix.network.losses import LOSSES, LossFacts, Prediction, Target, Task, snake
from dnnfix.network.names import (
    LOSS_STRINGS,
    METRIC_ALIASES,
    METRIC_STRINGS,
    OLD_LOSS_STRINGS,
    OPTIMIZER_STRINGS,
    component_kind,
    loss_name,
    metric_name,
    optimizer_name,
)
from dnnfix.network.signatures import Signature, bind, defaults, signature
from dnnfix.records import Call, Component, Json, Network, Value
from dnnfix.records.record import record

__all__ = [
    "ACTIVATIONS",
    "ACTIVATION_FORMS",
    "KEEPS_VALUES",
    "LAYERS",
    "LOSSES",
    "LOSS_STRINGS",
    "LOSS_WORDS",
    "METRIC_ALIASES",
    "METRIC_STRINGS",
    "OLD_LOSS_STRINGS",
    "OPTIMIZER_STRINGS",
    "SHAPE_ONLY",
    "ActivationFacts",
    "ActivationUse",
    "LayerFacts",
    "LossFacts",
    "Prediction",
    "Signature",
    "Target",
    "Task",
    "activation_name",
    "activation_of",
    "argument_position",
    "bind",
    "component_kind",
    "defaults",
    "is_loss",
    "layer_facts",
    "loss_calls",
    "loss_facts",
    "loss_name",
    "metric_name",
    "optimizer_name",
    "signature",
    "snake",
    "stated_input",
    "stated_output",
    "through",
]

LOSS_WORDS = frozenset(name.rpartition(".")[2] for name in (*LOSSES, *LOSS_STRINGS))
"""Words, one of which a source has that computes a known loss."""


@record
class ActivationUse:
    """An activation that a call applies.

    `as_argument` is the name of the layer's argument that asks for it (`activation` of a Keras `Dense`), `None` where
    the call is the activation itself. `axis` is the axis given for softmax-like activations; `axis_argument` is the
    name of that argument and `axis_position` its place among the positional ones. `implicit_axis` says that torch was
    left to choose the axis.
    """

    facts: ActivationFacts
    as_argument: str | None = None
    axis: int | None = None
    axis_argument: str | None = None
    axis_position: int | None = None
    implicit_axis: bool = False

    @property
    def name(self) -> str:
        """The short name: `softmax`, `log_softmax`, `sigmoid`, …"""
        return self.facts.name


def _arguments(of: Call | Component | str, args: Mapping[str, Json] | None) -> tuple[str, Mapping[str, Json]]:
    if isinstance(of, str):
        return of, args or {}
    return of.name, of.args if args is None else args


def loss_facts(of: Call | Component | str, args: Mapping[str, Json] | None = None) -> LossFacts | None:
    """What the loss expects, with its arguments considered; `None` where the loss is not a known one.

    `from_logits=True` makes the prediction `logits`; a `from_logits` that is no plain value makes it unknown (`None`).
    A `reduction`-like argument changes nothing here. `KLDivLoss(log_target=True)` wants log-probabilities as target,
    which leaves `target` as it is.
    """
    name, given = _arguments(of, args)
    facts = LOSSES.get(name)
    if facts is None or not facts.has_from_logits:
        return facts
    from_logits = given.get("from_logits", False)
    if from_logits is True:
        return replace(facts, prediction=Prediction.LOGITS)
    return facts if from_logits is False else replace(facts, prediction=None)


def is_loss(call: Call) -> bool:
    """Whether the call is a call of a known loss, as an object or as a function."""
    return call.name in LOSSES


def loss_calls(network: Network) -> tuple[tuple[Call, LossFacts], ...]:
    """Every call of a known loss with what it expects, in call order."""
    found = ((call, loss_facts(call)) for call in network.calls)
    return tuple((call, facts) for call, facts in found if facts is not None)


def activation_of(call: Call | Component) -> ActivationUse | None:
    """The last activation that the call applies to its output; `None` where there is none or it is unknown.

    Covers activation layers and functions of torch, Keras and TensorFlow, tensor methods, `keras.layers.Activation`
    and the `activation` argument of Keras layers. The gates inside recurrent layers and the `activation` of torch's
    transformer layers do not shape the output and do not count.
    """
    if call.name.startswith("keras.layers.") and call.name not in ACTIVATION_FORMS:
        return _keras_argument(call)
    short = ACTIVATION_FORMS.get(call.name)
    if short is None:
        return None
    facts = ACTIVATIONS[short]
    if not facts.has_axis:
        return ActivationUse(facts)
    if call.name == "torch.nn.Softmax2d":
        return ActivationUse(facts, axis=-3)
    argument = "dim" if call.name.startswith("torch.") else "axis"
    default = None if argument == "dim" else -1
    axis = call.args.get(argument, default)
    known = signature(call.name)
    # A layer whose constructor was not seen has arguments that nobody knows, which is not the same as none.
    constructor_unknown = (
        isinstance(call, Call) and call.component is None and call.name.rpartition(".")[2][0].isupper()
    )
    return ActivationUse(
        facts,
        axis=axis if isinstance(axis, int) and not isinstance(axis, bool) else None,
        axis_argument=argument,
        axis_position=known.position(argument) if known is not None else None,
        implicit_axis=axis is None and not constructor_unknown,
    )


def _keras_argument(call: Call | Component) -> ActivationUse | None:
    if "activation" not in call.args or call.name in _GATED:
        return None
    given = call.args["activation"]
    if given is not None and not isinstance(given, str):
        return None
    facts = ACTIVATIONS.get(activation_name(given) or "")
    axis = -1 if facts is not None and facts.has_axis else None
    return ActivationUse(facts, as_argument="activation", axis=axis) if facts is not None else None


_GATED = frozenset(f"keras.layers.{name}" for name in ("LSTM", "GRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"))


def layer_facts(of: Call | Component | str) -> LayerFacts | None:
    """The input and output of a layer; `None` where the layer is not a known one."""
    return LAYERS.get(of if isinstance(of, str) else of.name)


def argument_position(name: str, argument: str) -> int | None:
    """The positional index of an argument of a canonical constructor or function; `None` where it has none."""
    known = signature(name)
    return known.position(argument) if known is not None else None


def _plain_size(args: Mapping[str, Json], argument: str | None) -> int | None:
    size = args.get(argument) if argument is not None else None
    return size if isinstance(size, int) and not isinstance(size, bool) else None


def stated_input(of: Call | Component) -> int | None:
    """The input size that the layer's own argument states (`in_features`), where it is a plain number."""
    facts = layer_facts(of)
    return _plain_size(of.args, facts.takes) if facts is not None else None


def stated_output(of: Call | Component) -> int | None:
    """The size that the layer's own arguments state for its output (`out_features`, `units`), both directions of a
    bidirectional torch layer counted."""
    facts = layer_facts(of)
    size = _plain_size(of.args, facts.gives) if facts is not None else None
    if size is None or facts is None or facts.kind != "recurrent" or not of.name.startswith("torch."):
        return size
    projected = of.args.get("proj_size", 0)
    both = of.args.get("bidirectional", False)
    if not isinstance(projected, int) or not isinstance(both, bool):
        return None
    return (projected or size) * (2 if both else 1)


_MOST_LOOKED_THROUGH = 64


def through(network: Network, value: Value, passing: frozenset[str] = KEEPS_VALUES) -> Call | None:
    """The call that made the values, looking through calls in `passing` (by default those that keep every value)."""
    call = network.producer(value)
    for _ in range(_MOST_LOOKED_THROUGH):
        if call is None or call.name not in passing or not call.inputs:
            break
        call = network.producer(call.inputs[0])
    return call
