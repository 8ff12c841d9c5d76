"""Records of a network, recovered from a trace or from the source: values, components, calls and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dnnfix.records.record import record
from dnnfix.records.sites import Site
from dnnfix.records.words import Json


@record
class Value:
    """What is known of one tensor; `None` means unknown.

    `producer` is the id of the `Call` that made it. `origin` tells what it is where no recorded call made it: `data`
    (entered from outside), `parameter`, `constant`, `symbolic` (a Keras input). `site` is then the expression that
    first brought it up. Statistics (`low` to `row_sums_to_one`) are taken for model inputs, model outputs and the
    inputs of losses only. `ordered` is whether labels given to Keras's `fit` only rise or only fall from sample to
    sample, and are not all the same.
    """

    id: int | None = None
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    producer: int | None = None
    origin: str | None = None
    site: Site | None = None
    requires_grad: bool | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    std: float | None = None
    integral: bool | None = None
    distinct: int | None = None
    finite: bool | None = None
    row_sums_to_one: bool | None = None
    ordered: bool | None = None


@record
class Component:
    """An object that the program made: a layer, loss, metric, optimizer, model, data loader.

    `name` is the canonical qualified name (`torch.nn.Linear`, `keras.layers.Dense`) or `user.ClassName`. `args` are the
    constructor's arguments by parameter name, defaults included. `site` is the constructor call. `attribute` is where
    the object hangs in the model (`fc1`, `features.0`), when it hangs there. `called` counts the calls seen; `None`
    means that calls may have gone unseen.
    """

    id: int
    kind: str
    name: str
    site: Site | None = None
    args: Mapping[str, Json] = field(default_factory=dict)
    attribute: str | None = None
    parameters: tuple[str, ...] = ()
    children: tuple[int, ...] = ()
    called: int | None = 0


@record
class Call:
    """One call of a layer, loss or tensor function, in the order of the run.

    For a call of a `Component`, `component` is its id, `made_at` its constructor's site and `args` the constructor's
    arguments; for a function, `args` are the call's own arguments by name where they are plain values. A loss has what is
    given as its prediction as first input and what is given as its target as second, whatever their order in the text.
    """

    id: int
    name: str
    site: Site | None
    component: int | None = None
    made_at: Site | None = None
    args: Mapping[str, Json] = field(default_factory=dict)
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    phase: str = "unknown"
    step: int = 0
    scope: tuple[str, ...] = ()
    path: str = ""


@record
class Parameter:
    """One weight tensor: where its layer was made, whether it can train, whether it did."""

    name: str
    shape: tuple[int, ...]
    component: int | None = None
    trainable: bool = True
    optimized: bool | None = None
    gradient: float | None = None
    update: float | None = None
    constant: bool | None = None


@dataclass(frozen=True)
class Network:
    """The DNN, recovered from a trace or from the source; `known_from` is `trace` or `source`.

    `cut` says that the source was too long to be followed to its end; the last of the calls is the last that was read.
    """

    framework: str
    known_from: str
    components: tuple[Component, ...] = ()
    calls: tuple[Call, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    cut: bool = False

    @cached_property
    def _components(self) -> dict[int, Component]:
        return {component.id: component for component in reversed(self.components)}

    @cached_property
    def _calls(self) -> dict[int, Call]:
        return {call.id: call for call in reversed(self.calls)}

    @cached_property
    def _users(self) -> dict[int, tuple[Call, ...]]:
        found: dict[int, list[Call]] = {}
        for call in self.calls:
            for id in {value.id for value in call.inputs if value.id is not None}:
                found.setdefault(id, []).append(call)
        return {id: tuple(calls) for id, calls in found.items()}

    @cached_property
    def _made_at(self) -> dict[Site | None, tuple[Call, ...]]:
        found: dict[Site | None, list[Call]] = {}
        for call in self.calls:
            found.setdefault(call.made_at, []).append(call)
        return {site: tuple(calls) for site, calls in found.items()}

    def component(self, id: int | None) -> Component | None:
        """The component of that id."""
        return self._components.get(id) if id is not None else None

    def call(self, id: int | None) -> Call | None:
        """The call of that id."""
        return self._calls.get(id) if id is not None else None

    def producer(self, value: Value) -> Call | None:
        """The call that made the value; `None` for data and for what is unknown."""
        return self.call(value.producer)

    def users(self, value: Value) -> tuple[Call, ...]:
        """The calls that take the value, in call order."""
        return self._users.get(value.id, ()) if value.id is not None else ()

    def made_at(self, site: Site | None) -> tuple[Call, ...]:
        """The calls of what the constructor call at a site made, in call order; with `None`, those of nothing that was made."""
        return self._made_at.get(site, ())

    def calls_of(self, component: Component) -> tuple[Call, ...]:
        """The calls of a component, in call order."""
        return tuple(c for c in self.calls if c.component == component.id)
