"""Counts optimizer steps of a torch program and measures each: loss, skill, gradient, update and output spread.

During the recorded steps everything is measured at once. Later steps only put references aside; they are measured a
few at a time, so that a step of a small network is hardly slowed.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Callable, Dict, List, Optional

import torch as _torch

from .. import budget, sites, wire
from ..measures.step_log import StepLog
from .calls import Recorder
from .components import Components
from .loop import Loop
from .parameters import Parameters, distance, parameters_of
from .quiet import Patches, Quiet, guarded
from .skill import Skill, norms_of, output_spreads
from .targets import Pair, Targets

torch: Any = _torch

_WAITING_AT_MOST = 64
_BACKWARDS_WITHOUT_STEP = 16
_CALLS_AFTER_TRAINING = 400
_STEPS_MEASURED = 32
_MEASURED_EVERY = 8


class Steps(StepLog):
    """The program's training, step by step."""

    def __init__(self, recorder: Recorder, components: Components, loop: Loop, targets: Targets, record: int) -> None:
        super().__init__(_WAITING_AT_MOST)
        self.parameters = Parameters(components)
        self.on_pair: Callable[[Optional[Pair]], None] = lambda pair: None
        """Told of what the loss of each step compared."""
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
        self._within_backward = False
        self._optimizer_steps = 0
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
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if Quiet.depth or self._within_backward:
                return original(tensors, *args, **kwargs)
            self._begin_backward(tensors)
            self._within_backward = True
            try:
                result = original(tensors, *args, **kwargs)
            except BaseException as error:
                self._backward_failed(error, tensors)
                raise
            finally:
                self._within_backward = False
            if not self._optimizer_steps:
                self._end_backward()
            return result

        return backward

    @guarded
    def _begin_backward(self, tensors: Any) -> None:
        if self._backwards and self._without_optimizer():
            self._end_own_step()
        self._loop.happened("backward")
        if self._recorder.on:
            self._loop.evaluation_ends("backward")
        loss = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if loss is None:
            return
        self._backwards += 1
        if self._recorder.on:
            self._targets.find(loss, self._recorder)
            if self._without_optimizer():
                self.parameters.add_leaves(loss)
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
                self._gradient = norms_of(self.parameters.gradients())

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
        if self.index >= self._record and self.parameters.sent and not self._measured():
            return
        with Quiet():
            self._held = parameters_of(optimizer)
            self.parameters.before_step(self._held)
            if self.index < self._record:
                self._before = [self.parameters.kept(tensor) for tensor in self._held]
            if self._measured() and len(args) < 2 and not kwargs.get("closure"):
                self._gradient = norms_of([t.grad for t in self._held if t.grad is not None])

    @guarded
    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if Quiet.depth:
            return
        self._optimizer_steps += 1
        if not self._held:
            self._finish_step(None)
            return
        with Quiet():
            update = None
            if not self._gradient and self._measured():
                self._gradient = norms_of([t.grad for t in self._held if t.grad is not None])
            if self._before:
                update = guarded(_update_ratio)(self._held, self._before)
                self._before = []
            self.parameters.after_step(self._held, idle=_is_idle(optimizer), own=_is_own(optimizer))
            self._finish_step(update)
            self._held = []

    def _measured(self) -> bool:
        """Whether this step is measured beyond its loss: all the first ones are, and some of the many that may follow."""
        return self.index < _STEPS_MEASURED or self.index % _MEASURED_EVERY == 0

    # Steps

    def _finish_step(self, update: Optional[float]) -> None:
        pair = self._targets.take()
        self.on_pair(pair)
        if self._waiting and not self._waiting[-1]["measured"]:
            self._waiting[-1]["pair"] = None
        self._waiting.append(
            {
                "index": self.index,
                "loss": self._loss,
                "gradient": self._gradient,
                "update": update,
                "pair": pair,
                "measured": self._measured(),
            }
        )
        self._loss = self._gradient = None
        self._backwards = 0
        self.index += 1
        budget.count_step()
        self._recorder.step = self.index
        if not self.parameters.sent and self.parameters.all_stepped():
            self.parameters.send()
        if self.index <= self._record:
            self._end_recorded_step()
        if self._is_due(self.index <= self._record):
            self.flush()
        self._loop.step_done(self.index)
        self._recorder.settle()
        if budget.used_up() and not self._after_training:
            self._after_training = True
            self._recorder.start(_CALLS_AFTER_TRAINING)

    def _end_recorded_step(self) -> None:
        if self.index == self._record and not self._components.optimizers:
            self.parameters.send()
        if self.index == self._record:
            self._loop.recorded()

    @guarded
    def flush(self, final: bool = False) -> None:
        """Measure and write the steps that were put aside.

        Of the steps that are not measured, the last one of the run is: it waits until the next one begins.
        """
        kept = 0 if final or not self._waiting or self._waiting[-1]["measured"] else 1
        waiting = self._taken(kept)
        with Quiet():
            pairs = [step["pair"] for step in waiting if step["pair"] is not None]
            norms, none = iter(_norms(waiting)), [None] * len(pairs)
            skills = iter(guarded(self._skill.of_many)(pairs) or none)
            spreads = iter(guarded(output_spreads)(pairs) or none)
            for step in waiting:
                known = step.pop("pair") is not None
                del step["measured"]
                step["loss"] = None if step["loss"] is None else float(step["loss"])
                step["gradient"] = next(norms)
                step["skill"] = _rounded(next(skills)) if known else None
                step["output_std"] = _rounded(next(spreads)) if known else None
                wire.emit("step", **step)

    def stop_recording(self) -> None:
        """Record no calls after training."""
        self._after_training = True

    @guarded
    def finish(self) -> None:
        """The program has ended: write what is left."""
        if self._backwards and self._without_optimizer() and not budget.used_up():
            self._end_own_step()
        self.flush(final=True)
        self.parameters.survey()
        self.parameters.send()


def _norms(steps: List[Dict[str, Any]]) -> List[Optional[float]]:
    """The norm of each step's gradient, from the norms of its parts; all are read at once."""
    parts = [step["gradient"] or [] for step in steps]
    every = [norm for one in parts for norm in one]
    if len({norm.dtype for norm in every}) > 1:
        every = [norm.to(torch.float64) for norm in every]
    numbers = iter(torch.stack(every).tolist() if every else [])
    return [math.hypot(*[next(numbers) for _ in one]) if one else None for one in parts]


def _rounded(value: Optional[float]) -> Optional[float]:
    """Nine digits: how many steps are measured together must not show."""
    return None if value is None else float("%.9g" % value)


def _is_idle(optimizer: Any) -> bool:
    """Whether a step of an optimizer moves nothing, as all its learning rates are zero."""
    return all(group.get("lr", 1.0) == 0.0 for group in optimizer.param_groups)


def _is_own(optimizer: Any) -> bool:
    """Whether an optimizer is not torch's, so that its learning rate may follow a schedule that no group shows."""
    return type(optimizer).__module__.partition(".")[0] != "torch"


def _update_ratio(after: List[Any], before: List[Any]) -> Optional[float]:
    """The norm of the change of the parameters over the norm of the parameters."""
    size = math.hypot(*[float(torch.linalg.vector_norm(tensor)) for tensor in before])
    moved = math.hypot(*[distance(new.detach(), old) for new, old in zip(after, before)])
    return moved / size if size > 0.0 else None
