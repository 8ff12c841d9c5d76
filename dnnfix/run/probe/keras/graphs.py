"""Records Keras graphs as the program writes them: sequential models, functional models, and operations in between.

A sequential model is built anew by every `add`, so its calls are held back until the model is used. An operation that
stands in a graph (a sum, `keras.ops.relu`) is recorded where it is written, and again when the graph runs.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Dict, List, Optional, Tuple

from .. import wire
from ..guard import Patches, guarded
from .calls import Recorder, State
from .names import class_name, plain, snake
from .values import is_symbolic, tensors_in


class Graphs:
    """Records graphs through a recorder of calls."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._held: Dict[int, Tuple[Any, List[Dict[str, Any]]]] = {}
        self._emitted: Dict[Any, bool] = {}
        self._operations: Dict[int, Tuple[Any, Any, Dict[str, Any]]] = {}
        self.written: Optional[Tuple[Any, Dict[str, Any]]] = None
        """Site and arguments of the function call that is putting an operation into a graph."""

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch models and operations."""
        self._recorder.before_root = self.flush
        if "build" in vars(keras.Sequential):
            patches.put(keras.Sequential, "build", self._wrap_build)
        functional = getattr(sys.modules.get("keras.src.models.functional"), "Functional", None)
        if functional is not None:
            patches.put(functional, "__init__", self._wrap_functional)
        operation = getattr(keras, "Operation", None)
        if operation is not None:
            patches.put(operation, "symbolic_call", self._wrap_operation)
            patches.put(operation, "__call__", self._wrap_real_operation)

    def _wrap_build(self, original: Any) -> Any:
        def build(model: Any, *args: Any, **kwargs: Any) -> Any:
            state = self._begin_build(model)
            try:
                result = original(model, *args, **kwargs)
            except BaseException:
                self._recorder.abandon(state)
                raise
            self._end_build(state)
            return result

        return functools.update_wrapper(build, original)

    def _begin_build(self, model: Any) -> State:
        state = State(model, True, False, True)
        state.buffer = []
        self._recorder.stack.append(state)
        return state

    @guarded
    def _end_build(self, state: State) -> None:
        """Hold the calls back: each `add` builds the whole model anew, and only the last time counts."""
        self._recorder.abandon(state)
        if state.buffer:
            self._held[id(state.layer)] = (state.layer, state.buffer)

    @guarded
    def flush(self) -> None:
        """Write the calls of the sequential models as they now are."""
        held, self._held = self._held, {}
        for model, calls in held.values():
            self._emit_graph(model, calls)

    def _emit_graph(self, model: Any, calls: List[Dict[str, Any]]) -> None:
        new = [call for call in calls if (id(model), call["component"]) not in self._emitted]
        for call in new:
            self._emitted[id(model), call["component"]] = True
            wire.emit("call", **call)
        if new:
            self._model_call(model, calls[-1]["outputs"])

    def _model_call(self, model: Any, outputs: List[Dict[str, Any]]) -> None:
        """A model uses its outputs: without this they would look like results thrown away."""
        made = self._recorder.components.made(model)
        call = self._recorder.new_call(class_name(type(model)), [dict(one) for one in outputs], "symbolic")
        if made is not None:
            call.update(component=made.fields["id"], made_at=made.fields["site"], site=made.fields["site"])
            call["name"] = made.fields["name"]
        self._recorder.number(call)
        wire.emit("call", **call)

    def _wrap_functional(self, original: Any) -> Any:
        def __init__(model: Any, inputs: Any, outputs: Any, *args: Any, **kwargs: Any) -> None:
            original(model, inputs, outputs, *args, **kwargs)
            self._functional_made(model, outputs)

        return functools.update_wrapper(__init__, original)

    @guarded
    def _functional_made(self, model: Any, outputs: Any) -> None:
        if any(state.buffer is not None for state in self._recorder.stack) or self._recorder.fake():
            return
        made = self._recorder.components.made(model)
        if made is not None and made.fields["name"].startswith("keras.applications."):
            return
        self._model_call(model, [self._recorder.input_of(item) for item in tensors_in(outputs)])
        self._recorder.components.describe(model)

    def _wrap_operation(self, original: Any) -> Any:
        recorder = self._recorder

        def symbolic_call(operation: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(operation, *args, **kwargs)
            if recorder.within and self.written is not None:
                self._operations[id(operation)] = (operation,) + self.written
            elif not recorder.within and not recorder.fake():
                self._operated(operation, args, kwargs, result)
            return result

        return functools.update_wrapper(symbolic_call, original)

    @guarded
    def _operated(self, operation: Any, args: Any, kwargs: Any, result: Any) -> None:
        name, own = "keras.ops." + snake(type(operation).__name__), vars(operation)
        if any(state.call is not None for state in self._recorder.stack) or any(
            state.buffer is not None for state in self._recorder.stack
        ):
            return
        call = self._recorder.new_call(
            name, [self._recorder.input_of(item) for item in tensors_in(_as_recorded(name, args, kwargs))], "symbolic"
        )
        call["args"] = {key: plain(value) for key, value in own.items() if key[0] != "_" and key != "name"}
        self._operations[id(operation)] = (operation, call["site"], call["args"])
        self._recorder.complete(call, list(tensors_in(result)))

    def _wrap_real_operation(self, original: Any) -> Any:
        recorder = self._recorder

        def __call__(operation: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(operation, *args, **kwargs)
            if recorder.on and id(operation) in self._operations and not recorder.within and not recorder.fake():
                self._ran_in_graph(operation, args, kwargs, result)
            return result

        return functools.update_wrapper(__call__, original)

    @guarded
    def _ran_in_graph(self, operation: Any, args: Any, kwargs: Any, result: Any) -> None:
        """An operation that the user wrote between layers of a graph runs on real tensors."""
        known, site, arguments = self._operations[id(operation)]
        if known is not operation or any(is_symbolic(item) for item in tensors_in([args, kwargs])):
            return
        if any(state.call is not None for state in self._recorder.stack):
            return
        name = "keras.ops." + snake(type(operation).__name__)
        call = self._recorder.new_call(
            name,
            [self._recorder.input_of(item) for item in tensors_in(_as_recorded(name, args, kwargs))],
            self._recorder.phase_now(),
        )
        call.update(site=site, args=arguments)
        self._recorder.complete(call, list(tensors_in(result)))


def _as_recorded(name: str, args: Any, kwargs: Any) -> Any:
    """What an operation is given; of a loss, the prediction comes first."""
    return [args[::-1] if name.endswith("crossentropy") else args, kwargs]
