"""The schedule of the learning rate: none, where it leaves too little of the rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.training_loop import operated_on, operations_named
from dnnfix.records import Delete, FixPattern
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.recipes import argument
from dnnfix.validate.reading import Reading

SCHEDULES = "torch.optim.lr_scheduler."
LEFT = 0.5
"""Factor of each change of the rate below which it is soon none; usual are 0.1 after many epochs, and 0.9 and more after one."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """The statement that moves a schedule on left out, the likelier the faster the schedule takes the rate away."""
    source = subject.source
    for one in operations_named(source, "step"):
        made = source.constructor(operated_on(one))
        name = source.qualified(made.func) if made is not None else None
        if made is None or name is None or not name.startswith(SCHEDULES) or not isinstance(one.statement, ast.Expr):
            continue
        gamma = argument(subject, made, name, "gamma")
        factor = gamma.value if isinstance(gamma, ast.Constant) and isinstance(gamma.value, (int, float)) else 1.0
        title = f"Train without {name.rpartition('.')[2]}"
        gone = Delete(source.site(one.statement))
        yield Cause("schedule", title, FixPattern.OPTIMIZER, (gone,), 0.45 if factor < LEFT else 0.2)
