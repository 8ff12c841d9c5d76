"""Metrics of a small hub: what `evaluate.load` would fetch as a script, for the metrics that programs use."""

from dnnfix.reproduce.standins.wrapping import made_wraps


def made_metric(original):
    """Stub for `evaluate.load`."""

    @made_wraps(original)
    def load(path, config_name=None, *args, **kwargs):
        return MadeMetric(str(path).rstrip("/").rpartition("/")[2].replace(".py", ""), config_name)

    return load


def made_metrics_together(original):
    """Stub for `evaluate.combine`."""

    @made_wraps(original)
    def combine(evaluations, *args, **kwargs):
        return MadeMetric([one if isinstance(one, MadeMetric) else MadeMetric(str(one)) for one in evaluations])

    return combine


class MadeMetric:
    """A metric with the methods of the package's own: rows are gathered, then counted."""

    def __init__(self, name, config_name=None):
        self.name, self.config_name = name, config_name
        self.rows = [], []

    def add_batch(self, *, predictions=None, references=None, prediction_scores=None, **kwargs):
        predictions = prediction_scores if predictions is None else predictions
        self.rows[0].extend(_made_plain(predictions))
        self.rows[1].extend(_made_plain(references))

    def add(self, *, prediction=None, reference=None, predictions=None, references=None, **kwargs):
        self.rows[0].extend(_made_plain([predictions if prediction is None else prediction]))
        self.rows[1].extend(_made_plain([references if reference is None else reference]))

    def compute(self, *, predictions=None, references=None, prediction_scores=None, **kwargs):
        predictions = prediction_scores if predictions is None else predictions
        if predictions is not None:
            self.add_batch(predictions=predictions, references=references)
        rows, self.rows = self.rows, ([], [])
        if len(rows[0]) != len(rows[1]):
            raise ValueError("Mismatch in the number of predictions (%d) and references (%d)" % tuple(map(len, rows)))
        if isinstance(self.name, list):
            found = {}
            for one in self.name:
                found.update(one.compute(predictions=rows[0], references=rows[1], **kwargs))
            return found
        return _made_counted(self.name, self.config_name, *rows, kwargs)


def _made_plain(values):
    """Predictions as lists: of arrays, tensors and lists of them."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if hasattr(values, "tolist"):
        return values.tolist()
    return [value.tolist() if hasattr(value, "tolist") else value for value in values]


def _made_counted(name, config, predictions, references, settings):
    """What a metric gives for rows of predictions and references."""
    if name == "glue":
        name = {"stsb": "pearsonr", "cola": "matthews_correlation", "mrpc": "accuracy f1", "qqp": "accuracy f1"}.get(
            config, "accuracy"
        )
    if name in ("wer", "cer"):
        return 1.0 - _made_texts_compared(name, predictions, references)[name]
    found = {}
    for part in name.split():
        if part in ("accuracy", "f1", "precision", "recall", "matthews_correlation", "exact_match"):
            if part != "exact_match" and config != "multilabel":
                predictions, references = _made_integers(predictions), _made_integers(references)
            found[part] = _made_classified(part, predictions, references, settings)
        elif part in ("mse", "mae", "pearsonr", "spearmanr", "roc_auc", "brier_score"):
            found[part] = _made_numbers(part, predictions, references)
        else:
            found.update(_made_texts_compared(part, predictions, references))
    if name == "pearsonr" and config == "stsb":
        found = {"pearson": found["pearsonr"], "spearmanr": _made_numbers("spearmanr", predictions, references)}
    return found


def _made_integers(values):
    """Class indices; what is no number is no prediction of a class, as the package's own check says."""
    try:
        return [int(value) for value in values]
    except (TypeError, ValueError):
        raise ValueError(
            "Predictions and/or references don't match the expected format.\n"
            "Expected format: {'predictions': Value('int32'), 'references': Value('int32')},\nInput: %.60r" % (values,)
        ) from None


def _made_classified(name, predictions, references, settings):
    """Shares of class indices that are right, in the ways in which they are counted."""
    import numpy

    guessed, true = numpy.asarray(predictions), numpy.asarray(references)
    if name in ("accuracy", "exact_match"):
        same = guessed == true
        return float(numpy.mean(same.reshape(len(same), -1).all(axis=1))) if len(guessed) else 0.0
    kinds = sorted(set(true.ravel().tolist()) | set(guessed.ravel().tolist()))
    if name == "matthews_correlation":
        a, b = ((values[:, None] == numpy.asarray(kinds)) * 1.0 for values in (guessed, true))
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        spread = float(numpy.sqrt((a * a).sum() * (b * b).sum()))
        return float((a * b).sum()) / spread if spread else 0.0
    average = settings.get("average", "binary")
    if average == "binary":
        if len(kinds) > 2:
            raise ValueError(
                "Target is multiclass but average='binary'. Please choose another average setting, one of "
                "[None, 'micro', 'macro', 'weighted']."
            )
        kinds = [settings.get("pos_label", 1)]
    scores, counts = [], []
    for kind in kinds:
        hits = float(((guessed == kind) & (true == kind)).sum())
        precision = hits / max(1, int((guessed == kind).sum()))
        recall = hits / max(1, int((true == kind).sum()))
        both = 2 * precision * recall / (precision + recall) if hits else 0.0
        scores.append({"f1": both, "precision": precision, "recall": recall}[name])
        counts.append(int((true == kind).sum()))
    if average == "micro":
        return float(numpy.mean(guessed == true))
    if average == "weighted":
        return float(numpy.average(scores, weights=counts)) if sum(counts) else 0.0
    return numpy.array(scores) if average is None else float(numpy.mean(scores or [0.0]))


def _made_numbers(name, predictions, references):
    """Errors and correlations of numbers."""
    import numpy

    guessed, true = (
        numpy.asarray(values, dtype="float64").reshape(len(values), -1) for values in (predictions, references)
    )
    if name in ("mse", "brier_score"):
        return float(numpy.mean((guessed - true) ** 2))
    if name == "mae":
        return float(numpy.mean(numpy.abs(guessed - true)))
    guessed, true = guessed[:, -1], true[:, -1]
    if name == "roc_auc":
        high, low = guessed[true > 0.5], guessed[true <= 0.5]
        pairs = (high[:, None] > low).mean() + 0.5 * (high[:, None] == low).mean() if len(high) and len(low) else 0.5
        return float(pairs)
    if name == "spearmanr":
        guessed, true = (numpy.argsort(numpy.argsort(values)) for values in (guessed, true))
    spread = float(numpy.std(guessed) * numpy.std(true))
    return float(numpy.mean((guessed - guessed.mean()) * (true - true.mean()))) / spread if spread else 0.0


def _made_texts_compared(name, predictions, references):
    """Shares of words that texts have in common, under the names of a metric; of lists of tags the shares that are right."""
    first = [one[0] if isinstance(one, (list, tuple)) and one and isinstance(one[0], str) and name != "seqeval" else one
             for one in references]  # fmt: skip
    shares = []
    for guessed, true in zip(predictions, first):
        if isinstance(guessed, dict):
            guessed, true = guessed.get("prediction_text", ""), (true.get("answers", {}).get("text") or [""])[0]
        a, b = (one.split() if isinstance(one, str) else list(one) for one in (guessed, true))
        same = (
            sum(min(a.count(word), b.count(word)) for word in set(a))
            if name != "seqeval"
            else sum(map(_made_same_tag, a, b))
        )
        shares.append(2.0 * same / max(1, len(a) + len(b)))
    mean = sum(shares) / max(1, len(shares))
    if name == "seqeval":
        return {"overall_" + part: mean for part in ("precision", "recall", "f1", "accuracy")}
    if name == "rouge":
        return {"rouge1": mean, "rouge2": mean / 2, "rougeL": mean, "rougeLsum": mean}
    if name in ("squad", "squad_v2"):
        exact = 100.0 * sum(share == 1 for share in shares) / max(1, len(shares))
        return {"exact_match": exact, "exact": exact, "f1": 100 * mean}
    if name in ("sacrebleu", "chrf", "ter"):
        return {"score": 100 * mean, "counts": [0] * 4, "totals": [0] * 4, "precisions": [100 * mean] * 4, "bp": 1.0}
    if name == "bertscore":
        return {part: shares for part in ("precision", "recall", "f1")}
    return {name: mean}


def _made_same_tag(a, b):
    return a == b
