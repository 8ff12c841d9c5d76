"""An image that OpenCV read has blue first, and goes where red is expected first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Edit, Family, Fault, FixPattern, InsertAfter, ReadTemplate, Source, Subject, Wrap

READS = ("cv2.imread", "cv2.imdecode")
TO_PILLOW = "PIL.Image.fromarray"

WRITES = frozenset({"imwrite", "imshow", "VideoWriter", "rectangle", "putText"})
"""Functions of OpenCV that take blue for it: after them the image is that of OpenCV still."""

MEAN = (0.485, 0.456, 0.406)
"""The mean of red, green and blue in ImageNet, which networks from there are given images relative to."""


class ChannelsOfOpencv(ReadTemplate):
    """`cv2.imread` gives blue, green and red; Pillow and networks trained on ImageNet take red first.

    Colours are exchanged and nothing crashes: predictions get worse, as the network was trained on images that Pillow read. Reported
    where an image of `cv2.imread` goes to Pillow, or to a network whose mean is that of ImageNet
    in the order red, green, blue, in a program that exchanges channels nowhere.

    Fix safety: unsafe. The network sees other colours than before, which is the point.

    References: https://docs.opencv.org/4.x/d4/da8/group__imgcodecs.html ("the decoded images will have the channels stored in
    B G R order"), https://docs.pytorch.org/vision/stable/models.html.
    """

    code = "DNF166"
    name = "channels-of-opencv"
    message = "OpenCV reads `{image}` as blue, green, red, and {where} takes red first"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    silent = 8
    confidence = 0.85
    triggers = ("imread", "imdecode")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not _exchanges(source):
            for call in source.calls(*READS):
                statement = source.parent(call)
                if len(call.args) + len(call.keywords) == 1 or _is_colour(call):
                    yield from _misread(source, statement)

    programs = """
=== example: Pillow in between
import cv2
from PIL import Image

image = cv2.imread("cat.jpg")
- small = preprocess(Image.fromarray(image))
+ small = preprocess(Image.fromarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB)))
print(model(small.unsqueeze(0)).argmax())

=== example: a frame as a file
import cv2
import numpy as np
from PIL import Image

for sent in requests:
    photo = cv2.imdecode(np.frombuffer(sent, np.uint8), cv2.IMREAD_COLOR)
-     x = preprocess(Image.fromarray(photo))
+     x = preprocess(Image.fromarray(cv2.cvtColor(photo, cv2.COLOR_BGR2RGB)))
    print(model(x[None]).argmax())

=== example: a network of ImageNet
import cv2
import numpy as np
import torch

mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
image = cv2.imread("dog.jpg")
+ image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
image = cv2.resize(image, (224, 224)) / 255
batch = torch.from_numpy(((image - mean) / std).transpose(2, 0, 1)).float()
print(net(batch[None]).argmax())

=== reject: exchanged, or grey
import cv2
from PIL import Image

image = cv2.imread("cat.jpg")[..., ::-1]
Image.fromarray(image)
mask = cv2.imread("mask.png", 0)
Image.fromarray(mask)

=== reject: a network of one's own, trained on the same
import cv2
import torch

image = cv2.imread("cat.jpg")
x = torch.from_numpy(image).permute(2, 0, 1).float() / 255
print(net(x[None]).argmax())
"""


def _exchanges(source: Source) -> bool:
    """Whether the program exchanges channels anywhere, in whatever way."""
    if any("cvtColor" in module.words or "flip" in module.words for module in (source, *source.beside)):
        return True
    backwards = (node.step for node in source.nodes(ast.Slice))
    orders = (_numbers(node) for node in source.nodes(ast.List))
    return any(step is not None and ast.unparse(step) == "-1" for step in backwards) or (2, 1, 0) in orders


def _numbers(node: ast.expr) -> tuple[object, ...]:
    """The numbers of a display; `None` for what is none."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
    return tuple(part.value if isinstance(part, ast.Constant) else None for part in parts)


def _is_colour(call: ast.Call) -> bool:
    flag = call.args[1] if len(call.args) > 1 else call.keywords[0].value
    return (isinstance(flag, ast.Constant) and flag.value == 1) or ast.unparse(flag).endswith("IMREAD_COLOR")


def _misread(source: Source, statement: ast.AST | None) -> Iterator[Fault]:
    """Where an image that a statement reads goes to what takes red first."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return
    image = statement.targets[0].id
    for call in source.calls(TO_PILLOW):
        given = call.args[0] if call.args else None
        if isinstance(given, ast.Name) and given.id == image and statement.value in source.bindings(given):
            edit: Edit = Wrap(source.site(given), "cv2.cvtColor(", ", cv2.COLOR_BGR2RGB)")
            where = f"`{ast.unparse(call.func)}`"
            title = "Exchange blue and red"
            yield Fault.with_repair(source.site(call), {"image": image, "where": where}, title, edit, prior=0.85)
            return
    of_imagenet = any(_numbers(node) == MEAN for kind in (ast.List, ast.Tuple) for node in source.nodes(kind))
    if of_imagenet and WRITES.isdisjoint(source.words) and "fromarray" not in source.words:
        after = InsertAfter(source.site(statement), f"{image} = cv2.cvtColor({image}, cv2.COLOR_BGR2RGB)")
        said = {"image": image, "where": "a network of ImageNet"}
        yield Fault.with_repair(source.site(statement.value), said, "Exchange blue and red", after, prior=0.8)
