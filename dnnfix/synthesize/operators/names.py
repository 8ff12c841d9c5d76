"""The operator "names": another name or attribute that is spelt alike or holds a fitting value, or a missing import."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
from collections.abc import Iterable, Iterator

from dnnfix.records import AddImport, FixPattern, Replace
from dnnfix.source.spelling import SHORT, slips
from dnnfix.source.spelling import parts as words_of
from dnnfix.source.tree import parameter_names
from dnnfix.synthesize.definitions import FUNCTIONS
from dnnfix.synthesize.operators import beginnings
from dnnfix.synthesize.operators.change import NUMBER, Change, replaced
from dnnfix.synthesize.scene import Scene, Told
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.NEURAL_CONNECTION

NEAR = 12
"""Names that are tried for one, the most alike first."""

SPELLING = 6.0
"""What a name loses, in logarithms, for each unit of likeness that another, or a good one, has more."""

SAME_WORDS = 0.95
"""Likeness of the letters of two names that have the same words in another order."""

ABBREVIATED = 0.85
"""Likeness of the letters of a name and the beginning of it."""

IN_PLACE = -1.5
"""What another size loses, in logarithms, for a name that is given as the parameter of the same name."""

ONLY_ABLE = -0.6
"""What the only other attribute loses that has what is asked of the missing one, however it is spelt."""

ONE_OF_THE_ABLE = -2.0
"""What one of several such attributes loses."""

HAS_WHAT_IS_MISSING = 2.5
"""What a name gains whose object has the attribute that another one was asked for in vain, shared by all that have it."""

READ_NOWHERE = 1.2
"""What a name gains, in logarithms, that is given a value and read nowhere, where another one is missing.

Half of what it loses for being spelt otherwise is forgiven, too.
"""

WORDS = 0.3
"""What a name gains for words in common, and for being the beginning of the other."""

BELOW = 0.1
"""What a name loses for each module that it is further down in."""

OTHERWISE = 0.2
"""What a name of a class loses against one of a function, where a function is looked for, and the other way round."""

ALL_OF_CLASS = 0.1
"""What it gains to set right all that is wrong in the same way in one class."""

TWICE = -1.0
"""What a size loses that stands beside already: rather the two are in each other's place."""

WHERE_SIZES_ARE_GIVEN = frozenset({Role.CONSTRUCTOR, Role.DEFINITION})
"""Places where a name of another kind for a size may have been meant."""

UNLIKE = -2.0
"""What such a name loses elsewhere, in logarithms, for each unit of likeness that it falls short."""

FAR = -0.7
"""What a name loses that is neither a good one nor a letter off."""

HALF = 0.5
"""Share of a name that another one has to be for it to say something that the one is in it: `rand` is not `randrange`."""

OF_BOXED = frozenset({"data", "value"})
"""Attributes by which older versions gave the number in a size or a loss, where it is a plain number now."""

PLAIN = 2.2
"""What taking such an attribute away from a plain number gains."""

GOOD = 0.9
"""Likeness from which on a name may be the one that was meant."""


def _own_class(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`super(Other, self)` in a class that is not that one."""
    owner = scene.subject.source.enclosing(node, ast.ClassDef)
    if not isinstance(owner, ast.ClassDef):
        return
    match node:
        case ast.Call(func=ast.Name(id="super"), args=[ast.Name() as named, _]) if named.id != owner.name:
            yield replaced(scene, named, owner.name, "own class")
            same = [given for node in ast.walk(owner) if (given := _super_of(node, named.id)) is not None]
            if len(same) > 1:
                edits = tuple(Replace(scene.site(each), owner.name) for each in same)
                yield Change(edits, f"Take {owner.name} for {named.id} in the whole class", "own class", ALL_OF_CLASS)


def _super_of(node: ast.AST, name: str) -> ast.Name | None:
    """The class that `super(name, …)` is given."""
    match node:
        case ast.Call(func=ast.Name(id="super"), args=[ast.Name(id=of) as given, _]) if of == name:
            return given
    return None


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other names for the name, or the attribute, at a place."""
    node = place.node
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _for_name(scene, place, node)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from _for_attribute(scene, place, node)
    elif isinstance(node, ast.Call):
        yield from _own_class(scene, node)


def _for_name(scene: Scene, place: Place, node: ast.Name) -> Iterator[Change]:
    names = scene.names(node)
    missing = scene.kind in ("NameError", "UnboundLocalError") and f"'{node.id}'" in scene.message
    if missing and node.id in sys.stdlib_module_names:
        yield Change((AddImport(f"import {node.id}"),), f"Import {node.id}", "import")
    if missing:
        yield from beginnings.kept(scene, node)
    if f"self.{node.id}" in names:
        yield replaced(scene, node, f"self.{node.id}", "of self")
    held = place.told
    uncallable = node.id not in names or (not names[node.id].takes and "not callable" in scene.message)
    shadows = hasattr(builtins, node.id) and uncallable and scene.kind == "TypeError"
    if missing or (shadows and place.role is Role.FAILING and scene.subject.source.is_called(node)):
        owners = [name for name, told in names.items() if node.id in told.attributes]
        yield from (replaced(scene, node, f"{owner}.{node.id}", "of another") for owner in owners[:NEAR])
    known = [name for name in names if name != node.id and not name.startswith("__")]
    if missing:
        known += [name for name in dir(builtins) if scene.subject.source.is_called(node) and not name.startswith("_")]
        unread = _unread_names(scene, node)
        for name, less in _likeliest(node.id, known, unread):
            if not _is_given_beside(scene, node, name):
                yield replaced(scene, node, name, "spelling", less)
    else:
        fits = [
            name
            for name in known
            if held is not None
            and not names[name].module
            and not (held.module or (held.takes and not names[name].takes))
        ]
        sized = [name for name in fits if place.told is not None and _speaks_of(scene, place.told, names[name])]
        for name in sized:
            less = TWICE * _stands_beside(scene, node, name) + IN_PLACE * (scene.parameter(node) == node.id)
            less += UNLIKE * (place.role not in WHERE_SIZES_ARE_GIVEN) * max(0.0, GOOD - alike(node.id, name))
            yield replaced(scene, node, name, "sized", less)
        able = _with_the_missing(scene, node, held, fits)
        for name in able:
            yield replaced(scene, node, name, "name", HAS_WHAT_IS_MISSING / len(able))
        fits = [name for name in fits if name not in (*sized, *able)]
        for name in sorted(fits, key=lambda name: -alike(node.id, name))[:NEAR]:
            yield replaced(scene, node, name, "name", SPELLING * min(0.0, alike(node.id, name) - 1.0))


def _with_the_missing(scene: Scene, node: ast.Name, held: Told | None, known: Iterable[str]) -> list[str]:
    """Names in reach that hold what has the attribute that an object of the kind of `held` was asked for in vain.

    None for a parameter: rather its function is given another object than it passes over the one that it is given.
    """
    lacks = beginnings.LACKS.search(scene.message) if scene.kind == "AttributeError" else None
    function = scene.subject.source.enclosing(node, *FUNCTIONS)
    given = isinstance(function, FUNCTIONS) and node.id in parameter_names(function)
    if held is None or given or lacks is None or lacks[1] != held.kind.rpartition(".")[2]:
        return []
    return [name for name in known if lacks[2] in scene.names(node)[name].attributes]


def _stands_beside(scene: Scene, node: ast.Name, name: str) -> bool:
    """Whether a name is an element of the same display, or an argument of the same call, already."""
    match scene.subject.source.parent(node):
        case ast.Tuple(elts=beside) | ast.List(elts=beside) | ast.Call(args=beside):
            return any(isinstance(other, ast.Name) and other.id == name for other in beside)
    return False


def _is_given_beside(scene: Scene, node: ast.Name, name: str) -> bool:
    """Whether the same call is given that name already: a loss of a tensor and itself was meant by nobody."""
    above = scene.subject.source.parent(node)
    return isinstance(above, ast.Call) and node in above.args and _stands_beside(scene, node, name)


def _speaks_of(scene: Scene, held: Told, other: Told) -> bool:
    """Whether the message names a number that stands in a place, and the one that a name holds."""
    both = {number for number in (held.number, other.number) if isinstance(number, int) and number > 1}
    return len(both) == 2 and both <= {int(text) for text in NUMBER.findall(scene.message)}


def _for_attribute(scene: Scene, place: Place, node: ast.Attribute) -> Iterator[Change]:
    if node.attr.startswith("__") and not node.attr.endswith("_") and f"{node.attr}'" in scene.message:
        yield replaced(scene, node, f"{scene.code(node.value)}.{node.attr}__", "attribute")  # it was asked for mangled
    missing = scene.kind in ("AttributeError", "ImportError") and f"'{node.attr}'" in scene.message
    if missing and place.role in (Role.FAILING, Role.STATEMENT):
        called = scene.subject.source.is_called(node)
        in_vain = scene.subject.source.is_called_in_vain(
            node
        )  # a method that gives a new object would do nothing there
        fits = [
            name
            for name, sort in scene.near
            if (sort != "value") == called and not (in_vain and node.attr == f"{name}_")
        ]
        able = _able(scene, node)
        for name in able:
            yield replaced(scene, node, name, "attribute", ONLY_ABLE if len(able) == 1 else ONE_OF_THE_ABLE)
        for name, less in _likeliest(node.attr, fits, _unread_attributes(scene, node)):
            yield replaced(scene, node, f"{scene.code(node.value)}.{name}", "attribute", less)
        if f"{node.attr}s" in fits:
            yield replaced(scene, node, f"{scene.code(node.value)}.{node.attr}s[0]", "one of several")
        if node.attr in scene.names(node):
            yield replaced(scene, node, node.attr, "alone")
        joined = f"{ast.unparse(node.value)}_{node.attr}"
        if joined in scene.names(node):
            yield replaced(scene, node, joined, "joined")
        held = scene.told(node.value)
        plain = held is not None and held.kind in ("int", "float") and node.attr in OF_BOXED
        yield replaced(scene, node, scene.code(node.value), "no attribute", PLAIN * plain)
        above = scene.subject.source.parent(node)
        if isinstance(above, ast.Attribute) and isinstance(above.ctx, ast.Load):
            yield replaced(scene, above, f"{scene.code(node.value)}.{above.attr}", "attribute")
        return
    names = scene.names(node)
    own = f"{ast.unparse(node.value)}."
    others = [name for name in names if name.startswith(own) and name != ast.unparse(node)]
    for name in sorted(others, key=lambda name: -alike(ast.unparse(node), name))[:6]:
        yield replaced(scene, node, name, "other attribute")


def _able(scene: Scene, node: ast.Attribute) -> list[str]:
    """The attributes of the same object that have what is asked of the one that is missing."""
    above = scene.subject.source.parent(node)
    if not isinstance(above, ast.Attribute):
        return []
    own = f"{ast.unparse(node.value)}."
    return [name for name, told in scene.names(node).items() if name.startswith(own) and above.attr in told.attributes]


def _likeliest(name: str, known: Iterable[str], unread: set[str]) -> Iterator[tuple[str, float]]:
    """The names most alike to one that is missing, and those that are made and read nowhere."""
    for number, (other, less) in enumerate(ranked(name, known)):
        if number < NEAR or other in unread:
            yield other, (less / 2 + READ_NOWHERE) if other in unread else less


def _unread_names(scene: Scene, node: ast.Name) -> set[str]:
    """Names that the function around a name, or the program where there is none, gives a value and does not read.

    Those that begin with an underscore are not read on purpose.
    """
    home = scene.subject.source.enclosing(node, *FUNCTIONS) or scene.subject.source.tree
    names = [each for each in ast.walk(home) if isinstance(each, ast.Name)]
    made = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    if isinstance(home, FUNCTIONS):
        made |= {each.arg for each in (*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs)}
    return {name for name in made if name[0] != "_"} - {each.id for each in names if isinstance(each.ctx, ast.Load)}


def _unread_attributes(scene: Scene, node: ast.Attribute) -> set[str]:
    """Attributes that a class gives its objects and that nothing in the program reads."""
    if ast.unparse(node.value) != "self":
        return set()
    owner = scene.subject.source.enclosing(node, ast.ClassDef)
    attributes = scene.subject.source.nodes(ast.Attribute)
    read = {each.attr for each in attributes if isinstance(each.ctx, ast.Load)}
    inside = [each for each in ast.walk(owner) if isinstance(each, ast.Attribute)] if owner is not None else []
    return {each.attr for each in inside if isinstance(each.ctx, ast.Store)} - read


def ranked(name: str, known: Iterable[str]) -> list[tuple[str, float]]:
    """Names by how alike they are to one that is missing, each with what it loses against the most alike, or a good one."""
    found = sorted(((alike(name, other), other) for other in set(known)), key=lambda each: (-each[0], each[1]))
    best = max([GOOD, *(likeness for likeness, _ in found[:1])])
    return [(other, SPELLING * (likeness - best) + FAR * _is_far(name, other, likeness)) for likeness, other in found]


def _is_far(name: str, other: str, likeness: float) -> bool:
    """Whether a name is another word rather than a slip of the keys."""
    return likeness < GOOD and slips(name.lower(), other.rpartition(".")[2].lower()) > 1


def plain(text: str) -> str:
    """A text without what separates words: `inplace`, `in_place` and `in-place` are one."""
    return re.sub(r"[-_ ]", "", text).lower()


def alike(one: str, other: str) -> float:
    """How alike two names are: letters, words in common, one as the beginning of the other, and how they are written.

    A name that is looked for with dots, as `summary.scalar`, is as like as its last part, or as its words in any order.
    """
    last = other.rpartition(".")[2]
    if last == other:
        return _alike(one, other)
    dotted = _alike(one, other.replace(".", "_")) if set(words_of(one)) == set(words_of(other)) else 0.0
    return max(dotted, _alike(one, last)) - BELOW * other.count(".")


def _alike(one: str, other: str) -> float:
    first, second = (name.lower().replace("_", "") for name in (one, other))
    words = [set(words_of(name)) for name in (one, other)]
    letters = difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
    if words[0] == words[1]:
        letters = max(letters, SAME_WORDS)
    shared = len(words[0] & words[1]) / max(map(len, (*words, ".")))
    lengths = min(len(first), len(second)) / max(len(first), len(second), 1)
    if second.startswith(first) and len(first) >= SHORT:
        letters = max(letters, ABBREVIATED)
    if len(first) >= SHORT and any(word.startswith(one.lower()) for word in words_of(other)):
        letters = max(letters, ABBREVIATED - BELOW)
    within = lengths >= HALF and (first in second or second in first)
    begun = 1.0 if second.startswith(first) else lengths if within else 0.0
    written = one[:1].isupper() != other[:1].isupper()
    return letters + WORDS * shared + WORDS * begun - OTHERWISE * written
