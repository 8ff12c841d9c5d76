"""The samples of a batch do not mix: what the patched network returns for a sample does not depend on the others.

A crash over shapes goes away as well with a `view` that moves elements from one sample to the next, with the batch taken
for time, or with a softmax or mean over the batch. The probe therefore repeats a call with half of the rows replaced
(`dnnfix/run/probe/measures/rows.py`) and says how far the others changed, where it knows the axis of the batch for certain.

Some networks mix rows on purpose: batch statistics in evaluation too, contrast within the batch, attention over it, graphs.
Where the original ran it is asked whether it did so. After a crash, a patch is to blame only where it changes operations
on axes, and where a call on a changed line makes what the network is given or is a part of the network.
"""

from __future__ import annotations

import ast
import math
from collections import Counter

from dnnfix.api import Applicability, Evidence, Json, Source, Trace, Verdict, code_changes

NAME = "rows-stay-apart"
RUNG = "shapes"
MEASURES = ("rows-apart",)

MIXED = 1e-3
"""Change of the rows that stayed, as a share of the change of the others, above which they mix. Measured in sound networks: 0
to 1e-6, through rounding; a mean over a batch of 16 that is subtracted gives 0.06."""

_AXIS_NAMES = """
    view view_as reshape reshape_as resize flatten unflatten ravel permute transpose swapaxes swapdims movedim moveaxis t
    squeeze unsqueeze expand expand_as expand_dims repeat repeat_interleave repeat_elements repeatvector tile roll flip
    stack cat concat concatenate hstack vstack dstack chunk split unbind unfold fold rearrange reduce einsum matmul mm bmm
    dot tensordot softmax log_softmax logsoftmax softmin mean sum max min amax amin argmax argmin prod std var norm
    normalize cumsum cumprod sort lstm gru rnn simplernn transformer multiheadattention globalaveragepooling1d
    """
AXIS_NAMES = frozenset(_AXIS_NAMES.split())
"""Functions, methods and layers, in lower case, that move, merge or reduce axes, or give axes their meaning."""

AXIS_ARGUMENTS = frozenset({"dim", "dims", "axis", "axes", "batch_first", "time_major", "start_dim", "data_format"})
AXIS_ATTRIBUTES = frozenset({"T", "mT", "H", "mH"})


def judge(evidence: Evidence) -> Verdict:
    """Fail when rows mix that the original kept apart, or that a changed operation on axes may have mixed."""
    after = _mixing(evidence.after)
    if after is None:
        return Verdict.not_applicable("no model call whose batch is known could be repeated")
    measured: dict[str, Json] = {"change": after, "threshold": MIXED}
    if after <= MIXED:
        return Verdict.passes("no row depends on the rows beside it", measured)
    if all(candidate.applicability is Applicability.SAFE for candidate in evidence.applied):
        return Verdict.not_applicable("the patch keeps what is computed", measured)
    before = _mixing(evidence.before)
    if before is not None and before > MIXED:
        return Verdict.not_applicable("the original mixes rows too", {**measured, "before": before})
    if before is None and not _may_have_mixed(evidence):
        return Verdict.not_applicable("rows mix, and not by the patch", measured)
    return Verdict.fails(f"rows of a batch change with the rows beside them ({after:.2g})", measured)


def _mixing(trace: Trace) -> float | None:
    found = trace.probes.get(MEASURES[0])
    change = found.get("change") if isinstance(found, dict) else None
    return float(change) if isinstance(change, (int, float)) and math.isfinite(change) else None


def _may_have_mixed(evidence: Evidence) -> bool:
    """Whether the patch changes operations on axes, and a call on a changed line leads into or through the network."""
    before, after, network = evidence.source_before, evidence.source_after, evidence.after.network
    if network is None or _axis_operations(before) == _axis_operations(after):
        return False
    lines = code_changes.changed_lines(before, after)
    layers = [c for c in network.calls if c.scope or c.component is not None or c.phase == "symbolic"]
    within = [call for call in layers if not code_changes.is_loss_call(network, call)]
    return any(code_changes.ran_at(call, lines) for call in code_changes.leading_to(network, within))


def _axis_operations(source: Source) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in (node for file in source.files.values() for node in ast.walk(file.tree)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name.lower() in AXIS_NAMES:
                found[name + "".join(map(ast.dump, (*node.args, *node.keywords)))] += 1
            case ast.keyword(arg=str(name), value=value) if name in AXIS_ARGUMENTS:
                found[name + ast.dump(value)] += 1
            case ast.Attribute(attr=name) if name in AXIS_ATTRIBUTES:
                found[name] += 1
            case ast.Subscript(slice=index) if not isinstance(index, ast.Constant) or not isinstance(index.value, str):
                found[ast.dump(index)] += 1
            case ast.BinOp(op=ast.MatMult()):
                found["@"] += 1
    return found
