"""Interpreter: collects components, calls and values while a program is read, and builds the `Network` from them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dnnfix.network.values import (
    Abstract,
    Draft,
    Instance,
    Items,
    KerasModel,
    Library,
    Made,
    Mapping_,
    Method,
    Opaque,
    Plain,
    Tensor,
)
from dnnfix.records import Call, Component, Json, Network, Site, Value
from dnnfix.source.program import Source

LONG = 2000
"""Lines of a program up to which the limits of what is read of it hold; for a longer one they grow with its length."""
MOST_CALLS = 4000
"""More calls than this are not recorded: such a file is generated, or the reading has gone astray."""
MOST_ELEMENTS = 10_000
"""Written-down arrays are looked at up to this many numbers."""


class Recorder:
    """Assigns ids and keeps components, calls and values. `complete` becomes false when something had to be left
    out, and `cut` true where that is for the length of the program.
    """

    def __init__(self, source: Source, framework: str) -> None:
        self.source = source
        self.framework = framework
        self.drafts: list[Draft] = []
        self.calls: list[Call] = []
        self.roots: list[Abstract] = []
        self.escaped: set[int] = set()
        self.complete = True
        self.cut = False
        self.scope: list[str] = []
        self.length = max(1.0, len(source.places.lines) / LONG)
        self._most_calls = MOST_CALLS * self.length
        self._values = 0

    def stop(self) -> None:
        """Note that the program is too long to be followed further."""
        self.complete, self.cut = False, True

    @property
    def full(self) -> bool:
        """Whether no more calls are recorded."""
        return len(self.calls) >= self._most_calls

    def site(self, node: ast.AST | None) -> Site | None:
        """The site of a node; `None` for nodes that have none."""
        return self.source.site(node) if isinstance(node, ast.expr | ast.stmt | ast.arg) else None

    def value(self, **facts: object) -> Value:
        """A value with a new id."""
        self._values += 1
        return Value(id=self._values, **facts)  # type: ignore[arg-type]

    def tensor(self, framework: str, **facts: object) -> Tensor:
        """A tensor with a new id."""
        return Tensor(self.value(**facts), framework)

    def value_of(self, what: Abstract | None, node: ast.AST | None) -> Value:
        """The record of a value as an input of a call; the same value always has the same id."""
        if isinstance(what, Tensor):
            return what.value
        if isinstance(what, Opaque):
            if what.value is None:
                what.value = self.value(site=self.site(what.node or node), origin=what.origin)
            return what.value
        if isinstance(what, Plain) and isinstance(what.value, int | float):
            number = float(what.value)
            return self.value(shape=(), origin="constant", site=self.site(node), low=number, high=number)
        if isinstance(what, Items) and what.draft is None:
            return self.value(origin="data" if _numbers(what) else None, site=self.site(node), **literal_facts(what))
        if isinstance(what, Method) and isinstance(what.base, Opaque):
            return self.value(origin=what.base.origin, site=self.site(node))
        return self.value(site=self.site(node))

    def draft(self, kind: str, name: str, node: ast.AST | None, args: dict[str, Json] | None = None) -> Draft:
        """A new component, made by the expression `node`."""
        draft = Draft(len(self.drafts) + 1, kind, name, self.site(node), args or {})
        self.drafts.append(draft)
        return draft

    def call(
        self,
        name: str,
        node: ast.AST | Site | None,
        inputs: Sequence[Value],
        outputs: int = 1,
        *,
        draft: Draft | None = None,
        args: dict[str, Json] | None = None,
        facts: dict[str, object] | None = None,
    ) -> list[Value]:
        """Record a call and return its new outputs. `facts` hold what is known of the first output."""
        if self.full:
            self.stop()
            return [self.value() for _ in range(outputs)]
        id = len(self.calls) + 1
        made = [self.value(producer=id, **(facts or {} if i == 0 else {})) for i in range(outputs)]
        if draft is not None:
            draft.called += 1
        self.calls.append(
            Call(
                id=id,
                name=name,
                site=node if isinstance(node, Site) else self.site(node),
                component=draft.id if draft is not None else None,
                made_at=draft.site if draft is not None else None,
                args=draft.args if draft is not None and args is None else (args or {}),
                inputs=tuple(inputs),
                outputs=tuple(made),
                scope=tuple(self.scope),
            )
        )
        return made

    def json(self, what: Abstract, node: ast.expr | None) -> Json:
        """An argument as plain JSON: literals unchanged, library names as strings, the rest as `{"repr": …}`."""
        if isinstance(what, Plain):
            return what.value
        if isinstance(what, Items) and what.draft is None and what.exact:
            values = [self.json(v, None) for v in what.values()]
            if all(v is None or isinstance(v, bool | int | float | str | list) for v in values):
                return values
        if isinstance(what, Library):
            return what.name
        if isinstance(what, Tensor) and what.value.shape is not None:
            return {"shape": list(what.value.shape), "dtype": what.value.dtype}
        if node is None:
            return {"repr": ""}
        return {"repr": " ".join(self.source.segment(self.source.site(node)).split())[:80]}

    def network(self) -> Network:
        """The network of everything recorded."""
        held = {id(part) for root in self.roots for _, part in parts(root)}
        for root in sorted(self.roots, key=lambda r: id(r) in held):
            _name_children(root, "", set())
        paths = {d.id: d.attribute or "" for d in self.drafts}
        calls = tuple(replace(c, path=paths.get(c.component or 0, "")) for c in self.calls)
        return Network(self.framework, "source", tuple(map(self._component, self.drafts)), calls, cut=self.cut)

    def _component(self, draft: Draft) -> Component:
        known = self.complete and draft.id not in self.escaped
        return Component(
            id=draft.id,
            kind=draft.kind,
            name=draft.name,
            site=draft.site,
            args=draft.args,
            attribute=draft.attribute,
            parameters=draft.parameters,
            children=draft.children,
            called=draft.called if known else None,
        )


def literal_facts(items: Items) -> dict[str, object]:
    """Shape and range of a nested list of numbers, as far as it is one."""
    flat: list[int | float] = []
    shape = _nested(items, flat)
    if shape is None or not flat:
        return {}
    whole = all(isinstance(n, int) or n.is_integer() for n in flat)
    return {
        "shape": shape,
        "low": float(min(flat)),
        "high": float(max(flat)),
        "integral": whole,
        "distinct": len(set(flat)),
    }


def _nested(items: Items, flat: list[int | float]) -> tuple[int, ...] | None:
    if not items.exact or len(flat) > MOST_ELEMENTS:
        return None
    inner: set[tuple[int, ...] | None] = set()
    for value in items.values():
        if isinstance(value, Items):
            inner.add(_nested(value, flat))
        elif isinstance(value, Plain) and isinstance(value.value, int | float):
            flat.append(value.value)
            inner.add(())
        else:
            return None
    if len(inner) > 1 or None in inner:
        return None
    return (len(items.items), *((inner.pop() if inner else None) or ()))


def _numbers(items: Items) -> bool:
    return bool(items.items) and all(isinstance(v, Plain | Items) for v in items.values())


def draft_of(what: Abstract) -> Draft | None:
    """The component that a value is, or `None`."""
    if isinstance(what, Made | Instance | Items | Mapping_ | KerasModel):
        return what.draft
    return None


def parts(what: Abstract) -> Iterable[tuple[str, Abstract]]:
    """The registered parts of a model by attribute name; plain lists of layers are not registered, as in torch."""
    if isinstance(what, Instance):
        held = [(k, v) for k, v in what.attributes.items() if draft_of(v) is not None]
        return [*held, *(parts(what.inner) if what.inner is not None else ())]
    if isinstance(what, Items) and what.draft is not None:
        sure = next((i for i, item in enumerate(what.items) if not item.certain), len(what.items))
        return [(item.name or (str(i) if i < sure else ""), item.value) for i, item in enumerate(what.items)]
    if isinstance(what, Mapping_) and what.draft is not None:
        return [(str(k), v) for k, v in what.entries.items()]
    if isinstance(what, KerasModel) and what.layers is not None:
        return parts(what.layers)
    if isinstance(what, Made):
        return list(what.inner)
    return []


def _name_children(what: Abstract, path: str | None, seen: set[int]) -> None:
    draft = draft_of(what)
    if draft is None or id(what) in seen:
        return
    seen.add(id(what))
    children: list[int] = []
    for name, part in parts(what):
        child = draft_of(part)
        if child is None or child.kind not in ("layer", "model", "loss"):
            continue
        children.append(child.id)
        if child.attribute is None and name and path is not None:
            child.attribute = f"{path}.{name}" if path else name
        _name_children(part, child.attribute, seen)
    if children:
        draft.children = tuple(dict.fromkeys(children))
