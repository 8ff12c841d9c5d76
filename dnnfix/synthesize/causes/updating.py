"""The cause "updating": an optimizer, where gradients are computed and nothing applies them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import function_around, loops_around, operations_named
from dnnfix.records import Edit, FixPattern, InsertAfter, InsertBefore
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.arrays import models
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.validate.reading import Reading

RATES = (0.001, 0.01)
"""Rates for Adam: its own, and ten times as much for few steps."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """An optimizer of the network that is called in the loop, made before it and used around its backward pass."""
    source = subject.source
    network = subject.network
    moved = any(parameter.update for parameter in network.parameters)
    if moved or any(component.kind == "optimizer" for component in network.components):
        return
    passes = [one for one in operations_named(source, "backward") if loops_around(source, one.statement)]
    if len(passes) != 1:
        return
    backward = passes[0].statement
    loop = loops_around(source, backward)[-1]
    called = dict.fromkeys(
        node.func.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in models(subject)
    )
    if len(called) != 1 or function_around(source, loop) is not function_around(source, backward):
        return
    model, site = next(iter(called)), source.site
    adam = spell(subject, "torch.optim.Adam")
    for place, rate in enumerate(RATES):
        made: tuple[Edit, ...] = (
            InsertBefore(site(loop), f"optimizer = {adam.code}({model}.parameters(), lr={rate:g})"),
            InsertBefore(site(backward), "optimizer.zero_grad()"),
            InsertAfter(site(backward), "optimizer.step()"),
            *adam.imports,
        )
        yield Cause(
            "updating",
            f"Update the weights by Adam at a rate of {rate:g}",
            FixPattern.OPTIMIZER,
            made,
            0.9 - 0.1 * place,
        )
