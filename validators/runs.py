"""The patched program runs: it ends without a crash, and trains where the original did.

A patch that keeps the exception, or swaps it for another, has repaired nothing. Where another fault lies behind the
first, the engine goes on from the patched program, and the patch that is judged in the end removes both.
"""

from __future__ import annotations

import ast

from dnnfix.api import Evidence, Json, RunOutcome, Source, Subject, Trace, Verdict, training_loop

NAME = "runs"
RUNG = "run"

STEPPING = frozenset({"step", "fit", "train_on_batch", "apply_gradients"})
"""Methods that take optimizer steps."""


def judge(evidence: Evidence) -> Verdict:
    """Pass when the patched program runs to its end or to its budget, and trains as many steps or as the clock lets both."""
    before, after = evidence.before, evidence.after
    if not after.outcome.says_something:
        reason = f"the patched program could not be run to an end ({after.outcome.value}: {after.detail})"
        return Verdict.inconclusive(reason)
    if after.crash is not None:
        where = f" at line {after.crash.site.line}" if after.crash.site else ""
        measured: dict[str, Json] = {"exception": after.crash.kind, "message": after.crash.message[:300]}
        return Verdict.fails(f"the patched program crashes{where}: {after.crash.kind}", measured)
    if after.outcome is RunOutcome.EXITED and before.outcome is not RunOutcome.EXITED:
        return Verdict.fails(f"the patched program exits with an error: {after.detail}")
    if len(after.steps) < len(before.steps) and not (before.hurried and after.hurried):
        measured = {"before": len(before.steps), "after": len(after.steps)}
        if after.hurried:
            reason = "the time of the run was over before the patched program came as far as the original"
            return Verdict.inconclusive(reason, measured)
        return Verdict.fails("the patched program trains fewer steps", measured)
    if after.outcome is RunOutcome.BUDGET and _came_further(before, after):
        reason = "the time of the run was over before the patched program came to where the original did"
        return Verdict.inconclusive(reason, {"before": before.outcome.value})
    if not after.steps and after.outcome is RunOutcome.FINISHED and _crashed_in_training(evidence):
        return Verdict.fails("the training in which the program crashed does not take place any more")
    reason = f"{before.crash.kind} is gone" if before.crash is not None else "still runs"
    return Verdict.passes(reason, {"outcome": after.outcome.value, "steps": len(after.steps)})


def _crashed_in_training(evidence: Evidence) -> bool:
    """Whether the original crashed within a loop or a call that trains, before its first step."""
    crash, source = evidence.before.crash, evidence.source_before
    if crash is None or evidence.before.steps:
        return False
    subject = Subject(source, evidence.before)
    nodes = [subject.node(frame.site) for frame in crash.frames if not frame.site.path]
    around = [loop for node in nodes if node is not None for loop in training_loop.loops_around(source, node)]
    own = [node for node in nodes if isinstance(node, ast.Call)]
    calls = own + [node for loop in around for node in ast.walk(loop) if isinstance(node, ast.Call)]
    return any(_may_train(source, call) for call in calls)


def _may_train(source: Source, call: ast.Call) -> bool:
    """Whether a call may take an optimizer step; what gives several values, as the step of an environment does, takes none."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in STEPPING):
        return False
    above = source.parent(call)
    return not (isinstance(above, ast.Assign) and any(isinstance(target, ast.Tuple) for target in above.targets))


def _came_further(before: Trace, after: Trace) -> bool:
    """Whether the original showed something of what comes after its training, which a run that was ended may not have."""
    if before.crash is None:
        return before.outcome is RunOutcome.FINISHED
    return bool(before.steps) and (before.hurried or len(before.steps) >= len(after.steps))
