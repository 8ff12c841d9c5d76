"""The operator "elements": a tuple, index or list gets an element more or less, or another one; a key another
spelling.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations

from dnnfix.records import DeleteElement, FixPattern, Replace
from dnnfix.source import arithmetic
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.operators.names import ranked
from dnnfix.synthesize.scene import Scene, Told
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.DATA_WRANGLING

KEYS = 12
"""Keys of a dictionary that are tried for one."""

COPIED = 2.2
"""What another index gains where the same element stands there twice."""

FEW = 4
"""Elements up to which two are exchanged."""

MOST = 8
"""Elements up to which a list of one is made longer."""

TOO_MANY = 1.5
"""What more targets gain, in logarithms, where the message says that there are too many values."""

AS_ELSEWHERE = 1.2
"""What targets gain that the program takes the results of another call apart into."""

STARRED = -0.2
"""What leaving any number of further values loses against leaving one."""

FIRST = -1.4
"""What leaving a value before the others loses: what is added to what a function gives comes last."""

_EXPECTED = re.compile(r"expected (\d+)\b", re.IGNORECASE)

UNREAD = -2.0
"""What a target that nothing reads loses, in logarithms, against one that is read."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Fewer or more elements at a place."""
    node = place.node
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
        yield from _targets(scene, node)
    elif isinstance(node, ast.Subscript):
        yield from _index(scene, node)
    elif isinstance(node, ast.Tuple | ast.List) and place.role is not Role.CALLER:
        for number in range(len(node.elts)):
            if len(node.elts) > 1:
                edit = DeleteElement(scene.site(node), number)
                yield Change((edit,), f"Leave out {scene.code(node.elts[number])[:40]}", "drop")
        yield from _exchanged(scene, node)
        if isinstance(node, ast.List) and len(node.elts) == 1:
            yield from _one_for_each(scene, node)


def _exchanged(scene: Scene, node: ast.Tuple | ast.List) -> Iterator[Change]:
    """Two elements of a few in each other's place."""
    for one, other in combinations(node.elts, 2) if len(node.elts) <= FEW else ():
        codes = scene.code(one), scene.code(other)
        if codes[0] != codes[1] and not isinstance(one, ast.Starred) and not isinstance(other, ast.Starred):
            edits = (Replace(scene.site(one), codes[1]), Replace(scene.site(other), codes[0]))
            yield Change(edits, f"Exchange {codes[0][:40]} and {codes[1][:40]}", "exchange")


def _one_for_each(scene: Scene, node: ast.List) -> Iterator[Change]:
    """A list of one where the message expects several: that one, or that list, for each."""
    for number in {int(text) for text in _EXPECTED.findall(scene.message)}:
        if 1 < number <= MOST:
            for code in (scene.code(node), scene.code(node.elts[0])):
                yield replaced(scene, node, f"[{', '.join([code] * number)}]", "for each")


def _targets(scene: Scene, node: ast.Tuple) -> Iterator[Change]:
    around = scene.subject.source.enclosing(node, ast.For, ast.With) or scene.subject.source.tree
    read = {n.id for n in ast.walk(around) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for element in node.elts:
        unread = 0.0 if not isinstance(element, ast.Name) or element.id in read else UNREAD
        change = Change(
            (Replace(scene.site(node), scene.code(element)),), f"Take {scene.code(element)} alone", "one target", unread
        )
        yield change
    names = [scene.code(element) for element in node.elts]
    meant = TOO_MANY * ("too many values to unpack" in scene.message)
    elsewhere = {scene.code(other) for other in _others_taken_apart(scene, node)}
    for more, title, less in (
        ([*names, "_"], "Take one value more, and leave it", 0.0),
        ([*(names[:-1] if names[-1] == "_" else names), "*_"], "Leave all further values", STARRED),
        (["_", *names], "Leave a value that comes first", FIRST),
    ):
        code = ", ".join(more)
        likeness = meant + less + AS_ELSEWHERE * (code in elsewhere)
        yield Change((Replace(scene.site(node), code),), title, "more targets", likeness)


def _others_taken_apart(scene: Scene, node: ast.Tuple) -> list[ast.Tuple]:
    """The other tuples of targets of the program."""
    tuples = scene.subject.source.nodes(ast.Tuple)
    return [other for other in tuples if other is not node and isinstance(other.ctx, ast.Store)]


def _index(scene: Scene, node: ast.Subscript) -> Iterator[Change]:
    index = node.slice
    elements = index.elts if isinstance(index, ast.Tuple) else [index]
    owner = scene.told(node.value)
    codes = [
        scene.code(element) if not isinstance(element, ast.Slice) else _slice(scene, element) for element in elements
    ]
    whole = scene.code(node.value)
    if owner is not None and owner.shape is not None:
        rank = len(owner.shape)
        if len(codes) < rank:
            for number in range(len(codes) + 1):
                code = ", ".join([*codes[:number], ":", *codes[number:]])
                yield replaced(scene, node, f"{whole}[{code}]", "axis more")
        for number in range(len(codes)):
            if len(codes) > 1:
                code = ", ".join(codes[:number] + codes[number + 1 :])
                yield replaced(scene, node, f"{whole}[{code}]", "axis less")
    if owner is not None and owner.keys and isinstance(index, ast.Constant | ast.Name):
        yield from _keys(scene, node, owner)
    for number, element in enumerate(elements):
        for bounds in _bounds(scene, element) if isinstance(element, ast.Slice) else ():
            code = ", ".join([*codes[:number], bounds, *codes[number + 1 :]])
            yield replaced(scene, node, f"{whole}[{code}]", "bounds")
    at = arithmetic.number(index) if isinstance(index, ast.Constant | ast.UnaryOp) else None
    if at is None:
        return
    if scene.kind == "IndexError" and owner is not None and owner.size is not None and at >= owner.size > 0:
        yield replaced(scene, node, f"{whole}[{owner.size - 1}]", "last index")
        return
    twin = COPIED * _stands_twice(scene, node)
    for other in dict.fromkeys((at - 1, 0, -1, *([at + 1] if twin else []))):
        if other != at:
            beside = abs(other - at) == 1 and (other < 0) == (at < 0)
            yield replaced(scene, node, f"{whole}[{other}]", "index", twin * beside)


def _stands_twice(scene: Scene, node: ast.Subscript) -> bool:
    """Whether the same element stands next to itself among arguments or elements: one of them may be a copy left as it was."""
    match scene.subject.source.parent(node):
        case ast.Call(args=beside) | ast.Tuple(elts=beside) | ast.List(elts=beside):
            return [ast.unparse(each) for each in beside].count(ast.unparse(node)) == 2
    return False


def _keys(scene: Scene, node: ast.Subscript, owner: Told) -> Iterator[Change]:
    """Other keys: where one is missing, those that are spelt alike."""
    whole, index = scene.code(node.value), node.slice
    missing = index.value if isinstance(index, ast.Constant) else None
    if scene.kind == "KeyError" and isinstance(missing, str) and missing not in owner.keys:
        for key, less in ranked(missing, [key for key in owner.keys if isinstance(key, str)])[:KEYS]:
            yield replaced(scene, node, f"{whole}[{key!r}]", "spelling", less)
    else:
        yield from (replaced(scene, node, f"{whole}[{other!r}]", "key") for other in owner.keys[:KEYS])


def _bounds(scene: Scene, node: ast.Slice) -> Iterator[str]:
    """A slice without one of its bounds, or with one that is a number one further."""
    lower, upper = (scene.code(part) if part is not None else "" for part in (node.lower, node.upper))
    rest = f":{scene.code(node.step)}" if node.step is not None else ""
    if upper:
        yield f"{lower}:{rest}"
    if lower:
        yield f":{upper}{rest}"
    if isinstance(node.upper, ast.Constant) and isinstance(node.upper.value, int):
        yield f"{lower}:{node.upper.value + 1}{rest}"
        yield f"{lower}:{node.upper.value - 1}{rest}"
    if isinstance(node.lower, ast.Constant) and isinstance(node.lower.value, int):
        yield f"{node.lower.value + 1}:{upper}{rest}"


def _slice(scene: Scene, node: ast.Slice) -> str:
    parts = [scene.code(part) if part is not None else "" for part in (node.lower, node.upper)]
    return ":".join(parts + ([scene.code(node.step)] if node.step is not None else []))
