"""Fits the weights of the triage of reports (`dnnfix/locate/triage.json`), and tells how good they are across projects.

    python tools/fit_triage.py [--check]

`benchmarks/locate/triage.jsonl` has restated reports, each with the labels that two people gave it apart from each other and from the rules, and
whether they were sure; a report of `reports.jsonl` is named there, not repeated. Weights are fitted to what both labelled alike, what
they were unsure of less. With `--check` nothing is written: each report is judged by weights that were fitted to other projects.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix, f1_score
from sklearn.model_selection import GroupKFold

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dnnfix.locate.said import said
from dnnfix.locate.triage import UNSURE, features

SET = ROOT / "benchmarks" / "locate"
WEIGHTS = ROOT / "dnnfix" / "locate" / "triage.json"
SEEN = 5
"""Reports that have to have a word for it to be weighed."""
STRENGTH = 0.1
"""The inverse of the strength with which weights are drawn to zero, as scikit-learn counts it."""
RARE = 0.3
"""The power of a label's rarity that its reports are weighed by: of 0, 0.3, 0.5 and 0.7 the best across projects."""
UNCERTAIN = 0.6
"""What a report weighs that one of the two was unsure of."""
LEAST = 0.02
"""Weights below this are left out."""
FOLDS = 8


@dataclass(frozen=True)
class Labelled:
    """A restated report with its two labels."""

    project: str
    labels: tuple[str, str]
    is_sure: bool
    features: Mapping[str, float]


def main() -> None:
    """Write the weights, or say how good they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and judge across projects")
    check = parser.parse_args().check
    every = list(_labelled())
    one, other = ([each.labels[i] for each in every] for i in range(2))
    agreed = [each for each in every if each.labels[0] == each.labels[1]]
    sys.stdout.write(
        f"{len(every)} reports labelled twice: alike {len(agreed) / len(every):.3f}, kappa {cohen_kappa_score(one, other):.3f}\n"
    )
    if check:
        _check(agreed)
    else:
        _write(agreed)


def _labelled() -> Iterator[Labelled]:
    known = {
        (entry["repository"], entry["issue"]): entry["report"]
        for entry in map(json.loads, (SET / "reports.jsonl").read_text(encoding="utf-8").splitlines())
    }
    for entry in map(json.loads, (SET / "triage.jsonl").read_text(encoding="utf-8").splitlines()):
        text = entry.get("report") or known[entry["repository"], entry["issue"]]
        yield Labelled(
            entry["repository"], tuple(entry["labels"]), entry["sure"], features(said(text), entry["repository"])
        )


def _fitted(agreed: Sequence[Labelled]) -> tuple[DictVectorizer, LogisticRegression]:
    seen = Counter(name for each in agreed for name in each.features)
    rows = [{name: value for name, value in each.features.items() if seen[name] >= SEEN} for each in agreed]
    labels = Counter(each.labels[0] for each in agreed)
    rarity = {label: (len(agreed) / count) ** RARE for label, count in labels.items()}
    mean = sum(rarity[label] * count for label, count in labels.items()) / len(agreed)
    weights = [rarity[each.labels[0]] / mean * (1.0 if each.is_sure else UNCERTAIN) for each in agreed]
    columns = DictVectorizer()
    model = LogisticRegression(C=STRENGTH, max_iter=5000)
    return columns, model.fit(columns.fit_transform(rows), [each.labels[0] for each in agreed], sample_weight=weights)


def _check(agreed: Sequence[Labelled]) -> None:
    labels = np.array([each.labels[0] for each in agreed])
    found: Any = np.empty(len(agreed), dtype=object)
    chances = np.zeros(len(agreed))
    for rest, own in GroupKFold(FOLDS).split(labels, labels, [each.project for each in agreed]):
        columns, model = _fitted([agreed[i] for i in rest])
        shares = model.predict_proba(columns.transform([agreed[i].features for i in own]))
        found[own], chances[own] = model.classes_[shares.argmax(1)], shares.max(1)
    sure = np.array([each.is_sure for each in agreed])
    told = chances >= UNSURE
    for name, kept in (
        ("all that were labelled alike", np.ones(len(agreed), dtype=bool)),
        ("both labellers sure", sure),
        ("the tool sure", told),
        ("both labellers and the tool sure", sure & told),
    ):
        counts = Counter(labels[kept])
        usual = [label for label, count in counts.items() if count >= 10]
        sys.stdout.write(
            f"{name:34} {kept.sum():5} accuracy {accuracy_score(labels[kept], found[kept]):.3f}"
            f"  macro F1 {f1_score(labels[kept], found[kept], average='macro', labels=sorted(counts)):.3f}"
            f"  of the {len(usual)} labels with ten reports {f1_score(labels[kept], found[kept], average='macro', labels=usual):.3f}\n"
        )
    names = sorted(set(labels))
    sys.stdout.write(f"{' ':12}" + "".join(f"{name:>12}" for name in names) + "  (found)\n")
    for name, row in zip(names, confusion_matrix(labels, found, labels=names), strict=True):
        sys.stdout.write(f"{name:12}" + "".join(f"{count:12}" for count in row) + "\n")


def _write(agreed: Sequence[Labelled]) -> None:
    columns, model = _fitted(agreed)
    document = {
        label: {
            "bias": round(float(bias), 3),
            "weights": {
                name: round(float(weight), 3)
                for name, weight in zip(columns.get_feature_names_out(), weights, strict=True)
                if abs(weight) >= LEAST
            },
        }
        for label, bias, weights in zip(model.classes_, model.intercept_, model.coef_, strict=True)
    }
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
