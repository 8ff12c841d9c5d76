"""An array is reshaped to sizes that it has not: those of another array, or of other data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, prod

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    known,
    shape_of,
    size_of,
)

REFUSED = (
    re.compile(r"cannot reshape array of size (\d+) into shape"),
    re.compile(r"Input to reshape is a tensor with (\d+) values, but the requested shape"),
)
"""The words of NumPy and TensorFlow for it, with the number of values that there are."""

CHANNELS = (1, 3, 4)
"""Numbers of channels that images come with: grey, colour, colour with transparency."""

FUNCTIONS = frozenset({"numpy.reshape", "tensorflow.reshape"})

Change = tuple[tuple[int, str], ...]
"""Places in the shape with what is to stand there."""


@dataclass(frozen=True, slots=True)
class _Reshape:
    """The array, its shape, and the sizes asked for, as they are written and as numbers (-1 for the one left open)."""

    array: ast.expr
    shape: tuple[int, ...]
    stated: tuple[ast.expr, ...]
    sizes: tuple[int, ...]


class ReshapedToForeignSizes(FaultTemplate[_Reshape]):
    """An array is reshaped to sizes that do not multiply to its own.

    `x_test.reshape(x_train.shape[0], 28, 28, 1)` has the rows of another array, `reshape(-1, 28, 28, 3)` the channels of
    other images, `tf.reshape(h, [-1, 7 * 7 * 64])` the size that another image would have here. One size is changed so
    that every sample keeps its values; where several ones could be, nothing is proposed.

    Fix safety: unsafe. The program did not run before; the layers behind may have to take another size as well.

    References: numpy.reshape, tf.reshape.
    """

    code = "DNF145"
    name = "reshaped-to-foreign-sizes"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "an array of {shape} is reshaped to {sizes}"
    needs_run = True
    declined = "several sizes, or none, could be changed to fit the array"

    def faults(self, subject: Subject) -> Faults[_Reshape]:
        crash = subject.crash
        said = next(filter(None, (one.search(crash.message) for one in REFUSED)), None) if crash is not None else None
        node = subject.node(crash.site) if crash is not None else None
        if crash is None or said is None or not isinstance(node, ast.Call):
            return
        fault = _read(subject, node)
        if fault is not None and prod(fault.shape) == int(said[1]):
            yield crash.site, fault

    def report(self, site: Site, fault: _Reshape) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"shape": list(fault.shape), "sizes": list(fault.sizes)},
            shape=fault.shape,
            sizes=fault.sizes,
        )

    def repairs(self, subject: Subject, fault: _Reshape) -> Repairs:
        rows = _rows(subject, fault)
        changes = [rows] if rows else list(_sizes(fault))
        colours = [change for change in changes if _is_channels(fault, change)]
        changes = colours if len(colours) == 1 else changes
        if len(changes) == 1:
            edits = tuple(Replace(subject.source.site(fault.stated[place]), text) for place, text in changes[0])
            yield f"Reshape with {' and '.join(text for _, text in changes[0])}", edits, 0.9

    examples = (
        Example(
            "the rows of another array",
            """\
import numpy as np
import torch

train, test = np.random.rand(60, 16), np.random.rand(25, 16)
train = train.reshape(train.shape[0], 4, 4, 1)
- test = test.reshape(train.shape[0], 4, 4, 1)
+ test = test.reshape(test.shape[0], 4, 4, 1)
torch.from_numpy(test)
""",
            runs=True,
        ),
        Example(
            "channels that grey images have not",
            """\
import numpy as np
import torch

HEIGHT, WIDTH, CHANNELS = 8, 10, 3


def prepare(images):
-     return torch.from_numpy(np.reshape(images, (-1, HEIGHT, WIDTH, CHANNELS)))
+     return torch.from_numpy(np.reshape(images, (-1, HEIGHT, WIDTH, 1)))


prepare(np.zeros((5, 8, 10)))
""",
            runs=True,
        ),
        Example(
            "rows of larger square images",
            """\
import numpy as np
import torch

pixels = np.random.rand(7, 3072)
- images = pixels.reshape((len(pixels), 28, 28, 3))
+ images = pixels.reshape((len(pixels), 32, 32, 3))
x = torch.from_numpy(images)
""",
            runs=True,
        ),
        Example(
            "the flattened size of another image",
            """\
import tensorflow as tf

h = tf.zeros([6, 5, 5, 8])
w = tf.Variable(tf.ones([200, 3]))
- flat = tf.reshape(h, [-1, 7 * 7 * 8])
+ flat = tf.reshape(h, [-1, 200])
print(tf.matmul(flat, w))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "reshapes that hold",
            """\
import numpy as np
import torch

x = np.zeros((6, 28, 28))
torch.from_numpy(x.reshape(6, 784)), torch.from_numpy(np.reshape(x, (-1, 28, 28, 1)))
""",
            runs=True,
        ),
        Reject(
            "an array of unknown making",
            """\
import numpy as np
import torch

torch.from_numpy(np.array([row for row in range(10)]).reshape(3, 4))
""",
            runs=True,
        ),
    )


def _read(subject: Subject, node: ast.Call) -> _Reshape | None:
    if subject.source.qualified(node.func) in FUNCTIONS:
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("shape", "newshape"))]
        array, stated = (given[0], given[1:]) if given else (None, [])
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "reshape" and not node.keywords:
        array, stated = node.func.value, list(node.args)
    else:
        return None
    if len(stated) == 1 and isinstance(stated[0], (ast.Tuple, ast.List)):
        stated = stated[0].elts
    shape = known(shape_of(subject, array)) if array is not None else None
    sizes = [size_of(subject, one) for one in stated]
    if array is None or not shape or not stated or None in sizes or sizes.count(-1) > 1:
        return None
    return _Reshape(array, shape, tuple(stated), tuple(size for size in sizes if size is not None))


def _rows(subject: Subject, fault: _Reshape) -> Change:
    """The number of the array's own rows in the place of that of another array, where nothing else is wrong."""
    if fault.sizes[0] < 0 or fault.sizes[0] == fault.shape[0] or prod(fault.sizes[1:]) != prod(fault.shape[1:]):
        return ()
    own, first = subject.source.segment(subject.source.site(fault.array)), fault.stated[0]
    if not isinstance(fault.array, ast.Name):
        return ((0, "-1"),)
    match first:
        case ast.Subscript(value=ast.Attribute(attr="shape", value=ast.Name())):
            return ((0, f"{own}.shape[0]"),)
        case ast.Call(func=ast.Name(id="len")):
            return ((0, f"len({own})"),)
    return ((0, "-1"),)


def _is_channels(fault: _Reshape, change: Change) -> bool:
    """Whether one number of channels is exchanged for another at the end of the shape of images."""
    place, text = change[0]
    last = len(fault.sizes) - 1
    return len(change) == 1 and place == last >= 3 and fault.sizes[last] in CHANNELS and int(text) in CHANNELS


def _sizes(fault: _Reshape) -> Iterator[Change]:
    """Changes of one size, or of two equal ones in a row, with which each sample keeps its values."""
    if fault.sizes[0] not in (-1, fault.shape[0]) or -1 in fault.sizes[1:]:
        return
    values, sizes = prod(fault.shape[1:]), fault.sizes
    for place in range(1, len(sizes)):
        others = prod(sizes[1:place]) * prod(sizes[place + 1 :])
        if others and values % others == 0 and values // others != sizes[place]:
            yield ((place, str(values // others)),)
    for place in range(1, len(sizes) - 1):
        others = prod(sizes[1:place]) * prod(sizes[place + 2 :])
        side = isqrt(values // others) if others else 0
        if side > 1 and sizes[place] == sizes[place + 1] != side and side * side * others == values:
            yield ((place, str(side)), (place + 1, str(side)))
