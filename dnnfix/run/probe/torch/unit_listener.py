"""Passes layer outputs and weight gradients of a torch program to `measures.units` in the steps it measures."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import torch as _torch

from .. import sites
from ..measures.units import Units, is_activation
from ..user_classes import is_user_class
from .components import Components
from .interception import Watch
from .names import is_container
from .parameters import Parameters
from .quiet import Quiet, guarded
from .values import as_numpy, tensors_in

torch: Any = _torch


class Listener:
    """A recorder, as `Watch` asks for it, that hands outputs and gradients to `Units`."""

    def __init__(self, components: Components, parameters: Parameters) -> None:
        self.on = False
        self.units = Units()
        self._components = components
        self._parameters = parameters
        self._number = 0
        self._running: List[Any] = []
        self._watch = Watch(self)

    @guarded
    def step_done(self, number: int) -> None:
        """The step of that number, counted from 1, is over; its gradients are still there."""
        if self.on:
            self.on = False
            self._watch.stop()
            with Quiet():
                self._look_at_gradients(number)
            self.units.step_done(number)
        else:
            self._watch.settle()
        if self.units.due(number + 1):
            self._number = number + 1
            self._running = []
            self.on = True
            self._watch.start()

    def _look_at_gradients(self, number: int) -> None:
        for name, tensor, _component, _registered in self._parameters.named():
            if tensor.grad is not None and tensor.grad.layout == torch.strided:
                self.units.came(number, name, as_numpy(tensor.grad))

    def is_running(self, module: Any) -> bool:
        """Whether a call of the module is under way."""
        return any(one is module for one in self._running)

    def enter(self, module: Any, args: Any, kwargs: Any) -> Any:
        """A module is called."""
        self._running.append(module)
        return module

    def leave(self, module: Any, error: Optional[BaseException], output: Any) -> None:
        """Its call is over."""
        self._running.pop()
        if error is None and not is_user_class(type(module)) and not is_container(module):
            self._gave(id(module), type(module).__name__, self._made_at(module), output)

    def before(self, name: str, function: Any, args: Any, kwargs: Any) -> Optional[Tuple[str, Any]]:
        """User code calls a function: what activations give is measured."""
        short = name.rpartition(".")[2]
        return (short, sites.caller_site()) if is_activation(short) else None

    def after(self, call: Optional[Tuple[str, Any]], args: Any, output: Any) -> None:
        """The function gave something."""
        if call is not None and call[1] is not None:
            self._gave(str(call), *call, output)

    def fail(self, error: BaseException, call: Any) -> None:
        """A function failed: the program's recorder tells of that."""

    @guarded
    def _gave(self, key: Any, name: str, site: Any, output: Any) -> None:
        first = next(tensors_in(output), None)
        if first is not None and first.requires_grad and first.is_floating_point():
            with Quiet():
                few = first[: self.units.rows(first.shape)] if first.dim() else first
                self.units.gave(self._number, key, name, site, as_numpy(few))

    def _made_at(self, module: Any) -> Any:
        component = self._components.id_of(module)
        return None if component is None else self._components.fields[component].get("site")
