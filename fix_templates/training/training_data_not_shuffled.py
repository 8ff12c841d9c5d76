"""A loader whose batches a network is trained on does not shuffle: every epoch sees the same batches in the same order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    RemoveArgument,
    Replace,
    SetArgument,
    Source,
    Subject,
    argument_value,
    function_around,
    kept_graphs,
    loader_uses,
    structure,
    trees,
    within,
    words,
)

ITERABLE = words("IterableDataset IterDataPipe WebDataset webdataset IterDataset StreamingDataset ChainDataset")
IN_TIME = re.compile(
    r"time_?series|look_?back|forecast|stock|window_size|horizon(?!tal)|sliding|stateful|bptt|tbptt|temporal",
    re.IGNORECASE,
)
PICTURES = re.compile(r"torchvision|image|video|cifar|mnist|imread|RandomHorizontalFlip", re.IGNORECASE)
OF_ANOTHER_USE = re.compile(
    r"extract|feature|embed|(^|_)bn(_|$)|stat(s|istics)|memory|cluster|kmeans|calib|sequential|(no|un|not)_?shuffle|in_?order|fixed|(^|_)(show|plot|vis\w*|mean|norm|full|all)(_|$)",
    re.IGNORECASE,
)
DISTRIBUTED = words("DistributedSampler")
SHUFFLES = words("shuffle permutation randperm")
MODULES = words("np numpy random torch sklearn utils self")
WHOLE = re.compile(r"^len\(|__len__\(\)$|\.shape\[0\]$|\.size\(0\)$|\.num_examples$")
OF_ITERATOR = re.compile(r"iter(ator)?$|pipe(line)?$|stream", re.IGNORECASE)
BY_DATA = re.compile(r"\.dataset\.\w*shuffle|(dataset|train_ds)\.\w*shuffle\w*\(")
BY_HAND = re.compile(r"shuffle\w*\(|randperm|permutation|sample\(frac")


class TrainingDataNotShuffled(ReadTemplate):
    """`DataLoader(train_set, batch_size=32)` does not shuffle: `shuffle` is False where it is not given.

    Sorted data, such as images read from one folder after the other, come to the network class by class; batches are the same in every epoch.

    Reported for loaders that are trained on, by their name, their data or a loop with a backward pass, which have no sampler. Data that cannot be shuffled
    (`IterableDataset`), recurrent states that go from batch to batch, and time series with `shuffle=False` are left alone.

    Fix safety: unsafe. The batches are others in each epoch from now on.

    References: torch.utils.data.DataLoader.
    """

    code = "DNF760"
    name = "training-data-not-shuffled"
    message = "`{loader}` is trained on and does not shuffle{when}: every epoch sees the same batches in the same order"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 6
    default = False
    triggers = ("DataLoader",)
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "DataLoader" not in source.words or not ITERABLE.isdisjoint(source.words):
            return
        for use in loader_uses.uses(source):
            if not loader_uses.trained_by(source, use) or not _keeps_order(source, use):
                continue
            site = source.site(use.call)
            said = {"loader": use.name or "the loader", "when": " without a GPU" if use.adds else ""}
            edits = tuple(_edits(source, use))
            ways = (("Shuffle the training data", edits, 0.9),) if edits else ()
            yield Fault(site, said, ways, confidence=self.confidence)

    programs = """
=== example: nothing is said
from torch.utils.data import DataLoader

- train_loader = DataLoader(train_set, batch_size=64)
+ train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=64)

=== example: trained on, by its loop
import torch

- batches = torch.utils.data.DataLoader(pictures, batch_size=8, shuffle=False)
+ batches = torch.utils.data.DataLoader(pictures, batch_size=8, shuffle=True)
for x, y in batches:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== example: without its sampler on a single GPU
import torch
from torch.utils.data import DataLoader, DistributedSampler

sampler = DistributedSampler(train_set) if distributed else None
- train_loader = DataLoader(train_set, 32, shuffle=False, sampler=sampler)
+ train_loader = DataLoader(train_set, 32, shuffle=sampler is None, sampler=sampler)

=== example: horizons that are none of time
import torch
from torchvision import transforms

flips = transforms.RandomHorizontalFlip()
- train_loader = torch.utils.data.DataLoader(pictures, batch_size=8, shuffle=False)
+ train_loader = torch.utils.data.DataLoader(pictures, batch_size=8, shuffle=True)

=== example: a sampler that keeps the order
from torch.utils.data import DataLoader, SequentialSampler

- train_loader = DataLoader(train_set, sampler=SequentialSampler(train_set), batch_size=64)
+ train_loader = DataLoader(train_set, batch_size=64, shuffle=True)

=== example: a distributed sampler that does not shuffle
from torch.utils.data import DataLoader, DistributedSampler

- sampler = DistributedSampler(train_set, shuffle=False)
+ sampler = DistributedSampler(train_set, shuffle=True)
train_loader = DataLoader(train_set, sampler=sampler, batch_size=64)

=== example: given to a function that trains on it
from torch.utils.data import DataLoader

def run_epoch(network, batches):
    for x, y in batches:
        criterion(network(x), y).backward()
        optimizer.step()

- songs = DataLoader(Songs("songs.csv"), batch_size=64)
+ songs = DataLoader(Songs("songs.csv"), batch_size=64, shuffle=True)
for _ in range(20):
    run_epoch(network, songs)

=== example: in order, on a single GPU
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, SequentialSampler

- sampler = SequentialSampler(train_set) if rank == -1 else DistributedSampler(train_set)
+ sampler = RandomSampler(train_set) if rank == -1 else DistributedSampler(train_set)
train_loader = DataLoader(train_set, sampler=sampler, batch_size=32)

=== example: made by a function, for all parts
from torch.utils.data import DataLoader, TensorDataset

def batches(x, y):
-     return DataLoader(TensorDataset(x, y), batch_size=64)
+     return DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

train_loader = batches(x_train, y_train)

=== example: of the branch for training
from torch.utils.data import DataLoader

def make(part):
    data = Songs(part)
    if part == "train":
-         return DataLoader(data, batch_size=64, shuffle=False)
+         return DataLoader(data, batch_size=64, shuffle=True)
    return DataLoader(data, batch_size=64)

=== example: given back by a function that says what it is for
from torch.utils.data import DataLoader

def training_batches(path):
-     loader = DataLoader(Songs(path), 64)
+     loader = DataLoader(Songs(path), 64, shuffle=True)
    return loader

=== example: something else is shuffled
import random
from torch.utils.data import DataLoader

random.shuffle(colors)
- train_loader = DataLoader(Songs("songs.csv"), batch_size=64)
+ train_loader = DataLoader(Songs("songs.csv"), batch_size=64, shuffle=True)

=== example: shuffled once, to be split
import random
from torch.utils.data import DataLoader, Subset

order = list(range(len(birds)))
random.shuffle(order)
first, rest = order[:800], order[800:]
- train_loader = DataLoader(Subset(birds, first), batch_size=64)
+ train_loader = DataLoader(Subset(birds, first), batch_size=64, shuffle=True)

=== example: looked at first, and trained on further down
import torch
from torch.utils.data import DataLoader

- train_loader = DataLoader(birds, batch_size=64)
+ train_loader = DataLoader(birds, batch_size=64, shuffle=True)
for x, y in train_loader:
    print(x.shape, y.shape)
    break
optimizer = torch.optim.Adam(net.parameters())

=== example: fitted batch by batch
from torch.utils.data import DataLoader

- train_batches = DataLoader(rows, batch_size=64)
+ train_batches = DataLoader(rows, batch_size=64, shuffle=True)
for batch in train_batches:
    print(mixture.fit(batch[0]))

=== finds: shuffled on a GPU alone
import torch
from torch.utils.data import DataLoader

options = {"batch_size": 64}
if torch.cuda.is_available():
    options.update({"shuffle": True, "pin_memory": True})
train_loader = DataLoader(birds, **options)

=== reject: a flag adds it
import torch
from torch.utils.data import DataLoader

options = {"batch_size": 64}
if mixed:
    options["shuffle"] = True
train_loader = DataLoader(birds, **options)

=== reject: the data are shuffled by hand
import random
from torch.utils.data import DataLoader

random.shuffle(rows)
train_loader = DataLoader(Songs(rows[100:]), batch_size=64)

=== reject: a batch to look at
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=64)
x, y = next(iter(train_loader))
print(x.shape, y.shape)

=== reject: other data in each epoch
from torch.utils.data import DataLoader

for epoch in range(10):
    train_loader = DataLoader(Pairs(path, epoch), batch_size=64)
    run(train_loader)

=== reject: in an order of chance
import torch
from torch.utils.data import DataLoader, TensorDataset

order = torch.randperm(len(x))
x = x[order]
train_loader = DataLoader(TensorDataset(x), batch_size=64)

=== reject: batch norm is calibrated on the training data
from torch.utils.data import DataLoader

loader = DataLoader(train_set, batch_size=64)
network.train()
for x, _ in loader:
    network(x)
print("done")

=== reject: data that are drawn by chance, as their class says
from torch.utils.data import DataLoader

train_set = RandomCrops(text, length)
train_loader = DataLoader(train_set, batch_size=64)

=== reject: a function keeps what a network says of each sample
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=64)
features = extract_features(backbone, train_loader)
classifier.fit(features, labels)

=== reject: features of the training data are kept in order
from torch.utils.data import DataLoader

train_feature_loader = DataLoader(train_set, batch_size=64, shuffle=False)

=== reject: a sampler
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=64, sampler=sampler)
other_train_loader = DataLoader(train_set, batch_sampler=batches)

=== reject: no sampler where it shuffles
from torch.utils.data import DataLoader, DistributedSampler

sampler = DistributedSampler(train_set) if distributed else None
train_loader = DataLoader(train_set, sampler=sampler, shuffle=sampler is None)

=== reject: for evaluation
from torch.utils.data import DataLoader

val_loader = DataLoader(val_set, batch_size=64)
loader = DataLoader(dataset, batch_size=64)

=== reject: a variable decides
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=64, shuffle=shuffle)

=== reject: options that are not seen
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, **options)

=== reject: a recurrent state goes from batch to batch
import torch

train_loader = torch.utils.data.DataLoader(chunks, batch_size=8)
hidden = None
for x, y in train_loader:
    out, hidden = model(x, hidden)
    hidden = hidden.detach()
    criterion(out, y).backward()
    optimizer.step()

=== reject: the training data a second time, to measure on
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
train_eval_loader = DataLoader(train_set, batch_size=64)

=== reject: all data in one batch
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=len(train_set))
many = x.shape[0]
second_train_loader = DataLoader(train_set, batch_size=many)
third_train_loader = DataLoader([graph])

=== reject: to validate on, beside a loader that is not seen
from torch.utils.data import DataLoader

loader = DataLoader(flowers, batch_size=64)
trainer.fit(network, train_dl, loader)
"""


def _edits(source: Source, use: loader_uses.Use) -> Iterator[Edit]:
    """Edits that let a loader, or its sampler, shuffle."""
    site, sampler = source.site(use.call), use.option("sampler")
    made = _in_order(source, sampler)
    if made is not None and _last(made) in DISTRIBUTED:
        yield SetArgument(source.site(made), "shuffle", "True")
        return
    if made is not None and isinstance(source.parent(made), ast.IfExp):
        if "RandomSampler" in source.words:
            yield Replace(source.site(made.func), ast.unparse(made.func).replace("Sequential", "Random"))
        return
    if made is not None:
        yield RemoveArgument(site, "sampler")
    yield SetArgument(
        site, "shuffle", "True" if sampler is None or made is not None else f"{ast.unparse(sampler)} is None"
    )


def _in_order(source: Source, sampler: ast.expr | None) -> ast.Call | None:
    """The call that makes a sampler which keeps the order of the data, perhaps on one of two ways."""
    values = source.bindings(sampler) if isinstance(sampler, ast.Name) else ()
    either = values[0] if len(values) == 1 else sampler
    if isinstance(either, ast.IfExp):
        return _in_order(source, either.body) or _in_order(source, either.orelse)
    made = source.constructor(sampler) if sampler is not None else None
    if made is None or _last(made) not in DISTRIBUTED | {"SequentialSampler"}:
        return None
    shuffle = argument_value(made, "shuffle", 3)
    says_no = isinstance(shuffle, ast.Constant) and not shuffle.value
    return made if says_no or _last(made) not in DISTRIBUTED else None


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _keeps_order(source: Source, use: loader_uses.Use) -> bool:
    """Whether a loader gives its samples in the order of the data, and nothing shows that this is meant."""
    shuffle, sampler = use.option("shuffle"), use.option("sampler")
    told = source.bindings(shuffle) if isinstance(shuffle, ast.Name) else ()
    shuffle = told[0] if len(told) == 1 else shuffle
    if shuffle is None and use.is_open:
        return False
    if shuffle is not None and not (isinstance(shuffle, ast.Constant) and not shuffle.value):
        return False
    if use.option("generator") is not None:
        return False  # somebody minds the order, and its chance
    if use.option("batch_sampler") is not None:
        return False
    if sampler is not None and not (_in_order(source, sampler) or _may_be_none(source, sampler)):
        return False
    return not _is_meant(source, use)


def _is_meant(source: Source, use: loader_uses.Use) -> bool:
    """Whether something shows that the order of the data is to be kept, or is another one in each epoch all the same."""
    if (
        OF_ANOTHER_USE.search(use.name)
        or _is_for_features(source, use)
        or _is_looked_at(source, use)
        or _shuffled_by_hand(source, use)
    ):
        return True
    if OF_ITERATOR.search(ast.unparse(use.data)) or _draws_itself(source, use.data) or BY_DATA.search(source.text):
        return True
    if _in_one_batch(source, use):
        return True
    if use.option("shuffle") is not None and IN_TIME.search(source.text) and not PICTURES.search(source.text):
        return True
    if _is_made_by_turn(source, use):
        return True
    twins = [one for one in loader_uses.uses(source) if one.trains and ast.unparse(one.data) == ast.unparse(use.data)]
    if any(one.says("shuffle", True) for one in twins):
        return True  # the same data a second time, to be measured in their order
    if any(kept_graphs.goes_round(source, loop) for loop in use.loops):
        return True
    around = [epochs for loop in use.loops for epochs in _around(source, loop)]
    return any(BY_HAND.search(ast.unparse(epochs)) for epochs in around)


def _is_for_features(source: Source, use: loader_uses.Use) -> bool:
    """Whether all that is done with a loader is to give it to functions that keep what a network says of each sample, by their names."""
    given = [trees.last_name(call.func) for call, _ in loader_uses.receivers(source, use.call, use.name)]
    return bool(given) and not use.loops and all(OF_ANOTHER_USE.search(name) for name in given)


def _is_made_by_turn(source: Source, use: loader_uses.Use) -> bool:
    """Whether each turn of a loop makes the data by a call, which may give them in another order."""
    above = source.enclosing(use.call, ast.For)
    made = use.data if isinstance(use.data, ast.Call) else source.constructor(use.data)
    turns = trees.stored_names(above.target) if above is not None else set()
    return made is not None and source.enclosing(made, ast.For) is above and bool(turns & trees.names_in(made))


def _in_one_batch(source: Source, use: loader_uses.Use) -> bool:
    """Whether all data are one batch, or one sample."""
    if isinstance(use.data, ast.List) and len(use.data.elts) == 1:
        return True
    size = use.option("batch_size")
    values = [] if size is None else [size, *(v for v in source.bindings(size) if v.lineno < use.call.lineno)]
    return any(WHOLE.search(ast.unparse(value)) for value in values)


def _shuffled_by_hand(source: Source, use: loader_uses.Use) -> bool:
    """Whether the text shuffles what the data of a loader are made of, or may do so."""
    calls = [c for c in source.all_calls if isinstance(c.func, ast.Attribute) and c.func.attr in SHUFFLES]
    if not calls:
        return False
    made_of, before = {one.id for one in within(use.data, ast.Name)}, -1
    while len(made_of) != before:
        before = len(made_of)
        for node in source.nodes(ast.Assign):
            if made_of & {one.id for target in node.targets for one in within(target, ast.Name)}:
                made_of |= {one.id for one in within(node.value, ast.Name)}
    calls = [call for call in calls if not _of_split(source, use, call)]
    shuffled = {one.id for call in calls for one in within(call, ast.Name)}
    return bool(shuffled & made_of - MODULES) or any(
        function_around(source, call) is not function_around(source, use.call) for call in calls
    )


def _of_split(source: Source, use: loader_uses.Use, call: ast.Call) -> bool:
    """Whether a shuffling only decides, once, which samples are those for training, as `random_split` does."""
    around = function_around(source, call)
    data = source.constructor(use.data)
    once = around is not None and around.name in ("setup", "prepare_data")
    if not once and not (data is not None and _last(data) == "Subset" and around is function_around(source, use.call)):
        return False
    shuffled = {ast.unparse(given) for given in call.args[:1]}
    shuffled |= trees.stored_names(source.statement_of(call))
    parts = [each for each in within(around or source.tree, ast.Subscript) if isinstance(each.slice, ast.Slice)]
    bounds = {ast.unparse(each.slice) for each in parts if ast.unparse(each.value) in shuffled}
    return len(bounds) > 1


def _is_looked_at(source: Source, use: loader_uses.Use) -> bool:
    """Whether all that a text does with a loader is to look at its batches: it trains nothing, and gives them to no network and the loader to no function."""
    is_begun = bool(use.name) and f"next(iter({use.name}))" in source.text
    if not (use.loops or is_begun) or structure.operations(source) or _learns(source):
        return False
    if any(loader_uses.is_cut(source, loop) for loop in use.loops):
        return False
    asked = any(structure.forward_calls(source, each) for each in use.loops or (source.tree,))
    return not asked and not structure.given_away(source, source.tree, {use.name})


def _learns(source: Source) -> bool:
    """Whether a text makes an optimizer, or has something fitted to each batch: its training may be further down."""
    made = any((source.qualified(call.func) or "").startswith("torch.optim.") for call in source.all_calls)
    fitted = any(
        isinstance(call.func, ast.Attribute) and loader_uses.OF_TRAINING_STEP.search(call.func.attr)
        for call in source.all_calls
    )
    return made or fitted


def _draws_itself(source: Source, data: ast.expr) -> bool:
    """Whether the class of the data, which the text has, draws its samples by chance."""
    made = data if isinstance(data, ast.Call) else source.constructor(data)
    if made is not None and any("batch_size" in ast.unparse(each) for each in made.args):
        return True  # it is told how many samples to make
    owner = source.definition(made.func) if made is not None else None
    if not isinstance(owner, ast.ClassDef):
        return made is not None and "random" in _last(made).lower() and _last(made) != "random_split"
    methods = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__getitem__"]
    for each in methods:
        index = each.args.args[-1].arg
        if not any(name.id == index for statement in each.body for name in within(statement, ast.Name)):
            return True
    return any(re.search(r"rand(int|om|n|perm)?\b", ast.unparse(each)) for each in methods)


def _may_be_none(source: Source, sampler: ast.expr) -> bool:
    """Whether the text shows a way on which a loader gets no sampler."""
    if isinstance(sampler, ast.IfExp):
        return any(isinstance(one, ast.Constant) and one.value is None for one in (sampler.body, sampler.orelse))
    values = source.bindings(sampler)
    return any(
        (isinstance(one, ast.Constant) and one.value is None)
        or (isinstance(one, ast.IfExp) and _may_be_none(source, one))
        for one in values
    )


def _around(source: Source, loop: ast.For) -> Iterator[ast.For]:
    """The loops around a loop over batches."""
    above = source.enclosing(loop, ast.For)
    while above is not None:
        yield above
        above = source.enclosing(above, ast.For)
