"""Interpreter: shape, dtype and range of arrays and tensors that a program creates from literals."""

from __future__ import annotations

import ast

from dnnfix.network.machine import Arguments
from dnnfix.network.recorder import Recorder, literal_facts
from dnnfix.network.torch_names import CASTS
from dnnfix.network.values import Abstract, Items, Library, Plain, Tensor, integer, string

_TYPED = {
    "torch.FloatTensor": "float32", "torch.DoubleTensor": "float64", "torch.LongTensor": "int64",
    "torch.IntTensor": "int32", "torch.HalfTensor": "float16", "torch.ByteTensor": "uint8",
    "torch.BoolTensor": "bool", "torch.Tensor": "float32",
}  # fmt: skip
_FILLED = {"zeros": (0.0, 0.0), "ones": (1.0, 1.0), "empty": (None, None), "rand": (0.0, 1.0), "randn": (None, None)}
_NUMPY_RANDOM = {
    "rand": (0.0, 1.0), "random": (0.0, 1.0), "random_sample": (0.0, 1.0), "randn": (None, None),
    "standard_normal": (None, None), "uniform": (None, None), "normal": (None, None),
}  # fmt: skip
_LITERAL = ("torch.tensor", "torch.as_tensor", "numpy.array", "numpy.asarray", "tensorflow.constant",
            "tensorflow.convert_to_tensor", "keras.ops.convert_to_tensor", "keras.ops.array")  # fmt: skip
_LIKE = ("zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like", "randint_like")
_NUMPY_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")


def dtype_of(value: Abstract | None) -> str | None:
    """The dtype that an argument names: `torch.long`, `torch.LongTensor`, `np.float32`, `"float32"`, `float`."""
    if (given := string(value)) is not None:
        return CASTS.get(given, given) if given.isidentifier() else None
    if not isinstance(value, Library):
        return None
    area, _, name = value.name.rpartition(".")
    if area in ("torch", "torch.cuda") and name.endswith("Tensor"):
        return _TYPED.get(f"torch.{name}")
    if area == "torch":
        return CASTS.get(name, name)
    if area in ("numpy", "tensorflow"):
        return "bool" if name == "bool_" else name if name in _NUMPY_DTYPES else None
    return {"float": "float64", "int": "int64", "bool": "bool"}.get(name) if area == "builtins" else None


def created(recorder: Recorder, name: str, arguments: Arguments, node: ast.AST | None) -> Tensor | None:
    """The tensor or array that a call of the library function `name` makes out of literals, or `None`."""
    framework = "torch" if name.startswith("torch.") else "numpy" if name.startswith("numpy.") else "keras"
    facts = _facts(name, framework, arguments)
    if facts is None:
        return None
    given = dtype_of(arguments.get(None, "dtype"))
    if given is not None:
        facts["dtype"] = given
    return recorder.tensor(framework, origin="data", site=recorder.site(node), **facts)


def _facts(name: str, framework: str, arguments: Arguments) -> dict[str, object] | None:
    area, _, short = name.rpartition(".")
    first = arguments.get(0)
    if name in _LITERAL or (name in _TYPED and isinstance(first, Items)):
        return _literal(first, framework, _TYPED.get(name))
    if name in _TYPED:
        return {"shape": shape_of(arguments, 0), "dtype": _TYPED[name]} if first is not None else {}
    if area in ("torch", "numpy", "tensorflow", "keras.ops"):
        return _plain_area(short, framework, arguments)
    if area == "numpy.random":
        return _numpy_random(short, arguments)
    if area in ("tensorflow.random", "keras.random") and short in ("normal", "uniform", "truncated_normal"):
        low, high = (0.0, 1.0) if short == "uniform" and len(arguments.positional) == 1 else (None, None)
        known = low is not None and "minval" not in arguments.keywords and "maxval" not in arguments.keywords
        shape = shape_of(arguments, 0, "shape")
        return {"shape": shape, "dtype": "float32", "low": low if known else None, "high": high if known else None}
    return None


def _plain_area(short: str, framework: str, arguments: Arguments) -> dict[str, object] | None:
    default = "float64" if framework == "numpy" else "float32"
    if short in _FILLED and not (framework != "torch" and short in ("rand", "randn")):
        low, high = _FILLED[short]
        return {"shape": shape_of(arguments, 0, "size", "shape"), "dtype": default, "low": low, "high": high}
    if short in _LIKE:
        like = arguments.get(0)
        return {"shape": like.value.shape, "dtype": like.value.dtype} if isinstance(like, Tensor) else {}
    if short == "randint" and framework == "torch":
        return _torch_randint(arguments)
    if short == "full":
        return {"shape": shape_of(arguments, 0, "size", "shape")} if arguments.get(0, "size", "shape") else {}
    if short in ("arange", "linspace", "eye", "randperm", "from_numpy", "loadtxt", "load", "genfromtxt", "normal"):
        if short in ("load", "normal") and framework != "numpy":
            return None
        return {"dtype": "int64"} if short == "randperm" else {}
    return None


def _torch_randint(arguments: Arguments) -> dict[str, object]:
    numbers = [number for value, _ in arguments.positional if (number := integer(value)) is not None]
    if (high := integer(arguments.get(None, "high"))) is not None:
        numbers = [integer(arguments.get(None, "low")) or 0, high]
    sizes = [v for v, _ in arguments.positional if isinstance(v, Items)]
    size = sizes[0] if sizes else arguments.get(None, "size")
    facts: dict[str, object] = {"shape": dimensions(size), "dtype": "int64", "integral": True}
    leading = [v for v, _ in arguments.positional if not isinstance(v, Items)]
    if numbers and len(numbers) >= len(leading):
        start, stop = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
        facts |= {"low": float(start), "high": float(stop - 1)}
    return facts


def _numpy_random(short: str, arguments: Arguments) -> dict[str, object] | None:
    if short in ("randint", "random_integers", "integers", "choice"):
        return _numpy_randint(short, arguments)
    if short not in _NUMPY_RANDOM:
        return None
    low, high = _NUMPY_RANDOM[short]
    if short in ("rand", "randn"):
        shape = shape_of(arguments, 0)
    elif short in ("uniform", "normal"):
        shape = dimensions(arguments.get(2, "size"))
    else:
        shape = dimensions(arguments.get(0, "size"))
    return {"shape": shape, "dtype": "float64", "low": low, "high": high}


def _numpy_randint(short: str, arguments: Arguments) -> dict[str, object]:
    facts: dict[str, object] = {"integral": True if short != "choice" else None}
    if short == "choice":
        return {**facts, "shape": dimensions(arguments.get(1, "size"))}
    facts |= {"shape": dimensions(arguments.get(2, "size")), "dtype": "int64"}
    low, high = integer(arguments.get(0, "low")), arguments.get(1, "high")
    if low is not None and (high is None or (isinstance(high, Plain) and high.value is None)):
        return {**facts, "low": 0.0, "high": float(low - 1)}
    if low is not None and (last := integer(high)) is not None:
        return {**facts, "low": float(low), "high": float(last if short == "random_integers" else last - 1)}
    return facts


def shape_of(arguments: Arguments, position: int, *names: str) -> tuple[int | None, ...] | None:
    """The shape that size arguments state, as `(3, 4)` or as `3, 4`; `None` where their number is unknown."""
    if arguments.open:
        return None
    first = arguments.get(position, *names)
    if isinstance(first, Items):
        return dimensions(first)
    sizes = [v for v, _ in arguments.positional[position:]] or ([first] if first is not None else [])
    known = tuple(length for size in sizes if (length := _length(size)) is not None)
    return known if known and len(known) == len(sizes) else None


def _length(size: Abstract | None) -> int | None:
    """The integer that a literal is, which is no truth value."""
    return None if isinstance(size, Plain) and isinstance(size.value, bool) else integer(size)


def dimensions(size: Abstract | None) -> tuple[int | None, ...] | None:
    """The shape that one argument gives, with unknown sizes as `None`; `None` where their number is unknown."""
    if isinstance(size, Items) and size.exact:
        return tuple(_length(part) for part in size.values())
    return (length,) if (length := _length(size)) is not None else None


def _literal(what: Abstract | None, framework: str, dtype: str | None) -> dict[str, object]:
    """Shape, dtype and range of a nested literal list."""
    if isinstance(what, Tensor):
        value = what.value
        return {"shape": value.shape, "dtype": dtype or value.dtype, "low": value.low, "high": value.high}
    if isinstance(what, Plain) and isinstance(what.value, int | float) and dtype is None:
        number = float(what.value)
        return {"shape": (), "dtype": _dtype([what.value], framework), "low": number, "high": number}
    facts = literal_facts(what) if isinstance(what, Items) else {}
    facts["dtype"] = dtype
    if dtype is None and isinstance(what, Items) and facts.get("shape") is not None:
        facts["dtype"] = _dtype(_leaves(what), framework)
    return facts


def _leaves(items: Items) -> list[bool | int | float]:
    found: list[bool | int | float] = []
    for value in items.values():
        if isinstance(value, Items):
            found.extend(_leaves(value))
        elif isinstance(value, Plain) and isinstance(value.value, int | float):
            found.append(value.value)
    return found


def _dtype(numbers: list[bool | int | float], framework: str) -> str:
    if all(isinstance(n, bool) for n in numbers):
        return "bool"
    if all(isinstance(n, int) for n in numbers):
        return "int32" if framework == "keras" else "int64"
    return "float64" if framework == "numpy" else "float32"
