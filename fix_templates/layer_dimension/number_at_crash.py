"""A number near the place of a crash is exchanged for one that the crash names or that a size there has."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from dnnfix.api import (
    Example,
    Family,
    FixPattern,
    Guesses,
    GuessTemplate,
    Reject,
    Replace,
    Subject,
    failing,
    failing_parts,
    numbers_said,
    origins,
)

MOST = 10
"""Guesses for one crash."""

SMALLEST = 3
"""Numbers below are axes, counts and steps, which stand all over a program: they are changed in the failing expression only."""


class NumberAtCrash(GuessTemplate):
    """A number near the place of a crash is exchanged for one that the crash names or that a size there has.

    Most crashes of sizes come of one number that was written down: units of a layer, a batch size, a side of an image. The
    message names two sizes that should be one, or the values at hand have the right one. This template does not know
    which number is meant: it tries those that the message names, and those that the failing expression was made from.

    Fix safety: unsafe. The line could not run before; the size may be meant otherwise.

    References: Islam et al., Repairing Deep Neural Networks (ICSE 2020), patterns "layer dimension" and "data dimension".
    """

    code = "DNF280"
    name = "number-at-crash"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "the program crashes here, and another number would let it go on: {crash}"

    def guesses(self, subject: Subject) -> Guesses:
        crash = subject.crash
        if crash is None:
            return
        said = numbers_said(crash.message)
        sizes = tuple(dict.fromkeys((*said, *_sizes(subject))))
        here, behind = _near(subject)
        found: list[tuple[float, str, Replace]] = []
        for node, value in _numbers(subject):
            if value < SMALLEST and node not in here:
                continue
            if value in said:
                prior = 0.45 if node in behind else 0.35
            elif node in behind:
                prior = 0.25
            else:
                continue
            for place, other in enumerate(size for size in sizes if size != value):
                title = f"Change {ast.unparse(node)} to {other} in line {node.lineno}"
                found.append((prior - 0.02 * place, title, Replace(subject.source.site(node), str(other))))
        for prior, title, edit in sorted(found, key=lambda one: -one[0])[:MOST]:
            yield title, (edit,), prior

    examples = (
        Example(
            "a view for images of another size",
            before="""\
import torch

pictures = torch.rand(8, 1, 12, 12)
rows = pictures.view(8, 196)
print(rows.mean())
""",
            after="""\
import torch

pictures = torch.rand(8, 1, 12, 12)
rows = pictures.view(8, 144)
print(rows.mean())
""",
            runs=True,
        ),
        Example(
            "a table with another number of columns",
            before="""\
import numpy as np

weights = np.ones((7, 3))
samples = np.random.rand(20, 5)
print(samples.dot(weights).sum())
""",
            after="""\
import numpy as np

weights = np.ones((5, 3))
samples = np.random.rand(20, 5)
print(samples.dot(weights).sum())
""",
            runs=True,
        ),
        Example(
            "sizes that the data do not have",
            before="""\
import torch

SIDE = 8
pictures = torch.rand(5, SIDE * SIDE)
weights = torch.ones(100, 2)
print(torch.mm(pictures, weights).mean())
""",
            after="""\
import torch

SIDE = 8
pictures = torch.rand(5, SIDE * SIDE)
weights = torch.ones(64, 2)
print(torch.mm(pictures, weights).mean())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a crash that has to do with no number",
            """\
import torch

raise RuntimeError("nothing to train on")
""",
            runs=True,
        ),
        Reject(
            "a program that runs",
            """\
import torch

print(torch.rand(8, 144).view(8, 1, 12, 12).mean())
""",
            runs=True,
        ),
    )


def _numbers(subject: Subject) -> Iterator[tuple[ast.expr, int]]:
    """The whole numbers that are written in the program, products and sums of such as one."""
    inner: set[ast.expr] = set()
    for node in (*subject.source.nodes(ast.BinOp), *subject.source.nodes(ast.Constant)):
        if node in inner:
            continue
        value = _value(node)
        if value is not None:
            inner.update(part for part in ast.walk(node) if isinstance(part, ast.expr))
            yield node, value


def _value(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() as operator, right=right):
            one, other = _value(left), _value(right)
            if one is None or other is None:
                return None
            return one * other if isinstance(operator, ast.Mult) else one + other
    return None


def _sizes(subject: Subject) -> Iterator[int]:
    """How many numbers a sample has of what the failing call was given, and the sizes of that."""
    crash = subject.crash
    shapes = [part.shape for part in failing_parts(subject)]
    shapes += [value.shape for value in crash.call.inputs] if crash is not None and crash.call is not None else []
    known = [[size for size in shape or () if isinstance(size, int)] for shape in shapes]
    yield from (math.prod(sizes[1:]) for sizes in known if len(sizes) > 2)
    yield from (size for sizes in known for size in sizes)


def _near(subject: Subject) -> tuple[set[ast.expr], set[ast.expr]]:
    """The nodes of the failing expression, and with them those that its values and its layer were made from."""
    here = {node for whole in failing(subject)[:1] for node in ast.walk(whole) if isinstance(node, ast.expr)}
    crash = subject.crash
    made = subject.constructor_node(crash.call) if crash is not None and crash.call is not None else None
    start = [*failing(subject), *(part.node for part in failing_parts(subject)), *([made] if made is not None else [])]
    if made is not None:
        start += [*made.args, *(keyword.value for keyword in made.keywords)]
    behind: set[ast.expr] = set()
    for expr in start:
        for origin in origins(subject, expr):
            behind.update(node for node in ast.walk(origin) if isinstance(node, ast.expr))
    return here, behind | here
