"""Cuts training loops to the budget: `for` and `while` loops of user code stop once all optimizer steps are done.

The loops are rewritten in the syntax tree, and no node changes its position, so that sites stay those of the file. A
loop ends before its next iteration when the step budget is used up and steps happened within this very run of the
loop; loops that do not train are left to run, and so is everything that comes after training.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Iterable, Iterator, List

from .. import budget, sites, wire
from . import cells, handlers, lines

GUARD_FOR = "__dnnfix_for__"
GUARD_WHILE = "__dnnfix_while__"


def install() -> None:
    """Make the guards that rewritten code calls known to every module."""
    setattr(builtins, GUARD_FOR, _guarded)
    setattr(builtins, GUARD_WHILE, _Guard)


def rewrite(tree: ast.Module, filename: str) -> ast.Module:
    """The tree with guarded loops, changed in place. `filename` must be a file of user code (see `sites`)."""
    rewriter = _Rewriter(filename)
    tree.body = rewriter.block(tree.body)
    return tree


def _guarded(iterable: Iterable[Any], filename: str, line: int) -> Iterator[Any]:
    start = budget.steps
    iterator = iter(iterable)
    while True:
        if budget.steps > start and budget.used_up():
            _cut(filename, line)
            return
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item


class _Guard:
    """Asked before each iteration of one run of a `while` loop: false once the loop has to end."""

    def __init__(self, filename: str, line: int) -> None:
        self._start = budget.steps
        self._filename = filename
        self._line = line

    def __call__(self) -> bool:
        if budget.steps > self._start and budget.used_up():
            _cut(self._filename, self._line)
            return False
        return True


_already: List[Any] = []


def _cut(filename: str, line: int) -> None:
    """Report the loop, once: many runs of an inner loop are one fact."""
    if (filename, line) not in _already:
        _already.append((filename, line))
        wire.emit("cut", site=sites.line_site(filename, line))


def reset() -> None:
    """Forget which loops were reported."""
    _already.clear()


class _Rewriter(ast.NodeTransformer):
    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._count = 0

    def block(self, body: List[ast.stmt]) -> List[ast.stmt]:
        """The statements with their loops guarded."""
        changed: List[ast.stmt] = []
        for statement in body:
            result: Any = self.visit(statement)
            changed.extend(result if isinstance(result, list) else [result])
        return changed

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self._call(GUARD_FOR, [node.iter], node.iter, node.lineno)
        return node

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        self._count += 1
        name = "__dnnfix_%d__" % self._count
        target = _at(ast.Name(id=name, ctx=ast.Store()), node.test)
        guard = self._call(GUARD_WHILE, [], node.test, node.lineno)
        ask = _at(ast.Call(func=_at(ast.Name(id=name, ctx=ast.Load()), node.test), args=[], keywords=[]), node.test)
        begin = _at(ast.Assign(targets=[target], value=guard, type_comment=None), node.test)
        node.test = _at(ast.BoolOp(op=ast.And(), values=[ask, node.test]), node.test)
        return [begin, node]

    def _call(self, name: str, first: List[ast.expr], like: ast.expr, line: int) -> ast.expr:
        arguments = first + [_at(ast.Constant(value=value, kind=None), like) for value in (self._filename, line)]
        function = _at(ast.Name(id=name, ctx=ast.Load()), like)
        call: ast.expr = _at(ast.Call(func=function, args=arguments, keywords=[]), like)
        return call


def _at(node: Any, like: ast.AST) -> Any:
    return ast.copy_location(node, like)


def compile_source(source: Any, filename: str) -> Any:
    """The code object of a source, string or bytes, with guarded loops and reported handlers; raises what `compile`
    raises.
    """
    return compile_tree(cells.parsed(source, filename), filename)


def compile_tree(tree: ast.Module, filename: str) -> Any:
    """The same for a syntax tree, which is changed in place."""
    lines.rewrite(tree, filename)
    handlers.rewrite(tree, filename)
    return compile(rewrite(tree, filename), filename, "exec", dont_inherit=True)
