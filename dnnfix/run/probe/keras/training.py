"""Keeps Keras's own training loop (`fit`, `evaluate`, `predict` and their one-batch forms) within the budget.

`fit` is ended through `stop_training` once the budget's steps are done, evaluations after a few batches, both by a
callback, so that the program's callbacks see a training that ends early. Results keep the form that the program
expects: histories have an entry for every epoch, predictions a row for every sample.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, Dict, List, Optional

from .. import budget, sites, wire
from ..guard import Patches, guarded
from .batches import is_arrays, lengthen, repeated, rows_asked, specified, without_workers
from .calls import Recorder
from .components import Components
from .names import class_name, plain
from .values import facts, is_data, named_parts, ordered, statistics
from .written_calls import Written, written_at

METHODS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_OLD_METHODS = ("fit_generator", "evaluate_generator", "predict_generator")
_TRAIN = frozenset({"fit", "fit_generator", "train_on_batch"})
_EVENTS_PER_METHOD = 3
_EVALUATIONS_RECORDED = 6
_UNKNOWN_LENGTH_BATCHES = 64
_DATA = ("x", "y", "sample_weight", "validation_data", "generator", "callbacks", "verbose")


class Plan:
    """One call of a training method: its arguments, and what is changed in them."""

    def __init__(self, name: str, model: Any, written: Written, given: Dict[str, Any]) -> None:
        self.name = name
        self.model = model
        self.written = written
        self.given = given
        self.args: List[Any] = []
        self.kwargs: Dict[str, Any] = {}
        self.cut = False
        self.rows: Optional[int] = None
        self.call: Dict[str, Any] = {}
        self.data: Dict[str, List[Dict[str, Any]]] = {}
        self.validation: Dict[str, List[Dict[str, Any]]] = {}
        self.before: Any = None
        self.key = name + written.name
        self.order: List[str] = []
        self.repeated = False


class Training:
    """Patches the training methods."""

    def __init__(self, components: Components, recorder: Recorder, steps: Any) -> None:
        self._components = components
        self._recorder = recorder
        self._steps = steps
        self._events: Dict[str, int] = {}
        self._cuts: Dict[str, bool] = {}
        self._evaluated: Dict[str, bool] = {}
        self._callback: Callable[[Plan], Any] = lambda plan: None
        self.plans: List[Plan] = []
        self.on_parts: Callable[[Any, Any], None] = lambda training, other: None
        """Told of the inputs of `fit`, and of those that it is to validate on."""
        self.failed: Optional[Plan] = None
        self.models: List[Any] = []

    def install(self, patches: Patches, keras: Any) -> None:
        """Watch the methods of models, wherever in Keras they are defined."""
        self._callback = _callback_maker(keras, self)
        for name in METHODS + _OLD_METHODS:
            definer = next((base for base in keras.Model.__mro__ if name in vars(base)), None)
            if definer is not None:
                patches.put(definer, name, functools.partial(self._wrap, name))

    def _wrap(self, name: str, original: Any) -> Any:
        signature = inspect.signature(original)

        def method(model: Any, *args: Any, **kwargs: Any) -> Any:
            plan = self._begin(name, original, signature, model, args, kwargs)
            if plan is None:
                return original(model, *args, **kwargs)
            try:
                result = original(*plan.args, **plan.kwargs)
            except BaseException:
                self._end(plan, failed=True)
                raise
            self._end(plan)
            changed = self._result(plan, result)
            return result if changed is None else changed

        return functools.update_wrapper(method, original)

    @property
    def model(self) -> Any:
        """The model whose training method runs, or was running when an exception came."""
        if self.plans:
            return self.plans[-1].model
        return self.failed.model if self.failed is not None else None

    # Before

    @guarded
    def _begin(self, name: str, original: Any, signature: Any, model: Any, args: Any, kwargs: Any) -> Optional[Plan]:
        if self.plans and not sites.is_user_frame(sys._getframe(3)):
            return None
        try:
            bound = signature.bind(model, *args, **kwargs)
        except TypeError:
            return None
        plan = Plan(name, model, written_at(sites.user_frame()), dict(bound.arguments))
        self._happened(plan)
        if not self.plans:
            self._recorder.before_root()
            if not any(known is model for known in self.models):
                self.models.append(model)
        plan.order = list(signature.parameters)[1:]
        plan.repeated = self._events[plan.key] > _EVENTS_PER_METHOD
        brief = plan.repeated and name.endswith("_on_batch") and not self._steps.records(id(model))
        if not brief:
            self._read_data(plan)
        self._limit(plan, bound, signature, original)
        plan.args, plan.kwargs = list(bound.args), dict(bound.kwargs)
        plan.before = (self._recorder.data, self._recorder.phase, self._recorder.on)
        if not brief:
            self._write_call(plan)
        self._recorder.data = self._recorder.last_data = plan.data
        if not self._recorder.given:
            self._recorder.given = [one["shape"] for one in plan.data.get("x", []) if one.get("shape")]
        self._recorder.phase = "train" if name in _TRAIN else "eval"
        self.plans.append(plan)
        if name in _TRAIN:
            self._recorder.on = self._steps.recording
        if name in ("test_on_batch", "predict_on_batch"):
            self.evaluation_begins(plan)
        return plan

    def _happened(self, plan: Plan) -> None:
        self._events[plan.key] = count = self._events.get(plan.key, 0) + 1
        if count <= _EVENTS_PER_METHOD:
            wire.emit("loop", name=plan.name, site=plan.written.site, step=self._steps.index)

    def _read_data(self, plan: Plan) -> None:
        order, repeated = plan.order, plan.repeated
        for role in ("x", "y"):
            source = "generator" if role == "x" and "generator" in plan.given else role
            item = plan.given.get(source)
            if item is not None:
                position = order.index(source) if source in order else None
                plan.data[role] = self._values(plan, item, plan.written.argument(source, position), not repeated)
        if plan.name == "fit" and not repeated:
            for value, (_, part) in zip(plan.data.get("y", []), named_parts(plan.given.get("y"))):
                value["ordered"] = ordered(part)
        if plan.data.get("x") and not plan.data.get("y") and not is_arrays(plan.given.get("x")):
            # A data set brings its targets along: they come from where the inputs come from.
            plan.data["y"] = [self._value(plan.data["x"][0]["site"])]
        held_out = plan.given.get("validation_data")
        if isinstance(held_out, (list, tuple)) and len(held_out) in (2, 3):
            node = plan.written.argument("validation_data", order.index("validation_data"))
            nodes = plan.written.elements(node, len(held_out))
            self.on_parts(plan.given.get("x"), held_out[0])
            for role, item, one in zip(("x", "y"), held_out, nodes):
                plan.validation[role] = self._values(plan, item, one, not repeated)
        elif held_out is not None:
            site = plan.written.site_of(plan.written.argument("validation_data", None))
            plan.validation = {role: [self._value(site)] for role in ("x", "y")}
        else:
            plan.validation = plan.data

    def _values(self, plan: Plan, item: Any, node: Any, measured: bool) -> List[Dict[str, Any]]:
        parts = named_parts(item)
        nodes = plan.written.elements(node, len(parts)) if len(parts) > 1 or parts[0][0] else [node]
        found = []
        for (_, part), one in zip(parts, nodes):
            value = self._value(plan.written.site_of(one))
            if is_data(part) or isinstance(part, (list, tuple)):
                value.update(facts(part))
                value.update(statistics(part) if measured else {})
            else:
                value.update(specified(part))
            found.append(value)
        return found

    def _value(self, site: Any) -> Dict[str, Any]:
        return {"id": self._recorder.ledger.new_id(), "producer": None, "origin": "data", "site": site}

    def _write_call(self, plan: Plan) -> None:
        """The training method as a call, whose inputs are the data as the user gave them."""
        values = plan.data.get("x", []) + (plan.data.get("y", []) if "y" in plan.given else [])
        call = self._recorder.new_call("keras.Model." + plan.name, [dict(one) for one in values], "unknown")
        made = self._components.made(plan.model)
        call.update(
            site=plan.written.site, args={k: plain(v) for k, v in plan.given.items() if k not in _DATA and k != "self"}
        )
        call["args"]["inputs"] = ["x"] * len(plan.data.get("x", [])) + ["y"] * (
            len(values) - len(plan.data.get("x", []))
        )
        call["args"]["types"] = {role: class_name(type(plan.given[role])) for role in ("x", "y") if role in plan.given}
        if plan.given.get("callbacks"):
            given = plan.given["callbacks"]
            listed = given if isinstance(given, (list, tuple)) else [given]
            call["args"]["callbacks"] = [class_name(type(one)) for one in listed]
        if made is not None:
            call.update(component=made.fields["id"], made_at=made.fields["site"])
        plan.call = call
        if not self.plans and not plan.repeated:
            self._recorder.complete(call, [])

    def _limit(self, plan: Plan, bound: Any, signature: Any, original: Any) -> None:
        if "verbose" in signature.parameters:
            bound.arguments["verbose"] = 0
        without_workers(plan.given.get("x"))
        if "callbacks" not in signature.parameters:
            return
        given = bound.arguments.get("callbacks")
        self._components.quiet += 1
        try:
            ours = self._callback(plan)
        finally:
            self._components.quiet -= 1
        if hasattr(given, "append") and hasattr(given, "set_model"):
            given.append(ours)
        else:
            listed = list(given) if isinstance(given, (list, tuple)) else [given] if given else []
            bound.arguments["callbacks"] = listed + [ours]
        if plan.name == "predict":
            plan.rows = rows_asked(plan.given.get("x"), plan.given.get("steps"), plan.given.get("batch_size"))
        code = getattr(inspect.unwrap(original), "__code__", None)
        if plan.name == "evaluate" and "stop_evaluating" not in getattr(code, "co_names", ()):
            bound.arguments["steps"] = min(
                bound.arguments.get("steps") or budget.evaluation_batches(), budget.evaluation_batches()
            )

    # During

    def evaluation_begins(self, plan: Plan) -> None:
        """The first batch of the first evaluations at different places is recorded as well."""
        self._recorder.phase = "eval"
        self._recorder.data = plan.validation if plan.name == "fit" else plan.data
        key = plan.key
        self._recorder.on = key not in self._evaluated and len(self._evaluated) < _EVALUATIONS_RECORDED
        self._evaluated[key] = True

    def evaluation_batch_done(self, plan: Plan, done: int, steps: Optional[int]) -> bool:
        """Whether the evaluation has to end."""
        self._recorder.on = False
        limit = budget.evaluation_batches()
        if plan.name == "predict" and plan.rows is None:
            limit = max(limit, _UNKNOWN_LENGTH_BATCHES)
        if done < limit or steps is not None and done >= steps:
            return False
        self._tell_cut(plan)
        return True

    def evaluation_ended(self, plan: Plan) -> None:
        """A validation within `fit` is over: training goes on."""
        self._recorder.data = plan.data
        self._recorder.phase = "train" if plan.name in _TRAIN else "eval"
        self._recorder.on = plan.name in _TRAIN and self._steps.recording

    def train_batch_done(self, plan: Plan, last: bool, logs: Any) -> bool:
        """Whether the training has to end."""
        self._steps.batch_done(logs)
        if not budget.used_up():
            return False
        if not last:
            self._tell_cut(plan)
            plan.cut = True
        return not last

    def _tell_cut(self, plan: Plan) -> None:
        if plan.written.name not in self._cuts:
            self._cuts[plan.written.name] = True
            wire.emit("cut", site=plan.written.site)

    # After

    @guarded
    def _end(self, plan: Plan, failed: bool = False) -> None:
        if failed and self.failed is None:
            self.failed = plan
            if not plan.call:
                self._read_data(plan)
                self._write_call(plan)
                self._recorder.last_data = plan.data
        if plan in self.plans:
            self.plans.remove(plan)
        self._recorder.data, self._recorder.phase, self._recorder.on = plan.before
        if plan.name in _TRAIN:
            if plan.name == "train_on_batch":
                self._steps.batch_done(None)
            if not plan.repeated:
                self._components.describe(plan.model)
        self._recorder.on = self._steps.recording

    @guarded
    def _result(self, plan: Plan, result: Any) -> Any:
        """What the program gets: a history or predictions of the length that it expects; `None` for no change."""
        if plan.cut and hasattr(result, "history"):
            lengthen(result, plan.given)
        if plan.name == "predict" and plan.rows is not None:
            return repeated(result, plan.rows)
        return None


def _callback_maker(keras: Any, training: Training) -> Callable[[Plan], Any]:
    class Cutter(keras.callbacks.Callback):  # type: ignore[misc]
        """Ends what the budget does not allow to go on."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan
            self.epoch = 0
            self.done = 0

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            parameters = self.params or {}
            last = self.epoch + 1 >= (parameters.get("epochs") or 1) and batch + 1 == parameters.get("steps")
            if guarded(training.train_batch_done)(self.plan, last, logs):
                self.model.stop_training = True

        def on_test_begin(self, logs: Any = None) -> None:
            self.done = 0
            guarded(training.evaluation_begins)(self.plan)

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            self.done += 1
            steps = None if self.plan.name == "fit" else (self.params or {}).get("steps")
            if guarded(training.evaluation_batch_done)(self.plan, self.done, steps):
                self.model.stop_evaluating = True

        def on_test_end(self, logs: Any = None) -> None:
            guarded(training.evaluation_ended)(self.plan)

        def on_predict_begin(self, logs: Any = None) -> None:
            self.on_test_begin()

        def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
            self.done += 1
            if guarded(training.evaluation_batch_done)(self.plan, self.done, (self.params or {}).get("steps")):
                self.model.stop_predicting = True

    return Cutter
