"""Writes the `parameters` event of a Keras program: which weights the models have, and whether they trained."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from .. import wire
from ..guard import guarded
from .components import Components, members
from .values import as_array


class _Known:
    """A weight with what was measured of it."""

    __slots__ = ("before", "component", "constant", "gradient", "name", "optimized", "sent", "update", "variable")

    def __init__(self, variable: Any, component: Optional[int]) -> None:
        self.variable = variable
        self.name = str(getattr(variable, "path", None) or getattr(variable, "name", ""))
        self.component = component
        self.constant = _is_constant(variable)
        self.optimized = False
        self.gradient: Optional[float] = None
        self.update: Optional[float] = None
        self.before: Any = None
        self.sent: Any = None

    def listed(self) -> Dict[str, Any]:
        """What the trace says of the weight."""
        return {
            "name": self.name,
            "shape": [int(size) for size in self.variable.shape],
            "component": self.component,
            # A discriminator is frozen and thawed in turns: what an optimizer was handed could train.
            "trainable": self.optimized or bool(getattr(self.variable, "trainable", True)),
            "optimized": self.optimized,
            "gradient": self.gradient,
            "update": self.update,
            "constant": self.constant,
        }


class Parameters:
    """Follows every weight of the models through the recorded steps."""

    def __init__(self, components: Components, norm: Callable[[List[Any]], Any]) -> None:
        self._components = components
        self._norm = norm
        self._known: Dict[int, _Known] = {}
        self.models: Callable[[], List[Any]] = list
        self._names: Dict[str, int] = {}

    @guarded
    def survey(self) -> None:
        """Enter the weights of the models that train, as they are before they do."""
        for model in self.models():
            for _, layer, children in members(model, self._components):
                owner = self._components.id_of(layer)
                inner = {id(weight) for child in children for weight in getattr(child, "weights", ())}
                for weight in getattr(layer, "weights", ()):
                    if id(weight) not in self._known and id(weight) not in inner:
                        self._enter(weight, owner if owner is not None else self._around(model, layer))

    def _enter(self, variable: Any, component: Optional[int]) -> _Known:
        known = self._known[id(variable)] = _Known(variable, component)
        self._names[known.name] = count = self._names.get(known.name, 0) + 1
        if count > 1:
            known.name = "%s#%d" % (known.name, count)
        return known

    def _around(self, model: Any, layer: Any) -> Optional[int]:
        """The component that holds a layer which Keras made itself."""
        for _, outer, children in members(model, self._components):
            if any(child is layer for child in children):
                found = self._components.id_of(outer)
                return found if found is not None else self._around(model, outer)
        return None

    @guarded
    def before_step(self, optimizer: Any, gradients: List[Any], variables: List[Any]) -> None:
        """Measure gradients and remember the values."""
        self.survey()
        names = []
        for variable, gradient in zip(variables, gradients):
            known = self._known.get(id(variable))
            if known is None:
                known = self._enter(variable, None)
            names.append(known.name)
            known.optimized = True
            if gradient is not None and known.gradient is None:
                known.gradient = float(self._norm([gradient]))
        made = self._components.made(optimizer)
        if made is not None:
            made.fields["parameters"] = names
        for known in self._known.values():
            array = as_array(_tensor(known.variable))
            known.before = array.copy() if array is not None else None

    def after_step(self) -> Optional[float]:
        """Measure the updates; returns the norm of the change over the norm of the trained weights."""
        moved = size = 0.0
        for known in self._known.values():
            array = as_array(_tensor(known.variable)) if known.before is not None else None
            if array is None or array.shape != known.before.shape or array.dtype.kind != "f":
                continue
            change = float(((array.astype("float64") - known.before) ** 2).sum())
            if known.update is None or change:
                known.update = change**0.5
            if known.optimized:
                moved += change
                size += float((known.before.astype("float64") ** 2).sum())
            known.before = None
        return (moved / size) ** 0.5 if size > 0.0 else None

    @guarded
    def send(self) -> None:
        """Write what changed since it was last written."""
        self.survey()
        changed = []
        for known in self._known.values():
            listed = known.listed()
            if listed != known.sent:
                known.sent = listed
                changed.append(listed)
        if changed:
            wire.emit("parameters", parameters=changed)


def _tensor(variable: Any) -> Any:
    """The tensor that a Keras variable holds."""
    return getattr(variable, "value", variable) if not callable(getattr(variable, "value", None)) else variable.value()


def _is_constant(variable: Any) -> Optional[bool]:
    """Whether all elements of a weight of two or more dimensions are equal; `None` for other weights."""
    array = as_array(_tensor(variable))
    if array is None or array.ndim < 2 or array.size < 2:
        return None
    return bool(array.min() == array.max())
