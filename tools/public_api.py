"""Writes down the public API of an installed package; `compare_apis.py` runs it in other interpreters.

    python tools/public_api.py PACKAGE OUT.json

It imports nothing but the package and the standard library, and runs under Python 3.6 and later, since the versions to
compare may need an old one. OUT receives the version and, by public path: modules, functions and classes with their
parameters, methods of classes, other values.
"""

import importlib
import importlib.util
import inspect
import json
import os
import sys
import warnings
from collections import deque

DEEPEST = 7
"""Modules further down than this are implementation in every package met so far."""

ALIASED = 3
"""Down to here a module is read under each of its names."""

IMPLEMENTATION = (
    "keras.src",
    "keras.api",
    "keras.backend.tensorflow_backend",
    "tensorflow.python",
    "tensorflow.core",
    "tensorflow.compiler",
    "tensorflow.tools",
    "tensorflow.raw_ops",
    "tensorflow.compat.v1.raw_ops",
    "tensorflow.compat.v1.compat",
    "tensorflow.compat.v1.keras",
    "tensorflow.compat.v2",
    "tensorflow.keras.src",
    "torch.testing",
)
"""Modules that are public by name and are left out: their own use, or a second copy of what is elsewhere."""


def roots(package):
    """The packages in which a package keeps what it shows as its own: TensorFlow has Keras as a part."""
    return (package, package + "_core", package + "_estimator", "keras")


def parameters(thing):
    """The names of the parameters, `**` among them where any keyword is taken; `None` where they cannot be read."""
    try:
        found = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError, NameError, AttributeError):
        return None
    names = [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if any(p.kind == p.VAR_KEYWORD for p in found):
        names.append("**")
    return names


def methods(cls):
    """The public methods of a class, its own with their parameters and inherited ones with `None`."""
    found = {}
    for name in dir(cls):
        if name.startswith("_"):
            continue
        own = name in vars(cls)
        value = attribute(cls, name)
        found[name] = parameters(value) if own and callable(value) else None
    return found


def described(value):
    """What is kept of a function, class or other value."""
    if inspect.isclass(value):
        return {
            "kind": "class",
            "origin": f"{value.__module__}.{value.__name__}",
            "parameters": parameters(value),
            "methods": methods(value),
            "own": sorted(name for name in vars(value) if not name.startswith("_")),
        }
    if callable(value):
        origin = "{}.{}".format(getattr(value, "__module__", ""), getattr(value, "__name__", ""))
        return {"kind": "function", "origin": origin, "parameters": parameters(value)}
    return {"kind": "value"}


def belongs(value, name, module, package):
    """Whether a public name of a module is of its API, and not something that it imported for its own use."""
    exported = attribute(module, "__all__")
    if isinstance(exported, (list, tuple)):
        return name in exported
    origin = attribute(value, "__module__")
    if not isinstance(origin, str):
        return hasattr(module, "__path__") and not callable(value)
    if origin.partition(".")[0] not in roots(package):
        return False
    return hasattr(module, "__path__") or origin == module.__name__


def attribute(module, name):
    """An attribute; `None` where a lazy module fails for want of another package, in whatever way it does."""
    try:
        return getattr(module, name)
    except Exception:  # noqa: BLE001
        return None


def public_api(package):
    """Everything that is reached from the package by public names, the shortest path to a module first."""
    root = importlib.import_module(package)
    names, modules = {}, []
    waiting, seen = deque([(package, root, frozenset([id(root)]))]), {id(root)}
    while waiting:
        path, module, above = waiting.popleft()
        modules.append(path)
        for name in sorted(dir(module)):
            if name.startswith("_"):
                continue
            value = attribute(module, name)
            full = path + "." + name
            if full in IMPLEMENTATION:
                continue
            if inspect.ismodule(value):
                called = str(attribute(value, "__name__"))
                inside = called.partition(".")[0] in roots(package) and (called == full or hasattr(module, "__path__"))
                again = full.count(".") <= ALIASED and id(value) not in above
                if inside and (id(value) not in seen or again) and full.count(".") < DEEPEST:
                    seen.add(id(value))
                    waiting.append((full, value, above | {id(value)}))
                elif inside:
                    modules.append(full)
            elif belongs(value, name, module, package):
                names[full] = described(value)
    return {"version": str(getattr(root, "__version__", "")), "modules": sorted(set(modules)), "names": names}


def choose_backend():
    """Let Keras 3 use a backend that is installed, where none was chosen."""
    for backend in ("tensorflow", "torch", "jax"):
        if importlib.util.find_spec(backend) is not None:
            os.environ.setdefault("KERAS_BACKEND", backend)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    choose_backend()
    answer = json.dumps(public_api(sys.argv[1]))
    with open(sys.argv[2], "w") as out:
        out.write(answer)
