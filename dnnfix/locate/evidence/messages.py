"""The text of the reported error against the texts that the code raises, asserts and warns."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.locate.answer import Line
from dnnfix.locate.question import Question, Scores
from dnnfix.locate.words import words

CANDIDATES = 50
"""Texts that are compared word by word, the likest first."""
SHORTEST = 3
"""Words of a text below which it is like any other."""
SAME = 0.6
"""Share of the words of a text that the reported message holds, from which on it is taken for that message."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files that hold a message like the one reported."""
    files: dict[int, float] = {}
    same: dict[int, float] = {}
    why: dict[int, str] = {}
    for file, line, score, share in _alike(question):
        files[file] = max(files.get(file, 0.0), score)
        if share >= SAME:
            same[file] = max(same.get(file, 0.0), share)
            why.setdefault(file, f"line {line} has the text of the reported message")
    yield Scores("message", files)
    yield Scores("same message", same, why)


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions that hold such a message."""
    found: dict[int, float] = {}
    why: dict[int, str] = {}
    for file, line, score, share in _alike(question):
        if (place := question.around(file, line)) is not None:
            found[place.id] = max(found.get(place.id, 0.0), score)
            if share >= SAME:
                why.setdefault(place.id, f"line {line} has the text of the reported message")
    yield Scores("message", found, why)


def lines(question: Question) -> Iterator[tuple[int, Line]]:
    """The lines that hold the reported message, each with its file."""
    for file, line, _, share in _alike(question):
        if share >= SAME:
            yield file, Line(line, line, "has the text of the reported message")


def _alike(question: Question) -> Iterator[tuple[int, int, float, float]]:
    """(file, line, score, share of its words that were reported) of the texts most alike."""
    reported = set(words(question.said.message))
    found = question.alike("message_words", question.said.message)
    for number in sorted(found, key=lambda each: -found[each])[:CANDIDATES]:
        file, line, text = question.index.message(number)
        own = list(words(text))
        if len(own) >= SHORTEST:
            share = sum(word in reported for word in own) / len(own)
            yield file, line, share * found[number], share
