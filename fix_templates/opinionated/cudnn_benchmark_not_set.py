"""A training program on a GPU measures its time, its inputs have one size, and `cudnn.benchmark` is never set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    random_state,
    structure,
    training_loop,
)

OF_CONVOLUTIONS = re.compile(
    r"\bConv[23]d\b|\bConvTranspose2d\b|\bmodels\.\w+\(|\bresnet(18|34|50|101)\b|\bvgg16\b|\bdensenet121\b|\befficientnet|\btimm\b"
)
OF_WORK = re.compile(r"main|run|train|fit|__init__", re.IGNORECASE)
OF_ONE_SIZE = re.compile(
    r"Resize\(|CenterCrop\(|RandomResizedCrop\(|RandomCrop\(|CIFAR|MNIST|img_?size|image_?size|input_size|ImageNet",
    re.IGNORECASE,
)
OF_SPEED = re.compile(
    r"time\.time\(|perf_counter|batch_time|too slow|\bslow(er|ly)?\b|speed|faster|cuda\.Event|throughput", re.IGNORECASE
)


class CudnnBenchmarkNotSet(ReadTemplate):
    """`torch.backends.cudnn.benchmark = True` lets cuDNN time its algorithms once for each size of input, and take the fastest.

    Reported where a text trains a network with convolutions on a GPU, on images of one size, minds its time, and asks for no equal results.

    Fix safety: unsafe. Runs may differ in their last digits, as each may choose other algorithms.

    References: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html ("Enable cuDNN auto-tuner").
    """

    code = "DNF915"
    name = "cudnn-benchmark-not-set"
    message = (
        "cudnn.benchmark is not set: with inputs of one size, cuDNN could time its algorithms once and take the fastest"
    )
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.ADVICE
    silent = 14
    default = False
    triggers = ("cuda", "device", "gpu")
    confidence = 0.6

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or "cudnn" in source.words or not OF_SPEED.search(source.text):
            return
        if (
            not OF_CONVOLUTIONS.search(source.text)
            or not OF_ONE_SIZE.search(source.text)
            or not structure.of_kind(source, structure.Kind.BACKWARD)
        ):
            return
        if random_state.seedings(source) or random_state.asks_for_determinism(source) is not None:
            return
        place = _on_gpu(source)
        if place is not None:
            edit = InsertAfter(source.site(place), "torch.backends.cudnn.benchmark = True")
            yield Fault.with_repair(
                source.site(place), {}, "Let cuDNN take the fastest", edit, confidence=self.confidence
            )

    programs = """
=== example: a training program that measures its time
import time
import torch
from torchvision import models, transforms

transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
device = torch.device("cuda")
model = models.resnet18().to(device)
+ torch.backends.cudnn.benchmark = True
start = time.time()
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x.to(device)), y.to(device)).backward()
    optimizer.step()
print(time.time() - start)

=== reject: it is to be reproducible
import time
import torch
from torchvision import models, transforms

torch.manual_seed(0)
transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
model = models.resnet18().cuda()
start = time.time()
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x.cuda()), y.cuda()).backward()
    optimizer.step()
print(time.time() - start)

=== reject: nothing is measured
import torch
from torchvision import models, transforms

transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
model = models.resnet18().cuda()
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x.cuda()), y.cuda()).backward()
    optimizer.step()
"""


def _on_gpu(source: Source) -> ast.stmt | None:
    """The statement that puts a network on a GPU."""
    if not random_state.uses_gpu(source):
        return None
    for call in source.all_calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in ("cuda", "to") and ast.unparse(func.value) != "self":
            function = training_loop.function_around(source, call)
            if function is not None and not OF_WORK.search(function.name):
                continue
            statement = source.statement_of(call)
            made = isinstance(func.value, ast.Call)
            named = structure.is_network(source, func.value)
            if isinstance(statement, (ast.Assign, ast.Expr)) and (
                named or (made and _is_bound_network(source, statement))
            ):
                return statement
    return None


def _is_bound_network(source: Source, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and structure.is_network(source, statement.targets[0])
