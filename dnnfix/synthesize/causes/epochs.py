"""The cause "epochs": more passes over the data, where training ends while the loss is still falling."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument
from dnnfix.detect.loops.training_loop import function_around, loops_around, method_calls
from dnnfix.network.trainers import TRAINERS
from dnnfix.records import FixPattern, Replace
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.literals import number_written
from dnnfix.validate.reading import Reading

TIMES = (10, 100, 1000)
"""How many times longer training is made: far enough for its few steps to show what more of them come to."""

LONGEST = 3000
"""Optimizer steps up to which training is made more than ten times longer, where the number of passes looks forgotten."""

EPOCHS = "epochs"
"""The name of this setting."""

DEARER = 0.1
"""How much less likely each next number of passes is taken to be, as ten times the time is its price."""

FEW = 3
"""Passes over the data up to which their number is taken for what was forgotten after a first try."""

FUNCTIONS_UP = 3
"""Functions through which the loop around a step is looked for."""

FIT = "keras.Model.fit"


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """More epochs, with their price, only where training ended before the loss did."""
    if "unfinished" not in {reading.name for reading in symptoms}:
        return
    found = epochs_written(subject)
    if found is None:
        return
    written, first = found
    epochs = int(written.value) - first  # type: ignore[arg-type]
    likely = 0.75 if epochs == 1 else 0.5 if epochs <= FEW else 0.1
    steps = len(subject.trace.steps) if subject.trace is not None else 0
    longer = [times for times in TIMES[1:] if epochs <= FEW and times * steps <= LONGEST]
    for place, times in enumerate([TIMES[0], *longer]):
        title = f"Train for {times * epochs} epochs rather than {epochs}, which takes {times} times as long"
        edit = Replace(subject.source.site(written), str(times * epochs + first))
        yield Cause(EPOCHS, title, FixPattern.ITERATIONS, (edit,), likely - DEARER * place)


def epochs_written(subject: Subject) -> tuple[ast.Constant, int] | None:
    """Where it is written how long training takes, and the number that counting begins with."""
    fits = {
        node for call in subject.network.calls if call.name == FIT and (node := subject.node(call.site)) is not None
    }
    if fits:
        node = next(iter(fits))
        given = argument(subject, node, FIT, "epochs") if len(fits) == 1 and isinstance(node, ast.Call) else None
        return _whole(subject, given, 0) if given is not None else None
    of_trainers = [
        keyword.value
        for call in subject.source.all_calls
        if (trainer := TRAINERS.get(subject.source.qualified(call.func) or "")) is not None
        for keyword in call.keywords
        if keyword.arg == trainer.epochs
    ]
    if of_trainers:
        return _whole(subject, of_trainers[0], 0) if len(of_trainers) == 1 else None
    loops = training_loops(subject.source)
    if not loops:
        return None
    over = loops[-1].iter
    if isinstance(over, ast.Call) and ast.unparse(over.func) in ("tqdm", "tqdm.tqdm") and over.args:
        over = over.args[0]
    match over:
        case ast.Call(func=ast.Name("range" | "trange"), args=[end]):
            return _whole(subject, end, 0)
        case ast.Call(func=ast.Name("range"), args=[ast.Constant(1), ast.BinOp(end, ast.Add(), ast.Constant(1))]):
            return _whole(subject, end, 0)
        case ast.Call(func=ast.Name("range"), args=[ast.Constant(int(first)), end]):
            return _whole(subject, end, first)
    return None


def _whole(subject: Subject, node: ast.expr, first: int) -> tuple[ast.Constant, int] | None:
    written = number_written(subject, node)
    if written is None or not isinstance(written.value, int) or written.value <= first:
        return None
    return written, first


def training_loops(source: Source) -> list[ast.For]:
    """The loops that training of torch is done in, the innermost first, through the functions that do a part of it."""
    backward = method_calls(source, "backward")
    if len(backward) != 1:
        return []
    node: ast.AST = backward[0]
    loops: list[ast.For] = []
    for _ in range(FUNCTIONS_UP):
        loops += [loop for loop in loops_around(source, node) if isinstance(loop, ast.For)]
        function = function_around(source, node)
        calls = [call for call in source.all_calls if function is not None and source.definition(call.func) is function]
        if len(calls) != 1:
            break
        node = calls[0]
    return loops
