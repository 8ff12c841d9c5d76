"""Combines the kinds of evidence into one ranking of files, and of the definitions in the best of them.

Each score is divided by the greatest that its kind gives for the question, and the sum of these shares, weighted, is what
places are ranked by. The weights (`weights.json`) were fitted to reports whose fix is known, so that the softmax of the sums
gives the places that the fix changed: `tools/fit_locate.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from dnnfix.locate.evidence import executed, frames, history, layers, messages, names, paths, prior, quoted, text
from dnnfix.locate.question import Question, Scores

KINDS = (text, frames, paths, names, quoted, messages, layers, history, executed, prior)
"""The kinds of evidence for files."""
KINDS_OF_DEFINITIONS = (text, frames, names, quoted, messages, layers, executed, prior)
"""Those that tell definitions apart."""
FILE = "file"
"""The evidence for a definition that its file is: the root of the file's share."""
SEARCHED = 10
"""Files, best first, whose definitions are ranked."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A file or a definition by its number, its share of all that is suspected (0 to 1), and the reasons, strongest first."""

    number: int
    share: float
    reasons: tuple[str, ...]


def ranked_files(question: Question, weights: Mapping[str, float] | None = None) -> list[Ranked]:
    """All files, the most suspect first."""
    return _ranked(file_scores(question), question.index.paths, weights or fitted("files"))


def ranked_definitions(
    question: Question, files: Sequence[Ranked], weights: Mapping[str, float] | None = None
) -> list[Ranked]:
    """The definitions of the best of the files, the most suspect first."""
    best = files[:SEARCHED]
    held = {place.id: math.sqrt(file.share) for file in best for place in question.index.in_file(file.number)}
    evidence = [*definition_scores(question), Scores(FILE, held)]
    return _ranked(evidence, held, weights or fitted("definitions"))


def file_scores(question: Question) -> list[Scores]:
    """The scores of files by all kinds of evidence."""
    return [scores for kind in KINDS for scores in kind.evidence(question)]


def definition_scores(question: Question) -> list[Scores]:
    """The scores of definitions by all kinds of evidence that tell them apart; that for their file is not among them."""
    return [scores for kind in KINDS_OF_DEFINITIONS for scores in kind.of_definitions(question)]


@cache
def fitted(level: str) -> Mapping[str, float]:
    """The weight of each kind of evidence, for files or for definitions."""
    document = json.loads(resources.files("dnnfix.locate").joinpath("weights.json").read_text(encoding="utf-8"))
    weights: Mapping[str, float] = document[level]
    return weights


def _ranked(evidence: Sequence[Scores], among: Iterable[int], weights: Mapping[str, float]) -> list[Ranked]:
    sums = dict.fromkeys(among, 0.0)
    reasons: dict[int, list[tuple[float, str]]] = {}
    for scores in evidence:
        weight, greatest = weights.get(scores.name, 0.0), max(scores.of.values(), default=0.0)
        if not weight or greatest <= 0:
            continue
        for number, score in scores.of.items():
            if number in sums:
                sums[number] += weight * score / greatest
                if number in scores.why:
                    reasons.setdefault(number, []).append((weight * score / greatest, scores.why[number]))
    shares = _softmax(sums)
    order = sorted(sums, key=lambda each: -sums[each])
    return [Ranked(number, shares[number], tuple(_said(reasons.get(number, ())))) for number in order]


def _softmax(sums: Mapping[int, float]) -> Mapping[int, float]:
    greatest = max(sums.values(), default=0.0)
    powers = {number: math.exp(value - greatest) for number, value in sums.items()}
    total = sum(powers.values())
    return {number: power / total for number, power in powers.items()}


def _said(reasons: Iterable[tuple[float, str]]) -> Iterator[str]:
    yield from dict.fromkeys(reason for weight, reason in sorted(reasons, reverse=True) if weight > 0)
