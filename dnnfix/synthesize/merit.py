"""The ranking of accepted patches, and how likely each was before any run."""

from __future__ import annotations

import math

from dnnfix.records import Family, Finding, Symptom
from dnnfix.source.diff import program_diff
from dnnfix.synthesize.candidates import Variant
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.ladder import Climb


def merit(variant: Variant, result: Climb) -> tuple[float, ...]:
    """Ranks accepted patches: no other matter, faults left, faults settled, confidence and prior, measured skill, smallness.

    A program that crashes is first of all to run; a patch that repairs a silent fault along with that comes after the one
    that does not. Only faults of the original count as settled, and rival explanations of one crash as one: a chain of
    repairs meets each of them again under another line, and would else outrank one patch that repairs them all.
    """
    original = {finding.id for finding in result.evidence.original}
    settled = len({f.cause or f.id for f in result.evidence.findings if f.id in original})
    left = sum(finding.symptom.value != "none-observed" for finding in result.evidence.remaining)
    skill = next((step.skill for step in reversed(result.evidence.after.steps) if step.skill is not None), 0.0)
    change = len(program_diff(result.evidence.source_before, variant.source))
    return (
        -silent_along(result.evidence),
        -float(left),
        float(settled),
        round(certainty(variant), 3),
        round(skill, 1),
        -float(change),
    )


def certainty(variant: Variant) -> float:
    """How likely a patch was held to be before any run: the product over its parts."""
    return math.prod(_likelihoods(variant))


def least_likely(variant: Variant) -> float:
    """How likely the least likely part of a patch was held to be before it was run."""
    return min(_likelihoods(variant))


def silent_along(evidence: Evidence) -> float:
    """How many silent faults a patch repairs along with a crash; migrations do not count."""
    if evidence.before.crash is None or not any(_of_the_crash(finding) for finding in evidence.findings):
        return 0.0
    return float(sum(not _of_the_crash(finding) for finding in evidence.findings))


def _likelihoods(variant: Variant) -> list[float]:
    return [candidate.prior * candidate.findings[0].confidence for candidate in variant.applied]


def _of_the_crash(finding: Finding) -> bool:
    return finding.symptom is Symptom.CRASH or finding.family is Family.VERSIONING
