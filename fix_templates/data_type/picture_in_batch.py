"""A dataset gives pictures of PIL, which no batch can be made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    CrashTemplate,
    Edit,
    Example,
    Failure,
    InsertElement,
    Mend,
    Reject,
    SetArgument,
    Subject,
    Wrap,
    argument_value,
    attribute_calls,
    failed_loading,
    keyword_value,
    method,
    reads,
    spell,
    within,
    words,
)

OF_PICTURES = words("convert resize crop rotate transpose filter")
"""Methods of a picture that give a picture."""

TO_TENSORS = words("ToTensor PILToTensor ToImage to_tensor pil_to_tensor to_image")


@reads("TypeError", r"default_collate: .*found <class 'PIL\.", ast.AST)
def _picture(failure: Failure[ast.AST]) -> Iterator[Mend]:
    """The picture, in what hands it to the loader, and the edits that make a tensor of it."""
    loading = failed_loading(failure.subject)
    if loading is None:
        return
    found = _by_transform(failure.subject, loading.loaders[0])
    if found is None and loading.dataset is not None:
        found = _by_getter(failure.subject, loading.dataset)
    if found is not None:
        yield found


class PictureInBatch(CrashTemplate):
    """A `DataLoader` puts tensors, arrays and numbers into batches, and refuses a picture of PIL.

    The picture becomes a tensor where the dataset hands it out: of floats from 0 to 1, its channels first. A dataset that
    takes a `transform` is given one; a `Compose` that lacks the step gets it at its end.

    Reported where one picture in a sample can be told. Of two, one may be a mask, whose numbers are not to be scaled.

    Fix safety: unsafe. The program could not make a batch before.

    References: torchvision.transforms.ToTensor, torch.utils.data.default_collate.
    """

    code = "DNF624"
    name = "picture-in-batch"
    declined = "which part of a sample is the picture cannot be told"

    confidence = 0.9
    readings = (_picture,)

    examples = (
        Example(
            "pictures that are opened in the dataset",
            """\
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
""",
            runs=True,
        ),
        Example(
            "a transform that is not given",
            """\
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
""",
            runs=True,
        ),
        Example(
            "pictures kept in a list",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a picture and its mask",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "a transform that a mask goes through as well",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "a mask that belongs to a tensor",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "pictures that are tensors already",
            """\
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
""",
            runs=True,
        ),
    )


def _mend(subject: Subject, at: ast.expr, *ways: tuple[str, tuple[Edit, ...], float]) -> Mend:
    written = ast.unparse(at).partition("\n")[0]
    return Mend(subject.source.site(at), f"`{written}` is a picture of PIL, of which no batch can be made", ways)


def _by_transform(subject: Subject, loader: ast.Call) -> Mend | None:
    """The transform of torchvision that the dataset is given, with the step that it lacks, or the one it is not given."""
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
        if isinstance(owner, ast.ClassDef) and len(attribute_calls(owner, "transform")) > 1:
            return None  # a mask, whose numbers are not to be scaled, may go through it too
        listed = steps.args[0]
        inside = {one.attr for one in within(listed, ast.Attribute)} | {one.id for one in within(listed, ast.Name)}
        if inside & TO_TENSORS or any("Normalize" in one for one in inside):
            return None
        edits = (InsertElement(source.site(listed), len(listed.elts), _to_tensor(subject)),)
        return _mend(subject, listed, ("End the transform with a tensor", edits, 0.9))
    known = (source.qualified(made.func) or "").startswith("torchvision.datasets.")
    if not _imports_torchvision(subject) or not (known or _takes_transform(subject, made)):
        return None
    edit = SetArgument(source.site(made), "transform", _to_tensor(subject))
    return _mend(subject, made, ("Make tensors of the pictures", (edit,), 0.9))


def _takes_transform(subject: Subject, made: ast.Call) -> bool:
    """Whether the class of the program takes a transform that this call does not give it."""
    owner = subject.source.definition(made.func)
    setup = method(owner, "__init__") if isinstance(owner, ast.ClassDef) else None
    if setup is None:
        return False
    if isinstance(owner, ast.ClassDef) and len(attribute_calls(owner, "transform")) > 1:
        return False
    names = [one.arg for one in (*setup.args.args, *setup.args.kwonlyargs)]
    return "transform" in names and len(made.args) < names.index("transform")


def _imports_torchvision(subject: Subject) -> bool:
    return any(name.startswith("torchvision") for _, name in subject.source.imported_names)


def _to_tensor(subject: Subject) -> str:
    return f"{spell(subject, 'torchvision.transforms.ToTensor').code}()"


def _by_getter(subject: Subject, owner: ast.ClassDef) -> Mend | None:
    """The one picture that `__getitem__` returns, made a tensor there."""
    getter = method(owner, "__getitem__")
    returned = [node.value for node in ast.walk(getter) if isinstance(node, ast.Return)] if getter is not None else []
    if len(returned) != 1 or returned[0] is None:
        return None
    parts = _parts(returned[0])
    sure = [part for part in parts if _is_picture(subject, part)]
    unsure = [part for part in parts if isinstance(part, (ast.Name, ast.Subscript)) and not _is_number(subject, part)]
    pictures = sure or unsure[:1]
    if len(pictures) != 1 or pictures[0] is not parts[0]:
        return None  # behind something else it may be a mask
    return _mend(subject, pictures[0], *_ways(subject, pictures[0]))


def _parts(returned: ast.expr) -> list[ast.expr]:
    match returned:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.Dict(values=parts):
            return parts
    return [returned]


def _ways(subject: Subject, picture: ast.expr) -> tuple[tuple[str, tuple[Edit, ...], float], ...]:
    site = subject.source.site(picture)
    if _imports_torchvision(subject):
        made = spell(subject, "torchvision.transforms.ToTensor")
        return (("Make a tensor of the picture", (Wrap(site, f"{made.code}()(", ")"), *made.imports), 0.9),)
    tensor, array = spell(subject, "torch.from_numpy"), spell(subject, "numpy.array")
    before, imports = f"{tensor.code}({array.code}(", (*tensor.imports, *array.imports)
    colored = Wrap(site, before, ")).permute(2, 0, 1).float() / 255")
    grey = Wrap(site, before, ")).unsqueeze(0).float() / 255")
    return (
        ("Make a tensor of the picture", (colored, *imports), 0.9),
        ("Make a tensor of one channel of the picture", (grey, *imports), 0.8),
    )


def _is_picture(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is a picture, as far as the method that makes it tells."""
    source = subject.source
    if isinstance(node, ast.Name):
        values = [value for value in (source.bindings(node, node) or source.bindings(node)) if value is not node]
        return any(_is_picture(subject, value) for value in values)
    if isinstance(node, ast.Call):
        if (source.qualified(node.func) or "").startswith("PIL.Image."):
            return True
        return isinstance(node.func, ast.Attribute) and node.func.attr in OF_PICTURES
    return False


def _is_number(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is known to be a number or a tensor: computed, or made by a call."""
    if not isinstance(node, ast.Name):
        return False
    values = [value for value in subject.source.bindings(node, node) if value is not node]
    return bool(values) and all(isinstance(value, (ast.BinOp, ast.Constant, ast.Compare, ast.Call)) for value in values)
