"""Counts optimizer steps and measures each: loss, skill, gradient, update and spread of the output.

During the recorded steps everything is measured at once. Later steps only put references aside; they are measured a
few at a time, so that a step of a small network is hardly slowed.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Dict, List, Optional

import torch as _torch

from . import budget, sites, wire
from .torch_calls import Recorder
from .torch_components import Components
from .torch_guard import Patches, Quiet, guarded
from .torch_loop import Loop
from .torch_parameters import Parameters, parameters_of
from .torch_skill import Skill, norm_of, output_spread
from .torch_targets import Targets

torch: Any = _torch

_WAITING_AT_MOST = 16
_SECONDS_WAITING = 0.25
_BACKWARDS_WITHOUT_STEP = 16
_CALLS_AFTER_TRAINING = 400


class Steps:
    """The program's training, step by step."""

    def __init__(self, recorder: Recorder, components: Components, loop: Loop, targets: Targets, record: int) -> None:
        self.index = 0
        self.parameters = Parameters(components)
        self.step_seconds: Optional[float] = None
        self._recorder = recorder
        self._components = components
        self._loop = loop
        self._targets = targets
        self._record = record
        self._skill = Skill()
        self._loss: Any = None
        self._gradient: Any = None
        self._before: List[Any] = []
        self._held: List[Any] = []
        self._backwards = 0
        self._optimizer_steps = 0
        self._waiting: List[Dict[str, Any]] = []
        self._flushed = time.monotonic()
        self._times: List[float] = []
        self._hooks: List[Any] = []
        self._after_training = False

    def install(self, patches: Patches) -> None:
        """Watch `backward` and the optimizers' steps."""
        patches.put(torch.autograd, "backward", self._wrap_backward)
        optimizer: Any = sys.modules["torch.optim.optimizer"]
        self._hooks.append(optimizer.register_optimizer_step_pre_hook(self._before_step))
        self._hooks.append(optimizer.register_optimizer_step_post_hook(self._after_step))

    def remove(self) -> None:
        """Watch no longer."""
        for hook in self._hooks:
            hook.remove()

    # Backward

    def _wrap_backward(self, original: Any) -> Any:
        steps = self

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if Quiet.depth:
                return original(tensors, *args, **kwargs)
            steps._begin_backward(tensors)
            try:
                result = original(tensors, *args, **kwargs)
            except BaseException as error:
                steps._backward_failed(error, tensors)
                raise
            if not steps._optimizer_steps:
                steps._end_backward()
            return result

        return backward

    @guarded
    def _begin_backward(self, tensors: Any) -> None:
        if self._backwards and self._without_optimizer():
            self._end_own_step()
        self._loop.happened("backward")
        self._loop.evaluation_ends("backward")
        loss = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if loss is None:
            return
        self._backwards += 1
        if self._recorder.on:
            self._targets.find(loss, self._recorder)
            if self._without_optimizer():
                self.parameters.add_leaves(loss)
        else:
            self._targets.look_up()
        self._loss = loss.detach() if loss.numel() == 1 else None

    @guarded
    def _backward_failed(self, error: BaseException, tensors: Any) -> None:
        with Quiet():
            loss = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
            call = self._recorder._new_call("torch.Tensor.backward", loss, {}, False)
            self._recorder.fail(error, call)

    @guarded
    def _end_backward(self) -> None:
        if self._without_optimizer():
            with Quiet():
                if self.index < self._record:
                    self.parameters.before_step(None)
                self._gradient = norm_of(self.parameters.gradients())

    def _without_optimizer(self) -> bool:
        """Whether the program updates its parameters by hand, so that each `backward` begins a step."""
        if self._optimizer_steps:
            return False
        return not self._components.optimizers or self._backwards >= _BACKWARDS_WITHOUT_STEP

    def _end_own_step(self) -> None:
        with Quiet():
            if self.index < self._record:
                self.parameters.after_step(None)
            self._finish_step(None)

    # Optimizers

    @guarded
    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if Quiet.depth:
            return
        if self.index < 3:
            self._loop.happened("step", sites.caller_site())
        with Quiet():
            self._held = parameters_of(optimizer)
            if self.index < self._record:
                self.parameters.before_step(self._held)
                self._before = [tensor.detach().clone() for tensor in self._held]
            if not args and not kwargs.get("closure"):
                self._gradient = norm_of([t.grad for t in self._held if t.grad is not None])

    @guarded
    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if Quiet.depth:
            return
        self._optimizer_steps += 1
        with Quiet():
            update = None
            if self._gradient is None:
                self._gradient = norm_of([t.grad for t in self._held if t.grad is not None])
            if self._before:
                update = _update_ratio(self._held, self._before)
                self._before = []
                self.parameters.after_step(self._held)
            self._finish_step(update)
            self._held = []

    # Steps

    def _finish_step(self, update: Optional[float]) -> None:
        pair = self._targets.take()
        self._waiting.append(
            {"index": self.index, "loss": self._loss, "gradient": self._gradient, "update": update, "pair": pair}
        )
        self._loss = self._gradient = None
        self._backwards = 0
        self.index += 1
        budget.count_step()
        self._recorder.step = self.index
        now = time.monotonic()
        if self.index <= self._record:
            self._end_recorded_step()
        elif len(self._times) < 10_000:
            self._times.append(now)
        if (
            self.index <= self._record
            or len(self._waiting) >= _WAITING_AT_MOST
            or now - self._flushed > _SECONDS_WAITING
        ):
            self.flush()
        self._loop.step_done(self.index)
        self._recorder.settle()
        if budget.used_up() and not self._after_training:
            self._after_training = True
            self._recorder.start(_CALLS_AFTER_TRAINING)

    def _end_recorded_step(self) -> None:
        if self.index == self._record or self._all_stepped():
            self.parameters.send()
        if self.index == self._record:
            self._loop.recorded()

    def _all_stepped(self) -> bool:
        return self._optimizer_steps >= len(self._components.optimizers)

    @guarded
    def flush(self) -> None:
        """Measure and write the steps that were put aside."""
        waiting, self._waiting = self._waiting, []
        self._flushed = time.monotonic()
        with Quiet():
            for step in waiting:
                pair = step.pop("pair")
                skill = spread = None
                if pair is not None:
                    skill = self._skill.of(*pair)
                    spread = output_spread(pair[0])
                loss, gradient = _number(step["loss"]), _number(step["gradient"])
                step.update(loss=loss, gradient=gradient, skill=skill, output_std=spread)
                wire.emit("step", **step)

    @guarded
    def finish(self) -> None:
        """The program has ended: write what is left."""
        if self._backwards and self._without_optimizer() and not budget.used_up():
            self._end_own_step()
        self.flush()
        self.parameters.survey()
        self.parameters.send()
        if len(self._times) > 1:
            intervals = sorted(later - earlier for earlier, later in zip(self._times, self._times[1:]))
            self.step_seconds = intervals[len(intervals) // 2]


def _number(value: Any) -> Optional[float]:
    return None if value is None else float(value)


def _update_ratio(after: List[Any], before: List[Any]) -> Optional[float]:
    """The norm of the change of the parameters over the norm of the parameters."""
    size = float(norm_of([tensor.to(torch.float64) for tensor in before]))
    moved = norm_of([(new.detach().to(torch.float64) - old.to(torch.float64)) for new, old in zip(after, before)])
    return float(moved) / size if size > 0.0 else None
