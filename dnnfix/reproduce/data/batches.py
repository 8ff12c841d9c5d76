"""The form of the batches that a training function loops over: pairs, or objects with named parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dnnfix.reproduce.harness.roles import role_of
from dnnfix.source.bindings import Definition
from dnnfix.source.program import Source

_INPUTS = re.compile(
    r"text|src|source|sent\w*|words?|tokens?|query|premise|x|input\w*|data|question|title", re.IGNORECASE
)
_TARGETS = re.compile(r"label\w*|target|tgt|trg|y|tags?|class\w*|sentiment|answer", re.IGNORECASE)

_TURNS = frozenset({"t", "t_", "transpose", "transpose_", "permute"})


@dataclass(frozen=True, slots=True)
class Form:
    """The form of batches: pairs where there are no `fields`; else the names of the parts, and their roles.

    `lowest` is the lowest class: 1 where the program takes one away from the targets. `turned` tells that the program
    puts the batch first itself.
    """

    fields: tuple[str, ...] = ()
    inputs: str = ""
    targets: str = ""
    lowest: int = 0
    turned: bool = False


def form_of(source: Source, node: Definition, bodies: Iterable[ast.AST]) -> Form | None:
    """The form of the batches that a definition, and those that it calls, loop over; `None` where it is unknown."""
    loops = [part for body in bodies for part in ast.walk(body) if isinstance(part, ast.For)]
    over = [loop for loop in loops if any(_is_loader_name(inner) for inner in ast.walk(loop.iter))]
    if not over:
        return None
    if all(_is_pair(loop) for loop in over):
        return Form()
    named = [_named_parts(loop) for loop in over]
    fields = tuple(sorted(set().union(*named))) if all(named) else ()
    inputs = [field for field in fields if _INPUTS.fullmatch(field)]
    targets = [field for field in fields if _TARGETS.fullmatch(field)]
    rest = set(fields) - {*inputs, *targets, "batch_size"}
    if len(inputs) != 1 or len(targets) != 1 or rest:
        return None
    words = {part.attr for loop in over for part in ast.walk(loop) if isinstance(part, ast.Attribute)}
    lowest = 1 if _takes_one_away(over, targets[0]) else 0
    return Form((inputs[0], targets[0]), inputs[0], targets[0], lowest, bool(words & _TURNS))


def is_loader(whole: ast.AST, node: ast.AST, name: str, above: tuple[ast.AST, ...] = ()) -> bool:
    """Whether a parameter is looped over, or passed to a parameter of the same definition that is."""
    for part in ast.walk(node):
        over = part.iter if isinstance(part, ast.For) else None
        if over is not None and any(isinstance(inner, ast.Name) and inner.id == name for inner in _looped(over)):
            return True
    functions = {part.name: part for part in ast.walk(whole) if isinstance(part, ast.FunctionDef)}
    for part in ast.walk(node):
        called = part.func if isinstance(part, ast.Call) else None
        target = functions.get(called.attr) if isinstance(called, ast.Attribute) else None
        if not isinstance(part, ast.Call) or target is None or target in (node, *above):
            continue
        places = [n for n, given in enumerate(part.args) if isinstance(given, ast.Name) and given.id == name]
        names = [argument.arg for argument in target.args.args[1:]]
        if any(place < len(names) and is_loader(whole, target, names[place], (node, *above)) for place in places):
            return True
    return False


def _looped(over: ast.expr) -> Iterable[ast.expr]:
    """What a loop goes through, in what it is dressed in: `enumerate`, a bar of progress, a cut."""
    while isinstance(over, ast.Call) and over.args and ast.unparse(over.func) != "range":
        over = over.args[0]
    return (over,)


def _is_loader_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and role_of(node.id) in ("loader", "inputs")


def _element(loop: ast.For) -> ast.expr:
    """What a loop binds to each batch, without the count."""
    counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "enumerate"
    target = loop.target
    if counted:
        target = target.elts[-1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else ast.Constant(None)
    return target


def _is_pair(loop: ast.For) -> bool:
    target = _element(loop)
    if isinstance(target, (ast.Tuple, ast.List)):
        return len(target.elts) == 2 and all(isinstance(part, ast.Name) for part in target.elts)
    if not isinstance(target, ast.Name):
        return False
    for part in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            return False
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            names_bound = part.targets[0]
            return isinstance(names_bound, ast.Tuple) and len(names_bound.elts) == 2
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            return isinstance(part.slice, ast.Constant) and part.slice.value in (0, 1)
    return False


def _named_parts(loop: ast.For) -> set[str]:
    """The attributes that a loop reads of its batches; nothing where it does anything else with them."""
    target = _element(loop)
    if not isinstance(target, ast.Name):
        return set()
    found: set[str] = set()
    owners: set[int] = set()
    for part in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            found.add(part.attr)
            owners.add(id(part.value))
        elif isinstance(part, ast.Name) and part.id == target.id and id(part) not in owners:
            return set()
    return found


def _takes_one_away(loops: list[ast.For], field: str) -> bool:
    """Whether one is taken from the targets: labels of a vocabulary begin at 1."""
    for loop in loops:
        names = {field}
        for part in (part for statement in loop.body for part in ast.walk(statement)):
            if isinstance(part, ast.Assign):
                names |= _bound_to(part, field)
        for part in (part for statement in loop.body for part in ast.walk(statement)):
            text = ast.unparse(part) if isinstance(part, (ast.Call, ast.BinOp)) else ""
            match = re.match(r"(?:\w+\.)?(?!data\b)(\w+)(?:\.data)?(?:\.sub_?\(1\)| - 1)\Z", text)
            if match and match[1] in names:
                return True
    return False


def _bound_to(statement: ast.Assign, field: str) -> set[str]:
    """The names that an assignment binds to a part of a batch."""
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(target.elts, value.elts, strict=True))
    return {t.id for t, v in pairs if isinstance(t, ast.Name) and isinstance(v, ast.Attribute) and v.attr == field}
