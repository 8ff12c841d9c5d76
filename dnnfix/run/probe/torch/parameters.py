"""Writes the `parameters` event of a torch program: the names of all parameters, and whether they trained."""

from __future__ import annotations

import math
import sys
from typing import Any, Dict, List, Optional, Set, Tuple

import torch as _torch

from .. import budget, sites, wire
from .components import Components, members
from .quiet import Quiet, guarded

torch: Any = _torch

_MOST_NODES = 5000
_PIECE = 1 << 20


class _Known:
    """A parameter with its name and what was measured of it."""

    __slots__ = ("before", "component", "constant", "gradient", "measured", "name", "registered", "tensor", "update")

    def __init__(self, name: str, tensor: Any, component: Optional[int], registered: bool) -> None:
        self.name = name
        self.tensor = tensor
        self.component = component
        self.registered = registered
        self.constant: Optional[bool] = None
        self.gradient: Optional[float] = None
        self.update: Optional[float] = None
        self.measured = False
        self.before: Any = None


class Parameters:
    """Follows every parameter of the models through the first full step."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._known: Dict[int, _Known] = {}
        self._roots: Tuple[int, ...] = ()
        self._stepped: Dict[int, Any] = {}
        self._idle: Dict[int, Any] = {}
        self.sent = False

    @guarded
    def survey(self) -> None:
        """Enter the parameters of the models met so far; called before they train, when they are as initialized."""
        roots = tuple(id(root) for root in self._components.roots)
        if roots == self._roots or self.sent:
            return
        self._roots = roots
        with Quiet():
            for name, tensor, component, registered in self.named():
                known = self._known.get(id(tensor))
                if known is None or known.tensor is not tensor:
                    known = self._known[id(tensor)] = _Known(name, tensor, component, registered)
                    known.constant = _is_constant(tensor)
                known.name = name

    def named(self) -> List[Tuple[str, Any, Optional[int], bool]]:
        """The parameters of all models: name, tensor, the component that holds it, whether it is registered."""
        roots = self._components.roots
        classes = [type(root).__name__ for root in roots]
        found = []
        for root, cls in zip(roots, classes):
            prefix = ""
            if len(roots) > 1:
                prefix = cls + ("." if classes.count(cls) == 1 else "%s." % self._components.id_of(root))
            for path, module, registered in members(root):
                for name, tensor in module._parameters.items():
                    if tensor is not None:
                        full = prefix + (path + "." if path else "") + name
                        found.append((full, tensor, self._components.id_of(module), registered))
        return found

    @guarded
    def add_leaves(self, loss: Any) -> None:
        """Enter the leaf tensors that a loss depends on and that no model holds; they are called as in the program."""
        if not self.sent:
            with Quiet():
                self._add_loose(leaves_of(loss))

    def _add_loose(self, tensors: List[Any]) -> None:
        for tensor in tensors:
            if id(tensor) not in self._known:
                name = _name_in_frames(tensor) or "tensor%d" % len(self._known)
                known = self._known[id(tensor)] = _Known(name, tensor, None, True)
                known.constant = _is_constant(tensor)

    @guarded
    def before_step(self, held: Optional[List[Any]]) -> None:
        """Measure gradients and remember the values; `held` are the parameters of the optimizer about to step."""
        if self.sent:
            return
        self.survey()
        ids = {id(tensor) for tensor in held} if held is not None else set(self._known)
        with Quiet():
            self._add_loose(held or [])
            for key, known in self._known.items():
                if known.measured and (key not in ids or key in self._stepped):
                    continue
                gradient = known.tensor.grad
                known.gradient = None if gradient is None else float(torch.linalg.vector_norm(_dense(gradient)))
                known.before = known.tensor.detach().clone()
                known.measured = True

    @guarded
    def after_step(self, held: Optional[List[Any]], idle: bool = False, own: bool = False) -> None:
        """Measure the updates. An `idle` step, at a learning rate of zero as schedules with a warm-up begin, is not the last one.

        Of an optimizer that is the program's `own`, a step that moves nothing is such a one.
        """
        if self.sent:
            return
        ids = {id(tensor) for tensor in held or ()}
        with Quiet():
            for known in self._known.values():
                if known.before is not None:
                    same = known.tensor.shape == known.before.shape
                    known.update = distance(known.tensor.detach(), known.before) if same else None
                    known.before = None
            moved = [known.update for key, known in self._known.items() if key in ids]
            idle = idle or own and all(update == 0.0 for update in moved)
            for key, known in self._known.items():
                if held is None and known.update:
                    self._stepped[key] = True
                if key in ids:
                    (self._idle if idle else self._stepped)[key] = True

    def kept(self, tensor: Any) -> Any:
        """The values that a parameter has before a step: those that are remembered of it, or else a copy."""
        known = self._known.get(id(tensor))
        return tensor.detach().clone() if known is None or known.before is None else known.before

    def gradients(self) -> List[Any]:
        """The gradients there are now."""
        return [known.tensor.grad for known in self._known.values() if known.tensor.grad is not None]

    def _cut_off(self) -> Set[int]:
        """The parameters of optimizers whose turn did not come before the budget ended."""
        if not budget.used_up():
            return set()
        held = {id(tensor) for optimizer in self._components.optimizers for tensor in parameters_of(optimizer)}
        return held - set(self._stepped) - set(self._idle)

    def all_stepped(self) -> bool:
        """Whether every optimizer of the program has made a step, and there is one."""
        optimizers = self._components.optimizers
        return bool(optimizers) and all(
            any(id(tensor) in self._stepped for tensor in parameters_of(optimizer)) for optimizer in optimizers
        )

    def names(self) -> Dict[int, str]:
        """The names by the identity of the tensors."""
        self.survey()
        return {key: known.name for key, known in self._known.items()}

    @guarded
    def send(self) -> None:
        """Write the event, once."""
        if self.sent or not self._known:
            return
        self.sent = True
        names = {key: known.name for key, known in self._known.items()}
        for optimizer in self._components.optimizers:
            component = self._components.id_of_other(optimizer)
            if component is not None:
                held = parameters_of(optimizer)
                fields = self._components.fields[component]
                fields["parameters"] = [names.get(id(tensor), "unnamed%d" % n) for n, tensor in enumerate(held)]
        waiting = self._cut_off()
        listed = [
            {
                "name": known.name,
                "shape": [int(size) for size in known.tensor.shape],
                "component": known.component,
                "trainable": bool(known.tensor.requires_grad),
                "optimized": None if key in waiting else key in self._stepped or key in self._idle,
                "gradient": known.gradient,
                "update": known.update,
                "constant": known.constant,
            }
            for key, known in self._known.items()
        ]
        wire.emit("parameters", parameters=listed)
        for known in self._known.values():
            known.before = None


def parameters_of(optimizer: Any) -> List[Any]:
    """The tensors that an optimizer holds."""
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]


def leaves_of(loss: Any) -> List[Any]:
    """The leaf tensors at the ends of a loss's graph."""
    found: List[Any] = []
    seen: Set[Any] = set()
    waiting = [loss.grad_fn]
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.append(variable)
        waiting.extend(following for following, _ in node.next_functions)
    return found


def _name_in_frames(tensor: Any) -> Optional[str]:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if sites.is_user_frame(frame):
            for name, value in list(frame.f_locals.items()):
                if value is tensor:
                    return str(name)
                if isinstance(value, (list, tuple)) and len(value) < 64:
                    for index, item in enumerate(value):
                        if item is tensor:
                            return "%s[%d]" % (name, index)
                if isinstance(value, dict) and len(value) < 64:
                    for key, item in value.items():
                        if item is tensor:
                            return "%s[%r]" % (name, key)
        frame = frame.f_back
    return None


def _is_constant(tensor: Any) -> Optional[bool]:
    """Whether all elements of a weight of two or more dimensions are equal; `None` for other tensors."""
    if tensor.dim() < 2 or tensor.numel() < 2 or isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return None
    low, high = torch.aminmax(tensor.detach())
    return bool(low == high)


def _dense(tensor: Any) -> Any:
    return tensor.to_dense() if tensor.layout != torch.strided else tensor


def distance(after: Any, before: Any) -> float:
    """The Euclidean distance of two tensors of one shape, computed in pieces: large ones would fill the memory of a
    run.
    """
    pairs = zip(after.reshape(-1).split(_PIECE), before.reshape(-1).split(_PIECE))
    apart = [torch.linalg.vector_norm(new.to(torch.float64) - old.to(torch.float64)) for new, old in pairs]
    return math.hypot(*[float(one) for one in apart])
