"""The cause "learning rate schedule": stepped once an epoch, or left out, where it lowers the rate too fast."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument
from dnnfix.detect.loops.training_loop import LoopOperation, block_of, loops_around, operated_on, operations_named
from dnnfix.records import Delete, Edit, FixPattern, InsertAfter, InsertBefore
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.literals import passed
from dnnfix.validate.reading import Reading

SCHEDULES = "torch.optim.lr_scheduler."
DEFAULTS = {("StepLR", "gamma"): 0.1}
LEFT = 0.5
"""Factor of each change of the rate below which it is soon none; usual are 0.1 after many epochs, and 0.9 and more after one."""

NOTHING_LEFT = 0.01
"""Share of the rate that is left after the steps that were seen, up to which the schedule is as far off as a rate off by 100."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """The statement that moves a schedule on moved behind the loop over the batches, or left out.

    The likelier the faster the schedule takes the rate away.
    """
    source = subject.source
    for one in operations_named(source, "step"):
        held = operated_on(one)
        if isinstance(held, ast.Name) and source.constructor(held) is None:
            held = passed(subject, held) or held
        made = source.constructor(held)
        name = source.qualified(made.func) if made is not None else None
        if made is None or name is None or not name.startswith(SCHEDULES) or not isinstance(one.statement, ast.Expr):
            continue
        factor, every = (_number(subject, made, name, parameter) for parameter in ("gamma", "step_size"))
        gone, short = Delete(source.site(one.statement)), name.rpartition(".")[2]
        later = _behind_loop(subject, one) if _steps_with_optimizer(subject, one) else None
        if later is not None:
            steps = len(subject.trace.steps) if subject.trace is not None else 0
            far_off = factor ** (steps / max(every, 1.0)) <= NOTHING_LEFT
            title = f"Move {short} on once an epoch rather than once a step"
            yield Cause("schedule", title, FixPattern.OPTIMIZER, (gone, later), 0.9 if far_off else 0.35)
        title = f"Train without {short}"
        yield Cause("schedule", title, FixPattern.OPTIMIZER, (gone,), 0.45 if factor < LEFT else 0.2)


def _behind_loop(subject: Subject, one: LoopOperation) -> Edit | None:
    """The edit that puts an operation behind the loop that it is in; `None` where it is the last of it, and nothing follows."""
    source = subject.source
    loop = loops_around(source, one.statement)[0]
    block, text = block_of(source, loop), ast.unparse(one.statement)
    following = block[block.index(loop) + 1 :]
    if following:
        return InsertBefore(source.site(following[0]), text)
    return None if loop.body[-1] is one.statement else InsertAfter(source.site(loop), text)


def _number(subject: Subject, made: ast.Call, name: str, parameter: str) -> float:
    """A number that a schedule is called with, or its default; 1 where neither is known."""
    given = argument(subject, made, name, parameter)
    if given is None:
        return DEFAULTS.get((name.rpartition(".")[2], parameter), 1.0)
    written = given.value if isinstance(given, ast.Constant) else None
    return float(written) if isinstance(written, (int, float)) else 1.0


def _steps_with_optimizer(subject: Subject, schedule: LoopOperation) -> bool:
    """Whether the innermost loop around a schedule's step is that of an optimizer's, so that each batch moves it on."""
    loops = loops_around(subject.source, schedule.statement)
    others = [one for one in operations_named(subject.source, "step") if one.on != schedule.on]
    return bool(loops) and any(loops_around(subject.source, one.statement)[:1] == loops[:1] for one in others)
