"""`next` is asked of a loader, which only its iterator answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import LOOPS, Crash, CrashTemplate, Example, Mend, Reject, Replace, Source, Subject, Wrap

AGAIN = (*LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class LoaderAskedForNext(CrashTemplate):
    """A `DataLoader` can be iterated over, and is no iterator itself: `next` wants `iter` of it.

    Reported outside of loops, where one batch is asked for. In a loop every turn would begin anew and get the first
    batch of a new pass: there the iterator has to be made ahead, and how the passes end is the program's matter. So it is where the loader is asked
    at several places, or in a function that is called in a loop or at several places.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/library/functions.html#next, torch.utils.data.DataLoader.
    """

    code = "DNF627"
    name = "loader-asked-for-next"
    kinds = frozenset({"TypeError", "AttributeError"})
    triggers = ("DataLoader",)
    confidence = 0.95

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        source, node = subject.source, subject.node(crash.site)
        if "'DataLoader' object is not an iterator" in crash.message and isinstance(node, ast.Call):
            loader = node.args[0] if len(node.args) == 1 and not node.keywords else None
            if loader is None or source.qualified(node.func) != "builtins.next":
                return
            edit: Replace | Wrap = Wrap(source.site(loader), "iter(", ")")
        elif isinstance(node, ast.Attribute) and node.attr in ("next", "__next__"):
            call, loader = source.parent(node), node.value
            if "'DataLoader' object has no attribute" not in crash.message or not isinstance(call, ast.Call):
                return
            edit = Replace(source.site(call), f"next(iter({subject.text(source.site(loader))}))")
        else:
            return
        if _asked_once(source, node, ast.unparse(loader)):
            what = f"{ast.unparse(loader)} is no iterator, and next is asked of it"
            yield Mend(source.site(node), what, (("Take the first batch of a pass", (edit,), 0.95),))

    examples = (
        Example(
            "a first batch to look at",
            """\
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.rand(8, 2), torch.zeros(8)), batch_size=4)
- inputs, labels = next(loader)
+ inputs, labels = next(iter(loader))
print(inputs.shape, labels.shape)
""",
            runs=True,
        ),
        Example(
            "asked by the method",
            """\
import torch
import torch.utils.data as data


def sample(batches):
-     return batches.__next__()
+     return next(iter(batches))


print(sample(data.DataLoader(torch.rand(8, 2), batch_size=4)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a function that asks is called in a loop",
            """\
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(8, 2), batch_size=4)


def step():
    return next(loader).mean()


for _ in range(2):
    print(step())
""",
            runs=True,
        ),
        Reject(
            "a second batch is asked for",
            """\
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(8, 2), batch_size=4)
first = next(loader)
second = next(loader)
print(first.shape, second.shape)
""",
            runs=True,
        ),
        Reject(
            "the iterator of a loader",
            """\
import torch
from torch.utils.data import DataLoader

batches = iter(DataLoader(torch.rand(8, 2), batch_size=4))
print(next(batches).shape)
""",
            runs=True,
        ),
        Reject(
            "every turn of a loop asks for a batch",
            """\
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(8, 2), batch_size=4)
for step in range(2):
    print(next(loader).shape)
""",
            runs=True,
        ),
    )


def _asked_once(source: Source, node: ast.AST, loader: str) -> bool:
    """Whether the program asks a loader for one batch only: a second one would be the first again."""
    asking = [call for call in source.all_calls if _asks(call, loader)]
    function = source.enclosing(node, ast.FunctionDef)
    if len(asking) > 1 or source.enclosing(node, *AGAIN) is not None:
        return False
    if function is None:
        return True
    calls = [
        call
        for call in source.all_calls
        if (call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")) == function.name
    ]
    return len(calls) <= 1 and all(source.enclosing(call, *AGAIN) is None for call in calls)


def _asks(call: ast.Call, loader: str) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "next" and bool(call.args) and ast.unparse(call.args[0]) == loader
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("next", "__next__")
        and ast.unparse(call.func.value) == loader
    )
