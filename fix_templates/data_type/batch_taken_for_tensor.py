"""A batch of several tensors is used as if it were one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    LOADER,
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Mend,
    Reject,
    Replace,
    Source,
    Subject,
    function_around,
    within,
    words,
)

LACKS = re.compile(r"'(list|tuple)' object has no attribute '(\w+)'")

OF_TENSORS = words(
    """to size shape float double half long view cuda cpu unsqueeze squeeze permute reshape dim device dtype transpose mean
    sum flatten requires_grad_ type numpy detach"""
)
"""What tensors have and lists have not."""


class BatchTakenForTensor(CrashTemplate):
    """A loader over several tensors gives each batch as a list with one tensor of each, also where there is one only.

    Of a batch of a single tensor the first element is taken. Where the loop takes inputs and targets from elsewhere
    nothing is said: which of several tensors was meant is not told.

    Fix safety: unsafe. The line could not run before.

    References: torch.utils.data.TensorDataset, torch.utils.data.DataLoader.
    """

    code = "DNF626"
    name = "batch-taken-for-tensor"
    kinds = frozenset({"AttributeError"})
    triggers = ("DataLoader",)
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        said, node, source = LACKS.search(crash.message), subject.node(crash.site), subject.source
        if said is None or said[2] not in OF_TENSORS or not isinstance(node, ast.Attribute):
            return
        batch = node.value
        loop = _loop(source, batch)
        told = crash.held_at(source.site(batch))
        if loop is None or told is None or told.of != "torch.Tensor" or not isinstance(batch, ast.Name):
            return
        if told.size == 1:
            yield self._unpacked(subject, loop, batch)
        elif told.size == 2 and not _parts_read(source, loop, batch) and _labels_unused(loop):
            yield self._unpacked(subject, loop, batch, ", _")

    def _unpacked(self, subject: Subject, loop: ast.For, batch: ast.Name, rest: str = "") -> Mend:
        source = subject.source
        place = next(one for one in within(loop.target, ast.Name) if one.id == batch.id)
        taken = f"({batch.id}{rest or ','})" if place is not loop.target else f"{batch.id}{rest or ','}"
        edits: tuple[Edit, ...] = (Replace(source.site(place), taken),)
        what = f"{batch.id} is the list of the tensors of a batch"
        return Mend(source.site(batch), what, (("Take the tensor out of the batch", edits, 0.85),))

    examples = (
        Example(
            "numbered batches",
            """\
import torch
import torch.utils.data as data


def encode(coder, loader):
-     for i, rows in enumerate(loader):
+     for i, (rows,) in enumerate(loader):
        flat = rows.view(rows.size(0), -1)
        print(i, coder(flat).shape)


encode(torch.nn.Linear(4, 2), data.DataLoader(data.TensorDataset(torch.rand(6, 2, 2)), batch_size=2))
""",
            runs=True,
        ),
        Example(
            "an autoencoder, which needs no labels",
            """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

coder = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 4))
- for pictures in DataLoader(TensorDataset(torch.rand(6, 2, 2), torch.zeros(6)), batch_size=3):
+ for pictures, _ in DataLoader(TensorDataset(torch.rand(6, 2, 2), torch.zeros(6)), batch_size=3):
    pictures = pictures.view(-1, 4)
    loss = nn.functional.mse_loss(coder(pictures), pictures)
    loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a batch whose parts are read by number",
            """\
import torch
from torch.utils.data import DataLoader, TensorDataset

for batch in DataLoader(TensorDataset(torch.rand(6, 2), torch.zeros(6)), batch_size=3):
    x, y = batch[0].to("cpu"), batch[1].to("cpu")
    print(x.shape, y.shape)
""",
            runs=True,
        ),
        Reject(
            "a list that no loader gave",
            """\
import torch
from torch.utils.data import DataLoader

outputs = [torch.ones(2), torch.ones(2)]
loader = DataLoader(torch.rand(4, 2), batch_size=2)
print(outputs.mean())
""",
            runs=True,
        ),
        Reject(
            "inputs and targets that are moved together and taken apart later",
            """\
import torch
from torch.utils.data import DataLoader, TensorDataset

for batch in DataLoader(TensorDataset(torch.rand(6, 2), torch.zeros(6)), batch_size=3):
    batch = batch.to("cpu")
    x, y = batch
    print(x.shape, y.shape)
""",
            runs=True,
        ),
    )


def _loop(source: Source, batch: ast.expr) -> ast.For | None:
    """The loop over a loader that gives a variable its batches."""
    loop = source.enclosing(batch, ast.For)
    while isinstance(loop, ast.For) and isinstance(batch, ast.Name):
        whole = loop.target
        over: ast.expr = loop.iter
        if isinstance(over, ast.Call) and (source.qualified(over.func) or "").rpartition(".")[2] == "enumerate":
            whole = whole.elts[-1] if isinstance(whole, ast.Tuple) else whole
            over = over.args[0] if over.args else over
        if isinstance(whole, ast.Name) and whole.id == batch.id:
            return loop if _is_loader(source, over) else None
        loop = source.enclosing(loop, ast.For)
    return None


def _is_loader(source: Source, over: ast.expr) -> bool:
    """Whether a loop goes through a loader: made here or by a function, or handed to the function that the loop is in."""
    made = over if isinstance(over, ast.Call) else source.constructor(over)
    if made is not None:
        maker = source.definition(made.func)
        if isinstance(maker, ast.FunctionDef):
            return any(source.qualified(call.func) == LOADER for call in within(maker, ast.Call))
        return source.qualified(made.func) == LOADER
    function = function_around(source, over)
    names = [one.arg for one in function.args.args] if function is not None else []
    return isinstance(over, ast.Name) and over.id in names and any(True for _ in source.calls(LOADER))


def _parts_read(source: Source, loop: ast.For, batch: ast.Name) -> bool:
    """Whether the parts of a batch are taken from it after all: by number, or apart."""
    for name in within(loop, ast.Name):
        if name.id != batch.id or not isinstance(name.ctx, ast.Load):
            continue
        above = source.parent(name)
        if isinstance(above, (ast.Subscript, ast.Starred)):
            return True
        if isinstance(above, ast.Assign) and above.value is name and isinstance(above.targets[0], ast.Tuple):
            return True
    return False


def _labels_unused(loop: ast.For) -> bool:
    """Whether a loss in the loop compares with the batch itself, so that no labels are missed."""
    name = within(loop.target, ast.Name)[-1].id
    targets = [call.args[1] for call in within(loop, ast.Call) if len(call.args) == 2]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)
