"""Records the calls of the layers of a Keras program, on symbolic and on real tensors.

A layer's call is recorded where user code makes it, or a container that only passes its input on. Calls on symbolic
tensors (phase `symbolic`) show the graph as it was written; calls on real tensors show the first batches. Calls that
Keras makes on fake tensors to infer shapes are not recorded.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from .. import recorded, sites, wire
from ..guard import Patches, guarded
from ..recorded import MOST_CALLS, CallCounts
from .components import Components, Made, is_application
from .names import class_name, is_container, is_sequential, is_transparent
from .values import Ledger, is_data, is_symbolic, numel, tensors_in

_MOST_ROOTS_PER_SITE = 16


class State:
    """A layer whose call is under way."""

    __slots__ = ("buffer", "call", "layer", "muted", "root", "symbolic", "transparent")

    def __init__(self, layer: Any, transparent: bool, root: bool, symbolic: bool) -> None:
        self.layer = layer
        self.call: Optional[Dict[str, Any]] = None
        self.transparent = transparent
        self.root = root
        self.symbolic = symbolic
        self.buffer: Optional[List[Dict[str, Any]]] = None
        self.muted = False


class Recorder:
    """Turns calls into `call` events; `on` says whether it listens to calls on real tensors."""

    def __init__(self, components: Components) -> None:
        self.components = components
        self.ledger = Ledger()
        self.on = False
        self.step = 0
        self.phase = "unknown"
        self.data: Dict[str, List[Dict[str, Any]]] = {}
        """Values of the data of the training call under way, by what they are (`x`, `y`)."""
        self.last_data: Dict[str, List[Dict[str, Any]]] = {}
        """The same of the latest training call, also when it is over."""
        self.given: List[List[int]] = []
        """Shapes of the inputs of the first training call."""
        self.before_root: Callable[[], None] = lambda: None
        self.on_input: Callable[[Any, Any, Any], None] = lambda layer, args, kwargs: None
        self.loss_made: Callable[[Any], Optional[Made]] = components.made
        self.on_loss: Callable[[Any, Any, Any, Any], None] = lambda loss, target, prediction, result: None
        self.on_output: Callable[[Any, Any], None] = lambda layer, output: None
        self.stack: List[State] = []
        self._batches: Dict[int, Any] = {}
        self._calls = 0
        self._roots: Dict[Tuple[int, str], int] = {}
        self._counts = CallCounts()
        self.within = 0
        """How many functions or losses are under way, whose insides are not recorded."""
        self._root_phase = "unknown"
        self.fake: Callable[[], bool] = lambda: False
        """Whether Keras is running layers on make-believe tensors."""

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch layers."""
        self.fake = _fake_scope()
        patches.put(keras.layers.Layer, "__call__", self._wrap_layer)

    # Layers

    def _wrap_layer(self, original: Any) -> Any:
        ran = self.components.ran.add

        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.on and not (args and _may_be_symbolic(args[0])):
                ran(id(layer))
                return original(layer, *args, **kwargs)
            state = self._enter(layer, args, kwargs)
            if state is None:
                return original(layer, *args, **kwargs)
            if state.muted:
                self.on = False
                try:
                    return original(layer, *args, **kwargs)
                finally:
                    self.on = True
            try:
                output = original(layer, *args, **kwargs)
            except BaseException:
                self.abandon(state)
                raise
            self._leave(state, output)
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
        if not building and self.fake() or self.within or not (symbolic or self.on):
            return None
        if self.opaque():
            return None
        outer = self.stack[-1] if self.stack else None
        transparent = is_transparent(layer) and not self._is_application(made)
        if symbolic and made is None and outer is None and is_application(_caller()):
            return None
        state = State(layer, transparent, outer is None or (outer.symbolic and not symbolic), symbolic)
        if state.root and not symbolic and self._too_often(layer):
            state.muted = True
            return state
        if symbolic and transparent and not self._building(layer):
            # What is inside a model is not called again when the model is: it stands for itself in the graph.
            state.transparent = False
        if state.root and not symbolic:
            self._begin_root(layer, args, kwargs, given)
        if not state.transparent:
            state.call = self._layer_call(layer, made, given, symbolic)
        self.stack.append(state)
        return state

    def _is_application(self, made: Optional[Made]) -> bool:
        return made is not None and made.fields["name"].startswith("keras.applications.")

    def _too_often(self, layer: Any) -> bool:
        """Whether a model was called so often at one place that further calls tell nothing new."""
        key = (id(layer), str(sites.caller_site()))
        self._roots[key] = count = self._roots.get(key, 0) + 1
        return count > _MOST_ROOTS_PER_SITE

    def _building(self, layer: Any) -> bool:
        return any(state.buffer is not None and state.layer is layer for state in self.stack)

    def _begin_root(self, layer: Any, args: Any, kwargs: Any, given: List[Any]) -> None:
        self.before_root()
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
        inputs = [self.input_of(item) for item in given]
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

    def input_of(self, item: Any) -> Dict[str, Any]:
        """The `Value` of an input of a call."""
        known = self.ledger.known(item)
        if known is None and is_symbolic(item):
            return self.symbolic_input(item)
        if known is None and self.stack:
            same = self.same_as(item)
            if same is not None:
                self.ledger.enter(item, dict(same))
        computed = bool(self.stack) or getattr(item, "requires_grad", False)
        return self.ledger.value(item, None if computed else "data", None if computed else sites.caller_site())

    def symbolic_input(self, item: Any) -> Dict[str, Any]:
        """A symbolic tensor that no recorded call made: a Keras input, usually."""
        history = getattr(item, "_keras_history", None)
        source = history[0] if history else None
        is_input = type(source).__name__ == "InputLayer"
        made = self.components.made(source) if source is not None else None
        site = made.fields["site"] if made is not None and is_input else None
        if id(source) in self.components.inputs and self.components.inputs[id(source)][0]() is source:
            site = self.components.inputs[id(source)][1]
        return self.ledger.value(item, "symbolic" if is_input else None, site)

    def same_as(self, item: Any) -> Optional[Dict[str, Any]]:
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
    def abandon(self, state: State) -> None:
        """A call or the building of a model is over, or was ended by an exception."""
        while self.stack and self.stack.pop() is not state:
            pass

    # Calls of any kind

    def phase_now(self) -> str:
        """`train` or `eval`, as the training method under way says, or else the latest call of a model."""
        return self.phase if self.phase != "unknown" else self._root_phase

    def opaque(self) -> bool:
        """Whether a layer of the library is under way, whose insides are not recorded."""
        return any(state.call is not None and not state.transparent for state in self.stack)

    def new_call(self, name: str, inputs: List[Dict[str, Any]], phase: str) -> Dict[str, Any]:
        """The fields of a call that is not yet numbered."""
        scope = [type(state.layer).__name__ for state in self.stack if state.transparent]
        return recorded.call(name, sites.caller_site(), inputs, phase, self.step, scope)

    def number(self, call: Dict[str, Any]) -> None:
        """Give the call the next id."""
        self._calls += 1
        call["id"] = self._calls

    def complete(self, call: Dict[str, Any], outputs: List[Any], measured: bool = False) -> None:
        """Number a call that returned and write it."""
        if self._counts.is_enough(call) or self._calls >= MOST_CALLS and call["phase"] != "symbolic":
            return
        self.number(call)
        call["outputs"] = [self.ledger.produced(item, call["id"], measured) for item in outputs if is_data(item)]
        buffer = next((state.buffer for state in reversed(self.stack) if state.buffer is not None), None)
        if buffer is not None:
            buffer.append(call)
        else:
            wire.emit("call", **call)


def _caller() -> Any:
    """The frame that calls the layer, past the probe's own."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(sites.PROBE):
        frame = frame.f_back
    return frame


def _inner(layer: Any) -> List[Any]:
    return list(layer._flatten_layers()) if hasattr(layer, "_flatten_layers") else [layer]


def _may_be_symbolic(item: Any) -> bool:
    return (
        is_symbolic(item) or isinstance(item, (list, tuple, dict)) and any(is_symbolic(one) for one in tensors_in(item))
    )


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
