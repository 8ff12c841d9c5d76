"""The patched network's output depends on its input: a constant output can have a low loss."""

from __future__ import annotations

from dnnfix.api import Applicability, Evidence, Trace, Verdict, own_fault

NAME = "output-depends-on-input"
RUNG = "honest"
MEASURES = ("input-dependence",)

CONSTANT = 1e-6
"""Relative change of the output below which it counts as constant; float32 rounding alone gives about 1e-7."""


def judge(evidence: Evidence) -> Verdict:
    """Fail when other inputs give the same output, unless the original's did so too and no finding is about it."""
    after = _dependence(evidence.after)
    if after is None:
        return Verdict.not_applicable("no model call could be repeated on other inputs")
    if after > CONSTANT:
        return Verdict.passes("other inputs give other outputs", {"relative_change": after})
    if evidence.renames:
        return own_fault("the output is the same for other inputs", {"relative_change": after})
    if all(candidate.applicability is Applicability.SAFE for candidate in evidence.applied):
        return Verdict.not_applicable("the patch keeps what is computed", {"relative_change": after})
    before = _dependence(evidence.before)
    if before is not None and before <= CONSTANT and not evidence.wants_improvement:
        return Verdict.not_applicable("the original's output is constant too")
    return Verdict.fails("the output is the same for other inputs", {"relative_change": after})


def _dependence(trace: Trace) -> float | None:
    value = trace.probes.get(MEASURES[0])
    return float(value) if isinstance(value, (int, float)) else None
