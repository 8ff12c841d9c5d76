"""What a guess looks like before it is run: the traits that the prior weighs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dnnfix.records import AddImport, Edit, InsertBefore, RenameArgument, Replace, SetArgument, Wrap
from dnnfix.source.program import Source
from dnnfix.synthesize.operators import Change, Operator
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place

TAKEN_AWAY = 4
"""Characters that an edit counts for which only takes something away."""

_WORD = re.compile(r"[A-Za-z_]\w{2,}|\d+")


@dataclass(frozen=True, slots=True)
class Traits:
    """What the likelihood of a guess is made of.

    `node` is the class of the syntax at its place, `order` the operator's own order there, from 0; see `Place` for `role`
    and `steps`, `Change` for `form` and `likeness`.
    """

    operator: str
    form: str
    role: str
    steps: int
    order: int = 0
    likeness: float = 0.0
    node: str = ""
    crash: str = ""
    """The class of the exception, without its module."""
    wide: str = ""
    """How the change goes beyond its place: `alike` and `everywhere` at all places alike, `rebound` for all that follows."""
    size: int = 0
    """Characters that are put in, or differ."""
    seen: bool = False
    """Whether the program writes the same elsewhere."""
    said: bool = False
    """Whether what is written, a name or a number, is in the message of the crash and was not at the place before."""


def traits_of(scene: Scene, operator: Operator, change: Change, place: Place, order: int, wide: str = "") -> Traits:
    """The traits of a change that an operator offers at a place."""
    source = scene.subject.source
    old, new = _exchanged(source, change.edits[0])
    words = set(_WORD.findall(new)) - set(_WORD.findall(old))
    return Traits(
        operator.name,
        change.form,
        place.role.value,
        place.steps,
        order,
        change.likeness,
        type(place.node).__name__,
        scene.kind,
        wide,
        _differing(old, new) or TAKEN_AWAY,
        len(new) > 1 and new in source.text,
        not words.isdisjoint(_WORD.findall(scene.message)),
    )


def _exchanged(source: Source, edit: Edit) -> tuple[str, str]:
    """The text that an edit takes, and what it puts there."""
    match edit:
        case Replace(site=site, code=new):
            return source.segment(site), new
        case Wrap(before=before, after=after):
            return "", before if not after.strip(")") else after
        case SetArgument(name=name, code=code):
            return "", f"{name}={code}"
        case RenameArgument(old=old, new=new):
            return old, f"{new}="
        case InsertBefore(code=code) | AddImport(statement=code):
            return "", code
        case _:
            return "", ""


def _differing(old: str, new: str) -> int:
    """The characters between what two texts begin and end with alike, in the longer one."""
    short = min(len(old), len(new))
    start = next((n for n in range(short) if old[n] != new[n]), short)
    end = next((n for n in range(short - start) if old[-1 - n] != new[-1 - n]), short - start)
    return max(len(old), len(new)) - start - end
