"""Canonical qualified names: one name for each class or function that a framework exports from several modules.

`tf.keras.layers.Dense`, `keras.layers.core.Dense` and `keras.src.layers.core.dense.Dense` are all `keras.layers.Dense`.
The rules are about the frameworks' layout of modules, so that no list of classes has to be kept for them.
"""

from __future__ import annotations

from functools import lru_cache

from dnnfix.source.public_names import (
    KERAS_ALIASES,
    KERAS_CLASSES,
    STAR_EXPORTS,
    STRONG_ALIASES,
    TORCH_ALIASES,
    TORCH_CLASSES,
    words,
)

_KERAS_ROOTS = (
    "tensorflow.compat.v1.keras",
    "tensorflow.compat.v2.keras",
    "tensorflow.contrib.keras.api.keras",
    "tensorflow.contrib.keras.python.keras",
    "tensorflow.contrib.keras",
    "tensorflow.python.keras.api._v2.keras",
    "tensorflow.python.keras.api.keras",
    "tensorflow.python.keras",
    "tensorflow.keras",
    "tf_keras",
    "keras.src",
    "keras.api",
    "keras._tf_keras.keras",
)
_KERAS_FLAT = words(
    "activations callbacks constraints initializers layers losses metrics models optimizers regularizers"
)
_KERAS_ENGINE = {
    "Input": "keras.layers.Input",
    "InputLayer": "keras.layers.InputLayer",
    "InputSpec": "keras.layers.InputSpec",
    "Layer": "keras.layers.Layer",
    "Model": "keras.models.Model",
    "Loss": "keras.losses.Loss",
    "Metric": "keras.metrics.Metric",
    "Optimizer": "keras.optimizers.Optimizer",
    "Sequential": "keras.models.Sequential",
}
_KEPT = frozenset(["lr_scheduler", "swa_utils", "schedules"])
_TORCH_FLAT = ("torch.nn.modules", "torch.utils.data", "torch.optim", "torch.nn.parameter")


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """The canonical form of a name that is already resolved through imports."""
    root = name.partition(".")[0]
    if root in {"keras", "tensorflow", "tf_keras"}:
        return _keras(name)
    if root == "torch":
        return _torch(name)
    return name


def _keras(name: str) -> str:
    for root in _KERAS_ROOTS:
        if name == root or name.startswith(root + "."):
            name = "keras" + name[len(root) :]
            break
    parts = name.split(".")
    if parts[0] != "keras" or len(parts) < 2:
        return name
    if len(parts) == 2 or parts[1] == "engine":
        return _KERAS_ENGINE.get(parts[-1], name) if parts[1] in {parts[-1], "engine"} else name
    if parts[1] in _KERAS_FLAT:
        return ".".join(_collapse(parts, 2))
    if parts[1] == "utils" and len(parts) > 3 and parts[2].endswith("_utils"):
        return ".".join(["keras", "utils", *parts[3:]])
    if parts[1] == "backend" and parts[2].endswith("_backend"):
        return ".".join(["keras", "backend", *parts[3:]])
    if parts[1] == "applications" and len(parts) > 3 and parts[3][:1].isupper():
        return ".".join(["keras", "applications", *parts[3:]])
    return name


def _torch(name: str) -> str:
    if name == "torch.autograd.variable.Variable":
        return "torch.autograd.Variable"
    if name.startswith("torch.functional."):
        return "torch." + name[len("torch.functional.") :]
    for module in _TORCH_FLAT:
        if name.startswith(module + "."):
            parts = name.split(".")
            if module in {"torch.nn.modules", "torch.nn.parameter"}:
                del parts[2]
                return ".".join(_collapse(parts, 2))
            return ".".join(_collapse(parts, module.count(".") + 1))
    return name


def _collapse(parts: list[str], at: int) -> list[str]:
    """`parts` without the lower-case modules that stand between the package at `at` and the public name."""
    while len(parts) > at + 1 and parts[at].islower() and parts[at] not in _KEPT:
        parts = parts[:at] + parts[at + 1 :]
    return parts


def star_export(module: str, name: str) -> str | None:
    """What `name` means after `from module import *`; `None` where the module is not known to export it."""
    public = canonical(module)
    exports = STAR_EXPORTS.get(public)
    if exports is None and "." in public:
        exports = STAR_EXPORTS.get(public.rpartition(".")[0]) if public.startswith("keras.layers.") else None
    return f"{module}.{name}" if exports is not None and name in exports else None


def knows_star(module: str) -> bool:
    """Whether the names that `from module import *` binds are known."""
    public = canonical(module)
    return public in STAR_EXPORTS or public.startswith("keras.layers.") or public in {"numpy", "math", "matplotlib"}


def usual(name: str, frameworks: frozenset[str], foreign_stars: bool) -> str | None:
    """The usual meaning of a name that the program never binds, in a program of these frameworks.

    `foreign_stars` tells that a star import of an unknown module may have bound it: then only the aliases that mean
    the same everywhere are taken.
    """
    strong = STRONG_ALIASES.get(name)
    if strong is not None or foreign_stars:
        return strong
    torch = TORCH_ALIASES.get(name) or TORCH_CLASSES.get(name)
    keras = KERAS_ALIASES.get(name) or KERAS_CLASSES.get(name)
    speaks_torch = "torch" in frameworks
    speaks_keras = bool(frameworks & {"keras", "tensorflow"})
    if torch and keras:
        return torch if speaks_torch and not speaks_keras else keras if speaks_keras and not speaks_torch else None
    if torch:
        return torch if speaks_torch or not speaks_keras else None
    return keras if speaks_keras or not speaks_torch else None
