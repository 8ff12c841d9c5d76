"""What a guess looks like before it is run: the traits that the prior weighs."""

from __future__ import annotations

from dataclasses import dataclass

from dnnfix.records import Edit, SetArgument, Wrap
from dnnfix.source.program import Source
from dnnfix.synthesize.operators import Change
from dnnfix.synthesize.slices import Place

SHORT = 5
"""Characters below which an edit stands elsewhere in most programs, and says nothing by it: `[0]`, `.t()`."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What the likelihood of a guess is made of: see `Place` for `role` and `steps`, `Change` for `form` and `likeness`.

    `order` is the operator's own order at the place, from 0.
    """

    operator: str
    form: str
    role: str
    steps: int
    order: int = 0
    likeness: float = 0.0
    wide: str = ""
    """How the change goes beyond its place: `alike` and `everywhere` at all places alike, `rebound` for all that follows."""
    seen: bool = False
    """Whether what is put beside what stands there, a call around it or an argument, stands elsewhere in the program."""


def traits_of(source: Source, operator: str, change: Change, place: Place, order: int) -> Traits:
    """The traits of a change that an operator offers at a place."""
    put = _put(change.edits[0])
    seen = len(put) >= SHORT and put in source.text
    return Traits(operator, change.form, place.role.value, place.steps, order, change.likeness, seen=seen)


def _put(edit: Edit) -> str:
    """What an edit puts beside what stands there."""
    match edit:
        case Wrap(before=before, after=after):
            return before if not after.strip(")") else after
        case SetArgument(name=name, code=code):
            return f"{name}={code}"
        case _:
            return ""
