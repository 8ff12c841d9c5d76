"""Calls in the data-flow analysis: of a reader, of a function or class of the program, or of a library."""

from __future__ import annotations

import ast
import os.path
from abc import abstractmethod
from typing import Any, cast

from dnnfix.reproduce.flow.expressions import Expressions
from dnnfix.reproduce.flow.library import Called, Library
from dnnfix.reproduce.flow.reads import IMAGE_FOLDERS, IS_DATA, OF_PATHS, READING, UNPICKLING, reader
from dnnfix.reproduce.flow.record import ROUNDS, Record
from dnnfix.reproduce.flow.values import (
    Known,
    Names,
    Pack,
    Thing,
    Value,
    View,
    all_parts,
    constants,
    parts,
    plain,
    text_in,
)
from dnnfix.reproduce.syntax import is_static, methods_of
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

_DEPTH = 8
"""Calls of the program's functions within each other that are followed."""


class Calls(Expressions):
    """Follows calls; a function of the program is run with the values that it is given."""

    def __init__(
        self, source: Source, undefined: frozenset[str], arguments: dict[str, Any], record: Record | None = None
    ) -> None:
        super().__init__(source, undefined, arguments, record)
        self._library = Library(source, self._record)
        self._functions: dict[str, ast.FunctionDef] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._entered: set[ast.AST] = set()
        self._returned: list[Value] = []
        self._depth = 0

    @abstractmethod
    def _block(self, body: list[ast.stmt], names: Names) -> None: ...

    @abstractmethod
    def _module(self, name: str) -> Calls | None:
        """Who follows the module of that name beside the program."""

    def _kept_in_module(self, node: ast.Attribute) -> Value:
        module, _, name = (self._source.qualified(node) or "").rpartition(".")
        other = self._module(module) if module and isinstance(node.value, ast.Name) else None
        return other._globals.get(name) if other is not None else None

    def _call(self, node: ast.Call, names: Names) -> Value:
        name = self._source.qualified(node.func) or ""
        last = last_name(node.func)
        owner = self._value(node.func.value, names) if isinstance(node.func, ast.Attribute) and not name else None
        args = [self._value(arg.value if isinstance(arg, ast.Starred) else arg, names) for arg in node.args]
        keywords = {k.arg: self._value(k.value, names) for k in node.keywords if k.arg}
        if last in OF_PATHS and (
            text_in(owner) is not None or isinstance(owner, View) and owner.datum.kind == "folder"
        ):
            return self._read(*_of_path(owner, last, args), node, keywords)
        if last in IMAGE_FOLDERS:
            return self._record.read("image folder", node, args, keywords)
        if (kind := reader(name, last)) is not None:
            return self._read(kind, args, node, keywords)
        if name in UNPICKLING and args and isinstance(args[0], View):
            args[0].datum.kind = "json" if name.startswith("json") else "pickle"
            return View(args[0].datum)
        defined, where = self._definition(node.func, owner)
        if isinstance(defined, ast.FunctionDef):
            own = [owner] if isinstance(owner, Thing) and not is_static(defined) else []
            return where._run(defined, [*own, *args], keywords)
        if isinstance(defined, ast.ClassDef):
            return where._instance(defined, args, keywords)
        if self._gives_data(node, name) and not list(all_parts([*args, *keywords.values()])):
            return self._record.read("call", node, [], {})
        if last in ("append", "extend", "insert", "appendleft") and isinstance(owner, (Known, Pack)) and args:
            self._put_into(node, owner, args[-1], names)
            return None
        call = Called(name, last, node, args, keywords, lambda part: self._value(part, names))
        return self._library.method(owner, call) if isinstance(owner, View) else self._library.function(call)

    def _gives_data(self, node: ast.Call, name: str) -> bool:
        """Whether a call is one of a function that is nowhere, and whose name says that it reads or makes data."""
        called = name or (node.func.id if isinstance(node.func, ast.Name) else "")
        if any(isinstance(arg, ast.Name) and IS_DATA.fullmatch(arg.id) for arg in node.args):
            return False
        return called in self._undefined and READING.search(called.rpartition(".")[2]) is not None

    def _put_into(self, node: ast.Call, owner: Value, item: Value, names: Names) -> None:
        """Data is put into a list of the program's; the first piece stands for all of them."""
        method = cast(ast.Attribute, node.func)
        if method.attr == "extend" and isinstance(item, (View, Pack)):
            item = self._record.elements(item, node.lineno)[0]
        held = list(parts(item))
        target = method.value
        if isinstance(target, ast.Name):
            for view in held:
                self._record.use(view, "bound", target.id, node.lineno)
        if held and isinstance(owner, Pack) and owner.items:
            self._record.alike(owner.items[0], item)
        elif held and isinstance(owner, Known) and owner.value == []:
            within = self._globals if isinstance(target, ast.Name) and target.id not in names else names
            self._bind(target, Pack((item,)), within)

    # --- files

    def _read(self, kind: str, args: list[Value], node: ast.Call, keywords: dict[str, Value]) -> Value:
        """A call that reads; one that is given an open file tells what kind of file that is."""
        named = next(
            (keywords[k] for k in ("filepath_or_buffer", "file", "fname", "io", "file_path") if k in keywords), None
        )
        first = args[0] if args else named
        if isinstance(first, View) and first.datum.kind == "handle" and not first.part:
            first.datum.kind = kind
            first.datum.options = constants(keywords)
            return View(first.datum)
        if kind == "handle":
            mode = args[1] if len(args) > 1 else keywords.get("mode")
            if isinstance(mode, Known) and any(letter in str(mode.value) for letter in "wax"):
                self._record.writes(first, node.lineno)
                return None
        if kind == "raw" and plain(keywords.get("mode", args[2] if len(args) > 2 else None)) == "w+":
            self._record.writes(first, node.lineno)
            return None
        several = plain(first)
        if kind in ("queue", "records", "lines") and isinstance(several, (list, tuple)) and several:
            views = [self._record.read(kind, node, [Known(path)], {}) for path in several[:ROUNDS]]
            return views[0]
        return self._record.read(kind, node, args or [first], keywords)

    # --- functions and classes of the program

    def _definition(self, func: ast.expr, owner: Value) -> tuple[ast.FunctionDef | ast.ClassDef | None, Calls]:
        """What a call's name means in the program, and who follows the file that it is in."""
        if isinstance(owner, Thing) and isinstance(func, ast.Attribute):
            home = owner.home if isinstance(owner.home, Calls) else self
            return methods_of(owner.definition).get(func.attr), home
        if isinstance(func, ast.Name) and (own := self._functions.get(func.id) or self._classes.get(func.id)):
            return own, self
        module, _, last = (self._source.qualified(func) or "").rpartition(".")
        other = self._module(module) if module else None
        if other is not None:
            return other._functions.get(last) or other._classes.get(last), other
        if not isinstance(func, ast.Name) or module:
            return None, self
        for name in self._starred():
            other = self._module(name)
            if other is not None and (found := other._functions.get(func.id) or other._classes.get(func.id)):
                return found, other
        return None, self

    def _starred(self) -> list[str]:
        """The modules of which the program imports everything, the last one first."""
        found = [node for node in self._source.nodes(ast.ImportFrom) if not node.level and node.module]
        return [node.module or "" for node in reversed(found) if any(alias.name == "*" for alias in node.names)]

    def _run(self, function: ast.FunctionDef, args: list[Value], keywords: dict[str, Value]) -> Value:
        """What a function gives for these values."""
        if self._depth >= _DEPTH:
            return None
        positional = [*function.args.posonlyargs, *function.args.args]
        names: Names = {argument.arg: None for argument in [*positional, *function.args.kwonlyargs]}
        for argument, default in zip(reversed(positional), reversed(function.args.defaults), strict=False):
            names[argument.arg] = self._value(default, self._globals)
        names.update(zip((argument.arg for argument in positional), args, strict=False))
        names.update({key: value for key, value in keywords.items() if key in names})
        return self._enter(function, names)

    def _enter(self, function: ast.FunctionDef, names: Names) -> Value:
        """Follow the body of a function; of several results the last one that holds data counts."""
        self._entered.add(function)
        outer, self._returned = self._returned, []
        self._depth += 1
        self._block(function.body, names)
        self._depth -= 1
        results, self._returned = self._returned, outer
        yields = [n for n in ast.walk(function) if isinstance(n, ast.Yield) and n.value is not None]
        if yields and not results:
            return self._value(yields[0].value, names)
        return next((value for value in reversed(results) if list(parts(value))), results[-1] if results else None)

    def _instance(self, definition: ast.ClassDef, args: list[Value], keywords: dict[str, Value]) -> Thing:
        """A new object; its items are asked for, as loaders do with data sets."""
        thing = Thing(definition, home=self)
        methods = methods_of(definition)
        if "__init__" in methods:
            self._run(methods["__init__"], [thing, *args], keywords)
        for name in ("__getitem__", "__len__", "__iter__"):
            if name in methods:
                self._run(methods[name], [thing], {})
        return thing


def _of_path(path: Value, method: str, args: list[Value]) -> tuple[str, list[Value]]:
    """What a method of a path reads, and what a function that reads the same would be given: `folder.glob("*.png")`."""
    if method not in ("glob", "rglob", "iterdir"):
        return "handle", [path, *args]
    folder, pattern = text_in(path), text_in(args[0]) if args else None
    if folder is None or pattern is None:
        return "folder", [path]
    return "folder", [Known(os.path.join(folder, "**" if method == "rglob" else "", pattern))]
