"""The results of a replay as Markdown and as plain data."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dnnfix.bench.assessment import Assessed
from dnnfix.bench.totals import SEARCHED, Line, Share, Totals
from dnnfix.errors import InputError

EXPLAINED = "explained.toml"
"""In the benchmark: what was found out about wrong and false patches, by arm and id."""

GOALS = (("detected", 0.85, True), ("correct", 0.60, True), ("wrong", 0.02, False), ("null", 0.01, False), ("random", 0.01, False))  # fmt: skip
"""What the project wants: the name of a share, its bound, and whether it is the least or the most."""

WORDS = {
    "runnable": "runs",
    "reproduced": "shows its symptom",
    "detected": "family found",
    "localized": "lines found",
    "patched": "patch proposed",
    "accepted": "patch accepted (plausible)",
    "correct": "correct",
    "wrong": "wrong",
    "healthy": "false patch of the repaired program",
    "null": "null arm accepted",
    "random": "random arm accepted",
}

SEARCH = "The search alone: crashes, with every rule off"
"""What is above the results of the search arm."""

SEARCH_HEAD = ("", *(WORDS[name] for name in SEARCHED))

MODEL = "A language model alone: no rules, no search, the same ladder"
"""What is above the results of the arm of language models."""

MODEL_HEAD = (
    "",
    "model",
    "well-formed answers",
    *(WORDS[name] for name in SEARCHED),
    "of the correct, in reach without it",
    "dollars a case",
)


def read_explanations(folder: Path) -> Mapping[str, str]:
    """What is known of patches that should not be, by `arm/id`. Raises `InputError` for a malformed file."""
    path = folder / EXPLAINED
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {f"{arm}/{id}": str(said).strip() for arm, of in tables.items() for id, said in of.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def as_data(totals: Totals, about: Mapping[str, str], results: Iterable[Assessed]) -> dict[str, Any]:
    """Everything, for other programs."""
    return {
        "schema": "dnnfix-replay/1",
        "about": dict(about),
        "totals": {"all": _line_data(totals.whole)},
        "groups": {name: {line.name: _line_data(line) for line in lines} for name, lines in totals.groups.items()},
        "search": {line.name: _line_data(line) for line in totals.search},
        "waterfall": dict(totals.waterfall),
        "missed": dict(totals.missed),
        "seconds": dict(totals.seconds),
        "results": [result.to_json() for result in results],
    }


def _line_data(line: Line) -> dict[str, Any]:
    shares = {
        name: {"count": share.count, "of": share.of, "interval": [round(end, 4) for end in share.interval]}
        for name, share in line.shares.items()
    }
    return {"cases": line.cases, **shares}


def as_markdown(totals: Totals, about: Mapping[str, str], explained: Mapping[str, str]) -> str:
    """The page that is published, `RESULTS.md`."""
    return "\n".join(_markdown(totals, about, explained)) + "\n"


def _markdown(totals: Totals, about: Mapping[str, str], explained: Mapping[str, str]) -> Iterator[str]:
    yield "# How much of the benchmark dnnfix repairs"
    yield ""
    yield "Written by `dnnfix bench report`; not to be edited. README.md says what the words mean. Shares are given with"
    yield "Wilson's interval of 95 %."
    yield ""
    yield from _table(("", ""), ((name, value) for name, value in sorted(about.items()) if name != "format"))
    yield ""
    yield "## In whole"
    yield ""
    rows = [(WORDS[name], str(share), goal(name, share)) for name, share in totals.whole.shares.items()]
    yield from _table(("", "cases", "goal"), rows)
    yield ""
    if totals.search:
        yield f"## {SEARCH}"
        yield ""
        yield from _table(SEARCH_HEAD, search_rows(totals))
        yield ""
    if totals.model:
        yield f"## {MODEL}"
        yield ""
        yield from _table(MODEL_HEAD, model_rows(totals))
        yield ""
    yield "## How far the repairs come"
    yield ""
    yield "Each step counts the cases that came through it and all before it."
    yield ""
    most = max((count for _, count in totals.waterfall), default=0) or 1
    bars = [(WORDS.get(name, name), str(n), "█" * round(30 * n / most)) for name, n in totals.waterfall]
    yield from _table(("", "cases", ""), bars)
    for title, lines in totals.groups.items():
        yield ""
        yield f"## By {title}"
        yield ""
        columns = ("detected", "accepted", "correct", "wrong", "healthy")
        yield from _table(
            ("", "cases", *(WORDS[name] for name in columns)),
            ([line.name, str(line.cases), *(short(line, name) for name in columns)] for line in lines),
        )
    yield ""
    yield "## Why cases are not correct"
    yield ""
    yield from _table(("reason", "cases"), ((why, str(n)) for why, n in totals.missed))
    for title, found in (
        ("Wrong patches", totals.wrong),
        ("False patches of repaired programs", totals.false),
        ("Accepted patches of the null and the random arm", totals.arms),
    ):
        yield ""
        yield f"## {title}"
        yield ""
        yield from _explained(found, explained)
    if totals.failed:
        yield ""
        yield "## Without a result"
        yield ""
        yield from (f"- {result.case} ({result.arm}): {result.failed}" for result in totals.failed)
    yield ""
    yield "## Time"
    yield ""
    yield from _table(("", "seconds"), ((name, f"{value:g}") for name, value in totals.seconds.items()))


def _explained(found: Sequence[Assessed], explained: Mapping[str, str]) -> Iterator[str]:
    if not found:
        yield "None."
    for result in found:
        said = explained.get(f"{result.arm}/{result.case}", "not explained yet")
        oracle = f"; the oracle on fresh seeds: {', '.join(result.oracle)}" if result.oracle else ""
        yield f"### {result.case}, {result.arm}{', ' + result.template if result.template else ''}"
        yield ""
        yield f"{said}{oracle}."
        yield ""
        yield "```diff"
        yield from result.diff.splitlines()[3:]
        yield "```"
        yield ""


def search_rows(totals: Totals) -> list[tuple[str, ...]]:
    """The lines of the table of the search arm."""
    return [(line.name, *(str(line.shares[name]) for name in SEARCHED)) for line in totals.search]


def model_rows(totals: Totals) -> list[tuple[str, ...]]:
    """The lines of the table of language models."""
    return [
        (
            line.name,
            line.model,
            *map(str, (line.well_formed, line.accepted, line.correct, line.wrong, line.in_reach)),
            f"{line.cost:.4f}",
        )
        for line in totals.model
    ]


def goal(name: str, share: Share) -> str:
    """What is wanted of a share, and whether it is met; empty where nothing is."""
    for wanted, bound, least in GOALS:
        if wanted == name:
            met = share.value >= bound if least else share.value <= bound
            said = ("met" if met else "MISSED") if share.of else "not measured"
            return f"{'at least' if least else 'at most'} {100 * bound:g} %: {said}"
    return ""


def short(line: Line, name: str) -> str:
    """A share without its interval."""
    share = line.shares[name]
    return f"{share.count} of {share.of}" if share.of else "–"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"
