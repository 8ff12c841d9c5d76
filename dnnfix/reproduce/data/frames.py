"""Derives the columns of a missing table, their names, positions and kinds, from how the program uses them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import clues
from dnnfix.reproduce.data.arrays import INPUT, TARGET, scaled_from_bytes
from dnnfix.reproduce.flow.values import Datum, Use

ROWS = 400
"""Rows where nothing tells: enough to split, and to look back a few hundred steps twice."""

FEATURES = 8
"""Columns where nothing tells how many a program takes together."""

MOST_COLUMNS = 10_000

_OF_FRAMES = frozenset(
    {
        "shape", "columns", "index", "values", "T", "dtypes", "size", "empty", "plot", "loc", "iloc", "ix", "samples", "n",
        "name", "names", "batch_size", "data", "target", "feature_names", "axes", "ndim", "flags", "is_cuda", "class_indices",
    }
)  # fmt: skip
_TEXTS = frozenset(
    {"text", "review", "reviews", "comment", "comment_text", "tweet", "message", "sentence", "content", "body", "title"}
)
_LABELS = frozenset(
    {"label", "labels", "class", "target", "y", "species", "category", "diagnosis", "outcome", "sentiment"}
)


@dataclass
class Table:
    """The columns of a table. `names` is None where the table has no header that the program could use."""

    names: list[str] | None
    kinds: list[str]
    classes: int = 2
    words: tuple[str, ...] = ()
    evidence: str = ""
    rows: int = ROWS
    said: list[str] = field(default_factory=list)


def frame_of(case: Case, datum: Datum) -> EditStep | Gap:
    """The step that defines a name which is used as a DataFrame."""
    table = table_of(case, datum, {})
    if table is None:
        return Gap(f"nothing tells what the columns of `{datum.name}` are", datum.line)
    names: list[str] | list[int] = table.names or list(range(len(table.kinds)))
    code = f"{datum.name} = made_frame({listed(names)}, {listed(table.kinds)}, {table.rows}, {table.classes}, words={table.words!r})"
    what = f"`{datum.name}`: a table of {table.rows} rows with {columns_in_words(table)}"
    return EditStep(
        EditAction.INPUT_DATA,
        what,
        table.evidence,
        datum.line,
        True,
        Scaffold(definitions=((datum.name, code),)),
    )


def listed(values: Sequence[str | int] | None) -> str:
    """A list as code, runs of equal or numbered items in short: `['number'] * 8 + ['label']`."""
    if values is None:
        return "None"
    groups: list[list[str | int]] = []
    for value in values:
        before = groups[-1] if groups else []
        if before and (value == before[0] == before[-1] or _follows(before, value)):
            before.append(value)
        else:
            groups.append([value])
    joined: list[list[str | int]] = []
    short = False
    for group in groups:
        if short and len(group) < 4:
            joined[-1] = [*joined[-1], *group]
        else:
            joined.append(group)
        short = len(group) < 4
    return " + ".join(_group(group) for group in joined) or "[]"


def _follows(before: list[str | int], value: str | int) -> bool:
    """Whether a name goes on with the numbers of those before it: column_0, column_1."""
    match = re.fullmatch(r"(\w+_)(\d+)", str(value))
    return match is not None and before[-1] == f"{match[1]}{int(match[2]) - 1}" and str(before[0]).startswith(match[1])


def _group(group: list[str | int]) -> str:
    if len(group) > 3 and len(set(group)) == 1:
        return f"[{group[0]!r}] * {len(group)}"
    stem, _, first = str(group[0]).rpartition("_")
    if len(group) > 3 and group == [f"{stem}_{int(first) + n}" for n in range(len(group)) if first.isdigit()]:
        return f"['{stem}_%d' % n for n in range({first}, {int(first) + len(group)})]"
    return repr(group)


def columns_in_words(table: Table) -> str:
    """The columns of a table in a few words."""
    if not table.names:
        return f"{len(table.kinds)} columns ({_counted(table.kinds)})"
    shown = ", ".join(f"{name} ({kind})" for name, kind in list(zip(table.names, table.kinds, strict=True))[:8])
    return f"the columns {shown}{', …' if len(table.kinds) > 8 else ''}"


def _counted(kinds: list[str]) -> str:
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def table_of(case: Case, datum: Datum, options: dict[str, Any]) -> Table | None:
    """The table that a program reads with these options; None where nothing describes it."""
    named = _named(datum, options)
    ends = clues.ends(case.source)
    without_header = options.get("header", 0) is None or "names" in options
    given = options.get("names")
    given = list(given) if isinstance(given, (list, tuple)) else None
    width, evidence = _width(datum, ends, without_header, options)
    width = min(width, MOST_COLUMNS)
    if given:
        names: list[str] | None = [str(name) for name in given]
        evidence = f"line {datum.line}: the names of the columns are given"
    elif named:
        names = named + [f"column_{place}" for place in range(max(0, width - len(named)))]
        evidence = f"the columns that the program names from line {_first_line(datum)} on"
        names, more = _filled(datum, names, ends)
        evidence += more
    elif width:
        names = None
    else:
        return None
    count = len(names) if names is not None else width
    table = Table(None if without_header or names is None else names, ["number"] * count, evidence=evidence)
    order = names or [str(place) for place in range(count)]
    _set_kinds(table, datum, order, ends, options)
    if names is None and not without_header:
        table.names = [f"column_{place}" for place in range(count)]
    return table


def _named(datum: Datum, options: dict[str, Any]) -> list[str]:
    """The columns that the program speaks of by name, in order."""
    found: dict[str, None] = {}
    made = {str(use.detail) for use in datum.of("new column")}
    for key in ("index_col", "usecols", "parse_dates"):
        value = options.get(key)
        for name in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(name, str):
                found[name] = None
    for use in datum.uses:
        if use.kind == "columns" and isinstance(use.detail, (list, tuple)):
            return [str(name) for name in use.detail]
        if use.kind == "column":
            values = use.detail[1:] if use.detail[0] != "one" else (use.detail[1],)
            for value in values:
                for name in value if isinstance(value, tuple) else (value,):
                    if isinstance(name, str) and name not in made:
                        found[name] = None
        elif use.kind == "attribute" and all(step[0] == "column" for step in use.part):
            found.update({name: None for name in [str(use.detail)] if name not in _OF_FRAMES and name[0] != "_"})
    return list(found)


def _first_line(datum: Datum) -> int:
    return min((use.line for use in datum.uses if use.kind in ("column", "attribute", "columns")), default=datum.line)


def _width(datum: Datum, ends: clues.Ends, without_header: bool, options: dict[str, Any]) -> tuple[int, str]:
    """How many columns the program takes by their places, and where it does."""
    highest, line, last = 0, 0, None
    taken = options.get("usecols")
    if isinstance(taken, (list, tuple)) and taken and all(isinstance(place, int) for place in taken):
        return max(taken) + 1, f"line {datum.line}: usecols={list(taken)}"
    whole = _values(datum, apart=False) or _beside(datum, ends)
    if whole is not None:
        return whole
    for use in datum.uses:
        if any(step[0] == "column" for step in use.part):
            continue
        places: list[int] = []
        if use.kind == "column" and use.detail[0] == "one" and isinstance(use.detail[1], int):
            places = [use.detail[1] + 1]
        elif use.kind == "column" and use.detail[0] == "names":
            places = [place + 1 for place in use.detail[1] if isinstance(place, int)]
        elif use.kind == "column" and use.detail[0] == "range" and isinstance(use.detail[2], int):
            places = [use.detail[2]]
        elif use.kind == "item" and without_header and isinstance(use.detail, int):
            places = [use.detail + 1]
        elif use.kind == "columns" and isinstance(use.detail, (list, tuple)):
            places = [len(use.detail)]
        for place in places:
            if place > highest:
                highest, line = place, use.line
            if place <= 0 and use.detail[0] in ("one", "range"):
                last = use.line
    if last is not None and ends.inputs and len(ends.inputs) == 1 and ends.inputs[0]:
        wanted = ends.inputs[0] + 1
        if wanted > highest:
            return wanted, f"line {last}: the last column is apart; the others: " + clues.FROM_NETWORK.format(
                what="input"
            )
    if last is not None and datum.kind == "matrix" and not highest:
        return FEATURES + 1, f"line {last}: the last column is apart; how many others there are: a guess"
    if last is not None and not datum.of("opened"):
        return 0, ""
    if last is not None:
        return highest + 1, f"line {last}: the last column is apart"
    if highest and (opened := _open(datum, highest)) is not None:
        return highest + FEATURES, f"line {opened.line}: columns from {highest} on; how many: a guess"
    return highest, f"line {line}: {highest} columns are used"


def _open(datum: Datum, first: int) -> Use | None:
    """Where all columns from a place on are taken, however many they are."""
    return next((use for use in datum.of("column") if not use.part and use.detail == ("range", first, None)), None)


def _beside(datum: Datum, ends: clues.Ends) -> tuple[int, str] | None:
    """The columns that are taken by place, and the rest of them that becomes images or the network's input."""
    if (steps := _of_a_series(datum)) is not None:
        return steps
    for use in datum.of("reshape"):
        taken = use.part[0][1] if len(use.part) == 1 and use.part[0][0] == "column" else None
        sizes = use.detail if _is_of_one(use.detail) else use.detail[1:]
        if taken is not None and (others := _others(taken)) and all(isinstance(s, int) and s > 0 for s in sizes):
            return math.prod(sizes) + others, f"line {use.line}: rows are reshaped to {tuple(sizes)}"
    wanted = ends.inputs[0] if ends.inputs and len(ends.inputs) == 1 else None
    taken = {use.detail for use in datum.of("column") if not use.part}
    for use in datum.of("column"):
        if wanted and not use.part and (others := _others(use.detail)):
            before_it = others == wanted and {("range", None, wanted), ("range", 0, wanted)} & taken
            others, what = (ends.outputs or 1, "output") if before_it else (others, "input")
            return wanted + others, f"line {use.line}: the others: " + clues.FROM_NETWORK.format(what=what)
    return None


def _of_a_series(datum: Datum) -> tuple[int, str] | None:
    """The columns that are taken by place, and the steps of a series in the others: those that a placeholder takes, or
    more, where pieces of that length are taken somewhere within.
    """
    found: list[tuple[int, str]] = []
    for use in datum.uses:
        others = _others(use.part[0][1]) if use.part[:1] and use.part[0][0] == "column" else 0
        if not others:
            continue
        if use.kind == "fed" and len(use.part) == 1 and use.detail and len(use.detail) == 2 and use.detail[1]:
            told = clues.FROM_NETWORK.format(what="placeholder")
            found.append((use.detail[1] + others, f"line {use.line}: the others: {told}"))
        within = use.kind == "arithmetic" and use.part[1:] == (("shape",), ("item", 1)) and use.detail[0] == "Sub"
        if within and isinstance(use.detail[1], int) and use.detail[1] > 0:
            found.append((2 * use.detail[1] + others, f"line {use.line}: pieces of {use.detail[1]} of the others"))
    return max(found, default=None)


def _others(taken: tuple[Any, ...]) -> int:
    """How many columns stand beside those that are taken by place, where these are all others; 0 where they are not."""
    if taken[0] == "without" and all(isinstance(place, int) for place in taken[1]):
        return len(taken[1])
    if taken[0] == "range" and taken[2] is None and isinstance(taken[1], int) and taken[1] > 0:
        return int(taken[1])
    if taken[0] == "range" and taken[1] in (None, 0) and isinstance(taken[2], int) and taken[2] < 0:
        return int(-taken[2])
    return 0


def _is_of_one(sizes: tuple[Any, ...]) -> bool:
    """Whether these are the sizes of one image, and not of many of them."""
    sides = [size for size in sizes if size not in (1, 3)]
    return len(sides) == 2 and sides[0] == sides[1] and isinstance(sides[0], int) and sides[0] > 0


def _values(datum: Datum, apart: bool) -> tuple[int, str] | None:
    """How many values a row has, where rows are reshaped: of the whole table, or of what is left without some columns."""
    for use in datum.of("reshape"):
        left = any(step[0] == "column" and step[1][0] == "without" for step in use.part)
        sizes = use.detail[1:]
        if (
            use.exact
            and left == apart
            and (apart or not use.part)
            and sizes
            and all(isinstance(s, int) and s > 0 for s in sizes)
        ):
            return math.prod(sizes), f"line {use.line}: rows are reshaped to {sizes}"
    return None


def _filled(datum: Datum, names: list[str], ends: clues.Ends) -> tuple[list[str], str]:
    """More columns where the program takes all but some for the network's input."""
    taken = any(
        use.kind == "inputs" and use.part and use.part[-1][0] == "column" and use.part[-1][1][0] == "without"
        for use in datum.uses
    ) or any(use.kind == "column" and use.detail[0] == "without" for use in datum.uses)
    wanted = ends.inputs[0] if ends.inputs and len(ends.inputs) == 1 else None
    told = clues.FROM_NETWORK.format(what="input")
    if (values := _values(datum, apart=True)) is not None:
        wanted, told = values
    if not taken or wanted is None:
        return names, ""
    apart = {name for use in datum.of("column") if use.detail[0] == "without" for name in use.detail[1]}
    missing = wanted - len([name for name in names if name not in apart])
    if missing <= 0 or any(use.kind == "text" for use in datum.uses):
        return names, ""
    return [*names, *(f"feature_{place}" for place in range(missing))], f"; the others: {told}"


def _set_kinds(table: Table, datum: Datum, order: list[str], ends: clues.Ends, options: dict[str, Any]) -> None:
    """What each column holds."""
    roles: dict[int, set[str]] = {}
    for use in datum.uses:
        for place in _places(use, order):
            roles.setdefault(place, set()).add(_role(use))
            if use.kind == "fed" and "label" in roles[place] and use.detail and len(use.detail) == 2:
                table.classes = use.detail[1] or table.classes  # one-hot, into a placeholder of as many columns
            if use.kind == "one-hot" and isinstance(use.detail, int):
                table.classes = use.detail
            if use.kind == "looked up" and use.detail and all(isinstance(word, str) for word in use.detail):
                table.words, table.classes = use.detail, len(use.detail)
            if use.kind == "method" and use.detail[0] in ("map", "replace") and use.detail[1]:
                words = use.detail[1][0]
                if isinstance(words, dict) and words and all(isinstance(word, str) for word in words):
                    table.words, table.classes = tuple(words), len(words)
                    roles[place].add("word")
    for key in ("parse_dates", "index_col"):
        value = options.get(key)
        for name in value if isinstance(value, (list, tuple)) else [value]:
            spot = order.index(name) if name in order else name
            if isinstance(spot, int) and not isinstance(spot, bool) and spot < len(order):
                roles.setdefault(spot, set()).add("date" if key == "parse_dates" else "index")
    form = ends.form
    if scaled_from_bytes(datum.uses):
        table.kinds = ["byte"] * len(table.kinds)
    if not table.words:
        table.classes = max(table.classes, ends.classes())
    plain = not any(roles.get(place, set()) & {"targets", "word", "label"} for place in range(len(order)))
    for place, name in enumerate(order):
        role = roles.get(place, set())
        if "date" in role or name.lower() in ("date", "datetime", "timestamp"):
            table.kinds[place] = "date"
        elif "file" in role:
            table.kinds[place] = "file"
        elif "index" in role:
            table.kinds[place] = "date" if options.get("parse_dates") else "index"
        elif "text" in role or (name.lower() in _TEXTS and not role & {"number", "arithmetic", "scaled", "encoded"}):
            table.kinds[place] = "text"
        elif "word" in role:
            table.kinds[place] = "word"
        elif (
            "label" in role
            or form != "values"
            and ("called label" in role or (role & {"targets"} and name.lower() in _LABELS))
        ):
            table.kinds[place] = "label"
        elif role & {"targets", "called label"} and "inputs" not in role:
            table.kinds[place] = "value" if form in ("values", None) else "label"
        elif plain and name.lower() in _LABELS:
            table.kinds[place] = "label" if form != "values" else "value"
    if form not in ("values", None) and not _TOLD & set(table.kinds):
        apart = {place for use in datum.of("column") if len(found := _places_taken(use, order)) == 1 for place in found}
        if len(apart) == 1 and len(order) > 1:  # the loss wants labels
            table.kinds[apart.pop()] = "label"
    for place in _from_one(datum, order):
        if table.kinds[place] == "label":
            table.kinds[place] = "label from 1"
    if not _TOLD & set(table.kinds):
        made = "series" if form in ("values", None) and "file" not in table.kinds else "number"
        table.kinds = [made if kind == "number" else kind for kind in table.kinds]
        if made == "series":
            table.rows = 2 * ROWS + 200


_TOLD = {"value", "label", "label from 1", "word"}
"""Kinds of columns that are to be learned."""


def _places_taken(use: Use, order: list[str]) -> list[int]:
    """The columns that a use takes of the table."""
    return _chosen(list(range(len(order))), use.detail, order) if not use.part else []


def _from_one(datum: Datum, order: list[str]) -> set[int]:
    """The columns of which 1 is taken, as of classes that are counted from there."""
    taken = [use for use in datum.of("arithmetic") if use.detail == ("Sub", 1)]
    return {place for use in taken if all(step[0] in _TAKING for step in use.part) for place in _places(use, order)}


_TAKING = ("column", "item", "attribute", "located")


def _role(use: Use) -> str:
    if use.kind == "opened":
        return "file" if use.detail[0] == "image" else ""
    if use.kind == "bound":
        if any(word in use.detail.lower() for word in ("label", "class", "categor")):
            return "called label"
        return "targets" if TARGET.search(use.detail) else "inputs" if INPUT.search(use.detail) else ""
    return {"encoded": "word", "one-hot": "label", "looked up": "word"}.get(use.kind, use.kind)


def _places(use: Use, order: list[str]) -> list[int]:
    """The columns that a use is of; none where it is of the table as a whole."""
    chosen: list[int] = list(range(len(order)))
    narrowed = False
    for step in use.part:
        if step[0] == "column":
            chosen, narrowed = _chosen(chosen, step[1], order), True
        elif step[0] == "attribute" and step[1] in order:
            chosen, narrowed = [order.index(step[1])], True
        elif step[0] == "item" and not narrowed and isinstance(step[1], int) and 0 <= step[1] < len(order):
            chosen, narrowed = [step[1]], True
    if use.kind == "targets" and narrowed:
        return chosen
    return chosen if narrowed and (len(chosen) < len(order) or len(order) == 1) else []


def _chosen(places: list[int], part: tuple[Any, ...], order: list[str]) -> list[int]:
    def place(value: object) -> int | None:
        if isinstance(value, str):
            return order.index(value) if value in order else None
        if isinstance(value, int) and -len(places) <= value < len(places):
            return places[value]
        return None

    if part[0] == "one":
        found = place(part[1])
        return [found] if found is not None else []
    if part[0] == "names":
        return [found for value in part[1] if (found := place(value)) is not None]
    if part[0] == "without":
        gone = {place(value) for value in part[1]}
        return [one for one in places if one not in gone]
    if isinstance(part[1], str) or isinstance(part[2], str):
        ends = [order.index(end) if isinstance(end, str) and end in order else None for end in part[1:]]
        return [one for one in places if (ends[0] is None or one >= ends[0]) and (ends[1] is None or one <= ends[1])]
    return places[part[1] : part[2]]
