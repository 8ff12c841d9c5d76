"""Writes down the public API of an installed package; `compare_apis.py` runs it in other interpreters.

    python tools/public_api.py PACKAGE OUT.json

It imports nothing but the package and the standard library, and runs under Python 3.6 and later, since the versions to
compare may need an old one. OUT receives the version and, by public path: modules, functions and classes with their
parameters, methods of classes, other values.
"""

import importlib
import inspect
import json
import sys
import warnings
from collections import deque

DEEPEST = 7
"""Modules further down than this are implementation in every package met so far."""


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
    exported = getattr(module, "__all__", None)
    if isinstance(exported, (list, tuple)):
        return name in exported
    origin = getattr(value, "__module__", None)
    if not isinstance(origin, str):
        return hasattr(module, "__path__") and not callable(value)
    if origin.partition(".")[0] not in (package, "keras"):
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
    waiting, seen = deque([(package, root)]), {id(root)}
    while waiting:
        path, module = waiting.popleft()
        modules.append(path)
        for name in sorted(dir(module)):
            if name.startswith("_"):
                continue
            value = attribute(module, name)
            full = path + "." + name
            if inspect.ismodule(value):
                inside = value.__name__.partition(".")[0] in (package, "keras")
                if inside and id(value) not in seen and full.count(".") < DEEPEST:
                    seen.add(id(value))
                    waiting.append((full, value))
                elif inside:
                    modules.append(full)
            elif belongs(value, name, module, package):
                names[full] = described(value)
    return {"version": str(getattr(root, "__version__", "")), "modules": sorted(set(modules)), "names": names}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with open(sys.argv[2], "w") as out:
        json.dump(public_api(sys.argv[1]), out)
