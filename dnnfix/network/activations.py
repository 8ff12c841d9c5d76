"""Facts about activation functions: the range of their values, and their names in torch, Keras and TensorFlow.

Ranges are those of the functions' definitions on the reference pages of torch 2.13 and Keras 3.15, at their default
arguments; minima that have no closed form are rounded outwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.records.record import record

INFINITY = float("inf")


@record
class ActivationFacts:
    """The closed range of an activation's values, and whether they sum to one along its axis.

    `log` says that the values are logarithms of probabilities. `linear` says that it leaves a chain of linear layers
    linear. `has_axis` says that the result depends on an axis (`dim` in torch, `axis` in Keras).
    """

    name: str
    low: float = -INFINITY
    high: float = INFINITY
    rows_sum_to_one: bool = False
    log: bool = False
    linear: bool = False
    has_axis: bool = False

    @property
    def probabilities(self) -> bool:
        """Whether the values lie in [0, 1] and are meant as probabilities."""
        return self.low == 0.0 and self.high == 1.0


def _facts() -> Iterator[ActivationFacts]:
    for name in ("softmax", "softmin", "gumbel_softmax"):
        yield ActivationFacts(name, 0.0, 1.0, rows_sum_to_one=True, has_axis=True)
    yield ActivationFacts("log_softmax", high=0.0, log=True, has_axis=True)
    yield ActivationFacts("log_sigmoid", high=0.0, log=True)
    for name in ("sigmoid", "hard_sigmoid", "sparse_sigmoid"):
        yield ActivationFacts(name, 0.0, 1.0)
    for name in ("tanh", "hard_tanh", "softsign"):
        yield ActivationFacts(name, -1.0, 1.0)
    for name in ("relu", "softplus", "exponential", "sparse_plus", "squareplus"):
        yield ActivationFacts(name, 0.0)
    yield ActivationFacts("relu6", 0.0, 6.0)
    lows = {"elu": -1.0, "celu": -1.0, "selu": -1.7581, "gelu": -0.17, "silu": -0.2785, "mish": -0.3089}
    for name, low in {**lows, "hard_silu": -0.375}.items():
        yield ActivationFacts(name, low)
    for name in ("leaky_relu", "prelu", "rrelu", "hard_shrink", "soft_shrink", "tanh_shrink", "threshold", "glu"):
        yield ActivationFacts(name)
    yield ActivationFacts("linear", linear=True)


ACTIVATIONS: dict[str, ActivationFacts] = {f.name: f for f in _facts()}
"""Every known activation by its Keras name (`softmax`, `log_softmax`, `relu`, …, `linear` for none)."""

_TORCH_LAYERS = {
    "Softmax": "softmax", "Softmax2d": "softmax", "Softmin": "softmin", "LogSoftmax": "log_softmax",
    "LogSigmoid": "log_sigmoid", "Sigmoid": "sigmoid", "Hardsigmoid": "hard_sigmoid", "Tanh": "tanh",
    "Hardtanh": "hard_tanh", "Softsign": "softsign", "ReLU": "relu", "Softplus": "softplus", "ReLU6": "relu6",
    "ELU": "elu", "CELU": "celu", "SELU": "selu", "GELU": "gelu", "SiLU": "silu", "Mish": "mish",
    "Hardswish": "hard_silu", "LeakyReLU": "leaky_relu", "PReLU": "prelu", "RReLU": "rrelu",
    "Hardshrink": "hard_shrink", "Softshrink": "soft_shrink", "Tanhshrink": "tanh_shrink", "Threshold": "threshold",
    "GLU": "glu", "Identity": "linear",
}  # fmt: skip
_TORCH_FUNCTIONS = {
    **{
        layer.lower(): name
        for layer, name in _TORCH_LAYERS.items()
        if layer not in ("Softmax2d", "LogSoftmax", "LeakyReLU", "Identity")
    },
    **{name: name for name in ("log_softmax", "leaky_relu", "gumbel_softmax")},
    **{f"{name}_": name for name in ("relu", "elu", "leaky_relu")},
}
"""The functions of `torch.nn.functional`: most are called as their layers, in small letters."""
_TENSOR_METHODS = ("softmax", "log_softmax", "sigmoid", "tanh", "relu")
_TORCH_TOP = (*_TENSOR_METHODS, "selu", "celu", "prelu", "rrelu", "hardshrink", "threshold")
_KERAS_LAYERS = {"Softmax": "softmax", "ReLU": "relu", "LeakyReLU": "leaky_relu", "PReLU": "prelu", "ELU": "elu"}
_KERAS_OLD = {"ThresholdedReLU": "threshold"}
_KERAS_ALIASES = {"swish": "silu", "hard_swish": "hard_silu"}
_BACKEND = ("softmax", "sigmoid", "tanh", "relu", "elu", "softplus", "softsign", "hard_sigmoid")
_TF_NN = ("softmax", "log_softmax", "sigmoid", "tanh", "relu", "relu6", "elu", "selu", "crelu", "gelu", "silu",
          "leaky_relu", "softplus", "softsign")  # fmt: skip
_TF_TOP = ("sigmoid", "tanh")
_TF_MATH = ("softmax", "log_softmax", "log_sigmoid", "sigmoid", "tanh", "softplus", "softsign")


def _forms() -> Iterator[tuple[str, str]]:
    yield from ((f"torch.nn.{k}", v) for k, v in _TORCH_LAYERS.items())
    yield from ((f"torch.nn.functional.{k}", v) for k, v in _TORCH_FUNCTIONS.items())
    yield from ((f"torch.{k}", _TORCH_FUNCTIONS[k]) for k in _TORCH_TOP)
    yield from ((f"torch.Tensor.{k}", k) for k in _TENSOR_METHODS)
    yield from ((f"torch.{area}{k}_", k) for area in ("", "Tensor.") for k in ("sigmoid", "tanh", "relu"))
    yield from (("torch.special.expit", "sigmoid"), ("torch.special.softmax", "softmax"))
    yield from (("torch.special.log_softmax", "log_softmax"), ("torch.Tensor.hardshrink", "hard_shrink"))
    yield from ((f"keras.layers.{k}", v) for k, v in {**_KERAS_LAYERS, **_KERAS_OLD}.items())
    torch_only = ("softmin", "gumbel_softmax", "prelu", "rrelu")
    names = {**{k: k for k in ACTIVATIONS if k not in torch_only}, **_KERAS_ALIASES}
    yield from ((f"keras.activations.{k}", v) for k, v in names.items())
    yield from ((f"keras.ops.{k}", v) for k, v in names.items() if v not in ("linear", "exponential", "mish"))
    yield from ((f"keras.backend.{k}", k) for k in _BACKEND)
    yield from ((f"tensorflow.nn.{k}", k) for k in _TF_NN if k in ACTIVATIONS)
    yield from (("tensorflow.nn.swish", "silu"), ("tensorflow.identity", "linear"))
    yield from ((f"tensorflow.{k}", k) for k in _TF_TOP)
    yield from ((f"tensorflow.math.{k}", k) for k in _TF_MATH)


ACTIVATION_FORMS: dict[str, str] = dict(_forms())
"""The activation that each canonical callable name stands for: `torch.nn.functional.softmax` is `softmax`."""


def activation_name(given: str | None) -> str | None:
    """The short name of an activation given as a Keras string or as a canonical callable name.

    `None` stands for no activation and gives `linear`; an unknown name gives `None`.
    """
    if given is None:
        return "linear"
    if given in ACTIVATIONS:
        return given
    return _KERAS_ALIASES.get(given) or ACTIVATION_FORMS.get(given)
