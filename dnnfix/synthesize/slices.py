"""The backward slice of a crash: the expressions and statements that may have caused it, nearest first.

The slice goes from the failing expression to its operands, to what defined them, to the constructors of the layers on
the way, to the data at their source, and to the callers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from dnnfix.records import Site
from dnnfix.source.program import Source
from dnnfix.synthesize.definitions import FILLING, FUNCTIONS, definitions
from dnnfix.synthesize.scene import Scene, Told

LAYERS = 8
"""Layers back from the crash whose constructors belong to the slice."""

DEFINITIONS = 3
"""Steps from use to definition that are followed."""

OF_DATA = frozenset({"__getitem__", "__call__", "__next__", "__iter__", "collate_fn"})
"""Functions that data come from."""


PLAIN = frozenset({"int", "float", "bool", "str", "list", "tuple", "dict", "NoneType"})
"""Kinds that say nothing of where a value came from."""

CUTTING = frozenset({"item", "detach", "numpy", "tolist"})
"""Methods behind which no gradients flow, wherever in the program they are called."""

DATA_SETS = "tensorflow.python.data."
"""Where the data sets of TensorFlow are made, which give one sample at a time where they are not told otherwise."""

NOTHING = "NoneType"
"""The kind of `None`."""

NEAR = 2
"""Steps away that a function is whose value is like one of those that failed."""

FAR = 5
"""Steps away that the other functions are."""


class Role(StrEnum):
    """How a place came into the slice."""

    FAILING = "failing"
    """A part of the expression that failed."""
    STATEMENT = "statement"
    """A part of the statement that it stands in."""
    CALLER = "caller"
    """A part of a statement that led there."""
    DEFINITION = "definition"
    """What a name in one of them was given."""
    CONSTRUCTOR = "constructor"
    """A part of the call that made a layer on the way."""
    SOURCE = "source"
    """What a function of the program's gives back or yields."""


@dataclass(frozen=True, slots=True)
class Place:
    """An expression that may be edited: how it came into the slice, and how many steps away from the failing one it is."""

    node: ast.expr
    role: Role
    steps: int
    told: Told | None


@dataclass(frozen=True, slots=True)
class Spot:
    """A statement that may be edited as a whole, or a function whose end may be."""

    statement: ast.stmt
    role: Role
    steps: int


def spots(scene: Scene) -> list[Spot]:
    """The statements of a crash: those under way, those that set a name to `None`, functions that return `None`."""
    source = scene.subject.source
    found: list[Spot] = []
    for number, frame in enumerate(scene.frames):
        statement = None if frame.path else source.places.node_at(frame.statement)
        if isinstance(statement, ast.Expr | ast.expr):
            statement = source.statement_of(statement)
        if not isinstance(statement, ast.stmt):
            continue
        found.append(Spot(statement, Role.CALLER if number else Role.FAILING, 2 * number))
        for node in parts(statement):
            told = scene.told(node) if isinstance(node, ast.Name | ast.Attribute) else None
            if number < 2 and isinstance(node, ast.Name):
                found += [Spot(each, Role.DEFINITION, 2 * number + 1) for each in _done_for_nothing(source, node)]
            if told is not None and (told.kind == NOTHING or f"'{told.kind}' object" in scene.message):
                owner = node.value if isinstance(node, ast.Attribute) and node.attr == "grad" else node
                given = [source.statement_of(value) for value in definitions(source, owner)]
                found += [Spot(each, Role.DEFINITION, 2 * number + 1) for each in given]
    for frame in scene.past:
        left_at = None if frame.path else source.places.node_at(frame.statement)
        function = source.enclosing(left_at, *FUNCTIONS) if left_at is not None else None
        if isinstance(function, FUNCTIONS) and not isinstance(left_at, ast.Return):
            found.append(Spot(function, Role.SOURCE, NEAR))
    for function in source.nodes(ast.FunctionDef):
        if is_too_deep(scene, function) or _constructs_named(scene, function):
            found.append(Spot(function, Role.SOURCE, NEAR))
    if "in-place" in scene.message or "inplace" in scene.message:
        changed = source.nodes(ast.AugAssign)
        found += [Spot(node, Role.SOURCE, NEAR) for node in changed if isinstance(scene.told(node.target), Told)]
    return found


def _done_for_nothing(source: Source, use: ast.Name) -> Iterator[ast.stmt]:
    """The statements that call a method of what is named, or of what a loop takes it from, for nothing but what it does to it."""
    for value in definitions(source, use):
        statement = source.statement_of(value)
        if done_to(statement) == use.id:
            yield statement
        elif isinstance(statement, ast.For) and isinstance(value, ast.Name) and value.id != use.id:
            gone_through = (source.statement_of(each) for each in definitions(source, value))
            yield from (each for each in gone_through if done_to(each) == value.id)


def done_to(statement: ast.stmt) -> str:
    """The name whose method a statement calls only for its effect on it; empty for any other statement."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return "" if method in FILLING or method.endswith("_") else name
    return ""


def _constructs_named(scene: Scene, function: ast.FunctionDef) -> bool:
    """Whether a function constructs objects of which the message says that they were not constructed, or what they lack."""
    owner = scene.subject.source.parent(function)
    named = isinstance(owner, ast.ClassDef) and f"'{owner.name}'" in scene.message
    return named and function.name == "__init__" and ("__init__()" in scene.message or "no attribute" in scene.message)


def is_too_deep(scene: Scene, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is the last in a method and takes `self`, and the message says that there is none of its name."""
    method = scene.subject.source.parent(node)
    if not isinstance(method, FUNCTIONS) or method.body[-1] is not node:
        return False
    missed = any(f"{quote}{node.name}{quote}" in scene.message for quote in "'\"")
    of_class = isinstance(scene.subject.source.parent(method), ast.ClassDef)
    return missed and of_class and [each.arg for each in node.args.args[:1]] == ["self"]


def places(scene: Scene) -> list[Place]:
    """The slice of a crash, nearest first; each expression once."""
    found: dict[Site, Place] = {}
    for node, role, steps, told in _walk(scene):
        site = scene.site(node)
        known = found.get(site)
        if known is None:
            found[site] = Place(node, role, steps, told or scene.told(node))
        elif known.told is None and told is not None:
            found[site] = replace(known, told=told)
    return sorted(found.values(), key=lambda place: place.steps)


Step = tuple[ast.expr, Role, int, Told | None]


def _walk(scene: Scene) -> Iterator[Step]:
    source = scene.subject.source
    crash = scene.subject.crash
    written = [frame.site for frame in reversed(crash.written) if not frame.site.path] if crash is not None else []
    under_way = (*written, *(frame.statement for frame in scene.frames))
    statements = [None if site.path else source.places.node_at(site) for site in under_way]
    sites = set(written[:1]) or ({frame.site for frame in crash.frames} if crash is not None else set())
    pending: list[tuple[ast.expr, int]] = []
    for number, statement in enumerate(statements):
        if statement is None:
            continue
        for node in parts(statement):
            failing = any(scene.site(node) == site or site.encloses(scene.site(node)) for site in sites)
            role = Role.CALLER if number else Role.FAILING if failing else Role.STATEMENT
            steps = 2 * number + (0 if failing else 1)
            yield node, role, steps, None
            if isinstance(node, ast.Name | ast.Attribute) and number < 2:
                pending.append((node, steps + 1))
    yield from _constructors(scene)
    if "does not require grad" in scene.message:
        cuts = [call for call in source.all_calls if isinstance(call.func, ast.Attribute) and call.func.attr in CUTTING]
        yield from ((call, Role.SOURCE, NEAR, None) for call in cuts)
    for value, steps in _given(scene):
        for node in parts(value):
            yield node, Role.SOURCE, steps, None
            if isinstance(node, ast.Name | ast.Attribute):
                pending.append((node, steps + 1))
    seen: set[int] = set()
    for _ in range(DEFINITIONS):
        following: list[tuple[ast.expr, int]] = []
        for use, steps in pending:
            for value in definitions(source, use):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                held = _held_by(source, value, scene.told(use))
                for node in parts(value):
                    yield node, Role.DEFINITION, steps, held if node is value else None
                    if isinstance(node, ast.Name | ast.Attribute):
                        following.append((node, steps + 1))
                for test in _decided_by(source, value):
                    for node in parts(test):
                        yield node, Role.DEFINITION, steps + 1, None
        pending = following


def parts(root: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement or expression, those of statements in its blocks left out, outermost first."""
    if isinstance(root, ast.expr):
        yield root
    for child in ast.iter_child_nodes(root):
        if isinstance(child, ast.expr | ast.keyword | ast.withitem | ast.comprehension):
            yield from parts(child)


def _held_by(source: Source, value: ast.expr, told: Told | None) -> Told | None:
    """What an expression held that gave a name its value, as far as what the name held tells it."""
    match source.parent(value):
        case ast.Expr():  # it was done to what is named
            return None
        case ast.Call(func=ast.Attribute(attr=name)) if name in FILLING:
            return told.items[-1] if told is not None and told.items else None
    return told


def _decided_by(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    """The tests of the branches that a definition stands in."""
    branch = source.enclosing(value, ast.If, *FUNCTIONS)
    while isinstance(branch, ast.If):
        yield branch.test
        branch = source.enclosing(branch, ast.If, *FUNCTIONS)


def _constructors(scene: Scene) -> Iterator[Step]:
    """The constructor calls of the layers that were called last, the last one first."""
    network = scene.subject.network
    crash = scene.subject.crash
    sites: list[Site] = []
    if crash is not None and crash.call is not None and crash.call.made_at is not None:
        sites.append(crash.call.made_at)
    sites += [call.made_at for call in reversed(network.calls) if call.made_at is not None]
    sites += [part.site for part in reversed(network.components) if part.site is not None]
    for number, site in enumerate(list(dict.fromkeys(sites))[:LAYERS]):
        node = scene.subject.node(site)
        if isinstance(node, ast.Call):
            for part in parts(node):
                yield part, Role.CONSTRUCTOR, 1 + number // 2, None


def _given(scene: Scene) -> Iterator[tuple[ast.expr, int]]:
    """What functions of the program's own gave last, with steps: first where it is like what met in the failing statements."""
    met = [told for frame in scene.frames[:2] for told in frame.values.values()]
    found: list[tuple[int, ast.expr]] = []
    for number, frame in enumerate(frame for frame in scene.past if not frame.path):
        left_at = scene.subject.source.places.node_at(frame.statement)
        left_at = left_at.value if isinstance(left_at, ast.Expr) else left_at
        value = left_at.value if isinstance(left_at, ast.Return | ast.Yield) else None
        if value is None:
            continue
        told = scene.told(value)
        like = told is not None and any(_is_like(one, other) for one in (told, *told.items) for other in met)
        of_data = frame.function in OF_DATA or isinstance(left_at, ast.Yield)
        found.append((NEAR + number // 4 if like else FAR - of_data + number // 4, value))
    for steps, value in sorted(found, key=lambda each: each[0]):
        yield value, steps


def _is_like(given: Told, met: Told) -> bool:
    """Whether a value may be what was met later, or one of those that were put together to it."""
    if given.kind != met.kind:
        return given.is_array and met.is_array and bool(given.shape) and given.shape == (met.shape or ())[1:]
    if given.shape is not None and met.shape is not None:
        return bool(met.shape) and given.shape in (met.shape, met.shape[1:])
    return given.kind not in PLAIN
