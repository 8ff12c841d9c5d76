"""Expressions in the data-flow analysis: computes the abstract value of each."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from dnnfix.reproduce.flow.record import Record
from dnnfix.reproduce.flow.values import (
    LONGEST,
    Drawn,
    Known,
    Names,
    Pack,
    Placed,
    Thing,
    Value,
    View,
    all_parts,
    calculated,
    is_single,
    number_in,
    packed,
    parts,
    plain,
    selection,
    text_in,
)
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name


class Expressions(ABC):
    """Evaluates expressions; derived classes define calls and assignments."""

    def __init__(
        self, source: Source, undefined: frozenset[str], arguments: dict[str, Any], record: Record | None = None
    ) -> None:
        self._source = source
        self._undefined = undefined
        self._arguments = arguments
        self._record = record or Record()
        self._globals: Names = {}

    @abstractmethod
    def _kept_in_module(self, node: ast.Attribute) -> Value:
        """What a module beside the program has under a name."""

    @abstractmethod
    def _call(self, node: ast.Call, names: Names) -> Value: ...

    @abstractmethod
    def _bind(self, target: ast.expr, value: Value, names: Names) -> None: ...

    def _value(self, node: ast.expr | None, names: Names) -> Value:
        match node:
            case ast.Constant():
                return Known(node.value)
            case ast.Name():
                return self._name(node, names)
            case ast.Attribute():
                return self._attribute(node, names)
            case ast.Subscript():
                return self._subscript(node, names)
            case ast.Call():
                return self._call(node, names)
            case ast.BinOp():
                return self._binary(node, names)
            case ast.Tuple() | ast.List():
                return packed([self._value(part, names) for part in node.elts], isinstance(node, ast.List))
            case ast.Dict():
                return self._dict(node, names)
            case ast.JoinedStr():
                texts = [self._value(p.value if isinstance(p, ast.FormattedValue) else p, names) for p in node.values]
                if isinstance(within := next(all_parts(texts), None), View):
                    return self._record.arithmetic(within, ast.Add(), texts[0], node.lineno)
                known = [str(text.value) for text in texts if isinstance(text, Known) and is_single(text.value)]
                short = len(known) == len(texts) and sum(map(len, known)) <= LONGEST
                return Known("".join(known)) if short else None
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return self._comprehension(node, names)
            case ast.DictComp():
                return self._dict_comprehension(node, names)
            case ast.UnaryOp():
                value = self._value(node.operand, names)
                if isinstance(value, Known) and isinstance(node.op, ast.USub) and isinstance(value.value, (int, float)):
                    return Known(-value.value)
                return value if isinstance(value, View) else None
            case ast.IfExp():
                tested = self._value(node.test, names)
                first, second = self._value(node.body, names), self._value(node.orelse, names)
                if isinstance(tested, Known):
                    return first if tested.value else second
                return first if first is not None else second
            case ast.Lambda() | None:
                return None
            case ast.Compare():
                self._compared(node, names)
        inside = [self._value(child, names) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        view = next(all_parts(inside), None)
        return replace(view, exact=False) if view is not None else None

    def _name(self, node: ast.Name, names: Names) -> Value:
        if node.id in names:
            return names[node.id]
        if node.id in self._globals:
            return self._globals[node.id]
        return self._record.named(node) if node.id in self._undefined else None

    def _attribute(self, node: ast.Attribute, names: Names) -> Value:
        owner = self._value(node.value, names)
        if isinstance(owner, Thing):
            return owner.attributes.get(node.attr)
        if isinstance(owner, View):
            if node.attr in ("values", "data", "array", "T", "real"):
                return owner
            if node.attr in ("iloc", "loc", "ix", "iat", "at"):
                return owner.at("located", node.attr)
            if node.attr in ("str", "dt"):
                self._record.use(owner, "text" if node.attr == "str" else "date", None, node.lineno)
                return owner
            if node.attr in ("shape", "dtype", "size", "ndim", "index", "columns"):
                return owner.at(node.attr)
            self._record.use(owner, "attribute", node.attr, node.lineno)
            return owner.at("attribute", node.attr)
        if owner is None and (kept := self._kept_in_module(node)) is not None:
            return kept
        if node.attr in self._arguments and owner is None and not isinstance(node.value, ast.Attribute):
            return Known(self._arguments[node.attr])
        return None

    # --- operators

    def _binary(self, node: ast.BinOp, names: Names) -> Value:
        left, right = self._value(node.left, names), self._value(node.right, names)
        if isinstance(left, Known) and isinstance(right, Known):
            return calculated(left, node.op, right)
        if isinstance(left, Known) and isinstance(left.value, str) and isinstance(node.op, ast.Mod):
            if (within := next(parts(right), None)) is not None:
                return self._record.arithmetic(within, node.op, Known(left.value.partition("%")[0]), node.lineno)
            values = [v.value for v in (right.items if isinstance(right, Pack) else (right,)) if isinstance(v, Known)]
            return calculated(left, node.op, Known(tuple(values))) if values else None
        if isinstance(left, View) and text_in(right) is not None:
            return left  # a path with its ending
        for side, other in ((left, right), (right, left)):
            rows = isinstance(side, Pack) and len(side.items) == 1 and not isinstance(node.left, ast.List)
            view = side.items[0] if isinstance(side, Pack) and rows else side  # a list of rows that has become an array
            if isinstance(view, View):
                return self._record.arithmetic(view, node.op, other, node.lineno)
        return None

    def _compared(self, node: ast.Compare, names: Names) -> None:
        """`arange(10) == labels[:, None]` makes rows with a single one; what is compared with a text are names."""
        sides = [node.left, *node.comparators]
        values = [self._value(side, names) for side in sides]
        ranges = [side for side in sides if isinstance(side, ast.Call) and last_name(side.func) == "arange"]
        if ranges:
            for view in all_parts(values):
                self._record.use(view, "one-hot", self._first_number(ranges[0], names), node.lineno)
        said = next((text for value in values if (text := text_in(value)) is not None), None)
        if said is not None:
            for view in all_parts(values):
                self._record.use(view, "compared", said, node.lineno)

    def _first_number(self, call: ast.Call, names: Names) -> int | None:
        return number_in(self._value(call.args[0], names)) if call.args else None

    # --- displays

    def _dict(self, node: ast.Dict, names: Names) -> Value:
        """A dict; one that feeds placeholders tells their shapes of the data."""
        keys = [self._value(key, names) for key in node.keys]
        values = [self._value(value, names) for value in node.values]
        for key, value in zip(keys, values, strict=True):
            if isinstance(key, Placed):
                for view in parts(value):
                    self._record.use(view, "fed", key.shape, node.lineno)
        if not all(isinstance(key, Known) for key in keys):
            return None
        if all(isinstance(value, Known) for value in values):
            return Known({plain(key): plain(value) for key, value in zip(keys, values, strict=True)})
        return Known({})

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, names: Names) -> Value:
        inner = dict(names)
        first = node.generators[0]
        made: list[Value] = []
        for element in self._record.elements(self._value(first.iter, inner), node.lineno):
            self._bind(first.target, element, inner)
            for condition in first.ifs:
                self._value(condition, inner)
            for other in node.generators[1:]:
                over = self._record.elements(self._value(other.iter, inner), node.lineno)
                self._bind(other.target, over[0], inner)
            made.append(self._value(node.elt, inner))
        if len(made) == 1 and isinstance(made[0], View):
            return Pack((made[0],)) if made[0].is_row else replace(made[0], exact=False)
        return packed(made, True) if len(made) > 1 else None

    def _dict_comprehension(self, node: ast.DictComp, names: Names) -> Value:
        inner = dict(names)
        first = node.generators[0]
        made: dict[Any, Any] = {}
        for element in self._record.elements(self._value(first.iter, inner), node.lineno):
            self._bind(first.target, element, inner)
            key, value = self._value(node.key, inner), self._value(node.value, inner)
            if isinstance(key, Known) and value is not None and not isinstance(key.value, (list, dict)):
                made[key.value] = value.value if isinstance(value, Known) else value
        return Known(made) if made else None

    # --- parts of a value

    def _subscript(self, node: ast.Subscript, names: Names) -> Value:
        owner = self._value(node.value, names)
        if isinstance(owner, View):
            return self._part(owner, node, names)
        index = self._value(node.slice, names)
        if isinstance(owner, Known):
            if isinstance(index, View) and isinstance(owner.value, dict):
                self._record.use(index, "looked up", tuple(owner.value), node.lineno)
            return owner if isinstance(node.slice, ast.Slice) else _item(owner, index)
        if isinstance(owner, Pack):
            if len(owner.items) == 1 and isinstance(node.slice, ast.Tuple) and isinstance(owner.items[0], View):
                return self._of_each(owner.items[0], node.slice, names)  # a list of rows that has become an array
            place = number_in(index)
            if place is not None and -len(owner.items) <= place < len(owner.items):
                return owner.items[place]
            if isinstance(node.slice, ast.Slice) or not owner.items:
                return owner if owner.items else None
            for other in owner.items[1:]:  # any one of them: the first stands for all
                self._record.alike(owner.items[0], other)
            return owner.items[0]
        if isinstance(index, View) and isinstance(node.value, ast.Call) and last_name(node.value.func) == "eye":
            self._record.use(index, "one-hot", self._first_number(node.value, names), node.lineno)
            return index
        return None

    def _part(self, owner: View, node: ast.Subscript, names: Names) -> Value:
        """A part of data: columns, an item, some of its rows."""
        index, line = node.slice, node.lineno
        record = self._record

        def value_of(part: ast.expr) -> Value:
            return self._value(part, names)

        if owner.is_rows:
            if isinstance(index, ast.Slice):
                return owner
            return self._of_each(owner.element, index, names) if isinstance(index, ast.Tuple) else owner.element
        before = owner.part[-1] if owner.part else ("",)
        if before[0] == "columns":
            return replace(owner, part=(*owner.part[:-1], ("chosen", selection(index, value_of))))
        if before[0] in ("shape", "dtype", "size", "index"):
            return None
        if before[0] == "located":
            owner = replace(owner, part=owner.part[:-1])
            record.use(owner, "located", before[1], line)
            if not isinstance(index, ast.Tuple):
                return owner
        if isinstance(index, ast.Tuple) and len(index.elts) >= 2:
            record.use(owner, "dimensions", sum(not _adds_an_axis(axis) for axis in index.elts), line)
            rows = selection(index.elts[0], value_of) if isinstance(index.elts[0], ast.Slice) else None
            if rows is not None and rows[1:] != (None, None):
                record.use(owner, "rows", rows[1:], line)
            columns = selection(index.elts[1], value_of)
            return (
                owner
                if len(index.elts) > 2 or columns == ("range", None, None)
                else record.column(owner, columns, line)
            )
        if isinstance(index, ast.Slice):
            rows = selection(index, value_of)
            if rows is not None:
                record.use(owner, "slice", rows[1:], line)
            return owner
        key = value_of(index)
        if isinstance(key, View):
            if key.part and key.part[-1][0] == "chosen" and key.datum is owner.datum:
                return record.column(owner, key.part[-1][1], line)
            return owner
        if isinstance(key, Drawn):  # any of them: the first stands for all
            first, *others = (self._keyed(owner, wanted, line) for wanted in key.values)
            for other in others:
                record.alike(first, other)
            return first
        return self._keyed(owner, plain(key), line)

    def _keyed(self, owner: View, wanted: object, line: int) -> View:
        """What a constant key takes of data."""
        record = self._record
        if isinstance(wanted, (str, bytes)):
            return record.column(owner, ("one", wanted), line)
        if isinstance(wanted, (list, tuple)) and wanted and all(isinstance(name, str) for name in wanted):
            return record.column(owner, ("names", tuple(wanted)), line)
        if isinstance(wanted, int) and not isinstance(wanted, bool):
            record.use(owner, "item", wanted, line)
            return owner.at("item", wanted)
        return owner

    def _of_each(self, row: View, index: ast.Tuple, names: Names) -> Value:
        """What an index with several parts takes of each row."""
        fields = selection(index.elts[1], lambda part: self._value(part, names)) if len(index.elts) == 2 else None
        if not row.is_row or fields is None:
            return row
        if fields[0] == "one" and isinstance(fields[1], int):
            self._record.use(row, "item", fields[1], index.lineno)
            return row.at("item", fields[1])
        if fields[0] == "range":
            self._record.use(row, "slice", fields[1:], index.lineno)
        return row


def _item(owner: Known, index: Value) -> Value:
    """An item of a constant; a dict of the program may hold data as well."""
    if isinstance(index, Drawn):
        drawn = [plain(_item(owner, Known(value))) for value in index.values]
        return Drawn(tuple(drawn)) if all(isinstance(value, (str, int)) for value in drawn) else None
    try:
        found = owner.value[index.value] if isinstance(index, Known) else None
    except (KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, (View, Pack, Thing)) else Known(found) if found is not None else None


def _adds_an_axis(index: ast.expr) -> bool:
    """Whether a part of an index stands for no axis of the data: `None`, `newaxis`, `...`."""
    if isinstance(index, ast.Constant):
        return not isinstance(index.value, int)
    return last_name(index) == "newaxis"
