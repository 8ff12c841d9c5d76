"""A weight that a TensorFlow program makes itself does not fit what it is convolved or multiplied with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

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
    origins,
    shape_of,
    size_of,
)

Shape = tuple[int | None, ...]

CONVOLUTIONS = {
    "tensorflow.nn.conv1d": 1,
    "tensorflow.nn.conv2d": 2,
    "tensorflow.nn.conv3d": 3,
    "tensorflow.nn.convolution": None,
}
"""Convolutions of TensorFlow with the number of axes that their windows move along; `None` for any number."""

PRODUCTS = frozenset({"tensorflow.matmul", "tensorflow.linalg.matmul"})

LATER = ("filter", "channel", "feature", "unit", "out", "depth", "kernels", "maps")
"""Words in the name of a size that say that it counts filters, which come last."""


@dataclass(frozen=True, slots=True)
class _Weight:
    """The list that states a weight's shape, the sizes in it, and the axis that has to have another size."""

    stated: ast.List | ast.Tuple
    sizes: tuple[int, ...]
    axis: int
    wanted: int
    gives: int | None


class FilterDoesNotFit(FaultTemplate[_Weight]):
    """The weight of a convolution or a product has a shape that does not go with what it is used on.

    TensorFlow's convolutions take filters as `(width, channels, filters)` and `(height, width, channels, filters)`, other
    libraries put the filters first; a product takes `(inputs, outputs)`. Where another order of the same sizes fits, the
    order was wrong; else the size that meets the input is.

    Fix safety: unsafe. The weight gets another shape; saved weights do not fit any more.

    References: tf.nn.conv1d, tf.nn.conv2d (`filters`), tf.matmul.
    """

    code = "DNF240"
    name = "filter-does-not-fit"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "a weight of shape {shape} does not go with the {wanted} values per place that it is used on"
    needs_run = True
    declined = "the shape of the weight is not written where it is made"

    def faults(self, subject: Subject) -> Faults[_Weight]:
        node = subject.node(subject.crash.site) if subject.crash is not None else None
        fault = _weight(subject, node) if node is not None else None
        if fault is not None:
            yield subject.source.site(fault.stated), fault

    def report(self, site: Site, fault: _Weight) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"shape": list(fault.sizes), "wanted": fault.wanted},
            shape=fault.sizes,
            wanted=fault.wanted,
        )

    def repairs(self, subject: Subject, fault: _Weight) -> Repairs:
        texts = [subject.source.segment(subject.source.site(one)) for one in fault.stated.elts]
        orders = list(_orders(fault, texts))
        for order in orders[:2]:
            edits = tuple(
                Replace(subject.source.site(one), texts[place])
                for one, place in zip(fault.stated.elts, order, strict=True)
                if texts[place] != subject.source.segment(subject.source.site(one))
            )
            yield f"Give the sizes in the order ({', '.join(texts[place] for place in order)})", edits, 0.9
        if not orders:
            one = fault.stated.elts[fault.axis]
            yield f"Make the weight take {fault.wanted}", (Replace(subject.source.site(one), str(fault.wanted)),), 0.8

    examples = (
        Example(
            "filters first in a convolution over time",
            """\
import tensorflow as tf

STEPS, CHANNELS, WIDTH, FILTERS = 30, 2, 5, 8
signal = tf.random.normal([4, STEPS, CHANNELS])
- kernel = tf.Variable(tf.random.normal([FILTERS, CHANNELS, WIDTH]))
+ kernel = tf.Variable(tf.random.normal([WIDTH, CHANNELS, FILTERS]))
bias = tf.Variable(tf.zeros([FILTERS]))
print((tf.nn.conv1d(signal, kernel, stride=1, padding="SAME") + bias).shape)
""",
            runs=True,
        ),
        Example(
            "colour images for filters of grey ones",
            """\
import tensorflow as tf

images = tf.zeros([2, 12, 12, 3])
- w = tf.Variable(tf.random.truncated_normal([5, 5, 1, 16], stddev=0.1))
+ w = tf.Variable(tf.random.truncated_normal([5, 5, 3, 16], stddev=0.1))


def features(x):
    return tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"))


features(images)
""",
            runs=True,
        ),
        Example(
            "a product with a weight on its side, in a class",
            """\
import tensorflow as tf


class Readout:
    def __init__(self, inputs, classes):
-         self.w = tf.Variable(tf.ones([classes, inputs]))
+         self.w = tf.Variable(tf.ones([inputs, classes]))

    def __call__(self, x):
        return tf.matmul(x, self.w)


print(Readout(6, 3)(tf.ones([4, 6])))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "weights that fit, groups of channels among them",
            """\
import tensorflow as tf

x = tf.zeros([2, 8, 8, 6])
tf.nn.conv2d(x, tf.Variable(tf.ones([3, 3, 3, 4])), 1, "SAME")
tf.matmul(tf.ones([4, 6]), tf.Variable(tf.ones([6, 3])))
""",
            runs=True,
        ),
        Reject(
            "a crash in a product of data alone",
            """\
import tensorflow as tf

a, b = tf.ones([4, 6]), tf.ones([5, 2])
tf.matmul(a, b)
""",
            runs=True,
        ),
    )


def _weight(subject: Subject, node: ast.expr | ast.stmt) -> _Weight | None:
    gives: int | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        added = shape_of(subject, node.right)
        gives = added[-1] if added is not None and len(added) == 1 else None
        if gives is None:
            return None
        node = node.left
    used = _use(subject, node)
    if used is None:
        return None
    given, weight, spatial = used
    came, shape = shape_of(subject, given), shape_of(subject, weight)
    if came is None or shape is None or not came or came[-1] is None or None in shape or len(shape) < 2:
        return None
    sizes = tuple(size for size in shape if size is not None)
    if spatial is not None and len(sizes) != spatial + 2:
        return None
    axis = len(sizes) - 2
    grouped = spatial != 0 and _in_groups(came[-1], sizes[axis], sizes[-1])
    if (sizes[-1] == gives) if gives is not None else (sizes[axis] == came[-1] or grouped):
        return None
    stated = _stated(subject, weight, sizes)
    if stated is None:
        return None
    gives = gives if gives is not None else _added(subject, node)
    found = _Weight(stated, sizes, axis, came[-1], gives)
    meets = sizes[axis] == came[-1]
    return None if meets and not any(_orders(found, [ast.unparse(one) for one in stated.elts])) else found


def _in_groups(channels: int, taken: int, filters: int) -> bool:
    """Whether a convolution takes the channels in groups: as many as divide both them and the filters."""
    return taken > 0 and channels % taken == 0 and filters % (channels // taken) == 0


def _use(subject: Subject, node: ast.expr | ast.stmt) -> tuple[ast.expr, ast.expr, int | None] | None:
    """What a weight is used on, the weight, and the number of axes that it moves along (0 for a product)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right, 0
    if not isinstance(node, ast.Call):
        return None
    name = subject.source.qualified(node.func) or ""
    if name in PRODUCTS and len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1], 0
    if name not in CONVOLUTIONS:
        return None
    given: list[ast.expr | None] = list(node.args[:2])
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    if "data_format" in named:
        return None
    first = given[0] if given else named.get("input")
    second = given[1] if len(given) > 1 else named.get("filters", named.get("filter"))
    return (first, second, CONVOLUTIONS[name]) if first is not None and second is not None else None


def _stated(subject: Subject, weight: ast.expr, sizes: tuple[int, ...]) -> ast.List | ast.Tuple | None:
    """The list of these sizes in the expression that made a variable."""
    for made in origins(subject, weight):
        name = subject.source.qualified(made.func) or "" if isinstance(made, ast.Call) else ""
        if not name.startswith("tensorflow.") or name.rpartition(".")[2] not in ("Variable", "get_variable"):
            continue
        lists = [
            one for one in ast.walk(made) if isinstance(one, (ast.List, ast.Tuple)) and _states(subject, one, sizes)
        ]
        return lists[0] if len(lists) == 1 and isinstance(lists[0], (ast.List, ast.Tuple)) else None
    return None


def _states(subject: Subject, listed: ast.List | ast.Tuple, sizes: tuple[int, ...]) -> bool:
    """Whether a list has as many elements as there are sizes, and none that is known to be another one."""
    if len(listed.elts) != len(sizes):
        return False
    known = [size_of(subject, one) for one in listed.elts]
    return all(one in (None, size) for one, size in zip(known, sizes, strict=True))


def _added(subject: Subject, node: ast.expr | ast.stmt) -> int | None:
    """The number of values that is added to what the operation gives: the number of its outputs."""
    around = subject.source.parent(node)
    if not isinstance(around, ast.BinOp) or not isinstance(around.op, ast.Add):
        return None
    shape = shape_of(subject, around.right if around.left is node else around.left)
    return shape[-1] if shape is not None and len(shape) == 1 else None


def _orders(fault: _Weight, texts: list[str]) -> Iterator[tuple[int, ...]]:
    """The orders of the sizes in which the weight fits, the likeliest first."""
    places = range(len(texts))
    fits = []
    for order in permutations(places):
        last = fault.sizes[order[-1]]
        if fault.sizes[order[fault.axis]] != fault.wanted or (fault.gives is not None and last != fault.gives):
            continue
        if fault.gives is None and order[fault.axis] != len(places) - 1 and any(text.isdigit() for text in texts):
            continue  # the side of a window that happens to be as long as there are channels
        named = any(word in texts[order[-1]].lower() for word in LATER)
        moved = sum(place != now for place, now in zip(order, places, strict=True))
        fits.append(((not named, moved, order), order))
    found: set[tuple[str, ...]] = set()
    for _, order in sorted(fits):
        written = tuple(texts[place] for place in order)
        if written not in found:
            found.add(written)
            yield order
