"""Statements in the data-flow analysis, and its entry point `follow`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dnnfix.reproduce.flow.calls import Calls
from dnnfix.reproduce.flow.values import Flow, Known, Names, Pack, Thing, Value, View, calculated, parts
from dnnfix.source.program import Source
from dnnfix.source.tree import is_main_part, last_name

_STARTERS = frozenset({"tensorflow.app.run", "tensorflow.compat.v1.app.run", "absl.app.run", "fire.Fire"})

_STATEMENTS = 4000
"""Statements that are followed at most, each as often as it is reached."""


def follow(source: Source, undefined: Iterable[str], arguments: dict[str, Any]) -> Flow:
    """The missing data of a program and its uses; `undefined` are the names to be made, `arguments` the values of
    options.
    """
    return _Follower(source, frozenset(undefined), arguments).run()


class _Follower(Calls):
    _left = _STATEMENTS

    def __init__(
        self, source: Source, undefined: frozenset[str], arguments: dict[str, Any], program: _Follower | None = None
    ) -> None:
        super().__init__(source, undefined, arguments, program._record if program is not None else None)
        self._program = program or self
        self._others: dict[str, _Follower] = {}

    def run(self) -> Flow:
        """Follow the module, what a library starts as its main function, and the functions that nothing in it leads to."""
        self._block(self._source.tree.body, self._globals)
        for function in self._started():
            self._run(function, [], {})
        self._record.reached = False
        for function in self._source.nodes(ast.FunctionDef):
            if function not in self._entered:
                inside = self._source.enclosing(function, ast.ClassDef)
                self._enter(function, {"self": Thing(inside)} if inside else {})
        self._record.share()
        return self._record.flow

    def _started(self) -> list[ast.FunctionDef]:
        """The functions that `tf.app.run()` and the like call: the one that is named, or `main`."""
        calls = [call for call in self._source.all_calls if (self._source.qualified(call.func) or "") in _STARTERS]
        given = [[*call.args[:1], *(k.value for k in call.keywords if k.arg == "main")] for call in calls]
        named = [last_name(names[0]) if names else "main" for names in given]
        functions = [self._functions[name] for name in named if name in self._functions]
        return [function for function in functions if function not in self._entered]

    def _module(self, name: str) -> _Follower | None:
        program = self._program
        module = program._source.module_named(name)
        if module is None:
            return None
        if module.path not in program._others:
            other = program._others[module.path] = _Follower(module, frozenset(), self._arguments, program)
            body = [statement for statement in module.tree.body if not is_main_part(statement)]
            with other._here():
                other._block(body, other._globals)
        return program._others[module.path]

    @contextmanager
    def _here(self) -> Iterator[None]:
        """What is found meanwhile is found in this file."""
        outer, self._record.module = self._record.module, "" if self._program is self else self._source.path
        yield
        self._record.module = outer

    def _enter(self, function: ast.FunctionDef, names: Names) -> Value:
        with self._here():
            return super()._enter(function, names)

    def _block(self, body: list[ast.stmt], names: Names) -> None:
        for statement in body:
            if self._left <= 0:
                return
            self._left -= 1
            self._statement(statement, names)

    def _statement(self, node: ast.stmt, names: Names) -> None:
        match node:
            case ast.FunctionDef():
                if names is self._globals or node.name not in self._functions:
                    self._functions[node.name] = node
            case ast.ClassDef():
                self._classes[node.name] = node
            case ast.Assign():
                value = self._value(node.value, names)
                for target in node.targets:
                    self._bind(target, value, names)
            case ast.AnnAssign():
                if node.value is not None:
                    self._bind(node.target, self._value(node.value, names), names)
            case ast.AugAssign():
                self._augment(node, names)
            case ast.Return():
                value = self._value(node.value, names)
                if value is not None:
                    self._returned.append(value)
            case ast.For():
                self._for(node, names)
            case ast.If():
                self._if(node, names)
            case ast.While():
                self._value(node.test, names)
                self._block(node.body, names)
            case ast.With():
                for item in node.items:
                    value = self._value(item.context_expr, names)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, value, names)
                self._block(node.body, names)
            case ast.Try():
                for block in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                    self._block(block, names)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._value(child, names)

    def _augment(self, node: ast.AugAssign, names: Names) -> None:
        value = self._value(node.value, names)
        target = self._value(node.target, names)
        if isinstance(target, View):
            self._record.arithmetic(target, node.op, value, node.lineno)
        elif isinstance(target, Known) and isinstance(value, Known):
            self._bind(node.target, calculated(target, node.op, value), names)
        elif isinstance(node.target, ast.Name) and isinstance(target, Known):
            names[node.target.id] = value if isinstance(value, View) else None

    def _if(self, node: ast.If, names: Names) -> None:
        """Both ways, one after the other; where both give a name its data, the one is used as the other is."""
        self._value(node.test, names)
        before = dict(names)
        self._block(node.body, names)
        after = dict(names)
        self._block(node.orelse, names)
        for name, other in after.items():
            if not isinstance(other, View) or other is before.get(name) or names[name] is other:
                continue
            if isinstance(value := names[name], View):
                self._record.instead(value, other, node.end_lineno or node.lineno)
            elif value is None:
                names[name] = other

    def _for(self, node: ast.For, names: Names) -> None:
        for element in self._record.elements(self._value(node.iter, names), node.lineno):
            self._bind(node.target, element, names)
            self._block(node.body, names)
            if self._left <= 0:
                return

    # --- what is assigned to

    def _bind(self, target: ast.expr, value: Value, names: Names) -> None:
        match target:
            case ast.Name():
                names[target.id] = value
                if isinstance(value, View):
                    self._record.use(value, "bound", target.id, target.lineno)
            case ast.Tuple() | ast.List():
                for part, item in zip(target.elts, self._unpacked(value, target), strict=True):
                    self._bind(part, item, names)
            case ast.Attribute():
                owner = self._value(target.value, names)
                if isinstance(owner, Thing):
                    owner.attributes[target.attr] = value
                elif isinstance(owner, View) and target.attr == "columns" and isinstance(value, Known):
                    self._record.use(owner, "columns", value.value, target.lineno)
            case ast.Subscript():
                self._put(target, value, names)

    def _unpacked(self, value: Value, target: ast.Tuple | ast.List) -> list[Value]:
        """What each part of a target gets."""
        count = len(target.elts)
        if isinstance(value, Pack) and len(value.items) == count:
            return list(value.items)
        if isinstance(value, Known) and isinstance(value.value, (tuple, list)) and len(value.value) == count:
            return [Known(item) for item in value.value]
        if isinstance(value, View):
            self._record.use(value, "unpacked", tuple(ast.unparse(part) for part in target.elts), target.lineno)
            return [value.at("item", place) for place in range(count)]
        return [None] * count

    def _put(self, target: ast.Subscript, value: Value, names: Names) -> None:
        """A column is added to a table, or data is kept in a dict; a column made of the table's own is none to make."""
        owner = self._value(target.value, names)
        key = self._value(target.slice, names)
        if isinstance(owner, View) and isinstance(key, Known) and isinstance(key.value, str):
            made_of = list(parts(value))
            if not made_of or all(view.datum is not owner.datum for view in made_of):
                self._record.use(owner, "new column", key.value, target.lineno)
        elif isinstance(owner, Known) and isinstance(owner.value, dict) and isinstance(value, View):
            owner.value[getattr(key, "value", None)] = value
