"""Counts optimizer steps of a Keras program and measures each: loss, skill, gradient, update and spread of the output.

A step is one call of an optimizer's `apply`, which `fit`, `train_on_batch` and loops of the program's own all come to.
During the recorded steps everything is measured at once; later steps only put references aside, to be measured a few
at a time.
"""

from __future__ import annotations

import functools
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from .. import budget, sites, wire
from ..guard import Patches, guarded
from .calls import Recorder
from .parameters import Parameters
from .skill import Measure
from .values import is_symbolic, tensors_in

_WAITING_AT_MOST = 16
_SECONDS_WAITING = 0.25
_STEPS_WITH_EVENTS = 3
_PASSING = ("backward", "apply_gradients")
_MOST_MODELS = 8


class Steps:
    """The program's training, step by step."""

    def __init__(self, recorder: Recorder, parameters: Parameters, measure: Measure, record: int) -> None:
        self.index = 0
        self.step_seconds: Optional[float] = None
        self.replace: Optional[Callable[[Any], Any]] = None
        """Makes other targets of a batch's targets before the loss sees them; for experiments."""
        self.on_batch: Callable[..., None] = lambda inputs, target, prediction, model=0: None
        """Told of the inputs, the targets and the predictions that a loss of training is computed from, and the `id` of the model."""
        self.on_evaluation: Callable[[Any, Any, Any], None] = lambda inputs, target, prediction: None
        """The same of an evaluation of the model that trained last."""
        self.on_gradients: Callable[[List[Any], List[Any]], None] = lambda gradients, weights: None
        """Told of the gradients that an optimizer is about to apply, and of the weights that they are for."""
        self.on_step: Callable[[int], None] = lambda number: None
        """Told of the number of every step, counted from 1, once it is over."""
        self.traced = False
        """Whether a training step runs in a traced function: what Python code runs then, runs once for all such steps."""
        self.hand_out: Callable[..., None] = lambda receive, *items: None
        """Has a function called with the values of tensors, lists of them, whenever a traced step runs."""
        self._recorder = recorder
        self._parameters = parameters
        self._measure = measure
        self._record = record
        self._of_model: Dict[Any, int] = {}
        self._trained = 0
        self.key: Callable[[], Any] = lambda: None
        """What tells the models apart that train: `None` in loops of the program's own."""
        self._applying = 0
        self._computing = 0
        self._handed_out = False
        self._norm: Any = None
        self._applied = False
        self._pair: Any = None
        self._loss: Any = None
        self._waiting: List[Dict[str, Any]] = []
        self._flushed = time.monotonic()
        self._times: List[float] = []
        self._hooks: List[Any] = []

    @property
    def recording(self) -> bool:
        """Whether the calls of this step are recorded: the first steps of each model that trains."""
        return self.records(self.key())

    def stop_recording(self) -> None:
        """Record the calls of no further step."""
        self._record = 0

    def records(self, key: Any) -> bool:
        """Whether the calls of the next step of the model of that key are recorded."""
        return self._of_model.get(key, 0) < self._record and (
            key in self._of_model or len(self._of_model) < _MOST_MODELS
        )

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch optimizers and the computation of losses."""
        definer = next((base for base in keras.optimizers.Optimizer.__mro__ if "apply" in vars(base)), None)
        if definer is not None:
            patches.put(definer, "apply", self._wrap_apply)
        for name in ("_compute_loss", "compute_loss"):
            owner = next((base for base in keras.Model.__mro__ if name in vars(base)), None)
            if owner is not None:
                patches.put(owner, name, self._wrap_compute_loss)
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            patches.put(torch.autograd, "backward", self._wrap_backward)
            patches.put(torch.nn.Module, "zero_grad", self._wrap_zero_grad)
            optimizers: Any = sys.modules["torch.optim.optimizer"]
            self._hooks.append(optimizers.register_optimizer_step_pre_hook(self._torch_before))
            self._hooks.append(optimizers.register_optimizer_step_post_hook(self._torch_after))

    def remove(self) -> None:
        """Watch no longer."""
        for hook in self._hooks:
            hook.remove()

    # Loops of the program's own

    def _wrap_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._backward(tensors)
            return original(tensors, *args, **kwargs)

        return functools.update_wrapper(backward, original)

    @guarded
    def _backward(self, tensors: Any) -> None:
        if self._loss is None and hasattr(tensors, "detach"):
            self._loss = tensors.detach()
        self._happened("backward")

    def _wrap_zero_grad(self, original: Any) -> Any:
        def zero_grad(module: Any, *args: Any, **kwargs: Any) -> Any:
            self._happened("zero_grad")
            return original(module, *args, **kwargs)

        return functools.update_wrapper(zero_grad, original)

    @guarded
    def _happened(self, name: str) -> None:
        """Write an operation of a training loop that user code itself carries out."""
        frame: Any = sys._getframe(1)
        while frame.f_code.co_filename.startswith(sites.PROBE) or frame.f_code.co_name in _PASSING:
            frame = frame.f_back
        if self.index < _STEPS_WITH_EVENTS and sites.is_user_frame(frame):
            wire.emit("loop", name=name, site=sites.site_of(frame), step=self.index)

    # Losses

    def _wrap_compute_loss(self, original: Any) -> Any:
        def compute_loss(
            model: Any, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            if self._computing or any(is_symbolic(item) for item in tensors_in(y_pred)):
                return original(model, x, y, y_pred, *args, **kwargs)
            if self.traced:
                return self._computed_in_graph(original, model, x, y, y_pred, *args, **kwargs)
            if self.replace is not None:
                y = self._replaced(y)
            self._computing += 1
            try:
                result = original(model, x, y, y_pred, *args, **kwargs)
            finally:
                self._computing -= 1
            self._loss_known(result)
            if self._recorder.phase != "eval":
                self._trained = id(model)
                self.on_batch(x, y, y_pred, id(model))
            elif self._trained == id(model):
                self.on_evaluation(x, y, y_pred)
            return result

        return functools.update_wrapper(compute_loss, original)

    def _computed_in_graph(
        self, original: Any, model: Any, x: Any, y: Any, y_pred: Any, *args: Any, **kwargs: Any
    ) -> Any:
        self._computing += 1
        self._handed_out = False
        self._trained = id(model)
        try:
            result = original(model, x, y, y_pred, *args, **kwargs)
        finally:
            self._computing -= 1
        guarded(self.hand_out)(self._total_received, result, x, y, y_pred)
        return result

    @guarded
    def _total_received(self, loss: List[Any], x: List[Any], y: List[Any], y_pred: List[Any]) -> None:
        self._loss = loss[0]
        self.on_batch(x, y, y_pred, self._trained)

    @guarded
    def _pair_received(self, name: str, loss: List[Any], target: List[Any], prediction: List[Any]) -> None:
        self._pair = (prediction[0], target[0], name)
        self._loss = loss[0]

    @guarded
    def _loss_known(self, result: Any) -> None:
        if self._recorder.phase != "eval":
            self._loss = _detached(result)

    @guarded
    def _replace(self, y: Any) -> Any:
        return self.replace(y) if self.replace is not None else None

    def _replaced(self, y: Any) -> Any:
        changed = self._replace(y)
        return y if changed is None else changed

    @guarded
    def loss_called(self, name: str, target: Any, prediction: Any, result: Any) -> None:
        """A loss object or function was called on real tensors."""
        if self._recorder.phase == "eval" or self._pair is not None and self._computing:
            return
        first = next(tensors_in(prediction), None)
        wanted = next(tensors_in(target), None)
        if first is not None and wanted is not None and self.traced:
            if not self._handed_out or not self._computing:
                self._handed_out = True
                self.hand_out(functools.partial(self._pair_received, name), result, wanted, first)
        elif first is not None and wanted is not None:
            self._pair = (_detached(first), _detached(wanted), name)
            self._loss = _detached(result)

    # Steps

    def _wrap_apply(self, original: Any) -> Any:
        def apply(optimizer: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
            if self._applying:
                return original(optimizer, grads, *args, **kwargs)
            grads = list(grads) if not isinstance(grads, (list, tuple)) else grads
            if self.traced:
                self._norm_handed_out(grads)
                return original(optimizer, grads, *args, **kwargs)
            variables = args[0] if args else kwargs.get("trainable_variables")
            if variables is not None and not isinstance(variables, (list, tuple)):
                variables = list(variables)
                args, kwargs = (
                    (variables,) + tuple(args[1:]),
                    {k: v for k, v in kwargs.items() if k != "trainable_variables"},
                )
            self._applying += 1
            try:
                before = self._before(optimizer, grads, variables)
                result = original(optimizer, grads, *args, **kwargs)
            finally:
                self._applying -= 1
            self._after(before)
            return result

        return functools.update_wrapper(apply, original)

    @guarded
    def _norm_handed_out(self, gradients: List[Any]) -> None:
        self.hand_out(self._norm_received, self._measure.norm_in_graph([one for one in gradients if one is not None]))

    @guarded
    def _norm_received(self, norm: List[Any]) -> None:
        self._norm = norm[0]

    @guarded
    def _before(self, optimizer: Any, grads: Any, variables: Any) -> Any:
        if variables is None:
            variables = getattr(optimizer, "_trainable_variables", None) or []
        if self.recording:
            self._parameters.before_step(optimizer, list(grads), list(variables))
        self._happened("step")
        self.on_gradients(list(grads), list(variables))
        return {"gradient": self._measure.norm([one for one in grads if one is not None])}

    @guarded
    def _after(self, before: Any) -> None:
        self._applied = True
        update = self._parameters.after_step() if self.recording else None
        self._finish_step((before or {}).get("gradient"), update)

    @guarded
    def _torch_before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._applying:
            held = [one for group in optimizer.param_groups for one in group["params"]]
            self._gradient = self._measure.norm([one.grad for one in held if one.grad is not None])

    @guarded
    def _torch_after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._applying:
            self._applied = True
            self._finish_step(getattr(self, "_gradient", None), None)

    def loss_seen(self, loss: Any) -> None:
        """A tape was asked for the gradients of a value: that is the loss of the step to come, where none is known."""
        if self._loss is None and not self._computing and not self.traced:
            self._loss = loss

    def compared_elsewhere(self, inputs: List[Any], target: Any, prediction: Any, name: str) -> None:
        """Told of what a loss compares in the step to come, as arrays, where Keras does not compute it."""
        self._pair = (prediction, target, name)
        self.on_batch(inputs, target, prediction)

    def stepped_elsewhere(self, loss: Any = None, update: Optional[float] = None) -> None:
        """A step was taken that no optimizer of Keras took."""
        if self.traced:
            return
        self._loss = loss if loss is not None else self._loss
        self._applied = True
        self._happened("step")
        self._finish_step(None, update)

    @guarded
    def batch_done(self, logs: Any) -> None:
        """A batch of `fit` is over; where no optimizer was seen to step, the batch counts as the step."""
        if not self._applied:
            if self._loss is None and isinstance(logs, dict) and "loss" in logs:
                self._loss = logs["loss"]
            self._finish_step(self._norm, None)
            self._norm = None
        self._applied = False
        self._recorder.on = self.recording

    def _finish_step(self, gradient: Any, update: Optional[float]) -> None:
        self._waiting.append(
            {
                "index": self.index,
                "loss": self._loss,
                "gradient": gradient,
                "update": update,
                "pair": self._pair and self._pair + (self.key(),),
            }
        )
        self._pair = self._loss = None
        was_recorded = self.recording
        self._of_model[self.key()] = self._of_model.get(self.key(), 0) + 1
        self.index += 1
        budget.count_step()
        self.on_step(self.index)
        self._recorder.step = self.index
        now = time.monotonic()
        if was_recorded and not self.recording:
            self._parameters.send()
            if not self._recorder.data:
                self._recorder.on = False
        if not was_recorded and len(self._times) < 10_000:
            self._times.append(now)
        if was_recorded or len(self._waiting) >= _WAITING_AT_MOST or now - self._flushed > _SECONDS_WAITING:
            self.flush()

    @guarded
    def flush(self) -> None:
        """Measure and write the steps that were put aside."""
        waiting, self._waiting = self._waiting, []
        self._flushed = time.monotonic()
        pairs = [step["pair"] for step in waiting if step["pair"] is not None]
        measured = iter(guarded(self._measure.of_many)(pairs) or [(None, None)] * len(pairs))
        for step in waiting:
            skill, spread = next(measured) if step.pop("pair") is not None else (None, None)
            step.update(loss=_number(step["loss"]), gradient=_number(step["gradient"]), skill=skill, output_std=spread)
            wire.emit("step", **step)

    @guarded
    def finish(self) -> None:
        """The program has ended: write what is left."""
        self.flush()
        self._parameters.send()
        if len(self._times) > 1:
            intervals = sorted(later - earlier for earlier, later in zip(self._times, self._times[1:]))
            self.step_seconds = intervals[len(intervals) // 2]


def _detached(item: Any) -> Any:
    return item.detach() if hasattr(item, "detach") else item


def _number(value: Any) -> Optional[float]:
    if value is None:
        return None
    if hasattr(value, "detach") and value.numel() != 1:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
