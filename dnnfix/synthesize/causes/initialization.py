"""The cause "initialization": the default initial weights of a layer in place of the program's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import Delete, Edit, FixPattern, RemoveArgument, Replace
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

INITIALIZERS = ("kernel_initializer", "recurrent_initializer", "embeddings_initializer", "init")
"""Arguments of layers of Keras."""

ALIKE = ("zeros", "ones", "constant")
"""Words of initializers that give all weights one value."""

FILLED = frozenset(f"tensorflow.{version}{name}" for version in ("", "compat.v1.") for name in ("zeros", "ones"))
"""Functions of TensorFlow that fill a matrix with one value."""

OF_TENSORS = frozenset({"normal_", "uniform_", "zero_", "fill_"})


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """No initialization of their own for weights: one edit for all places of a kind."""
    source = subject.source
    found: dict[str, list[Delete | RemoveArgument]] = {}
    for call in source.all_calls:
        for keyword in call.keywords:
            if keyword.arg in INITIALIZERS:
                gone = RemoveArgument(source.site(call), keyword.arg or "")
                found.setdefault(ast.unparse(keyword.value), []).append(gone)
        statement = source.statement_of(call)
        if isinstance(statement, ast.Expr) and statement.value is call and _sets_weights(subject, call):
            found.setdefault(ast.unparse(call.func), []).append(Delete(source.site(statement)))
    alike = tuple(_drawn(subject))
    if alike:
        title = "Let weights begin with values drawn at random rather than all alike"
        yield Cause("initialization", title, FixPattern.NEURAL_CONNECTION, alike, 0.6)
    for how, places in found.items():
        likely = 0.6 if any(word in how.lower() for word in ALIKE) else 0.3
        title = f"Let weights begin as their layers choose rather than by {how}"
        yield Cause("initialization", title, FixPattern.NEURAL_CONNECTION, tuple(places), likely)


def _drawn(subject: Subject) -> Iterator[Edit]:
    """Values drawn at random for the variables of a graph that begin as a matrix of zeros or ones."""
    source = subject.source
    for call in source.all_calls:
        made = call.args[0] if call.args and (source.qualified(call.func) or "").endswith(".Variable") else None
        if not isinstance(made, ast.Call) or source.qualified(made.func) not in FILLED or not made.args:
            continue
        shape = made.args[0]
        if isinstance(shape, (ast.List, ast.Tuple)) and len(shape.elts) > 1 and isinstance(made.func, ast.Attribute):
            module, text = (source.segment(source.site(node)) for node in (made.func.value, shape))
            yield Replace(source.site(made), f"{module}.random.truncated_normal({text}, stddev=0.1)")


def _sets_weights(subject: Subject, call: ast.Call) -> bool:
    """Whether a statement fills weights: a function of `torch.nn.init`, or a method of a tensor that is named so."""
    named = subject.source.qualified(call.func) or ""
    held = call.args[0] if call.args else None
    if not named.startswith("torch.nn.init."):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in OF_TENSORS:
            return False
        held = call.func.value
    return held is not None and "bias" not in ast.unparse(held) and "weight" in ast.unparse(held)
