"""The words of a report against the words of the code, by BM25: by part of the report and by field of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dnnfix.locate.index import FIELDS
from dnnfix.locate.question import Question, Scores
from dnnfix.locate.said import Said

NAME_WEIGHT = 2.0
"""What a word in the name of a definition weighs against one in its body."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of whole files, field by field, and of their best definition."""
    for part, text in _parts(question.said).items():
        for i, field in enumerate(FIELDS):
            found = question.alike("file_words", text, tuple(float(i == j) for j in range(len(FIELDS))))
            yield Scores(f"{part} in {field}", {file: score for file, score in found.items() if score > 0})
        best: dict[int, float] = {}
        for number, score in question.alike("definition_words", text, (NAME_WEIGHT, 1.0)).items():
            file = question.index.definitions[number].file
            best[file] = max(best.get(file, 0.0), score)
        yield Scores(f"{part} in definition", best)


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions."""
    for part, text in _parts(question.said).items():
        yield Scores(f"{part} in definition", question.alike("definition_words", text, (NAME_WEIGHT, 1.0)))
        yield Scores(f"{part} in name", question.alike("definition_words", text, (1.0, 0.0)))


def _parts(said: Said) -> Mapping[str, str]:
    return {"title": said.title, "report": said.whole}
