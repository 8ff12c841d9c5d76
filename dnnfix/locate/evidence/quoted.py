"""Lines of code that a report quotes and the repository has word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dnnfix.locate.answer import Line
from dnnfix.locate.question import Question, Scores
from dnnfix.locate.words import text_of

SHORTEST = 4
"""Words of a line below which many lines are like it."""
MOST_LINES = 60
"""Lines of a report that are looked for, the first ones."""
COMMON = 0.1
"""Share of the files that hold a line up to which it tells anything."""
SHOWN = 5
"""Lines of a file that are named; where more are quoted, the report shows the file rather than a place in it."""

_SKIPPED = re.compile(r"\s*(?:>>> |\.\.\. |[+-] |>+ )?(?:from |import |#|File |Traceback)")


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files that hold quoted lines, those that few others hold more."""
    yield Scores("quoted", _held(question, "file_words"))


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions that hold quoted lines."""
    found = _held(question, "definition_words")
    yield Scores("quoted", found, dict.fromkeys(found, "the report quotes its lines"))


def lines(question: Question) -> Iterator[tuple[int, Line]]:
    """The lines that are quoted, of each file that few others share them with."""
    phrases = set(_phrases(question))
    held = {question.index.paths[file]: file for file in _held(question, "file_words")}
    for path, text in question.texts(held) if held else ():
        file, said = held[path], map(text_of, text.split("\n"))
        found = [number for number, line in enumerate(said, 1) if line in phrases]
        if len(found) <= SHOWN:
            yield from ((file, Line(number, number, "the report quotes it")) for number in found)


def _held(question: Question, table: str) -> Mapping[int, float]:
    """By row of a table of words, how many quoted lines it holds, those that few others hold more."""
    most = max(1.0, COMMON * len(question.index.paths))
    scores: dict[int, float] = {}
    for phrase in _phrases(question):
        rows = question.holding(table, phrase)
        if len(rows) <= most:
            for row in rows:
                scores[row] = scores.get(row, 0.0) + 1.0 / len(rows)
    return scores


def _phrases(question: Question) -> Sequence[str]:
    """The words of each line of code of the report, as the index has them."""
    said = question.said
    quoted = f"{said.code}\n{said.logs}".split("\n")
    found = (text_of(line) for line in [*quoted, *said.stretches] if not _SKIPPED.match(line))
    return [each for each in dict.fromkeys(found) if each.count(" ") >= SHORTEST - 1][:MOST_LINES]
