"""Abstract values of the data-flow analysis, and its result: the pieces of data with their uses."""

from __future__ import annotations

import ast
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Use:
    """What was done with a piece of data or a part of it; `part` is the way to the part."""

    part: tuple[tuple[Any, ...], ...]
    kind: str
    detail: Any
    line: int
    exact: bool = True


@dataclass(eq=False)
class Datum:
    """A piece of data that has to be made: an undefined name, or what one call reads."""

    name: str
    kind: str
    node: ast.expr
    line: int
    path: str | None = None
    uses: list[Use] = field(default_factory=list)
    reached: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    """The keywords of the call that reads it, as far as they are constants; a second argument stands under "second"."""
    module: str = ""
    """The module beside the program that reads it."""

    def of(self, *kinds: str) -> list[Use]:
        """The uses of these kinds."""
        return [use for use in self.uses if use.kind in kinds]


@dataclass
class Flow:
    """What was found: the data, and the paths that something is written to."""

    data: list[Datum] = field(default_factory=list)
    written: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class View:
    """A part of a piece of data; not `exact` where something unknown was done with it."""

    datum: Datum
    part: tuple[tuple[Any, ...], ...] = ()
    exact: bool = True

    def at(self, *step: Any) -> View:
        """A part of this part."""
        return replace(self, part=(*self.part, step)) if len(self.part) < 6 else replace(self, exact=False)

    @property
    def is_rows(self) -> bool:
        """Whether it is what a reader of rows gives, one row after the other."""
        return bool(self.part) and self.part[-1][0] == "rows"

    @property
    def element(self) -> View:
        """What a loop over it gets; rows of fields are those of a line that is split."""
        if not self.is_rows:
            return self.at("element")
        split = (("split", separator),) if (separator := self.part[-1][1]) is not None else ()
        return replace(self, part=(*self.part[:-1], ("element",), *split))

    @property
    def is_row(self) -> bool:
        """Whether it is one row of fields: a line that is split, or a record of named ones."""
        return self.part[-2:-1] == (("element",),) and self.part[-1][0] == "split"


@dataclass(frozen=True)
class Known:
    """A constant."""

    value: Any


@dataclass(frozen=True)
class Pack:
    """Several values together: a tuple, a list, a data set of tensors."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Drawn:
    """A constant that is drawn from several ones while the program runs: any of them."""

    values: tuple[str | int, ...]


@dataclass(frozen=True)
class Placed:
    """A placeholder of a graph."""

    shape: tuple[int | None, ...] | None


@dataclass(eq=False)
class Thing:
    """An instance of a class of the program; `home` is who follows the file that the class is in."""

    definition: ast.ClassDef
    attributes: dict[str, Value] = field(default_factory=dict)
    home: object = None


Value = View | Known | Pack | Drawn | Placed | Thing | None
Names = dict[str, Value]


def parts(value: Value) -> Iterator[View]:
    """The views in a value."""
    if isinstance(value, View):
        yield value
    elif isinstance(value, Pack):
        for item in value.items:
            yield from parts(item)


def all_parts(values: Iterable[Value]) -> Iterator[View]:
    """The views in several values."""
    for value in values:
        yield from parts(value)


def text_in(value: Value) -> str | None:
    """The string that a value is."""
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else None


def number_in(value: Value) -> int | None:
    """The integer that a value is."""
    return value.value if isinstance(value, Known) and isinstance(value.value, int) else None


def plain(value: Value) -> Any:
    """The constant that a value is; `None` for any other value."""
    return value.value if isinstance(value, Known) else None


def constants(values: dict[str, Value]) -> dict[str, Any]:
    """Those of named values that are constants."""
    return {name: value.value for name, value in values.items() if isinstance(value, Known)}


def packed(values: Sequence[Value], is_list: bool = False) -> Value:
    """Several values as one: a constant where all of them are constants."""
    if all(isinstance(value, Known) for value in values):
        known = [plain(value) for value in values]
        return Known(known if is_list else tuple(known))
    return Pack(tuple(values))


LONGEST = 100_000
"""Characters or items of a constant that is worked out, at most: a program can ask for more than there is memory for."""

_WIDE = re.compile(
    r"%(?:\([^)]*\))?[-+ #0]*(?:\d{4,}|\*|\d*\.(?:\d{4,}|\*))"  # %9999999d, %*d
    r"|\{[^{}]*:[^{}]*(?:\d{4,}|\{)"  # {:9999999d}, {:{}d}
)


def is_wide(text: str) -> bool:
    """Whether a format string asks for a width that may be enormous."""
    return _WIDE.search(text) is not None


def is_single(*values: Any) -> bool:
    """Whether values are not collections: a small nested collection (`x = [x, x]`, repeated) may have an endless
    string form.
    """
    return not any(isinstance(value, (list, tuple, dict, set)) for value in values)


def calculated(left: Known, op: ast.operator, right: Known) -> Value:
    """The result of an operator on two constants; `None` where it is not computed."""
    a, b = left.value, right.value
    try:
        if isinstance(op, ast.Add) and type(a) is type(b) and isinstance(a, (str, list, tuple)):
            return Known(a + b) if len(a) + len(b) <= LONGEST else None
        if isinstance(op, ast.Add) and type(a) is type(b) and isinstance(a, (int, float)):
            return Known(a + b)
        into = b if isinstance(b, (list, tuple)) else b.values() if isinstance(b, dict) else (b,)
        if isinstance(op, ast.Mod) and isinstance(a, str) and is_single(*into) and not is_wide(a):
            return Known(a % (tuple(b) if isinstance(b, (list, tuple)) else b))
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            if isinstance(op, ast.Sub):
                return Known(a - b)
            if isinstance(op, ast.Mult) and abs(a) < 10**6 and abs(b) < 10**6:
                return Known(a * b)
            if isinstance(op, ast.FloorDiv):
                return Known(a // b)
            if isinstance(op, ast.Div):
                return Known(a / b)
        if isinstance(op, ast.Div) and isinstance(a, str) and isinstance(b, str):
            return Known(os.path.join(a, b))  # a text has no division: these are paths of pathlib
        if isinstance(op, ast.Mult) and isinstance(a, (str, list)) and isinstance(b, int) and 0 <= b < 100:
            return Known(a * b) if len(a) * b <= LONGEST else None
    except (ArithmeticError, TypeError, ValueError):
        return None
    return None


def selection(index: ast.expr, value_of: Callable[[ast.expr], Value]) -> tuple[Any, ...] | None:
    """Which columns an index takes: `("one", 3)`, `("range", 0, 8)`, `("names", (…))`; `None` for what is unknown."""
    if isinstance(index, ast.Slice):
        ends = [value_of(end) if end is not None else Known(None) for end in (index.lower, index.upper)]
        if all(isinstance(end, Known) and isinstance(end.value, (int, str, type(None))) for end in ends):
            return ("range", plain(ends[0]), plain(ends[1]))
        return None
    known = plain(value_of(index))
    if isinstance(known, (list, tuple, range)):
        return ("names", tuple(known))
    return ("one", known) if isinstance(known, (int, str)) else None


def sizes(value: Value) -> tuple[int | None, ...] | None:
    """A shape: what is known of its sizes."""
    if isinstance(value, Known) and isinstance(value.value, (list, tuple)):
        return tuple(number_in(Known(item)) for item in value.value)
    return tuple(number_in(item) for item in value.items) if isinstance(value, Pack) else None
