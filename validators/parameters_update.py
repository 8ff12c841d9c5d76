"""Training moves the weights: a patch must not freeze what trained before."""

from __future__ import annotations

from dnnfix.api import Evidence, Json, Trace, Verdict, own_fault

NAME = "parameters-update"
RUNG = "honest"


def judge(evidence: Evidence) -> Verdict:
    """Fail when nothing moves, or when a weight that moved before does not move any more.

    Of a program that crashed before it is not known what moved; a patch that only renames is not to blame for it then.
    """
    after = _moving(evidence.after)
    if after is None:
        return Verdict.not_applicable("no optimizer step was taken")
    moved, total = after
    measured: dict[str, Json] = {"moving": len(moved), "weights": total}
    before = _moving(evidence.before)
    if not moved and not _has_optimizer(evidence.after):
        return Verdict.not_applicable("the program has no optimizer that could move them", measured)
    if not moved and before is None and evidence.renames:
        return own_fault("no weight changes in a training step", measured)
    if not moved and (before is None or before[0]):
        return Verdict.fails("no weight changes in a training step", measured)
    stopped = sorted((before[0] if before is not None else set()) - moved - _gone(evidence))
    if stopped:
        return Verdict.fails(f"{stopped[0]} moved before and does not any more", measured)
    return Verdict.passes(f"{len(moved)} of {total} weights change", measured)


def _moving(trace: Trace) -> tuple[set[str], int] | None:
    if trace.network is None or not trace.steps:
        return None
    known = [p for p in trace.network.parameters if p.update is not None]
    if not known:
        return None
    return {p.name for p in known if p.update}, len(known)


def _has_optimizer(trace: Trace) -> bool:
    return trace.network is not None and any(c.kind == "optimizer" for c in trace.network.components)


def _gone(evidence: Evidence) -> set[str]:
    network = evidence.after.network
    left = {p.name for p in network.parameters if p.update is not None} if network is not None else set()
    old = evidence.before.network
    return {p.name for p in old.parameters if p.name not in left} if old is not None else set()
