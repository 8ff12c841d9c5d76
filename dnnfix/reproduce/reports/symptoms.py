"""Reads which symptom a report names, and checks whether a run shows it."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass

from dnnfix.records import RunOutcome, Symptom, Trace
from dnnfix.reproduce.reports.report import reported_errors

SAME_MESSAGE = 0.55
"""Likeness of two messages, numbers and quoted names aside, from which on they are one error; other versions of a
library word it otherwise, so that the class of the exception counts more."""
STUCK = 0.05
"""Skill up to which a training has not learned: guessing is at 0, and twice the spread of equal programs over seeds."""
FALL = 0.02
"""Share by which a loss has to fall to count as learning where no skill could be measured."""

_SILENT = (
    (
        Symptom.NON_FINITE,
        (
            r"\b(?:loss|output|accuracy|weights?|gradients?|values?)\b[^.\n]{0,40}\b(?:nan|inf(?:inity)?)\b|"
            r"\bnan\b[^.\n]{0,20}\b(?:loss|values?|outputs?)\b|\bloss[:=\s]+nan\b"
        ),
    ),
    (
        Symptom.CONSTANT_OUTPUT,
        (
            r"(?:always|only)\s+(?:predicts?|outputs?|returns?|gives?|guess(?:es)?)|same (?:output|prediction|value|class)|"
            r"(?:outputs?|predictions?) (?:is|are) (?:always|all|the same)|constant (?:output|prediction)"
        ),
    ),
    (
        Symptom.NOT_LEARNING,
        (
            r"not? (?:learn|converg|improv|decreas|train)\w*|(?:doesn'?t|does not|won'?t|isn'?t|is not|not) "
            r"(?:learn|converg|improv|decreas|chang|train|go down)\w*|stuck|(?:loss|accuracy)[^.\n]{0,40}"
            r"(?:stays?|constant|same|flat|low|increas)"
        ),
    ),
)
_NUMBER = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Reported:
    """The symptom that a report names: an exception (`error` and `message`), or something silent."""

    symptom: Symptom
    error: str = ""
    message: str = ""

    def __str__(self) -> str:
        if self.symptom is Symptom.CRASH:
            return f"{self.error}: {self.message}" if self.message else self.error
        return self.symptom.value


def reported_symptom(said: str) -> Reported | None:
    """The symptom that a text reports; an exception counts before a silent one, and warnings do not count."""
    for error, message in reported_errors(said):
        if not error.endswith("Warning"):
            return Reported(Symptom.CRASH, error, message)
    for symptom, pattern in _SILENT:
        if re.search(pattern, said, re.IGNORECASE):
            return Reported(symptom)
    return None


def shown(reported: Reported, trace: Trace) -> tuple[bool, str]:
    """Whether a run shows the reported symptom, and what it shows, in words."""
    if reported.symptom is Symptom.CRASH:
        return _same_crash(reported, trace)
    if not trace.steps:
        return False, f"the run took no training step ({_ended(trace)})"
    losses = trace.losses
    if reported.symptom is Symptom.NON_FINITE:
        bad = next((i for i, loss in enumerate(losses) if not math.isfinite(loss)), None)
        return bad is not None, "all losses are finite" if bad is None else f"the loss of step {bad + 1} is not finite"
    if reported.symptom is Symptom.CONSTANT_OUTPUT:
        spreads = [step.output_std for step in trace.steps if step.output_std is not None]
        flat = bool(spreads) and spreads[-1] <= 1e-6 * max(1.0, *spreads)
        skill = _skill(trace)
        if flat or (skill is not None and skill <= STUCK):
            return True, f"outputs spread by {spreads[-1]:.3g} at the end" if flat else f"skill {skill:.3f} at the end"
        return False, "outputs differ from sample to sample"
    return _not_learning(trace, losses)


def _not_learning(trace: Trace, losses: list[float]) -> tuple[bool, str]:
    skill = _skill(trace)
    if skill is not None:
        return skill <= STUCK, f"skill {skill:.3f} after {len(trace.steps)} steps, where guessing is 0 and perfect is 1"
    if len(losses) < 2 or not all(map(math.isfinite, losses)):
        return bool(losses) and not all(map(math.isfinite, losses)), "the losses are too few or not finite"
    fall = (losses[0] - losses[-1]) / (abs(losses[0]) or 1e-12)
    return fall <= FALL, f"the loss fell by {100 * fall:.1f} % in {len(trace.steps)} steps"


def _skill(trace: Trace) -> float | None:
    """The mean skill of the last quarter of the steps."""
    skills = [step.skill for step in trace.steps if step.skill is not None and math.isfinite(step.skill)]
    tail = skills[-max(1, len(skills) // 4) :]
    return sum(tail) / len(tail) if tail else None


def _same_crash(reported: Reported, trace: Trace) -> tuple[bool, str]:
    crash = trace.crash
    if crash is None:
        return False, f"the run does not crash ({_ended(trace)})"
    kind = crash.kind.rpartition(".")[2]
    saw = f"{kind}: {crash.message.strip().splitlines()[0][:200] if crash.message.strip() else ''}"
    alike = difflib.SequenceMatcher(None, _NUMBER.sub("", reported.message), _NUMBER.sub("", crash.message)).ratio()
    if kind == reported.error and (not reported.message or alike >= SAME_MESSAGE):
        return True, saw
    # Later versions raise other classes for the same thing and say it in other words, but not both.
    return alike >= 0.8, saw


def _ended(trace: Trace) -> str:
    return trace.outcome.value if trace.outcome is not RunOutcome.FINISHED else "it finishes"
