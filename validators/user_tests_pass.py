"""The user's own test command does not fail with the patch where it succeeded without it."""

from __future__ import annotations

from dnnfix.api import Evidence, Verdict

NAME = "user-tests-pass"
RUNG = "harmless"
TIMED_OUT = 124
"""Exit status of a command whose time was over, as the laboratory tells it."""


def judge(evidence: Evidence) -> Verdict:
    """Fail when the test command succeeded before and fails after; inconclusive when it was not over in time."""
    if evidence.tests is None:
        return Verdict.not_applicable("no test command was given (--test-command)")
    (before, _), (after, output) = evidence.tests
    measured = {"before": before, "after": after}
    if after == 0:
        return Verdict.passes("the test command succeeds", measured)
    if after == TIMED_OUT:
        reason = "the test command was not over in the time of this file; a larger --budget gives it more"
        return Verdict.inconclusive(reason, measured)
    if before == 0:
        last = output.strip().splitlines()[-1:] or [""]
        return Verdict.fails(f"the test command fails with the patch: {last[0][:200]}", measured)
    return Verdict.not_applicable("the test command fails without the patch too", measured)
