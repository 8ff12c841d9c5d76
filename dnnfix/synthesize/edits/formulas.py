"""Sizes as formulas of the parameters of a constructor (`out_ch * 2`), where the program supports one formula.

One observation fits many formulas: 512 channels are `in_ch // 2` and `out_ch * 2` where a block is made with 1024 and
256. A formula is offered only where it agrees with every object of the class that went well, and among those that
agree the ones come first that rest on more than the number: the size that has to be met at the other end, or the same
formula standing in the same constructor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field

from dnnfix.records import Call, Component
from dnnfix.records.record import record
from dnnfix.source.arithmetic import number
from dnnfix.source.tree import names_in, stored_names
from dnnfix.subject import Subject

MAX_RATIO = 16
"""Largest whole ratio that is written as `size * 2` or `size // 2`; beyond it a ratio is a coincidence."""

MAX_OUTWARD = 8
"""Modules looked through from a layer out to the one whose constructor made it."""


@record
class Around:
    """What is known where a layer is made: the constructor around it and what its parameters are for this layer.

    `others` are the parameters of the same constructor for other objects whose layer was called without harm, each
    with the size that the layer states there.
    """

    function: ast.FunctionDef | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    others: tuple[tuple[Mapping[str, int], int], ...] = ()

    def agrees(self, text: str) -> bool:
        """Whether the formula leaves the sizes of the other objects as they are."""
        tree = ast.parse(text, mode="eval").body
        return all(evaluated(tree, values) in (stated, None) for values, stated in self.others)


def around(subject: Subject, of: Call | Component, node: ast.AST, name: str) -> Around:
    """What is known around the constructor expression `node` of a layer, whose size argument is `name`."""
    function = subject.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    owner = subject.source.parent(function) if function is not None else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
        return Around(function if isinstance(function, ast.FunctionDef) else None)
    id, site = (of.component, of.made_at) if isinstance(of, Call) else (of.id, of.site)
    others: list[tuple[Mapping[str, int], int]] = []
    for other in subject.network.components:
        stated = other.args.get(name)
        if other.id != id and other.site == site and site is not None and other.called and isinstance(stated, int):
            others.append((_parameters(subject, other.id, function, owner), stated))
    return Around(function, _parameters(subject, id, function, owner), tuple(others))


def _parameters(subject: Subject, id: int | None, function: ast.FunctionDef, owner: ast.ClassDef) -> dict[str, int]:
    """The whole numbers that the constructor was given for the object that holds a component."""
    network = subject.network
    for _ in range(MAX_OUTWARD):
        holder = next((one for one in network.components if id is not None and id in one.children), None)
        if holder is None:
            return {}
        if holder.name == f"user.{owner.name}":
            own = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
            given = {key: value for key, value in holder.args.items() if key in own - stored_names(function)}
            return {key: value for key, value in given.items() if isinstance(value, int) and type(value) is int}
        id = holder.id
    return {}


def spoken_for(subject: Subject, place: Around, wanted: int, whole: int | None) -> Iterator[tuple[str, float]]:
    """Formulas of the constructor's parameters for a size, that the program speaks for, with their priors.

    `whole` is the size that has to come about at the other end, of which `wanted` is a part.
    """
    if place.function is None or not place.values:
        return
    formulas = set(_formulas(subject, place.function))
    written = {text for text in formulas if _names(text) and _value(text, place.values) == wanted}
    for key, value in place.values.items():
        if whole is not None and value == whole and value % wanted == 0 and 1 < value // wanted <= MAX_RATIO:
            text = next((one for one in written if _names(one) == {key}), f"{key} // {value // wanted}")
            written.discard(text)
            if place.agrees(text):
                yield text, 0.95
    for text in sorted(written):
        if place.agrees(text):
            yield text, 0.75


def _formulas(subject: Subject, function: ast.FunctionDef) -> Iterator[str]:
    """The products and quotients that stand in a function, as they are written there."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.FloorDiv)):
            yield subject.text(subject.source.site(node))


def _value(text: str, values: Mapping[str, int]) -> int | None:
    try:
        return evaluated(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, ValueError):
        return None


def _names(text: str) -> set[str]:
    return names_in(ast.parse(text, mode="eval"))


def evaluated(node: ast.expr, values: Mapping[str, int]) -> int | None:
    """The value of a formula of names and integers; `None` where a name is unknown or it is not such a formula."""
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.BinOp):
        left, right = evaluated(node.left, values), evaluated(node.right, values)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.FloorDiv):
            return left // right if right else None
        if isinstance(node.op, (ast.Mult, ast.Add, ast.Sub)):
            operation = {ast.Mult: left * right, ast.Add: left + right, ast.Sub: left - right}
            return operation[type(node.op)]
        return None
    return number(node)
