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
    function_around,
    loader_uses,
    trees,
    within,
    words,
    written_above,
)

SAMPLERS = words(
    "WeightedRandomSampler SubsetRandomSampler RandomSampler DistributedSampler BatchSampler ImbalancedDatasetSampler"
)
HELD_OUT = re.compile(r"test|(?<!e)val(?!ue)|dev(?!ice)|hold_?out", re.IGNORECASE)
"""Names of loaders whose data are not those for training: predictions are made for these, too."""
DISTINCT = words("unique set Counter value_counts")
COUNTS = words("bincount compute_class_weight")
CONVERTS = words("tensor Tensor FloatTensor DoubleTensor as_tensor from_numpy array asarray list sqrt")
ONE_BY_ONE = words("float double to cpu cuda numpy tolist astype sqrt pow reciprocal clamp type")
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
        misplaced = (*_of_training(source, uses), *_of_same_indices(source), *_of_same_data(source, uses))
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

=== finds: the indices of the training data for both
from torch.utils.data import DataLoader, SubsetRandomSampler

train_sampler = SubsetRandomSampler(train_indices)
valid_sampler = SubsetRandomSampler(train_indices)

=== finds: a test set that is the training set, by its argument
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST

train_loader = DataLoader(MNIST(".", train=True), batch_size=32, shuffle=True)
test_loader = DataLoader(MNIST(".", train=True), batch_size=32)

=== finds: the same data to train on and to validate with
from torch.utils.data import DataLoader

train_loader = DataLoader(birds, batch_size=32, shuffle=True)
valid_loader = DataLoader(birds, batch_size=32)

=== finds: a weight for each class, by how they are counted
import numpy as np
import torch
from torch.utils.data import WeightedRandomSampler

counts = np.bincount(kinds)
inverse = 1.0 / torch.tensor(counts, dtype=torch.float)
sampler = WeightedRandomSampler(inverse, len(kinds))

=== finds: a weight for each class, counted with its label
import numpy as np
from torch.utils.data import WeightedRandomSampler

names, often = np.unique(kinds, return_counts=True)
sampler = WeightedRandomSampler(1.0 / often, len(kinds))

=== finds: a weight for each of the labels that there are
from collections import Counter
from torch.utils.data import WeightedRandomSampler

often = Counter(kinds)
rarity = [1.0 / often[kind] for kind in sorted(often)]
sampler = WeightedRandomSampler(rarity, len(kinds))

=== finds: weights that only order the samples
from torch.utils.data import WeightedRandomSampler

sampler = WeightedRandomSampler(sample_weights, num_samples=len(sample_weights), replacement=False)

=== finds: weights by labels in another order
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler

kinds = torch.tensor([kind for _, kind in birds])
kinds = kinds[torch.randperm(len(kinds))]
each = rarity[kinds]
train_loader = DataLoader(birds, batch_size=32, sampler=WeightedRandomSampler(each, len(each)))

=== reject: data and labels in the same order of chance
import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

order = torch.randperm(len(kinds))
songs, kinds = songs[order], kinds[order]
each = rarity[kinds]
train_loader = DataLoader(TensorDataset(songs, kinds), batch_size=32, sampler=WeightedRandomSampler(each, len(each)))

=== reject: the training data again, to measure on them
from torch.utils.data import DataLoader

train_loader = DataLoader(birds, batch_size=32, shuffle=True)
train_eval_loader = DataLoader(birds, batch_size=32)

=== reject: predictions for the training data
from torch.utils.data import DataLoader

prediction_loader = DataLoader(train_set, batch_size=32)

=== reject: the data are others by then
from torch.utils.data import DataLoader

birds = Birds("train")
train_loader = DataLoader(birds, batch_size=32, shuffle=True)
birds = Birds("test")
test_loader = DataLoader(birds, batch_size=32)

=== reject: loaders of two functions
from torch.utils.data import DataLoader

def training(birds):
    train_loader = DataLoader(birds, batch_size=32, shuffle=True)
    return train_loader

def testing(birds):
    test_loader = DataLoader(birds, batch_size=32)
    return test_loader

=== reject: counts of classes, taken by the label of each sample
import numpy as np
from torch.utils.data import WeightedRandomSampler

counts = np.bincount(kinds)
inverse = [1.0 / counts[kind] for kind in kinds]
sampler = WeightedRandomSampler(inverse, len(kinds))

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
        if (
            not isinstance(call, ast.Call)
            or not isinstance(target, ast.Name)
            or trees.last_name(call.func) not in SAMPLERS
        ):
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
        if not use.evaluates or use.trains or not HELD_OUT.search(use.name):
            continue
        sampler, data = use.option("sampler"), argument_value(use.call, "dataset", 0)
        other = use.name
        if isinstance(sampler, ast.Name) and loader_uses.role(sampler.id) == (True, False):
            what = f"`{other}` is there to evaluate, and draws its samples by `{sampler.id}`"
            meant = _meant(source, sampler.id)
            edits: tuple[Edit, ...] | None = (Replace(source.site(sampler), meant),) if meant else None
            yield Fault(source.site(use.call), what, (("Give it its own sampler", edits, 0.8),))
            continue
        is_whole = sampler is None and use.option("batch_sampler") is None
        if is_whole and isinstance(data, ast.Name) and loader_uses.role(data.id) == (True, False):
            what = f"`{other}` is there to evaluate, and is given the training data `{data.id}`"
            meant = _meant(source, data.id)
            edits = (Replace(source.site(data), meant),) if meant else None
            yield Fault(source.site(use.call), what, (("Give it its own data", edits, 0.8),))

        elif is_whole and isinstance(data, (ast.Name, ast.Call)) and _says_train(source, data):
            yield Fault(
                source.site(use.call), f"`{other}` is there to evaluate, and its data are made with `train=True`", ()
            )


def _says_train(source: Source, data: ast.expr) -> bool:
    """Whether data are made as those for training are: `MNIST(root, train=True)`."""
    made = source.constructor(data)
    given = argument_value(made, "train", None) if made is not None else None
    return isinstance(given, ast.Constant) and given.value is True


def _of_same_indices(source: Source) -> Iterator[Fault]:
    """A sampler for evaluation that draws from the indices of the training data."""
    for node in source.nodes(ast.Assign):
        call, target = node.value, ast.unparse(node.targets[0])
        if not isinstance(call, ast.Call) or trees.last_name(call.func) != "SubsetRandomSampler" or len(call.args) != 1:
            continue
        if loader_uses.role(target) == (False, True) and loader_uses.role(ast.unparse(call.args[0])) == (True, False):
            what = f"`{target}` is there to evaluate, and draws from `{ast.unparse(call.args[0])}`"
            yield Fault(source.site(node), what, ())


def _of_same_data(source: Source, uses: tuple[loader_uses.Use, ...]) -> Iterator[Fault]:
    """Loaders that are there to evaluate and get all of the very data that another one trains on."""
    for use in uses:
        is_held_out = loader_uses.role(use.name) == (False, True) and HELD_OUT.search(use.name)
        if not is_held_out or not isinstance(use.data, (ast.Name, ast.Attribute)):
            continue
        if use.is_open or use.option("sampler") is not None or use.option("batch_sampler") is not None:
            continue
        data = ast.unparse(use.data)
        if loader_uses.role(data) != (None, None):
            continue
        for other in uses:
            alike = ast.unparse(other.data) == data and function_around(source, other.call) is function_around(
                source, use.call
            )
            sampler = other.option("sampler")
            if (
                alike
                and loader_uses.role(other.name) == (True, False)
                and not _is_bound_between(source, data, other.call, use.call)
            ):
                if sampler is not None and _drawn_from(source, sampler) != "WeightedRandomSampler":
                    continue
                yield Fault(
                    source.site(use.call),
                    f"`{use.name}` is there to evaluate, and gets all of `{data}`, as `{other.name}` does",
                    (),
                )
                break


def _drawn_from(source: Source, sampler: ast.expr) -> str:
    """The class of a sampler, as far as is seen."""
    made = source.constructor(sampler)
    return trees.last_name(made.func) if made is not None else ""


def _is_bound_between(source: Source, name: str, one: ast.Call, other: ast.Call) -> bool:
    """Whether something is bound or changed between two calls, or they stand in branches of their own."""
    first, last = sorted((one.lineno, other.lineno))
    named: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    stored = (n for n in named if isinstance(n.ctx, ast.Store))
    if any(first <= n.lineno <= last and re.match(rf"{re.escape(name)}(\.|$)", ast.unparse(n)) for n in stored):
        return True
    called = (c for c in source.all_calls if first <= c.lineno <= last and isinstance(c.func, ast.Attribute))
    return source.enclosing(one, ast.If) is not source.enclosing(other, ast.If) or any(
        ast.unparse(c.func.value) == name for c in called if isinstance(c.func, ast.Attribute)
    )


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
        if trees.last_name(call.func) != "WeightedRandomSampler":
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
        order = _permuted(source, weights)
        if order is not None:
            what = f"the weights are put in another order by `{ast.unparse(order)}`, and belong to other samples"
            yield Fault(source.site(call), what, ())
            continue
        if few or of_classes or _counted_by_class(source, weights):
            what = f"`{ast.unparse(weights)}` has a weight for each class, and WeightedRandomSampler takes one for each sample"
            yield Fault(source.site(call), what, ())
            continue
        many, again = argument_value(call, "num_samples", 1), argument_value(call, "replacement", 2)
        if many is None or not (isinstance(again, ast.Constant) and again.value is False):
            continue
        if ast.unparse(many) == f"len({ast.unparse(weights)})":
            what = "as many samples are drawn as there are, without replacement: each comes once, whatever its weight"
            yield Fault(source.site(call), what, ())


def _permuted(source: Source, expr: ast.expr, depth: int = 6) -> ast.Subscript | None:
    """Where weights, or the labels by which they are taken, come into an order of chance that nothing else has."""
    if {"randperm", "permutation"}.isdisjoint(source.words) or depth == 0:
        return None
    for part in within(expr, ast.Subscript):
        drawn: ast.expr | None = part.slice
        if isinstance(drawn, ast.Name):
            order = drawn.id
            reads = [n for n in source.nodes(ast.Name) if n.id == order and isinstance(n.ctx, ast.Load)]
            drawn = source.constructor(drawn) if len(reads) == 1 else drawn
        if isinstance(drawn, ast.Call) and trees.last_name(drawn.func) in ("randperm", "permutation"):
            return part
    for name in within(expr, ast.Name):
        written = written_above(source, name, expr)
        found = _permuted(source, written.value, depth - 1) if written is not None else None
        if found is not None:
            return found
    return None


def _counted_by_class(source: Source, expr: ast.expr, depth: int = 6) -> bool:
    """Whether numbers are counts of classes, or made of such one by one: nothing takes them by the labels of samples."""
    if depth == 0:
        return False
    if isinstance(expr, ast.Subscript):
        return _is_unique(expr.value) and ast.unparse(expr.slice) in ("1", "-1")
    if isinstance(expr, (ast.Name, ast.Attribute)):
        written = written_above(source, expr, expr)
        if written is not None and written.place is not None:
            return written.place == 1 and not written.nested and _is_unique(written.value)
        values = source.bindings(expr)
        if not values or all(isinstance(value, (ast.List, ast.Tuple)) for value in values):
            return bool(OF_CLASSES.search(ast.unparse(expr))) and not OF_SAMPLES.search(ast.unparse(expr))
        return len(values) == 1 and _counted_by_class(source, values[0], depth - 1)
    if isinstance(expr, ast.BinOp):
        return any(_counted_by_class(source, one, depth - 1) for one in (expr.left, expr.right))
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
        over, target = expr.generators[0].iter, ast.unparse(expr.generators[0].target)
        if len(expr.generators) == 1 and _is_distinct(source, over):
            return True
        one_by_one = not any(target in ast.unparse(each.slice) for each in within(expr.elt, ast.Subscript))
        return len(expr.generators) == 1 and one_by_one and _counted_by_class(source, over, depth - 1)
    if not isinstance(expr, ast.Call):
        return False
    if trees.last_name(expr.func) in COUNTS:
        return True
    own = expr.func.value if isinstance(expr.func, ast.Attribute) and trees.last_name(expr.func) in ONE_BY_ONE else None
    given = expr.args[0] if expr.args and trees.last_name(expr.func) in CONVERTS else None
    return any(one is not None and _counted_by_class(source, one, depth - 1) for one in (own, given))


def _is_distinct(source: Source, expr: ast.expr, depth: int = 5) -> bool:
    """Whether an expression goes over labels once each: a set of them, or how often each was counted."""
    if isinstance(expr, ast.Name):
        values = source.bindings(expr)
        return depth > 0 and len(values) == 1 and _is_distinct(source, values[0], depth - 1)
    if not isinstance(expr, ast.Call):
        return isinstance(expr, (ast.Set, ast.SetComp))
    name, given = trees.last_name(expr.func), expr.args[0] if expr.args else None
    if name in DISTINCT:
        return "return_inverse" not in ast.unparse(expr)
    if name == "range":
        return given is not None and bool(OF_CLASSES.search(ast.unparse(expr))) and "len(" not in ast.unparse(expr)
    if name in ("sorted", "list", "enumerate", "tuple") and given is not None:
        return _is_distinct(source, given, depth)
    of = expr.func.value if isinstance(expr.func, ast.Attribute) and name in ("keys", "values", "items") else None
    return of is not None and _is_distinct(source, of, depth)


def _is_unique(expr: ast.expr) -> bool:
    """Whether an expression gives distinct labels and how often each occurs: `numpy.unique(labels, return_counts=True)`."""
    is_call = isinstance(expr, ast.Call) and trees.last_name(expr.func) == "unique"
    return is_call and "return_counts=True" in ast.unparse(expr) and "return_inverse" not in ast.unparse(expr)


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
