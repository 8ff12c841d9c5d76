"""A value in the failing expression is converted to another kind: an array, a number, a list, a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Example,
    Family,
    FixPattern,
    Guesses,
    GuessTemplate,
    Part,
    Reject,
    Subject,
    failing_parts,
    spell,
    wrapped,
)

MOST = 12
"""Guesses for one crash."""

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

    def guesses(self, subject: Subject) -> Guesses:
        found: list[tuple[float, str, tuple[Edit, ...]]] = []
        for nearness, part in enumerate(failing_parts(subject)):
            for place, (before, after, imports) in enumerate(_conversions(subject, part)):
                code = subject.text(subject.source.site(part.node))
                edits = (wrapped(subject, part.node, before, after), *imports)
                found.append((0.4 - 0.03 * nearness - 0.01 * place, f"Take {before}{code}{after} for {code}", edits))
        for prior, title, edits in sorted(found, key=lambda one: -one[0])[:MOST]:
            yield title, edits, prior

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
            "a program that runs",
            """\
import numpy as np

print(np.mean(np.array([1, 2]) / 2))
""",
            runs=True,
        ),
    )


def _conversions(subject: Subject, part: Part) -> Iterator[tuple[str, str, tuple[Edit, ...]]]:
    """What can stand before and behind a value to convert it, and the imports for it, the most usual first."""
    kind = part.kind.rpartition(".")[2]
    torch = "torch" in subject.source.frameworks
    if part.is_torch:
        if part.dtype.startswith(("torch.int", "torch.uint8", "torch.bool")):
            yield "", ".float()", ()
        else:
            yield "", ".long()", ()
        yield "", ".detach().numpy()", ()
        yield from (("", ".item()", ()),) if part.shape in ((), (1,)) else ()
        yield from (("", ".tolist()", ()),)
    elif part.kind == "numpy.ndarray":
        yield "", ".astype('float32')" if part.dtype != "float32" else ".astype(int)", ()
        yield from _called(subject, "torch.from_numpy") if torch else ()
        yield "", ".tolist()", ()
    elif kind in ("list", "tuple"):
        yield from _called(subject, "numpy.array")
        yield from _called(subject, "torch.tensor") if torch else ()
        yield "", "[0]", ()
    elif kind in LAZY:
        yield "list(", ")", ()
    elif kind == "dict":
        yield "list(", ".values())", ()
        yield "", ".items()", ()
    elif kind == "str":
        yield from (("int(", ")", ()), ("float(", ")", ()), ("", ".encode()", ()), ("[", "]", ()))
    elif kind == "bytes":
        yield "", ".decode()", ()
    elif kind in ("float", "float64", "float32"):
        yield "int(", ")", ()
    elif kind in ("int", "int64", "int32"):
        yield from (("str(", ")", ()), ("[", "]", ()), ("float(", ")", ()))
    elif kind in ("function", "method", "builtin_function_or_method"):
        yield "", "()", ()


def _called(subject: Subject, function: str) -> Iterator[tuple[str, str, tuple[Edit, ...]]]:
    spelling = spell(subject, function)
    yield f"{spelling.code}(", ")", tuple(spelling.imports)
