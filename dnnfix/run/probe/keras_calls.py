"""Records the calls of a Keras program: layers on symbolic and on real tensors, losses, and functions of `keras.ops`.

A layer's call is recorded where user code makes it, or a container that only passes its input on. Calls on symbolic
tensors (phase `symbolic`) tell the graph as it was written; calls on real tensors tell what the first batches did. What
Keras calls on make-believe tensors, to find out shapes, is not recorded.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import sites, wire
from .guard import Patches, guarded
from .keras_components import Components, Made
from .keras_names import class_name, is_container, is_sequential, is_transparent, plain, snake
from .keras_values import Ledger, is_data, is_symbolic, numel, tensors_in

_MOST_CALLS = 5000
_MOST_PER_SITE_AND_STEP = 64


class State:
    """A layer whose call is under way."""

    __slots__ = ("layer", "call", "transparent", "root", "symbolic", "buffer")

    def __init__(self, layer: Any, transparent: bool, root: bool, symbolic: bool) -> None:
        self.layer = layer
        self.call: Optional[Dict[str, Any]] = None
        self.transparent = transparent
        self.root = root
        self.symbolic = symbolic
        self.buffer: Optional[List[Dict[str, Any]]] = None


class Recorder:
    """Turns calls into `call` events; `on` says whether it listens to calls on real tensors."""

    def __init__(self, components: Components, first: int = 1) -> None:
        self.components = components
        self.ledger = Ledger(first)
        self.on = False
        self.step = 0
        self.phase = "unknown"
        self.data: Dict[str, List[Dict[str, Any]]] = {}
        """Values of the data of the training call under way, by what they are (`x`, `y`)."""
        self.last_data: Dict[str, List[Dict[str, Any]]] = {}
        """The same of the latest training call, also when it is over."""
        self.given: List[List[int]] = []
        """Shapes of the inputs of the first training call."""
        self.on_input: Callable[[Any, Any, Any], None] = lambda layer, args, kwargs: None
        self.loss_made: Callable[[Any], Optional[Made]] = components.made
        self.on_loss: Callable[[Any, Any, Any, Any], None] = lambda loss, target, prediction, result: None
        self.on_output: Callable[[Any, Any], None] = lambda layer, output: None
        self.stack: List[State] = []
        self._batches: Dict[int, Any] = {}
        self._operations: Dict[int, Tuple[Any, Any, Dict[str, Any]]] = {}
        self._calls = first - 1
        self._counts: Dict[Tuple[Any, ...], int] = {}
        self._held: Dict[int, Tuple[Any, List[Dict[str, Any]]]] = {}
        self._emitted: Dict[Any, bool] = {}
        self._within_op = 0
        self._op_site: Any = None
        self._root_phase = "unknown"
        self._fake: Callable[[], bool] = lambda: False
        self.originals: Dict[str, Any] = {}

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch layers, losses, sequential models and operations."""
        self._fake = _fake_scope()
        layer = keras.layers.Layer
        self.originals["layer"] = layer.__call__
        patches.put(layer, "__call__", self._wrap_layer)
        patches.put(keras.losses.Loss, "__call__", self._wrap_loss)
        sequential = keras.Sequential
        if "build" in vars(sequential):
            patches.put(sequential, "build", self._wrap_build)
        functional = next((base for base in _functional(keras) if "__init__" in vars(base)), None)
        if functional is not None:
            patches.put(functional, "__init__", self._wrap_functional)
        operation = getattr(keras, "Operation", None)
        if operation is not None:
            patches.put(operation, "symbolic_call", self._wrap_operation)
            patches.put(operation, "__call__", functools.partial(self._wrap_real_operation, layer))
        for area in ("ops", "losses"):
            module = getattr(keras, area, None)
            for name, value in list(vars(module).items()) if module is not None else ():
                if callable(value) and name[0].islower() and not isinstance(value, type) and name not in ("get", "serialize", "deserialize"):
                    patches.put(module, name, functools.partial(self._wrap_function, "keras.%s.%s" % (area, name)))

    # Layers

    def _wrap_layer(self, original: Any) -> Any:
        recorder = self
        ran = self.components.ran.add

        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder.on and not (args and _may_be_symbolic(args[0])):
                ran(id(layer))
                return original(layer, *args, **kwargs)
            state = recorder._enter(layer, args, kwargs)
            if state is None:
                return original(layer, *args, **kwargs)
            try:
                output = original(layer, *args, **kwargs)
            except BaseException:
                recorder._abandon(state)
                raise
            recorder._leave(state, output)
            return output

        return functools.update_wrapper(__call__, original)

    @guarded
    def _enter(self, layer: Any, args: Any, kwargs: Any) -> Optional[State]:
        given = list(tensors_in([args, kwargs]))
        symbolic = any(is_symbolic(item) for item in given)
        made = self.components.made(layer)
        if made is not None:
            self.components.count_call(made)
        building = symbolic and bool(self.stack) and self.stack[-1].buffer is not None
        if not building and self._fake() or self._within_op or not (symbolic or self.on):
            return None
        if any(state.call is not None and not state.transparent for state in self.stack):
            return None
        outer = self.stack[-1] if self.stack else None
        transparent = is_transparent(layer)
        state = State(layer, transparent, outer is None or (outer.symbolic and not symbolic), symbolic)
        if symbolic and transparent and not self._building(layer):
            # What is inside a model is not called again when the model is: it stands for itself in the graph.
            state.transparent = False
        if state.root and not symbolic:
            self._begin_root(layer, args, kwargs, given)
        if not state.transparent:
            state.call = self._layer_call(layer, made, given, symbolic)
        self.stack.append(state)
        return state

    def _building(self, layer: Any) -> bool:
        return any(state.buffer is not None and state.layer is layer for state in self.stack)

    def _begin_root(self, layer: Any, args: Any, kwargs: Any, given: List[Any]) -> None:
        self.flush_graphs()
        training = kwargs.get("training")
        self._root_phase = "train" if training is True else "eval" if training is False else "unknown"
        for state in (self.components.made(inner) for inner in _inner(layer)):
            if state is not None:
                state.passes = 0
        self.on_input(layer, args, kwargs)
        known = self.data.get("x", []) if is_transparent(layer) else []
        for index, item in enumerate(given):
            if self.ledger.known(item) is None and index < len(known):
                self.ledger.enter(item, dict(known[index]))
                self._batches[known[index]["id"]] = item
            self.ledger.value(item, "data", sites.caller_site(), measured=True)

    def _layer_call(self, layer: Any, made: Optional[Made], given: List[Any], symbolic: bool) -> Dict[str, Any]:
        inputs = [self._input(item) for item in given]
        name = made.fields["name"] if made is not None else class_name(type(layer))
        call = self.new_call(name, inputs, "symbolic" if symbolic else self.phase_now())
        if made is not None:
            call.update(component=made.fields["id"], made_at=made.fields["site"], args=made.fields["args"])
            call["path"] = made.fields["attribute"] or ""
        call["site"] = self._call_site(made, symbolic)
        return call

    def _call_site(self, made: Optional[Made], symbolic: bool) -> Any:
        """Where the call is written: at the constructor in a sequential model, where the graph says so in a graph."""
        outer = self.stack[-1].layer if self.stack else None
        if outer is None or not is_container(outer) and not is_sequential(outer) or made is None:
            site = sites.caller_site()
            if symbolic and made is not None:
                made.sites.append(site)
            return site
        if is_sequential(outer) or not made.sites:
            return made.fields["site"] or sites.caller_site()
        made.passes += 1
        return made.sites[(made.passes - 1) % len(made.sites)]

    def _input(self, item: Any) -> Dict[str, Any]:
        known = self.ledger.known(item)
        if known is None and is_symbolic(item):
            return self._symbolic_input(item)
        if known is None and self.stack:
            same = self._same_as(item)
            if same is not None:
                self.ledger.enter(item, dict(same))
        computed = bool(self.stack) or getattr(item, "requires_grad", False)
        return self.ledger.value(item, None if computed else "data", None if computed else sites.caller_site())

    def _symbolic_input(self, item: Any) -> Dict[str, Any]:
        """A symbolic tensor that no recorded call made: a Keras input, usually."""
        history = getattr(item, "_keras_history", None)
        source = history[0] if history else None
        is_input = type(source).__name__ == "InputLayer"
        made = self.components.made(source) if source is not None else None
        site = made.fields["site"] if made is not None and is_input else None
        if id(source) in self.components.inputs and self.components.inputs[id(source)][0]() is source:
            site = self.components.inputs[id(source)][1]
        return self.ledger.value(item, "symbolic" if is_input else None, site)

    def _same_as(self, item: Any) -> Optional[Dict[str, Any]]:
        """The data of which a tensor is a converted copy: Keras changes dtype and rank before the first layer."""
        for value in self.data.get("x", []):
            batch = self._batches.get(value["id"])
            if batch is not None and numel(item) == numel(batch) and list(item.shape[:1]) == list(batch.shape[:1]):
                return value
        return None

    @guarded
    def _leave(self, state: State, output: Any) -> None:
        while self.stack and self.stack.pop() is not state:
            pass
        outputs = list(tensors_in(output))
        if state.call is not None:
            self.complete(state.call, outputs, measured=state.root and not state.symbolic)
        if state.root and not state.symbolic:
            self.on_output(state.layer, output)
            for item in outputs:
                self.ledger.value(item, measured=True)

    @guarded
    def _abandon(self, state: State) -> None:
        while self.stack and self.stack.pop() is not state:
            pass

    # Graphs

    def _wrap_build(self, original: Any) -> Any:
        recorder = self

        def build(model: Any, *args: Any, **kwargs: Any) -> Any:
            state = recorder._begin_build(model)
            try:
                result = original(model, *args, **kwargs)
            except BaseException:
                recorder._abandon(state)
                raise
            recorder._end_build(state)
            return result

        return functools.update_wrapper(build, original)

    def _begin_build(self, model: Any) -> State:
        state = State(model, True, False, True)
        state.buffer = []
        self.stack.append(state)
        return state

    @guarded
    def _end_build(self, state: State) -> None:
        """Hold the calls back: each `add` builds the whole model anew, and only the last time counts."""
        self._abandon(state)
        if state.buffer:
            self._held[id(state.layer)] = (state.layer, state.buffer)

    @guarded
    def flush_graphs(self) -> None:
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
        made = self.components.made(model)
        call = self.new_call(class_name(type(model)), [dict(one) for one in outputs], "symbolic")
        if made is not None:
            call.update(component=made.fields["id"], made_at=made.fields["site"], site=made.fields["site"])
            call["name"] = made.fields["name"]
        self._calls += 1
        call["id"] = self._calls
        wire.emit("call", **call)

    def _wrap_functional(self, original: Any) -> Any:
        recorder = self

        def __init__(model: Any, inputs: Any, outputs: Any, *args: Any, **kwargs: Any) -> None:
            original(model, inputs, outputs, *args, **kwargs)
            recorder._functional_made(model, outputs)

        return functools.update_wrapper(__init__, original)

    @guarded
    def _functional_made(self, model: Any, outputs: Any) -> None:
        if any(state.buffer is not None for state in self.stack) or self._fake():
            return
        self._model_call(model, [self._input(item) for item in tensors_in(outputs)])
        self.components.describe(model)

    def _wrap_operation(self, original: Any) -> Any:
        recorder = self

        def symbolic_call(operation: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(operation, *args, **kwargs)
            if recorder._within_op and recorder._op_site is not None:
                recorder._operations[id(operation)] = (operation,) + recorder._op_site
            elif not recorder._within_op and not recorder._fake():
                recorder._operated(operation, args, kwargs, result)
            return result

        return functools.update_wrapper(symbolic_call, original)

    @guarded
    def _operated(self, operation: Any, args: Any, kwargs: Any, result: Any) -> None:
        name, own = "keras.ops." + snake(type(operation).__name__), vars(operation)
        if any(state.call is not None for state in self.stack) or any(state.buffer is not None for state in self.stack):
            return
        call = self.new_call(name, [self._input(item) for item in tensors_in([args, kwargs])], "symbolic")
        call["args"] = {key: plain(value) for key, value in own.items() if key[0] != "_" and key != "name"}
        self._operations[id(operation)] = (operation, call["site"], call["args"])
        self.complete(call, list(tensors_in(result)))

    def _wrap_real_operation(self, layer: Any, original: Any) -> Any:
        recorder = self

        def __call__(operation: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(operation, *args, **kwargs)
            if recorder.on and id(operation) in recorder._operations and not recorder._within_op and not recorder._fake():
                recorder._ran_in_graph(operation, args, kwargs, result)
            return result

        return functools.update_wrapper(__call__, original)

    @guarded
    def _ran_in_graph(self, operation: Any, args: Any, kwargs: Any, result: Any) -> None:
        """An operation that the user wrote between layers of a graph runs on real tensors."""
        known, site, arguments = self._operations[id(operation)]
        if known is not operation or any(is_symbolic(item) for item in tensors_in([args, kwargs])):
            return
        if any(state.call is not None for state in self.stack):
            return
        name = "keras.ops." + snake(type(operation).__name__)
        call = self.new_call(name, [self._input(item) for item in tensors_in([args, kwargs])], self.phase_now())
        call.update(site=site, args=arguments)
        self.complete(call, list(tensors_in(result)))

    # Functions and losses

    def _wrap_function(self, name: str, original: Any) -> Any:
        recorder = self

        def function(*args: Any, **kwargs: Any) -> Any:
            if recorder._within_op or recorder._fake() or not _from_user(sys._getframe(1)):
                return original(*args, **kwargs)
            call = recorder._function_call(name, original, args, kwargs)
            if call is None:
                return original(*args, **kwargs)
            recorder._within_op += 1
            recorder._op_site = (call["site"], call["args"])
            try:
                result = original(*args, **kwargs)
            finally:
                recorder._within_op -= 1
                recorder._op_site = None
            recorder._function_left(call, name, args, kwargs, result)
            return result

        return functools.update_wrapper(function, original)

    @guarded
    def _function_call(self, name: str, original: Any, args: Any, kwargs: Any) -> Optional[Dict[str, Any]]:
        given = list(tensors_in([args, kwargs]))
        symbolic = any(is_symbolic(item) for item in given)
        if not (symbolic or self.on) or any(s.call is not None and not s.transparent for s in self.stack):
            return None
        loss = name.startswith("keras.losses.")
        inputs = [self._input(item) for item in given]
        if loss and not symbolic:
            inputs = [self.ledger.value(item, "data", measured=True) for item in given]
        call = self.new_call(name, inputs, "symbolic" if symbolic else self.phase_now())
        call["args"] = arguments_of(original, args, kwargs)
        return call

    @guarded
    def _function_left(self, call: Dict[str, Any], name: str, args: Any, kwargs: Any, result: Any) -> None:
        self.complete(call, list(tensors_in(result)))
        given = list(tensors_in([args, kwargs]))
        if name.startswith("keras.losses.") and len(given) > 1 and not is_symbolic(given[0]):
            self.on_loss(None, given[0], given[1], result)

    def _wrap_loss(self, original: Any) -> Any:
        recorder = self

        def __call__(loss: Any, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder._fake():
                return original(loss, y_true, y_pred, *args, **kwargs)
            recorder._within_op += 1
            try:
                result = original(loss, y_true, y_pred, *args, **kwargs)
            finally:
                recorder._within_op -= 1
            recorder._loss_left(loss, y_true, y_pred, result)
            return result

        return functools.update_wrapper(__call__, original)

    @guarded
    def _loss_left(self, loss: Any, y_true: Any, y_pred: Any, result: Any) -> None:
        self.on_loss(loss, y_true, y_pred, result)
        if self.on and not any(state.call is not None and not state.transparent for state in self.stack):
            call = self.loss_call(loss, y_true, y_pred)
            self.complete(call, list(tensors_in(result)), measured=True)

    def loss_call(self, loss: Any, y_true: Any, y_pred: Any) -> Dict[str, Any]:
        """The call of a loss object: prediction and target, measured."""
        made = self.loss_made(loss)
        inputs = []
        for role, item in (("", y_pred), ("y", y_true)):
            for index, one in enumerate(tensors_in(item)):
                known = self.data.get(role, [])
                if self.ledger.known(one) is None and index < len(known):
                    self.ledger.enter(one, dict(known[index]))
                site = sites.caller_site() if role and not self.data else None
                inputs.append(self.ledger.value(one, "data" if role else None, site, measured=True))
        call = self.new_call(made.fields["name"] if made is not None else class_name(type(loss)), inputs, self.phase_now())
        if made is not None:
            self.components.count_call(made)
            call.update(component=made.fields["id"], made_at=made.fields["site"], args=made.fields["args"])
            call["site"] = made.fields["site"] if self.data else call["site"]
        return call

    # Calls

    def phase_now(self) -> str:
        """`train` or `eval`, as the training method under way says, or else the latest call of a model."""
        return self.phase if self.phase != "unknown" else self._root_phase

    def new_call(self, name: str, inputs: List[Dict[str, Any]], phase: str) -> Dict[str, Any]:
        """The fields of a call that is not yet numbered."""
        scope = [type(state.layer).__name__ for state in self.stack if state.transparent]
        return {
            "id": 0, "name": name, "site": sites.caller_site(), "component": None, "made_at": None, "args": {},
            "inputs": inputs, "outputs": [], "phase": phase, "step": self.step, "scope": scope, "path": "",
        }  # fmt: skip

    def complete(self, call: Dict[str, Any], outputs: List[Any], measured: bool = False) -> None:
        """Number a call that returned and write it."""
        key = (str(call["site"]), call["name"], call["component"], call["step"], call["phase"])
        self._counts[key] = count = self._counts.get(key, 0) + 1
        if count > _MOST_PER_SITE_AND_STEP or self._calls >= _MOST_CALLS and call["phase"] != "symbolic":
            return
        self._calls += 1
        call["id"] = self._calls
        call["outputs"] = [self.ledger.produced(item, self._calls, measured) for item in outputs if is_data(item)]
        buffer = next((state.buffer for state in reversed(self.stack) if state.buffer is not None), None)
        if buffer is not None:
            buffer.append(call)
        else:
            wire.emit("call", **call)


def arguments_of(function: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The plain arguments of a function's call by parameter name; tensors are its inputs."""
    try:
        given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        given = dict({"argument%d" % index: value for index, value in enumerate(args)}, **kwargs)
    return {key: plain(value) for key, value in given.items() if not any(True for _ in tensors_in(value))}


def _inner(layer: Any) -> List[Any]:
    return list(layer._flatten_layers()) if hasattr(layer, "_flatten_layers") else [layer]


def _may_be_symbolic(item: Any) -> bool:
    return is_symbolic(item) or isinstance(item, (list, tuple, dict)) and any(is_symbolic(one) for one in tensors_in(item))


def _from_user(frame: Any) -> bool:
    return frame is not None and sites.is_user_file(frame.f_code.co_filename)


def _functional(keras: Any) -> List[Any]:
    """The classes of a model made of inputs and outputs."""
    module = sys.modules.get("keras.src.models.functional")
    found = getattr(module, "Functional", None)
    return [found] if found is not None else []


def _fake_scope() -> Callable[[], bool]:
    """A function that tells whether Keras is running layers on make-believe tensors."""
    for module, name in (
        ("keras.src.backend.common.symbolic_scope", "in_symbolic_scope"),
        ("keras.src.backend.common.stateless_scope", "in_stateless_scope"),
    ):
        found = getattr(sys.modules.get(module), name, None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    return lambda: False
