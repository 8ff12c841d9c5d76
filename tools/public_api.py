"""Writes down the public API of an installed package; `compare_apis.py` runs it in other interpreters.

    python tools/public_api.py PACKAGE OUT.json [ASKED.json]

It imports nothing but the package and the standard library, and runs under Python 3.6 and later, since the versions to
compare may need an old one. OUT receives the version and, by public path: modules, functions and classes with their
parameters, methods of classes, other values. ASKED lists paths that are looked up one by one as well, since a version
may have names that it shows nowhere.
"""

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import typing
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


_WORD = re.compile(r"(?<=[.`'\"])\w+")
"""A name as documentation writes one, and not a word of it."""


def roots(package):
    """The packages in which a package keeps what it shows as its own: TensorFlow has Keras as a part."""
    return (package, package + "_core", package + "_estimator", "keras")


def parameters(thing):
    """The keywords, `**` among them where any is taken, how many arguments it needs and takes by place, or `None`."""
    try:
        found = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError, NameError, AttributeError):
        return None
    names = [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if any(p.kind == p.VAR_KEYWORD for p in found):
        names.append("**")
    places = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind == p.VAR_POSITIONAL for p in found)
    needed = sum(p.default is p.empty for p in places)
    return {"names": names, "needed": needed, "places": None if any_number else len(places), "open": is_open(thing)}


def is_open(thing):
    """Whether what is called first takes any keyword, whatever signature it shows: a wrapper may pass it on or keep it."""
    outermost = [thing.__init__, type(thing).__call__] if inspect.isclass(thing) else [thing]
    codes = [getattr(one, "__code__", None) for one in outermost]
    return any(code is not None and code.co_flags & inspect.CO_VARKEYWORDS for code in codes)


def documentation(value):
    """Its own words: not inherited ones, nor the bare signature that a binding to C++ writes."""
    if not callable(value) and not inspect.isdatadescriptor(value) and not inspect.ismodule(value):
        return ""
    words = vars(value).get("__doc__") if inspect.isclass(value) else attribute(value, "__doc__")
    if not isinstance(words, str):
        return ""
    first, _, others = words.strip().partition("\n")
    signature = first.startswith(str(attribute(value, "__name__")) + "(") and " -> " in first
    return others.strip() if signature else words.strip()


def shown(names):
    """Those that do not begin with an underscore."""
    return [name for name in names if not name.startswith("_")]


def methods(cls):
    """The public methods of a class, its own with their parameters and inherited ones with `None`."""
    found = {}
    for name in shown(dir(cls)):
        own = name in vars(cls)
        value = attribute(cls, name)
        found[name] = parameters(value) if own and callable(value) else None
    return found


def assigned(cls):
    """The public attributes that the methods of a class, or of what it derives from, give to `self`.

    The fields of a message of protocol buffers are attributes that newer versions of its library show in no class.
    """
    message = attribute(cls, "DESCRIPTOR")
    fields = shown(attribute(message, "fields_by_name") or ())
    return sorted(frozenset(fields).union(*map(assigned_by, cls.__mro__)))


@functools.lru_cache(maxsize=None)  # a base class is one of many, and reading its text parses the whole file
def assigned_by(cls):
    """Those that the class's own text gives."""
    with contextlib.suppress(OSError, TypeError):
        return frozenset(re.findall(r"\bself\.([A-Za-z]\w*)\s*(?::[^=\n]+)?=[^=]", inspect.getsource(cls)))
    return frozenset()


def described(value):
    """What is kept of a function, class or other value."""
    if inspect.isclass(value):
        return {
            "kind": "class",
            "origin": f"{value.__module__}.{value.__name__}",
            "parameters": parameters(value),
            "documented": bool(documentation(value)),
            "methods": methods(value),
            "assigned": assigned(value),
            "own": {name: bool(documentation(attribute(value, name))) for name in shown(vars(value))},
        }
    if callable(value):
        origin = "{}.{}".format(getattr(value, "__module__", ""), getattr(value, "__name__", ""))
        return {
            "kind": "function",
            "origin": origin,
            "parameters": parameters(value),
            "documented": bool(documentation(value)),
        }
    return {"kind": "value"}


def of_package(statement, package):
    """Whether an import is of the package's own modules."""
    return bool(statement.level) or statement.module.partition(".")[0] in roots(package)


def own_use(module, package):
    """The names that the text of a module binds in passing: by loops, and by imports of other packages.

    What a module has from another one by `import *` it has from there.
    """
    try:
        waiting = deque(ast.parse(inspect.getsource(module)).body)
    except Exception:  # noqa: BLE001 (objects that stand in for modules fail in ways of their own)
        return frozenset()
    found = set()
    while waiting:
        statement = waiting.popleft()
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, ast.For):
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            found.update(node.id for node in stored if isinstance(node.ctx, ast.Store))
        elif isinstance(statement, ast.ImportFrom) and not of_package(statement, package):
            found.update(alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 1 and statement.names[0].name == "*":
            found.update(own_use(sys.modules.get(f"{module.__name__}.{statement.module}"), package))
        waiting.extend(ast.iter_child_nodes(statement))
    return frozenset(found)


def belongs(value, name, module, package):
    """Whether a public name of a module is of its API, and not something that it imported for its own use."""
    if isinstance(value, typing.TypeVar):
        return False
    exported = attribute(module, "__all__")
    if isinstance(exported, (list, tuple)) and (name in exported or module.__name__ != package):
        return name in exported  # the list of torch itself has only what is written in Python
    origin = attribute(value, "__module__")
    if not isinstance(origin, str):
        return is_package(module)
    if origin.partition(".")[0] not in roots(package):
        return False
    return is_package(module) or origin == module.__name__


def public(path, package):
    """Whether the name of a module is one of the package's public paths."""
    parts = path.split(".")
    implementation = any((path + ".").startswith(one + ".") for one in IMPLEMENTATION)
    return parts[0] == package and not implementation and not any(part.startswith("_") for part in parts)


def is_package(module):
    """Whether a module is a folder, whose names are mostly imported from the files in it."""
    return attribute(module, "__path__") is not None


def attribute(module, name):
    """An attribute; `None` where a lazy module fails for want of another package, in whatever way it does."""
    try:
        return getattr(module, name)
    except Exception:  # noqa: BLE001
        return None


def public_api(package):
    """Everything that is reached from the package by public names, the shortest path to a module first.

    A value counts as documented where the words of any module, class or function name it.
    """
    root = importlib.import_module(package)
    names, modules, spoken = {}, [], set()
    waiting, seen = deque([(package, root, frozenset([id(root)]))]), {id(root)}
    while waiting:
        path, module, above = waiting.popleft()
        modules.append(path)
        passing = own_use(module, package)
        for name in sorted(set(shown(dir(module))) - passing):
            value = attribute(module, name)
            full = path + "." + name
            if full in IMPLEMENTATION:
                continue
            if inspect.ismodule(value):
                called = str(attribute(value, "__name__"))
                if called == str(attribute(module, "__name__")) or called != full and public(called, package):
                    continue  # a module that stands in for itself, or one of the package that it uses
                inside = called.partition(".")[0] in roots(package) and (called == full or is_package(module))
                again = full.count(".") <= ALIASED and id(value) not in above
                if inside and (id(value) not in seen or again) and full.count(".") < DEEPEST:
                    seen.add(id(value))
                    waiting.append((full, value, above | {id(value)}))
                elif inside:
                    modules.append(full)
            elif belongs(value, name, module, package):
                names[full] = described(value)
                spoken.update(_WORD.findall(documentation(value)))
        spoken.update(_WORD.findall(documentation(module)))
    for name, entry in names.items():
        entry.setdefault("documented", name.rpartition(".")[2] in spoken)
    return {"version": str(getattr(root, "__version__", "")), "modules": sorted(set(modules)), "names": names}


def reached(path):
    """What is found under a path, whether or not its module shows it; an `AttributeError` where nothing is."""
    parts = path.split(".")
    found = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        if not hasattr(found, part) and inspect.ismodule(found):
            try:  # a lazy module may not show what was imported before it took its place
                found = importlib.import_module(".".join(parts[:number]))
            except Exception:  # noqa: BLE001
                raise AttributeError(path) from None
        else:
            found = getattr(found, part)
    return found


def looked_up(paths):
    """By path, what is found there; modules as `None`."""
    found = {}
    for path in paths:
        with contextlib.suppress(Exception):
            value = reached(path)
            found[path] = None if inspect.ismodule(value) else described(value)
    return found


def choose_backend():
    """Let Keras 3 use a backend that is installed, where none was chosen."""
    for backend in ("tensorflow", "torch", "jax"):
        if importlib.util.find_spec(backend) is not None:
            os.environ.setdefault("KERAS_BACKEND", backend)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    choose_backend()
    answer = public_api(sys.argv[1])
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as asked:
            answer["asked"] = looked_up(json.load(asked))
    with open(sys.argv[2], "w") as out:
        out.write(json.dumps(answer))
