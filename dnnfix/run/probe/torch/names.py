"""Canonical names of torch's classes and functions, and argument values as plain JSON."""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, List, Optional

import torch as _torch

from .. import sites
from ..user_classes import ClassNames, is_user_class

torch: Any = _torch

_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__div__": "div", "__matmul__": "matmul", "__pow__": "pow", "__neg__": "neg",
    "__mod__": "remainder", "__floordiv__": "floor_divide", "__abs__": "abs", "__invert__": "bitwise_not",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__idiv__": "div_",
    "__getitem__": "getitem", "__setitem__": "setitem", "__iter__": "unbind", "__reversed__": "flip",
    "__float__": "item", "__int__": "item", "__index__": "item", "__array__": "numpy", "__deepcopy__": "clone",
}  # fmt: skip
"""What a special method is recorded as; other reflected operators keep their `r` (`rsub`, `rdiv`, `rpow`)."""

RECORDED_PROPERTIES = frozenset({"data", "T", "mT", "H", "mH", "real", "imag"})
"""Properties of a tensor that give another tensor of the same data."""

LEAVING = frozenset({"torch.Tensor.item", "torch.Tensor.numpy", "torch.Tensor.tolist"})
"""Calls whose result is no tensor any more, so that gradients end there."""

_CONSTANT_NAMES = """
        zeros ones full empty eye arange range linspace logspace zeros_like ones_like full_like empty_like tril_indices
        triu_indices hann_window hamming_window empty_strided scalar_tensor
        Tensor.new_zeros Tensor.new_ones Tensor.new_full Tensor.new_empty
"""
CONSTANTS = frozenset("torch." + name for name in _CONSTANT_NAMES.split())
"""Functions whose result holds the same numbers whatever tensor they are given."""

_DATA_NAMES = """
        tensor as_tensor asarray from_numpy frombuffer rand randn randint randperm rand_like randn_like randint_like
        normal bernoulli poisson multinomial load Tensor.new_tensor Tensor.new autograd.Variable
"""
DATA = frozenset("torch." + name for name in _DATA_NAMES.split())
"""Functions that bring numbers up from outside, unless they are given a tensor, or what came out of one."""

_LOSS_NAMES = frozenset({"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"})

_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "DataParallel")

_functions: Dict[int, str] = {}
_kept: List[Any] = []


def learn_functions() -> None:
    """Note the public name of every torch function, before any of them is wrapped; once per process."""
    if _functions:
        return
    nn = torch.nn
    places = [
        ("torch.Tensor", torch._C.TensorBase), ("torch.Tensor", torch.Tensor),
        ("torch.nn.utils.rnn", nn.utils.rnn), ("torch.nn.utils", nn.utils), ("torch.nn.init", nn.init),
        ("torch.autograd", torch.autograd), ("torch.linalg", torch.linalg), ("torch.fft", torch.fft),
        ("torch.special", torch.special), ("torch.nn.functional", nn.functional), ("torch", torch),
    ]  # fmt: skip
    for prefix, owner in reversed(places):
        for name, value in vars(owner).items():
            if callable(value) and not isinstance(value, type) and (name[0] != "_" or name in _OPERATORS):
                _functions.setdefault(id(value), prefix + "." + _OPERATORS.get(name, name))
                _kept.append(value)


def loss_functions() -> List[str]:
    """The names, in torch.nn.functional, of the functions that compare a prediction with a target."""
    return [
        name for name in dir(torch.nn.functional) if name[0] != "_" and (name.endswith("_loss") or name in _LOSS_NAMES)
    ]


def is_loss_function(name: str) -> bool:
    """Whether a recorded name is one of `loss_functions`."""
    head, _, last = name.rpartition(".")
    return head == "torch.nn.functional" and (last.endswith("_loss") or last in _LOSS_NAMES)


def function_name(function: Any) -> Optional[str]:
    """The name under which a call of the function is recorded; `None` for what is not worth recording."""
    last = getattr(function, "__name__", "")
    if last == "__get__":
        prop = getattr(getattr(function, "__self__", None), "__name__", "")
        return "torch.Tensor." + prop if prop in RECORDED_PROPERTIES else None
    if last.startswith("__"):
        plain = _OPERATORS.get(last)
        if plain is None and last.startswith("__r") and last not in {"__repr__", "__reduce_ex__"}:
            plain = last.strip("_")
        return "torch.Tensor." + plain if plain else None
    name = _functions.get(id(function)) or _functions.get(id(getattr(function, "__wrapped__", None)))
    if name is None:
        owner = getattr(getattr(function, "__objclass__", None), "__name__", "")
        name = ("torch.Tensor." if "Tensor" in owner else "torch.") + last
    return name


def _public(cls: type) -> str:
    """`torch.nn.Linear`: the shortest public place from which the class can be had."""
    parts = str(cls.__module__).split(".")
    for length in range(1, len(parts) + 1):
        module = sys.modules.get(".".join(parts[:length]))
        if module is not None and getattr(module, cls.__name__, None) is cls:
            return ".".join(parts[:length] + [cls.__name__])
    return cls.__module__ + "." + cls.__qualname__


class_name = ClassNames(_public)


def is_container(module: Any) -> bool:
    """Whether a library module only passes its input on to the modules that the user put in."""
    return type(module).__name__ in _CONTAINERS and not is_user_class(type(module))


def kind_of(module: Any) -> str:
    """`loss`, `model` (user classes and containers) or `layer`."""
    if isinstance(module, torch.nn.modules.loss._Loss):
        return "loss"
    cls = type(module)
    if cls.__module__ == "torch.nn.modules.loss":
        return "loss"
    if is_user_class(cls) or is_container(module) or not cls.__module__.startswith("torch.nn."):
        return "model"
    return "layer"


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON: numbers and strings unchanged, callables and classes by name, tensors by shape and dtype."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value if len(value) <= 200 else value[:200]
    if isinstance(value, torch.dtype):
        return str(value).replace("torch.", "")
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.nn.Module):
        return {"component": vars(value).get("_dnnfix_component"), "repr": class_name(type(value))}
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "dtype"):
        if shape == () and not isinstance(value, torch.Tensor):
            return value.item()
        return {"shape": list(shape), "dtype": str(value.dtype).replace("torch.", "")}
    return _plain_compound(value, depth)


def _plain_compound(value: Any, depth: int) -> Any:
    if isinstance(value, (list, tuple, set, frozenset)) and depth < 3 and len(value) <= 64:
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict) and depth < 3 and len(value) <= 64:
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, slice):
        return {"repr": "%s:%s:%s" % (value.start, value.stop, value.step)}
    if value is Ellipsis:
        return {"repr": "..."}
    if isinstance(value, type):
        return class_name(value)
    if callable(value) and hasattr(value, "__name__"):
        return callable_name(value)
    return {"repr": class_name(type(value))}


def callable_name(value: Any) -> str:
    """The qualified name of a function; `user.f` for the user's own."""
    known = _functions.get(id(value))
    if known is not None:
        return known
    code = getattr(value, "__code__", None)
    name = str(getattr(value, "__qualname__", value.__name__)).replace("<locals>.", "")
    if code is not None and sites.is_user_file(code.co_filename):
        return "user." + name
    return re.sub(r"^None\.", "", "%s.%s" % (getattr(value, "__module__", None), name))
