"""`next` is called on an iterator over a `DataLoader` more often than the loader has batches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddDefinition,
    Crash,
    CrashTemplate,
    Family,
    Fault,
    FixPattern,
    Replace,
    Site,
    Source,
    Subject,
    training_loop,
    trees,
    within,
)

ENDLESS = '''\
def {name}(data):
    """The batches of one pass over the data after another."""
    while True:
        yield from data'''


class IteratorRunsOut(CrashTemplate):
    """`next(batches)` in a loop that counts its own steps raises `StopIteration` after one pass over the data.

    An iterator over a `DataLoader` returns each batch once. A loop that calls `next` has to start another pass when the
    last one is over, as `for` does by itself in every epoch.

    Reported where the run ended with that error and the iterator is over a loader, which can be iterated again.

    Fix safety: unsafe. The training goes on with the same data, in the order of a new pass.

    References: torch.utils.data.DataLoader; https://docs.python.org/3/library/functions.html#next.
    """

    code = "DNF710"
    name = "iterator-runs-out"
    message = "`{call}` iterates over the data once, and this loop asks for more batches"
    family = Family.TRAINING
    fix_pattern = FixPattern.ITERATIONS
    triggers = ("next", "__next__")
    kinds = frozenset({"StopIteration"})
    confidence = 0.95

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        for asked in _asked(source, crash.site) if crash.site is not None else ():
            begun = source.bindings(asked)
            if len(begun) == 1 and isinstance(begun[0], ast.Call) and _again(source, begun[0]):
                name = next(name for name in ("endless", "endlessly", "passes_over") if name not in source.words)
                edits = (Replace(source.site(begun[0].func), name), AddDefinition(ENDLESS.format(name=name)))
                words = {"call": ast.unparse(asked)}
                yield Fault(
                    source.site(asked), words, (("Start another pass over the data when one has ended", edits, 0.9),)
                )

    programs = '''
=== example: a loop that counts its steps
import torch
from torch.utils.data import DataLoader, TensorDataset
+
+
+ def endless(data):
+     """The batches of one pass over the data after another."""
+     while True:
+         yield from data
+

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(8, 2), torch.randn(8, 1)), batch_size=4)
- batches = iter(loader)
+ batches = endless(loader)
for step in range(5):
    x, y = next(batches)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()

=== example: asked by the method, in a function
import torch
from torch.utils.data import DataLoader


+ def endless(data):
+     """The batches of one pass over the data after another."""
+     while True:
+         yield from data
+
+
def train(net, train_loader, steps):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
-     data_iter = iter(train_loader)
+     data_iter = endless(train_loader)
    done = 0
    while done < steps:
        batch = data_iter.__next__()
        opt.zero_grad()
        net(batch).pow(2).mean().backward()
        opt.step()
        done += 1


train(torch.nn.Linear(3, 1), DataLoader(torch.randn(6, 3), batch_size=2), 5)

=== reject: a new pass is begun
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.randn(4, 2), batch_size=2)
batches = iter(loader)
for step in range(5):
    try:
        x = next(batches)
    except StopIteration:
        batches = iter(loader)
        x = next(batches)

=== reject: a generator of the program is over
import torch

def two():
    yield torch.zeros(2)
    yield torch.ones(2)

parts = iter(two())
for step in range(3):
    x = next(parts)
'''


def _asked(source: Source, crashed: Site) -> Iterator[ast.expr]:
    """The iterators whose `next` is called at the crash, in a loop or in a function that may be called in one."""
    for call in source.all_calls:
        if not crashed.encloses(source.site(call)) and not source.site(call).encloses(crashed):
            continue
        function = call.func
        if isinstance(function, ast.Name) and function.id == "next" and len(call.args) == 1:
            asked = call.args[0]
        elif isinstance(function, ast.Attribute) and function.attr in ("next", "__next__") and not call.args:
            asked = function.value
        else:
            continue
        in_loop = bool(training_loop.loops_around(source, call)) or source.enclosing(call, ast.FunctionDef) is not None
        if isinstance(asked, (ast.Name, ast.Attribute)) and in_loop:
            yield asked


def _again(source: Source, begun: ast.Call) -> bool:
    """Whether the iterator is `iter(data)` of data that can be iterated again."""
    if source.qualified(begun.func) != "builtins.iter" or len(begun.args) != 1 or begun.keywords:
        return False
    data = begun.args[0]
    made = data if isinstance(data, ast.Call) else source.constructor(data)
    if made is not None:
        return (source.qualified(made.func) or "").rpartition(".")[2].endswith("DataLoader")
    last = trees.last_name(data)
    functions = {call.func.id for call in within(data, ast.Call) if isinstance(call.func, ast.Name)}
    return "loader" in last.lower() and not functions
