"""A training that learned nothing learns after the patch: its symptom is gone on every seed, and its skill is high
enough.

That a score is better is not enough: of a network at chance any luck is an improvement. Where simple learners were tried on the
program's data, the patched program has to come half of the way to what the better of them does, or to be on its way there.
"""

from __future__ import annotations

import statistics

from dnnfix.api import UNLEARNED_CODE, Evidence, Verdict, learning, symptoms

NAME = "symptom-gone"
RUNG = "learn"

SHARE = 0.5
"""Share of what the program is behind a simple learner by that the patch has to make up for within the few steps of a trial."""


def judge(evidence: Evidence) -> Verdict:
    """Pass where no trial of the patched program shows the symptom any more."""
    own = next((finding for finding in evidence.findings if finding.code == UNLEARNED_CODE), None)
    if own is None:
        return Verdict.not_applicable("the patch is not for a training that learns nothing")
    if not evidence.pairs:
        return Verdict.inconclusive("no training could be compared")
    left = [reading for pair in evidence.pairs for reading in symptoms.fails_to_learn(pair.after)[:1]]
    if left:
        return Verdict.fails(f"still there: {left[0].said}", {"seeds": len(left)})
    known = [found.value for pair in evidence.pairs if (found := learning.score(pair.after)) is not None]
    reached, wanted = statistics.fmean(known) if known else 0.0, own.evidence.get("reference")
    before = own.evidence.get("skill")
    begun = max(float(before), 0.0) if isinstance(before, (int, float)) else 0.0
    needed = begun + SHARE * (wanted - begun) if isinstance(wanted, (int, float)) else 0.0
    measured = {"reached": round(reached, 4), "needed": round(needed, 4)}
    if (
        needed
        and reached < needed
        and not all(symptoms.comes_to_enough(pair.after, needed, begun) for pair in evidence.pairs)
    ):
        reason = f"a simple learner comes to {wanted:.2f}, the patched program to {reached:.2f}"
        return Verdict.fails(reason, measured)
    return Verdict.passes("the symptom is gone on every seed", measured)
