"""An array in the failing expression gets an axis more, one less, or its axes in another order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Around,
    Example,
    Family,
    FixPattern,
    GuessTemplate,
    Part,
    Reject,
    Subject,
    failing_parts,
    words,
)

ELEMENTWISE = words("eq ne lt le gt ge add sub mul div pow where maximum minimum")


class AxesAtCrash(GuessTemplate):
    """An array in the failing expression gets an axis more, one less, or its axes in another order.

    Libraries differ in which axes they take: with or without one for the batch, for channels or for one number each,
    with channels first or last. This template does not know which array is at fault: it tries, for each whose shape the
    run has shown, the changes that keep all its numbers.

    Fix safety: unsafe. The line could not run before; numbers may come to stand where others are meant.

    References: Islam et al., Repairing Deep Neural Networks (ICSE 2020), pattern "data dimension".
    """

    code = "DNF180"
    name = "axes-at-crash"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "the program crashes here, and other axes of an array would let it go on: {crash}"

    def parts(self, subject: Subject) -> Iterator[Part]:
        crash = subject.crash
        if crash is None or crash.kind == "AttributeError":  # an array has the same methods, whatever its axes
            return iter(())
        if crash.kind == "IndexError" and "out of bounds" in crash.message:  # other axes would only be longer
            return iter(())
        return (part for part in failing_parts(subject) if part.is_array)

    def changes(self, subject: Subject, part: Part) -> Iterator[Around]:
        pairs = _makes_pairs(subject, part)
        for after in _torch(part) if part.is_torch else _numpy(part):
            if not (pairs and _adds_axis(part, after)):
                yield Around(after=after)

    examples = (
        Example(
            "rows for columns",
            before="""\
import numpy as np

samples = np.random.rand(20, 5)
weights = np.ones((3, 5))
print(np.dot(samples, weights).sum())
""",
            after="""\
import numpy as np

samples = np.random.rand(20, 5)
weights = np.ones((3, 5))
print(np.dot(samples, weights.T).sum())
""",
            runs=True,
        ),
        Example(
            "the axis of the channel",
            before="""\
import torch

grey = torch.rand(4, 12, 12)
color = torch.rand(4, 2, 12, 12)
print(torch.cat([grey, color], 1).shape)
""",
            after="""\
import torch

grey = torch.rand(4, 12, 12)
color = torch.rand(4, 2, 12, 12)
print(torch.cat([grey.unsqueeze(1), color], 1).shape)
""",
            runs=True,
        ),
        Example(
            "a column where a row is taken",
            before="""\
import numpy as np

found = np.random.rand(20, 1)
print(np.bincount(np.arange(20), weights=found).sum())
""",
            after="""\
import numpy as np

found = np.random.rand(20, 1)
print(np.bincount(np.arange(20), weights=found.reshape(-1)).sum())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a crash without arrays",
            """\
import numpy as np

print(int("seven"))
""",
            runs=True,
        ),
        Reject(
            "classes chosen over the batch",
            """\
import torch

scores, labels = torch.rand(20, 3), torch.randint(0, 3, (20,))
print((scores.argmax(0) == labels).float().mean())
""",
            runs=True,
        ),
        Reject(
            "a row too many",
            """\
import numpy as np

samples = np.random.rand(5, 8)
for i in range(6):
    print(samples[i].sum())
""",
            runs=True,
        ),
        Reject(
            "an array without the method that is called",
            """\
import numpy as np

samples = np.random.rand(20, 5)
print(samples.append(np.ones(5)))
""",
            runs=True,
        ),
        Reject(
            "a program that runs",
            """\
import numpy as np

print(np.dot(np.ones((2, 3)), np.ones((3, 4))).sum())
""",
            runs=True,
        ),
    )


def _makes_pairs(subject: Subject, part: Part) -> bool:
    """Whether one axis more would pair each element with each: beside another array that has no more axes."""
    match subject.source.parent(part.node):
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            both: list[ast.expr] = [left, right]
        case ast.Compare(left=left, comparators=[right]):
            both = [left, right]
        case ast.Attribute(value=left, attr=name) as function if name in ELEMENTWISE:
            call = subject.source.parent(function)
            both = [left, *call.args[:1]] if isinstance(call, ast.Call) else [left]
        case ast.Call(func=ast.Attribute(value=left, attr=name), args=args) if name in ELEMENTWISE:
            both = list(args[:2]) if len(args) > 1 else [left, *args]
        case _:
            return False
    ranks = {other.node: len(other.shape or ()) for other in failing_parts(subject) if other.is_array}
    others = [ranks.get(node, 0) for node in both if node is not part.node]
    return all(rank <= len(part.shape or ()) for rank in others)


def _adds_axis(part: Part, after: str) -> bool:
    rank = len(part.shape or ())
    return "None" in after or after.startswith(".unsqueeze") or (rank == 1 and after.startswith(".reshape"))


def _torch(part: Part) -> Iterator[str]:
    """What can follow a tensor to give it other axes, the most usual first."""
    shape = part.shape or ()
    rank = len(shape)
    if 1 in shape:
        axis = len(shape) - 1 - shape[::-1].index(1)
        yield f".squeeze({axis})"
    if rank == 1:
        yield from (".unsqueeze(1)", ".unsqueeze(0)")
    elif rank == 2:
        yield from (".unsqueeze(1)", ".unsqueeze(0)", ".t()", ".argmax(1)")
    elif rank == 3:
        yield from (".unsqueeze(1)", ".unsqueeze(0)", ".flatten(1)", ".transpose(1, 2)", ".transpose(0, 1)")
    elif rank == 4:
        yield from (".flatten(1)", ".permute(0, 3, 1, 2)", ".permute(0, 2, 3, 1)")


def _numpy(part: Part) -> Iterator[str]:
    """The same for an array."""
    shape = part.shape or ()
    rank = len(shape)
    if rank == 1:
        yield from (".reshape(-1, 1)", ".reshape(1, -1)")
    elif rank == 2:
        yield from ((".reshape(-1)",) if 1 in shape else ())
        yield from (".T", "[..., None]", "[None]", ".argmax(axis=1)")
    elif rank == 3:
        yield from ("[..., None]", f".reshape({shape[0]}, -1)", "[None]", ".transpose(0, 2, 1)")
    elif rank == 4:
        yield from ((".squeeze()",) if 1 in shape else ())
        yield from (f".reshape({shape[0]}, -1)", ".transpose(0, 3, 1, 2)", ".transpose(0, 2, 3, 1)")
