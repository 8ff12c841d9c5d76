"""Replaces one attribute of a live object by what an edited line of its constructor makes, and restores it afterwards.

A network whose layer has a wrong size is still alive when the program stops: the edited line that makes the layer is
run again with the object as `self`, and the network is called as before.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from typing import Any, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import stopped
from .stopped import Change, Standing


class _Place(NamedTuple):
    """The frame from whose caller on the object is used, the object, its part's name, and what makes the part anew."""

    number: int
    owner: Any
    name: str
    code: Any
    space: Dict[str, Any]


def place_of(frames: Sequence[Standing], changes: Dict[str, List[Change]]) -> Optional[_Place]:
    """The line `self.name = ...` of a constructor that an edit changes, if a frame belongs to the object; else `None`.

    `None` too where the line needs names that only its function had, or is no Python any more.
    """
    if len(changes) != 1:
        return None
    filename, own = next(iter(changes.items()))
    text = stopped.text(filename)
    for made in text.tree.body:
        if not isinstance(made, ast.ClassDef):
            continue
        start, end = text.whole(made)
        if not all(start <= change.start and change.end <= end for change in own):
            continue
        for function in made.body:
            if isinstance(function, ast.FunctionDef) and function.name == "__init__":
                statement = _assignment(text, function, own)
                found = _object(frames, filename, made.name)
                if statement is not None and found is not None:
                    return _place(frames, *found, statement, function, own)
    return None


def _place(
    frames: Sequence[Standing],
    number: int,
    owner: Any,
    statement: ast.Assign,
    function: ast.FunctionDef,
    changes: List[Change],
) -> Optional[_Place]:
    text = stopped.text(frames[number].filename)
    target: Any = statement.targets[0]
    try:
        edited = ast.parse("(\n%s\n)" % text.between(*text.span(statement.value), changes), mode="eval")
        code = compile(edited, "<part>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    space = _space(frames[number], owner, function)
    names = {node.id for node in ast.walk(edited) if isinstance(node, ast.Name)}
    if not names <= set(space) | set(dir(builtins)):
        return None
    return _Place(number, owner, target.attr, code, space)


def rebuild(frames: Sequence[Standing], changes: Dict[str, List[Change]]) -> Optional[ContextManager[int]]:
    """A context in which the attribute is the edited one; gives the index of the frame whose caller is to be run again.

    `None` where the edit lies elsewhere, or where the line needs names that only its function had.
    """
    place = place_of(frames, changes)
    return None if place is None else _exchanged(place)


@contextlib.contextmanager
def _exchanged(place: _Place) -> Iterator[int]:
    before = getattr(place.owner, place.name)
    setattr(place.owner, place.name, eval(place.code, place.space))
    try:
        yield place.number
    finally:
        setattr(place.owner, place.name, before)


def _assignment(text: stopped.Text, function: ast.FunctionDef, changes: Sequence[Change]) -> Optional[ast.Assign]:
    for statement in function.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        start, end = text.span(statement.value)
        of_self = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        if of_self and all(start <= change.start and change.end <= end for change in changes):
            return statement
    return None


def _object(frames: Sequence[Standing], filename: str, name: str) -> Optional[Tuple[int, Any]]:
    """The outermost frame, the first apart, that belongs to an object of the class, and the object."""
    for number, one in enumerate(frames):
        owner = one.frame.f_locals.get("self")
        if number and owner is not None and type(owner).__name__ == name and one.filename == filename:
            return number, owner
    return None


def _space(one: Standing, owner: Any, function: ast.FunctionDef) -> Dict[str, Any]:
    """The names that the line had: those of the module, the object, and arguments that the object kept under their names."""
    space = dict(one.frame.f_globals, self=owner)
    for argument in function.args.args[1:]:
        space.pop(argument.arg, None)
        if argument.arg in vars(owner):
            space[argument.arg] = vars(owner)[argument.arg]
    return space
