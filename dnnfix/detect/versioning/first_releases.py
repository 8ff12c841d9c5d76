"""TensorFlow calls in the argument order and with the parameter names of the releases before 1.0, and their form
today.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.names import Uses
from dnnfix.records import Edit, RemoveArgument, RenameArgument, SetArgument
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source

_CROSS_ENTROPIES = (
    "nn.softmax_cross_entropy_with_logits",
    "nn.sparse_softmax_cross_entropy_with_logits",
    "nn.sigmoid_cross_entropy_with_logits",
)


@record
class Order:
    """One function: its parameters before 1.0, and those of today, of which the first `placed` are given by place."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    placed: int = 0


_ORDERS = {
    "concat": Order(("concat_dim", "values"), ("values", "axis"), (("concat_dim", "axis"),), 2),
    "split": Order(
        ("split_dim", "num_split", "value"),
        ("value", "num_or_size_splits", "axis"),
        (("split_dim", "axis"), ("num_split", "num_or_size_splits")),
        3,
    ),
    "batch_matmul": Order(
        ("x", "y", "adj_x", "adj_y"),
        ("a", "b", "adjoint_a", "adjoint_b"),
        (("x", "a"), ("y", "b"), ("adj_x", "adjoint_a"), ("adj_y", "adjoint_b")),
        2,
    ),
    **dict.fromkeys(_CROSS_ENTROPIES, Order(("logits", "labels"), ("logits", "labels"), (("targets", "labels"),))),
    **dict.fromkeys(
        ("nn.nce_loss", "nn.sampled_softmax_loss"),
        Order(("weights", "biases", "inputs", "labels"), ("weights", "biases", "labels", "inputs"), (), 4),
    ),
    "image_summary": Order(
        ("tag", "tensor", "max_images"),
        ("name", "tensor", "max_outputs"),
        (("tag", "name"), ("max_images", "max_outputs")),
        3,
    ),
    "scalar_summary": Order(("tags", "values"), ("name", "tensor"), (("tags", "name"), ("values", "tensor")), 2),
    "histogram_summary": Order(("tag", "values"), ("name", "values"), (("tag", "name"),), 2),
}
"""By function, where its arguments are now. Later releases refused calls in the old order or failed on them."""

_LATER = (
    "tensorflow.GradientTape",
    "tensorflow.Module",
    "tensorflow.function",
    "tensorflow.data.",
    "tensorflow.keras.",
)
"""What came to TensorFlow after 1.0: who uses it writes the arguments in today's order."""


@record
class Reordered:
    """A call in today's order: what it is given by name of today's parameters, and how many of them by place."""

    call: ast.Call
    written: str
    given: dict[str, ast.expr]
    placed: int
    order: Order

    @property
    def what(self) -> str:
        """The message of the finding."""
        leaf = self.written.rpartition(".")[2]
        if leaf.endswith("_summary"):
            return f"{leaf} has other argument names since TensorFlow 1.0"
        return f"{leaf} is called with the argument order from before TensorFlow 1.0"

    def edits(self, source: Source) -> Iterator[Edit]:
        """Edits that leave alone what need not move, so that it can be changed for other reasons."""
        site = source.site(self.call)
        kept = 0
        for place, argument in enumerate(self.call.args):
            name = next(name for name, value in self.given.items() if value is argument)
            if kept < self.placed and self.order.new[kept] == name:
                kept += 1
                continue
            yield RemoveArgument(site, "", place)
            yield SetArgument(site, name, source.segment(source.site(argument)))
        for keyword in self.call.keywords:
            today = dict(self.order.renamed).get(keyword.arg or "", keyword.arg or "")
            if today != keyword.arg:
                yield RenameArgument(site, str(keyword.arg), today)


def reordered(source: Source, call: ast.Call, written: str, older: bool, graph: bool = False) -> Reordered | None:
    """The call in today's order where it is certainly in that of before 1.0; `older` where the program is from then.

    In a program of version 1, which makes a `graph`, cross entropies had to be given their arguments by name.
    """
    rest = written.removeprefix("tensorflow.")
    order = _ORDERS.get(rest)
    if order is None or any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    renamed = dict(order.renamed)
    keywords = {str(k.arg): k.value for k in call.keywords}
    if rest in ("concat", "split"):
        certain = _axis_first(call, keywords, order.old[0])
    elif rest in _CROSS_ENTROPIES:
        plain = len(call.args) == 2 and keywords.keys().isdisjoint({"labels", "logits"})
        certain = "targets" in keywords or plain and (older or graph)
    elif rest == "batch_matmul":
        certain = len(call.args) > 2 or not renamed.keys().isdisjoint(keywords)
    elif rest in ("nn.nce_loss", "nn.sampled_softmax_loss"):
        certain = older and len(call.args) >= 4 or _labels_last(source, call)
    else:
        certain = not renamed.keys().isdisjoint(keywords)
    if not certain:
        return None
    found = dict(zip(order.old, call.args, strict=False)) | keywords
    given = {renamed.get(name, name): value for name, value in found.items()}
    if rest in ("concat", "split") and len(given.keys() & set(order.new)) < len(order.new):
        return None
    more = call.args[len(order.old) :]
    if more and (rest not in ("nn.nce_loss", "nn.sampled_softmax_loss") or len(more) > len(_SAMPLED)):
        return None
    given.update(dict(zip(_SAMPLED, more, strict=False)))
    first = [name for name in order.new if name in given]
    ordered = {name: given[name] for name in [*first, *(name for name in given if name not in first)]}
    placed = 0
    for name in order.new[: order.placed]:
        if name not in given:
            break
        placed += 1
    return Reordered(call, written, ordered, placed, order)


_SAMPLED = ("num_sampled", "num_classes", "num_true")
"""What follows in both orders of the losses that draw classes."""


def boolean_axes(call: ast.Call, written: str) -> tuple[ast.expr, str] | None:
    """`tf.reverse(x, [False, True])` of before 1.0, which marked the axes: the list, and what it is today."""
    marks = argument_value(call, "dims", 1)
    if written != "tensorflow.reverse" or not isinstance(marks, ast.List) or not marks.elts:
        return None
    values = [each.value if isinstance(each, ast.Constant) else None for each in marks.elts]
    if not all(isinstance(value, bool) for value in values):
        return None
    return marks, str([place for place, value in enumerate(values) if value])


def is_older(uses: Uses) -> bool:
    """Whether a program calls functions that TensorFlow 1.0 removed, and none that came after it: it is from before."""
    names = {uses.source.written(node) or "" for node in uses.attributes()}
    if any(name.startswith(_LATER) for name in names):
        return False
    targets = (uses.target(name) for name in names if name.startswith("tensorflow.") and name.count(".") < 3)
    return any(target is not None and target.change.removed.startswith(("0.", "1.")) for target in targets)


def _axis_first(call: ast.Call, keywords: dict[str, ast.expr], old: str) -> bool:
    """Whether the first argument of a call is an axis: an integer, with an argument behind it that is not one."""
    if old in keywords:
        return True
    if not keywords.keys().isdisjoint({"axis", "num_or_size_splits"}) or len(call.args) + len(keywords) < 2:
        return False
    last = call.args[-1] if len(call.args) > 1 else next(iter(keywords.values()))
    return bool(call.args) and _whole(call.args[0]) and not _whole(last)


def _labels_last(source: Source, call: ast.Call) -> bool:
    """Whether the third argument is what was looked up for the inputs, and the fourth one is fed."""
    if len(call.args) < 4:
        return False
    made = [source.constructor(argument) for argument in call.args[2:4]]
    names = [(source.written(one.func) or "").rpartition(".")[2] if one is not None else "" for one in made]
    return names == ["embedding_lookup", "placeholder"]


def _whole(node: ast.expr) -> bool:
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, int) and not isinstance(value.value, bool)
