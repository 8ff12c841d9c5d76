"""The patch does not cut off from the loss a layer whose weights received gradients before.

`detach`, `item`, `data`, `torch.tensor(x)`, a way through NumPy, `argmax` or rounding make many a crash go away, and the layers
before them never train again. Where the original ran, a weight that got a gradient has to get one still. Where it crashed,
a weight that the optimizer holds and that gets none is held against the patch only if a call on a changed line cuts off
what its layer gave, and what comes of that cut goes on to the loss: networks have parts that no loss asks for.
"""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import Call, Evidence, Json, Network, Parameter, Trace, Verdict, code_changes

NAME = "gradients-reach"
RUNG = "honest"

_CUTS = """
    detach detach_ item numpy tolist data stop_gradient argmax argmin argsort long int short byte char bool round floor ceil
    trunc sign eq ne lt le gt ge
    """
CUTS = frozenset(_CUTS.split())
"""Last names of calls behind which there is no gradient, or none that is not zero, in any framework."""


def judge(evidence: Evidence) -> Verdict:
    """Fail when a weight lost its gradient, or when a changed line cuts a layer off from the loss after a crash."""
    network = evidence.after.network
    held = list(_held(evidence.after))
    if network is None or not held:
        return Verdict.not_applicable("no optimizer step was taken that could show gradients")
    without = [p for p in held if not p.gradient]
    measured: dict[str, Json] = {"weights": len(held), "without": len(without)}
    if not without:
        return Verdict.passes(f"all {len(held)} weights get a gradient", measured)
    reached = {p.name for p in _held(evidence.before) if p.gradient}
    lost = [p.name for p in without if p.gradient is None and p.name in reached]
    if lost:
        return Verdict.fails(f"{lost[0]} got a gradient before and gets none now", measured)
    cut = next(_cut_off(evidence, network, without), None) if evidence.before.crash is not None else None
    if cut is not None:
        parameter, call = cut
        line = call.site.line if call.site is not None else 0
        reason = f"{parameter.name} gets no gradient: {call.name} at line {line} cuts it off from the loss"
        return Verdict.fails(reason, {**measured, "line": line})
    reason = f"{len(without)} of {len(held)} weights get no gradient, and not by the patch"
    return Verdict.not_applicable(reason, measured)


def _held(trace: Trace) -> Iterator[Parameter]:
    """The weights that an optimizer moved, or would have moved."""
    parameters = trace.network.parameters if trace.network is not None and trace.steps else ()
    return (p for p in parameters if p.trainable and p.optimized and p.update is not None)


def _cut_off(evidence: Evidence, network: Network, without: list[Parameter]) -> Iterator[tuple[Parameter, Call]]:
    lines = code_changes.changed_lines(evidence.source_before, evidence.source_after)
    training = frozenset(p.component for p in network.parameters if p.trainable)
    cuts = [call for call in network.calls if code_changes.ran_at(call, lines) and _cuts(call, training)]
    cuts = [call for call in cuts if _goes_on(network, call)]
    for parameter in without if cuts else ():
        layer = network.component(parameter.component)
        calls = network.calls_of(layer) if layer is not None else ()
        behind = {call.id for call in code_changes.following(network, calls)}
        yield from ((parameter, cut) for cut in cuts if cut.id in behind)


def _cuts(call: Call, training: frozenset[int | None]) -> bool:
    """Whether no gradient comes back through a call: by its name, or since what it gives tracks none."""
    if call.name.rpartition(".")[2] in CUTS:
        return True
    tracked = any(value.requires_grad for value in call.inputs) or (
        call.component is not None and call.component in training
    )
    return tracked and bool(call.outputs) and all(value.requires_grad is False for value in call.outputs)


def _goes_on(network: Network, cut: Call) -> bool:
    """Whether what comes of the cut meets a loss that trains, or anything that gradients flow through."""
    users = [user for user in code_changes.following(network, [cut]) if user is not cut]
    losses = any(code_changes.is_loss_call(network, user) and user.phase != "eval" for user in users)
    return losses or any(value.requires_grad for user in users for value in (*user.inputs, *user.outputs))
