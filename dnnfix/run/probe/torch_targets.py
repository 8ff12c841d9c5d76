"""The prediction and the target of the last loss, wherever the program computes it.

Loss functions of torch are wrapped for good (loss layers call them too). For a loss that the program writes out, such
as the mean of a squared difference, the first steps' recorded calls tell which tensors are compared and in which
variables they are; later steps read those variables.
"""

from __future__ import annotations

import functools
import sys
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch as _torch

from . import sites
from .torch_guard import Patches, Quiet, guarded
from .torch_names import loss_functions

torch: Any = _torch

_FARTHEST = 64
_SUBTRACTIONS = frozenset(
    {"torch.Tensor.sub", "torch.sub", "torch.Tensor.rsub", "torch.subtract", "torch.Tensor.subtract"}
)
_PRODUCTS = frozenset({"torch.Tensor.mul", "torch.mul"})
_LOGARITHMS = frozenset({"torch.log", "torch.Tensor.log"})

Pair = Tuple[Any, Any, str]
Place = Tuple[CodeType, str]


class Targets:
    """Finds (prediction, target, name of the loss) for each step."""

    def __init__(self) -> None:
        self.last: Optional[Pair] = None
        self.replace: Optional[Callable[[Any], Any]] = None
        """Makes another target of a target before the loss sees it; for experiments."""
        self.observe: Optional[Callable[[str, Any, Any, Any, Dict[str, Any]], None]] = None
        """Told of every call of a loss function: name, function, prediction, target, other arguments."""
        self.evaluated: Callable[[Pair], None] = lambda pair: None
        """Told of what a loss compares that is not trained on."""
        self._places: Optional[Tuple[Place, Place]] = None
        self._depth = 0

    def install(self, patches: Patches) -> None:
        """Watch the loss functions."""
        for name in loss_functions():
            patches.put(torch.nn.functional, name, functools.partial(self._wrap, name))

    def take(self) -> Optional[Pair]:
        """The pair of the step that ends."""
        pair, self.last = self.last, None
        return None if pair is None else (pair[0].detach(), pair[1].detach(), pair[2])

    def _wrap(self, name: str, original: Any) -> Any:
        targets = self

        def loss(*args: Any, **kwargs: Any) -> Any:
            if targets._depth or Quiet.depth:
                return original(*args, **kwargs)
            changed = targets._compared(name, original, args, kwargs)
            if changed is not None:
                args, kwargs = changed
            targets._depth += 1
            try:
                return original(*args, **kwargs)
            finally:
                targets._depth -= 1

        return functools.update_wrapper(loss, original)

    @guarded
    def _compared(self, name: str, function: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        prediction = args[0] if args else kwargs.get("input")
        target = args[1] if len(args) > 1 else kwargs.get("target")
        if not isinstance(prediction, torch.Tensor) or not isinstance(target, torch.Tensor):
            return None
        changed = None
        if self.replace is not None or self.observe is not None:
            target, changed = self._experiment(name, function, prediction, target, args, kwargs)
        if torch.is_grad_enabled():
            self.last = (prediction, target, name)
        else:
            self.evaluated((prediction, target, name))
        return changed

    def _experiment(
        self, name: str, function: Any, prediction: Any, target: Any, args: Any, kwargs: Dict[str, Any]
    ) -> Tuple[Any, Any]:
        changed = None
        with Quiet():
            if self.replace is not None:
                target = self.replace(target)
                changed = (
                    (args[:1] + (target,) + args[2:], kwargs) if len(args) > 1 else (args, {**kwargs, "target": target})
                )
            if self.observe is not None:
                self.observe(name, function, prediction, target, {"args": args[2:], "kwargs": kwargs})
        return target, changed

    @guarded
    def find(self, loss: Any, recorder: Any) -> None:
        """In a recorded step: trace the loss back to what it compares, where no loss function of torch was called."""
        if self.last is not None:
            return
        found = _compared_in_graph(loss, recorder)
        if found is None:
            return
        prediction, target, name = found
        self.last = (prediction, target, name)
        first, second = _place_of(prediction), _place_of(target)
        if first is not None and second is not None:
            self._places = (first, second)

    @guarded
    def look_up(self) -> None:
        """In a later step: read the variables that held prediction and target."""
        if self.last is not None or self._places is None:
            return
        prediction, target = (_read(place) for place in self._places)
        if isinstance(prediction, torch.Tensor) and isinstance(target, torch.Tensor):
            self.last = (prediction, target, "")


def _compared_in_graph(loss: Any, recorder: Any) -> Optional[Tuple[Any, Any, str]]:
    waiting: List[Any] = [recorder.producer_of(loss)]
    seen: Set[int] = set()
    while waiting and len(seen) < _FARTHEST:
        call = waiting.pop(0)
        if call is None or call["id"] in seen:
            continue
        seen.add(call["id"])
        if call["component"] is not None:
            continue
        pair = _sides(call, recorder)
        if pair is not None:
            return pair
        waiting.extend(recorder.call_of(value.get("producer")) for value in call["inputs"])
    return None


def _sides(call: Dict[str, Any], recorder: Any) -> Optional[Tuple[Any, Any, str]]:
    """(prediction, target, "") where a call compares what trains with what does not."""
    if len(call["inputs"]) != 2 or call["name"] not in _SUBTRACTIONS | _PRODUCTS:
        return None
    trained = [value for value in call["inputs"] if value["requires_grad"]]
    fixed = [value for value in call["inputs"] if not value["requires_grad"]]
    if len(trained) != 1 or len(fixed) != 1:
        return None
    if call["name"] in _PRODUCTS:
        before = recorder.call_of(trained[0]["producer"])
        if before is None or before["name"] not in _LOGARITHMS:
            return None
        trained = before["inputs"][:1]
    prediction, target = (recorder.ledger.object_of(value["id"]) for value in (trained[0], fixed[0]))
    if not isinstance(prediction, torch.Tensor) or not isinstance(target, torch.Tensor):
        return None
    return prediction, target, ""


def _place_of(tensor: Any) -> Optional[Place]:
    """The variable, in a user's function that is running, that holds the tensor."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if sites.is_user_frame(frame):
            for name, value in list(frame.f_locals.items()):
                if value is tensor:
                    return frame.f_code, str(name)
        frame = frame.f_back
    return None


def _read(place: Place) -> Any:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code is place[0]:
            return frame.f_locals.get(place[1])
        frame = frame.f_back
    return None
