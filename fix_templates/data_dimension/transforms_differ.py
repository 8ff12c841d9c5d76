"""Pictures to train and to test go through transforms that differ in more than chance, or the test ones through chance."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    InsertElement,
    Nature,
    ReadTemplate,
    Repair,
    Replace,
    Source,
    Subject,
    argument_value,
    scaling,
)
from dnnfix.api import picture_scales as pictures


class TransformsDiffer(ReadTemplate):
    """Pictures to test are not normalized as those to train are, or are changed at random.

    The network sees other values in evaluation than in training, so that its figures are too bad; changed at random, they are others each
    time. Where both have a `Normalize` with other numbers, `DNF160` answers.

    Fix safety: unsafe. The pictures for evaluation have other values.

    References: torchvision.transforms; https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html.
    """

    code = "DNF172"
    name = "transforms-differ"
    message = "the pictures to test {what}"
    confidence = 0.8
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 8
    default = False
    declined = "the transforms that are meant are not told by the text"
    triggers = ("Compose",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        found = pictures.composed(source)
        train = [one for one in found if scaling.TRAIN.search(one.name) and not scaling.TEST.search(one.name)]
        test = [one for one in found if scaling.TEST.search(one.name) and not scaling.TRAIN.search(one.name)]
        if len(train) != 1 or pictures.of_albumentations(source):
            return
        for each in test:
            at_random = [name for name in each.names if pictures.AT_RANDOM.match(name)]
            first, own = train[0].step("Normalize"), each.step("Normalize")
            if first is not None and own is None and source.text.count("Normalize(") == 1:
                what, repairs = "are not normalized, as those to train are", tuple(_normalized(source, each, first))
            elif own is not None and first is None and source.text.count("Normalize(") == 1:
                what, repairs = "are normalized, and those to train are not", ()
            elif first is not None and own is not None and _by_own(first, own):
                what, repairs = f"are normalized by statistics of their own: `{ast.unparse(own)}`", ()
            elif first is not None and own is not None and _has_other_numbers(first, own):
                what, repairs = "are normalized by other numbers than those to train", ()
            elif at_random:
                what, repairs = f"are changed at random by {at_random[0]}", ()
            else:
                continue
            yield Fault(source.site(each.call), {"what": what}, (*repairs, Decline(self.declined)))

    programs = """
=== example: not normalized
import torch
from torchvision import transforms

train_transform = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])
- test_transform = transforms.Compose([transforms.ToTensor()])
+ test_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])

=== finds: by statistics of their own
from torchvision import transforms

train_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean_train, std_train)])
valid_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean_valid, std_valid)])

=== example: given to the data sets, one of them alone
from torchvision import datasets, transforms

train = datasets.CIFAR10("data", train=True, transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]))
- test = datasets.CIFAR10("data", train=False, transform=transforms.ToTensor())
+ test = datasets.CIFAR10("data", train=False, transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]))

=== finds: by other numbers
from torchvision import transforms

train_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.49, 0.48, 0.44), (0.2, 0.2, 0.2))])
test_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])

=== finds: where predictions are made
from torchvision import transforms

train_transform = transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor(), transforms.Normalize(mean, std)])

def predict(path):
    return net(transforms.Compose([transforms.Resize(32), transforms.ToTensor()])(Image.open(path))[None])

=== reject: chance in training alone
import torch
from torchvision import transforms

data_transforms = {
    "train": transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor(), transforms.Normalize(mean, std)]),
    "val": transforms.Compose([transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize(mean, std)]),
}

=== reject: one for both
import torch
from torchvision import transforms

transform = transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor(), transforms.Normalize(mean, std)])
"""


def _by_own(first: ast.Call, own: ast.Call) -> bool:
    """Whether pictures to test are normalized by statistics of their own, as the names say."""
    train, test = ("".join(ast.unparse(arg) for arg in call.args) for call in (first, own))
    return bool(scaling.TRAIN.search(train) and scaling.TEST.search(test) and not scaling.TRAIN.search(test))


def _has_other_numbers(first: ast.Call, own: ast.Call) -> bool:
    """Whether two normalizations are told by numbers, and by others."""
    told = [
        [pictures.numbers_of(argument_value(call, name, i)) for i, name in enumerate(("mean", "std"))]
        for call in (first, own)
    ]
    return all(all(numbers) for numbers in told) and told[0] != told[1]


def _normalized(source: Source, each: pictures.Composed, first: object) -> Iterator[Repair]:
    """Normalize the pictures to test in the same way, behind all other steps."""
    call = next((step for step in source.all_calls if step is first), None)
    if call is not None and each.alone:
        made = f"{ast.unparse(each.call.func).rpartition('.')[0]}.Compose([{ast.unparse(each.call)}, {source.segment(source.site(call))}])"
        yield "Normalize them too", (Replace(source.site(each.call), made.lstrip(".")),), 0.8
    elif call is not None and each.call.args:
        edit = InsertElement(source.site(each.call.args[0]), len(each.steps), source.segment(source.site(call)))
        yield "Normalize them too", (edit,), 0.8
