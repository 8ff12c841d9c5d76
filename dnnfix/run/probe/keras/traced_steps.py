"""Runs the steps of `fit` on TensorFlow that need no recording in a traced function, as without the probe.

A step that is run eagerly takes twenty times as long. The values that a loss compares are handed out of the traced
function, whose own Python code runs only once, while it is traced.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List

from ..guard import Patches, note
from .losses import Losses
from .values import tensors_in


class Traced:
    """Builds two training functions for each model, eager and traced, and uses the one that a step needs.

    `eager` tells whether the step to come has to run eagerly, `by_itself` whether a model always does, as the program has it.
    """

    def __init__(self, losses: Losses, eager: Callable[[], bool], by_itself: Callable[[Any], bool]) -> None:
        self._losses = losses
        self._eager = eager
        self._by_itself = by_itself

    def install(self, patches: Patches) -> None:
        """Watch how Keras makes its training function; that of other backends, and of old releases, stays as it is."""
        trainer = getattr(sys.modules.get("keras.src.backend.tensorflow.trainer"), "TensorFlowTrainer", None)
        if trainer is not None and hasattr(trainer, "_make_function"):
            patches.put(trainer, "make_train_function", self._wrap)
            self._losses.hand_out = hand_out

    def _wrap(self, original: Any) -> Any:
        def make_train_function(model: Any, force: bool = False) -> Any:
            made = getattr(model, "train_function", None)
            if made is not None and not force or self._by_itself(model):
                return original(model, force)
            jit, model.jit_compile, model.run_eagerly = model.jit_compile, False, False
            original(model, True)
            in_graph = model.train_function
            model.jit_compile, model.run_eagerly = jit, True
            original(model, True)
            model.train_function = self._either(model.train_function, in_graph)
            return model.train_function

        return functools.update_wrapper(make_train_function, original)

    def _either(self, eager: Any, in_graph: Any) -> Any:
        losses, wants_eager = self._losses, self._eager
        failed: List[bool] = []
        ran: List[bool] = []

        def train_function(iterator: Any) -> Any:
            if failed or losses.replace is not None or wants_eager():
                return eager(iterator)
            try:
                result = _in_graph(losses, in_graph, iterator)
            except Exception as error:
                if ran or isinstance(error, StopIteration) or type(error).__name__ == "OutOfRangeError":
                    raise
                failed.append(True)
                note("training ran eagerly: its step could not be traced (%s)" % type(error).__name__)
                return eager(iterator)
            ran.append(True)
            return result

        return train_function


def _in_graph(losses: Losses, function: Any, iterator: Any) -> Any:
    import tensorflow

    eagerly = tensorflow.config.functions_run_eagerly()
    tensorflow.config.run_functions_eagerly(False)
    losses.traced = True
    try:
        return function(iterator)
    finally:
        losses.traced = False
        tensorflow.config.run_functions_eagerly(eagerly)


def hand_out(receive: Callable[..., None], *items: Any) -> None:
    """Have `receive` called with the values of tensors, in every run of the function that is being traced."""
    import tensorflow

    given = [[one for one in tensors_in(item) if tensorflow.is_tensor(one)] for item in items]
    sizes = [len(part) for part in given]

    def called(*values: Any) -> None:
        rest = list(values)
        receive(*[[rest.pop(0) for _ in range(size)] for size in sizes])

    tensorflow.py_function(called, [one for part in given for one in part], [])
