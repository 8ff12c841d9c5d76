"""Pictures are normalized or passed on in another range of values than is meant: unscaled, or scaled twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Repair,
    Replace,
    Source,
    Subject,
    argument_value,
    axis_layouts,
    training_loop,
    trees,
    words,
    written_above,
)
from dnnfix.api import picture_scales as pictures

KEEPS = words("""resize copy array asarray float32 uint8 transpose expand_dims flip astype reshape squeeze moveaxis ascontiguousarray crop rotate convert
    stack rollaxis GaussianBlur permute view""")
"""What gives back the same picture, as far as the range of its values goes."""
OF_TARGET = re.compile(r"mask|label|seg|depth|target|anno|flow|(^|_)gt", re.IGNORECASE)
READ = words("data train_data test_data")
CASTS = re.compile(r"\.float\(\)|FloatTensor|float32|torch\.float|\.double\(\)")

SAME = words("""float double half to cuda cpu unsqueeze squeeze numpy detach clone contiguous type permute transpose astype view reshape
    flatten""")
MAKES = words("from_numpy tensor Tensor FloatTensor as_tensor array asarray")
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
DIVIDES = re.compile(r"\.(true_)?div(ide)?_?\(|\) / |^\w+ /= ")


class PicturesOfAnotherScale(ReadTemplate):
    """Values from 0 to 255 are normalized by statistics for 0 to 1, or reach the network as they are; or they are scaled twice.

    `Normalize` with a mean below 1 is made for what `ToTensor` returns. The `data` of a data set of torchvision are bytes: the transform
    does not touch them. Divided by 255 twice, all values are about the same.

    Fix safety: unsafe. The network sees other values.

    References: torchvision.transforms.ToTensor, torchvision.transforms.Normalize.
    """

    code = "DNF662"
    name = "pictures-of-another-scale"
    message = "{what}"
    confidence = 0.8
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 8
    default = False
    declined = "where the values are to be scaled is not told by the text"
    triggers = (
        "Normalize",
        "normalize",
        "imread",
        "cvtColor",
        "Image",
        "data",
        "train_data",
        "test_data",
        "255",
        "ToTensor",
        "to_tensor",
        "from_numpy",
        "unsqueeze",
        "div",
        "MNIST",
        "CIFAR10",
    )

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for node, what, repairs in (
            *_normalized(source),
            *_twice(source),
            *_centred(source),
            *_bytes(source),
            *_arrays(source),
        ):
            yield Fault(source.site(node), {"what": what}, (*repairs, Decline(self.declined)))

    programs = """
=== example: divided again
import torch
from torchvision import transforms

transform = transforms.Compose([transforms.ToTensor()])

for x, y in loader:
-     x = x / 255
+     x = x
    loss = criterion(net(x), y)
    loss.backward()

=== example: bytes of a data set
import torch
from torchvision import datasets, transforms

train = datasets.MNIST("data", train=True, transform=transforms.ToTensor())
test = datasets.MNIST("data", train=False, transform=transforms.ToTensor())
- x_test = test.data.unsqueeze(1).float()
+ x_test = test.data.unsqueeze(1).float() / 255
print(net(x_test).argmax(1))

=== example: scaled as it is made a tensor
import torch
from torchvision import transforms

def load(path):
    picture = transforms.ToTensor()(read(path)).unsqueeze(0)
-     return picture / 255.0
+     return picture

=== finds: mean and deviation exchanged
from torchvision import transforms

transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.229, 0.224, 0.225], [0.485, 0.456, 0.406])])

=== finds: scaled, and then taken for bytes
import torch

picture = picture / 255
picture = (picture - 127.5) / 127.5
print(net(torch.from_numpy(picture)))

=== finds: divided as an array and as a tensor
import numpy as np
import torch

picture = np.array(picture) / 255
x = torch.from_numpy(picture).float() / 255

=== finds: brought back to bytes where others are normalized
import torch
from torchvision import transforms
from torchvision.transforms import functional

transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
x = 255 * functional.to_tensor(picture)
print(net(x[None]))

=== finds: grey, in another size, by hand
import cv2
import numpy as np
import torch

frame = cv2.imread("digit.png", cv2.IMREAD_GRAYSCALE)
frame = cv2.resize(frame, (28, 28))
frame = np.expand_dims(frame, 0)
print(net(torch.tensor(frame, dtype=torch.float32)[None]))

=== reject: a mask
import cv2
import torch

mask = cv2.imread("mask.png", 0)
mask = torch.from_numpy(mask).float()

=== reject: around zero at once
import torch

picture = (picture - 127.5) / 127.5
print(net(torch.from_numpy(picture)))

=== reject: scaled by hand
import torch
from torchvision import datasets, transforms

train = datasets.MNIST("data", train=True, transform=transforms.ToTensor())
test = datasets.MNIST("data", train=False)
x_test = test.data.unsqueeze(1).float() / 255.

=== reject: standardized in place further down, where it is asked for
import torch
from torchvision import datasets

train = datasets.MNIST("data", train=True)
test = datasets.MNIST("data", train=False)
x_train = train.data.view(-1, 784).float()
x_test = test.data.view(-1, 784).float()
if standardize:
    middle, spread = x_train.mean(), x_train.std()
    x_train.sub_(middle).div_(spread)
    x_test.sub_(middle).div_(spread)

=== reject: a class of one's own, for bytes
from torchvision import transforms
from steps import Normalize, ToTensor

transform = transforms.Compose([Normalize(mean=110, std=60), ToTensor()])
other = transforms.Compose([Normalize(), ToTensor()])

=== reject: in their order
import torch
from torchvision import transforms

transform = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])

=== reject: shown
import torch
from torchvision import transforms

transform = transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda x: x * 255)])
picture = (net(transform(image)) * 255).byte()
back = picture / 255
"""


Read = tuple[ast.expr, str, tuple[Repair, ...]]


def _normalized(source: Source) -> Iterator[Read]:
    """`Normalize` of pictures that nothing scaled, or with statistics of bytes of pictures that were scaled."""
    if "Normalize" not in source.words or pictures.of_albumentations(source):
        return
    inside: set[ast.expr] = set()
    for each in pictures.composed(source):
        normalize, scaled = (
            each.step("Normalize"),
            each.step("ToTensor", "ConvertImageDtype", "ToDtype", "ToImageTensor"),
        )
        inside.update(each.steps)
        known = all(isinstance(s, ast.Call) and _is_of_torchvision(source, s) for s in each.steps)
        if normalize is None or not known or any(name in ("Lambda", "PILToTensor", "ToImage") for name in each.names):
            continue
        mean = pictures.numbers_of(argument_value(normalize, "mean", 0))
        if mean == DEVIATION or pictures.numbers_of(argument_value(normalize, "std", 1)) == MEAN:
            yield normalize, "mean and deviation of ImageNet are in each other's place", ()
        if scaled is None and mean and max(mean) < 1 and not _scales_by_hand(source):
            yield normalize, "the mean is that of values from 0 to 1, and no step scales the pictures to them", ()
        elif scaled is not None and mean and max(mean) > 3 and each.steps.index(scaled) < each.steps.index(normalize):
            yield normalize, "the mean is that of bytes, and the values are from 0 to 1 behind ToTensor", ()
        elif scaled is not None and mean and max(mean) < 1 and each.steps.index(scaled) > each.steps.index(normalize):
            yield normalize, "Normalize stands before ToTensor, which scales the values", ()
    for call in source.all_calls:
        short = trees.last_name(call.func)
        if (
            call in inside
            or short != "Normalize"
            or not _is_of_torchvision(source, call)
            or pictures.scales_somewhere_but_normalize(source)
        ):
            continue
        mean = pictures.numbers_of(argument_value(call, "mean", 0))
        if mean and max(mean) < 1 and CASTS.search(source.text):
            yield call, "the mean is that of values from 0 to 1, and nothing scales the pictures to them", ()


def _is_of_torchvision(source: Source, call: ast.Call) -> bool:
    """Whether a call makes a transform of torchvision, by its name or by what its module is usually called."""
    name = source.qualified(call.func)
    if name is not None:
        return name.startswith("torchvision.")
    return (
        source.definition(call.func) is None
        and re.match(r"((torchvision\.)?transforms?(\.v2)?|T|v2|tvt|tfms|tf)\.\w+$|\w+$", ast.unparse(call.func))
        is not None
    )


def _scales_by_hand(source: Source) -> bool:
    """Whether the text scales pictures at another place."""
    return bool(pictures.SCALES & source.words) or pictures.BY_HAND.search(source.text) is not None


def _twice(source: Source) -> Iterator[Read]:
    """Values that are divided by 255 again."""
    for node in (*source.nodes(ast.BinOp), *source.all_calls):
        value = pictures.divided(node)
        if value is None:
            continue
        inner = _without_methods(value)
        written = written_above(source, inner, node) if isinstance(inner, (ast.Name, ast.Attribute)) else None
        again = written is not None and written.place is None and pictures.divided(written.value) is not None
        scaled = inner if written is None or written.place is not None else _without_methods(written.value)
        edit = Replace(source.site(node), source.segment(source.site(value)))
        way = ("Divide them once", (edit,), 0.8)
        if again or pictures.divided(inner) is not None:
            yield node, "the values are divided by 255 twice", (way,)
        elif _is_scaled(scaled) or (
            isinstance(inner, ast.Name) and _is_batch(source, node, inner.id) and _all_scaled(source)
        ):
            yield node, "ToTensor has scaled the values to [0, 1], and they are divided by 255 again", (way,)


def _without_methods(expr: ast.expr) -> ast.expr:
    """What methods such as `float()` and `to(device)` are called on, or is made a tensor; a call of another function stays."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        if expr.func.attr not in SAME | MAKES or (expr.func.attr in MAKES and not expr.args):
            break
        expr = expr.args[0] if expr.func.attr in MAKES else expr.func.value
    return expr


def _centred(source: Source) -> Iterator[Read]:
    """Values that were divided by 255 and are brought around zero as bytes are; values that are bytes again, beside statistics of others."""
    for node in source.nodes(ast.BinOp):
        if isinstance(node.op, ast.Div) and isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Sub):
            middle, spread, value = node.left.right, node.right, node.left.left
            halves = [one.value for one in (middle, spread) if isinstance(one, ast.Constant)]
            if len(halves) != 2 or not {127.5, 128}.issuperset(halves):
                continue
            written = written_above(source, value, node) if isinstance(value, (ast.Name, ast.Attribute)) else None
            again = written is not None and written.place is None and pictures.divided(written.value) is not None
            if again or pictures.divided(value) is not None:
                yield node, "the values are divided by 255, and brought around zero as values up to 255 are", ()
        elif isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            number, picture = sides if isinstance(node.left, ast.Constant) else sides[::-1]
            back = isinstance(number, ast.Constant) and number.value == 255 and _is_scaled(picture)
            if back and any(
                each.step("Normalize") and "Lambda" not in each.names for each in pictures.composed(source)
            ):
                yield (
                    node,
                    "the values are brought back to 255, and the transform of the text normalizes them from 0 to 1",
                    (),
                )


def _is_scaled(expr: ast.expr) -> bool:
    """Whether an expression is a picture straight from `to_tensor` or `ToTensor()`."""
    if not isinstance(expr, ast.Call):
        return False
    maker = expr.func.func if isinstance(expr.func, ast.Call) else expr.func
    return trees.last_name(maker) in ("to_tensor", "ToTensor") and bool(expr.args)


def _is_batch(source: Source, node: ast.expr, name: str) -> bool:
    """Whether a name is that of the inputs which a loop over a loader gives."""
    for loop in training_loop.loops_around(source, node):
        if isinstance(loop, ast.For) and name in trees.stored_names(loop.target):
            return re.search(r"load|\bdl\b|_dl|batch", ast.unparse(loop.iter), re.IGNORECASE) is not None
    return False


def _all_scaled(source: Source) -> bool:
    """Whether every composed transform of the text scales the pictures, and none scales them back."""
    found = pictures.composed(source)
    return bool(found) and all(one.step("ToTensor") is not None and "Lambda" not in one.names for one in found)


def _bytes(source: Source) -> Iterator[Read]:
    """The bytes of a data set of torchvision that become floating-point numbers and are not scaled."""
    for node in source.nodes(ast.Attribute):
        if node.attr not in READ or not isinstance(node.ctx, ast.Load):
            continue
        made = source.constructor(node.value)
        name = trees.last_name(made.func) if made is not None else ""
        if name not in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST", "CIFAR10", "CIFAR100"):
            continue
        statement = source.statement_of(node)
        text = ast.unparse(statement)
        if not isinstance(statement, ast.Assign) or not CASTS.search(text) or _scaled_later(source, statement):
            continue
        value = statement.value
        edit = Replace(source.site(value), f"{source.segment(source.site(value))} / 255")
        yield (
            node,
            f"`{ast.unparse(node)}` are bytes, which no transform touches: they are used without being scaled",
            (("Scale them", (edit,), 0.8),),
        )


def _scaled_later(source: Source, statement: ast.Assign) -> bool:
    """Whether a statement scales its values, or what is done with its target below does."""
    if pictures.BY_HAND.search(ast.unparse(statement)) or pictures.OWN.search(ast.unparse(statement)):
        return True
    target = ast.unparse(statement.targets[0])
    nodes: list[ast.expr | ast.stmt] = [*source.nodes(ast.BinOp), *source.nodes(ast.AugAssign), *source.all_calls]
    for node in nodes:
        text = ast.unparse(node) if node.lineno > statement.lineno else ""
        reads = text and re.search(rf"(?<![\w.]){re.escape(target)}\b", text)
        if reads and (pictures.BY_HAND.search(text) or pictures.OWN.search(text) or DIVIDES.search(text)):
            return True
    return False


def _arrays(source: Source) -> Iterator[Read]:
    """Arrays of pictures that become tensors of floating-point numbers where nothing of the text scales any."""
    if pictures.scales_somewhere(source) or "transform" in source.text.lower() or pictures.of_albumentations(source):
        return
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        if (
            name not in ("torch.from_numpy", "torch.tensor", "torch.Tensor", "torch.FloatTensor", "torch.as_tensor")
            or not call.args
        ):
            continue
        inside = axis_layouts.layout(source, call.args[0], call)
        if (inside is None or not inside.pictures) and not _is_read(source, call.args[0]):
            continue
        statement = source.statement_of(call)
        if (
            CASTS.search(ast.unparse(statement))
            or name in ("torch.Tensor", "torch.FloatTensor")
            or CASTS.search(source.text)
        ):
            yield call, "pictures with values from 0 to 255 become a tensor, and nothing scales them", ()
            return


def _is_read(source: Source, expr: ast.expr, depth: int = 12) -> bool:
    """Whether an array is a picture as it was read from a file or a camera, cut out, turned or in another size."""
    if depth == 0:
        return False
    if isinstance(expr, (ast.Name, ast.Attribute)):
        written = written_above(source, expr, expr)
        if written is None or OF_TARGET.search(ast.unparse(expr)):
            return False
        is_part = not written.place and not written.nested
        return is_part and written.value is not expr and _is_read(source, written.value, depth - 1)
    if isinstance(expr, ast.Subscript):
        return isinstance(expr.slice, (ast.Slice, ast.Tuple)) and _is_read(source, expr.value, depth - 1)
    if not isinstance(expr, ast.Call):
        return False
    name, text = trees.last_name(expr.func), ast.unparse(expr.func)
    if name in ("imread", "cvtColor", "grab") or text.endswith("Image.open"):
        return "HSV" not in ast.unparse(expr) and "UNCHANGED" not in ast.unparse(expr)
    if name not in KEEPS and "crop" not in name:
        return False
    of = expr.func.value if isinstance(expr.func, ast.Attribute) else None
    return any(one is not None and _is_read(source, one, depth - 1) for one in (of, *expr.args[:1]))
