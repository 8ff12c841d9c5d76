"""Values that differed still differ: no cast, rounding or `argmax` turns the targets, or other data, into one value.

Targets between 0 and 1 that become integers are all 0, and `argmax` over an axis of one column gives 0 for every row. Such
programs run, and their loss falls to nothing. The probe takes the range and number of distinct values of what losses
are given, of what `fit` is given, and of data on both sides of a call that makes whole numbers of fractions.
"""

from __future__ import annotations

import math

from dnnfix.api import Call, Evidence, Network, Trace, Value, Verdict, code_changes

NAME = "distinct-values-kept"
RUNG = "honest"

FEWEST = 8
"""Targets from which on it is no chance that all are the same where whole numbers differed: of two classes at 2 ** -7."""


def judge(evidence: Evidence) -> Verdict:
    """Fail when a changed line makes different data the same, or when targets that differed are all the same."""
    narrowed = _narrowed(evidence)
    for call, given, made in narrowed:
        if _lost(given, made) or _one_column(given, made):
            line = call.site.line if call.site is not None else 0
            reason = f"{call.name} at line {line} makes one value of {given.distinct}"
            return Verdict.fails(reason, {"before": given.distinct, "after": 1, "line": line})
    pairs = list(zip(_targets(evidence.before), _targets(evidence.after), strict=False))
    for was, now in pairs:
        if _lost(was, now) or (_more(was) and _one(now) and _size(now) >= max(FEWEST, _size(was))):
            reason = f"the targets are all {now.low:g}; they had {was.distinct} distinct values"
            return Verdict.fails(reason, {"before": was.distinct, "after": 1})
    if not narrowed and not pairs:
        return Verdict.not_applicable("no targets and no casts could be compared")
    measured = {"targets": len(pairs), "casts": len(narrowed)}
    return Verdict.passes("what differed still differs", measured)


def _narrowed(evidence: Evidence) -> list[tuple[Call, Value, Value]]:
    """The calls on changed lines that made whole numbers of data, with what they were given and what they made."""
    network = evidence.after.network
    if network is None:
        return []
    lines = code_changes.changed_lines(evidence.source_before, evidence.source_after)
    calls = [call for call in network.calls if call.inputs and call.outputs and code_changes.ran_at(call, lines)]
    return [
        (call, call.inputs[0], call.outputs[0])
        for call in calls
        if _one(call.outputs[0]) and call.inputs[0].distinct is not None and _is_data(network, call)
    ]


def _is_data(network: Network, call: Call) -> bool:
    return call.component is None and not any(
        one.component is not None for one in code_changes.leading_to(network, [call])
    )


def _targets(trace: Trace) -> list[Value]:
    """What each loss, the one that the program crashed in included, and each `fit` was given as targets, in their order."""
    if trace.network is None:
        return []
    crashed = [trace.crash.call] if trace.crash is not None and trace.crash.call is not None else []
    calls = [*trace.network.calls, *crashed]
    fits = [call for call in calls if call.name.endswith(".fit")]
    losses = [call for call in calls if code_changes.is_loss_call(trace.network, call)]
    return [call.inputs[1] for call in (*fits[:1], *losses) if len(call.inputs) > 1]


def _more(value: Value) -> bool:
    return value.distinct is not None and value.distinct > 1


def _one(value: Value) -> bool:
    return value.low is not None and math.isfinite(value.low) and value.low == value.high and value.finite is not False


def _lost(was: Value, now: Value) -> bool:
    """Whether fractions that differed became one whole number."""
    return _more(was) and was.integral is False and _one(now) and bool(now.integral) and _size(now) > 1


def _one_column(given: Value, made: Value) -> bool:
    """Whether indices were taken along an axis of one element: as many indices as there were numbers."""
    return _more(given) and _one(made) and made.low == 0.0 and _size(made) == _size(given) > 1 and not _is_float(made)


def _is_float(value: Value) -> bool:
    return "float" in (value.dtype or "")


def _size(value: Value) -> int:
    return math.prod(size or 0 for size in value.shape or ())
