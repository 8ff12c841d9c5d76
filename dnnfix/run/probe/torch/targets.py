"""Finds the prediction and the target of the last loss, wherever the program computes it.

Loss functions of torch stay wrapped for the whole run (loss layers call them too). For a loss that the program writes
out, such as the mean of a squared difference, the recorded calls of the first steps show which tensors are compared and
in which expression; in later steps only that expression is observed.
"""

from __future__ import annotations

import functools
import sys
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch as _torch

from .. import sites
from .names import loss_functions
from .quiet import Patches, Quiet, guarded

torch: Any = _torch

_FARTHEST = 64
_SUBTRACTIONS = frozenset(
    {"torch.Tensor.sub", "torch.sub", "torch.Tensor.rsub", "torch.subtract", "torch.Tensor.subtract"}
)
_PRODUCTS = frozenset({"torch.Tensor.mul", "torch.mul"})
_FORMS = {False: ("__sub__", "__rsub__", "sub", "subtract"), True: ("__mul__", "__rmul__", "mul", "multiply")}
"""By what a difference, and by what a product can be written."""
_LOGARITHMS = frozenset({"torch.log", "torch.Tensor.log"})

Pair = Tuple[Any, Any, str]
Site = Any


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
        self._written: Optional[Tuple[Site, bool, bool]] = None
        """Where a loss is written out: its site, whether the prediction is the second of its two sides, whether it is a product."""
        self._is_there: Dict[Tuple[CodeType, int], bool] = {}
        """Whether an instruction is the one at that site."""
        self._watched: Set[Tuple[Any, bool]] = set()
        self._patches: Optional[Patches] = None
        self._depth = 0

    def install(self, patches: Patches) -> None:
        """Watch the loss functions."""
        self._patches = patches
        for name in loss_functions():
            patches.put(torch.nn.functional, name, functools.partial(self._wrap, name))

    def take(self) -> Optional[Pair]:
        """The pair of the step that ends."""
        pair, self.last = self.last, None
        return None if pair is None else (pair[0].detach(), pair[1].detach(), pair[2])

    def _wrap(self, name: str, original: Any) -> Any:
        def loss(*args: Any, **kwargs: Any) -> Any:
            if self._depth or Quiet.depth:
                return original(*args, **kwargs)
            changed = self._compared(name, original, args, kwargs)
            if changed is not None:
                args, kwargs = changed
            self._depth += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._depth -= 1

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
        call = _compared_in_graph(loss, recorder)
        if call is None:
            return
        is_second, is_product = bool(call["inputs"][1]["requires_grad"]), call["name"] in _PRODUCTS
        prediction, target = (recorder.ledger.object_of(value["id"]) for value in _sides(call, recorder, is_second))
        if isinstance(prediction, torch.Tensor) and isinstance(target, torch.Tensor):  # which may be gone by now
            self.last = (prediction, target, "")
        if call["site"] is not None:
            self._written = (call["site"], is_second, is_product)
            self._is_there.clear()
            self._watch(torch.Tensor if call["name"].startswith("torch.Tensor.") else torch, is_product)

    def _watch(self, owner: Any, is_product: bool) -> None:
        """From now on a loss that the program writes out is heard of as it compares, whether or not a variable holds what it compares.

        Functions of torch are left alone where methods are called: what TorchScript compiles has to find them as they are.
        """
        if (owner, is_product) not in self._watched and self._patches is not None:
            self._watched.add((owner, is_product))
            for name in _FORMS[is_product]:
                self._patches.put(owner, name, self._wrap_operation)

    def _wrap_operation(self, original: Any) -> Any:
        def operation(*args: Any, **kwargs: Any) -> Any:
            if Quiet.depth or len(args) != 2 or not self._is_written_at(sys._getframe(1)):
                return original(*args, **kwargs)
            return original(*(self._written_out(args) or args), **kwargs)

        return functools.update_wrapper(operation, original)

    def _is_written_at(self, frame: Any) -> bool:
        key = frame.f_code, frame.f_lasti
        if key not in self._is_there:
            self._is_there[key] = (
                self._written is not None and sites.is_user_frame(frame) and sites.site_of(frame) == self._written[0]
            )
        return self._is_there[key]

    @guarded
    def _written_out(self, sides: Tuple[Any, ...]) -> Optional[Tuple[Any, ...]]:
        """What is compared at the place of the loss; other sides where an experiment wants another target."""
        if self._written is None:
            return None
        _, is_second, is_product = self._written
        prediction, target = reversed(sides) if is_second else sides
        if not isinstance(prediction, torch.Tensor) or not isinstance(target, torch.Tensor):
            return None
        gradients = torch.is_grad_enabled()
        with Quiet():
            changed = self.replace(target) if self.replace is not None and gradients else target
            pair = (prediction.exp() if is_product else prediction, changed, "")
        if gradients:
            self.last = pair
        else:
            self.evaluated(pair)
        return (changed, prediction) if is_second else (prediction, changed)


def _compared_in_graph(loss: Any, recorder: Any) -> Optional[Dict[str, Any]]:
    """The nearest call behind a loss that compares what trains with what does not."""
    waiting: List[Any] = [recorder.producer_of(loss)]
    seen: Set[int] = set()
    while waiting and len(seen) < _FARTHEST:
        call = waiting.pop(0)
        if call is None or call["id"] in seen:
            continue
        seen.add(call["id"])
        if call["component"] is not None:
            continue
        if _compares(call, recorder):
            return dict(call)
        waiting.extend(recorder.call_of(value.get("producer")) for value in call["inputs"])
    return None


def _compares(call: Dict[str, Any], recorder: Any) -> bool:
    if len(call["inputs"]) != 2 or call["name"] not in _SUBTRACTIONS | _PRODUCTS:
        return False
    trained = [value for value in call["inputs"] if value["requires_grad"]]
    if len(trained) != 1:
        return False
    before = recorder.call_of(trained[0]["producer"]) if call["name"] in _PRODUCTS else None
    return call["name"] in _SUBTRACTIONS or (before is not None and before["name"] in _LOGARITHMS)


def _sides(call: Dict[str, Any], recorder: Any, is_second: bool) -> List[Dict[str, Any]]:
    """The values of the prediction and of the target of a call that compares them."""
    first, second = call["inputs"]
    trained, fixed = (second, first) if is_second else (first, second)
    return [recorder.call_of(trained["producer"])["inputs"][0] if call["name"] in _PRODUCTS else trained, fixed]
