"""The results of a replay as Markdown, as plain data, and as one self-contained HTML page."""

from __future__ import annotations

import html
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dnnfix.bench.assessment import REPAIRING, Assessed
from dnnfix.bench.totals import SEARCHED, STEPS, Line, Share, Totals
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

_SEARCH_HEAD = ("", *(WORDS[name] for name in SEARCHED))


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


# --- Markdown ---------------------------------------------------------------------------------------------------------


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
    rows = [(WORDS[name], str(share), _goal(name, share)) for name, share in totals.whole.shares.items()]
    yield from _table(("", "cases", "goal"), rows)
    yield ""
    if totals.search:
        yield f"## {SEARCH}"
        yield ""
        yield from _table(_SEARCH_HEAD, _search_rows(totals))
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
            ([line.name, str(line.cases), *(_short(line, name) for name in columns)] for line in lines),
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


def _search_rows(totals: Totals) -> list[tuple[str, ...]]:
    return [(line.name, *(str(line.shares[name]) for name in SEARCHED)) for line in totals.search]


def _goal(name: str, share: Share) -> str:
    for goal, bound, least in GOALS:
        if goal == name:
            met = share.value >= bound if least else share.value <= bound
            said = ("met" if met else "MISSED") if share.of else "not measured"
            return f"{'at least' if least else 'at most'} {100 * bound:g} %: {said}"
    return ""


def _short(line: Line, name: str) -> str:
    share = line.shares[name]
    return f"{share.count} of {share.of}" if share.of else "–"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"


# --- HTML -------------------------------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .6rem 0 1.4rem; } td, th { padding: .15rem .7rem; text-align: left; }
th { border-bottom: 1px solid #999; } tr:nth-child(even) td { background: #f5f5f2; }
.bar { background: #4a7; height: .9em; display: inline-block; } .bad { color: #b00; } .good { color: #272; }
pre { background: #f5f5f2; padding: .6rem; overflow-x: auto; } summary { cursor: pointer; } h2 { margin-top: 2rem; }
@media (prefers-color-scheme: dark) { body { background: #181a1b; color: #ddd; } tr:nth-child(even) td, pre { background: #222526; } }
"""


def as_page(totals: Totals, about: Mapping[str, str], results: Sequence[Assessed], explained: Mapping[str, str]) -> str:
    """One self-contained HTML page: totals, groups, the waterfall, and every case with its diff."""
    most = max((count for _, count in totals.waterfall), default=0) or 1
    whole = [(WORDS[name], str(share), _goal(name, share)) for name, share in totals.whole.shares.items()]
    steps = [
        (html.escape(WORDS.get(name, name)), str(n), f'<span class="bar" style="width:{20 * n / most:.1f}rem"></span>')
        for name, n in totals.waterfall
    ]
    columns = ("detected", "localized", "accepted", "correct", "wrong", "healthy", "null", "random")
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>dnnfix bench replay</title>",
        f"<style>{_STYLE}</style><h1>How much of the benchmark dnnfix repairs</h1>",
        _rows(("", ""), [(name, value) for name, value in sorted(about.items()) if name != "format"]),
        "<h2>In whole</h2>",
        _rows(("", "cases (95 % interval)", "goal"), whole),
        f"<h2>{SEARCH}</h2>{_rows(_SEARCH_HEAD, _search_rows(totals))}" if totals.search else "",
        "<h2>How far the repairs come</h2>",
        _rows(("", "cases", ""), steps, escaped=True),
    ]
    for title, lines in totals.groups.items():
        head = ("", "cases", *(WORDS[name] for name in columns))
        rows = [(line.name, str(line.cases), *(_short(line, name) for name in columns)) for line in lines]
        parts += [f"<h2>By {html.escape(title)}</h2>", _rows(head, rows)]
    parts += ["<h2>Why cases are not correct</h2>", _rows(("", "cases"), [(w, str(n)) for w, n in totals.missed])]
    parts += ["<h2>Time</h2>", _rows(("", "seconds"), [(k, f"{v:g}") for k, v in totals.seconds.items()])]
    parts += ["<h2>Every case</h2>", *(_entry(result, explained) for result in results if _of_interest(result))]
    return "".join(parts) + "</html>\n"


def _of_interest(result: Assessed) -> bool:
    return result.arm in REPAIRING or result.accepted or bool(result.failed)


def _entry(result: Assessed, explained: Mapping[str, str]) -> str:
    good = result.correct
    state = "failed" if result.failed else "wrong" if result.wrong else "correct" if good else ""
    state = state or ("accepted" if result.accepted else "no patch")
    colour = "good" if good else "bad" if state in ("wrong", "failed") or result.arm not in REPAIRING else ""
    came = ", ".join(WORDS[step] for step in STEPS if getattr(result, step)) if result.arm in REPAIRING else ""
    said = explained.get(f"{result.arm}/{result.case}", "")
    facts = {
        "steps": came,
        "findings": " ".join(result.found),
        "template": result.template,
        "equals": result.equals,
        "reason": result.failed or result.reason,
        "explained": said,
        "seconds": f"{result.seconds:g} ({result.runs} runs)",
    }
    listed = "".join(f"<tr><td>{k}</td><td>{html.escape(v)}</td></tr>" for k, v in facts.items() if v)
    diff = f"<pre>{html.escape(result.diff)}</pre>" if result.diff else ""
    head = f"{html.escape(result.case)} · {result.arm} · <span class='{colour}'>{state}</span>"
    return f"<details><summary>{head}</summary><table>{listed}</table>{diff}</details>"


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]], escaped: bool = False) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        shown = cells if escaped else [html.escape(cell) for cell in cells]
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"
