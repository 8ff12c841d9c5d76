"""Sizes that the error speaks of, against the calls that make layers: a message of 9x3 and `Linear(9, 3)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dnnfix.locate.answer import Line
from dnnfix.locate.question import Question, Scores

_SHAPES = re.compile(
    r"\d+ ?[x×] ?\d+|[\[(] ?(?:\d+|None)(?:, ?(?:\d+|None|-1))*,? ?[\])]|\b(?:size|dim(?:ension)?|shape|channels?|features?)s?\b\D{0,20}\d+"
)
_NUMBER = re.compile(r"\d+")
LEAST = 3
"""The smallest size that tells one layer from others."""
COMMON = 0.2
"""Share of the files that use a number up to which it tells anything."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files that make layers of the sizes in the message."""
    scores: dict[int, float] = {}
    why: dict[int, str] = {}
    for (file, line, text), score in _made(question).items():
        if score > scores.get(file, 0.0):
            scores[file] = score
            why[file] = f"line {line} makes {text[:60]}, and the message speaks of these sizes"
    yield Scores("layer", scores, why)


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions that make such layers."""
    scores: dict[int, float] = {}
    for (file, line, _), score in _made(question).items():
        if (place := question.around(file, line)) is not None:
            scores[place.id] = max(scores.get(place.id, 0.0), score)
    yield Scores("layer", scores)


def lines(question: Question) -> Iterator[tuple[int, Line]]:
    """The lines that make a layer of sizes of the message: those of each file that share the most of them."""
    made = _made(question)
    most: dict[int, float] = {}
    for (file, _, _), score in made.items():
        most[file] = max(most.get(file, 0.0), score)
    for (file, line, text), score in made.items():
        if score == most[file]:
            yield file, Line(line, line, f"makes {text[:60]}, and the message speaks of these sizes")


def _made(question: Question) -> Mapping[tuple[int, int, str], float]:
    """By (file, line, call) how much its numbers share with the sizes of the message, rare numbers more."""
    said = question.said
    sizes = {int(n) for stretch in _SHAPES.findall(said.message) for n in _NUMBER.findall(stretch) if len(n) < 7}
    found: dict[tuple[int, int, str], float] = {}
    for size in sizes:
        if size < LEAST:
            continue
        rows = question.index.rows("SELECT file, line, text FROM built WHERE number = ?", (size,))
        files = {row[0] for row in rows}
        if len(files) <= max(1.0, COMMON * len(question.index.paths)):
            for row in rows:
                found[row] = found.get(row, 0.0) + 1.0 / len(files)
    return found
