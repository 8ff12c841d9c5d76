"""What failing tests execute and passing ones do not, by Ochiai; nothing where no tests were run."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.locate.answer import Line
from dnnfix.locate.question import Question, Scores
from dnnfix.locate.spectra.spectrum import ochiai

MOST_LINES = 5
"""Lines of a file that are named, where no more are the most suspect."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files: that of their most suspect line."""
    scores: dict[int, float] = {}
    for (file, _), score in _suspect(question):
        scores[file] = max(scores.get(file, 0.0), score)
    yield Scores("executed", scores, dict.fromkeys(scores, "failing tests execute it, more than passing ones"))


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions: that of their most suspect line."""
    scores: dict[int, float] = {}
    for (file, line), score in _suspect(question):
        if (place := question.around(file, line)) is not None:
            scores[place.id] = max(scores.get(place.id, 0.0), score)
    yield Scores("executed", scores, dict.fromkeys(scores, "failing tests execute it, more than passing ones"))


def lines(question: Question) -> Iterator[tuple[int, Line]]:
    """The most suspect lines of each file, if they are few."""
    by_file: dict[int, dict[int, float]] = {}
    for (file, line), score in _suspect(question):
        by_file.setdefault(file, {})[line] = score
    for file, own in by_file.items():
        most = max(own.values())
        found = sorted(line for line, score in own.items() if score == most)
        if len(found) <= MOST_LINES:
            yield from ((file, Line(line, line, f"failing tests execute it (Ochiai {most:.2f})")) for line in found)


def _suspect(question: Question) -> Iterator[tuple[tuple[int, int], float]]:
    if question.spectrum is None:
        return
    files = {path: number for number, path in question.index.paths.items()}
    for (path, line), score in question.spectrum.by(ochiai).items():
        if path in files:
            yield (files[path], line), score
