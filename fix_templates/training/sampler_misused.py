"""A sampler or a data set goes to the wrong loader or to none, or a sampler is given weights of classes for those of samples."""

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
    loader_uses,
    words,
)

SAMPLERS = words(
    "WeightedRandomSampler SubsetRandomSampler RandomSampler DistributedSampler BatchSampler ImbalancedDatasetSampler"
)
OF_CLASSES = re.compile(r"class|(^|_)(weights?_?per|cls)|per_class", re.IGNORECASE)
OF_SAMPLES = re.compile(r"sample(?!_count)|all|target|example|each|instance|data", re.IGNORECASE)


class SamplerMisused(ReadTemplate):
    """Loaders and samplers that do not belong together.

    A sampler that no loader gets changes nothing. The sampler of the training data in a loader for evaluation evaluates on training
    data, in part or more than once; so does the training set itself there. `WeightedRandomSampler` takes a weight for each *sample*: with the weights
    of the classes it draws only the first few samples, over and over.

    Fix safety: unsafe. Other samples are drawn from now on.

    References: torch.utils.data.WeightedRandomSampler; torch.utils.data.DataLoader ("sampler").
    """

    code = "DNF763"
    name = "sampler-misused"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 6
    default = False
    triggers = ("DataLoader", "WeightedRandomSampler", "SubsetRandomSampler", "RandomSampler")
    declined = "the weights have to be taken by the label of each sample"
    confidence = 0.85

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        uses = loader_uses.uses(source)
        misplaced = tuple(_of_training(source, uses))
        yield from misplaced
        if not misplaced:  # else the sampler that is left over is the one that was meant there
            yield from _unused(source, uses)
        yield from _by_class(source)

    programs = """
=== example: a sampler that no loader gets
from torch.utils.data import DataLoader, WeightedRandomSampler

sampler = WeightedRandomSampler(weights, len(weights))
- train_loader = DataLoader(train_set, batch_size=32)
+ train_loader = DataLoader(train_set, batch_size=32, sampler=sampler)

=== example: the sampler of the training data
from torch.utils.data import DataLoader
from torch.utils.data.sampler import SubsetRandomSampler

train_sampler = SubsetRandomSampler(train_idx)
valid_sampler = SubsetRandomSampler(valid_idx)
train_loader = DataLoader(data, batch_size=32, sampler=train_sampler)
- valid_loader = DataLoader(data, batch_size=32, sampler=train_sampler)
+ valid_loader = DataLoader(data, batch_size=32, sampler=valid_sampler)

=== example: the training set, to be tested on
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
- test_loader = DataLoader(train_set, batch_size=32)
+ test_loader = DataLoader(test_set, batch_size=32)
print(len(test_set))

=== reject: parts of one set
from torch.utils.data import DataLoader, SubsetRandomSampler

train_loader = DataLoader(train_set, sampler=SubsetRandomSampler(train_idx))
valid_loader = DataLoader(train_set, sampler=SubsetRandomSampler(valid_idx))

=== reject: given to a loader, by another name
from torch.utils.data import DataLoader, WeightedRandomSampler

sampler = WeightedRandomSampler(sample_weights, len(sample_weights))
options = dict(sampler=sampler)
train_loader = DataLoader(train_set, **options)

=== reject: weights by the label of each sample
from torch.utils.data import WeightedRandomSampler

class_weights = 1.0 / class_counts
sampler = WeightedRandomSampler(class_weights[labels], len(labels))
"""


def _unused(source: Source, uses: tuple[loader_uses.Use, ...]) -> Iterator[Fault]:
    """Samplers that are made and that nothing reads, where a loader stands beside them."""
    for node in source.nodes(ast.Assign):
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or _last(call.func) not in SAMPLERS:
            continue
        if any(name.id == target.id and isinstance(name.ctx, ast.Load) for name in source.nodes(ast.Name)):
            continue
        same = loader_uses.role(target.id)
        fitting = [
            use
            for use in uses
            if not use.is_open and use.option("sampler") is None and use.option("batch_sampler") is None
        ]
        fitting = [use for use in fitting if use.trains or (same[1] and use.evaluates)]
        if not uses or any(use.is_open for use in uses):
            continue
        what = f"`{target.id}` goes to no loader: it changes nothing"
        if len(fitting) != 1:
            yield Fault(source.site(node), what, ())
            continue
        use = fitting[0]
        edits: list[Edit] = [SetArgument(source.site(use.call), "sampler", target.id)]
        if any(keyword.arg == "shuffle" for keyword in use.call.keywords):
            edits.append(RemoveArgument(source.site(use.call), "shuffle"))
        yield Fault.with_repair(source.site(node), what, "Give it to the loader", *edits)


def _of_training(source: Source, uses: tuple[loader_uses.Use, ...]) -> Iterator[Fault]:
    """Loaders that are there to evaluate and get the sampler, or all, of the training data."""
    for use in uses:
        if not use.evaluates or use.trains or not loader_uses.role(use.name)[1]:
            continue
        sampler, data = use.option("sampler"), argument_value(use.call, "dataset", 0)
        other = use.name
        if isinstance(sampler, ast.Name) and loader_uses.role(sampler.id) == (True, False):
            what = f"`{other}` is there to evaluate, and draws its samples by `{sampler.id}`"
            meant = _meant(source, sampler.id)
            edits: tuple[Edit, ...] | None = (Replace(source.site(sampler), meant),) if meant else None
            yield Fault(source.site(use.call), what, (("Give it its own sampler", edits, 0.8),))
            continue
        is_whole = sampler is None and use.option("batch_sampler") is None and isinstance(data, ast.Name)
        if is_whole and isinstance(data, ast.Name) and loader_uses.role(data.id) == (True, False):
            what = f"`{other}` is there to evaluate, and is given the training data `{data.id}`"
            meant = _meant(source, data.id)
            edits = (Replace(source.site(data), meant),) if meant else None
            yield Fault(source.site(use.call), what, (("Give it its own data", edits, 0.8),))


def _meant(source: Source, name: str) -> str:
    """The name that the text has for the part of the data that is held out, if there is one."""
    found = set()
    for node in source.nodes(ast.Name):
        for part in ("valid", "val", "test", "dev", "eval"):
            if node.id == re.sub("train(ing)?", part, name):
                found.add(node.id)
    return found.pop() if len(found) == 1 else ""


def _by_class(source: Source) -> Iterator[Fault]:
    """`WeightedRandomSampler` given a weight for each class."""
    for call in source.all_calls:
        if _last(call.func) != "WeightedRandomSampler":
            continue
        weights = argument_value(call, "weights", 0)
        if weights is None:
            continue
        few = (
            isinstance(weights, (ast.List, ast.Tuple))
            and 0 < len(weights.elts) <= 20
            and not any(isinstance(e, ast.Starred) for e in weights.elts)
        )
        name = _bare(weights)
        of_classes = (
            bool(name)
            and bool(OF_CLASSES.search(name))
            and not OF_SAMPLES.search(name)
            and not _is_by_label(source, name)
        )
        if few or of_classes:
            what = f"`{ast.unparse(weights)}` has a weight for each class, and WeightedRandomSampler takes one for each sample"
            yield Fault(source.site(call), what, ())


def _bare(expr: ast.expr) -> str:
    """The name of weights, through conversions."""
    while isinstance(expr, ast.Call):
        inner = expr.args[0] if expr.args else expr.func.value if isinstance(expr.func, ast.Attribute) else None
        if inner is None:
            return ""
        expr = inner
    return ast.unparse(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else ""


def _is_by_label(source: Source, name: str) -> bool:
    """Whether weights under a name are taken by the label of each sample somewhere."""
    for value in (node.value for node in source.nodes(ast.Assign) if ast.unparse(node.targets[0]) == name):
        if any(isinstance(each, (ast.ListComp, ast.GeneratorExp, ast.Subscript)) for each in ast.walk(value)):
            return True
    return any(
        isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == name for node in source.nodes(ast.Subscript)
    )


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
