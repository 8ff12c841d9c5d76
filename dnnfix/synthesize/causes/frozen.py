"""The cause "frozen weights": weights that `trainable` or `requires_grad` keeps from training are trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import Delete, FixPattern, Replace
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

FLAGS = ("trainable", "requires_grad")


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Each statement that keeps weights from training left out, with the loop around it where it is all that is in it.

    None where weights that may train are in no optimizer: then those that may not are not to blame.
    """
    if any(weight.gradient and weight.optimized is False for weight in subject.network.parameters):
        return
    source = subject.source
    for statement in source.nodes(ast.Assign):
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=flag)], value=ast.Constant(False)) if flag in FLAGS:
                gone = Delete(source.site(_whole(source, statement)))
                title = f"Train the weights that line {statement.lineno} keeps from training"
                yield Cause("optimizer-parameters", title, FixPattern.NEURAL_CONNECTION, (gone,), 0.65)
    for call in source.all_calls:
        for keyword in call.keywords:
            if keyword.arg == "trainable" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False:
                title = f"Train the weights that line {keyword.value.lineno} keeps from training"
                freed = Replace(source.site(keyword.value), "True")
                yield Cause("optimizer-parameters", title, FixPattern.NEURAL_CONNECTION, (freed,), 0.5)


def _whole(source: Source, statement: ast.stmt) -> ast.stmt:
    above = source.parent(statement)
    while isinstance(above, (ast.For, ast.If)) and len(above.body) == 1 and not above.orelse:
        statement, above = above, source.parent(above)
    return statement
