"""The operator "statements": a statement is added, moved or rewritten, such as a `return`, an assignment or an import."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.detect.loops.training_loop import block_of
from dnnfix.records import Edit, FixPattern, InsertAfter, Replace, ReplaceLines
from dnnfix.source.tree import stored_names
from dnnfix.synthesize.operators import beginnings
from dnnfix.synthesize.operators.change import Change
from dnnfix.synthesize.operators.names import NEAR, plain, ranked
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import DATA_SETS, NOTHING, Role, Spot, done_to, is_too_deep

PATTERN = FixPattern.NEURAL_CONNECTION

UNSAID = -0.6
"""What a function that gives nothing loses where the message does not speak of nothing."""

EARLY = frozenset({"NameError", "UnboundLocalError", "TypeError", "AttributeError"})
"""Exceptions of what has no value yet."""

FURTHER = 12
"""Statements behind which another is moved."""

ALL_OF_BLOCK = 0.2
"""What it gains to keep all that was thrown away of one object: who forgets it once, does so again."""

GRADIENT = re.compile(r"\.grad\b")
UPDATED = 2.0
"""What it gains to change a weight in place by its gradient."""

WITHOUT_EFFECT = 0.8
"""What it gains to keep what a method gave that changes nothing: to call it has no other sense."""

_NOT_IMPORTED = re.compile(r"cannot import name '(\w+)'")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def changes(scene: Scene, spot: Spot) -> Iterator[Change]:
    """Other statements at a spot."""
    node = spot.statement
    if isinstance(node, ast.ImportFrom):
        yield from _imported(scene, node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if is_too_deep(scene, node):
            yield from _of_class(scene, node)
        elif node.name == "__init__":
            yield from beginnings.constructed_first(scene, node.body[0])
            yield from beginnings.stored(scene, node)
        else:
            yield from _returned(scene, node)
    elif isinstance(node, ast.AugAssign):
        yield from _out_of_place(scene, node)
    elif isinstance(node, ast.Expr) and spot.role is Role.DEFINITION:
        yield from _taken(scene, node)
    elif spot.role is Role.DEFINITION:
        yield from _unpacked(scene, node)
        yield from _without_target(scene, node)
        yield from _in_place(scene, node)
    else:
        yield from beginnings.changes(scene, node)
        yield from _moved(scene, spot)


def _moved(scene: Scene, spot: Spot) -> Iterator[Change]:
    """The failing statement behind what gives one of its names a value only after it."""
    node, source = spot.statement, scene.subject.source
    if spot.role is not Role.FAILING or scene.kind not in EARLY or isinstance(node, ast.Return | ast.Raise):
        return
    block = block_of(source, node)
    behind = block[block.index(node) + 1 :][:FURTHER]
    own = stored_names(node)
    read = {ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)} - own
    for other in behind:
        targets = [n for n in ast.walk(other) if isinstance(n, ast.Name | ast.Attribute)]
        if own & {n.id for n in targets if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}:
            return
        given = [ast.unparse(n) for n in targets if isinstance(n.ctx, ast.Store) and ast.unparse(n) in read]
        if given:
            whole, upto = scene.site(node), scene.site(other)
            lines = source.text.split("\n")
            between = lines[whole.end_line : upto.end_line]
            code = "\n".join([*between, *lines[whole.line - 1 : whole.end_line]])
            site = replace(whole, end_line=upto.end_line, end_column=upto.end_column)
            yield Change((ReplaceLines(site, code),), f"Ask for {given[0]} after it is given", "moved")


def _of_class(scene: Scene, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Change]:
    """A method that was written into another one, a level further out."""
    site = scene.site(node)
    method = scene.subject.source.parent(node)
    outer = method.col_offset if isinstance(method, ast.FunctionDef) else 0
    lines = scene.subject.source.text.split("\n")[site.line - 1 : site.end_line]
    code = textwrap.indent(textwrap.dedent("\n".join(lines)), " " * outer)
    yield Change((ReplaceLines(site, code),), f"Make {node.name} a method", "dedent")


def _returned(scene: Scene, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Change]:
    """What a function without a `return` made last, returned."""
    last = node.body[-1]
    less = 0.0 if NOTHING in scene.message else UNSAID
    own = [each for each in ast.walk(node) if isinstance(each, ast.Return | ast.Yield | ast.YieldFrom)]
    if any(each.value is not None for each in own) or node.name == "__init__":
        return
    if isinstance(last, ast.Expr) and not isinstance(last.value, ast.Constant):
        code = " " * last.col_offset + f"return {scene.code(last.value)}"
        yield Change((ReplaceLines(scene.site(last), code),), f"Return {scene.code(last.value)[:40]}", "return", less)
    names = [
        target.id
        for statement in node.body
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    ]
    for name in list(dict.fromkeys(reversed(names)))[:3]:
        yield Change((InsertAfter(scene.site(last), f"return {name}"),), f"Return {name}", "return", less)


def _out_of_place(scene: Scene, node: ast.AugAssign) -> Iterator[Change]:
    """`x *= y` as `x = x * y`: another value under the same name, where that one may not be changed."""
    if isinstance(node.target, ast.Name | ast.Attribute):
        code = f"{scene.code(node.target)} = {ast.unparse(ast.BinOp(node.target, node.op, node.value))}"
        yield Change((ReplaceLines(scene.site(node), " " * node.col_offset + code),), f"Write {code}", "out of place")


def _unpacked(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """A tuple that a call gives, under the names of a tuple that the call is given, or its first value alone."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Call() as call):
            told = scene.told(call) or scene.told(target)
            count = len(told.items) if told is not None and told.kind == "tuple" else 0
            given = [each for each in call.args if isinstance(each, ast.Tuple) and len(each.elts) == count > 1]
            names = [[ast.unparse(each) for each in one.elts] for one in given]
            for same in [each for each in names if name in each and all(map(str.isidentifier, each))][:1]:
                code = f"{', '.join(same)} = {scene.code(call)}"
                lines = ReplaceLines(scene.site(node), " " * node.col_offset + code)
                yield Change((lines,), f"Unpack {', '.join(same)}", "unpacked")
            if count > 1:
                code = f"{', '.join([name] + ['_'] * (count - 1))} = {scene.code(call)}"
                lines = ReplaceLines(scene.site(node), " " * node.col_offset + code)
                yield Change((lines,), f"Unpack {name} alone", "unpacked first")


def _taken(scene: Scene, node: ast.Expr) -> Iterator[Change]:
    """`x.change()` as `x = x.change()`, and so for all that is done to it in the block: the result was thrown away."""
    name = done_to(node)
    same = [
        each for each in block_of(scene.subject.source, node) if isinstance(each, ast.Expr) and done_to(each) == name
    ]
    for statements in ([node], same) if len(same) > 1 else ([node],):
        codes = {each: f"{name} = {scene.code(each)}" for each in statements}
        edits = tuple(ReplaceLines(scene.site(each), " " * each.col_offset + code) for each, code in codes.items())
        more = ", and so for what follows" if len(edits) > 1 else ""
        likeness = ALL_OF_BLOCK * (len(edits) > 1) + WITHOUT_EFFECT * _is_data_set(scene, node)
        yield Change(edits, f"Write {codes[statements[0]][:60]}{more}", "taken", likeness)


def _is_data_set(scene: Scene, node: ast.Expr) -> bool:
    """Whether a method of a data set of TensorFlow is called."""
    function = node.value.func if isinstance(node.value, ast.Call) else None
    told = scene.told(function.value) if isinstance(function, ast.Attribute) else None
    return told is not None and told.kind.startswith(DATA_SETS)


def _is_annotation(scene: Scene, node: ast.AST) -> bool:
    """Whether an expression is, or is a part of, an annotation of a parameter, a result or a name."""
    source = scene.subject.source
    above = source.parent(node)
    while isinstance(above, ast.expr):
        node, above = above, source.parent(above)
    match above:
        case ast.arg():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node is above.returns
        case ast.AnnAssign():
            return node is above.annotation
    return False


def _in_place(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """`w = w - step` as `w -= step`, where `w.grad` is `None`: what is computed anew is no weight any more, and has no gradient."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() as op, right=step),
        ) if name == left and GRADIENT.search(scene.code(step)):
            sign = "+" if isinstance(op, ast.Add) else "-"
            code = f"{name} {sign}= {scene.code(step)}"
            edit = ReplaceLines(scene.site(node), " " * node.col_offset + code)
            yield Change((edit,), f"Write {code}", "in place", UPDATED)


def _without_target(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """`x = x.append(y)` as `x.append(y)`: what changes an object gives nothing back."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        code = " " * node.col_offset + scene.code(node.value)
        yield Change(
            (ReplaceLines(scene.site(node), code),), f"Keep what {scene.code(node.value)[:40]} changes", "no target"
        )


def _imported(scene: Scene, node: ast.ImportFrom) -> Iterator[Change]:
    """Another name of the module, everywhere; the module above; nothing, where the name is not used."""
    missing = _NOT_IMPORTED.search(scene.message)
    if missing is not None:
        name = missing.group(1)
        uses = [n for n in scene.subject.source.nodes(ast.Name) if n.id == name]
        if not uses:
            yield Change((_line(scene, node, name, None),), f"Leave out the import of {name}", "import")
        at_work = any(not _is_annotation(scene, use) for use in uses)
        for other, less in ranked(name, [near for near, _ in scene.near])[:NEAR]:
            if not at_work and plain(other) != plain(name):
                continue  # no run could tell whether it is the one that was meant
            edits: list[Edit] = [_line(scene, node, name, other)]
            edits += [Replace(scene.site(use), other) for use in uses]
            yield Change(tuple(edits), f"Import {other} for {name}", "import", less)
    absent = _NO_MODULE.search(scene.message)
    if absent is not None and node.module is not None and node.module.startswith(absent.group(1)):
        above = absent.group(1).rpartition(".")[0]
        while above:
            code = scene.code(node).replace(node.module, above, 1)
            yield Change((_whole(scene, node, code),), f"Import from {above}", "import")
            above = above.rpartition(".")[0]


def _line(scene: Scene, node: ast.ImportFrom, name: str, other: str | None) -> Edit:
    """The import with one of its names exchanged, or left out."""
    kept = [ast.alias(other or "", alias.asname) if alias.name == name else alias for alias in node.names]
    kept = [alias for alias in kept if alias.name]
    whole = ast.ImportFrom(module=node.module, names=kept, level=node.level)
    return _whole(scene, node, ast.unparse(whole) if kept else "")


def _whole(scene: Scene, node: ast.stmt, code: str) -> Edit:
    return ReplaceLines(scene.site(node), " " * node.col_offset + code if code else "")
