"""Finds the torch call that was running when an exception left the program, also after recording has ended.

While the recorder is on, it has seen the call. Afterwards it is read from the traceback: the frames of library code
hold the module or the arguments; where the library is compiled code, the user's own expression and its variables do.
"""

from __future__ import annotations

import ast
from types import FrameType, TracebackType
from typing import Any, Dict, List, Optional, Tuple

import torch as _torch

from .. import sites
from ..lookup import MISSING, is_method, value_of
from ..user_classes import is_user_class
from .arguments import call_arguments
from .calls import Recorder, fingerprint
from .components import Components, members
from .names import class_name, is_container, plain
from .quiet import Quiet, guarded

torch: Any = _torch

_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.MatMult: "matmul", ast.Pow: "pow",
    ast.Mod: "remainder", ast.FloorDiv: "floor_divide",
}  # fmt: skip


@guarded
def call_in_flight(error: BaseException, recorder: Recorder, components: Components) -> Optional[Dict[str, Any]]:
    """The fields of the innermost library call that raised; `None` where the exception came from elsewhere."""
    recorder.flush()
    chain = list(sites.causes(error))
    if recorder.failed is not None and recorder.failed[0] in [fingerprint(one) for one in chain]:
        return recorder.failed[1]
    with Quiet():
        for one in chain:
            found = _from_traceback(one.__traceback__, recorder, components)
            if found is not None:
                return found
    return None


def _from_traceback(
    traceback: Optional[TracebackType], recorder: Recorder, components: Components
) -> Optional[Dict[str, Any]]:
    entries = list(sites.every_entry(traceback))
    users = [number for number, entry in enumerate(entries) if sites.is_user_frame(entry.tb_frame)]
    if not users:
        return None
    last = entries[users[-1]]
    site = next(iter(reversed([frame["site"] for frame in sites.frames_of(entries[users[0]])])), None)
    made = _called_in(entries[users[-1] + 1 :], recorder, components)
    if made is None:
        made = _called_at(last, recorder)
    if made is None:
        return None
    modules = [entry.tb_frame.f_locals.get("self") for entry in entries if sites.is_user_frame(entry.tb_frame)]
    scope = [type(module).__name__ for module in modules if isinstance(module, torch.nn.Module)]
    made.update(id=0, site=site, outputs=[], step=recorder.step, scope=scope)
    made.setdefault("path", "")
    return made


def _called_in(entries: List[TracebackType], recorder: Recorder, components: Components) -> Optional[Dict[str, Any]]:
    """The call that library frames below the user's innermost frame are running."""
    for entry in entries:
        frame = entry.tb_frame
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.Module) and frame.f_code.co_name in {
            "_wrapped_call_impl",
            "_call_impl",
            "forward",
        }:
            if is_container(owner) or is_user_class(type(owner)):
                continue
            return _module_call(owner, frame, recorder, components)
    for entry in entries:
        name, function = _function_of(entry.tb_frame)
        if name is not None:
            local = entry.tb_frame.f_locals
            code = entry.tb_frame.f_code
            given = {
                key: local[key] for key in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if key in local
            }
            return _call(name, function, (), given, recorder)
    return None


def _module_call(module: Any, frame: FrameType, recorder: Recorder, components: Components) -> Dict[str, Any]:
    component = components.id_of(module)
    fields = components.fields.get(component or 0, {})
    local = frame.f_locals
    if frame.f_code.co_name == "forward":
        names = frame.f_code.co_varnames[1 : frame.f_code.co_argcount]
        args, kwargs = tuple(local[name] for name in names if name in local), {}
    else:
        args, kwargs = tuple(local.get("args", ())), dict(local.get("kwargs", {}))
    call = _call(fields.get("name") or class_name(type(module)), None, args, kwargs, recorder)
    path = next((path for root in components.roots for path, part, _ in members(root) if part is module), "")
    call.update(component=component, made_at=fields.get("site"), args=fields.get("args", {}), path=path)
    call["phase"] = "train" if module.training else "eval"
    return call


def _function_of(frame: FrameType) -> Tuple[Optional[str], Any]:
    """The public function whose code a library frame runs."""
    name = frame.f_code.co_name
    places = (("torch.nn.functional", torch.nn.functional), ("torch.Tensor", torch.Tensor), ("torch", torch))
    for prefix, owner in places:
        function = getattr(owner, name, None)
        code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
        if code is frame.f_code:
            return prefix + "." + name, function
    return None, None


def _call(name: str, function: Any, args: Any, kwargs: Dict[str, Any], recorder: Recorder) -> Dict[str, Any]:
    call = recorder._new_call(name, args, kwargs, True)
    if function is not None:
        call["args"] = call_arguments(name, function, args, kwargs)
    for value in call["inputs"]:
        if value["producer"] is None and value["origin"] == "data" and value.get("requires_grad"):
            value["origin"] = None
    return call


def _called_at(entry: TracebackType, recorder: Recorder) -> Optional[Dict[str, Any]]:
    """The call that the user's own expression makes, from its source and the variables in it."""
    frame = entry.tb_frame
    node = sites.expression(frame.f_code.co_filename, sites.site_of_entry(entry) or [])
    if isinstance(node, ast.Call):
        return _called_by(node, frame, recorder)
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        left = node.left if isinstance(node, ast.BinOp) else node.target
        right = node.right if isinstance(node, ast.BinOp) else node.value
        sides = [value_of(side, frame) for side in (left, right)]
        if any(isinstance(side, torch.Tensor) for side in sides):
            call = _call("torch.Tensor." + _OPERATORS[type(node.op)], None, (), {}, recorder)
            call["inputs"] = [recorder.ledger.value(side) for side in sides if isinstance(side, torch.Tensor)]
            return call
    return None


def _called_by(node: ast.Call, frame: FrameType, recorder: Recorder) -> Optional[Dict[str, Any]]:
    args = tuple(value_of(argument, frame) for argument in node.args)
    kwargs = {word.arg: value_of(word.value, frame) for word in node.keywords if word.arg}
    args, kwargs = _without_missing(args, kwargs)
    if isinstance(node.func, ast.Attribute):
        owner = value_of(node.func.value, frame)
        if isinstance(owner, torch.Tensor):
            return _call(
                "torch.Tensor." + node.func.attr,
                getattr(torch.Tensor, node.func.attr, None),
                (owner,) + args,
                kwargs,
                recorder,
            )
    function = value_of(node.func, frame)
    if function is MISSING or isinstance(function, torch.nn.Module) or not callable(function):
        return None
    if is_method(node.func, function, frame):
        return None
    name = plain(function)
    if not isinstance(name, str) or not name.startswith("torch."):
        return None
    return _call(name, function, args, kwargs, recorder)


def _without_missing(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    known = tuple(value for value in args if value is not MISSING)
    return known, {key: value for key, value in kwargs.items() if value is not MISSING}
