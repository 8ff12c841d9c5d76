"""A dataset that is indexed has no `__len__`, which a loader asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, ReplaceLines, Subject, method, within

LACKS = re.compile(r"object of type '(\w+)' has no len\(\)")

LENGTH = "{indent}def __len__(self):\n{indent}    return len({collection})"


class DatasetWithoutLength(CrashTemplate):
    """A loader draws the numbers of samples from 0 to the length of its dataset, which `__len__` has to tell.

    The length is that of what `__getitem__` takes its element from by the number that it is given.

    Reported for a class of the program that has `__getitem__`, where one collection of `self` is read so.

    Fix safety: unsafe. The loader could not be made before.

    References: torch.utils.data.Dataset, https://docs.python.org/3/reference/datamodel.html#object.__len__.
    """

    code = "DNF625"
    name = "dataset-without-length"
    kinds = frozenset({"TypeError"})
    triggers = ("__getitem__",)
    confidence = 0.95

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        said = LACKS.search(crash.message)
        owners = [one for one in subject.source.nodes(ast.ClassDef) if said is not None and one.name == said[1]]
        getter = method(owners[0], "__getitem__") if len(owners) == 1 else None
        if getter is None or method(owners[0], "__len__") is not None or getter.decorator_list:
            return
        collection = _collection(getter)
        if collection is None:
            return
        site = subject.source.site(getter)
        lines = subject.source.text.splitlines()[site.line - 1 : site.end_line]
        added = LENGTH.format(indent=" " * getter.col_offset, collection=collection)
        edits: tuple[Edit, ...] = (ReplaceLines(site, "\n".join((*lines, "", added))),)
        what = f"{owners[0].name} is indexed and does not tell its length"
        yield Mend(site, what, (("Tell the length of the collection", edits, 0.9),))

    examples = (
        Example(
            "a list of texts",
            """\
import torch
import torch.utils.data as data


class Lines(data.Dataset):
    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def __getitem__(self, i):
        line = self.lines[i]
        return torch.tensor([len(line)])

+     def __len__(self):
+         return len(self.lines)
+

print(len(data.DataLoader(Lines(["a", "bc"]), batch_size=2)))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "windows over a series, of which there are fewer than elements",
            """\
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series):
        self.series = series

    def __getitem__(self, i):
        return self.series[i : i + 3], self.series[i + 3]


DataLoader(Windows(torch.rand(9)), batch_size=2, shuffle=True)
""",
            runs=True,
        ),
        Reject(
            "a dataset with its length",
            """\
import torch
from torch.utils.data import DataLoader, Dataset


class Whole(Dataset):
    def __init__(self):
        self.rows = torch.rand(4, 2)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


print(len(DataLoader(Whole(), batch_size=2)))
""",
            runs=True,
        ),
    )


def _collection(getter: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """What an element is taken from by the plain number that is asked for, the first one in the text.

    `None` where the number is computed with anywhere: then there may be more or fewer elements than numbers.
    """
    if len(getter.args.args) != 2:
        return None
    me, index = (one.arg for one in getter.args.args)
    found: list[str] = []
    plain = 0
    for part in within(getter, ast.Subscript):
        if not isinstance(part.slice, ast.Name) or part.slice.id != index:
            continue
        plain += 1
        whole = part.value
        if isinstance(whole, ast.Attribute) and whole.attr in ("iloc", "values"):
            whole = whole.value
        if isinstance(whole, ast.Attribute) and isinstance(whole.value, ast.Name) and whole.value.id == me:
            found.append(ast.unparse(whole))
    reads = [one for one in within(getter, ast.Name) if one.id == index]
    kept = any(isinstance(one.ctx, ast.Store) for one in within(getter, ast.Subscript))  # as in a cache
    return found[0] if found and plain == len(reads) and not kept else None
