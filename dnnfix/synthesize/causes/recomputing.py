"""The cause "recomputing": a loss that is computed once before the training loop is computed in each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import block_of, loops_around, operated_on, operations_named
from dnnfix.records import FixPattern, InsertBefore
from dnnfix.source.tree import stored_names, within
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """What the loss is computed from by the weights, computed anew before each backward pass."""
    source = subject.source
    for backward in operations_named(source, "backward"):
        loss, loops = operated_on(backward), loops_around(source, backward.statement)
        if not loops or not isinstance(loss, ast.Name) or loss.id in stored_names(loops[-1]):
            continue
        block = block_of(source, loops[-1])
        chain = _chain(subject, block[: block.index(loops[-1])], loss.id)
        if chain:
            text = "\n".join(source.segment(source.site(statement)) for statement in chain)
            title = f"Compute {loss.id} anew in every turn of the loop"
            edit = InsertBefore(source.site(backward.statement), text)
            yield Cause("recomputing", title, FixPattern.API_CONTRACT, (edit,), 0.9)


def _chain(subject: Subject, before: list[ast.stmt], loss: str) -> list[ast.stmt]:
    """The assignments that lead from the weights to a loss, in their order."""
    wanted: set[str] = {loss}
    found: list[ast.stmt] = []
    for statement in reversed(before):
        if (
            isinstance(statement, ast.Assign)
            and stored_names(statement) & wanted
            and _depends_on_weights(subject, statement)
        ):
            found.append(statement)
            wanted |= {node.id for node in within(statement.value, ast.Name)}
    return found[::-1]


def _depends_on_weights(subject: Subject, statement: ast.stmt) -> bool:
    """Whether the statement calls a layer, or computes with what has gradients: weights that are made have them, too."""
    site = subject.source.site(statement)
    return any(
        call.site is not None
        and site.encloses(call.site)
        and (call.component is not None or any(value.requires_grad for value in call.inputs))
        and any(value.requires_grad for value in call.outputs)
        for call in subject.network.calls
    )
