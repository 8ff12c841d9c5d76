"""Writes the report files of a replay (Markdown, HTML, JSON) into its folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dnnfix.bench.cases import Case
from dnnfix.bench.results import as_data, as_markdown, read_explanations
from dnnfix.bench.store import Store
from dnnfix.bench.totals import Totals, totals
from dnnfix.cli.bench.choosing import Benchmark
from dnnfix.cli.console import Console
from dnnfix.errors import ConfigError

RESULTS = "results.sqlite"


def write_report(
    benchmark: Benchmark, cases: Sequence[Case], stores: Sequence[Store], folder: Path, console: Console
) -> Totals:
    """RESULTS.md, report.json and report.html of what the stores hold of these cases.

    Where what pages are made with is not installed, the others are written, and it is said that the page is not.
    """
    newest = {(result.case, result.arm): result for store in stores for result in store.results()}
    wanted = {case.id for case in cases}
    results = [result for (id, _), result in sorted(newest.items()) if id in wanted]
    about = {name: value for store in stores for name, value in store.about().items() if name != "cases"}
    made = totals(cases, results)
    explained = read_explanations(benchmark.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RESULTS.md").write_text(as_markdown(made, about, explained), encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(as_data(made, about, results), indent=1) + "\n", encoding="utf-8")
    try:
        from dnnfix.emit.html.page import PAGES, require

        require(PAGES)
    except ConfigError as error:
        console.problem(f"report.html is not written: {error}")
        return made
    from dnnfix.bench.page import as_page

    (folder / "report.html").write_text(as_page(made, about, results, explained), encoding="utf-8")
    return made
