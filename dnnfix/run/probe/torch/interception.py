"""Intercepts the calls of modules and functions in a torch program and passes them to a recorder.

`nn.Module.__call__` is wrapped for modules, a `TorchFunctionMode` sees functions, methods, operators and properties of
tensors, and a few functions that torch does not report there are wrapped by name. All of it is removed once the
recorded steps are over, so that it costs nothing then.

`layer.forward(x)` bypasses `__call__`. Where the program's source has such a call, the `forward` of every library
module is wrapped too, and one that user code calls itself counts as a call of the module. Programs that compile modules
to TorchScript are left alone, since that reads the `forward` of the classes.
"""

from __future__ import annotations

import functools
import sys
import threading
from types import FrameType
from typing import Any, Iterator, Optional, Tuple

import torch as _torch

from .. import sites
from .names import function_name
from .quiet import Patches, Quiet, guarded

torch: Any = _torch

_PASSING = frozenset({"handle_torch_function", "wrapped", "fn", "__iter__", "__reversed__", "__array__", "_quietly"})
"""Functions of torch's own that stand between the user's call and the mode."""

_WRAPPED = (
    ("torch.nn.functional", "sigmoid"),
    ("torch.nn.functional", "tanh"),
    ("torch.nn.utils.rnn", "pad_sequence"),
    ("torch.nn.utils.rnn", "pack_padded_sequence"),
    ("torch.nn.utils.rnn", "pad_packed_sequence"),
    ("torch.nn.utils.rnn", "pack_sequence"),
    ("torch", "from_numpy"),
)
"""Functions that torch does not report to a `TorchFunctionMode`, or only by their insides."""


class Watch:
    """The interception for one recorder, which has `on`, `enter`, `leave`, `before`, `after` and `fail`."""

    def __init__(self, recorder: Any, program: str = "") -> None:
        self._recorder = recorder
        self._mode = _Mode(recorder)
        self._entered = False
        self._patches = Patches()
        self._forwards = ".forward(" in program and "jit." not in program

    def start(self) -> None:
        """Install the recorders."""
        self._patches.put(torch.nn.Module, "__call__", self._wrap_call)
        for cls in _library_modules() if self._forwards else ():
            self._patches.put(cls, "forward", self._wrap_forward)
        for place, name in _WRAPPED:
            self._patches.put(sys.modules[place], name, functools.partial(self._wrap_function, place + "." + name))
        classes = (("torch.autograd.Variable", torch.autograd.Variable), ("torch.nn.Parameter", torch.nn.Parameter))
        for name, cls in classes:
            self._patches.put(type(cls), "__call__", functools.partial(self._wrap_class, name, cls))
        if not self._entered:
            self._entered = True
            self._mode.__enter__()

    def stop(self) -> None:
        """Take the watchers away."""
        self._patches.undo()
        self.settle()

    def settle(self) -> None:
        """Take the mode off the stack where it is on top; one that the program put above it must leave first."""
        depth = torch._C._len_torch_function_stack() if self._entered else 0
        if depth and torch._C._get_function_stack_at(depth - 1) is self._mode:
            self._mode.__exit__(None, None, None)
            self._entered = False

    def _wrap_call(self, original: Any) -> Any:
        recorder = self._recorder

        main = threading.get_ident()

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder.on or Quiet.depth or threading.get_ident() != main:
                return original(module, *args, **kwargs)
            return _entered(recorder, original, module, args, kwargs)

        return __call__

    def _wrap_forward(self, original: Any) -> Any:
        recorder = self._recorder

        main = threading.get_ident()

        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            called = recorder.on and not Quiet.depth and sites.is_user_file(sys._getframe(1).f_code.co_filename)
            if not called or threading.get_ident() != main or recorder.is_running(module):
                return original(module, *args, **kwargs)
            return _entered(recorder, original, module, args, kwargs)

        return functools.update_wrapper(forward, original)

    def _wrap_function(self, name: str, original: Any) -> Any:
        recorder = self._recorder

        def _quietly(*args: Any, **kwargs: Any) -> Any:
            if not recorder.on or Quiet.depth or not _from_user(sys._getframe(1)):
                return original(*args, **kwargs)
            call = recorder.before(name, original, args, kwargs)
            Quiet.depth += 1
            try:
                output = original(*args, **kwargs)
            except BaseException as error:
                recorder.fail(error, call)
                raise
            finally:
                Quiet.depth -= 1
            recorder.after(call, args, output)
            return output

        return functools.update_wrapper(_quietly, original)

    def _wrap_class(self, name: str, watched: type, original: Any) -> Any:
        def __call__(cls: type, *args: Any, **kwargs: Any) -> Any:
            if cls is not watched:
                return original(cls, *args, **kwargs)
            return self._wrap_function(name, functools.partial(original, cls))(*args, **kwargs)

        return __call__


def _entered(recorder: Any, original: Any, module: Any, args: Tuple[Any, ...], kwargs: Any) -> Any:
    """What the module gives, with the recorder told of the call."""
    state = recorder.enter(module, args, kwargs)
    try:
        output = original(module, *args, **kwargs)
    except BaseException as error:
        recorder.leave(state, error, None)
        raise
    recorder.leave(state, None, output)
    return output


def _library_modules() -> Iterator[Any]:
    """Every class of torch.nn that has a `forward` of its own."""
    seen = {torch.nn.Module}
    for cls in list(vars(torch.nn).values()):
        if isinstance(cls, type) and issubclass(cls, torch.nn.Module):
            for base in cls.__mro__:
                if base not in seen and "forward" in vars(base):
                    seen.add(base)
                    yield base


class _Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """Shows the recorder every call of a torch function."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        recorder = self._recorder
        if Quiet.depth or not recorder.on:
            return func(*args, **kwargs)
        name = _called(func, sys._getframe(1))
        if name is None:
            return func(*args, **kwargs)
        call = recorder.before(name, func, args, kwargs)
        try:
            output = func(*args, **kwargs)
        except BaseException as error:
            recorder.fail(error, call)
            raise
        recorder.after(call, args, output)
        return output


@guarded
def _called(function: Any, frame: Optional[FrameType]) -> Optional[str]:
    """The name under which this call is to be recorded; `None` where user code does not make it."""
    name = function_name(function)
    if name is None or in_tracing():
        return None
    own = getattr(function, "__name__", "")
    for _ in range(6):
        if frame is None:
            return None
        code = frame.f_code
        if sites.is_user_file(code.co_filename):
            return name
        passing = code.co_name in _PASSING or code.co_name in (own, "_" + own)
        if not passing and not code.co_filename.startswith(sites.PROBE):
            return None
        frame = frame.f_back
    return None


def _from_user(frame: Optional[FrameType]) -> bool:
    while frame is not None and frame.f_code.co_filename.startswith(sites.PROBE):
        frame = frame.f_back
    return sites.is_user_frame(frame)


def in_tracing() -> bool:
    """Whether torch is tracing the program into a graph; what runs then is not the program's own work."""
    return torch._C._get_tracing_state() is not None
