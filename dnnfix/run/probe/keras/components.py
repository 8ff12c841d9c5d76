"""Records the layers, models, losses, optimizers, metrics and callbacks of a Keras program, with their sites."""

from __future__ import annotations

import inspect
import itertools
import sys
import weakref
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from .. import recorded, sites
from ..guard import guarded
from ..recorded import MOST_COMPONENTS, ComponentLog
from ..user_classes import is_user_class
from .names import api, class_name, is_container, is_sequential, plain

_OF_KERAS = (
    "_layers",
    "_metrics",
    "_functional",
    "_inbound_nodes",
    "_outbound_nodes",
    "_operations",
    "_modules",
    "_tracker",
)
_CALLED = ("layer", "model", "loss")


class Made:
    """One object of the program, with the fields that the trace gets."""

    __slots__ = ("fields", "passes", "reference", "sites")

    def __init__(self, instance: Any, fields: Dict[str, Any]) -> None:
        self.reference: Callable[[], Any] = weakref.ref(instance)
        self.fields = fields
        self.sites: List[Any] = []
        """Where a layer was called while the graph of a functional model was written down."""
        self.passes = 0


class Components(ComponentLog):
    """Every component made so far."""

    def __init__(self) -> None:
        super().__init__()
        self._ids = itertools.count(1)
        self._made: Dict[int, Made] = {}
        self.inputs: Dict[int, Tuple[Any, Any]] = {}
        """Input layers that the program asked for by `Input(...)`: the layer and the site of that call."""
        self.last: Optional[Tuple[Made, Any, int]] = None
        """The latest constructor call: its object, and the code and instruction that made it."""
        self.quiet = 0
        self.ran: Set[int] = set()
        """Identities of layers that were called while nothing was recorded."""

    def install(self, keras: Any) -> None:
        """Watch constructors."""
        for owner, kind in (
            (getattr(keras, "Operation", keras.layers.Layer), "layer"),
            (keras.losses.Loss, "loss"),
            (keras.metrics.Metric, "metric"),
            (keras.callbacks.Callback, "callback"),
            (keras.optimizers.Optimizer, "optimizer"),
            (keras.optimizers.schedules.LearningRateSchedule, "scheduler"),
        ):
            self._watch(owner, kind, keras.layers.Layer)

    def _watch(self, owner: Any, kind: str, layer: Any) -> None:
        """See every construction in `__new__`, which gets the arguments as they were written."""
        definer = next((base for base in owner.__mro__ if "__new__" in vars(base)), object)
        if definer is not object and not definer.__module__.startswith(("keras", "tensorflow", "tf_keras")):
            definer = object
        place: Any = owner if definer is object else definer
        own = vars(place).get("__new__")
        original = own.__func__ if isinstance(own, staticmethod) else own

        def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
            instance = original(cls, *args, **kwargs) if original is not None else object.__new__(cls)
            if not self.quiet and (kind != "layer" or isinstance(instance, layer)):
                self._constructed(instance, kind, args, kwargs, sys._getframe(1))
            return instance

        # Never put back: Python does not restore a class that had no `__new__` of its own.
        place.__new__ = staticmethod(__new__)

    @guarded
    def _constructed(self, instance: Any, kind: str, args: Any, kwargs: Any, frame: Optional[FrameType]) -> None:
        if len(self._made) >= MOST_COMPONENTS or self.made(instance) is not None:
            return
        while frame is not None and frame.f_code.co_name == "__new__":
            # Models swallow their arguments on the way; the outermost `__new__` was given all of them.
            args, kwargs = frame.f_locals.get("args", args), frame.f_locals.get("kwargs", kwargs)
            frame = frame.f_back
        if frame is None:
            return
        direct = sites.is_user_frame(frame)
        site = sites.site_of(frame) if direct else self._led_to_by(frame)
        if class_name(type(instance)) == "keras.layers.InputLayer" and not direct:
            if frame.f_code.co_name == "Input":
                self.inputs[id(instance)] = (weakref.ref(instance), site)
            return
        if not direct and (site is None or kind != "layer"):
            return
        if not direct and is_application(frame):
            self._application(instance, frame, site)
            return
        if self._too_many(site):
            return
        name = class_name(type(instance))
        if kind == "layer" and (is_user_class(type(instance)) or is_container(instance)):
            kind = "model"
        made = self.add(kind, instance, name, site, bound(type(instance), args, kwargs))
        if direct:
            self.last = (made, frame.f_code, frame.f_lasti)
            self._given_to(instance, kind, args, kwargs)

    def _application(self, instance: Any, frame: FrameType, site: Any) -> None:
        """A whole model out of `keras.applications`: its layers are nobody's to edit, so it stands for them."""
        function = getattr(getattr(api(), "applications", None), frame.f_code.co_name, None)
        if is_container(instance) and function is not None:
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            args = {name: plain(frame.f_locals[name]) for name in names if name in frame.f_locals}
            self.add("model", instance, "keras.applications." + frame.f_code.co_name, site, args)

    def _led_to_by(self, frame: Optional[FrameType]) -> Any:
        """The user's expression from which library code came to construct; `None` within another constructor."""
        while frame is not None:
            code = frame.f_code
            if sites.is_user_file(code.co_filename):
                return sites.site_of(frame)
            if code.co_name in ("__init__", "build", "from_config", "__call__", "fit"):
                return None
            frame = frame.f_back
        return None

    def _given_to(self, instance: Any, kind: str, args: Any, kwargs: Any) -> None:
        """A layer handed to a wrapper is a child of it, and is called where it cannot be seen (as a copy, mostly)."""
        if kind != "layer" or is_user_class(type(instance)):
            return
        children = [made for made in (self.made(item) for item in _flat([args, kwargs])) if made is not None]
        mine = self.made(instance)
        for child in children:
            if child.fields["kind"] in ("layer", "model") and mine is not None:
                child.fields["called"] = None
                mine.fields["children"].append(child.fields["id"])

    def add(self, kind: str, instance: Any, name: str, site: Any, args: Dict[str, Any]) -> Made:
        """Enter an object and write its event."""
        fields = recorded.component(next(self._ids), kind, name, site, args, called=0 if kind in _CALLED else None)
        made = self._made[id(instance)] = Made(instance, fields)
        self.send(fields)
        return made

    def made(self, instance: Any) -> Optional[Made]:
        """What is known of that very object."""
        found = self._made.get(id(instance))
        return found if found is not None and found.reference() is instance else None

    def id_of(self, instance: Any) -> Optional[int]:
        """The component of that very object."""
        found = self.made(instance)
        return int(found.fields["id"]) if found is not None else None

    def of_kind(self, *kinds: str) -> List[Any]:
        """The living objects of these kinds, in the order in which they were made."""
        living = [(made.fields["id"], made.reference()) for made in self._made.values() if made.fields["kind"] in kinds]
        return [instance for _, instance in sorted(living, key=lambda one: one[0]) if instance is not None]

    def count_call(self, made: Made) -> None:
        """Count one call."""
        if made.fields["called"] is not None:
            made.fields["called"] += 1

    @guarded
    def describe(self, model: Any) -> None:
        """Fill in where the components hang in a model, which weights they have, and send those that changed."""
        for path, layer, children in members(model, self):
            made = self.made(layer)
            if made is None:
                continue
            fields = made.fields
            fields["attribute"] = fields["attribute"] or path or None
            found = [self.id_of(child) for child in children]
            fields["children"] = fields["children"] or [child for child in found if child is not None]
            held = [] if children else list(getattr(layer, "weights", ()))
            fields["parameters"] = [str(getattr(weight, "name", "")) for weight in held]
            self.send(fields)

    @guarded
    def send_all(self) -> None:
        """Send every component that changed since it was last sent."""
        for instance, made in list(self._made.items()):
            if made.fields["called"] == 0 and instance in self.ran and made.reference() is not None:
                made.fields["called"] = 1
            self.send(made.fields)


def is_application(frame: Optional[FrameType]) -> bool:
    """Whether the frame runs code of `keras.applications`."""
    place = frame.f_code.co_filename.replace("\\", "/") if frame is not None else ""
    return "/keras/" in place and "/applications/" in place


def bound(cls: type, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The constructor's arguments by parameter name, defaults included; invalid ones keep the names of the call."""
    try:
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    except (TypeError, ValueError):
        return {key: plain(value) for key, value in kwargs.items()}
    parameters = list(signature.parameters.values())[1:]
    found: Dict[str, Any] = {}
    ordered = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    for parameter, value in zip(ordered, args):
        found[parameter.name] = plain(value)
    for index, value in enumerate(args[len(ordered) :]):
        found["argument%d" % (index + len(ordered))] = plain(value)
    found.update((key, plain(value)) for key, value in kwargs.items())
    for parameter in parameters:
        if parameter.default is not parameter.empty and parameter.name not in found:
            found[parameter.name] = plain(parameter.default)
    return found


def members(model: Any, components: Components) -> Iterator[Tuple[str, Any, List[Any]]]:
    """Every layer under a model, itself first: path, layer, the layers directly in it."""
    seen: Dict[int, bool] = {}
    waiting: List[Tuple[str, Any]] = [("", model)]
    while waiting:
        path, layer = waiting.pop(0)
        if id(layer) in seen:
            continue
        seen[id(layer)] = True
        named = _parts(layer, components)
        yield path, layer, [child for _, child in named]
        waiting.extend(((path + "." if path and name else path) + name, child) for name, child in named)


def _parts(layer: Any, components: Components) -> List[Tuple[str, Any]]:
    if is_sequential(layer):
        held = [one for one in getattr(layer, "_layers", ()) if not _implicit(one, components)]
        return [(str(index), one) for index, one in enumerate(held)]
    inner = (
        list(layer._flatten_layers(include_self=False, recursive=False)) if hasattr(layer, "_flatten_layers") else []
    )
    if not is_user_class(type(layer)):
        return [("", one) for one in inner if type(one).__name__ != "InputLayer"]
    names: Dict[int, str] = {}
    # On the torch backend a layer that is an attribute lies among torch's modules.
    for name, value in list(vars(layer).items()) + list(vars(layer).get("_modules", {}).items()):
        if name in _OF_KERAS:
            continue
        for key, one in _items(value):
            names.setdefault(id(one), name + key)
    return [(names.get(id(one), ""), one) for one in inner]


def _implicit(layer: Any, components: Components) -> bool:
    """Whether an input layer was put in by Keras because of an `input_shape` or the first batch."""
    return (
        type(layer).__name__ == "InputLayer" and components.made(layer) is None and id(layer) not in components.inputs
    )


def _items(value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict):
        for key in list(value)[:256]:
            yield ".%s" % key, value[key]
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value[:256]):
            yield ".%d" % index, one
    else:
        yield "", value


def _flat(item: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, (list, tuple)):
        for one in item if depth < 4 else ():
            yield from _flat(one, depth + 1)
    else:
        yield item
