"""A loop takes its elements apart into more names than they have parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Replace, Subject, Wrap, words

COUNTERS = words("i j k n idx index step batch_idx batch_index batch_i iteration it epoch count num batch_num")
"""Names that programs give to the number of an element."""


class LoopOverOtherElements(CrashTemplate):
    """A loop takes its elements apart into more names than they have parts.

    Over a dictionary, two names are its keys with their values. A first name that counts, beside what else an element is
    taken apart into, asks for `enumerate`. Where only one of the names is used in the loop, and the elements are whole
    texts or numbers, the loop has one name. Three and more names over `enumerate` are the number, and the parts of the
    element in brackets of their own.

    Fix safety: unsafe. The loop could not run before.

    References: https://docs.python.org/3/library/functions.html#enumerate, dict.items.
    """

    code = "DNF618"
    name = "loop-over-other-elements"
    kinds = frozenset({"ValueError", "TypeError"})
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if "unpack" not in crash.message or crash.site is None:
            return
        loop = _loop(subject, crash)
        if loop is None or not isinstance(loop.target, ast.Tuple):
            return
        source = subject.source
        if len(loop.target.elts) > 2:
            yield from _parts_of_counted(subject, loop, loop.target.elts)
            return
        over = source.site(loop.iter)
        held = crash.held_at(over)
        code, (first, second) = subject.text(over), loop.target.elts
        edit: Edit | None = None
        title = ""
        if held is not None and held.kind in ("dict", "collections.OrderedDict", "collections.defaultdict"):
            edit, title = Wrap(over, "", ".items()"), "Go through keys and values"
        elif isinstance(first, ast.Name) and first.id in COUNTERS and not _counts(subject, loop.iter):
            edit, title = Wrap(over, "enumerate(", ")"), "Count the elements"
        elif held is not None and held.kind in ("list", "tuple", "set") and held.of in ("str", "int", "float"):
            used = [one for one in (first, second) if isinstance(one, ast.Name) and _used(loop, one.id)]
            if len(used) == 1 and isinstance(loop, ast.For):
                edit, title = Replace(source.site(loop.target), ast.unparse(used[0])), "Go through the elements"
        if edit is not None:
            what = f"the elements of {code} are not pairs for {ast.unparse(loop.target)}"
            yield Mend(over, what, ((title, (edit,), 0.85),))

    examples = (
        Example(
            "keys and values of a dictionary",
            """\
import torch

losses = {"first": torch.ones(1), "second": torch.zeros(1)}
- for name, loss in losses:
+ for name, loss in losses.items():
    print(name, loss.item())
""",
            runs=True,
        ),
        Example(
            "batches with their number",
            """\
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.ones(6, 2), torch.zeros(6)), batch_size=3)
- for i, (x, y) in loader:
+ for i, (x, y) in enumerate(loader):
    print(i, x.shape, y.shape)
""",
            runs=True,
        ),
        Example(
            "names without labels",
            """\
import torch

negatives = ["scan-1", "scan-20"]
chosen = []
- for series, label in negatives:
+ for series in negatives:
    chosen.append(series)
print(len(chosen), torch.ones(1))
""",
            runs=True,
        ),
        Example(
            "a number and the parts of a batch",
            """\
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.ones(6, 2), torch.zeros(6)), batch_size=3)
- for step, inputs, labels in enumerate(loader):
+ for step, (inputs, labels) in enumerate(loader):
    print(step, inputs.shape, labels.shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a row of the data that is short",
            """\
import torch

pairs = [("a", 1), ("b",)]
for name, number in pairs:
    print(name, number, torch.ones(1))
""",
            runs=True,
        ),
        Reject(
            "texts of which both names are used",
            """\
import torch

rows = ["a:1", "b:2"]
for name, number in rows:
    print(name, number, torch.ones(1))
""",
            runs=True,
        ),
    )


def _loop(subject: Subject, crash: Crash) -> ast.For | ast.comprehension | None:
    """The loop whose target the crash points at."""
    if crash.site is None:
        return None
    source = subject.source
    for loop in source.nodes(ast.For):
        if source.site(loop.target) == crash.site or source.site(loop.iter) == crash.site:
            return loop
        if isinstance(loop.target, ast.Tuple) and any(source.site(part) == crash.site for part in loop.target.elts):
            return loop
    return None


def _parts_of_counted(subject: Subject, loop: ast.For | ast.comprehension, names: list[ast.expr]) -> Iterator[Mend]:
    """The brackets around the parts of elements that are counted."""
    source = subject.source
    counted = isinstance(loop.iter, ast.Call) and source.qualified(loop.iter.func) == "builtins.enumerate"
    if counted and all(isinstance(name, ast.Name) for name in names):
        first, *parts = (ast.unparse(name) for name in names)
        edit = Replace(source.site(loop.target), f"{first}, ({', '.join(parts)})")
        what = f"{subject.text(source.site(loop.iter))} gives pairs of a number and an element"
        yield Mend(source.site(loop.target), what, (("Take the element apart in brackets", (edit,), 0.9),))


def _counts(subject: Subject, over: ast.expr) -> bool:
    """Whether what is gone through gives numbers with its elements already."""
    if not isinstance(over, ast.Call):
        return False
    name = subject.source.qualified(over.func) or ""
    return name.rpartition(".")[2] in ("enumerate", "zip", "items", "range")


def _used(loop: ast.For | ast.comprehension, name: str) -> bool:
    body = loop.body if isinstance(loop, ast.For) else []
    return any(isinstance(node, ast.Name) and node.id == name for part in body for node in ast.walk(part))
