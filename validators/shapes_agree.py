"""The patched network accepts batches of other sizes than the one that was run.

A crash can be silenced by writing the observed batch size into a `view` or a layer; the last batch of an epoch then
crashes again. The probe therefore calls the model with other batch sizes. A program may be tied to its batch size for
reasons of its own, though, and a patch that left it as it was is not to blame: where the original ran, it is asked
whether it took them; where it crashed, whether the patch wrote the size of the batch into the program, or the other
sizes bring the same crash back.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

from dnnfix.api import Applicability, Evidence, Json, Source, Trace, Verdict

NAME = "shapes-agree"
RUNG = "shapes"
MEASURES = ("batch-sizes",)

TELLING = 12
"""Characters from which on a message tells one crash from another."""

ALIKE = 160
"""Characters of two messages that are compared."""


def judge(evidence: Evidence) -> Verdict:
    """Fail when a batch size that is not refused by the original is refused by the patched model."""
    after = _sizes(evidence.after)
    if not after:
        return Verdict.not_applicable("no model call could be repeated on other batch sizes")
    refused = {size: said for size, said in after.items() if said != "ok"}
    if not refused:
        return Verdict.passes(f"batches of {', '.join(after)} agree", {"sizes": dict(after)})
    if all(candidate.applicability is Applicability.SAFE for candidate in evidence.applied):
        return Verdict.not_applicable("the patch keeps what is computed", {"sizes": dict(after)})
    before = _sizes(evidence.before)
    if before and all(before.get(size, "ok") != "ok" for size in refused):
        return Verdict.not_applicable("the original is tied to its batch size too")
    again = any(_complains_alike(str(said), evidence.before) for said in refused.values())
    if evidence.before.crash is not None and not _writes_batch(evidence) and not again:
        reason = "the program is tied to its batch size, and not by the patch"
        return Verdict.not_applicable(reason, {"sizes": dict(after)})
    size, said = next(iter(refused.items()))
    return Verdict.fails(f"a batch of {size} fails: {str(said)[:200]}", {"sizes": dict(after)})


def _sizes(trace: Trace) -> dict[str, Json]:
    found = trace.probes.get(MEASURES[0])
    return dict(found) if isinstance(found, dict) else {}


def _complains_alike(said: str, before: Trace) -> bool:
    """Whether what another batch size brings is, but for its numbers, what the original crashed with."""
    crashed = _without_numbers(before.crash.message) if before.crash is not None else ""
    return len(crashed) >= TELLING and crashed in _without_numbers(said)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "N", text)[:ALIKE]


def _writes_batch(evidence: Evidence) -> bool:
    """Whether the patch adds a number, in any file, that is, or may be, the size of a batch in the run."""
    added = _numbers(evidence.source_after) - _numbers(evidence.source_before)
    network = evidence.after.network
    calls = network.calls if network is not None else ()
    batches = {value.shape[0] for call in calls for value in call.inputs if value.origin == "data" and value.shape}
    return bool(batches & set(added)) if batches else bool(added)


def _numbers(source: Source) -> Counter[int]:
    nodes = (node for file in source.files.values() for node in ast.walk(file.tree))
    return Counter(n.value for n in nodes if isinstance(n, ast.Constant) and type(n.value) is int and n.value > 0)
