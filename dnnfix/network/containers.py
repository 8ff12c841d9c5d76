"""Interpreter: lists, tuples, dictionaries and containers of layers, with their elements, methods and iteration."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dnnfix.network.machine import Arguments, Machine
from dnnfix.network.values import (
    MOST_HELD,
    Abstract,
    Instance,
    Item,
    Items,
    Library,
    Made,
    Mapping_,
    OneOf,
    Opaque,
    Plain,
    Tensor,
    holds_modules,
    integer,
    string,
)

MOST_UNROLLED = 64


def part_of(base: Abstract, node: ast.AST | None) -> Abstract:
    """A part of an unknown value."""
    if isinstance(base, Opaque):
        return Opaque(node, base.origin)
    return Opaque(node, "data" if isinstance(base, Made) and base.draft.kind == "loader" else None)


def elements(kind: str, arguments: Arguments) -> list[Item]:
    """The elements that the constructor of a torch container is called with."""
    first = arguments.get(0)
    if isinstance(first, Mapping_) and len(arguments.positional) == 1:
        return [Item(v, first.closed, str(k)) for k, v in first.entries.items()]
    if kind == "torch.nn.ModuleList":
        held = first.items if isinstance(first, Items) else [] if first is None else [Item(Opaque(), False)]
        return [Item(i.value, i.certain, i.name) for i in held]
    items = [Item(v) for v, _ in arguments.positional]
    for rest in arguments.rest:
        inner = rest.items if isinstance(rest, Items) else [Item(Opaque(), False)]
        items = joined(items, [Item(i.value, i.certain) for i in inner])
    return items


def joined(first: list[Item], second: list[Item]) -> list[Item]:
    """The items of two lists concatenated, up to the number that is followed."""
    return [*first, *second] if len(first) + len(second) <= MOST_HELD else [*first, Item(Opaque(), False)]


def extend(machine: Machine, base: Items, given: Abstract) -> None:
    """The effect of `+=` and `extend` on a list, which may extend itself."""
    sure = machine.certain(base.context)
    added = given.items if isinstance(given, Items) else [Item(Opaque(), False)]
    base.items[:] = joined(base.items, [Item(i.value, i.certain and sure, i.name) for i in added])


def several(value: Abstract | None) -> tuple[Abstract, ...]:
    """One value or the elements of a list of them."""
    if value is None:
        return ()
    if isinstance(value, Items) and value.draft is None:
        return tuple(value.values()) if value.exact else (Opaque(),)
    return (value,)


def element(machine: Machine, base: Items, index: Abstract, node: ast.AST | None) -> Abstract:
    """`base[index]` of a list or container."""
    if isinstance(index, Items) and index.kind == "slice":
        return _slice(machine, base, index)
    if (at := integer(index)) is not None:
        before = base.items[: at + 1] if at >= 0 else base.items[at:]
        if -len(base.items) <= at < len(base.items) and all(i.certain for i in before):
            return base.items[at].value
    for value in base.values():
        machine.escape(value)
    return Opaque(node)


def _slice(machine: Machine, base: Items, index: Items) -> Abstract:
    bounds = [v.value for v in index.values() if isinstance(v, Plain) and (v.value is None or isinstance(v.value, int))]
    numbers = [b if isinstance(b, int) else None for b in bounds]
    if base.exact and len(numbers) == 3 and numbers[2] != 0:
        chosen = base.items[slice(*numbers)]
        kind = base.kind if base.draft is None else "list"
        return Items(kind, list(chosen), machine.context)
    for value in base.values():
        machine.escape(value)
    return Opaque()


def entry(machine: Machine, base: Mapping_, key: Abstract) -> Abstract:
    """`base[key]` of a dictionary."""
    if isinstance(key, Plain) and not isinstance(key.value, list | dict) and base.closed and key.value in base.entries:
        return base.entries[key.value]
    for value in base.entries.values():
        machine.escape(value)
    return Opaque()


def unrollable(value: Abstract) -> list[Abstract] | None:
    """The elements of a container of layers, where each is surely there once; loops over them are read in full."""
    if not isinstance(value, Items) or not value.exact or not 0 < len(value.items) <= MOST_UNROLLED:
        return None
    return value.values() if value.kind == "range" or any(holds_modules(v) for v in value.values()) else None


def unpack(
    machine: Machine, value: Abstract, count: int | None, nodes: Sequence[ast.AST | None] = ()
) -> list[Abstract]:
    """The elements of an iterable: `count` of them for an assignment, otherwise one that stands for all.

    `nodes` are where the elements are named.
    """
    wanted = count if count is not None else 1
    if isinstance(value, Items):
        if count is not None and value.exact and len(value.items) == count:
            return value.values()
        if count is None and value.items and all(isinstance(v, Plain | Opaque) for v in value.values()):
            joined = value.items[0].value
            for item in value.items[1:]:
                joined = machine.join(joined, item.value)
            return [Opaque() if len(value.items) > 1 else joined]
        if count is None and len(value.items) == 1:
            return [value.items[0].value]
        for held in value.values():
            machine.escape(held)
    if isinstance(value, Tensor):
        if value.multiple:
            made = [machine.recorder.value(producer=value.value.producer) for _ in range(wanted)]
            return [Tensor(v, value.framework) for v in made]
        return [machine.recorder.tensor(value.framework, dtype=value.value.dtype) for _ in range(wanted)]
    if isinstance(value, OneOf):
        return [value] * wanted
    return [part_of(value, nodes[i] if i < len(nodes) else None) for i in range(wanted)]


def builtin(machine: Machine, name: str, arguments: Arguments, node: ast.AST | None) -> Abstract:
    """The result of a builtin function (`len`, `range`, `zip`, `enumerate`, …) on containers of layers."""
    first = arguments.get(0)
    if name == "len":
        return _length(first)
    if name in ("list", "tuple") and isinstance(first, Items):
        return Items(name, list(first.items), machine.context)
    if name in ("list", "tuple") and first is None and not arguments.open:
        return Items(name, [], machine.context)
    if name == "dict" and not arguments.positional and not arguments.open:
        return Mapping_("dict", {k: v for k, (v, _) in arguments.keywords.items()}, context=machine.context)
    if name == "enumerate" and isinstance(first, Items) and first.exact:
        pairs = [Items("tuple", [Item(Plain(i)), Item(v)]) for i, v in enumerate(first.values())]
        return Items("list", [Item(p) for p in pairs], machine.context)
    if name == "reversed" and isinstance(first, Items) and first.exact:
        return Items("list", list(reversed(first.items)), machine.context)
    if name == "zip":
        return _zip(machine, arguments)
    if name == "range":
        return _range(first, arguments)
    if name in ("enumerate", "iter", "next", "reversed", "sorted"):
        return _enumerated(machine, name, first, node)
    label = string(arguments.get(1)) if name == "setattr" and len(arguments.positional) == 3 else None
    if isinstance(first, Instance) and label is not None:
        machine.store(first.attributes, label, arguments.positional[2][0], first.context)
        return Plain(None)
    if name in ("getattr", "setattr", "vars", "map", "filter"):
        machine.escape_all(arguments)
        for value, _ in arguments.all():
            machine.open_up(value)
        return Opaque(node)
    if name in ("int", "float") and isinstance(first, Plain) and isinstance(first.value, int | float):
        return Plain(int(first.value) if name == "int" else float(first.value))
    return Opaque(node)


def _length(value: Abstract | None) -> Abstract:
    if isinstance(value, Items) and value.exact:
        marked = Plain(len(value.items))
        marked.of_modules = any(holds_modules(v) for v in value.values())
        return marked
    return Opaque()


def _range(first: Abstract | None, arguments: Arguments) -> Abstract:
    count = first.value if isinstance(first, Plain) and first.of_modules and len(arguments.positional) == 1 else None
    if isinstance(count, int) and 0 < count <= MOST_UNROLLED:
        return Items("range", [Item(Plain(i)) for i in range(count)])
    return Opaque()


def _zip(machine: Machine, arguments: Arguments) -> Abstract:
    columns = [value for value, _ in arguments.positional]
    exact = [c for c in columns if isinstance(c, Items) and c.exact]
    if exact and len(exact) == len(columns) and not arguments.open:
        rows = zip(*(c.values() for c in exact), strict=False)
        return Items("list", [Item(Items("tuple", [Item(v) for v in row])) for row in rows], machine.context)
    row = Items("tuple", [Item(unpack(machine, c, None)[0]) for c in columns])
    return Items("list", [Item(row, False)], machine.context)


def _enumerated(machine: Machine, name: str, over: Abstract | None, node: ast.AST | None) -> Abstract:
    if over is None or isinstance(over, Plain | Library):
        return Opaque(node)
    if name in ("iter", "reversed", "sorted"):
        if isinstance(over, Items):
            return Items("list", [Item(v, False) for v in over.values()], machine.context)
        return over
    held = unpack(machine, over, None, (node,))[0]
    if name == "next":
        return held
    return Items("list", [Item(Items("tuple", [Item(Opaque()), Item(held)]), False)], machine.context)


def list_method(machine: Machine, base: Items, name: str, arguments: Arguments, node: ast.AST | None) -> Abstract:
    """`append`, `extend`, `insert`, … of lists and of torch's containers."""
    value = arguments.get(1) if name in ("insert", "add_module", "register_module") else arguments.get(0)
    if name in ("append", "add_module", "register_module") and value is not None:
        given = arguments.get(0)
        label = str(given.value) if name != "append" and isinstance(given, Plain) else ""
        machine.append(base, value, label)
        return base if base.draft is not None else Plain(None)
    if name == "extend" and isinstance(value, Items):
        extend(machine, base, value)
        return base if base.draft is not None else Plain(None)
    if name == "insert" and value is not None:
        base.items.insert(integer(arguments.get(0)) or 0, Item(machine.followed(value), machine.certain(base.context)))
        return Plain(None)
    if name in ("copy", "children", "modules", "values"):
        return Items("list", list(base.items), machine.context) if name != "modules" else _lost(machine, base)
    return _lost(machine, base)


def _lost(machine: Machine, base: Items) -> Abstract:
    for item in base.items:
        machine.escape(item.value)
        item.certain = False
    return Opaque()


def dict_method(machine: Machine, base: Mapping_, name: str, arguments: Arguments) -> Abstract:
    """`get`, `items`, `values`, `update`, … of dictionaries and of torch's `ModuleDict`."""
    key = arguments.get(0)
    if name == "get" and isinstance(key, Plain):
        return entry(machine, base, key)
    if name in ("items", "values", "keys") and base.closed:
        rows: list[Abstract] = []
        for k, v in base.entries.items():
            pair = Items("tuple", [Item(Plain(k)), Item(v)])
            rows.append(pair if name == "items" else v if name == "values" else Plain(k))
        return Items("list", [Item(r) for r in rows], machine.context)
    base.closed = base.closed and name in ("copy", "items", "values", "keys", "get")
    for value in base.entries.values():
        machine.escape(value)
    return Opaque()
