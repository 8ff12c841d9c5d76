"""Parameter names and defaults of library constructors and functions, to name the arguments of calls in source code.

`signatures.json` is read from the installed torch 2.13 and Keras 3.15 by `tests/network/read_signatures.py`; functions
that are built into torch, and have no Python signature, are written down here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from dnnfix.records import Json
from dnnfix.records.record import record

V = TypeVar("V")


@record
class Signature:
    """Positional parameter names in order, keyword-only names, and the defaults that are plain values."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...] = ()
    defaults: Mapping[str, Json] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[str, ...]:
        """All parameter names."""
        return self.positional + self.keyword_only

    def position(self, parameter: str) -> int | None:
        """The positional index of a parameter; `None` where it is taken by keyword only or not at all."""
        return self.positional.index(parameter) if parameter in self.positional else None


_BUILT_IN: dict[str, tuple[str, dict[str, Json]]] = {
    "softmax": ("input dim dtype", {}),
    "log_softmax": ("input dim dtype", {}),
    "flatten": ("input start_dim end_dim", {"start_dim": 0, "end_dim": -1}),
    "unflatten": ("input dim sizes", {}),
    "squeeze": ("input dim", {}),
    "unsqueeze": ("input dim", {}),
    "transpose": ("input dim0 dim1", {}),
    "swapaxes": ("input axis0 axis1", {}),
    "argmax": ("input dim keepdim", {"dim": None, "keepdim": False}),
    "argmin": ("input dim keepdim", {"dim": None, "keepdim": False}),
    "max": ("input dim keepdim", {}),
    "min": ("input dim keepdim", {}),
    "sum": ("input dim keepdim dtype", {}),
    "mean": ("input dim keepdim dtype", {}),
    "cat": ("tensors dim", {"dim": 0}),
    "concat": ("tensors dim", {"dim": 0}),
    "concatenate": ("tensors dim", {"dim": 0}),
    "stack": ("tensors dim", {"dim": 0}),
    "clamp": ("input min max", {"min": None, "max": None}),
    "clip": ("input min max", {"min": None, "max": None}),
    "add": ("input other", {}),
    "sub": ("input other", {}),
    "mul": ("input other", {}),
    "div": ("input other", {}),
    "matmul": ("input other", {}),
    "mm": ("input mat2", {}),
    "bmm": ("input mat2", {}),
    "pow": ("input exponent", {}),
    "chunk": ("input chunks dim", {"dim": 0}),
    "split": ("input split_size dim", {"dim": 0}),
}
_CONVOLUTION: dict[str, Json] = {"stride": 1, "padding": 0, "dilation": 1}
_FUNCTIONAL: dict[str, tuple[str, dict[str, Json]]] = {
    "linear": ("input weight bias", {"bias": None}),
    "gelu": ("input", {"approximate": "none"}),
    "softplus": ("input beta threshold", {"beta": 1, "threshold": 20}),
    "one_hot": ("tensor num_classes", {"num_classes": -1}),
    "pad": ("input pad mode value", {"mode": "constant", "value": None}),
    "adaptive_avg_pool1d": ("input output_size", {}),
    "logsigmoid": ("input", {}),
    "avg_pool1d": ("input kernel_size stride padding ceil_mode count_include_pad", {"padding": 0}),
    "avg_pool2d": ("input kernel_size stride padding ceil_mode count_include_pad divisor_override", {"padding": 0}),
    "avg_pool3d": ("input kernel_size stride padding ceil_mode count_include_pad divisor_override", {"padding": 0}),
    "conv1d": ("input weight bias stride padding dilation groups", _CONVOLUTION),
    "conv2d": ("input weight bias stride padding dilation groups", _CONVOLUTION),
    "conv3d": ("input weight bias stride padding dilation groups", _CONVOLUTION),
}


@lru_cache(maxsize=1)
def _described() -> dict[str, tuple[list[str], list[str], dict[str, Json]]]:
    text = Path(__file__).with_name("signatures.json").read_text(encoding="utf-8")
    described: dict[str, tuple[list[str], list[str], dict[str, Json]]] = json.loads(text)
    return described


def _built_in() -> dict[str, Signature]:
    table: dict[str, Signature] = {}
    for short, (names, defaults) in _BUILT_IN.items():
        signature = Signature(tuple(names.split()), (), defaults)
        table[f"torch.{short}"] = signature
        table[f"torch.Tensor.{short}"] = Signature(signature.positional[1:], (), defaults)
    for short, (names, defaults) in _FUNCTIONAL.items():
        table[f"torch.nn.functional.{short}"] = Signature(tuple(names.split()), (), defaults)
    return table


_TABLE = _built_in()


def signature(name: str | None) -> Signature | None:
    """The signature of a canonical name: a class's constructor, a function, or a tensor method without `self`."""
    if name is None:
        return None
    if name not in _TABLE:
        described = _described().get(name)
        if described is None:
            return None
        positional, keyword_only, values = described
        _TABLE[name] = Signature(tuple(positional), tuple(keyword_only), values)
    return _TABLE[name]


def bind(name: str | None, positional: Sequence[V], keywords: Mapping[str, V]) -> dict[str, V]:
    """Arguments by parameter name. Positional arguments without a known name are left out."""
    known = signature(name)
    bound = dict(zip(known.positional, positional, strict=False)) if known is not None else {}
    bound.update(keywords)
    return bound


def defaults(name: str | None) -> dict[str, Json]:
    """The plain default values of a canonical name's parameters."""
    known = signature(name)
    return dict(known.defaults) if known is not None else {}
