"""How well two simple learners, a linear model and nearest neighbours, predict the targets that the program trains on.

The rows of training are put aside with their targets. At the end both learners predict each row by cross-validation,
scored like the skill of a step. Their score on the same rows with permuted targets is chance level. For few rows that
are repeated in training, a lookup table is the third learner. A network that stays at chance level where a learner does
not is at fault; on noise it is not.

Sources: Hoerl and Kennard, "Ridge Regression" (1970); Cover and Hart, "Nearest Neighbor Pattern Classification" (1967).
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Tuple

_MOST_ROWS = 1024
_FEWEST_ROWS = 40
_AGAIN = 10
"""How often training has to come to each of fewer rows."""
_MOST_NUMBERS = 8_000_000
"""Numbers of all rows together that are put aside: 64 MB."""
_MOST_FEATURES = 384
_MOST_OUTPUTS = 64
_FOLDS = 3
_PERMUTATIONS = 4
_PENALTIES = (1e-2, 1.0, 1e2)
_NEIGHBOURS = 5
_LEARNERS = ("linear",) * len(_PENALTIES) + ("neighbours",)
_SEED = 20_240_301


class Examples:
    """Rows of inputs, with the targets and predictions that a loss compared, as numpy arrays."""

    def __init__(self) -> None:
        self._inputs: List[Any] = []
        self._targets: List[Any] = []
        self._rows = 0
        self._numbers = 0
        self._classes: Optional[int] = None
        self._amounts = True
        """Whether each row is one list of amounts: no sequence, no picture, no second input."""

    @property
    def full(self) -> bool:
        """Whether no more rows are taken."""
        return self._rows >= _MOST_ROWS or self._numbers >= _MOST_NUMBERS

    def add(self, inputs: List[Any], target: Any, classes: Optional[int]) -> None:
        """Put the rows of one batch aside: those of all inputs that have one for each row of the target.

        `classes` is how many there are, where the targets are indices of classes.
        """
        if self.full or target.ndim == 0:
            return
        count = int(target.shape[0])
        inputs = own_inputs(inputs, target)
        columns = rows_of(inputs, count)
        if columns is None:
            return
        if self._inputs and (columns.shape[1] != self._inputs[0].shape[1] or classes != self._classes):
            return
        self._classes = classes
        self._amounts = self._amounts and len(inputs) == 1 and inputs[0].ndim == 2 and inputs[0].dtype.kind == "f"
        self._inputs.append(columns)
        self._targets.append(target.reshape(count, -1).astype("float64"))
        self._rows += count
        self._numbers += columns.size

    def reference(self) -> Optional[Dict[str, Any]]:
        """The score of the better learner; `None` where the rows are too few, or of an unsupported form.

        `skill`, `linear` (that of the linear model) and `luck` are on the scale of a step's skill; `learner` is `linear`,
        `neighbours` or `table`; `counts` are how many rows each class has, where targets are classes (`kind` is `class`) or one answer of yes and no (`binary`); `answer` is the column of the inputs that is the target, if any.
        """
        numpy: Any = sys.modules["numpy"]
        known = self._known(numpy)
        if known is None:
            return None
        all_inputs, all_targets = known
        inputs, first, row = numpy.unique(all_inputs, axis=0, return_index=True, return_inverse=True)
        targets = all_targets[first]
        if _same(numpy, inputs, targets):
            return None
        if len(inputs) < _FEWEST_ROWS:
            return _by_heart(numpy, row.reshape(-1), len(inputs), _wanted(numpy, all_targets, self._classes))
        wanted = _wanted(numpy, targets, self._classes)
        if wanted is None:
            return None
        kind, outputs = wanted
        random = numpy.random.RandomState(_SEED)
        orders = [numpy.arange(len(inputs))] + [random.permutation(len(inputs)) for _ in range(_PERMUTATIONS)]
        folds = random.permutation(len(inputs)) % _FOLDS
        scores: Dict[str, List[float]] = {}
        for features in _features(numpy, inputs):
            for learner, predictions in _predictions(numpy, features, [outputs[order] for order in orders], folds):
                found = [_skill(numpy, kind, one, outputs[order]) for one, order in zip(predictions, orders)]
                if found[0] is not None:
                    scores.setdefault(learner, []).append(found[0])
                    scores.setdefault("luck", []).extend(one for one in found[1:] if one is not None)
        luck = max([0.0] + scores.pop("luck", []))
        if not scores:
            return None
        learner = max(scores, key=lambda name: max(scores[name]))
        return {
            "skill": round(max(scores[learner]), 4),
            "linear": round(max(scores["linear"]), 4) if "linear" in scores else None,
            "luck": round(luck, 4),
            "learner": learner,
            "rows": len(inputs),
            "kind": kind,
            "counts": _counts(numpy, all_targets, self._classes),
            "answer": _answer(numpy, inputs, targets) if self._amounts else None,
        }

    def beside(
        self, inputs: Any, targets: Any, predictions: Any, classes: Optional[int]
    ) -> Optional[Tuple[float, float, str]]:
        """The skill of predictions for other rows, the skill on them of the learner that is best on these rows, and its
        name.

        `None` where the rows are too few, or the predictions are not on the scale of the targets.
        """
        numpy: Any = sys.modules["numpy"]
        known = self._known(numpy)
        if known is None or classes != self._classes or known[0].shape[1] != inputs.shape[1]:
            return None
        fitted, told = known
        if len(fitted) < _FEWEST_ROWS or told.shape[1] != targets.shape[1] or _same(numpy, fitted, told):
            return None
        held = numpy.arange(len(fitted) + len(inputs)) >= len(fitted)
        wanted = _wanted(numpy, numpy.concatenate([told, targets]), classes)
        if wanted is None or predictions.shape[1] != wanted[1].shape[1] or not numpy.isfinite(predictions).all():
            return None
        kind, outputs = wanted
        if kind == "real" and outputs.shape[1] > 1 and numpy.allclose(outputs.sum(1), 1.0):
            return None  # shares of classes, which scores may stand for
        folds = numpy.random.RandomState(_SEED).permutation(len(fitted)) % _FOLDS
        found: List[Tuple[float, float, str]] = []
        for features in _features(numpy, numpy.concatenate([fitted, inputs])):
            own = _predictions(numpy, features[~held], [outputs[~held]], folds)
            new = _fitted(numpy, features, outputs, held)
            for (learner, (each,)), (_, asked) in zip(own, new):
                skills = _skill(numpy, kind, each, outputs[~held]), _skill(numpy, kind, asked, outputs[held])
                if skills[0] is not None and skills[1] is not None:
                    found.append((skills[0], skills[1], learner))
        skill = _skill(numpy, kind, predictions, outputs[held])
        if skill is None or not found:
            return None
        _, simple, learner = max(found)
        return round(skill, 4), round(simple, 4), learner

    def _known(self, numpy: Any) -> Optional[Tuple[Any, Any]]:
        """The inputs and the targets of all rows of finite numbers."""
        if not self._inputs or len({one.shape[1] for one in self._targets}) != 1:
            return None
        inputs, targets = numpy.concatenate(self._inputs), numpy.concatenate(self._targets)
        known = numpy.isfinite(inputs).all(1) & numpy.isfinite(targets).all(1)
        return (inputs[known][:_MOST_ROWS], targets[known][:_MOST_ROWS]) if known.any() else None


def own_inputs(inputs: List[Any], target: Any) -> List[Any]:
    """The inputs without the target, which is one of the inputs in models that compute their loss themselves."""
    numpy: Any = sys.modules["numpy"]
    return [one for one in inputs if one.size != target.size or not numpy.array_equal(one.ravel(), target.ravel())]


def rows_of(inputs: List[Any], count: int) -> Any:
    """The inputs that have one row for each of `count` samples, as one array of (`count`, numbers); `None` where there are none."""
    beside = [one.reshape(count, -1) for one in inputs if one.ndim and one.shape[0] == count and one.size]
    if not count or not beside:
        return None
    numpy: Any = sys.modules["numpy"]
    return numpy.concatenate([_columns(numpy, one) for one in beside], axis=1)


def _counts(numpy: Any, targets: Any, classes: Optional[int]) -> Optional[List[int]]:
    """How many of all rows each class has, which need not be what the different ones among them have."""
    wanted = _wanted(numpy, targets, classes)
    if wanted is None or wanted[0] == "real" or (targets < 0).any():
        return None
    ones = [int(count) for count in wanted[1].sum(0)]
    if wanted[0] == "class":
        return ones
    return [len(targets) - ones[0], ones[0]] if len(ones) == 1 else None


def _answer(numpy: Any, inputs: Any, targets: Any) -> Optional[int]:
    """The place of the column that is the target, in every row."""
    if targets.shape[1] != 1 or inputs.shape[1] < 3:
        return None
    same = (inputs == targets).all(0)
    return int(same.argmax()) if same.any() else None


def _by_heart(numpy: Any, row: Any, rows: int, wanted: Optional[Tuple[str, Any]]) -> Optional[Dict[str, Any]]:
    """What a table of the few rows comes to that training sees again and again: they are there to be known by heart."""
    if wanted is None or rows < 2 or len(row) < _AGAIN * rows:
        return None
    kind, outputs = wanted
    sums = numpy.zeros((rows, outputs.shape[1]))
    numpy.add.at(sums, row, outputs)
    skill = _skill(numpy, kind, (sums / numpy.bincount(row, minlength=rows)[:, None])[row], outputs)
    if skill is None:
        return None
    return {"skill": round(skill, 4), "luck": 0.0, "learner": "table", "rows": rows, "kind": kind}


def _columns(numpy: Any, item: Any) -> Any:
    return item.astype("float64") if item.dtype.kind != "c" else numpy.abs(item)


def _same(numpy: Any, inputs: Any, targets: Any) -> bool:
    """Whether the inputs are to be given back: what is asked there is to leave something out, not to predict."""
    return inputs.shape == targets.shape and bool(numpy.allclose(inputs, targets))


def _wanted(numpy: Any, targets: Any, classes: Optional[int]) -> Optional[Tuple[str, Any]]:
    """The kind of the targets, and the outputs that a learner is to give; `None` where nothing is asked."""
    if classes is not None:
        if targets.shape[1] != 1 or classes > _MOST_OUTPUTS:
            return None
        labels = targets[:, 0].astype("int64")
        valid = (labels >= 0) & (labels < classes)
        if not valid.all() or len(numpy.unique(labels)) < 2:
            return None
        return "class", numpy.eye(classes)[labels]
    if targets.shape[1] > _MOST_OUTPUTS or not (targets != targets[:1]).any():
        return None
    two_valued = bool(((targets == 0) | (numpy.abs(targets) == 1)).all()) and len(numpy.unique(targets)) == 2
    if two_valued and targets.shape[1] > 1 and bool((targets.sum(1) == 1).all()):
        return "class", targets
    if two_valued:
        return "binary", (targets > 0).astype("float64")
    return "real", targets


def _features(numpy: Any, inputs: Any) -> List[Any]:
    """Columns of one scale, of many columns mixtures; for whole numbers, which may be indices, once more with the counts of each beside them.

    Many columns of counts would drown the few columns of amounts.
    """
    columns = _scaled(numpy, inputs)
    if inputs.shape[1] == 1 or not bool((inputs == numpy.floor(inputs)).all()) or inputs.min() < 0:
        return [columns]
    buckets = (inputs.astype("int64") * 2_654_435_761 % 4_294_967_296 % _MOST_FEATURES).astype("int64")
    counts = numpy.zeros((len(inputs), _MOST_FEATURES))
    numpy.add.at(counts, (numpy.arange(len(inputs))[:, None], buckets), 1.0)
    return [columns, numpy.concatenate([columns, _scaled(numpy, counts)], axis=1)]


def _scaled(numpy: Any, part: Any) -> Any:
    spread = part.std(0)
    moving = spread > 1e-12 * (numpy.abs(part).max() + 1e-300)
    scaled = (part[:, moving] - part[:, moving].mean(0)) / spread[moving]
    if scaled.shape[1] > _MOST_FEATURES:
        random = numpy.random.RandomState(_SEED)
        scaled = scaled @ random.standard_normal((scaled.shape[1], _MOST_FEATURES)) / scaled.shape[1] ** 0.5
    return scaled


def _predictions(numpy: Any, features: Any, outputs: List[Any], folds: Any) -> List[Tuple[str, List[Any]]]:
    """What each learner predicts for each of several targets, every row from the other folds."""
    wide = numpy.concatenate(outputs, axis=1)
    whole = [(learner, numpy.zeros_like(wide)) for learner in _LEARNERS]
    for fold in range(_FOLDS):
        held = folds == fold
        for (_, predictions), (_, part) in zip(whole, _fitted(numpy, features, wide, held)):
            predictions[held] = part
    width = outputs[0].shape[1]
    return [
        (learner, [one[:, place * width : (place + 1) * width] for place in range(len(outputs))])
        for learner, one in whole
    ]


def _fitted(numpy: Any, features: Any, outputs: Any, held: Any) -> List[Tuple[str, Any]]:
    """What each learner, fitted on the other rows, predicts for the rows that are `held` back."""
    known, asked, told = features[~held], features[held], outputs[~held]
    middle = told.mean(0)
    values, vectors = numpy.linalg.eigh(known.T @ known)
    turned = vectors.T @ (known.T @ (told - middle))
    found = []
    for penalty in _PENALTIES:
        strength = penalty * max(float(values.mean()), 1e-12)
        found.append(asked @ (vectors @ (turned / (values + strength)[:, None])) + middle)
    distances = (known**2).sum(1)[None] - 2.0 * asked @ known.T
    closest = numpy.argpartition(distances, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
    return list(zip(_LEARNERS, [*found, told[closest].mean(1)]))


def _skill(numpy: Any, kind: str, predictions: Any, wanted: Any) -> Optional[float]:
    """Accuracy beyond naming the commonest class, rank agreement, or explained variance; see `torch/skill.py`."""
    if kind == "class":
        labels = wanted.argmax(1)
        commonest = float(numpy.bincount(labels).max()) / len(labels)
        right = float((predictions.argmax(1) == labels).mean())
        return (right - commonest) / (1.0 - commonest) if commonest < 1.0 else None
    if kind == "binary":
        agreements = [
            one
            for one in (agreement(numpy, predictions[:, place], wanted[:, place]) for place in range(wanted.shape[1]))
            if one is not None
        ]
        return sum(agreements) / len(agreements) if agreements else None
    spread = float(((wanted - wanted.mean(0)) ** 2).sum())
    return 1.0 - float(((predictions - wanted) ** 2).sum()) / spread if spread > 0 else None


def agreement(numpy: Any, scores: Any, wanted: Any) -> Optional[float]:
    """Rank agreement of scores with a target (positive above one half): 1 for a perfect order, 0 for chance."""
    high, low = scores[wanted > 0.5], numpy.sort(scores[wanted <= 0.5])
    if not len(high) or not len(low):
        return None
    below = numpy.searchsorted(low, high, "left").sum() + numpy.searchsorted(low, high, "right").sum()
    return float(below) / (len(high) * len(low)) - 1.0
