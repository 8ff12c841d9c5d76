"""Records the library calls that user code makes: layers, losses, functions, tensor methods and operators.

A call is recorded when user code makes it; what a library module does inside its own `forward` is not, except for
modules that the user put into it. A call is written when it returns, and calls inside a model when the model returns,
since the model's outputs are measured then.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch as _torch

from .. import recorded, sites, wire
from ..recorded import MOST_CALLS, CallCounts, key_of
from ..user_classes import is_user_class
from .arguments import call_arguments
from .components import Components, members
from .interception import Watch, in_tracing
from .names import CONSTANTS, DATA, LEAVING, class_name, is_container, is_loss_function, kind_of
from .quiet import Quiet, guarded
from .values import EDGES, Ledger, at_edge, keepable, narrows, tensors_in, traceable

torch: Any = _torch


class _Module:
    """A module whose `__call__` is under way."""

    __slots__ = ("call", "is_root", "module", "root", "transparent")

    def __init__(
        self, module: Any, root: Any, call: Optional[Dict[str, Any]], transparent: bool, is_root: bool
    ) -> None:
        self.module = module
        self.root = root
        self.call = call
        self.transparent = transparent
        self.is_root = is_root


class Recorder:
    """Turns calls into `call` events; `on` says whether it listens at all."""

    def __init__(self, components: Components, program: str = "") -> None:
        self.components = components
        self.ledger = Ledger()
        self.on = False
        self.step = 0
        self.failed: Optional[Tuple[Any, Dict[str, Any]]] = None
        self.on_forward: Callable[[Any, Any], None] = lambda module, site: None
        self.on_output: Callable[[Any, Any], None] = lambda module, output: None
        self.on_input: Callable[[Any, Any, Any], None] = lambda module, args, kwargs: None
        self.on_library_model: Callable[[Any, Any, Any], None] = lambda module, args, kwargs: None
        self._stack: List[_Module] = []
        self._paths: Dict[int, Tuple[Any, str]] = {}
        self._pending: List[Dict[str, Any]] = []
        self._counts = CallCounts()
        self._last_at: Dict[Tuple[Any, ...], int] = {}
        self._recent: Dict[int, Dict[str, Any]] = {}
        self._calls = 0
        self._limit = MOST_CALLS
        self._running: Tuple[int, int, int] = (0, 0, 0)
        self._watch = Watch(self, program)

    def start(self, extra: Optional[int] = None) -> None:
        """Listen; at most `extra` further calls where it is given."""
        if not self.on:
            self._limit = MOST_CALLS if extra is None else min(MOST_CALLS, self._calls + extra)
            self.on = True
            self._watch.start()

    def stop(self) -> None:
        """Listen no more; the program's calls run as they would without the probe."""
        if self.on:
            self.on = False
            self._watch.stop()

    def settle(self) -> None:
        """Finish to take the watchers away where `stop` came while one of them was at work."""
        if not self.on:
            self._watch.settle()

    def flush(self) -> None:
        """Write the calls that were held back until the outputs of the model were measured."""
        pending, self._pending = self._pending, []
        for call in pending:
            wire.emit("call", **call)

    def producer_of(self, item: Any) -> Optional[Dict[str, Any]]:
        """The recorded call that made a tensor."""
        entry = self.ledger.known(item)
        producer = entry.value["producer"] if entry is not None else None
        return self._recent.get(producer) if producer is not None else None

    def call_of(self, call: Optional[int]) -> Optional[Dict[str, Any]]:
        """A recorded call by its id."""
        return self._recent.get(call) if call is not None else None

    def calls(self) -> List[Dict[str, Any]]:
        """Every recorded call, in order."""
        return list(self._recent.values())

    @guarded
    def enter(self, module: Any, args: Any, kwargs: Any) -> Optional[_Module]:
        if in_tracing():
            return None
        with Quiet():
            self.components.called(module)
            outer = self._stack[-1] if self._stack else None
            transparent = is_user_class(type(module)) or is_container(module)
            loss = kind_of(module) == "loss"
            is_root = outer is None and not loss and not self._within_running(module) and self._is_model(module)
            state = _Module(module, outer.root if outer else module, None, transparent, is_root)
            if is_root:
                self._begin_root(module, args, kwargs)
            if not transparent and all(above.transparent for above in self._stack):
                self.on_library_model(module, args, kwargs)
            if not transparent and (outer is None or self._visible(module)):
                state.call = self._module_call(module, args, kwargs, loss)
            self._stack.append(state)
            return state

    def is_running(self, module: Any) -> bool:
        """Whether a call of the module is under way, so that its `forward` is a part of that call."""
        return any(state.module is module for state in self._stack)

    def _within_running(self, module: Any) -> bool:
        """Whether a method of a model is running that torch knows nothing of, as in `model.forward(x)`.

        Such a model is entered as if it had been called, so that its layers do not pass for models of their own.
        """
        for owner, frame in _running_modules():
            if owner is module or not any(part is module for _, part, _ in members(owner)):
                continue
            self.components.add_root(owner)
            if self._running != (id(frame), id(owner), self.step):
                self._running = (id(frame), id(owner), self.step)
                self._begin_root(owner, (), {}, sites.caller_site())
            return True
        return False

    def _is_model(self, module: Any) -> bool:
        self.components.add_root(module)
        return any(root is module for root in self.components.roots)

    def _visible(self, module: Any) -> bool:
        """Whether a module inside another is called by user code, by a container, or was put there by the user."""
        if all(state.transparent for state in self._stack):
            return True
        fields = self.components.fields.get(self.components.id_of(module) or 0)
        if fields is None or fields["site"] is None:
            return False
        return all(state.call is None or _open(state.module) for state in self._stack)

    def _begin_root(self, module: Any, args: Any, kwargs: Any, site: Any = None) -> None:
        self._paths = {id(part): (part, path) for path, part, _ in members(module)}
        for part, _ in self._paths.values():
            for buffer in part._buffers.values():
                if buffer is not None:
                    self.ledger.is_constant(buffer)
        self.components.describe_root(module)
        self.on_forward(module, site or sites.caller_site())
        if site is None:
            self.on_input(module, args, kwargs)
        for tensor in tensors_in([args, kwargs]):
            self.ledger.value(tensor)
            self.ledger.measure(tensor)

    def _module_call(self, module: Any, args: Any, kwargs: Any, loss: bool) -> Dict[str, Any]:
        component = self.components.id_of(module)
        fields = self.components.fields.get(component or 0, {})
        call = self._new_call(fields.get("name") or class_name(type(module)), args, kwargs, loss)
        path = self._paths.get(id(module))
        call.update(component=component, made_at=fields.get("site"), args=fields.get("args", {}))
        call["path"] = path[1] if path is not None and path[0] is module else ""
        return call

    @guarded
    def leave(self, state: Optional[_Module], error: Optional[BaseException], output: Any) -> None:
        if state is None:
            return
        with Quiet():
            while self._stack and self._stack.pop() is not state:
                pass
            if error is not None:
                if state.call is not None:
                    self._fail(error, state.call)
                return
            if state.call is not None:
                self._complete(state.call, tensors_in(output))
            if state.is_root:
                self.on_output(state.module, output)
                for tensor in tensors_in(output):
                    self.ledger.measure(tensor)
            if not self._stack:
                self.flush()

    @guarded
    def before(self, name: str, function: Any, args: Any, kwargs: Any) -> Optional[Dict[str, Any]]:
        """The call that is about to be made; `None` where it brings up new data, or where too many were recorded."""
        with Quiet():
            call = self._new_call(name, args, kwargs, is_loss_function(name))
            call["args"] = call_arguments(name, function, args, kwargs)
            return call

    @guarded
    def after(self, call: Optional[Dict[str, Any]], args: Any, output: Any) -> None:
        """Complete and record a call that returned."""
        if call is None:
            return
        with Quiet():
            name = call["name"]
            if name == "torch.Tensor.setitem":
                self._complete(call, [args[0]])
            elif name == "torch.nn.Parameter":
                self.ledger.arrived(output, "parameter", call["site"])
            elif name in CONSTANTS or (name in DATA and not call["inputs"]):
                origin = "constant" if name in CONSTANTS else "data"
                for tensor in tensors_in(output):
                    self.ledger.arrived(tensor, origin, call["site"])
            elif name in LEAVING:
                self._complete(call, [output] if keepable(output) else [])
            else:
                outputs = list(tensors_in(output))
                edge = name in EDGES and any(at_edge(item) for item in outputs)
                measured = edge or narrows(name, args, outputs)
                if measured and not name.endswith("_"):
                    call["inputs"] = [self._measured(item) for item in traceable(self.ledger, list(args))]
                if outputs:
                    self._complete(call, outputs, measured=measured)

    def _measured(self, item: Any) -> Dict[str, Any]:
        self.ledger.value(item)
        self.ledger.measure(item)
        return self.ledger.value(item)

    @guarded
    def fail(self, error: BaseException, call: Optional[Dict[str, Any]]) -> None:
        """Remember the call from which an exception came."""
        if call is not None:
            self._fail(error, call)

    def _new_call(self, name: str, args: Any, kwargs: Any, loss: bool) -> Dict[str, Any]:
        inside = any(not state.transparent for state in self._stack)
        inputs = []
        for item in traceable(self.ledger, [list(args), list(kwargs.values())]):
            value = self.ledger.value(item, inside)
            if loss:
                self.ledger.measure(item)
                value = self.ledger.value(item, inside)
            inputs.append(value)
        scope = [type(state.module).__name__ for state in self._stack if state.transparent]
        if not self._stack:
            scope = [type(module).__name__ for module, _ in _running_modules()]
        training = self._stack[0].module.training if self._stack else True
        phase = "train" if training and Quiet.outer_gradients else "eval"
        return recorded.call(name, sites.caller_site(), inputs, phase, self.step, scope)

    def _complete(self, call: Dict[str, Any], outputs: Any, measured: bool = False) -> None:
        key = key_of(call)
        if self._counts.is_enough(call):
            for item in outputs:
                self.ledger.produced(item, self._last_at[key])
            return
        self._calls += 1
        call["id"] = self._last_at[key] = self._calls
        call["outputs"] = [self.ledger.produced(item, call["id"]) for item in outputs]
        for item in outputs if measured else ():
            self.ledger.measure(item)
        self._recent[call["id"]] = call
        self._pending.append(call)
        if not self._stack:
            self.flush()
        if self._calls >= self._limit:
            self.stop()

    def _fail(self, error: BaseException, call: Dict[str, Any]) -> None:
        mark = fingerprint(error)
        if self.failed is None or self.failed[0] != mark:
            self.failed = (mark, call)


def _running_modules() -> List[Tuple[Any, FrameType]]:
    """The modules of the user's whose methods are running, outermost first, with the frames that run them."""
    found: List[Tuple[Any, FrameType]] = []
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_argcount and code.co_name != "__init__" and sites.is_user_file(code.co_filename):
            owner = frame.f_locals.get(code.co_varnames[0])
            if isinstance(owner, torch.nn.Module) and all(owner is not known for known, _ in found):
                found.append((owner, frame))
        frame = frame.f_back
    return found[::-1]


def _open(module: Any) -> bool:
    """Whether the insides of a library module are worth recording beside the module itself: whole models are."""
    return not type(module).__module__.startswith("torch.nn.")


def fingerprint(error: BaseException) -> Tuple[Any, ...]:
    """Tells exceptions apart without keeping them, and with them the program's frames, alive."""
    return id(error), type(error), str(error)
