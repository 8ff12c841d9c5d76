"""Images are scaled to [0, 1] twice, and the model sees next to nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Repair,
    Replace,
    SetArgument,
    Source,
    Subject,
    image_batches,
)

NARROW = 0.1
"""A range of a channel's values that images do not have: scaled twice and then normalized, it is at most 1/255 of a usual one
(4.8 where the images were normalized before, divided by a standard deviation of 0.22)."""

SCALES = ("ToTensor", "to_tensor", "ToDtype", "to_dtype", "ConvertImageDtype", "convert_image_dtype")


class ImagesScaledTwice(ReadTemplate):
    """Images are scaled to [0, 1] twice: by a transform, or a division by 255, and once more by the processor of the model.

    `ToTensor()` scales images, and processors of `transformers` do (`do_rescale`), with a warning at most. Divided by 255 twice, all values of
    a channel are the same within 0.004: the model is trained on images that look all alike. Seen in the
    batches that a model of `transformers`, `timm` or `torchvision` is given.

    Fix safety: unsafe. The model sees other values from now on.

    References: https://huggingface.co/docs/transformers/main/en/image_processors ("do_rescale"); torchvision.transforms.ToTensor.
    """

    code = "DNF641"
    name = "images-scaled-twice"
    message = "the values of a channel in the images of `{model}` differ by {width:.2g} at most: they were scaled twice"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    silent = 8
    needs_run = True
    confidence = 0.9
    declined = "the program does not show where images are scaled twice"

    def read(self, subject: Subject) -> Iterator[Fault]:
        for batches in image_batches.seen(subject):
            if 0 < batches.width < NARROW:
                repairs = tuple(_repairs(subject.source))
                yield Fault(batches.site, {"model": batches.model, "width": batches.width}, repairs)
                return

    programs = """
=== example: a processor after ToTensor
import numpy as np
import torch
from PIL import Image
from torchvision import transforms
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=2, **sizes))
processor = ViTImageProcessor(size={"height": 32, "width": 32})
to_tensor = transforms.ToTensor()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
pixels = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)
for _ in range(3):
    images = [to_tensor(Image.fromarray(one)) for one in pixels]
-     batch = processor(images, return_tensors="pt")
+     batch = processor(images, return_tensors="pt", do_rescale=False)
    loss = model(**batch, labels=torch.arange(8) % 2).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== example: images that are normalized before as well
import numpy as np
import torch
from torchvision import transforms as T
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=2, **sizes))
processor = ViTImageProcessor(size={"height": 32, "width": 32})
transform = T.Compose([T.ToTensor(), T.Normalize(processor.image_mean, processor.image_std)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
pixels = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)
for _ in range(3):
-     batch = processor(images=[transform(one) for one in pixels], return_tensors="pt")
+     batch = processor(images=[transform(one) for one in pixels], return_tensors="pt", do_rescale=False, do_normalize=False)
    loss = model(**batch, labels=torch.arange(8) % 2).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== example: a division after ToTensor
import numpy as np
import torch
from torchvision import models, transforms

net = models.squeezenet1_1(num_classes=2)
to_tensor = transforms.ToTensor()
pixels = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(2):
-     images = torch.stack([to_tensor(one) for one in pixels]) / 255.0
+     images = torch.stack([to_tensor(one) for one in pixels])
    loss = torch.nn.functional.cross_entropy(net(images), torch.tensor([0, 1, 0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: two divisions
import torch
from transformers import ViTConfig, ViTForImageClassification

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=2, **sizes))
images = torch.randint(0, 256, (8, 3, 32, 32)).float() / 255
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
-     loss = model(pixel_values=images / 255.0, labels=torch.arange(8) % 2).loss
+     loss = model(pixel_values=images, labels=torch.arange(8) % 2).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

=== reject: a network of the program's own, and images that are scaled once
import torch
from torch import nn
from transformers import ViTConfig, ViTModel

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = ViTModel(ViTConfig(image_size=32, patch_size=8, **sizes))
images = torch.randint(0, 256, (8, 3, 32, 32)).float()
print(model(images / 255).pooler_output.mean(), nn.Conv2d(3, 4, 3)(images / 255 / 255).mean())

=== reject: images that are scaled once
import numpy as np
import torch
from torchvision import transforms
from transformers import ViTConfig, ViTModel, ViTImageProcessor

sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = ViTModel(ViTConfig(image_size=32, patch_size=8, **sizes))
processor = ViTImageProcessor(size={"height": 32, "width": 32})
pixels = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
scaled = [transforms.ToTensor()(one) for one in pixels]
print(model(**processor(list(pixels), return_tensors="pt")).pooler_output.mean())
print(model(**processor(scaled, do_rescale=False, return_tensors="pt")).pooler_output.mean())

=== reject: images of one colour
import torch
from torchvision import models

net = models.squeezenet1_1(num_classes=2)
print(net(torch.zeros(2, 3, 64, 64)).shape, net(torch.full((2, 3, 64, 64), 0.5)).shape)
"""


def _repairs(source: Source) -> Iterator[Repair]:
    scaling = [call for call in image_batches.processed(source) if _may_scale(call)]
    once: tuple[Edit, ...] = tuple(SetArgument(source.site(call), "do_rescale", "False") for call in scaling)
    kept: tuple[Edit, ...] = tuple(SetArgument(source.site(call), "do_normalize", "False") for call in scaling)
    if once and image_batches.calls(source, "Normalize"):
        yield "Have the processor neither scale nor normalize", (*once, *kept), 0.9
    elif once:
        yield "Have the processor not scale", once, 0.9
    divisions = list(image_batches.divided(source))
    if not once and (image_batches.calls(source, *SCALES) or len(divisions) > 1):
        for node in divisions:
            yield "Scale the images once", (Replace(source.site(node), _without(source, node)),), 0.8


def _may_scale(call: ast.Call) -> bool:
    """Whether a call of a processor has images, and says nothing of how they are scaled."""
    told = {each.arg for each in call.keywords}
    return not told & {None, "do_rescale"} and (bool(call.args) or "images" in told)


def _without(source: Source, node: ast.BinOp) -> str:
    text = source.segment(source.site(node.left))
    return f"({text})" if isinstance(node.left, ast.BinOp) else text
