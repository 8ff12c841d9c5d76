"""Records prediction, target and value of each loss of a Keras program, for the optimizer step that follows."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Tuple

from ..guard import Patches, guarded
from .calls import Recorder
from .values import is_symbolic, tensors_in


class Losses:
    """Watches the computation of losses."""

    def __init__(self, recorder: Recorder) -> None:
        self.replace: Optional[Callable[[Any], Any]] = None
        """Makes other targets of a batch's targets before the loss sees them; for experiments."""
        self.on_batch: Callable[..., None] = lambda inputs, target, prediction, model=0: None
        """Told of the inputs, the targets and the predictions that a loss of training is computed from, and the `id` of the model."""
        self.on_evaluation: Callable[[Any, Any, Any], None] = lambda inputs, target, prediction: None
        """The same of an evaluation of the model that trained last."""
        self.traced = False
        """Whether a training step runs in a traced function: what Python code runs then, runs once for all such steps."""
        self.hand_out: Callable[..., None] = lambda receive, *items: None
        """Has a function called with the values of tensors, lists of them, whenever a traced step runs."""
        self._recorder = recorder
        self._trained = 0
        self._computing = 0
        self._handed_out = False
        self._pair: Any = None
        self._loss: Any = None

    def install(self, patches: Patches, keras: Any) -> None:
        """Install the recorders."""
        for name in ("_compute_loss", "compute_loss"):
            owner = next((base for base in keras.Model.__mro__ if name in vars(base)), None)
            if owner is not None:
                patches.put(owner, name, self._wrap_compute_loss)

    def take(self) -> Tuple[Any, Any]:
        """(prediction, target, name of the loss) and the loss of the step that ends, as far as they are known; they
        are reset.
        """
        pair, loss, self._pair, self._loss = self._pair, self._loss, None, None
        return pair, loss

    def _wrap_compute_loss(self, original: Any) -> Any:
        def compute_loss(
            model: Any, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            if self._computing or any(is_symbolic(item) for item in tensors_in(y_pred)):
                return original(model, x, y, y_pred, *args, **kwargs)
            if self.traced:
                return self._computed_in_graph(original, model, x, y, y_pred, *args, **kwargs)
            y = self._replaced(y)
            self._computing += 1
            try:
                result = original(model, x, y, y_pred, *args, **kwargs)
            finally:
                self._computing -= 1
            if self._recorder.phase != "eval":
                self._loss, self._trained = _detached(result), id(model)
                self.on_batch(x, y, y_pred, id(model))
            elif self._trained == id(model):
                self.on_evaluation(x, y, y_pred)
            return result

        return functools.update_wrapper(compute_loss, original)

    def _replaced(self, y: Any) -> Any:
        changed = guarded(self.replace)(y) if self.replace is not None else None
        return y if changed is None else changed

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
    def called(self, name: str, target: Any, prediction: Any, result: Any) -> None:
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

    def began_with(self, loss: Any) -> None:
        """A backward pass began with a value: that is the loss of the step to come, where none is known."""
        if self._loss is None:
            self._loss = loss

    def differentiated(self, value: Any) -> None:
        """A tape was asked for the gradients of a value: the same, but where Keras itself asks for them."""
        if not self._computing and not self.traced:
            self.began_with(value)

    def compared_elsewhere(self, inputs: List[Any], target: Any, prediction: Any, name: str) -> None:
        """Store prediction and target of the next step, as arrays, where Keras does not compute the loss."""
        self._pair = (prediction, target, name)
        self.on_batch(inputs, target, prediction)


def _detached(item: Any) -> Any:
    return item.detach() if hasattr(item, "detach") else item
