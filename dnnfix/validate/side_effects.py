"""The side effects of a patch on time, memory, parameters, information and robustness, which are reported and not
judged.

Many human fixes cost robustness, information or training time and never say so (the study's findings on downscaling
and dropout); these numbers are therefore shown with every accepted patch. They are reported, not judged.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from dnnfix.records import Json, Network, Trace
from dnnfix.run.job import Experiment
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.learning import score

MEASURED = (Experiment.ADVERSARIAL, Experiment.INFORMATION)
"""What has to be measured for it in the first run before and after."""


def side_effects(evidence: Evidence) -> Mapping[str, Json]:
    """Numbers before and after, `None` where a run did not show them.

    `step_seconds` (median seconds of one optimizer step), `peak_memory` (bytes), `parameters` (weights in all),
    `information` (share of the data that reaches the first layer), `adversarial` (relative rise of the loss under a
    small sign-gradient step), `score` (skill, or fall of the loss, at the end of the paired trials).
    """
    before, after = evidence.before, evidence.after
    trained_before = [pair.before for pair in evidence.pairs] or [before]
    trained_after = [pair.after for pair in evidence.pairs] or [after]
    return {
        "step_seconds": _both(_median_step(trained_before), _median_step(trained_after)),
        "peak_memory": _both(before.peak_memory or None, after.peak_memory or None),
        "parameters": _both(_weights(before.network), _weights(after.network)),
        "information": _both(_number(before, Experiment.INFORMATION), _number(after, Experiment.INFORMATION)),
        "adversarial": _both(_number(before, Experiment.ADVERSARIAL), _number(after, Experiment.ADVERSARIAL)),
        "score": _both(_mean_score(trained_before), _mean_score(trained_after)),
    }


def _both(before: Json, after: Json) -> dict[str, Json]:
    return {"before": before, "after": after}


def _median_step(traces: list[Trace]) -> float | None:
    known = [trace.step_seconds for trace in traces if trace.step_seconds is not None]
    return round(statistics.median(known), 6) if known else None


def _weights(network: Network | None) -> int | None:
    if network is None or not network.parameters:
        return None
    total = 0
    for parameter in network.parameters:
        size = 1
        for length in parameter.shape:
            size *= length
        total += size
    return total


def _number(trace: Trace, experiment: Experiment) -> float | None:
    value = trace.probes.get(experiment.value)
    return round(float(value), 4) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _mean_score(traces: list[Trace]) -> float | None:
    scores = [found.value for found in map(score, traces) if found is not None]
    return round(statistics.fmean(scores), 4) if scores else None
