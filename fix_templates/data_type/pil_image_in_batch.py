"""A dataset returns PIL images, which `DataLoader` cannot collate into a batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    CrashTemplate,
    Edit,
    Failure,
    Fault,
    InsertElement,
    SetArgument,
    Subject,
    Wrap,
    argument_value,
    graph,
    keyword_value,
    loaders,
    reads,
    spell,
    training_loop,
    trees,
    within,
    words,
)

IMAGE_METHODS = words("convert resize crop rotate transpose filter")
"""Methods of a PIL image that return a PIL image."""

TO_TENSORS = words("ToTensor PILToTensor ToImage to_tensor pil_to_tensor to_image")


@reads("TypeError", r"default_collate: .*found <class 'PIL\.", ast.AST)
def _image(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """The image is converted by the transform of the dataset where it takes one, else in `__getitem__`."""
    loading = loaders.failed_loading(failure.subject)
    if loading is None:
        return
    found = _by_transform(failure.subject, loading.loaders[0])
    if found is None and loading.dataset is not None:
        found = _by_getter(failure.subject, loading.dataset)
    if found is not None:
        yield found


class PilImageInBatch(CrashTemplate):
    """A dataset returns PIL images, and `DataLoader` collates only tensors, arrays, numbers and strings into batches.

    The image is converted to a tensor where the dataset returns it: floats from 0 to 1, channels first. A dataset with
    a parameter `transform` gets one; a `Compose` without such a step gets it at its end. Reported only where a sample
    has one image: a second may be a mask, whose values must not be scaled.

    Fix safety: unsafe. The program could not run before.

    References: torchvision.transforms.ToTensor, torch.utils.data.default_collate.
    """

    code = "DNF624"
    name = "pil-image-in-batch"
    formerly = ("picture-in-batch",)
    message = "DataLoader cannot collate the PIL images of `{code}`: it expects tensors, arrays or numbers"
    confidence = 0.9
    readings = (_image,)

    programs = """
=== example: pictures that are opened in the dataset
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, index):
        face = Image.fromarray(self.arrays[index]).convert("RGB")
-         return face, index % 2
+         return torch.from_numpy(np.array(face)).permute(2, 0, 1).float() / 255, index % 2


for faces, labels in DataLoader(Faces(np.zeros((4, 8, 8, 3), dtype=np.uint8)), batch_size=2):
    print(faces.shape, labels)

=== example: a transform that is not passed
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
+ import numpy as np


class Grey(Dataset):
    def __init__(self, number, transform=None):
        self.number = number
        self.transform = transform

    def __len__(self):
        return self.number

    def __getitem__(self, i):
        picture = Image.new("L", (6, 6))
        if self.transform is not None:
            picture = self.transform(picture)
-         return picture
+         return torch.from_numpy(np.array(picture)).unsqueeze(0).float() / 255


batches = DataLoader(Grey(4), batch_size=4)
for batch in batches:
    print(batch.shape)

=== example: pictures kept in a list
import numpy
import torch
import torch.utils.data as data
from PIL import Image


class Kept(data.Dataset):
    def __init__(self):
        self.kept = [Image.new("RGB", (4, 4)) for _ in range(4)]
        self.names = list(range(4))

    def __getitem__(self, k):
-         return {"image": self.kept[k].resize((8, 8)), "name": self.names[k]}
+         return {"image": torch.from_numpy(numpy.array(self.kept[k].resize((8, 8)))).permute(2, 0, 1).float() / 255, "name": self.names[k]}

    def __len__(self):
        return 4


loader = data.DataLoader(Kept(), batch_size=2)
print(next(iter(loader))["image"].shape)

=== reject: a picture and its mask
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Masked(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        picture, mask = Image.new("RGB", (4, 4)), Image.new("L", (4, 4))
        return picture.convert("RGB"), mask.convert("L")


for picture, mask in DataLoader(Masked(), batch_size=2):
    print(picture, mask)

=== reject: a transform that a mask goes through as well
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Masked(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 2

    def __getitem__(self, i):
        picture, mask = Image.new("RGB", (4, 4)), Image.new("L", (4, 4))
        return self.transform(picture), self.transform(mask)


for picture, mask in DataLoader(Masked(transform=transforms.Compose([transforms.Resize(2)])), batch_size=2):
    print(mask.long())

=== reject: a mask that belongs to a tensor
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Masked(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        mask = Image.new("L", (4, 4))
        return torch.ones(3, 4, 4), mask.resize((4, 4))


for picture, mask in DataLoader(Masked(), batch_size=2):
    print(mask.long())

=== reject: pictures that are tensors already
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Made(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.from_numpy(np.array(Image.new("RGB", (4, 4)))).permute(2, 0, 1)


for picture in DataLoader(Made(), batch_size=2):
    print(picture.shape)
"""


def _fault(subject: Subject, at: ast.expr, *ways: tuple[str, tuple[Edit, ...], float]) -> Fault:
    return Fault(subject.source.site(at), {"code": ast.unparse(at).partition("\n")[0]}, ways)


def _by_transform(subject: Subject, loader: ast.Call) -> Fault | None:
    """The missing step of the transform of the dataset, or the missing transform."""
    source = subject.source
    given = argument_value(loader, "dataset", 0)
    made = source.constructor(given) if given is not None else None
    if made is None:
        return None
    transform = keyword_value(made, "transform")
    if transform is not None:
        steps = source.constructor(transform)
        composed = steps is not None and (source.qualified(steps.func) or "").endswith("transforms.Compose")
        if steps is None or not composed or not steps.args or not isinstance(steps.args[0], ast.List):
            return None
        owner = source.definition(made.func)
        if isinstance(owner, ast.ClassDef) and len(training_loop.attribute_calls(owner, "transform")) > 1:
            return None  # it may also be applied to a mask, which must not be scaled
        listed = steps.args[0]
        inside = {one.attr for one in within(listed, ast.Attribute)} | trees.names_in(listed)
        if inside & TO_TENSORS or any("Normalize" in one for one in inside):
            return None
        edits = (InsertElement(source.site(listed), len(listed.elts), _to_tensor(subject)),)
        return _fault(subject, listed, ("Add ToTensor() to the end of the transform", edits, 0.9))
    known = (source.qualified(made.func) or "").startswith("torchvision.datasets.")
    if not _imports_torchvision(subject) or not (known or _takes_transform(subject, made)):
        return None
    edit = SetArgument(source.site(made), "transform", _to_tensor(subject))
    return _fault(subject, made, ("Convert the images to tensors", (edit,), 0.9))


def _takes_transform(subject: Subject, made: ast.Call) -> bool:
    """Whether the class of the program has a parameter `transform` without a value in this call."""
    owner = subject.source.definition(made.func)
    setup = graph.method(owner, "__init__") if isinstance(owner, ast.ClassDef) else None
    if setup is None:
        return False
    if isinstance(owner, ast.ClassDef) and len(training_loop.attribute_calls(owner, "transform")) > 1:
        return False
    names = [one.arg for one in (*setup.args.args, *setup.args.kwonlyargs)]
    return "transform" in names and len(made.args) < names.index("transform")


def _imports_torchvision(subject: Subject) -> bool:
    return any(name.startswith("torchvision") for _, name in subject.source.imported_names)


def _to_tensor(subject: Subject) -> str:
    return f"{spell(subject, 'torchvision.transforms.ToTensor').code}()"


def _by_getter(subject: Subject, owner: ast.ClassDef) -> Fault | None:
    """The one image that `__getitem__` returns, converted to a tensor there."""
    getter = graph.method(owner, "__getitem__")
    returned = [node.value for node in ast.walk(getter) if isinstance(node, ast.Return)] if getter is not None else []
    if len(returned) != 1 or returned[0] is None:
        return None
    parts = _parts(returned[0])
    sure = [part for part in parts if _is_image(subject, part)]
    unsure = [part for part in parts if isinstance(part, (ast.Name, ast.Subscript)) and not _is_number(subject, part)]
    images = sure or unsure[:1]
    if len(images) != 1 or images[0] is not parts[0]:
        return None  # an image that is not the first part may be a mask
    return _fault(subject, images[0], *_ways(subject, images[0]))


def _parts(returned: ast.expr) -> list[ast.expr]:
    match returned:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.Dict(values=parts):
            return parts
    return [returned]


def _ways(subject: Subject, image: ast.expr) -> tuple[tuple[str, tuple[Edit, ...], float], ...]:
    site = subject.source.site(image)
    if _imports_torchvision(subject):
        made = spell(subject, "torchvision.transforms.ToTensor")
        return (("Convert the image to a tensor", (Wrap(site, f"{made.code}()(", ")"), *made.imports), 0.9),)
    tensor, array = spell(subject, "torch.from_numpy"), spell(subject, "numpy.array")
    before, imports = f"{tensor.code}({array.code}(", (*tensor.imports, *array.imports)
    colored = Wrap(site, before, ")).permute(2, 0, 1).float() / 255")
    grey = Wrap(site, before, ")).unsqueeze(0).float() / 255")
    return (
        ("Convert the image to a tensor", (colored, *imports), 0.9),
        ("Convert the grayscale image to a tensor", (grey, *imports), 0.8),
    )


def _is_image(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is an image, by the call that creates it."""
    source = subject.source
    if isinstance(node, ast.Name):
        values = [value for value in (source.bindings(node, node) or source.bindings(node)) if value is not node]
        return any(_is_image(subject, value) for value in values)
    if isinstance(node, ast.Call):
        if (source.qualified(node.func) or "").startswith("PIL.Image."):
            return True
        return isinstance(node.func, ast.Attribute) and node.func.attr in IMAGE_METHODS
    return False


def _is_number(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is known to be a number or a tensor."""
    if not isinstance(node, ast.Name):
        return False
    values = [value for value in subject.source.bindings(node, node) if value is not node]
    return bool(values) and all(isinstance(value, (ast.BinOp, ast.Constant, ast.Compare, ast.Call)) for value in values)
