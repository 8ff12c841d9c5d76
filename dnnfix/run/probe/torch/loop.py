"""Writes `loop` events, the operations of the training loop in order, and decides which evaluations are recorded."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, List, Optional, Set

import torch as _torch

from .. import sites, wire
from .calls import Recorder
from .quiet import Patches, Quiet, guarded, head_site

torch: Any = _torch

_STEPS_WITH_EVENTS = 3
_MOST_EVENTS = 2000
_EVALUATIONS_RECORDED = 2
_CALLS_PER_EVALUATION = 400


class Loop:
    """Writes `loop` events for the first steps, and turns the recorder on for the first evaluations."""

    def __init__(self, recorder: Recorder) -> None:
        self.step = 0
        self._recorder = recorder
        self._events = 0
        self._evaluations = 0
        self._recording = True
        self._listening_for: Optional[str] = None
        self._hooks: List[Any] = []
        self._roots: Set[int] = set()
        self._patches = Patches()

    def install(self, patches: Patches) -> None:
        """Watch the methods that make up a training loop, except for `backward` and `step`."""
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self._patches.put(owner, "zero_grad", self._method("zero_grad"))
        self._patches.put(torch.set_grad_enabled, "__init__", self._switch)
        patches.put(torch.nn.Module, "eval", self._method("eval"))
        patches.put(torch.nn.Module, "train", self._method("train"))
        patches.put(torch.no_grad, "__enter__", self._enter)
        patches.put(torch.inference_mode, "__enter__", self._enter)
        patches.put(torch.no_grad, "__exit__", self._exit)
        patches.put(torch.inference_mode, "__exit__", self._exit)

    def happened(self, name: str, site: Any = None) -> None:
        """Write one event of the loop; `site` defaults to the user's expression now running."""
        if self.step < _STEPS_WITH_EVENTS and self._events < _MOST_EVENTS:
            self._events += 1
            wire.emit("loop", name=name, site=site or sites.caller_site(), step=self.step)

    def recorded(self) -> None:
        """The recorded steps are over."""
        self._recording = False
        self._recorder.stop()
        if self.step < _STEPS_WITH_EVENTS:
            # For all modules rather than on each root: what hangs on a model is saved and copied with it.
            self._roots = {id(root) for root in self._recorder.components.roots}
            self._hooks.append(torch.nn.modules.module.register_module_forward_pre_hook(self._forward))

    def step_done(self, step: int) -> None:
        """The optimizer step before step number `step` is done."""
        self.step = step
        if step == _STEPS_WITH_EVENTS:
            self.remove()

    def remove(self) -> None:
        """Take away what only the first steps' events need; optimizers pass here in every step."""
        self._patches.undo()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    @guarded
    def _forward(self, module: Any, args: Any) -> None:
        if id(module) in self._roots and not self._recorder.on and not Quiet.depth:
            self.happened("forward")

    @guarded
    def evaluation_begins(self, by: str) -> None:
        """The program turns to evaluation: its first passes are recorded as well."""
        if not self._recording and not self._recorder.on and self._evaluations < _EVALUATIONS_RECORDED:
            self._evaluations += 1
            self._listening_for = by
            self._recorder.start(_CALLS_PER_EVALUATION)

    @guarded
    def evaluation_ends(self, by: str) -> None:
        """Training continues; `by` names the operation that shows it (`backward` always does)."""
        if self._listening_for is not None and by in {"backward", "train", self._listening_for}:
            self._listening_for = None
            self._recorder.stop()

    def _method(self, name: str) -> Any:
        def make(original: Any) -> Any:
            def method(instance: Any, *args: Any, **kwargs: Any) -> Any:
                if _called_by_user(sys._getframe(1)):
                    self._noticed(name, args, kwargs)
                return original(instance, *args, **kwargs)

            method.__name__ = name
            method.__doc__ = original.__doc__
            return method

        return make

    @guarded
    def _noticed(self, name: str, args: Any, kwargs: Any) -> None:
        if name == "train" and (args[:1] == (False,) or kwargs.get("mode") is False):
            name = "eval"
        self.happened(name)
        if name == "eval":
            self.evaluation_begins("eval")
        elif name == "train":
            self.evaluation_ends("train")

    def _enter(self, original: Any) -> Any:
        def __enter__(instance: Any) -> Any:
            result = original(instance)
            if not Quiet.depth and _called_by_user(sys._getframe(1)):
                self._no_grad()
            return result

        return __enter__

    def _exit(self, original: Any) -> Any:
        def __exit__(instance: Any, *exception: Any) -> Any:
            if self._listening_for == "no_grad" and not Quiet.depth and _called_by_user(sys._getframe(1)):
                self.evaluation_ends("no_grad")
            return original(instance, *exception)

        return __exit__

    def _switch(self, original: Any) -> Any:
        def __init__(instance: Any, mode: bool, *args: Any, **kwargs: Any) -> None:
            original(instance, mode, *args, **kwargs)
            if not mode and not Quiet.depth and _called_by_user(sys._getframe(1)):
                self._no_grad()

        return __init__

    @guarded
    def _no_grad(self) -> None:
        self.happened("no_grad", head_site())
        self.evaluation_begins("no_grad")


def _called_by_user(frame: Optional[FrameType]) -> bool:
    """Whether user code calls directly, or through torch's decorator around a function of the user's."""
    if frame is None:
        return False
    if sites.is_user_frame(frame):
        return True
    if frame.f_code.co_name == "decorate_context":
        function = frame.f_locals.get("func")
        code = getattr(function, "__code__", None)
        return code is not None and sites.is_user_file(code.co_filename)
    return False
