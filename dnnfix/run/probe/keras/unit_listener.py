"""Passes layer outputs and weight gradients of a Keras program to `measures.units` in the steps it measures."""

from __future__ import annotations

import functools
from typing import Any, List

from ..guard import Patches, guarded
from ..measures.units import Units
from .calls import Recorder
from .components import Components
from .names import class_name, is_transparent
from .values import as_array, is_symbolic, tensors_in


class Listener:
    """Hands the outputs of layers, and the gradients of weights, to `Units`."""

    def __init__(self, components: Components, recorder: Recorder) -> None:
        self.on = False
        self.units = Units()
        self._components = components
        self._recorder = recorder
        self._number = 0

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch layers."""
        patches.put(keras.layers.Layer, "__call__", self._wrap_layer)

    def _wrap_layer(self, original: Any) -> Any:
        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            output = original(layer, *args, **kwargs)
            if self.on and self._recorder.phase != "eval":
                self._gave(layer, output)
            return output

        return functools.update_wrapper(__call__, original)

    @guarded
    def _gave(self, layer: Any, output: Any) -> None:
        made = self._components.made(layer)
        first = next(tensors_in(output), None)
        if made is None or is_transparent(layer) or first is None or is_symbolic(first) or not len(first.shape):
            return
        few = as_array(first[: self.units.rows([int(size) for size in first.shape])])
        if few is not None:
            activation = getattr(getattr(layer, "activation", None), "__name__", "")
            name = activation if activation not in ("", "linear") else class_name(type(layer)).rpartition(".")[2]
            self.units.gave(self._number, id(layer), name, made.fields.get("site"), few)

    @guarded
    def saw_gradients(self, gradients: List[Any], variables: List[Any]) -> None:
        """An optimizer is about to apply gradients to weights."""
        for gradient, variable in zip(gradients, variables) if self.on else ():
            array = as_array(gradient) if gradient is not None else None
            if array is not None:
                self.units.came(self._number, str(getattr(variable, "path", None) or variable.name), array)

    @guarded
    def step_done(self, number: int) -> None:
        """The step of that number, counted from 1, is over."""
        if self.on:
            self.units.step_done(number)
        self._number = number + 1
        self.on = self.units.due(number + 1)
