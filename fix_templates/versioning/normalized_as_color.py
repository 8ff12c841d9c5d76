"""`Normalize((0.5, 0.5, 0.5), …)` on MNIST: means for three channels, and images with one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, Replace, Source, Subject, uses_of, words

NORMALIZE = "torchvision.transforms.Normalize"
COMPOSE = "torchvision.transforms.Compose"
GRAY = "torchvision.transforms.Grayscale"
SETS = "torchvision.datasets."

OF_ONE_CHANNEL = {
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST", "QMNIST", "USPS", "Omniglot", "FER2013"), 2),
    "EMNIST": None,
    "SEMEION": 1,
}
"""The data sets of gray images, and the index of their parameter `transform`."""

KEEPING = words(
    """Resize Scale CenterCrop RandomCrop RandomSizedCrop RandomResizedCrop Pad ToTensor PILToTensor ConvertImageDtype
    ToPILImage RandomHorizontalFlip RandomVerticalFlip RandomRotation RandomAffine RandomPerspective ColorJitter
    RandomErasing RandomInvert RandomAutocontrast GaussianBlur RandomEqualize RandomPosterize RandomSolarize
    RandomAdjustSharpness Normalize"""
)
"""Transforms that keep the number of channels."""

OTHER_IMAGES = frozenset({"Dataset", "DatasetFolder", "FakeData", "Image", "ImageFolder", "imread"})
"""Words of programs that may have images from elsewhere."""

REFUSED = re.compile(r"output with shape \[1, .*broadcast shape \[\d+,")


class NormalizedAsColor(ApiChange):
    """`Normalize` has means and deviations for three channels, and the images have one.

    Up to torchvision 0.2.1 channels and means were zipped, so a single channel used the first mean. Since 0.2.2 their
    numbers have to match: "output with shape [1, 28, 28] doesn't match the broadcast shape [3, 28, 28]". The first mean
    and deviation are kept. Reported for the transforms of MNIST and similar data sets, and after `Grayscale()`, where
    nothing in between may add channels.

    Fix safety: safe: the first mean and deviation are those that were used.

    References: https://github.com/pytorch/vision/releases/tag/v0.2.2, torchvision.transforms.Normalize.
    """

    code = "DNF561"
    name = "normalized-as-color"
    message = "Normalize has {count} means or standard deviations for images of 1 channel, which torchvision refuses since 0.2.2"
    triggers = ("Normalize",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "Normalize" not in source.words:
            return
        crash = subject.crash
        refused = crash is not None and REFUSED.search(crash.message) is not None
        for call in source.calls(NORMALIZE):
            given = _given(call)
            counts = [_count(source, value) for value in given]
            if len(given) != 2 or not any(count is not None and count > 1 for count in counts):
                continue
            if not _is_gray(source, call):
                continue
            edits = [_first(source, value) for value, n in zip(given, counts, strict=True) if n is None or n > 1]
            found = tuple(edit for edit in edits if edit is not None)
            yield Hit(
                source.site(call),
                self.message.format(count=max(count or 0 for count in counts)),
                title="normalize one channel",
                edits=found if len(found) == len(edits) else (),
                decline="" if len(found) == len(edits) else "the source of the numbers is not known",
                safe=True,
                removed={"torchvision": "0.2.2"},
                felt=crash.site if crash is not None and refused else None,
            )

    programs = """
=== example: digits under a name
import torch
from torchvision import datasets, transforms

transform = transforms.Compose([
    transforms.ToTensor(),
-     transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
+     transforms.Normalize((0.5,), (0.5,)),
])
train = datasets.MNIST("data", train=True, transform=transform, download=True)
test = datasets.MNIST("data", False, transform)
loader = torch.utils.data.DataLoader(train, batch_size=64)

=== example: clothes, in the call itself
import torchvision
import torchvision.transforms as T

data = torchvision.datasets.FashionMNIST(
    "data",
-     transform=T.Compose([T.Resize(32), T.ToTensor(), T.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])]),
+     transform=T.Compose([T.Resize(32), T.ToTensor(), T.Normalize(mean=[0.485], std=[0.229])]),
)

=== example: gray images of a colored data set
from torchvision.datasets import CIFAR10
from torchvision.transforms import Compose, Grayscale, Normalize, ToTensor

MEAN = (0.5, 0.5, 0.5)
- gray = Compose([Grayscale(), ToTensor(), Normalize(MEAN, [0.5] * 3)])
+ gray = Compose([Grayscale(), ToTensor(), Normalize(MEAN[:1], [0.5])])
data = CIFAR10("data", transform=gray)

=== example: transforms in a dictionary, and nothing but digits
from torchvision import datasets, transforms

prepared = {
-     "train": transforms.Compose([transforms.RandomCrop(24), transforms.ToTensor(), transforms.Normalize((0.1, 0.1, 0.1), (0.3, 0.3, 0.3))]),
+     "train": transforms.Compose([transforms.RandomCrop(24), transforms.ToTensor(), transforms.Normalize((0.1,), (0.3,))]),
}
data = datasets.MNIST("data", transform=prepared["train"])

=== reject: images that were converted to three channels
from torchvision import datasets, transforms

normalize = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
colored = transforms.Compose([transforms.Grayscale(num_output_channels=3), transforms.ToTensor(), normalize])
repeated = transforms.Compose([
    transforms.ToTensor(),
    transforms.Lambda(lambda x: x.repeat(3, 1, 1)),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
])
train = datasets.MNIST("data", transform=colored)
test = datasets.MNIST("data", train=False, transform=repeated)

=== reject: one transform for two data sets
from torchvision import datasets, transforms

transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
first = datasets.SVHN("data", transform=transform)
second = datasets.CIFAR10("data", transform=transform)
gray = datasets.MNIST("data", transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]))

=== reject: chosen by a name, for both
from torchvision import datasets, transforms


def load(name):
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
    if name == "mnist":
        return datasets.MNIST("data", transform=transform)
    return datasets.CIFAR10("data", transform=transform)
"""


def _given(call: ast.Call) -> list[ast.expr]:
    """The means and deviations of a normalization."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    found = [*call.args[:2]]
    found += [named[name] for name in ("mean", "std")[len(found) :] if name in named]
    return found


def _count(source: Source, node: ast.expr) -> int | None:
    """How many numbers an expression holds; `None` where that is not known."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return None if any(isinstance(one, ast.Starred) for one in node.elts) else len(node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant):
        inner = _count(source, node.left) if isinstance(node.left, (ast.Tuple, ast.List)) else None
        return inner * node.right.value if inner and isinstance(node.right.value, int) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return 1
    if isinstance(node, ast.Name):
        counts = {
            _count(source, value) if not isinstance(value, (ast.Name, ast.Constant)) else None
            for value in source.bindings(node)
        }
        return counts.pop() if len(counts) == 1 else None
    return None


def _first(source: Source, node: ast.expr) -> Edit | None:
    """The edit that keeps the first of several numbers."""
    site = source.site(node)
    if isinstance(node, ast.BinOp):
        left = node.left
        return _first_of(source, node, left) if isinstance(left, (ast.Tuple, ast.List)) else None
    if isinstance(node, (ast.Tuple, ast.List)):
        return _first_of(source, node, node)
    if isinstance(node, ast.Name) and _count(source, node) is not None:
        return Replace(site, f"{node.id}[:1]")
    return None


def _first_of(source: Source, whole: ast.expr, listed: ast.Tuple | ast.List) -> Edit:
    one = source.segment(source.site(listed.elts[0]))
    return Replace(source.site(whole), f"({one},)" if isinstance(listed, ast.Tuple) else f"[{one}]")


def _is_gray(source: Source, step: ast.expr, depth: int = 0) -> bool:
    """Whether the input of a transform, or of the chain that holds it, has one channel."""
    parent = source.parent(step)
    if depth > 4:
        return False
    if isinstance(parent, (ast.List, ast.Tuple)):
        composed = source.parent(parent)
        if not isinstance(composed, ast.Call) or source.qualified(composed.func) != COMPOSE:
            return False
        for before in reversed(parent.elts[: parent.elts.index(step)]):
            name = (source.qualified(before.func) or "") if isinstance(before, ast.Call) else ""
            if name == GRAY and isinstance(before, ast.Call):
                return not before.args and not before.keywords or _is_one(before)
            if not name.startswith("torchvision.transforms.") or name.rpartition(".")[2] not in KEEPING:
                return False
        return _is_gray(source, composed, depth + 1)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        uses = [use for use in uses_of(source).names(name) if isinstance(use.ctx, ast.Load)]
        kept = [use for use in uses if step in source.bindings(use)]
        return bool(kept) and all(_is_gray(source, use, depth + 1) for use in kept)
    data = _data_set(source, step, parent)
    return data if data is not None else _only_gray(source)


def _data_set(source: Source, transform: ast.expr, parent: ast.AST | None) -> bool | None:
    """Whether a transform is passed to a data set of gray images; `None` where it is not passed to a data set."""
    call = source.parent(parent) if isinstance(parent, ast.keyword) else parent
    name = (source.qualified(call.func) or "") if isinstance(call, ast.Call) else ""
    if not isinstance(call, ast.Call) or not name.startswith(SETS):
        return None
    if name[len(SETS) :] not in OF_ONE_CHANNEL:
        return False
    if isinstance(parent, ast.keyword):
        return parent.arg == "transform"
    place = OF_ONE_CHANNEL[name[len(SETS) :]]
    return place is not None and transform in call.args and call.args.index(transform) == place


def _only_gray(source: Source) -> bool:
    """Whether the program only has gray images."""
    sets = [one for one in source.all_calls if (source.qualified(one.func) or "").startswith(SETS)]
    alone = bool(sets) and all((source.qualified(one.func) or "")[len(SETS) :] in OF_ONE_CHANNEL for one in sets)
    return alone and source.words.isdisjoint(OTHER_IMAGES)


def _is_one(call: ast.Call) -> bool:
    values = [*call.args, *(k.value for k in call.keywords if k.arg == "num_output_channels")]
    return bool(values) and isinstance(values[0], ast.Constant) and values[0].value == 1
