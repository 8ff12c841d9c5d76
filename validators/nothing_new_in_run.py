"""The patch brings no new kind of warning and no non-finite loss into the part of the program that ran.

Warnings are compared by category and by the wording without numbers, since a patch may well change a size that a
warning quotes. A program that crashed before says nothing of the warnings that would have come later, so only those of
the changed lines count there, and not against a migration, and the non-finite loss, that not against a patch that only renames.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from dnnfix.api import CodeWarning, Evidence, Family, Json, Trace, Verdict, code_changes, own_fault

NAME = "nothing-new-in-run"
RUNG = "run"

IGNORED = frozenset({"DeprecationWarning", "PendingDeprecationWarning", "FutureWarning", "ResourceWarning", "logged"})
"""Categories that speak of libraries, not of what the program computes; what is logged tells of what was done, as often as not."""

_ADVICE = re.compile(r"\bprefer\b|\bdeprecat", re.IGNORECASE)
"""What warnings say that only advise to write the same in another way."""


def judge(evidence: Evidence) -> Verdict:
    """Fail on a warning or a non-finite loss that the original program did not have."""
    before, after = evidence.before, evidence.after
    if not _finite(after) and _finite(before):
        measured: dict[str, Json] = {"losses": tuple(after.losses[-3:])}
        if before.crash is not None and not before.losses and evidence.renames:
            return own_fault("the loss becomes non-finite", measured)
        return Verdict.fails("the loss becomes non-finite", measured)
    warned = after.warnings if before.crash is None else _on_changed_lines(evidence)
    new = sorted(_kinds(warned) - _kinds(before.warnings))
    if new:
        said = {"warnings": tuple(message for _, message in new[:3])}
        return Verdict.fails(f"a new warning: {new[0][0]}", said)
    return Verdict.passes("no new warning, no non-finite loss")


def _finite(trace: Trace) -> bool:
    return all(math.isfinite(loss) for loss in trace.losses)


def _on_changed_lines(evidence: Evidence) -> list[CodeWarning]:
    if all(finding.family is Family.VERSIONING for finding in evidence.findings):
        return []
    lines = code_changes.changed_lines(evidence.source_before, evidence.source_after)
    return [
        w
        for w in evidence.after.warnings
        if w.site is not None and (w.site.path, w.site.line) in lines and not _ADVICE.search(w.message)
    ]


def _kinds(warnings: Iterable[CodeWarning]) -> set[tuple[str, str]]:
    return {
        (warning.category, re.sub(r"[\d.]+", "N", warning.message)[:160])
        for warning in warnings
        if warning.category not in IGNORED
    }
