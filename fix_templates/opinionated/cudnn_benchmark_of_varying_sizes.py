"""`cudnn.benchmark = True` where inputs have varying sizes: cuDNN times its algorithms anew for each size."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    random_state,
    structure,
    within,
)

VARYING = re.compile(
    r"\bmulti[_-]?scale(_?(train\w*|test\w*|range|sizes?))?\b|random_?(resize(?!d)|scale_?size|input_?size)|(vary|varying|variable|different|dynamic|arbitrary|changing)[- _](image |input |in)?(sizes?|shapes?|lengths?|resolutions?)"
    r"|pad_sequence|pack_padded_sequence|dynamic_shapes?",
    re.IGNORECASE,
)
READS = re.compile(r"imread|Image\.open|load_?image|read_image", re.IGNORECASE)
SCALES = re.compile(r"interpolate|resize$|upsample$", re.IGNORECASE)
FIXES = re.compile(r"resize|crop|input_size|img_?size|image_?size|interpolate", re.IGNORECASE)
NOT_SO = re.compile(r"(fixed|same|constant|not? (vary|change)|(does|do)n'?t (vary|change))", re.IGNORECASE)


class CudnnBenchmarkOfVaryingSizes(ReadTemplate):
    """With `benchmark = True` the first batch of each new size is slow, for all algorithms are tried on it.

    It pays where all batches have one size. Reported where the text says that sizes vary (several scales, padded sequences), draws one, or gives a network images as they are read, one
    after the other, and resizes none. A setting that a condition asks for is left alone.

    Fix safety: unsafe. cuDNN takes the algorithm that its rules choose.

    References: torch.backends.cudnn.benchmark.
    """

    code = "DNF919"
    name = "cudnn-benchmark-of-varying-sizes"
    message = "cudnn.benchmark is True, and sizes vary ({why}): cuDNN tries all its algorithms again for each size"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 14
    default = False
    triggers = ("cudnn",)
    confidence = 0.7

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        found = [each for each in random_state.settings(source) if each.name == "benchmark"]
        if not found or not all(
            each.says(True) and random_state.is_on_every_way(source, each.statement) for each in found
        ):
            return
        why = _why(source)
        if why:
            for each in found[:1]:
                edit = Replace(source.site(each.value), "False")
                yield Fault.with_repair(
                    source.site(each.statement),
                    {"why": why},
                    "Let cuDNN choose by its rules",
                    edit,
                    confidence=self.confidence,
                )

    programs = """
=== example: images as they are
import cv2
import torch

- torch.backends.cudnn.benchmark = True
+ torch.backends.cudnn.benchmark = False
net = Detector().cuda().eval()
for path in paths:
    image = to_tensor(cv2.imread(path)).cuda()
    boxes = net(image)

=== example: several scales
import torch

- torch.backends.cudnn.benchmark = True
+ torch.backends.cudnn.benchmark = False
for multi_scale in (0.5, 1.0, 2.0):
    train(net, multi_scale)

=== example: a size that is drawn
import random
import torch
from torch.nn import functional as F

- torch.backends.cudnn.benchmark = True
+ torch.backends.cudnn.benchmark = False
for scan in scans:
    edge = random.choice([96, 128, 160])
    net(F.interpolate(scan, size=edge))

=== reject: a size that is given
import torch
from torch.nn import functional as F

edge = 96
torch.backends.cudnn.benchmark = True
for scan in scans:
    net(F.interpolate(scan, size=edge))

=== reject: one size
import cv2
import torch

torch.backends.cudnn.benchmark = True  # sizes do not vary
for path in paths:
    image = to_tensor(cv2.resize(cv2.imread(path), (224, 224))).cuda()
    boxes = net(image)

=== reject: on for some inputs
import torch

# the others may have varying sizes
if options.crop == "center":
    torch.backends.cudnn.benchmark = True

=== reject: an option
import torch

parser.add_argument("--multi_scale", action="store_true")
torch.backends.cudnn.benchmark = True

=== reject: off
import cv2
import torch

torch.backends.cudnn.benchmark = False
for path in paths:
    boxes = net(to_tensor(cv2.imread(path)).cuda())
"""


def _why(source: Source) -> str:
    """What in a text shows that sizes vary; empty where nothing does."""
    for line in source.text.split("\n"):
        said = VARYING.search(line)
        if said is not None and not NOT_SO.search(line) and "add_argument" not in line:
            return f"`{said.group(0)}`"
    for call in source.all_calls:
        if SCALES.search(ast.unparse(call.func)):
            sizes = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "size")]
            if any(random_state.is_draw(source, value) for size in sizes for value in source.bindings(size)):
                return f"`{ast.unparse(call)}` is given a size that was drawn"
    if FIXES.search(source.text):
        return ""
    for loop in source.nodes(ast.For):
        reads = [call for call in within(loop, ast.Call) if READS.search(ast.unparse(call.func))]
        if reads and not structure.has(source, loop, structure.Kind.BACKWARD):
            return f"`{ast.unparse(reads[0].func)}` reads images, and nothing resizes them"
    return ""
