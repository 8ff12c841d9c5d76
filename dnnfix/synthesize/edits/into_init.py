"""Edits that move a layer made in a method, such as `forward`, into `__init__`, where it is made once and kept."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.detect.graph import bound_in, last_of_setup, method
from dnnfix.network.facts import signature
from dnnfix.records import Decline, Edit, InsertAfter, InsertBefore, Replace, Site, Wrap
from dnnfix.source.tree import names_in
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.spelling import spell


def move_into_init(subject: Subject, owner: ast.ClassDef, made: ast.Call, attribute: str) -> tuple[Edit, ...] | Decline:
    """Edits that make `made`, a constructor call in a method of `owner`, in `__init__` and keep it as `self.attribute`.

    A layer that is made in each round of a loop becomes a list of layers. What `__init__` does not know may still be a
    number that was the same whenever the layer was made in the run. Else a `Decline` with the reason.
    """
    return _Move(subject, owner, made, attribute).edits()


@dataclass(frozen=True)
class _Move:
    """A constructor call on its way from a method into `__init__`."""

    subject: Subject
    owner: ast.ClassDef
    made: ast.Call
    attribute: str

    def edits(self) -> tuple[Edit, ...] | Decline:
        """The edits, or why there are none."""
        source = self.subject.source
        function = source.enclosing(self.made, ast.FunctionDef)
        loop = source.enclosing(self.made, ast.For)
        if function is None or source.enclosing(self.made, ast.While) is not None:
            return Decline("the layer is made in a loop without a known number of rounds")
        allowed: set[str] = set()
        if loop is not None:
            if loop.lineno < function.lineno:
                loop = None
            elif source.enclosing(loop, ast.For) is not None and source.enclosing(loop, ast.FunctionDef) is function:
                return Decline("the layer is made in nested loops")
        if loop is not None:
            allowed = names_in(loop.target)
            missing = self._missing(loop.iter, function, set())
            if missing:
                return Decline(f"`__init__` does not know `{missing}`")
        code = self._code(function, allowed)
        if code is None:
            return Decline("the layer's arguments are known in the forward pass only")
        if loop is None:
            return (*self._insert(f"self.{self.attribute} = {code}"), Replace(self._site, f"self.{self.attribute}"))
        return self._as_list(loop, code)

    @property
    def _site(self) -> Site:
        return self.subject.source.site(self.made)

    def _code(self, function: ast.FunctionDef, allowed: set[str]) -> str | None:
        """The constructor call as it can stand in `__init__`; sizes of tensors are written as the run showed them."""
        source = self.subject.source
        text = source.segment(self._site)
        given: list[tuple[ast.expr, int | None, str | None]] = [(v, n, None) for n, v in enumerate(self.made.args)]
        given += [(keyword.value, None, keyword.arg) for keyword in self.made.keywords]
        parts: list[tuple[ast.expr, str]] = []
        for value, index, name in given:
            if self._missing(value, function, allowed):
                seen = self._seen(index, name)
                if seen is None:
                    return None
                parts.append((value, seen))
        if not parts:
            return text
        if self._site.line != self._site.end_line:
            return None
        for value, seen in sorted(parts, key=lambda part: -part[0].col_offset):
            place = source.site(value)
            start, end = place.column - self._site.column, place.end_column - self._site.column
            text = text[:start] + seen + text[end:]
        return text

    def _missing(self, value: ast.expr, function: ast.FunctionDef, allowed: set[str]) -> str | None:
        """A name in the expression that `__init__` does not know; `None` where it knows all."""
        constructor = method(self.owner, "__init__")
        local = bound_in(function)
        for node in ast.walk(value):
            if isinstance(node, ast.Name) and node.id in local and node.id not in allowed and node.id != "self":
                return node.id
            own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
            if isinstance(node, ast.Attribute) and own and not _sets(constructor, node.attr):
                return f"self.{node.attr}"
        return None

    def _seen(self, index: int | None, name: str | None) -> str | None:
        """The number that the argument had whenever the layer was made in the run."""
        qualified = self.subject.source.qualified(self.made.func)
        known = signature(qualified) if qualified is not None else None
        if known is None or self.subject.trace is None or self.subject.trace.network is None:
            return None
        if name is None and index is not None and index < len(known.positional):
            name = known.positional[index]
        at = [c for c in self.subject.trace.network.components if c.site == self._site]
        values = {repr(c.args.get(name or "")) for c in at if isinstance(c.args.get(name or ""), int)}
        return values.pop() if len(values) == 1 and len(at) > 1 else None

    def _insert(self, code: str) -> tuple[Edit, ...]:
        source = self.subject.source
        constructor = method(self.owner, "__init__")
        if constructor is None:
            first = next(node for node in self.owner.body if isinstance(node, ast.FunctionDef))
            body = f"def __init__(self):\n    super().__init__()\n    {code}"
            return (InsertBefore(source.site(first), body),)
        last = last_of_setup(constructor) or constructor.body[-1]
        return (InsertAfter(source.site(last), code),)

    def _as_list(self, loop: ast.For, code: str) -> tuple[Edit, ...] | Decline:
        """Edits that keep one layer for each round of the loop."""
        source = self.subject.source
        if not (source.qualified(self.made.func) or "torch").startswith("torch"):
            return Decline("the layer is made in a loop")
        rounds, target = source.segment(source.site(loop.iter)), source.segment(source.site(loop.target))
        index, changes = self._index(loop)
        spelled = spell(self.subject, "torch.nn.ModuleList")
        kept = f"self.{self.attribute} = {spelled.code}([{code} for {target} in {rounds}])"
        use = Replace(self._site, f"self.{self.attribute}[{index}]")
        return (*self._insert(kept), *changes, use, *spelled.imports)

    def _index(self, loop: ast.For) -> tuple[str, tuple[Edit, ...]]:
        """What numbers the rounds of the loop, and the edits that make it so."""
        source = self.subject.source
        iterated = loop.iter
        called = source.qualified(iterated.func) if isinstance(iterated, ast.Call) else None
        counted = isinstance(iterated, ast.Call) and len(iterated.args) == 1
        if called == "builtins.range" and counted and isinstance(loop.target, ast.Name):
            if loop.target.id != "_":
                return loop.target.id, ()
            return "i", (Replace(source.site(loop.target), "i"),)
        if called == "builtins.enumerate" and counted and isinstance(loop.target, ast.Tuple):
            number = loop.target.elts[0]
            if isinstance(number, ast.Name):
                return number.id, ()
        index = next(name for name in ("i", "j", "k", "index", "number") if name not in names_in(loop))
        target = source.site(loop.target)
        return index, (
            Replace(target, f"{index}, {source.segment(target)}"),
            Wrap(source.site(iterated), "enumerate(", ")"),
        )


def _sets(constructor: ast.FunctionDef | ast.AsyncFunctionDef | None, attribute: str) -> bool:
    return constructor is not None and any(
        isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store)
        for node in ast.walk(constructor)
    )
