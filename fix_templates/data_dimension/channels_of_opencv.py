"""An image that OpenCV read has blue first, and goes where red is expected first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Source,
    Subject,
    Wrap,
    function_around,
    opencv_images,
    structure,
    trees,
    within,
    words,
)
from dnnfix.api import picture_scales as pictures

READS = words("imread imdecode VideoCapture read")
PRETRAINED = re.compile(r"models\.\w+\([^()]*(pretrained=True|weights=[^N\s])")
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
    triggers = ("imread", "imdecode", "VideoCapture", "cv2")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not READS.isdisjoint(source.words) and not {"cv2", "cv"}.isdisjoint(source.words) and not _exchanges(source):
            for image in opencv_images.images(source):
                yield from _misread(source, image)

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

=== example: a part of a frame, in another size
import cv2
from PIL import Image

camera = cv2.VideoCapture(0)
while True:
    seen, frame = camera.read()
    grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    if grey.mean() > 20:
        hand = cv2.resize(frame[40:230, 10:200], (96, 96))
-         batch = preprocess(Image.fromarray(hand)).unsqueeze(0)
+         batch = preprocess(Image.fromarray(cv2.cvtColor(hand, cv2.COLOR_BGR2RGB))).unsqueeze(0)
        print(model(batch).argmax())

=== example: a frame of a camera that is handed in
import cv2
from PIL import Image

def watch(camera):
    _, frame = camera.read()
    cv2.imshow("seen", frame)
-     return model(preprocess(Image.fromarray(frame))[None])
+     return model(preprocess(Image.fromarray(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)))[None])

=== example: transforms of a function, that begin with Pillow
import cv2
from torchvision import transforms

def prepared(picture):
    steps = transforms.Compose([transforms.ToPILImage(), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    return steps(picture)

photo = cv2.imread("cat.jpg")
- print(net(prepared(photo)[None]))
+ print(net(prepared(cv2.cvtColor(photo, cv2.COLOR_BGR2RGB))[None]))
cv2.imshow("cat", photo)

=== example: a network with weights, and no mean
import cv2
import torch
from torchvision import models

net = models.vgg11(pretrained=True)
leaf = cv2.imread(path)
+ leaf = cv2.cvtColor(leaf, cv2.COLOR_BGR2RGB)
batch = torch.from_numpy(leaf / 255).permute(2, 0, 1)[None].float()
print(net(batch).argmax())

=== reject: one channel, and something else
import cv2
from PIL import Image

frame = cv2.imread("cat.jpg")
Image.fromarray(frame[:, :, 0])
mask = cv2.imread("mask.png")
Image.fromarray(mask)
frame = drawn(frame)
other = stored["picture"]
Image.fromarray(other)

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
    """Whether the program exchanges channels anywhere, in whatever way: to grey is none."""
    for module in (source, *source.beside):
        if module is not source and not module.words.isdisjoint(("cvtColor", "flip")):
            return True
        for call in module.all_calls if not module.words.isdisjoint(("cvtColor", "flip")) else ():
            name = ast.unparse(call.func)
            if trees.last_name(call.func) == "cvtColor" and not ast.unparse(call).endswith(
                ("2GRAY)", "2HSV)", "2LAB)")
            ):
                return True
            if trees.last_name(call.func) == "flip" and not name.startswith(("cv2.", "cv.")):
                return True
    backwards = (node.step for node in source.nodes(ast.Slice))
    orders = (_numbers(node) for node in source.nodes(ast.List))
    words_of_order = ("rgb" in word.lower() and "bgr" in word.lower() for word in source.words)
    return (
        any(step is not None and ast.unparse(step) == "-1" for step in backwards)
        or (2, 1, 0) in orders
        or any(words_of_order)
    )


def _begins_with_pillow(source: Source, call: ast.Call) -> bool:
    """Whether a call makes a picture of Pillow of what it is given first: transforms that begin so, or a function that has such."""
    function = structure.callee(source, call)
    if function is not None:
        own = [each.arg for each in function.args.args if each.arg != "self"]
        inner = (each for each in within(function, ast.Call) if each.args and own)
        return any(
            ast.unparse(each.args[0]) == own[0]
            and (trees.last_name(each.func) == "fromarray" or (each is not call and _is_of_pillow(source, each)))
            for each in inner
        )
    return _is_of_pillow(source, call)


def _is_of_pillow(source: Source, call: ast.Call) -> bool:
    """Whether a call is one of transforms that begin with `ToPILImage`."""
    made = call.func if isinstance(call.func, ast.Call) else source.constructor(call.func)
    for each in pictures.composed(source):
        if each.call is made:
            return each.names[:1] == ("ToPILImage",)
    return made is not None and trees.last_name(made.func) == "ToPILImage"


def _numbers(node: ast.expr) -> tuple[object, ...]:
    """The numbers of a display; `None` for what is none."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
    return tuple(part.value if isinstance(part, ast.Constant) else None for part in parts)


def _misread(source: Source, image: opencv_images.Image) -> Iterator[Fault]:
    """Where an image goes to what takes red first."""
    around = function_around(source, image.statement)
    for call in source.all_calls:
        given = call.args[0] if call.args else None
        if trees.last_name(call.func) != "fromarray" or given is None or call.lineno <= image.statement.lineno:
            continue
        if function_around(source, call) is around and opencv_images.keeps(given, image.names):
            edit: Edit = Wrap(source.site(given), "cv2.cvtColor(", ", cv2.COLOR_BGR2RGB)")
            where = f"`{ast.unparse(call.func)}`"
            title = "Exchange blue and red"
            yield Fault.with_repair(source.site(call), {"image": image.name, "where": where}, title, edit, prior=0.85)
            return
    of_imagenet = any(_numbers(node) == MEAN for kind in (ast.List, ast.Tuple) for node in source.nodes(kind))
    if not of_imagenet and PRETRAINED.search(source.text) is None:
        return
    for call in source.all_calls:
        given = call.args[0] if call.args else None
        if given is None or function_around(source, call) is not around or call.lineno <= image.statement.lineno:
            continue
        if opencv_images.keeps(given, image.names) and _begins_with_pillow(source, call):
            edit = Wrap(source.site(given), "cv2.cvtColor(", ", cv2.COLOR_BGR2RGB)")
            said = {"image": image.name, "where": f"`{ast.unparse(call.func)}`"}
            yield Fault.with_repair(source.site(call), said, "Exchange blue and red", edit, prior=0.85)
            return
    if (
        trees.last_name(image.call.func) != "read"
        and WRITES.isdisjoint(source.words)
        and "fromarray" not in source.words
    ):
        after = InsertAfter(
            source.site(image.statement), f"{image.name} = cv2.cvtColor({image.name}, cv2.COLOR_BGR2RGB)"
        )
        said = {"image": image.name, "where": "a network of ImageNet"}
        yield Fault.with_repair(source.site(image.statement.value), said, "Exchange blue and red", after, prior=0.8)
