"""Canonical names of Keras's classes and functions, and argument values as plain JSON."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any, Optional

from .. import sites
from ..user_classes import ClassNames, is_user_class

AREAS = (
    "layers", "losses", "metrics", "optimizers", "models", "callbacks", "initializers", "regularizers", "constraints",
    "ops", "utils", "activations", "saving", "backend", "datasets", "preprocessing",
)  # fmt: skip
"""Where Keras has its public names, that under which a thing is known first."""

_MODULES = {"Sequential": "keras.models.Sequential", "Model": "keras.models.Model", "Functional": "keras.models.Model"}
_CONTAINERS = ("keras.models.Sequential", "keras.models.Model")
OTHER_NAMES = {
    "mse": "mean_squared_error", "mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error", "bce": "binary_crossentropy", "kld": "kl_divergence",
    "kullback_leibler_divergence": "kl_divergence", "cosine": "cosine_similarity",
    "cosine_proximity": "cosine_similarity", "logcosh": "log_cosh", "huber_loss": "huber",
}  # fmt: skip
"""Short and former names of losses and metrics; those that `dnnfix/network/names.py` knows, of which nothing can be imported here."""


def api() -> Any:
    """The package whose public names are those of Keras: `keras` itself, or the one inside TensorFlow."""
    return sys.modules.get("keras") or getattr(sys.modules.get("tensorflow"), "keras", None)


def _public(cls: type) -> str:
    """`keras.layers.Dense`: the public name of the class, or of the nearest public one it derives from."""
    keras = api()
    for base in cls.__mro__:
        if base.__name__ in _MODULES and "keras" in base.__module__ and base.__module__.partition(".")[0] != "torch":
            return _MODULES[base.__name__]
        for area in AREAS:
            if getattr(getattr(keras, area, None), base.__name__, None) is base and base is not object:
                return "keras.%s.%s" % (area, base.__name__)
        schedules = getattr(getattr(keras, "optimizers", None), "schedules", None)
        if getattr(schedules, base.__name__, None) is base:
            return "keras.optimizers.schedules." + str(base.__name__)
    return re.sub(r"^keras\.src\.", "keras.", "%s.%s" % (cls.__module__, cls.__qualname__))


class_name = ClassNames(_public)


def is_container(layer: Any) -> bool:
    """Whether a layer of the library only passes its input on to the layers that the user put in."""
    return class_name(type(layer)) in _CONTAINERS


def is_transparent(layer: Any) -> bool:
    """Whether the calls inside are recorded instead of the layer's own."""
    return is_user_class(type(layer)) or is_container(layer)


def is_sequential(layer: Any) -> bool:
    """Whether the layer is a `Sequential` model or derives from it."""
    return any(base.__name__ == "Sequential" and "keras" in base.__module__ for base in type(layer).__mro__)


def snake(name: str) -> str:
    """`MeanSquaredError` as `mean_squared_error`, as Keras converts class names."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()


def class_of_function(area: str, name: str) -> Optional[type]:
    """The class in `keras.losses` or `keras.metrics` that corresponds to a function or a string."""
    module = getattr(api(), area, None)
    wanted = OTHER_NAMES.get(name.lower(), name)
    for own, value in vars(module).items() if module is not None else ():
        if isinstance(value, type) and wanted in (own, snake(own)):
            return value
    return None


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON: numbers and strings unchanged, activations and initializers by their short names."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, (list, tuple, set, frozenset)) and depth < 3 and len(value) <= 64:
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict) and depth < 3 and len(value) <= 64:
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, type):
        return class_name(value)
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return _plain_array(value, shape)
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        return function_name(value)
    name = class_name(type(value))
    area = name.split(".")[1] if name.startswith("keras.") else ""
    if area == "initializers":
        return snake(name.rpartition(".")[2])
    if area == "regularizers":
        config = value.get_config() if hasattr(value, "get_config") else {}
        return {"repr": "%s(%s)" % (name, ", ".join("%s=%s" % item for item in sorted(config.items())))}
    return {"repr": name}


def _plain_array(value: Any, shape: Any) -> Any:
    if tuple(shape) == () and hasattr(value, "item"):
        return value.item()
    return {"shape": [None if size is None else int(size) for size in shape], "dtype": dtype_name(value)}


def function_name(value: Any) -> str:
    """Activations by their short name (`relu`), losses by their qualified one, the user's own as `user.f`."""
    code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
    name = str(getattr(value, "__name__", "function"))
    if code is not None and sites.is_user_file(code.co_filename):
        return "user." + str(getattr(value, "__qualname__", name)).replace("<locals>.", "")
    module = str(getattr(value, "__module__", ""))
    for area in ("losses", "metrics", "ops"):
        if ".%s." % area in module + ".":
            return "keras.%s.%s" % (area, name)
    return name if "activations" in module else "%s.%s" % (module, name)


def dtype_name(value: Any) -> Optional[str]:
    """The dtype without the framework's prefix: `float32`, `int64`."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return None
    name = getattr(dtype, "name", None)
    return name if isinstance(name, str) else str(dtype).replace("torch.", "")
