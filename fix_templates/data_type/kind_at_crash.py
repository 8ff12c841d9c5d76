"""A value in the failing expression is converted to another kind: an array, a number, a list, a tensor."""

from __future__ import annotations

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
    sizes_disagree,
    spell,
)

LAZY = ("map", "filter", "zip", "range", "dict_keys", "dict_values", "dict_items", "generator", "set", "reversed")
"""Kinds of values that are gone through once, or have no order: a list of them can be indexed and counted."""


class KindAtCrash(GuessTemplate):
    """A value in the failing expression is converted to another kind: an array, a number, a list, a tensor.

    A list is no array, a tensor is no number, and what a file or a command line gives is text. This template does not
    know which value is of the wrong kind: it tries the usual conversions of each whose kind the run has shown.

    Fix safety: unsafe. The line could not run before; a conversion may lose digits, gradients or order.

    References: Islam et al., Repairing Deep Neural Networks (ICSE 2020), pattern "data type".
    """

    code = "DNF680"
    name = "kind-at-crash"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "the program crashes here, and a value of another kind would let it go on: {crash}"

    def changes(self, subject: Subject, part: Part) -> Iterator[Around]:
        return iter(()) if part.is_array and sizes_disagree(subject) else _conversions(subject, part)

    examples = (
        Example(
            "a list that is divided",
            before="""\
import numpy as np

losses = [0.5, 0.25]
print(np.mean(losses / 2))
""",
            after="""\
import numpy as np

losses = [0.5, 0.25]
print(np.mean(np.array(losses) / 2))
""",
            runs=True,
        ),
        Example(
            "a map that is counted",
            before="""\
import torch

lengths = map(len, ["one", "three"])
print(torch.zeros(len(lengths)))
""",
            after="""\
import torch

lengths = map(len, ["one", "three"])
print(torch.zeros(len(list(lengths))))
""",
            runs=True,
        ),
        Example(
            "a real number as a size",
            before="""\
import numpy as np

half = 9 / 2
print(np.zeros(half).sum())
""",
            after="""\
import numpy as np

half = 9 / 2
print(np.zeros(int(half)).sum())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a crash without values",
            """\
import torch

raise RuntimeError("nothing to train on")
""",
            runs=True,
        ),
        Reject(
            "arrays of other sizes",
            """\
import numpy as np

scores = np.zeros((20, 5))
print((scores - np.ones((20, 3))).sum())
""",
            runs=True,
        ),
        Reject(
            "a program that runs",
            """\
import numpy as np

print(np.mean(np.array([1, 2]) / 2))
""",
            runs=True,
        ),
    )


def _conversions(subject: Subject, part: Part) -> Iterator[Around]:
    kind = part.kind.rpartition(".")[2]
    torch = "torch" in subject.source.frameworks
    if part.is_torch:
        yield Around(
            after=".float()" if part.dtype.startswith(("torch.int", "torch.uint8", "torch.bool")) else ".long()"
        )
        yield Around(after=".detach().numpy()")
        if part.shape in ((), (1,)):
            yield Around(after=".item()")
        yield Around(after=".tolist()")
    elif part.kind == "numpy.ndarray":
        yield Around(after=".astype('float32')" if part.dtype != "float32" else ".astype(int)")
        if torch:
            yield _called(subject, "torch.from_numpy")
        yield Around(after=".tolist()")
    elif kind in ("list", "tuple"):
        yield _called(subject, "numpy.array")
        if torch:
            yield _called(subject, "torch.tensor")
        yield Around(after="[0]")
    elif kind in LAZY:
        yield Around("list(", ")")
    elif kind == "dict":
        yield Around("list(", ".values())")
        yield Around(after=".items()")
    elif kind == "str":
        yield from (Around("int(", ")"), Around("float(", ")"), Around(after=".encode()"), Around("[", "]"))
    elif kind == "bytes":
        yield Around(after=".decode()")
    elif kind in ("float", "float64", "float32"):
        yield from (Around("int(", ")"), Around("str(", ")"))
    elif kind in ("int", "int64", "int32"):
        yield from (Around("str(", ")"), Around("[", "]"), Around("float(", ")"))
    elif kind in ("function", "method", "builtin_function_or_method"):
        yield Around(after="()")


def _called(subject: Subject, function: str) -> Around:
    spelling = spell(subject, function)
    return Around(f"{spelling.code}(", ")", tuple(spelling.imports))
