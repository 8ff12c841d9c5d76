"""Records the functions of `keras.ops` and `keras.losses` that user code calls, and every call of a loss object."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Dict, Optional

from .. import sites
from ..guard import Patches, guarded
from .calls import Recorder
from .graphs import Graphs
from .names import class_name, plain
from .values import is_symbolic, tensors_in

_NOT_WATCHED = ("get", "serialize", "deserialize")


class Functions:
    """Records functions and losses through a recorder of calls."""

    def __init__(self, recorder: Recorder, graphs: Graphs) -> None:
        self._recorder = recorder
        self._graphs = graphs

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch the functions under their public names, by which user code calls them, and the losses' base class."""
        patches.put(keras.losses.Loss, "__call__", self._wrap_loss)
        for area in ("ops", "losses"):
            module = getattr(keras, area, None)
            for name, value in list(vars(module).items()) if module is not None else ():
                if inspect.isfunction(value) and name[0].islower() and name not in _NOT_WATCHED:
                    patches.put(module, name, functools.partial(self._wrap_function, "keras.%s.%s" % (area, name)))

    def _wrap_function(self, name: str, original: Any) -> Any:
        recorder = self._recorder

        def function(*args: Any, **kwargs: Any) -> Any:
            if recorder.within or recorder.fake() or not sites.is_user_frame(sys._getframe(1)):
                return original(*args, **kwargs)
            call = self._called(name, original, args, kwargs)
            if call is None:
                return original(*args, **kwargs)
            recorder.within += 1
            self._graphs.written = (call["site"], call["args"])
            try:
                result = original(*args, **kwargs)
            finally:
                recorder.within -= 1
                self._graphs.written = None
            self._left(call, name, args, kwargs, result)
            return result

        return functools.update_wrapper(function, original)

    @guarded
    def _called(self, name: str, original: Any, args: Any, kwargs: Any) -> Optional[Dict[str, Any]]:
        loss = name.startswith("keras.losses.")
        ordered = loss or name.endswith("crossentropy")
        given = list(tensors_in(_prediction_first(original, args, kwargs) if ordered else [args, kwargs]))
        symbolic = any(is_symbolic(item) for item in given)
        if not (symbolic or self._recorder.on) or self._recorder.opaque():
            return None
        inputs = [self._recorder.input_of(item) for item in given]
        if loss and not symbolic:
            inputs = [self._recorder.ledger.value(item, "data", measured=True) for item in given]
        call = self._recorder.new_call(name, inputs, "symbolic" if symbolic else self._recorder.phase_now())
        call["args"] = arguments_of(original, args, kwargs)
        return call

    @guarded
    def _left(self, call: Dict[str, Any], name: str, args: Any, kwargs: Any, result: Any) -> None:
        self._recorder.complete(call, list(tensors_in(result)))
        given = list(tensors_in([args, kwargs]))
        if name.startswith("keras.losses.") and len(given) > 1 and not is_symbolic(given[0]):
            self._recorder.on_loss(None, given[0], given[1], result)

    def _wrap_loss(self, original: Any) -> Any:
        recorder = self._recorder

        def __call__(loss: Any, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.fake():
                return original(loss, y_true, y_pred, *args, **kwargs)
            recorder.within += 1
            try:
                result = original(loss, y_true, y_pred, *args, **kwargs)
            finally:
                recorder.within -= 1
            self._loss_left(loss, y_true, y_pred, result)
            return result

        return functools.update_wrapper(__call__, original)

    @guarded
    def _loss_left(self, loss: Any, y_true: Any, y_pred: Any, result: Any) -> None:
        self._recorder.on_loss(loss, y_true, y_pred, result)
        if self._recorder.on and not self._recorder.opaque():
            call = self.loss_call(loss, y_true, y_pred)
            self._recorder.complete(call, list(tensors_in(result)), measured=True)

    def loss_call(self, loss: Any, y_true: Any, y_pred: Any) -> Dict[str, Any]:
        """The call of a loss object: prediction and target, measured."""
        made = self._recorder.loss_made(loss)
        inputs = []
        for role, item in (("", y_pred), ("y", y_true)):
            for index, one in enumerate(tensors_in(item)):
                known = self._recorder.data.get(role, [])
                if self._recorder.ledger.known(one) is None and index < len(known):
                    self._recorder.ledger.enter(one, dict(known[index]))
                site = sites.caller_site() if role and not self._recorder.data else None
                inputs.append(self._recorder.ledger.value(one, "data" if role else None, site, measured=True))
        call = self._recorder.new_call(
            made.fields["name"] if made is not None else class_name(type(loss)), inputs, self._recorder.phase_now()
        )
        if made is not None:
            self._recorder.components.count_call(made)
            call.update(component=made.fields["id"], made_at=made.fields["site"], args=made.fields["args"])
            call["site"] = made.fields["site"] if self._recorder.data else call["site"]
        return call


def _prediction_first(loss: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
    """What a function of a loss is given, in the order in which calls of losses are recorded: the prediction, the target."""
    try:
        given = dict(inspect.signature(loss).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return [args, kwargs]
    return [given.pop(key, None) for key in ("y_pred", "output", "y_true", "target")] + [given]


def arguments_of(function: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The plain arguments of a function's call by parameter name; tensors are its inputs."""
    try:
        given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        given = dict({"argument%d" % index: value for index, value in enumerate(args)}, **kwargs)
    return {key: plain(value) for key, value in given.items() if not any(True for _ in tensors_in(value))}
