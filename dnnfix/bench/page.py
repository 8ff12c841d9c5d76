"""The results of a replay as one self-contained page, put together of the parts of the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnnfix.bench.assessment import REPAIRING, Assessed
from dnnfix.bench.results import (
    MODEL,
    MODEL_HEAD,
    SEARCH,
    SEARCH_HEAD,
    WORDS,
    goal,
    model_rows,
    search_rows,
    short,
)
from dnnfix.bench.totals import STEPS, Totals
from dnnfix.emit.html.changes import FileChange, changes, encoded
from dnnfix.emit.html.page import render

COLUMNS = ("detected", "localized", "accepted", "correct", "wrong", "healthy", "null", "random")


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its heading; `bars` are the widths of bars beside its rows, from 0 to 1."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    bars: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One case as it is shown."""

    key: str
    name: str
    arm: str
    state: str
    facts: Mapping[str, str]
    files: tuple[FileChange, ...]
    bytes: str


def as_page(totals: Totals, about: Mapping[str, str], results: Sequence[Assessed], explained: Mapping[str, str]) -> str:
    """One page that needs nothing beside it: totals, groups, the waterfall, and every case with its diff."""
    most = max((count for _, count in totals.waterfall), default=0) or 1
    whole = [(WORDS[name], str(share), goal(name, share)) for name, share in totals.whole.shares.items()]
    steps = [(WORDS.get(name, name), str(count)) for name, count in totals.waterfall]
    tables = [Table("In whole", ("", "cases (95 % interval)", "goal"), whole)]
    if totals.search:
        tables.append(Table(SEARCH, SEARCH_HEAD, search_rows(totals)))
    if totals.model:
        tables.append(Table(MODEL, MODEL_HEAD, model_rows(totals)))
    tables.append(Table("How far the repairs come", ("", "cases", ""), steps, [n / most for _, n in totals.waterfall]))
    for title, lines in totals.groups.items():
        head = ("", "cases", *(WORDS[name] for name in COLUMNS))
        rows = [(line.name, str(line.cases), *(short(line, name) for name in COLUMNS)) for line in lines]
        tables.append(Table(f"By {title}", head, rows))
    tables.append(Table("Why cases are not correct", ("reason", "cases"), [(w, str(n)) for w, n in totals.missed]))
    tables.append(Table("Time", ("", "seconds"), [(k, f"{v:g}") for k, v in totals.seconds.items()]))
    return render(
        "bench.html.j2",
        about=[(name, value) for name, value in sorted(about.items()) if name != "format"],
        tables=tables,
        entries=[_entry(number, one, explained) for number, one in enumerate(results, 1) if _of_interest(one)],
    )


def _of_interest(result: Assessed) -> bool:
    return result.arm in REPAIRING or result.accepted or bool(result.failed)


def _entry(number: int, result: Assessed, explained: Mapping[str, str]) -> Entry:
    state = "failed" if result.failed else "wrong" if result.wrong else "correct" if result.correct else ""
    came = ", ".join(WORDS[step] for step in STEPS if getattr(result, step)) if result.arm in REPAIRING else ""
    facts = {
        "steps": came,
        "findings": " ".join(result.found),
        "template": result.template,
        "equals": result.equals,
        "reason": result.failed or result.reason,
        "explained": explained.get(f"{result.arm}/{result.case}", ""),
        "seconds": f"{result.seconds:g} ({result.runs} runs)",
    }
    return Entry(
        f"c{number}",
        result.case,
        str(result.arm),
        state or ("accepted" if result.accepted else "no-patch"),
        {name: said for name, said in facts.items() if said},
        changes(result.diff) if result.diff else (),
        encoded(result.diff),
    )
