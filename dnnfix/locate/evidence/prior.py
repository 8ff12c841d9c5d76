"""What a file is, whatever the report says: its size, and whether it stands beside the library or program itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dnnfix.locate.question import Question, Scores

_ASIDE = re.compile(
    r"(^|/)(docs?|examples?|benchmarks?|scripts?|tutorials?|tools|ci|setup\.py|versioneer\.py|_version\.py|conf\.py)(/|$)"
)


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of all files."""
    index = question.index
    yield Scores("size", {file: math.log1p(lines) for file, lines in index.lines.items()})
    yield Scores("aside", {file: 1.0 for file, path in index.paths.items() if _ASIDE.search(path)})


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of all definitions."""
    places = question.index.definitions
    yield Scores("size", {number: math.log1p(place.last - place.first) for number, place in places.items()})
    yield Scores("class", {number: 1.0 for number, place in places.items() if place.is_class})
    yield Scores("constructor", {number: 1.0 for number, place in places.items() if place.name.endswith("__init__")})
