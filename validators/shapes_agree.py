"""The patched network takes batches of other sizes too.

A crash can be silenced by writing the observed batch size into a `view` or a layer; the last batch of an epoch then
crashes again. The probe therefore calls the model on fake tensors of other batch sizes. Where the original could not
take them either, a patch that left them as they were is not to blame.
"""

from __future__ import annotations

from dnnfix.api import Evidence, Json, Status, Trace, Verdict

NAME = "shapes-agree"
RUNG = "shapes"


def judge(evidence: Evidence) -> Verdict:
    """Fail when a batch size that is not refused by the original is refused by the patched model."""
    after = _sizes(evidence.after)
    if not after:
        return Verdict(NAME, RUNG, Status.NOT_APPLICABLE, "no model call could be repeated on fake tensors")
    before = _sizes(evidence.before)
    refused = {size: said for size, said in after.items() if said != "ok"}
    if not refused:
        return Verdict(NAME, RUNG, Status.PASS, f"batches of {', '.join(after)} agree", {"sizes": dict(after)})
    if before and all(before.get(size, "ok") != "ok" for size in refused):
        return Verdict(NAME, RUNG, Status.NOT_APPLICABLE, "the original is tied to its batch size too")
    size, said = next(iter(refused.items()))
    return Verdict(NAME, RUNG, Status.FAIL, f"a batch of {size} fails: {str(said)[:200]}", {"sizes": dict(after)})


def _sizes(trace: Trace) -> dict[str, Json]:
    found = trace.probes.get("batch-sizes")
    return dict(found) if isinstance(found, dict) else {}
