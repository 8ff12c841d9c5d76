"""A part of an array is filled, and its index names one axis too few for the value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    indices,
    part_shape,
    shape_of,
    shape_said,
)

Shape = tuple[int | None, ...]

REFUSED = re.compile(r"could not broadcast input array from shape \(([\d, ]+)\) into shape \(([\d, ]+)\)")
"""NumPy's words for a value that does not fit the part of the array that it is put into."""


@dataclass(frozen=True, slots=True)
class _Filled:
    """An assignment to a part of an array, what came, what was free, and the indices with one more `:`."""

    target: ast.Subscript
    received: Shape
    free: Shape
    written: tuple[str, ...]


class IndexLacksAxis(FaultTemplate[_Filled]):
    """`maps[:, :, 3] = mask` in an array of four axes: the number stands on an axis before the one that was meant.

    A line that was written for one picture is used for a batch of them, or one of several sibling lines lacks its `:`.
    With one more `:` the place has exactly the shape of the value.

    Fix safety: unsafe. The program did not run before; the values land where the other indices say.

    References: numpy indexing ("If the number of objects in the selection tuple is less than N, then `:` is assumed
    for any subsequent dimensions").
    """

    code = "DNF140"
    name = "index-lacks-axis"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "a value of {received} is put into a place of {free}; the index names an axis too few"
    needs_run = True
    declined = "no place for one more `:` makes the shapes agree"

    def faults(self, subject: Subject) -> Faults[_Filled]:
        crash = subject.crash
        said = REFUSED.search(crash.message) if crash is not None and crash.kind == "ValueError" else None
        target = subject.node(crash.site) if crash is not None else None
        if crash is None or said is None or not isinstance(target, ast.Subscript):
            return
        statement = subject.source.statement_of(target)
        if not isinstance(statement, ast.Assign) or statement.targets != [target]:
            return
        received, free = shape_said(said[1]), shape_said(said[2])
        whole = shape_of(subject, target.value)
        if whole is None or part_shape(subject, whole, indices(target)) != free:
            return
        written = tuple(_with_one_more(subject, target, whole, received))
        if written:
            yield crash.site, _Filled(target, received, free, written)

    def report(self, site: Site, fault: _Filled) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"received": list(fault.received), "free": list(fault.free)},
            received=" x ".join(map(str, fault.received)),
            free=" x ".join(map(str, fault.free)),
        )

    def repairs(self, subject: Subject, fault: _Filled) -> Repairs:
        for text in fault.written[:2]:
            yield f"Index with {text}", (Replace(subject.source.site(fault.target), text),), 0.9

    examples = (
        Example(
            "one of the lines that fill the channels of a batch",
            """\
import numpy as np
import torch


def split(kinds):
    planes = np.zeros((len(kinds), 6, 8, 2), dtype="float32")
    planes[:, :, :, 0] = kinds == 0
-     planes[:, :, 1] = kinds == 1
+     planes[:, :, :, 1] = kinds == 1
    return torch.from_numpy(planes)


split(np.random.randint(0, 2, (3, 6, 8)))
""",
            runs=True,
        ),
        Example(
            "windows of a table with several columns",
            """\
import numpy as np
import torch

table = np.random.rand(40, 3)
steps, rows = 5, 35
windows = np.empty((rows, steps, 3))
for step in range(steps):
-     windows[step] = table[step:step + rows]
+     windows[:, step] = table[step:step + rows]
x = torch.tensor(windows)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "values that fit, some of them stretched",
            """\
import numpy as np
import torch

maps = np.zeros((4, 6, 8, 2))
maps[:, :, :, 0] = np.ones((4, 6, 8))
maps[0] = 1.0
maps[:, 2] = np.arange(2)
torch.from_numpy(maps)
""",
            runs=True,
        ),
        Reject(
            "a value of another number of elements",
            """\
import numpy as np
import torch

maps = np.zeros((4, 6, 2))
maps[:, 0] = np.ones((4, 5))
""",
            runs=True,
        ),
    )


def _with_one_more(subject: Subject, target: ast.Subscript, whole: Shape, wanted: Shape) -> Iterator[str]:
    """The subscript with as many more `:` in one place as make what it takes the wanted shape, the fewest first."""
    given = indices(target)
    full = ast.Slice()
    owner = subject.source.segment(subject.source.site(target.value))
    seen: set[str] = set()
    for more in range(1, len(whole) - len(given) + 1):
        for place in range(len(given) + 1):
            changed = (*given[:place], *(full,) * more, *given[place:])
            if part_shape(subject, whole, changed) != wanted:
                continue
            text = f"{owner}[{', '.join(':' if one is full else _text(subject, one) for one in changed)}]"
            if text not in seen:
                seen.add(text)
                yield text


def _text(subject: Subject, index: ast.expr) -> str:
    return ast.unparse(index) if isinstance(index, ast.Slice) else subject.source.segment(subject.source.site(index))
