"""A `DataLoader` collates sequences of different lengths without padding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    AddDefinition,
    AddImport,
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    SetArgument,
    Site,
    Subject,
    Symptom,
    argument_value,
    arithmetic,
    graph,
    keyword_value,
    loaders,
    words,
)

SIZES = re.compile(r"stack expects each tensor to be equal size, but got \[([\d, ]+)\] at entry 0 and \[([\d, ]+)\]")
LISTS = "each element in list of batch should be of equal size"

OVER_STEPS = words(
    """Embedding EmbeddingBag embedding RNN LSTM GRU RNNCell LSTMCell GRUCell Conv1d Transformer TransformerEncoder
    TransformerEncoderLayer MultiheadAttention"""
)
"""Layers for sequences: in a program with one of them, a first axis of varying size is that of the steps."""

ONE = '''\
def {name}(batch):
    """A batch of sequences that are filled up to the longest of them."""
    return {first}'''

FIRST = '''\
def {name}(batch):
    """A batch whose sequences are filled up to the longest of them."""
    sequences, labels = zip(*batch)
    return {first}, default_collate(labels)'''

BOTH = '''\
def {name}(batch):
    """A batch whose sequences, and those that belong to them, are filled up to the longest of them."""
    sequences, targets = zip(*batch)
    return {first}, {second}'''


@dataclass(frozen=True, slots=True)
class _Ragged:
    """Loaders that cannot collate, the number of parts of a sample, and whether the parts surely are tensors."""

    loading: loaders.Loading
    parts: int
    plain: bool


class UnpaddedSequences(FaultTemplate[_Ragged]):
    """A `DataLoader` collates sequences of different lengths into one batch without padding them.

    A `collate_fn` with `pad_sequence` pads each batch to its longest sequence. Targets that are sequences too are
    padded with the index that the loss ignores.

    Reported where samples of one or two axes differ in the first axis only, in a program with layers for sequences.
    Images of different sizes have to be resized instead.

    Fix safety: unsafe. The network sees the padding, unless it masks or packs it.

    References: torch.nn.utils.rnn.pad_sequence, torch.utils.data.DataLoader (`collate_fn`).
    """

    code = "DNF146"
    name = "unpadded-sequences"
    formerly = ("sequences-of-other-lengths",)
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "`{loader}` cannot collate sequences of different lengths into one batch"
    triggers = ("DataLoader",)
    needs_run = True
    declined = "what a sample consists of is not known"

    def faults(self, subject: Subject) -> Faults[_Ragged]:
        crash = subject.crash
        if crash is None or crash.kind != "RuntimeError" or subject.source.words.isdisjoint(OVER_STEPS):
            return
        if LISTS not in crash.message and not _lengths_differ(crash.message):
            return
        loading = loaders.failed_loading(subject)
        if loading is None or any(keyword_value(call, "collate_fn") is not None for call in loading.loaders):
            return
        parts = _parts(loading)
        plain = LISTS not in crash.message and "numpy" not in {name for _, name in subject.source.imported_names}
        if parts in (1, 2) and not _arrays_for_dataset(loading):
            yield subject.source.site(loading.loaders[0]), _Ragged(loading, parts, plain)

    def report(self, site: Site, fault: _Ragged) -> Finding:
        loader = ast.unparse(fault.loading.loaders[0].func)
        return self.finding(site, symptom=Symptom.CRASH, cause="crash", confidence=0.9, loader=loader)

    def repairs(self, subject: Subject, fault: _Ragged) -> Repairs:
        source = subject.source
        name = next(name for name in ("pad_batch", "padded_batch", "batch_of_padded") if name not in source.words)
        given = "batch" if fault.parts == 1 else "sequences"
        first = _padded(given, fault.plain, _padding(subject))
        rest: list[tuple[str, str, float]] = []
        if fault.parts == 1:
            rest.append(("Pad the sequences of a batch", ONE.format(name=name, first=first), 0.9))
        else:
            rest.append(("Pad the sequences of a batch", FIRST.format(name=name, first=first), 0.9))
            for value in _left_out(subject):
                both = BOTH.format(name=name, first=first, second=_padded("targets", fault.plain, value))
                rest.append(("Pad the sequences and their targets", both, 0.85 if value else 0.8))
        for title, code, prior in rest:
            edits: list[Edit] = [AddImport("from torch.nn.utils.rnn import pad_sequence")]
            if "default_collate" in code:
                edits.append(AddImport("from torch.utils.data import default_collate"))
            if "torch.as_tensor" in code:
                edits.append(AddImport("import torch"))
            edits.append(AddDefinition(code))
            edits += [SetArgument(source.site(call), "collate_fn", name) for call in fault.loading.loaders]
            yield title, tuple(edits), prior

    programs = '''
=== example: sequences with a label each
import torch
from torch.utils.data import DataLoader, Dataset
+ from torch.nn.utils.rnn import pad_sequence
+ from torch.utils.data import default_collate
+
+
+ def pad_batch(batch):
+     """A batch whose sequences are filled up to the longest of them."""
+     sequences, labels = zip(*batch)
+     return pad_sequence(sequences, batch_first=True), default_collate(labels)


class Words(Dataset):
    def __init__(self, sentences):
        self.sentences = sentences

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        return self.sentences[index], index % 2


layer = torch.nn.Embedding(9, 4)
- for words, label in DataLoader(Words([torch.arange(3), torch.arange(5)]), batch_size=2):
+ for words, label in DataLoader(Words([torch.arange(3), torch.arange(5)]), batch_size=2, collate_fn=pad_batch):
    print(layer(words).shape, label)

=== example: signals of several features, a list of samples
import torch
from torch.utils.data import DataLoader
+ from torch.nn.utils.rnn import pad_sequence
+
+
+ def pad_batch(batch):
+     """A batch of sequences that are filled up to the longest of them."""
+     return pad_sequence(batch, batch_first=True)
+

signals = [torch.rand(4, 3), torch.rand(7, 3), torch.rand(5, 3)]
- loader = DataLoader(signals, batch_size=3)
+ loader = DataLoader(signals, batch_size=3, collate_fn=pad_batch)
gru = torch.nn.GRU(3, 8, batch_first=True)
for batch in loader:
    print(gru(batch)[0].shape)

=== example: a tag for every word
import torch
from torch.utils.data import DataLoader, Dataset
+ from torch.nn.utils.rnn import pad_sequence
+
+
+ def pad_batch(batch):
+     """A batch whose sequences, and those that belong to them, are filled up to the longest of them."""
+     sequences, targets = zip(*batch)
+     return pad_sequence(sequences, batch_first=True), pad_sequence(targets, batch_first=True, padding_value=-100)


class Tagged(Dataset):
    def __getitem__(self, i):
        return torch.ones(i + 2).long(), torch.zeros(i + 2).long()

    def __len__(self):
        return 4


emb, head = torch.nn.Embedding(5, 6, padding_idx=0), torch.nn.Linear(6, 3)
loss_of = torch.nn.CrossEntropyLoss()
- for text, tags in DataLoader(Tagged(), 2):
+ for text, tags in DataLoader(Tagged(), 2, collate_fn=pad_batch):
    print(loss_of(head(emb(text)).flatten(0, 1), tags.flatten()))

=== reject: images of different sizes
import torch
from torch.utils.data import DataLoader

images = [torch.rand(3, 8, 8), torch.rand(3, 9, 8)]
words = torch.nn.Embedding(3, 2)
for batch in DataLoader(images, batch_size=2):
    print(batch.shape)

=== reject: sequences of one length
import torch
from torch.utils.data import DataLoader

words = torch.nn.Embedding(9, 2)
for batch in DataLoader([torch.arange(4), torch.arange(4)], batch_size=2):
    print(words(batch).shape)

=== reject: inputs and targets passed as if they were samples
import torch
from torch.utils.data import DataLoader

rnn = torch.nn.RNN(1, 2)
x, y = torch.rand(6), torch.rand(4)
for a, b in DataLoader((x, y), batch_size=2):
    print(a, b)
'''


def _lengths_differ(message: str) -> bool:
    """Whether two samples of one or two axes differ in the first axis only."""
    said = SIZES.search(message)
    if said is None:
        return False
    first, second = ([int(size) for size in text.split(",")] for text in said.groups())
    return len(first) == len(second) in (1, 2) and first[0] != second[0] and first[1:] == second[1:]


def _parts(loading: loaders.Loading) -> int | None:
    """The number of parts of a sample: what `__getitem__` returns, else what the loop unpacks."""
    getter = graph.method(loading.dataset, "__getitem__") if loading.dataset is not None else None
    if getter is not None:
        given = [node.value for node in ast.walk(getter) if isinstance(node, ast.Return)]
        counts = {len(one.elts) if isinstance(one, ast.Tuple) else 0 if _keyed(one) else 1 for one in given}
        return counts.pop() if len(counts) == 1 else None
    loop = loading.loop
    if loop is None:
        return None
    target: ast.expr = loop.target
    if isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[-1]
    return len(target.elts) if isinstance(target, ast.Tuple) else 1


def _keyed(node: ast.expr | None) -> bool:
    return node is None or isinstance(node, (ast.Dict, ast.List))


def _arrays_for_dataset(loading: loaders.Loading) -> bool:
    """Whether the dataset is a tuple or list of whole arrays."""
    given = argument_value(loading.loaders[0], "dataset", 0)
    return isinstance(given, (ast.Tuple, ast.List))


def _padded(given: str, plain: bool, value: int) -> str:
    what = given if plain else f"[torch.as_tensor(one) for one in {given}]"
    return f"pad_sequence({what}, batch_first=True{f', padding_value={value}' if value else ''})"


def _padding(subject: Subject) -> int:
    """The `padding_idx` of the embedding."""
    for call in subject.source.calls("torch.nn.Embedding"):
        given = argument_value(call, "padding_idx", 2)
        value = arithmetic.number(given) if given is not None else None
        if isinstance(value, int):
            return value
    return 0


def _left_out(subject: Subject) -> Iterator[int]:
    """The values to pad targets with: the index ignored by a classification loss, or zero."""
    for call in subject.source.calls("torch.nn.CrossEntropyLoss", "torch.nn.NLLLoss", *_FUNCTIONS):
        given = keyword_value(call, "ignore_index")
        value = arithmetic.number(given) if given is not None else -100
        if isinstance(value, int):
            yield value
            return  # any other value would count in the loss
    yield 0


_FUNCTIONS = ("torch.nn.functional.cross_entropy", "torch.nn.functional.nll_loss")
