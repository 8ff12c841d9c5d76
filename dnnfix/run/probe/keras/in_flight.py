"""Finds the library call that was running when an exception left a Keras program.

It is read from the traceback: below the user's innermost expression, the frames of Keras hold the layer, the loss or
the data.
"""

from __future__ import annotations

import re
import sys
from types import FrameType, TracebackType
from typing import Any, Dict, List, Optional, Tuple

from .. import sites
from ..guard import guarded
from .calls import Recorder
from .components import Components, Made
from .names import AREAS, api, class_name, is_transparent, plain, snake
from .training import METHODS, Training
from .values import facts, is_data, is_symbolic, tensors_in, unfilled

_OWN = re.compile(r"[/\\](tf_keras|keras)[/\\]")


@guarded
def call_in_flight(
    error: BaseException, recorder: Recorder, components: Components, training: Training
) -> Optional[Dict[str, Any]]:
    """The fields of the library call that raised the exception; `None` where it was raised elsewhere."""
    recorder.before_root()
    for cause in sites.causes(error):
        found = _from_traceback(cause.__traceback__, recorder, components, training)
        if found is not None:
            return found
    return None


def _from_traceback(
    traceback: Optional[TracebackType], recorder: Recorder, components: Components, training: Training
) -> Optional[Dict[str, Any]]:
    every = sites.every_entry(traceback)
    entries = [one for one in every if not one.tb_frame.f_code.co_filename.startswith(sites.PROBE)]
    users = [number for number, entry in enumerate(entries) if sites.is_user_frame(entry.tb_frame)]
    if not users:
        return None
    below = [entry.tb_frame for entry in entries[users[-1] + 1 :]]
    site = next((one["site"] for one in sites.frames_of(entries[users[-1]])), None)
    call = _constructing(entries[users[-1]], below, recorder, components) or _running(
        below, recorder, components, training
    )
    if call is None and below:
        call = _function(below, recorder)
    if call is None:
        around = [entry.tb_frame for entry in entries[: users[-1]]]
        call = _running(around, recorder, components, training, inner=True)
    if call is None:
        return None
    if call["site"] is None or not call["made_at"] or _written_out(entries[users[-1] :]):
        call["site"] = site
    models = [entry.tb_frame.f_locals.get("self") for entry in entries if sites.is_user_frame(entry.tb_frame)]
    call["scope"] = [type(model).__name__ for model in models if hasattr(model, "call") and hasattr(model, "weights")]
    return call


def _written_out(entries: List[TracebackType]) -> bool:
    """Whether the user's expression itself calls the layer, and not a model that holds it."""
    names = [entry.tb_frame.f_code.co_name for entry in entries[1:4]]
    return "__call__" in names and not any(name in ("fit", "build", "add", "evaluate", "predict") for name in names)


def _constructing(
    user: TracebackType, below: List[FrameType], recorder: Recorder, components: Components
) -> Optional[Dict[str, Any]]:
    """The constructor that refused its arguments."""
    last = components.last
    if last is None or last[1] is not user.tb_frame.f_code or last[2] != user.tb_lasti:
        return None
    if below and below[0].f_code.co_name not in ("__init__", "__new__", "error_handler"):
        return None
    if any(frame.f_code.co_name == "__call__" and hasattr(frame.f_locals.get("self"), "call") for frame in below):
        return None
    return _of(last[0], None, [], recorder)


def _running(
    frames: List[FrameType], recorder: Recorder, components: Components, training: Training, inner: bool = False
) -> Optional[Dict[str, Any]]:
    """The layer, loss, metric or training method that library frames are running, the most telling of them."""
    model: Optional[Tuple[FrameType, Any]] = None
    found: List[Tuple[FrameType, Any]] = []
    trainer: Optional[FrameType] = None
    for frame in frames:
        owner = frame.f_locals.get("self")
        name = frame.f_code.co_name
        if owner is None or isinstance(owner, type):
            continue
        if name == "__call__" and hasattr(owner, "call") and hasattr(owner, "weights"):
            if is_transparent(owner):
                model = (frame, owner)
            else:
                found.append((frame, owner))
        elif name == "__call__" and hasattr(owner, "reduction") and "y_pred" in frame.f_locals:
            if type(owner).__name__ != "CompileLoss":
                found.append((frame, owner))
        elif (
            name == "update_state"
            and "y_pred" in frame.f_locals
            and type(owner).__name__ not in ("CompileMetrics", "MetricsList")
        ):
            found.append((frame, owner))
        elif name in METHODS or name == "compile":
            trainer = trainer or frame
    if found:
        frame, owner = found[-1] if inner else found[0]
        return _layer_or_loss(frame, owner, recorder, components, training)
    if model is not None:
        return _layer_or_loss(model[0], model[1], recorder, components, training)
    return _training_call(trainer, recorder, components, training) if trainer is not None else None


def _layer_or_loss(
    frame: FrameType, owner: Any, recorder: Recorder, components: Components, training: Training
) -> Dict[str, Any]:
    local = frame.f_locals
    if "y_pred" in local:
        made = recorder.loss_made(owner)
        call = _of(made, owner, [], recorder)
        call["inputs"] = _data_and_prediction(local["y_pred"], local.get("y_true"), training.model, recorder)
        return call
    given = local.get("original_args", local.get("args", ()))
    kwargs = local.get("original_kwargs", local.get("kwargs", {}))
    made = components.made(owner)
    call = _of(
        made, owner, [value for item in tensors_in([given, kwargs]) for value in [_value(item, recorder)]], recorder
    )
    stated = getattr(owner, "_inputs", None) or []
    if is_transparent(owner) and stated:
        shapes = [list(one.shape) for one in stated if hasattr(one, "shape")]
        call["args"] = dict(call["args"], input_shape=shapes[0] if len(shapes) == 1 else shapes)
    return call


def _data_and_prediction(prediction: Any, target: Any, model: Any, recorder: Recorder) -> List[Dict[str, Any]]:
    inputs = [_value(item, recorder) for item in tensors_in(prediction)]
    for value, output in zip(inputs, tensors_in(getattr(model, "outputs", None) or [])):
        graph = recorder.ledger.known(output)
        if value.get("producer") is None and graph is not None:
            value.update(id=graph["id"], producer=graph["producer"])
    known = recorder.data.get("y", []) or (recorder.last_data.get("y", []))
    for index, item in enumerate(tensors_in(target)):
        value = _value(item, recorder)
        if index < len(known) and value.get("origin") != "data":
            # Keras has changed its type meanwhile; the numbers are those that the user gave.
            value = dict(known[index], shape=value["shape"])
        inputs.append(value)
    return inputs


def _value(item: Any, recorder: Recorder) -> Dict[str, Any]:
    known = recorder.ledger.known(item)
    if known is not None:
        return dict(known, **{key: one for key, one in facts(item).items() if key in ("shape", "dtype", "device")})
    if is_symbolic(item):
        return unfilled(recorder.symbolic_input(item))
    same = recorder.same_as(item)
    value = (
        dict(same)
        if same is not None
        else {"id": recorder.ledger.new_id(), "producer": None, "origin": None, "site": None}
    )
    value.update(facts(item))
    known_data = recorder.last_data.get("x", [])
    if same is None and len(known_data) == 1 and _may_be(value.get("shape"), known_data[0].get("shape")):
        value = dict(known_data[0], **facts(item))
    return unfilled(value)


def _may_be(shape: Any, whole: Any) -> bool:
    """Whether a batch of that shape may come from data of the other."""
    return bool(shape) and bool(whole) and list(shape[1:]) == list(whole[1:])


def _of(made: Optional[Made], owner: Any, inputs: List[Dict[str, Any]], recorder: Recorder) -> Dict[str, Any]:
    name = made.fields["name"] if made is not None else class_name(type(owner))
    call = recorder.new_call(name, inputs, recorder.phase)
    call["site"] = None
    if made is not None:
        fields = made.fields
        call.update(component=fields["id"], made_at=fields["site"], args=fields["args"], path=fields["attribute"] or "")
        call["site"] = fields["site"]
    return call


def _training_call(frame: FrameType, recorder: Recorder, components: Components, training: Training) -> Dict[str, Any]:
    name = frame.f_code.co_name
    if training.failed is not None and training.failed.name == name:
        return dict(training.failed.call)
    call = _of(components.made(frame.f_locals.get("self")), frame.f_locals.get("self"), [], recorder)
    local = {
        key: value
        for key, value in frame.f_locals.items()
        if key in frame.f_code.co_varnames[: frame.f_code.co_argcount]
    }
    call.update(name="keras.Model." + name, site=None)
    call["args"] = {key: plain(value) for key, value in local.items() if key != "self" and not is_data(value)}
    return call


def _function(frames: List[FrameType], recorder: Recorder) -> Optional[Dict[str, Any]]:
    """The public function of Keras whose code the outermost library frame runs."""
    for frame in frames[:3]:
        code = frame.f_code
        if not _OWN.search(code.co_filename) or code.co_name in ("error_handler", "__call__"):
            continue
        name = _public_name(frame)
        if name is None:
            continue
        local = frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {key: local[key] for key in names if key in local and key not in ("self", "cls")}
        tensors = [item for key in given for item in tensors_in(given[key])]
        call = recorder.new_call(name, [_value(item, recorder) for item in tensors], "unknown")
        call["args"] = {key: plain(value) for key, value in given.items() if not any(True for _ in tensors_in(value))}
        call["site"] = None
        return call
    return None


def _public_name(frame: FrameType) -> Optional[str]:
    name = frame.f_code.co_name
    owner = frame.f_locals.get("self")
    if owner is not None:
        if (
            hasattr(owner, "symbolic_call")
            and name in ("symbolic_call", "compute_output_spec")
            and not hasattr(owner, "weights")
        ):
            return "keras.ops." + snake(type(owner).__name__)
        if type(owner).__name__ == "KerasTensor":
            return "keras.ops." + name.strip("_")
        return None if name == "__init__" else "%s.%s" % (class_name(type(owner)), name)
    keras = api()
    for area in AREAS:
        module = getattr(keras, area, None)
        function = getattr(module, name, None)
        code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
        if code is frame.f_code:
            return "keras.%s.%s" % (area, name)
    return None if sys.modules.get("keras") is None else "keras." + name
