"""A `DataLoader` is created from a pair of arrays, which it reads as a dataset of two samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    Replace,
    Subject,
    argument_value,
    loaders,
    spell,
)

_UNEQUAL = re.compile(r"stack expects each tensor to be equal size, but got \[(\d+).*?\] at entry 0 and \[(\d+)")


class ArraysGivenAsDataset(CrashTemplate):
    """`DataLoader((x, y))` reads the pair as a dataset of two samples, and fails to stack all inputs and all labels.

    A dataset has one item per sample, with its input and its label: `TensorDataset(x, y)` for tensors, `list(zip(x,
    y))` for arrays. Reported where the loader crashed on a tuple or list of arrays with the same number of rows.

    Fix safety: unsafe. The line could not run before.

    References: torch.utils.data.TensorDataset ("Each sample will be retrieved by indexing tensors along the first
    dimension").
    """

    code = "DNF147"
    name = "arrays-given-as-dataset"
    message = "DataLoader reads `{arrays}` as a dataset with one sample per array: its arrays belong in a TensorDataset"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    kinds = frozenset({"RuntimeError"})
    triggers = ("DataLoader",)

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        said, loading = _UNEQUAL.search(crash.message), loaders.failed_loading(subject)
        if said is None or said[1] != said[2] or loading is None:
            return
        source = subject.source
        for loader in loading.loaders:
            given = argument_value(loader, "dataset", 0)
            values = source.bindings(given, given) if isinstance(given, ast.Name) else (given,)
            pair = values[0] if len(values) == 1 else None
            if given is None or not isinstance(pair, ast.Tuple | ast.List) or len(pair.elts) < 2:
                continue
            if loading.loop is None or not _unpacks(loading.loop.target, len(pair.elts)):
                continue
            literal = ", ".join(subject.text(source.site(each)) for each in pair.elts)
            arrays = literal if given is pair else f"*{subject.text(source.site(given))}"
            dataset, place = spell(subject, "torch.utils.data.TensorDataset"), source.site(given)
            made: tuple[Edit, ...] = (Replace(place, f"{dataset.code}({arrays})"), *dataset.imports)
            paired = (Replace(place, f"list(zip({arrays}))"),)
            repairs = (("Wrap the arrays in a TensorDataset", made, 0.9), ("Zip the rows into pairs", paired, 0.7))
            yield Fault(place, {"arrays": literal}, repairs)

    programs = """
=== example: two tensors
import torch
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(40, 3), torch.randint(0, 2, (40,))
- loader = DataLoader((x, y), batch_size=8, shuffle=True)
+ loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
for inputs, labels in loader:
    print(inputs.shape, labels.shape)

=== example: arrays, by way of a name
import numpy as np
import torch

rows, targets = np.random.rand(30, 5), np.random.rand(30)
data = [rows, targets]
- batches = torch.utils.data.DataLoader(dataset=data, batch_size=10)
+ batches = torch.utils.data.DataLoader(dataset=list(zip(*data)), batch_size=10)
for row, target in batches:
    print(row.shape)

=== example: in a training loop that counts
import torch
import torch.utils.data as data

images = torch.zeros(20, 1, 8, 8)
classes = torch.zeros(20, dtype=torch.long)
- train_dl = data.DataLoader((images, classes), 4)
+ train_dl = data.DataLoader(data.TensorDataset(images, classes), 4)
for epoch in range(2):
    for i, (image, label) in enumerate(train_dl):
        print(epoch, i, image.mean().item())

=== reject: samples of other lengths
import torch
from torch.utils.data import DataLoader

short, long = torch.randn(3, 4), torch.randn(5, 4)
for batch in DataLoader([short, long], batch_size=2):
    print(batch.shape)

large, small = torch.randn(3, 8, 8), torch.randn(3, 6, 6)
for image in DataLoader([large, small], batch_size=2):
    print(image.shape)

=== reject: a dataset of the program
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return torch.zeros(3) if i % 2 else torch.zeros(3, 1)

for batch in DataLoader(Rows(), batch_size=2):
    print(batch.shape)

=== reject: pairs of samples
import torch
from torch.utils.data import DataLoader

pairs = [(torch.zeros(3), 0), (torch.ones(3), 1)]
for inputs, labels in DataLoader(pairs, batch_size=2):
    print(inputs.shape, labels)
"""


def _unpacks(target: ast.expr, count: int) -> bool:
    """Whether a loop unpacks its batches into this number of names, such as inputs and labels."""
    match target:
        case ast.Tuple(elts=[_, batch]) if not isinstance(batch, ast.Name):  # the other one is a counter
            target = batch
    return isinstance(target, ast.Tuple | ast.List) and len(target.elts) == count
