"""What the history knew when the report was written: changes for like reasons, how lately and how often a file was changed and mended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dnnfix.locate.index import Change
from dnnfix.locate.question import Question, Scores

DAY = 86_400.0
RECENT, MENDED = 30.0, 180.0
"""Days after which a change, and a fix, count by 1/e."""
ALIKE = 40
"""Past changes that are compared, the likest first."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files by the commits that touched them."""
    known = {number: change for number, change in question.index.past.items() if change.time < question.time}
    touched = _touched(question, known)
    recent: dict[int, float] = {}
    mended: dict[int, float] = {}
    for number, files in touched.items():
        age = (question.time - known[number].time) / DAY
        for file in files:
            recent[file] = max(recent.get(file, 0.0), math.exp(-age / RECENT))
            if known[number].fixes:
                mended[file] = mended.get(file, 0.0) + math.exp(-age / MENDED)
    yield Scores("changed lately", recent)
    yield Scores("mended", {file: math.log1p(count) for file, count in mended.items()})
    said = question.said
    for part, text in (("title", said.title), ("report", f"{said.title}\n{said.prose}\n{said.message}")):
        found = question.alike("past_words", text)
        best = sorted((number for number in found if number in touched), key=lambda each: -found[each])[:ALIKE]
        alike: dict[int, float] = {}
        why: dict[int, str] = {}
        for number in best:
            for file in touched[number]:
                alike[file] = alike.get(file, 0.0) + found[number] / len(touched[number])
                why.setdefault(file, f'changed by "{known[number].subject[:80]}"')
        yield Scores(f"change like {part}", alike, why)


def _touched(question: Question, known: Mapping[int, Change]) -> Mapping[int, list[int]]:
    files = {path: file for file, path in question.index.paths.items()}
    touched: dict[int, list[int]] = {}
    for number, path in question.index.touched:
        if number in known and path in files:
            touched.setdefault(number, []).append(files[path])
    return touched
