"""Edit steps for missing files of arrays (NumPy, pickle, HDF5, MATLAB): one array, a tuple or a dict of them."""

from __future__ import annotations

import ast
import math
import os.path
import re
from collections.abc import Sequence
from dataclasses import replace

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import arrays, clues
from dnnfix.reproduce.data.followed import flow_of
from dnnfix.reproduce.data.frames import columns_in_words, listed, table_of
from dnnfix.reproduce.data.numbers import numbers_of
from dnnfix.reproduce.data_files import Made
from dnnfix.reproduce.flow.values import Datum, Use
from dnnfix.reproduce.harness.sizes import Known, value_of
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name


def whole(case: Case, datum: Datum) -> arrays.Looks | None:
    """How the data looks where a file holds one array."""
    name = _name(case, datum)
    role = arrays.role_of(name, datum.uses)
    if role is None:
        return None
    other = _partner(case, datum, role)
    beside = (_name(case, other), other.uses) if other is not None else ("", ())
    return arrays.look(case, name, datum.uses, role, *beside)


def _name(case: Case, datum: Datum) -> str:
    return _variable(case.source, datum) or os.path.splitext(os.path.basename(datum.path or ""))[0]


def _partner(case: Case, datum: Datum, role: str) -> Datum | None:
    """The data of another file that a network is given along with it: inputs with their targets."""
    other = "targets" if role == "inputs" else "inputs"
    lines = {use.line for use in datum.of(role)}
    flow = flow_of(case.source, tuple(name.name for name in case.undefined), case.called_with or case.arguments)
    alone = [one for one in flow.data if one is not datum and one.path != datum.path and one.kind == datum.kind]
    return next((one for one in alone if lines & {use.line for use in one.of(other)}), None)


def _variable(source: Source, datum: Datum) -> str | None:
    """The name that the call's value is given, in the program or in the module beside it that makes the call."""
    statement = source.files[datum.module].statement_of(datum.node)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name), *_], value=value) if value is datum.node:
            return name
        case ast.Assign(targets=[ast.Tuple(elts=targets), *_], value=ast.Tuple(elts=values)):
            pairs = zip(targets, values, strict=False)
            return next((to.id for to, value in pairs if value is datum.node and isinstance(to, ast.Name)), None)
    return None


def _keyed(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """A dict of arrays for the keys that the program takes: code, words, evidence; None where it takes none."""
    keys = {
        use.detail[1]: use.line
        for use in datum.uses
        if use.kind == "column" and use.part == () and use.detail[0] == "one" and isinstance(use.detail[1], str)
    }
    entries: dict[str, arrays.Looks] = {}
    for key in keys:
        own = below(datum, ("column", ("one", key)))
        role = arrays.role_of(key, own)
        wanted = "targets" if role == "inputs" else "inputs"
        alike = [k for k in keys if arrays.part_of(k) == arrays.part_of(key) and k != key]
        roles = {k: arrays.role_of(k, below(datum, ("column", ("one", k)))) for k in alike}
        partner = next((k for k in alike if roles[k] == wanted), "")
        looks = arrays.look(case, key, own, role, partner, below(datum, ("column", ("one", partner)))) if role else None
        if looks is None:
            return None
        entries[key] = looks
    if not entries:
        return None
    inside = ", ".join(f"{key!r}: {looks.code}" for key, looks in entries.items())
    words = "; ".join(f"{key}: {looks.words}" for key, looks in entries.items())
    first = next(iter(entries.values()))
    return f"{{{inside}}}", words, f"line {min(keys.values())}: these keys are taken; {first.evidence}"


def below(datum: Datum, step: tuple[object, ...]) -> list[Use]:
    """The uses of a part of the data, as if the part were all."""
    return _within(datum.uses, step)


def _within(uses: Sequence[Use], step: tuple[object, ...]) -> list[Use]:
    return [replace(use, part=use.part[1:]) for use in uses if use.part[:1] == (step,)]


def _items(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """A tuple of arrays, or of pairs of them, for a value that is unpacked."""
    unpacked = _unpacked(datum.uses)
    if unpacked is None:
        return None
    texts: list[str] = []
    words: list[str] = []
    evidence = ""
    names = unpacked.detail
    uses = [below(datum, ("item", place)) for place in range(len(names))]
    for place, (name, own) in enumerate(zip(names, uses, strict=True)):
        inner = _unpacked(own)
        pairs = inner is not None or any(use.kind == "item" and use.part == () for use in own)
        if pairs and len(names) in (2, 3):
            looks = _pair(case, name, inner.detail if inner is not None else (), own, place)
            text, said = (looks.pair, f"{name}: {looks.words} with their targets") if looks is not None else ("", "")
        else:
            looks = _one_of(case, place, names, uses)
            text, said = (looks.code, f"{name}: {looks.words}") if looks is not None else ("", "")
        if looks is None and (size := _size(case, name, own)) is not None:
            text, said = size.code, f"{name}: {size.code} ({size.evidence})"
        if not text:
            return None
        texts.append(text)
        words.append(said)
        evidence = evidence or (looks.evidence if looks is not None else "")
    return (
        f"({', '.join(texts)},)",
        "; ".join(words),
        f"line {unpacked.line}: unpacked as {', '.join(names)}; {evidence}",
    )


def _unpacked(uses: Sequence[Use]) -> Use | None:
    """Where a value itself is taken apart."""
    return next((use for use in uses if use.kind == "unpacked" and use.part == ()), None)


def _pair(case: Case, name: str, names: Sequence[str], own: Sequence[Use], place: int) -> arrays.Looks | None:
    """Inputs with their targets: one of several parts of the data, which are training data first."""
    x, y = (_within(own, ("item", number)) for number in (0, 1))
    named = names if len(names) == 2 else (name, "")
    looks = arrays.look(case, named[0], x or own, "inputs", named[1], y)
    if looks is None:
        return None
    if not any(use.kind == "targets" and use.exact for use in y):
        # The targets of pairs in old data files are class indices; how many classes is the network's word.
        looks = replace(looks, form="classes", size=(clues.ends(case.source).outputs or 10,))
    return replace(looks, part=arrays.part_of(name) or place)


def _one_of(case: Case, place: int, names: Sequence[str], uses: Sequence[Sequence[Use]]) -> arrays.Looks | None:
    """One of several arrays that are given together: inputs and targets of one part belong together."""
    roles = [arrays.role_of(name, own) for name, own in zip(names, uses, strict=True)]
    role = roles[place]
    if role is None:
        return None
    other = "targets" if role == "inputs" else "inputs"
    part = arrays.part_of(names[place])
    partner = next((n for n, r in enumerate(roles) if r == other and arrays.part_of(names[n]) == part), None)
    beside = (names[partner], uses[partner]) if partner is not None else ("", ())
    return arrays.look(case, names[place], uses[place], role, *beside)


def _size(case: Case, name: str, uses: Sequence[Use]) -> Known | None:
    """A number that is given along with the data, such as how many classes there are."""
    if any(use.kind not in ("bound", "passed") for use in uses):
        return None
    return value_of(case, name, data=True)


def structure(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """The value that a file contains, or a function returns: a dict of arrays, a tuple of them, or one array."""
    found = _keyed(case, datum) or _items(case, datum)
    if found is not None:
        return found
    looks = whole(case, datum)
    return (looks.code, looks.words, looks.evidence) if looks is not None else None


def array_file(case: Case, datum: Datum, path: str) -> Made | None:
    """An array, or several, as NumPy writes them."""
    found = structure(case, datum)
    if found is None:
        return None
    return f"made_npy({path!r}, {found[0]})", *found[1:]


_WHOLE = re.compile(r"u?int(?:8|16|32|64)|long")

_TOKENS = 200_000
"""Numbers in a file of tokens, at least."""


def raw_file(case: Case, datum: Datum, path: str) -> Made | None:
    """Whole numbers one after the other, as programs keep a text in that they have made tokens of."""
    if not isinstance(datum.node, ast.Call):
        return None
    given = argument_value(datum.node, "dtype", 1)
    kind = last_name(given) if given is not None else "uint8" if datum.name == "memmap" else ""
    if isinstance(given, ast.Constant):
        kind = str(given.value)
    if not _WHOLE.fullmatch(kind):
        return None
    shape = argument_value(datum.node, "shape", 4)
    sizes = [numbers_of(case.source, part) for part in (shape.elts if isinstance(shape, ast.Tuple) else [shape])]
    count = max(_TOKENS, math.prod(max(found, default=0) for found in sizes))
    part = arrays.part_of(path.rpartition("/")[2])
    code = f"made_raw_tokens({path!r}, {kind!r}, {count}, {part})"
    return code, f"{count} numbers of a running text, a number for each letter", f"line {datum.line}: read as {kind}"


def pickle_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A pickled table, array, tuple or dict."""
    if datum.name == "read_pickle" and (table := table_of(case, datum, {})) is not None and table.names:
        code = f"made_pickle({path!r}, made_frame({listed(table.names)}, {listed(table.kinds)}, {table.rows}, {table.classes}, words={table.words!r}))"
        return code, f"a table with {columns_in_words(table)}", table.evidence
    found = structure(case, datum)
    if found is None:
        return None
    return f"made_pickle({path!r}, {found[0]})", *found[1:]


def h5_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A file of HDF5 with the keys that the program takes."""
    found = _keyed(case, datum)
    return (f"made_h5({path!r}, {found[0]})", *found[1:]) if found else None


def mat_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A file of MATLAB with the keys that the program takes."""
    found = _keyed(case, datum)
    path = path if path.endswith(".mat") else path + ".mat"
    return (f"made_mat({path!r}, {found[0]})", *found[1:]) if found else None
