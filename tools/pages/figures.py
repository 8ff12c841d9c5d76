"""The figures of the landing page, read from the benchmark's last published results."""

from __future__ import annotations

import re
from pathlib import Path

MARK = "<!-- figures -->"
RESULTS = Path(__file__).resolve().parents[2] / "benchmark_667" / "RESULTS.md"
SHOWN = {
    "correct": "repaired as a person repaired it",
    "held-out": "of these in the half that nobody looks at",
    "wrong": "with a wrong patch that was accepted",
    "false patch of the repaired program": "sound programs with a patch",
}
"""What is counted, as `RESULTS.md` calls it, and as people read it."""


def with_figures(text: str) -> str:
    """The text with the figures in place of the mark."""
    return text.replace(MARK, _figures(RESULTS.read_text(encoding="utf-8"))) if MARK in text else text


def _figures(results: str) -> str:
    counted = dict(re.findall(r"^\| ([^|]+?) \| (\d+ of \d+) ", results, re.MULTILINE))
    (header,) = re.findall(r"^## By half\n\n(.*)$", results, re.MULTILINE)
    column = [cell.strip() for cell in header.split("|")].index("correct")
    (row,) = re.findall(r"^\| held-out \|.*$", results, re.MULTILINE)
    counted["held-out"] = row.split("|")[column].strip()
    figures = (f"<div><strong>{counted[name]}</strong><span>{words}</span></div>" for name, words in SHOWN.items())
    return f'<div class="figures">{"".join(figures)}</div>'
