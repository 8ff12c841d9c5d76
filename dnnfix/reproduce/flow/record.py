"""The results of the data-flow analysis while it runs: each piece of data once, with its uses."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dnnfix.reproduce.flow.reads import PATHS
from dnnfix.reproduce.flow.values import Datum, Flow, Known, Pack, Use, Value, View, constants, parts, plain, text_in
from dnnfix.source.tree import last_name

ROUNDS = 30
"""Elements of a constant list at most that a loop is followed for."""

_USES = 400
_NEAR = 40
"""Uses of a piece of data at most; a loop repeats a use, so each is compared with that many before it."""

_TELLING = frozenset({"opened", "joined", "number", "encoded", "one-hot", "looked up", "inputs", "targets", "text"})
"""The uses by which the kind of a column is told."""


class Record:
    """Collects the data of a program and its uses."""

    def __init__(self) -> None:
        self.flow = Flow()
        self.reached = True
        """Whether the program itself leads to what is followed now."""
        self.module = ""
        """The module beside the program that is followed now."""
        self._data: dict[Any, Datum] = {}
        self._alike: list[tuple[View, View]] = []
        self._instead: list[tuple[View, View, int]] = []

    def named(self, node: ast.Name) -> View:
        """The data that an undefined name stands for."""
        key = ("name", node.id)
        if key not in self._data:
            self._add(key, Datum(node.id, "name", node, node.lineno))
        return View(self._data[key])

    def read(self, kind: str, node: ast.Call, args: list[Value], keywords: dict[str, Value]) -> View:
        """The data that a call reads; two calls that read one path as the same kind of thing read the same."""
        first = args[0] if args else next((keywords[name] for name in PATHS if name in keywords), None)
        path = text_in(first)
        key = (kind, path) if path is not None else (kind, node)
        if key not in self._data:
            options = constants(keywords)
            if len(args) > 1 and isinstance(args[1], Known):
                options["second"] = args[1].value
            name = last_name(node.func)
            self._add(key, Datum(name, kind, node, node.lineno, path, reached=self.reached, options=options))
        for view in parts(first):  # a name from a folder's list, a path that nothing tells
            self.use(view, "opened", (kind, node), node.lineno)
        return View(self._data[key])

    def _add(self, key: object, datum: Datum) -> None:
        datum.module = self.module
        self._data[key] = datum
        self.flow.data.append(datum)

    def writes(self, path: Value, line: int) -> None:
        """Something is written to a path."""
        text = text_in(path)
        if text is not None and self.reached and not self.module:
            self.flow.written.append((text, line))

    def use(self, view: View, kind: str, detail: Any, line: int) -> None:
        """Something is done with a part of the data."""
        use = Use(view.part, kind, detail, line, view.exact)
        uses = view.datum.uses
        if len(uses) < _USES and use not in uses[-_NEAR:]:
            uses.append(use)

    def alike(self, first: Value, other: Value) -> None:
        """Whatever is done with the first piece of data is done with the other as well: both are in one list."""
        for pair in zip(parts(first), parts(other), strict=False):
            if pair[0] != pair[1] and pair not in self._alike and len(self._alike) < _NEAR:
                self._alike.append(pair)

    def instead(self, value: View, other: View, line: int) -> None:
        """Note that after this line a name is either of two pieces of data, depending on a condition; the first is
        followed.
        """
        if value.datum is not other.datum and len(self._instead) < _NEAR:
            self._instead.append((value, other, line))

    def share(self) -> None:
        """Copy the uses of a followed piece of data to those that it stood for."""
        for first, other, line in reversed(self._instead):
            length = len(first.part)
            for use in first.datum.uses:
                if use.part[:length] == first.part and (use.line > line or use.line < first.datum.line):
                    view = replace(other, part=(*other.part, *use.part[length:]), exact=use.exact)
                    self.use(view, use.kind, use.detail, use.line)
        for first, other in self._alike:
            length = len(first.part)
            given = {(use.part, use.kind) for use in other.datum.uses}
            for use in [use for use in first.datum.uses if use.part[:length] == first.part]:
                part = (*other.part, *use.part[length:])
                if use.kind in _TELLING and (part, use.kind) not in given:
                    given.add((part, use.kind))
                    other.datum.uses.append(replace(use, part=part))

    def role(self, values: Iterable[Value], role: str, line: int) -> None:
        """Note that values are the inputs, the targets or the predictions of a network."""
        for place, value in enumerate(values):
            several = value.items if isinstance(value, Pack) and len(value.items) > 1 else (value,)
            for number, item in enumerate(several):
                for view in parts(item):
                    self.use(view, role, ("of", number) if len(several) > 1 else place, line)

    def column(self, owner: View, part: tuple[Any, ...] | None, line: int) -> View:
        """Note that columns are taken of data; `None` means unknown ones."""
        if part is None:
            return owner
        self.use(owner, "column", part, line)
        return owner.at("column", part)

    def arithmetic(self, view: View, op: ast.operator, other: Value, line: int) -> View:
        """Note that an operator is applied to data; a string joined to data begins or ends a path."""
        if text_in(other) is not None and isinstance(op, (ast.Add, ast.Mod)):
            self.use(view, "joined", text_in(other), line)
            return view
        self.use(view, "arithmetic", (type(op).__name__, plain(other)), line)
        return view

    def elements(self, over: Value, line: int) -> list[Value]:
        """The values that a loop over a value binds, in order; one unknown value where they are unknown."""
        if isinstance(over, Known) and isinstance(over.value, (list, tuple, set, dict, range, str)):
            return [Known(item) for item in list(over.value)[:ROUNDS]] or [None]
        if isinstance(over, Pack):
            return list(over.items[:ROUNDS]) or [None]
        if isinstance(over, View):
            self.use(over, "iterated", None, line)
            return [over.element]
        return [None]
