"""Classes and functions of the repository that a report names: the fewer files define a name, the more it tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dnnfix.locate.question import Question, Scores
from dnnfix.locate.words import IDENTIFIER
from dnnfix.source.public_names import words as listed

COMMON = listed(
    "build call data dict fit forward get init input len list load loss main model output predict print run save set step test "
    "train update"
)
"""Names that every repository defines and every report uses."""
METHOD = 0.7
"""What a method's name weighs against that of a class or function."""
LAST_FRAMES = 3
"""Frames, from within, whose functions count as named wherever their file cannot be told."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files that define what is named."""
    for part, found in (*_named(question), ("dotted", _dotted(question))):
        scores: dict[int, float] = {}
        why: dict[int, str] = {}
        for number, score in found.items():
            place = question.index.definitions[number]
            if part == "dotted":
                scores[place.file] = max(scores.get(place.file, 0.0), score)
            else:
                scores[place.file] = scores.get(place.file, 0.0) + score
            why.setdefault(place.file, f"defines {place.name}, which the report names")
        yield Scores(f"name in {part}", scores, why)


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions that are named, and of the methods of a class that is."""
    for part, found in (*_named(question), ("dotted", _dotted(question))):
        yield Scores(f"name in {part}", found, dict.fromkeys(found, "the report names it"))
        if part in ("title", "prose"):
            classes = {number: score for number, score in found.items() if question.index.definitions[number].is_class}
            owned = {
                place.id: score
                for number, score in classes.items()
                for place in question.index.in_file(question.index.definitions[number].file)
                if place.name.startswith(f"{question.index.definitions[number].name}.")
            }
            yield Scores(f"class in {part}", owned)


def _named(question: Question) -> Iterator[tuple[str, Mapping[int, float]]]:
    said = question.said
    frames = [frame.function.rpartition(".")[2] for frame in said.frames]
    parts: dict[str, Iterable[str]] = {
        "title": IDENTIFIER.findall(said.title),
        "prose": said.marked,
        "frame": frames[-LAST_FRAMES:],
        "message": IDENTIFIER.findall(said.message),
    }
    for part, names in parts.items():
        yield part, _defined(question, names)


def _defined(question: Question, names: Iterable[str]) -> Mapping[int, float]:
    scores: dict[int, float] = {}
    for name in dict.fromkeys(names):
        if len(name) < 3 or name.lower() in COMMON or name.startswith("__"):
            continue
        places = question.index.by_name.get(name, ())
        files = {place.file for place in places}
        for place in places:
            scores[place.id] = (METHOD if "." in place.name and not place.is_class else 1.0) / len(files)
    return scores


def _dotted(question: Question) -> Mapping[int, float]:
    """Definitions that are the last part of a dotted name whose first parts name their folder, file or class."""
    index = question.index
    scores: dict[int, float] = {}
    for dotted in question.said.dotted:
        parts = dotted.split(".")
        for i, part in enumerate(parts[1:], 1):
            places = index.by_name.get(part, ())
            for place in places:
                around = {*re.split(r"[/.]", index.paths[place.file]), place.name.split(".")[0]}
                if shared := sum(each in around for each in parts[:i]):
                    scores[place.id] = max(scores.get(place.id, 0.0), shared * len(places) ** -0.5)
    return scores
