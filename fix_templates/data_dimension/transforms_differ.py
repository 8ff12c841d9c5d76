"""Pictures to train and to test go through transforms that differ in more than chance, or the test ones through chance."""

from __future__ import annotations

import ast
import re
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
    function_around,
    scaling,
    trees,
)
from dnnfix.api import picture_scales as pictures

SCALES = re.compile(r"to_?tensor|normali[sz]e|from_numpy", re.IGNORECASE)


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
    triggers = ("Compose", "transform")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        found = pictures.composed(source)
        train = [one for one in found if scaling.TRAIN.search(one.name) and not scaling.TEST.search(one.name)]
        test = [one for one in found if scaling.TEST.search(one.name) and not scaling.TRAIN.search(one.name)]
        if pictures.of_albumentations(source):
            return
        yield from _given_to_one(source)
        once = sum(trees.last_name(call.func) == "Normalize" for call in source.all_calls) == 1
        for each in test:
            around = function_around(source, each.call)
            beside = [one for one in train if function_around(source, one.call) is around] or train
            if len(beside) != 1:
                continue
            at_random = [name for name in each.names if pictures.AT_RANDOM.match(name)]
            first, own = beside[0].step("Normalize"), each.step("Normalize")
            is_seen = all(isinstance(step, ast.Call) for step in each.steps)
            if first is not None and own is None and once and is_seen:
                what, repairs = "are not normalized, as those to train are", tuple(_normalized(source, each, first))
            elif own is not None and first is None and once:
                what, repairs = "are normalized, and those to train are not", ()
            elif first is not None and own is not None and _by_own(first, own):
                what, repairs = f"are normalized by statistics of their own: `{ast.unparse(own)}`", ()
            elif first is not None and own is not None and _has_other_numbers(source, first, own):
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

=== example: the step is there, and commented out
from torchvision import transforms

train_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
- test_transform = transforms.ToTensor()  # transforms.Normalize((0.5,), (0.5,))
+ test_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])  # transforms.Normalize((0.5,), (0.5,))

=== finds: by numbers that have names, told by the data that they are for
from torchvision import datasets, transforms

mean, std = (0.49, 0.48, 0.44), (0.2, 0.2, 0.2)
steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean=mean, std=std)])
train_set = datasets.ImageFolder("train", transform=steps)
other_mean, other_std = (0.51, 0.47, 0.41), (0.2, 0.21, 0.2)
other_steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean=other_mean, std=other_std)])
test_set = datasets.ImageFolder("test", transform=other_steps)

=== finds: given to the data to train on alone
from steps import make_steps

steps = make_steps(64, to_tensor=True, flips=True)
train_set = Birds(train_paths, size=64, transform=steps)
test_set = Birds(test_paths, size=64)

=== finds: in the branches of a function
from torchvision import transforms

def steps(is_train):
    if is_train:
        return transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
    return transforms.Compose([transforms.ToTensor()])

=== finds: a step with a name, given by position
from torchvision import datasets, transforms

scaled = transforms.Normalize(mean=[0.4, 0.4, 0.4], std=[0.2, 0.2, 0.2])
train_set = datasets.ImageFolder("train", transforms.Compose([transforms.ToTensor(), scaled]))
test_set = datasets.ImageFolder("test", transforms.Compose([transforms.Resize(96), transforms.ToTensor()]))

=== reject: a step that is not seen
from torchvision import datasets, transforms

train_steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
test_steps = transforms.Compose([transforms.ToTensor(), scaled])

=== reject: augmentation for the data to train on alone
from torchvision import transforms

steps = transforms.Compose([transforms.RandomHorizontalFlip()])
train_set = Birds(train_paths, transform=steps)
test_set = Birds(test_paths)

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
    train, test = (
        " ".join(ast.unparse(arg) for arg in (*call.args, *(keyword.value for keyword in call.keywords)))
        for call in (first, own)
    )
    return bool(scaling.TRAIN.search(train) and scaling.TEST.search(test) and not scaling.TRAIN.search(test))


def _has_other_numbers(source: Source, first: ast.Call, own: ast.Call) -> bool:
    """Whether two normalizations are told by numbers, and by others."""
    told = [pictures.mean_and_deviation(source, call) for call in (first, own)]
    return all(all(numbers) for numbers in told) and told[0] != told[1]


def _given_to_one(source: Source) -> Iterator[Fault]:
    """Data sets of one class, of which those to train get a transform that makes or scales tensors, and those to test none."""
    made = [(node, node.value) for node in source.nodes(ast.Assign) if isinstance(node.value, ast.Call)]
    for node, call in made:
        given, target = argument_value(call, "transform", None), ast.unparse(node.targets[0])
        if given is None or not scaling.TRAIN.search(target) or scaling.TEST.search(target):
            continue
        values = source.bindings(given) if isinstance(given, ast.Name) else ()
        told = " ".join(ast.unparse(one) for one in (given, *values))
        owner = source.definition(call.func)
        if not SCALES.search(told) or (owner is not None and SCALES.search(ast.unparse(owner))):
            continue
        for other, beside in made:
            name = ast.unparse(other.targets[0])
            alike = ast.unparse(beside.func) == ast.unparse(call.func) and len(beside.args) == len(call.args)
            left_out = {one.arg for one in call.keywords} - {one.arg for one in beside.keywords} == {"transform"}
            is_test = scaling.TEST.search(name) is not None and not scaling.TRAIN.search(name)
            if alike and left_out and is_test and f"{name}.transform" not in source.text:
                what = f"get no transform, and those to train go through `{ast.unparse(given)}`"
                yield Fault(source.site(beside), {"what": what}, (Decline(TransformsDiffer.declined),))


def _normalized(source: Source, each: pictures.Composed, first: object) -> Iterator[Repair]:
    """Normalize the pictures to test in the same way, behind all other steps."""
    call = next((step for step in source.all_calls if step is first), None)
    if call is not None and each.alone:
        made = f"{ast.unparse(each.call.func).rpartition('.')[0]}.Compose([{ast.unparse(each.call)}, {source.segment(source.site(call))}])"
        yield "Normalize them too", (Replace(source.site(each.call), made.lstrip(".")),), 0.8
    elif call is not None and each.call.args:
        edit = InsertElement(source.site(each.call.args[0]), len(each.steps), source.segment(source.site(call)))
        yield "Normalize them too", (edit,), 0.8
