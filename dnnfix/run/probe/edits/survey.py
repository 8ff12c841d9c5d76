"""Records at a crash what edits could use: values in scope, values of parts of the failing expressions, signatures.

A search over edits fills its operators with them. Parts of the failing statements are evaluated in a fork, so that
calls among them change nothing.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from typing import Any, Dict, List, Sequence

from .. import sites, wire
from ..crash.refusals import words
from ..guard import guarded
from ..lookup import MISSING, is_method, type_name, value_of
from . import forks, returned, stopped, time_limit, visits
from .stopped import Standing

FRAMES = 5
"""Frames that are told of: the innermost, and the program's own."""

NAMES = 80
"""Names of one frame that are told."""

PARTS = 60
"""Expressions of one statement that are evaluated."""

PART_SECONDS = 0.5
"""Seconds that the evaluation of one expression may take."""

ITEMS = 4
"""Items of a container that are told."""

KEYS = 40
"""Keys of a dictionary, and attributes of an object, that are told."""

LONGEST = 160
"""Characters of a text that are told."""

ATTRIBUTES = 200
"""Names of a module or a class that are told; of one with more, as of a class that a library grew, those are not."""

CALLS = 300
"""Calls of the program whose parameters are told."""

NEAR = 2000
"""Attributes of an object, of which one was missing, that are told."""

ELEMENTS = 1 << 22
"""Elements of an array up to which its range is told."""


@guarded
def survey(error: BaseException) -> None:
    """Write what is in reach as the probe `survey`: `{"frames": [...]}`, outermost first."""
    stopped.forget()
    past = returned.standings()
    frames = stopped.standings(error)
    chosen = frames[:1] + frames[1:][-FRAMES + 1 :]
    told, before = (forks.answers(each, _frame, 1, 10.0, share=1) for each in (chosen, past))
    value = {"frames": _full(told), "past": _full(before), "calls": _calls(frames), "near": _near(error)}
    value["compared"] = _compared(frames)
    value["before"] = visits.told()
    wire.emit("probe", name="survey", value=value)


def _full(told: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [one for one in told if "names" in one]


def _frame(one: Standing) -> Dict[str, Any]:
    site = stopped.text(one.filename)
    start, end = site.span(one.statement)
    return {
        "path": sites.path_of(one.filename),
        "function": one.frame.f_code.co_name,
        "statement": [*start, *end],
        "names": _names(one),
        "values": _values(one),
    }


def _calls(frames: Sequence[Standing]) -> List[Any]:
    """(path, span, parameters) of what is called anywhere in the files of the frames, where names tell what it is."""
    found: List[Any] = []
    homes = {one.filename: one for one in reversed(frames)}
    for filename, one in homes.items():
        text = stopped.text(filename)
        for node in ast.walk(text.tree):
            if isinstance(node, ast.Call) and len(found) < CALLS:
                function = value_of(node.func, one.frame)
                parameters = takes(function) if function is not MISSING and callable(function) else []
                if parameters:
                    if is_method(node.func, function, one.frame) or (
                        isinstance(function, type) and parameters[0][0] == "self"
                    ):
                        parameters = parameters[1:]
                    start, end = text.span(node.func)
                    found.append([sites.path_of(filename), [*start, *end], parameters])
    return found


def _compared(frames: Sequence[Standing]) -> List[Any]:
    """(path, span, what it is) of functions that are compared with something, where their call was meant."""
    found: List[Any] = []
    homes = {one.filename: one for one in reversed(frames)}
    for filename, one in homes.items():
        text = stopped.text(filename)
        for node in ast.walk(text.tree):
            for each in (node.left, *node.comparators) if isinstance(node, ast.Compare) else ():
                function = value_of(each, one.frame) if isinstance(each, (ast.Name, ast.Attribute)) else MISSING
                if function is not MISSING and inspect.isroutine(function):
                    start, end = text.span(each)
                    found.append([sites.path_of(filename), [*start, *end], described(function)])
    return found[:CALLS]


def _names(one: Standing) -> Dict[str, Any]:
    frame = one.frame
    found: Dict[str, Any] = {}
    owner = frame.f_locals.get("self")
    space = dict(frame.f_locals)
    if frame.f_locals is not frame.f_globals:
        space.update({name: value for name, value in frame.f_globals.items() if name not in space})
    for name, value in space.items():
        if not name.startswith("__") and name != "self" and len(found) < NAMES:
            found[name] = described(value)
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        parts = value.items() if name in ("_modules", "_parameters", "_buffers") and isinstance(value, dict) else ()
        for inner, part in [(name, value)] if not parts else parts:
            if not str(inner).startswith("_") and len(found) < 2 * NAMES:
                found["self.%s" % inner] = described(part)
    return found


def _values(one: Standing) -> List[Any]:
    """(span, what it held) of the parts of a statement, those further in first; what raises tells nothing."""
    text = stopped.text(one.filename)
    bodies = {id(each) for block in stopped.blocks_of(one.statement) for each in block}
    parts: List[Any] = []

    def gather(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if id(child) in bodies or isinstance(child, (ast.Lambda, ast.comprehension)):
                continue
            gather(child)
            if isinstance(child, ast.expr) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
                parts.append(child)

    gather(one.statement)
    space = {**one.frame.f_globals, **one.frame.f_locals}
    told = ((text.span(node), _value(node, space)) for node in parts[:PARTS] if not isinstance(node, ast.Constant))
    return [[[*start, *end], value] for (start, end), value in told if value]


def _value(node: ast.expr, space: Dict[str, Any]) -> Dict[str, Any]:
    """What a part of a statement holds; nothing where it cannot be evaluated."""
    try:
        freed: Any = stopped.alone([ast.Expr(value=node)])[0]
        code = compile(ast.fix_missing_locations(ast.Expression(freed.value)), "<part>", "eval", dont_inherit=True)
        with time_limit.limited(PART_SECONDS):
            return described(eval(code, space))
    except BaseException:
        return {}


def described(value: Any, depth: int = 0) -> Dict[str, Any]:
    """A value's kind, and its properties that an edit may need: shape, range, length, items, keys, parameters."""
    told: Dict[str, Any] = {"kind": type_name(value)}
    try:
        _describe(value, told, depth)
    except Exception:
        return told
    return told


def _describe(value: Any, told: Dict[str, Any], depth: int) -> None:
    if isinstance(value, (bool, int, float)):
        told["number"] = value
    elif isinstance(value, str):
        told["text"] = value[:LONGEST]
    elif isinstance(value, (list, tuple)):
        told["size"] = len(value)
        if depth < 2:
            told["items"] = [described(item, depth + 1) for item in value[:ITEMS]]
    elif isinstance(value, dict):
        told["size"] = len(value)
        told["keys"] = [key for key in list(value)[:KEYS] if isinstance(key, (str, int))]
        if depth < 2:
            told["items"] = [described(item, depth + 1) for item in list(value.values())[:ITEMS]]
    elif isinstance(value, types.ModuleType):
        told["module"] = value.__name__
        told["attributes"] = [name for name in vars(value) if not name.startswith("_")][:ATTRIBUTES]
    elif isinstance(value, type) or inspect.isroutine(value):
        told["takes"] = takes(value)
        own = vars(value) if isinstance(value, type) else ()
        told["attributes"] = [name for name in own if not name.startswith("_")][:KEYS]
    else:
        _describe_object(value, told)


def _describe_object(value: Any, told: Dict[str, Any]) -> None:
    device = _device_of(value)
    if device is not None:
        told["device"] = str(device)
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        sizes = [getattr(size, "value", size) for size in shape]
        told["shape"] = [None if size is None else int(size) for size in sizes]
        told["dtype"] = str(getattr(dtype, "name", dtype)).replace("torch.", "")
        _describe_range(value, told)
        return
    if callable(value):
        told["takes"] = takes(getattr(value, "forward", None) or getattr(value, "call", None) or value)
    names = [name for name in dir(type(value)) if not name.startswith("_")]
    own = [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")]
    told["attributes"] = own[:KEYS] + (names if len(names) <= ATTRIBUTES else [])


def _device_of(value: Any) -> Any:
    """The device of torch that a tensor or a network is on, or that a value names."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(value, torch.nn.Module):
        # Of a module whose constructor was not called even this cannot be asked.
        value = next(value.parameters(), None) if "_parameters" in vars(value) else None
    return value.device if isinstance(value, torch.Tensor) else value if isinstance(value, torch.device) else None


def _describe_range(value: Any, told: Dict[str, Any]) -> None:
    torch: Any = sys.modules.get("torch")
    numpy: Any = sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        told["grown"] = bool(value.requires_grad)
        array = value.detach()
        if value.device.type == "meta" or not 0 < array.numel() <= ELEMENTS or array.is_complex():
            return
        array = array.double()
        told.update(low=float(array.min()), high=float(array.max()), whole=bool((array == array.floor()).all()))
    elif numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        if value.dtype.kind not in "biuf" or not 0 < value.size <= ELEMENTS:
            return
        whole = value.dtype.kind in "biu" or bool((value == numpy.floor(value)).all())
        told.update(low=float(value.min()), high=float(value.max()), whole=whole)


def takes(function: Any) -> List[Any]:
    """The parameters of a function: name, kind (`place`, `both`, `name`, `places`, `names`), and the source of its
    default.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = {0: "place", 1: "both", 2: "places", 3: "name", 4: "names"}
    return [[p.name, kinds[int(p.kind)], None if p.default is p.empty else _plain(p.default)] for p in parameters][
        :KEYS
    ]


def _plain(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, (bool, int, float, str, tuple)) else "..."


def _near(error: BaseException) -> List[Any]:
    """What the object has whose attribute was asked for: names with what they are (`class`, `call` or `value`)."""
    owner = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
    if isinstance(error, ImportError):
        owner = sys.modules.get(error.name or "")
    if owner is None:
        return []
    found = [[name, _sort(owner, name)] for name in dir(owner) if not name.startswith("_")][:NEAR]
    if isinstance(owner, types.ModuleType):
        return found + _below(owner, str(getattr(error, "name", "")))
    return found + _within(owner, str(getattr(error, "name", "")))


def _within(owner: Any, name: str) -> List[Any]:
    """What the parts of an object, a network's layers among them, have under that name."""
    held = {**(getattr(owner, "__dict__", None) or {}), **getattr(owner, "_modules", {})}
    found: List[Any] = []
    for part, one in list(held.items())[:PARTS]:
        inner = {**(getattr(one, "__dict__", None) or {}), **getattr(one, "_modules", {})}
        if not part.startswith("_") and not isinstance(one, (type, types.ModuleType)) and name in inner:
            dotted = "%s.%s" % (part, name)
            found += [[dotted, "value"]] + [[dotted, "call"]] * callable(inner[name])
    return found


def _below(module: types.ModuleType, name: str) -> List[Any]:
    """What the modules in a module, and those in them, have under that name, or one of the same words: (dotted name, sort)."""
    wanted = set(words(name))
    found: List[Any] = []
    inner = [(part, held) for part, held in vars(module).items() if _is_part(part, held, module)]
    for outer, one in inner[:PARTS]:
        inner_too = [(part, held) for part, held in vars(one).items() if _is_part(part, held, one)] if wanted else []
        for path, held in [(outer, one)] + [("%s.%s" % (outer, part), held) for part, held in inner_too[:PARTS]]:
            for other in vars(held).get("__all__") or vars(held):
                dotted = "%s.%s" % (path, other)
                if not other.startswith("_") and (other == name or set(words(dotted)) == wanted):
                    found.append([dotted, _sort(held, other)])
    return found[:KEYS]


def _is_part(name: str, held: Any, module: types.ModuleType) -> bool:
    """Whether what a module has is a public module of the same package, under its own name."""
    package = module.__name__.partition(".")[0]
    own = str(getattr(held, "__name__", ""))  # a module that loads late may have none
    of_package = own.startswith(package) and own.rpartition(".")[2] == name
    return not name.startswith("_") and isinstance(held, types.ModuleType) and of_package


def _sort(owner: Any, name: str) -> str:
    held = inspect.getattr_static(owner, name, None)
    if held is None:  # layers of torch are kept apart from other attributes
        held = ((getattr(owner, "__dict__", None) or {}).get("_modules") or {}).get(name)
    if isinstance(held, type):
        return "class"
    return "call" if callable(held) or isinstance(held, (staticmethod, classmethod)) else "value"
