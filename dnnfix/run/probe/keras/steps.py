"""Counts optimizer steps of a Keras program and measures each: loss, skill, gradient, update and output spread.

A step is one call of an optimizer's `apply`, which `fit`, `train_on_batch` and loops of the program's own all come to.
During the recorded steps everything is measured at once; later steps only put references aside, to be measured a few
at a time.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Optional

from .. import budget, sites, wire
from ..guard import guarded
from ..measures.step_log import StepLog
from .calls import Recorder
from .losses import Losses
from .parameters import Parameters
from .skill import Measure

_WAITING_AT_MOST = 16
_STEPS_WITH_EVENTS = 3
_PASSING = ("backward", "apply_gradients")
_MOST_MODELS = 8


class Steps(StepLog):
    """The program's training, step by step."""

    def __init__(
        self, recorder: Recorder, losses: Losses, parameters: Parameters, measure: Measure, record: int
    ) -> None:
        super().__init__(_WAITING_AT_MOST)
        self.losses = losses
        self.on_step: Callable[[int], None] = lambda number: None
        """Told of the number of every step, counted from 1, once it is over."""
        self.key: Callable[[], Any] = lambda: None
        """What tells the models apart that train: `None` in loops of the program's own."""
        self._recorder = recorder
        self._parameters = parameters
        self._measure = measure
        self._record = record
        self._of_model: Dict[Any, int] = {}
        self._norm: Any = None
        """The norm of the gradient of a step in a traced function, once that ran."""
        self._applied = False

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

    @guarded
    def happened(self, name: str) -> None:
        """Write an operation of a training loop that user code itself carries out."""
        frame: Any = sys._getframe(1)
        while frame.f_code.co_filename.startswith(sites.PROBE) or frame.f_code.co_name in _PASSING:
            frame = frame.f_back
        if self.index < _STEPS_WITH_EVENTS and sites.is_user_frame(frame):
            wire.emit("loop", name=name, site=sites.site_of(frame), step=self.index)

    def norm_of(self, gradients: List[Any]) -> Any:
        """The norm of the gradients that there are."""
        return self._measure.norm([one for one in gradients if one is not None])

    @guarded
    def norm_in_graph(self, gradients: List[Any]) -> None:
        """Remember the norm of a step's gradients whenever the function runs that is being traced."""
        norm = self._measure.norm_in_graph([one for one in gradients if one is not None])
        self.losses.hand_out(self._norm_received, norm)

    @guarded
    def _norm_received(self, norm: List[Any]) -> None:
        self._norm = norm[0]

    def before(self, optimizer: Any, gradients: List[Any], variables: List[Any]) -> Any:
        """Called before an optimizer applies gradients; returns their norm."""
        if self.recording:
            self._parameters.before_step(optimizer, gradients, variables)
        self.happened("step")
        return self.norm_of(gradients)

    @guarded
    def applied(self, gradient: Any) -> None:
        """It has applied them."""
        self.stepped(gradient, self._parameters.after_step() if self.recording else None)

    def stepped(self, gradient: Any, update: Optional[float] = None) -> None:
        """An optimizer took a step."""
        self._applied = True
        self._finish_step(gradient, update)

    def stepped_elsewhere(self, loss: Any = None, update: Optional[float] = None) -> None:
        """A step was taken that no optimizer of Keras took."""
        if self.losses.traced:
            return
        self.happened("step")
        self._applied = True
        self._finish_step(None, update, loss)

    @guarded
    def batch_done(self, logs: Any) -> None:
        """A batch of `fit` is over; where no optimizer was seen to step, the batch counts as the step."""
        if not self._applied:
            if isinstance(logs, dict) and "loss" in logs:
                self.losses.began_with(logs["loss"])
            self._finish_step(self._norm, None)
            self._norm = None
        self._applied = False
        self._recorder.on = self.recording

    def _finish_step(self, gradient: Any, update: Optional[float], loss: Any = None) -> None:
        pair, known = self.losses.take()
        step = {"index": self.index, "loss": known if loss is None else loss, "gradient": gradient, "update": update}
        self._waiting.append(dict(step, pair=pair and pair + (self.key(),)))
        was_recorded = self.recording
        self._of_model[self.key()] = self._of_model.get(self.key(), 0) + 1
        self.index += 1
        budget.count_step()
        self.on_step(self.index)
        self._recorder.step = self.index
        if was_recorded and not self.recording:
            self._parameters.send()
            if not self._recorder.data:
                self._recorder.on = False
        if self._is_due(was_recorded):
            self.flush()

    @guarded
    def flush(self) -> None:
        """Measure and write the steps that were put aside."""
        waiting = self._taken()
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


def _number(value: Any) -> Optional[float]:
    if value is None:
        return None
    if hasattr(value, "detach") and value.numel() != 1:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
