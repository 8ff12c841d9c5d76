"""Names the arguments of torch calls: of constructors from their frames, of functions from signatures and schemas."""

from __future__ import annotations

import inspect
from types import CodeType, FrameType
from typing import Any, Dict, List, Optional, Tuple

import torch as _torch

from .. import sites
from .names import plain

torch: Any = _torch

_FARTHEST_FRAME = 8

_parameters: Dict[int, Tuple[Any, Optional[List[str]]]] = {}
_schemas: Dict[str, List[Any]] = {}


class Construction:
    """Where and with what an object is being constructed, read from the frames of its `__init__` methods."""

    def __init__(self, instance: Any, frame: Optional[FrameType]) -> None:
        self.frames = _init_frames(instance, frame)
        self.caller = self.frames[-1].f_back if self.frames else frame

    @property
    def direct(self) -> bool:
        """Whether user code calls the constructor itself."""
        return sites.is_user_frame(self.caller)

    @property
    def site(self) -> Optional[List[Any]]:
        """The user's expression that leads to the construction."""
        return sites.caller_site(self.caller) if self.caller is not None else None

    def arguments(self, skip: Tuple[str, ...] = ()) -> Dict[str, Any]:
        """The constructor's arguments by parameter name, defaults included.

        A constructor that only passes `*args` and `**kwargs` on is spoken for by the one that it passes them to.
        """
        found: Dict[str, Any] = {}
        for frame in reversed(self.frames):
            code = frame.f_code
            if code is torch.nn.Module.__init__.__code__:
                break
            local = frame.f_locals
            for name in _parameter_names(code)[1:]:
                if name not in found and name not in skip and name in local:
                    found[name] = plain(local[name])
            if not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
                break
        return found


def _init_frames(instance: Any, frame: Optional[FrameType]) -> List[FrameType]:
    """The frames that run an `__init__` of the instance, innermost first."""
    found: List[FrameType] = []
    distance = 0
    while frame is not None and distance < _FARTHEST_FRAME:
        code = frame.f_code
        distance += 1
        if code.co_name == "__init__" and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is instance:
            found.append(frame)
            distance = 0
        frame = frame.f_back
    return found


def _parameter_names(code: CodeType) -> Tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def call_arguments(name: str, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The plain arguments of a function's call by parameter name; tensors are left out, they are inputs."""
    names = _signature(function)
    if names is None:
        return _by_schema(name, args, kwargs)
    found = {}
    for index, value in enumerate(args):
        if _is_plain(value):
            found[names[index] if index < len(names) else "argument%d" % index] = plain(value)
    for key, value in kwargs.items():
        if _is_plain(value) and not key.startswith("_"):
            found[key] = plain(value)
    return found


def _signature(function: Any) -> Optional[List[str]]:
    known = _parameters.get(id(function))
    if known is not None and known[0] is function:
        return known[1]
    names: Optional[List[str]] = None
    if hasattr(function, "__code__"):
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            names = None
    _parameters[id(function)] = (function, names)
    return names


def _is_plain(value: Any) -> bool:
    """Whether an argument is said in `args`; tensors, and sequences of them, are inputs instead."""
    if isinstance(value, torch.Tensor) or (hasattr(value, "dtype") and hasattr(value, "shape")):
        return False
    if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value[:8]):
        return False
    return not (isinstance(value, list) and len(value) > 64)


def _by_schema(name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    last = name.rpartition(".")[2]
    found = {key: plain(value) for key, value in kwargs.items() if _is_plain(value)}
    if not any(_is_plain(value) for value in args):
        return found
    if last in {"getitem", "setitem"}:
        found["index"] = plain(args[1]) if len(args) > 1 and _is_plain(args[1]) else None
        return found
    schema = next((known for known in _overloads(last) if _fits(known, args)), None)
    for index, value in enumerate(args):
        if not _is_plain(value):
            continue
        if schema is None or index >= len(schema):
            found["argument%d" % index] = plain(value)
        elif _is_list(schema[index][1]) and isinstance(value, int):
            found[schema[index][0]] = [plain(item) for item in args[index:]]
            break
        else:
            found[schema[index][0]] = plain(value)
    return found


def _overloads(last: str) -> List[Any]:
    """Names and types of the parameters of the operator's overloads, fewest parameters first."""
    if last not in _schemas:
        known = []
        for operator in (last, "_" + last):
            for schema in torch._C._jit_get_schemas_for_operator("aten::" + operator):
                positional = [argument for argument in schema.arguments if not argument.kwarg_only]
                known.append([(one.name, str(one.type).replace("Optional[", "")) for one in positional])
            if known:
                break
        _schemas[last] = sorted(known, key=len)
    return _schemas[last]


def _fits(schema: List[Tuple[str, str]], args: Tuple[Any, ...]) -> bool:
    for index, value in enumerate(args):
        if index >= len(schema):
            return bool(schema) and _is_list(schema[-1][1]) and isinstance(value, int)
        kind = schema[index][1]
        if isinstance(value, torch.Tensor):
            fits = "Tensor" in kind
        elif isinstance(value, bool):
            fits = "bool" in kind
        elif isinstance(value, int):
            fits = kind in {"int", "number", "Scalar", "SymInt", "float"} or "int" in kind.lower() or "Tensor" in kind
        elif isinstance(value, float):
            fits = "float" in kind or "number" in kind or "Scalar" in kind or "Tensor" in kind
        elif isinstance(value, str):
            fits = "str" in kind
        elif isinstance(value, (list, tuple)):
            fits = _is_list(kind)
        else:
            fits = True
        if not fits:
            return False
    return True


def _is_list(kind: str) -> bool:
    return "[]" in kind or kind.startswith("List")
