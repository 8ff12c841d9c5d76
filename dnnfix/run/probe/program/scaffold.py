"""Runs a program inside a scaffold: code before and after it, and definitions before the statements that need them.

The program's own statements keep their positions, so that sites stay those of the file; code of the scaffold has file
names of its own and never counts as user code. The parent uses `placements` as well, to write the same thing as a
script.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from .. import sites
from . import cells, loops

DEFINE = "__dnnfix_define__"
START, END = "<before the program>", "<after the program>"
_DEFINITION = "<definition of %s>"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody")


class Placement(NamedTuple):
    """Before which statement of which block a definition goes; an index beyond the last one is the block's end."""

    block: List[ast.stmt]
    position: int


def compiled(source: Any, filename: str, scaffold: Optional[Dict[str, Any]], namespace: Dict[str, Any]) -> List[Any]:
    """Code objects to execute in `namespace`, in order; raises what `compile` raises for the program."""
    if not scaffold:
        return [loops.compile_source(source, filename)]
    tree = change(cells.parsed(source, filename), scaffold, namespace)
    program = loops.compile_tree(tree, filename)
    start = compile(scaffold.get("start", ""), START, "exec", dont_inherit=True)
    end = compile(scaffold.get("end", ""), END, "exec", dont_inherit=True)
    return [start, program, end]


def failed(error: BaseException, in_call: bool) -> Optional[str]:
    """How the scaffold failed, where its own code raised; `None` where the program did.

    The program did where its code is the last of the two on the way to the exception, and also where code behind the
    program calls a network of the program's (`in_call`) that raises: layers have no code of the user's inside.
    """
    last, own = "", False
    for entry in sites.every_entry(error.__traceback__):
        filename = entry.tb_frame.f_code.co_filename
        scaffold = filename in (START, END) or filename.startswith(_DEFINITION.partition("%")[0])
        if scaffold or sites.is_user_file(filename):
            last, own = filename, scaffold
    if not own or (last == END and in_call):
        return None
    return "the scaffold failed: %s: %s" % (type(error).__name__, error)


def text_of(job: Dict[str, Any]) -> str:
    """The source of a job's scaffold that counts as the program's own: its definitions, with their imports.

    Stand-ins import what they need when they are called, for programs of every framework; that says nothing.
    """
    scaffold = job.get("scaffold") or {}
    return "\n".join(code for _name, code in scaffold.get("definitions", ()))


def change(tree: ast.Module, scaffold: Dict[str, Any], namespace: Dict[str, Any]) -> ast.Module:
    """The program's tree, changed in place: literals replaced, definitions inserted; `namespace` is where they run."""
    put_literals(tree, scaffold)
    definitions = [(str(name), str(code)) for name, code in scaffold.get("definitions", ())]
    codes = [compile(code, _DEFINITION % name, "exec") for name, code in definitions]

    def define(number: int) -> None:
        exec(codes[number], namespace)

    setattr(builtins, DEFINE, define)
    places = placements(tree, definitions)
    # Of one block the last place first, so that indices of those before it stay right; of one place the last call first.
    for number in sorted(range(len(places)), key=lambda n: (places[n].position, n), reverse=True):
        block, index = places[number]
        block.insert(index, _call(number, block[min(index, len(block) - 1)] if block else None))
    return tree


def put_literals(tree: ast.AST, scaffold: Dict[str, Any]) -> None:
    """Replace the constants of a tree that the scaffold has others for: strings, as paths of made files, and sizes by name."""
    replaced = dict(tuple(pair) for pair in scaffold.get("literals", ()))
    for node in ast.walk(tree) if replaced else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in replaced:
            node.value = replaced[node.value]
    for node, number in smaller(tree, scaffold.get("sizes", ())):
        node.value = number


def smaller(tree: ast.AST, sizes: Iterable[Sequence[Any]]) -> List[Tuple[ast.Constant, int]]:
    """The constants of a tree that are too large for a scaffold, with what they read as; of a product the first has it all."""
    most = {str(name): int(number) for name, number in sizes}
    found: List[Tuple[ast.Constant, int]] = []
    for name, node, value in bound_numbers(tree) if most else ():
        if value > most.get(name, value):
            factors = [node.left, node.right] if isinstance(node, ast.BinOp) else [node]
            found += [(factor, 1 if place else most[name]) for place, factor in enumerate(factors)]  # type: ignore[misc]
    return found


def bound_numbers(tree: ast.AST) -> Iterator[Tuple[str, ast.expr, int]]:
    """The whole numbers, or products of two, that a tree binds to a name: as variable, field, default, argument, option or key."""
    for name, node in _bindings(tree):
        factors = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else [node]
        values = [factor.value for factor in factors if isinstance(factor, ast.Constant) and type(factor.value) is int]
        if node is not None and len(values) == len(factors):
            yield name, node, values[0] * (values[1] if len(values) == 2 else 1)


def _bindings(tree: ast.AST) -> Iterator[Tuple[str, Any]]:
    """The pairs of a name and what is bound to it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assigned(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            yield from _assigned(node.target, node.value)
        elif isinstance(node, ast.arguments):
            places = node.args[len(node.args) - len(node.defaults) :]
            yield from ((place.arg, value) for place, value in zip(places, node.defaults))
            yield from ((place.arg, value) for place, value in zip(node.kwonlyargs, node.kw_defaults))
        elif isinstance(node, ast.Dict):
            yield from ((str(key.value), v) for key, v in zip(node.keys, node.values) if isinstance(key, ast.Constant))
        elif isinstance(node, ast.Call):
            options = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
            option = max(options, key=len, default="").lstrip("-").replace("-", "_")
            yield from ((option if part.arg == "default" else part.arg or "", part.value) for part in node.keywords)
            if len(node.args) > 1 and getattr(node.func, "attr", "").startswith("DEFINE_"):
                yield options[0], node.args[1]


def _assigned(target: ast.expr, value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for one, its in zip(target.elts, value.elts):
            yield from _assigned(one, its)
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        yield str(target.slice.value), value
    else:
        yield getattr(target, "id", getattr(target, "attr", "")), value


def placements(tree: ast.Module, definitions: Sequence[Tuple[str, str]]) -> List[Placement]:
    """Where each definition goes: once what its code needs is bound, and before the first use where that comes later."""
    given = {name for name, _code in definitions}
    return [_place(tree.body, name, _loaded(code) - given, _after_header(tree)) for name, code in definitions]


def _place(block: List[ast.stmt], name: str, needs: Set[str], least: int) -> Placement:
    """The place for a definition of `name` in a block, or in a block of a compound statement in it."""
    ready = least
    for index, statement in enumerate(block):
        bound = needs & set(_bound(statement))
        inner = [b for b in _inner(statement) if any(needs & set(_bound(s)) and _uses(s2, name) for s in b for s2 in b)]
        if bound and inner:
            return _place(inner[0], name, needs, 0)
        if bound and not _is_rebound(bound, block[:index]):
            ready = max(ready, index + 1)
    first = next((i for i, statement in enumerate(block) if _uses(statement, name)), len(block))
    return Placement(block, max(least, min(ready, first)))


def _is_rebound(names: Set[str], before: Sequence[ast.stmt]) -> bool:
    """Whether all these names had a value already by the statements before one: its first value is what a definition waits for."""
    return names <= {name for earlier in before for name in _bound(earlier)}


def _after_header(tree: ast.Module) -> int:
    """The index of the first statement behind the docstring and the imports from `__future__`."""
    index = 0
    for statement in tree.body:
        documented = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (future or (documented and index == 0)):
            return index
        index += 1
    return index


def _inner(statement: ast.stmt) -> Iterator[List[ast.stmt]]:
    """The blocks of a statement that run at the level it stands on: not those of functions and classes."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    for field in _BLOCKS:
        block = getattr(statement, field, None)
        if block:
            yield block


def _level(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what stands in it, without the bodies of functions."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            for part in [*getattr(child, "decorator_list", ()), *child.args.defaults]:
                yield from _level(part)
        else:
            yield from _level(child)


def _uses(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, _FUNCTIONS):
        parts: Iterable[ast.AST] = [*statement.decorator_list, *statement.args.defaults]
    else:
        parts = [statement]
    loads = (node for part in parts for node in _level(part) if isinstance(node, ast.Name))
    return any(node.id == name for node in loads if isinstance(node.ctx, (ast.Load, ast.Del)))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds at its level."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in _level(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0]


def _loaded(code: str) -> Set[str]:
    """The names that a definition's code needs and does not make itself."""
    tree = ast.parse(code)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - stored


def _call(number: int, like: Optional[ast.stmt]) -> ast.stmt:
    call = ast.Call(func=ast.Name(id=DEFINE, ctx=ast.Load()), args=[ast.Constant(value=number, kind=None)], keywords=[])
    statement = ast.Expr(value=call)
    if like is not None:
        ast.copy_location(statement, like)
    return ast.fix_missing_locations(statement)
