"""Pictures to train and to test go through transforms that differ in more than chance, or the test ones through chance."""

from __future__ import annotations

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
    Source,
    Subject,
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


def _normalized(source: Source, each: pictures.Composed, first: object) -> Iterator[Repair]:
    """Normalize the pictures to test in the same way, behind all other steps."""
    call = next((step for step in source.all_calls if step is first), None)
    if call is not None and each.call.args:
        edit = InsertElement(source.site(each.call.args[0]), len(each.steps), source.segment(source.site(call)))
        yield "Normalize them too", (edit,), 0.8
