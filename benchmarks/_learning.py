"""Fits the weights of `dnnfix locate` to reports whose fix is known, across projects, and tells how good a ranking is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from _measure import ROOT
from _reports import Table

from dnnfix.locate.ranking import SEARCHED

sys.path.insert(0, str(ROOT / "tools"))
from conditional_logit import likeliest

FOLDS = 8
STRENGTH = 6.0
"""How strongly weights are drawn to where they begin; 2 and 20 do as well across projects."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How good the ranking for one report is: average precision, and whether a right place is among the first 1, 5 and 10."""

    precision: float
    first: float
    five: float
    ten: float


def quality(scores: Any, right: Any) -> Quality:
    """The quality of the order by score, the greatest first, equal ones in their order."""
    placed = right[np.argsort(-scores, kind="stable")]
    hits = np.flatnonzero(placed)
    if not len(hits):
        return Quality(0.0, 0.0, 0.0, 0.0)
    precision = float(np.mean((np.arange(len(hits)) + 1) / (hits + 1)))
    return Quality(precision, float(placed[0]), float(placed[:5].any()), float(placed[:10].any()))


def mean(qualities: Sequence[Quality]) -> Quality:
    """The mean of each number: mean average precision, and shares of the reports."""
    return Quality(*(float(np.mean([getattr(each, name) for each in qualities])) for name in Quality.__slots__))


BEGUN = {"layer": 0.6, "executed": 2.0}
"""Weights of what next to none of the reports of the set have: they are about libraries, and their tests were not run."""


def fitted(tables: Sequence[Table], columns: Sequence[int], names: Sequence[str]) -> Any:
    """The weights of these columns that make the right rows of the tables likeliest; the other columns weigh nothing."""
    used = [table for table in tables if table.right.any()]
    values = np.concatenate([table.values[:, columns] for table in used])
    starts = np.cumsum([0, *(len(table.right) for table in used[:-1])])
    begun = np.array([BEGUN.get(names[column], 0.0) for column in columns])
    found = np.zeros(used[0].values.shape[1])
    found[list(columns)] = likeliest(
        values, np.concatenate([table.right for table in used]), starts, begun, np.full(len(columns), STRENGTH)
    )
    return found


def across_projects(tables: Sequence[Table], columns: Sequence[int], names: Sequence[str]) -> list[Any]:
    """The scores of each table's rows by weights that were fitted to other projects alone."""
    fold = _folds(tables)
    scores: dict[int, Any] = {}
    for number in range(FOLDS):
        weights = fitted([table for table in tables if fold[table.report.repository] != number], columns, names)
        for i, table in enumerate(tables):
            if fold[table.report.repository] == number:
                scores[i] = table.values @ weights
    return [scores[i] for i in range(len(tables))]


def with_files(definitions: Sequence[Table], scores: Sequence[Any]) -> list[Table]:
    """The definitions of the best files by these scores, with their files' shares as the last column."""
    made = []
    for table, own in zip(definitions, scores, strict=True):
        best = np.argsort(-own, kind="stable")[:SEARCHED]
        kept = np.isin(table.files, best)
        values = table.values[kept].copy()
        values[:, -1] = np.exp((own[table.files[kept]] - own.max()) / 2)
        made.append(replace(table, values=values, right=table.right[kept], files=table.files[kept]))
    return made


def _folds(tables: Sequence[Table]) -> Mapping[str, int]:
    """Projects in parts of about as many reports each: the next greatest goes where the fewest are."""
    many = Counter(table.report.repository for table in tables)
    load = [0] * FOLDS
    fold = {}
    for repository, count in sorted(many.items(), key=lambda each: (-each[1], each[0])):
        fold[repository] = load.index(min(load))
        load[fold[repository]] += count
    return fold


def by_project(tables: Sequence[Table], qualities: Sequence[Quality]) -> Iterator[tuple[str, list[Quality]]]:
    """The qualities of each project, the project with the most reports first."""
    many = Counter(table.report.repository for table in tables)
    for repository, _ in many.most_common():
        yield (
            repository,
            [q for table, q in zip(tables, qualities, strict=True) if table.report.repository == repository],
        )
