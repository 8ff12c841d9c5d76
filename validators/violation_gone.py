"""The findings that the patch repairs are no longer there, and no finding of another kind has appeared.

The detectors look at the patched program as they looked at the original, with the trace of its own run. That the
pattern is gone from the text is not enough: the observed violation has to be gone. A patch that changes what is trained
is not proven by a run that never came to any training: nothing of it was observed there, before or after. Nor is a patch
of a call that a library reads in another way today, as long as that is left as it is.
"""

from __future__ import annotations

from collections import Counter

from dnnfix.api import Evidence, Family, Finding, Trace, Verdict

NAME = "violation-gone"
RUNG = "property"


def judge(evidence: Evidence) -> Verdict:
    """Fail when a repaired finding is still there or a finding of another kind appeared."""
    before = Counter(finding.kind for finding in evidence.original)
    after = Counter(finding.kind for finding in evidence.remaining)
    meant = Counter({finding.id: finding.kind for finding in evidence.findings}.values())
    for kind, count in meant.items():
        was = max(before[kind], count)
        if after[kind] > was - count:
            rest = [finding for finding in evidence.remaining if finding.kind == kind]
            return Verdict.fails(f"still there: {rest[0].message}", {"left": after[kind], "was": was})
    own = {_start(finding) for finding in evidence.findings if finding.family is not Family.VERSIONING}
    for old in evidence.original:
        is_left = old.kind not in meant and after[old.kind] >= before[old.kind]
        if old.family is Family.VERSIONING and is_left and _start(old) in own:
            return Verdict.inconclusive(
                f"what it changes means something else today, which is not mended: {old.message}"
            )
    if evidence.before.crash is None:
        new = [f for f in evidence.remaining if f.kind not in meant and after[f.kind] > before[f.kind]]
        if new:
            return Verdict.fails(f"a new finding, {new[0].code}: {new[0].message}")
    unseen = [
        f for f in evidence.findings if f.family is Family.LOSS_ACTIVATION and not _computes_a_loss(evidence.after)
    ]
    if unseen:
        reason = f"{unseen[0].code} is gone from the text, and no run computed a loss that could show it"
        return Verdict.inconclusive(reason)
    return Verdict.passes("no longer observed", {"left": sum(after.values())})


def _start(finding: Finding) -> tuple[str, int, int]:
    """Where what a finding is about begins: that stays where it is, whatever was changed in it before."""
    return finding.site.path, finding.site.line, finding.site.column


def _computes_a_loss(trace: Trace) -> bool:
    """Whether a run took a step, or called a loss or layers on real tensors, where a finding about a loss is seen."""
    calls = trace.network.calls if trace.network is not None else ()
    return bool(trace.steps) or any(call.phase != "symbolic" for call in calls)
