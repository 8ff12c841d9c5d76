"""Stubs for undefined or missing functions that return data: `x, y = read_data("train/")`.

Their results are made from how the program uses them, as for a file. A function whose results never reach a network is
left alone: what it computes is unknown, and that nothing defines it may be the program's fault. So is a name that a
library has for reading (`read_csv`, `load`): the fault is the missing import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce import conventions
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import arrays, clues
from dnnfix.reproduce.data.followed import flow_of
from dnnfix.reproduce.data_files.values import structure
from dnnfix.reproduce.flow.reads import READERS
from dnnfix.reproduce.flow.values import Datum, Flow
from dnnfix.reproduce.syntax import bound_names
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.spelling import misspelt

ACTION = EditAction.INPUT_DATA

_MEETS = words("inputs targets one-hot encoded reshape fed scaled")
"""Uses that show that something is data of a network."""

_BATCHES = re.compile(r"batch|generator|loader|_gen$|^gen_|iter", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Given:
    """A stub for a function: its code, a description of the result, and the evidence."""

    code: str
    words: str
    evidence: str
    line: int


def steps(case: Case, flow: Flow) -> Iterator[EditStep | Gap]:
    """Definitions of undefined functions of that kind that belong to no module."""
    calls: dict[str, list[Datum]] = {}
    for datum in flow.data:
        func = datum.node.func if isinstance(datum.node, ast.Call) else None
        if datum.kind == "call" and not datum.module and isinstance(func, ast.Name):
            calls.setdefault(func.id, []).append(datum)
    for name, found in calls.items():
        if name in READERS:
            library = conventions.NAMES.get(name, "").partition(".")[0]
            if not library or not case.installed(library):
                yield Gap(f"nothing binds {name}; add the import of the library that it is to read with", found[0].line)
            continue
        if misspelt(name, bound_names(case.source) - {name}) is not None or case.may_be_starred(name):
            continue
        try:
            given = _given(case, found)
        except arrays.Contradictory as clash:
            yield Gap(str(clash), found[0].line)
            continue
        if given is None:
            continue
        yield EditStep(
            ACTION,
            f"`{name}` gives {given.words}",
            f"nothing defines it; {given.evidence}",
            given.line,
            scaffold=Scaffold(start=f"{name} = {given.code}"),
        )


def of_module(case: Case, name: str) -> Given | None:
    """The stub for a function of a missing module, by its qualified name; `None` where its uses show nothing."""
    flow = flow_of(case.source, (*(one.name for one in case.undefined), name), case.called_with or case.arguments)
    found = [d for d in flow.data if d.kind == "call" and not d.module and _called(case.source, d) == name]
    try:
        return _given(case, found) if found else None
    except arrays.Contradictory:
        return None


def _called(source: Source, datum: Datum) -> str | None:
    return source.qualified(datum.node.func) if isinstance(datum.node, ast.Call) else None


def _given(case: Case, found: Sequence[Datum]) -> Given | None:
    """What the calls of one function give, the first call first."""
    made: list[tuple[str, str, str]] = []
    for datum in found:
        if not any(use.kind in _MEETS for use in datum.uses):
            continue
        one = _batches(case, datum) or structure(case, datum)
        if one is None:
            return None
        made.append(one)
    if not made:
        return None
    codes = ", ".join(f"lambda: {code}" for code, *_ in dict.fromkeys(made))
    said = dict.fromkeys(what for _, what, *_ in made)
    return Given(f"made_function({codes})", "; ".join(said), made[0][2], found[0].line)


def _batches(case: Case, datum: Datum) -> tuple[str, str, str] | None:
    """A generator of batches, for what is looped over or given to `fit_generator`."""
    looped = any(use.kind == "iterated" and use.part == () for use in datum.uses)
    taken = any(use.kind == "unpacked" and use.part == (("element",),) for use in datum.uses)
    fed = any(use.kind == "inputs" and use.part == () for use in datum.uses) and _BATCHES.search(datum.name)
    if not (looped and taken) and not fed:
        return None
    looks = arrays.look(case, datum.name, [use for use in datum.uses if use.part[:1] != (("element",),)], "inputs")
    if looks is None:
        return None
    batch = clues.ends(case.source).batch or 32
    # A loop over the batches ends by itself where they are asked for once; `fit_generator` asks for ever.
    maker = "made_batches" if fed and not looped else "made_some_batches"
    code = f"{maker}({looks.pair}, {batch})"
    return code, f"batches of {batch} of {looks.words}", looks.evidence
