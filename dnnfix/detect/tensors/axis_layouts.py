"""The order of the axes of tensors, as the text tells: by what their sizes are called, by what made them, by how they were permuted.

`b, c, h, w = x.shape` tells it of `x`; a recurrent layer of its output; a library of pictures of its arrays. A `view` keeps the order of
the values, so that sizes in another order mean values of other samples. What the text leaves open is `None`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import function_around
from dnnfix.detect.written import Written, all_written, last_written, written_above
from dnnfix.network.activations import ACTIVATION_FORMS
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value, keyword_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_true, last_name, position, within

BATCH, STEPS, LAYERS, HIDDEN = "<batch>", "<steps>", "<layers>", "<hidden>"
HEIGHT, WIDTH, CHANNELS = "<height>", "<width>", "<channels>"
ROLES = {
    BATCH: re.compile(r"(^|[._])(\w*batch(_?size|_?sz|_?len)?|bs|bsz|bsize|b|n_?batch(es)?)$", re.IGNORECASE),
    STEPS: re.compile(
        r"(^|[._])(\w*(seq|steps?|time)(_?(len(gth)?|size|steps?))?|t|timesteps|look_?back|maxlen)$", re.IGNORECASE
    ),
    LAYERS: re.compile(r"(^|[._])(n|num|nb)?_?(layers|directions|layer_num|num_dir\w*)$", re.IGNORECASE),
    HIDDEN: re.compile(r"(^|[._])\w*(hid(den)?)_?(size|dim|units)?\w*$", re.IGNORECASE),
    CHANNELS: re.compile(r"(^|[._])((n|num|in|nb)_?)?(ch|chans?|channels?|c)$", re.IGNORECASE),
}
"""How sizes of these axes are called."""
KEPT = words("""contiguous float double half long int bool cpu cuda to detach clone type type_as requires_grad_ relu sigmoid tanh
    softmax log_softmax masked_fill masked_fill_ div mul add sub clamp exp abs astype numpy copy dropout relu_ round byte data gelu
    normalize layer_norm leaky_relu elu silu""")
"""Methods and functions that give a tensor with the same axes."""
READ_PICTURES = words("""cv2.imread PIL.Image.open imageio.imread imageio.v2.imread skimage.io.imread matplotlib.pyplot.imread
    matplotlib.image.imread scipy.misc.imread skimage.transform.resize cv2.resize cv2.cvtColor torchvision.io.read_video""")
"""Functions whose arrays have height, width and channels in this order."""
ARRAYS = words(
    "array asarray stack from_numpy tensor as_tensor Tensor FloatTensor ascontiguousarray float32 uint8 expand_dims"
)
COPIES = words("asarray from_numpy as_tensor ascontiguousarray")
"""Those of them that make no other axes."""
RECURRENT = re.compile(r"^torch\.nn\.(LSTM|GRU|RNN)$")
RECURRENT_NAME = re.compile(r"(^|\.)(\w*_)?(bi)?(lstm|gru|rnn)\d*$", re.IGNORECASE)
POINTWISE_LAYER = re.compile(
    r"(drop(out)?|norm|ln|bn|relu|act(ivation)?|fc|linear|proj|lin|dense|query|key|value|q|k|v|wq|wk|wv|w_[qkv])\w*\d*$",
    re.IGNORECASE,
)
LOADER = re.compile(r"load(er)?\b|_loader|dataload", re.IGNORECASE)
VIEWS = words("view reshape")
IN_ORDER = " × "
"""What joins the names of axes that are one, where the order is known."""
PATCHES = "<patches>"
UNNAMED = "axis "
"""How the axes of a tensor of which nothing else is known are called, with their numbers."""
DEPTH = 18
MOST_CALLERS = 3


@record
class Layout:
    """The sizes of a tensor's axes by what they are called, in their order; `more` tells that others may follow."""

    axes: tuple[str, ...]
    more: bool = False
    many_layers: bool | None = None
    """For the last state of a recurrent layer: whether it has several layers or directions; `None` where that is not seen."""
    pictures: bool = False
    attended: bool = False
    """Whether it is that of what attention gave."""
    width: int | None = None
    """How many features the last axis has, where a recurrent layer tells."""
    also: tuple[tuple[str, str], ...] = ()
    """What else sizes of its axes are called: pairs of such a text and the axis."""


@record
class Viewing:
    """A call of `view` or `reshape`: what it is called on, and the sizes that it is given."""

    call: ast.Call
    base: ast.expr
    sizes: tuple[ast.expr, ...]


@once
def viewings(source: Source) -> tuple[Viewing, ...]:
    """The calls of `view` and `reshape` of the text, in source order."""
    found = []
    for call in source.all_calls:
        one = _viewing(source, call)
        if one is not None:
            found.append(one)
    return tuple(found)


def _viewing(source: Source, call: ast.Call) -> Viewing | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in (*VIEWS, "resize"):
        return None
    name = source.qualified(call.func) or ""
    base: ast.expr | None = call.func.value
    sizes: Sequence[ast.expr] = call.args
    if name in ("torch.reshape", "numpy.reshape"):
        base, sizes = argument_value(call, "input", 0), call.args[1:]
        if name == "numpy.reshape" and base is None:
            base = keyword_value(call, "a")
    elif ast.unparse(call.func) == "np.reshape" and call.args:
        base, sizes = call.args[0], call.args[1:]
    elif name or call.func.attr == "resize":
        return None
    if not sizes:
        sizes = [k.value for k in call.keywords if k.arg in ("shape", "size", "newshape")]
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    if base is None or not sizes or any(isinstance(one, ast.Starred) for one in sizes):
        return None
    if call.keywords and any(k.arg == "order" for k in call.keywords):
        return None
    return Viewing(call, base, tuple(sizes))


# --- what sizes are called


def read_of_size(expr: ast.expr) -> tuple[ast.expr, int] | None:
    """The tensor and the axis that `x.size(1)`, `x.shape[1]` or `len(x)` reads."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "size":
        given = argument_value(expr, "dim", 0)
        axis = whole_number(given) if given is not None else None
        return (expr.func.value, axis) if axis is not None else None
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "len" and len(expr.args) == 1:
        return expr.args[0], 0
    if isinstance(expr, ast.Subscript):
        axis = whole_number(expr.slice)
        if axis is not None and _is_shape(expr.value):
            value = expr.value
            return (value.func.value if isinstance(value, ast.Call) else value.value), axis  # type: ignore[attr-defined]
    return None


def _read_through_name(source: Source, expr: ast.expr) -> tuple[ast.expr, int] | None:
    """The tensor and the axis that `x.size(1)` reads, or `shape[1]` after `shape = x.shape`, as long as `x` is the same."""
    if not isinstance(expr, ast.Subscript) or not isinstance(expr.value, ast.Name):
        return read_of_size(expr)
    axis, written = whole_number(expr.slice), written_above(source, expr.value, expr)
    if axis is None or written is None or written.place is not None or not _is_shape(written.value):
        return None
    value = written.value
    tensor = value.func.value if isinstance(value, ast.Call) else value.value  # type: ignore[attr-defined]
    last = last_written(source, tensor, expr)
    is_same = last is None or position(last)[:2] < position(written.statement)[:2]
    return (tensor, axis) if is_same else None


def _is_shape(expr: ast.expr) -> bool:
    """Whether an expression is `x.shape` or `x.size()`."""
    if isinstance(expr, ast.Call):
        return isinstance(expr.func, ast.Attribute) and expr.func.attr == "size" and not expr.args and not expr.keywords
    return isinstance(expr, ast.Attribute) and expr.attr == "shape"


def whole_number(expr: ast.expr | None) -> int | None:
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
        inner = whole_number(expr.operand)
        return None if inner is None else -inner
    is_number = isinstance(expr, ast.Constant) and isinstance(expr.value, int) and not isinstance(expr.value, bool)
    return expr.value if is_number and isinstance(expr, ast.Constant) and isinstance(expr.value, int) else None


@record
class _Reading:
    """The statement that reads sizes of a tensor into names: `names` by axis, whether all axes are read."""

    statement: ast.stmt
    names: tuple[tuple[int, str], ...]
    whole: bool


@once
def _readings(source: Source) -> dict[tuple[ast.AST | None, str], list[_Reading]]:
    """The readings of sizes by function and text of the tensor."""
    found: dict[tuple[ast.AST | None, str], list[_Reading]] = {}
    for node in source.nodes(ast.Assign):
        target, value = node.targets[0], node.value
        around = function_around(source, node)
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for one, given in zip(target.elts, value.elts, strict=True):
                    read = read_of_size(given)
                    if read is not None and isinstance(one, ast.Name) and read[1] >= 0:
                        key = around, ast.unparse(read[0])
                        found.setdefault(key, []).append(_Reading(node, ((read[1], one.id),), False))
                continue
            cut = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
            shape = value.value if cut and isinstance(value, ast.Subscript) else value
            from_start = not cut or (
                isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) and value.slice.lower is None
            )
            if _is_shape(shape) and from_start and not any(isinstance(e, ast.Starred) for e in target.elts):
                tensor = shape.func.value if isinstance(shape, ast.Call) else shape.value  # type: ignore[attr-defined]
                names = tuple((i, ast.unparse(e)) for i, e in enumerate(target.elts))
                found.setdefault((around, ast.unparse(tensor)), []).append(_Reading(node, names, not cut))
        elif isinstance(target, ast.Name):
            read = read_of_size(value)
            if read is not None and read[1] >= 0:
                key = around, ast.unparse(read[0])
                found.setdefault(key, []).append(_Reading(node, ((read[1], target.id),), False))
    return found


# --- layouts


def layout(source: Source, expr: ast.expr, at: ast.AST, depth: int = DEPTH) -> Layout | None:
    """The axes of a tensor at a place; `None` where the text does not tell."""
    if depth <= 0:
        return None
    if isinstance(expr, (ast.Name, ast.Attribute)):
        if isinstance(expr, ast.Attribute) and expr.attr in ("data", "grad"):
            return layout(source, expr.value, at, depth - 1) or _of_dataset(source, expr)
        return _of_name(source, expr, at, depth)
    if isinstance(expr, ast.BinOp):
        left, right = layout(source, expr.left, at, depth - 1), layout(source, expr.right, at, depth - 1)
        return _product(left, right) if isinstance(expr.op, ast.MatMult) else left or right
    if isinstance(expr, ast.Subscript):
        return _part(source, layout(source, expr.value, at, depth - 1), expr.slice)
    return _of_call(source, expr, at, depth) if isinstance(expr, ast.Call) else None


def _of_name(source: Source, expr: ast.expr, at: ast.AST, depth: int) -> Layout | None:
    written = written_above(source, expr, at)
    last = last_written(source, expr, at)
    after = position(last)[:2] if last is not None else (0, 0)
    statement = at if isinstance(at, ast.stmt) else source.statement_of(at)
    read = [
        one
        for one in _readings(source).get((function_around(source, at), ast.unparse(expr)), [])
        if after < position(one.statement)[:2] < position(statement)[:2]
    ]
    whole = next((one for one in reversed(read) if one.whole), None)
    if whole is not None:
        return Layout(tuple(name for _, name in whole.names))
    below = _below(source, written, depth) if written is not None else _unwritten(source, expr, at, depth)
    named = {axis: name for one in read for axis, name in one.names}
    if below is not None:
        return replace(below, axes=tuple(named.get(i, axis) for i, axis in enumerate(below.axes)))
    if named and (written is None or written.place is None):
        text = ast.unparse(expr)
        return Layout(tuple(named.get(i, f"{text}.size({i})") for i in range(max(named) + 1)), True)
    if read and not named:
        return None
    text = ast.unparse(expr)
    asked = [
        axis
        for node, axis in _asked(source).get((function_around(source, at), text), [])
        if after <= position(source.statement_of(node))[:2] <= position(statement)[:2]
    ]
    return Layout(tuple(f"{text}.size({i})" for i in range(max(asked) + 1)), True) if asked else None


@once
def _asked(source: Source) -> dict[tuple[ast.AST | None, str], list[tuple[ast.AST, int]]]:
    """Where the size of an axis is asked for of a tensor, by function and text of the tensor."""
    found: dict[tuple[ast.AST | None, str], list[tuple[ast.AST, int]]] = {}
    for node in (*source.all_calls, *source.nodes(ast.Subscript)):
        read = _read_through_name(source, node)
        if read is not None and read[1] >= 0 and isinstance(read[0], (ast.Name, ast.Attribute)):
            key = function_around(source, node), ast.unparse(read[0])
            found.setdefault(key, []).append((node, read[1]))
    return found


def _unwritten(source: Source, expr: ast.expr, at: ast.AST, depth: int) -> Layout | None:
    """The axes of what a loop or a call gives a name."""
    return _of_parameter(source, expr, at, depth) or _of_loader(source, expr, at)


def _of_loader(source: Source, expr: ast.expr, at: ast.AST) -> Layout | None:
    """The axes of the pictures of a batch, where `ToTensor` made them and the loop over the loader has them first."""
    if "ToTensor" not in source.words or not isinstance(expr, ast.Name):
        return None
    loop = source.enclosing(at, ast.For)
    while loop is not None:
        target = loop.target
        if isinstance(target, ast.Tuple) and last_name(getattr(loop.iter, "func", loop.iter)) == "enumerate":
            target = target.elts[-1]
        first = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
        if isinstance(first, ast.Name) and first.id == expr.id and LOADER.search(ast.unparse(loop.iter)):
            return Layout((BATCH, CHANNELS, HEIGHT, WIDTH), pictures=True)
        loop = source.enclosing(loop, ast.For)
    return None


def _below(source: Source, written: Written, depth: int) -> Layout | None:
    """The axes of what an assignment gives."""
    value = written.value
    if written.place is None:
        return layout(source, value, written.statement, depth - 1) or _commented(source, written.statement)
    if not isinstance(value, ast.Call):
        return None
    if (
        written.place == 0
        and not written.nested
        and (found := _of_attention(source, value, written.statement, depth)) is not None
    ):
        return found
    return _of_recurrent(source, written, value, depth)


def _product(left: Layout | None, right: Layout | None) -> Layout | None:
    if right is None and left is not None and not left.more and len(left.axes) > 2:
        return Layout((*left.axes[:-1], "?"))
    if right is None or left is None or right.more or left.more or len(left.axes) != len(right.axes):
        return None if right is None or right.more else right
    return Layout((*left.axes[:-1], right.axes[-1]))


@once
def _counters(source: Source) -> frozenset[str]:
    """The names that loops count by."""
    within_lists = (loop for node in source.nodes(ast.ListComp) for loop in node.generators)
    loops: list[ast.For | ast.comprehension] = [*source.nodes(ast.For), *within_lists]
    counts = [loop for loop in loops if last_name(getattr(loop.iter, "func", loop.iter)) in ("range", "enumerate")]
    return frozenset(node.id for loop in counts for node in within(loop.target, ast.Name))


def _part(source: Source, whole: Layout | None, index: ast.expr) -> Layout | None:
    """The axes of a part of a tensor; a name that no loop counts by may be a mask, which tells nothing."""
    if whole is None:
        return None
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    axes: list[str] = []
    left = list(whole.axes)
    for one in parts:
        if isinstance(one, ast.Constant) and one.value is None:
            axes.append("1")
        elif isinstance(one, ast.Constant) and one.value is Ellipsis:
            return None
        elif isinstance(one, ast.Slice):
            plain = one.lower is None and one.upper is None
            axes.append(left.pop(0) if left and plain else (left.pop(0) and "?") if left else "?")
        elif whole_number(one) is not None or (isinstance(one, ast.Name) and one.id in _counters(source)):
            if left:
                left.pop(0)
        else:
            return None
    return Layout((*axes, *left), whole.more, pictures=whole.pictures) if axes or left else None


def _of_call(source: Source, call: ast.Call, at: ast.AST, depth: int) -> Layout | None:
    func = call.func
    name = source.qualified(func) or ""
    short = last_name(func)
    first = call.args[0] if call.args else None
    viewed = _viewing(source, call)
    if viewed is not None:
        inside = layout(source, viewed.base, at, depth - 1)
        known = inside.axes if inside is not None and not inside.more else ()
        return Layout(tuple(_joined_in_order(source, one, at, known) for one in viewed.sizes))
    if name in READ_PICTURES or re.search(r"(^|\.)(imread|Image\.open)$|^cv2\.(resize|cvtColor)$", ast.unparse(func)):
        gray = (
            "IMREAD_GRAYSCALE" in ast.unparse(call)
            or "GRAY" in ast.unparse(call)
            or (len(call.args) > 1 and whole_number(call.args[1]) == 0)
        )
        inner = layout(source, first, at, depth - 1) if first is not None and short in ("resize", "cvtColor") else None
        is_tensor = short in ("resize", "cvtColor") and inner is not None and not inner.pictures
        return None if gray or is_tensor else Layout((HEIGHT, WIDTH, CHANNELS), pictures=True)
    is_method = (
        isinstance(func, ast.Attribute) and not name and not re.match(r"(np|cv2|torch)\.\w+$", ast.unparse(func))
    )
    of = func.value if is_method and isinstance(func, ast.Attribute) else first
    if short in ("permute", "transpose", "swapaxes", "t", "movedim", "moveaxis", "rearrange") and of is not None:
        given = call.args if is_method else call.args[1:]
        return _permuted(
            layout(source, of, at, depth - 1) or _unnamed(of, given), given or [k.value for k in call.keywords], short
        )
    if name in ("torch.cat", "torch.concat") and isinstance(first, (ast.List, ast.Tuple)) and first.elts:
        inside = layout(source, first.elts[0], at, depth - 1)
        along = argument_value(call, "dim", 1) or keyword_value(call, "axis")
        return _changed(inside, whole_number(along) if along is not None else 0)
    if short == "flatten" and of is not None:
        return _flattened(layout(source, of, at, depth - 1), call, 0 if is_method else 1)
    if short == "unfold" and is_method and of is not None and len(call.args) == 3:
        return _unfolded(source, layout(source, of, at, depth - 1), call)
    if (found := _of_attention(source, call, at, depth)) is not None:
        return found
    if short in ("unsqueeze", "expand_dims") and of is not None:
        return _with_axis(layout(source, of, at, depth - 1), call.args[-1] if call.args else None)
    if name in ("torch.matmul", "torch.bmm") and len(call.args) == 2:
        return _product(layout(source, call.args[0], at, depth - 1), layout(source, call.args[1], at, depth - 1))
    if is_method and short in ("resize", "crop", "rotate") and of is not None:
        picture = layout(source, of, at, depth - 1)
        return picture if picture is not None and picture.pictures else None
    if is_method and short == "convert" and of is not None:
        gray = first is not None and isinstance(first, ast.Constant) and first.value in ("L", "1")
        return None if gray else layout(source, of, at, depth - 1)
    if (is_method or name.startswith("torch")) and short in KEPT and of is not None and not is_self_method(func):
        return layout(source, of, at, depth - 1)
    if (
        name in ACTIVATION_FORMS
        and of is not None
        and not name.startswith("torch.nn.")
        or (name.startswith("torch.nn.functional.") and name in ACTIVATION_FORMS and of is not None)
    ):
        return layout(source, of, at, depth - 1)
    if (
        (name.startswith(("torch.", "numpy.")) or ast.unparse(func).startswith("np."))
        and short in ARRAYS
        and first is not None
    ):
        inner = layout(source, first, at, depth - 1) or _of_list(source, first, depth)
        return inner if inner is not None and (inner.pictures or short in COPIES) else None
    if name in ("torch.randn", "torch.rand", "torch.zeros", "torch.ones", "torch.empty") and call.args:
        sizes = first.elts if isinstance(first, (ast.Tuple, ast.List)) else call.args
        return (
            Layout(tuple(ast.unparse(one) for one in sizes))
            if not any(isinstance(s, ast.Starred) for s in sizes)
            else None
        )
    return _of_layer(source, call, first, at, depth) if not name else None


def _joined_in_order(source: Source, size: ast.expr, at: ast.AST, known: tuple[str, ...]) -> str:
    """What a size of a view is called; factors that are axes of what is viewed are joined by a sign of their own, in their order there."""
    parts = [text_of(source, one, at) for one in factors_of(size)]
    if len(parts) > 1 and isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult) and set(parts) <= set(known):
        return IN_ORDER.join(sorted(parts, key=known.index))
    return text_of(source, size, at)


def _changed(inside: Layout | None, axis: int | None) -> Layout | None:
    """The axes where the size of one is no longer known."""
    if inside is None or axis is None or (axis < 0 and inside.more) or not -len(inside.axes) <= axis < len(inside.axes):
        return None if inside is None or not inside.more else inside
    axes = list(inside.axes)
    axes[axis] = "?"
    return Layout(tuple(axes), inside.more)


def _flattened(inside: Layout | None, call: ast.Call, place: int) -> Layout | None:
    """The axes after `flatten`, which joins neighbours."""
    if inside is None or inside.more:
        return None
    given = argument_value(call, "start_dim", place), argument_value(call, "end_dim", place + 1)
    first, last = (
        whole_number(one) if one is not None else default for one, default in zip(given, (0, -1), strict=True)
    )
    number = len(inside.axes)
    if first is None or last is None or not -number <= first < number or not -number <= last < number:
        return None
    first, last = first % number, last % number
    return Layout((*inside.axes[:first], IN_ORDER.join(inside.axes[first : last + 1]), *inside.axes[last + 1 :]))


def _unfolded(source: Source, inside: Layout | None, call: ast.Call) -> Layout | None:
    """The axes after `unfold(axis, size, step)`, which puts the parts of an axis in its place, and their values behind all others.

    Of what is not known otherwise an unfolded axis 3 tells that there were four: pictures.
    """
    axis, size = whole_number(call.args[0]), text_of(source, call.args[1], call)
    if axis == 2 and (inside is None or inside.more):
        known = inside.axes if inside is not None else ()
        inside = Layout((*known, *(BATCH, CHANNELS, HEIGHT, WIDTH)[len(known) :]))
    if axis is None or inside is None or inside.more or not -len(inside.axes) <= axis < len(inside.axes):
        return None
    axes = list(inside.axes)
    axes[axis] = f"{PATCHES} {axes[axis]}"
    return Layout((*axes, size))


def is_self_method(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"


def _of_layer(source: Source, call: ast.Call, given: ast.expr | None, at: ast.AST, depth: int) -> Layout | None:
    """The axes of what a layer returns."""
    made = source.constructor(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else call.func
    made = _last_of(source, made) if isinstance(made, ast.Call) else None
    name = (source.qualified(made.func) or "") if made is not None else ""
    inside = layout(source, given, at, depth - 1) if given is not None else None
    short = name.rpartition(".")[2]
    if RECURRENT.match(name):
        return None
    if made is not None and re.match(r"^torch\.nn\.(Linear|LazyLinear)$", name):
        out = argument_value(made, "out_features", 1)
        text = ast.unparse(out) if out is not None else "?"
        return Layout((*inside.axes[:-1], text)) if inside is not None and not inside.more and inside.axes else None
    if name in ACTIVATION_FORMS or re.match(r"(Dropout|BatchNorm|LayerNorm|GroupNorm|InstanceNorm)", short):
        return inside
    number = re.match(r"^torch\.nn\.Conv(?:Transpose)?([12])d$", name)
    if number is not None and made is not None and (inside is None or inside.more):
        out = argument_value(made, "out_channels", 1)
        batch = inside.axes[0] if inside is not None else BATCH
        axes = (batch, ast.unparse(out) if out is not None else CHANNELS, HEIGHT, WIDTH)
        return Layout(axes[: int(number[1]) + 2])
    if (
        re.match(r"^torch\.nn\.(Conv|MaxPool|AvgPool)[123]d$", name)
        and inside is not None
        and not inside.more
        and len(inside.axes) > 2
    ):
        out = argument_value(made, "out_channels", 1) if made is not None and short.startswith("Conv") else None
        return Layout((inside.axes[0], ast.unparse(out) if out is not None else inside.axes[1], *inside.axes[2:]))
    if name == "torch.nn.Embedding" and inside is not None and not inside.more:
        return Layout((*inside.axes, "?"))
    if (
        made is None
        and is_self_method(call.func)
        and POINTWISE_LAYER.match(last_name(call.func))
        and inside is not None
    ):
        return Layout((*inside.axes[:-1], "?")) if not inside.more else None
    unseen = made is None and is_self_method(call.func) and structure.callee(source, call) is None
    is_module = unseen or short == "Sequential"
    return Layout(inside.axes[:1], True) if is_module and inside is not None and inside.axes else None


def _last_of(source: Source, made: ast.Call) -> ast.Call:
    """The convolution that a sequence of layers ends in, but for activations and norms; else what was made."""
    if source.qualified(made.func) != "torch.nn.Sequential":
        return made
    for layer in reversed(made.args):
        name = (source.qualified(layer.func) or "") if isinstance(layer, ast.Call) else ""
        if isinstance(layer, ast.Call) and re.match(r"^torch\.nn\.Conv(Transpose)?[12]d$", name):
            return layer
        if name not in ACTIVATION_FORMS and not re.match(
            r"^torch\.nn\.(Dropout|BatchNorm|GroupNorm|InstanceNorm)", name
        ):
            break
    return made


def _of_recurrent(source: Source, written: Written, call: ast.Call, depth: int) -> Layout | None:
    """The axes of the output (place 0) or the last state (place 1) of a recurrent layer."""
    made = source.constructor(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
    name = (source.qualified(made.func) or "") if made is not None else ""
    by_name = made is None and RECURRENT_NAME.search(ast.unparse(call.func)) is not None
    if not RECURRENT.match(name) and not by_name:
        return None
    if written.place:
        number = argument_value(made, "num_layers", 2) if made is not None else None
        two_ways = keyword_value(made, "bidirectional") if made is not None else None
        many = (two_ways is not None and _is_not_false(two_ways)) or (number is not None and whole_number(number) != 1)
        pair = ("<pair>",) if "lstm" in (name or ast.unparse(call.func)).lower() and not written.nested else ()
        width = whole_number(argument_value(made, "hidden_size", 1)) if made is not None else None
        also = tuple(pair for pair in _of_input(made, call) if pair[1] == BATCH) if made is not None else ()
        axes = (*pair, LAYERS, BATCH, HIDDEN)
        return Layout(axes, many_layers=None if made is None else many, width=width, also=also)
    if made is None:
        return None
    also = _of_input(made, call)
    if not also:
        return None
    inside = layout(source, call.args[0], written.statement, depth - 1) if call.args else None
    two = inside.axes[:2] if inside is not None and len(inside.axes) >= 2 and not inside.more else None
    return Layout((*(two or (also[0][1], also[1][1])), HIDDEN), also=() if two else also)


def _of_input(made: ast.Call, call: ast.Call) -> tuple[tuple[str, str], ...]:
    """What the first two sizes of the input of a recurrent layer are called, with the axes that they are of; empty where that is not told."""
    given = keyword_value(made, "batch_first")
    if (given is not None and not isinstance(given, ast.Constant)) or not call.args:
        return ()
    first = is_true(given) or (len(made.args) > 4 and is_true(made.args[4]))
    text = ast.unparse(call.args[0])
    return tuple((f"{text}.size({i})", axis) for i, axis in enumerate((BATCH, STEPS) if first else (STEPS, BATCH)))


def _is_not_false(expr: ast.expr) -> bool:
    return not (isinstance(expr, ast.Constant) and not expr.value)


ATTENTION = re.compile(r"att(n|ention)|dot_product|sdpa", re.IGNORECASE)


def _of_attention(source: Source, call: ast.Call, at: ast.AST, depth: int) -> Layout | None:
    """The axes of what attention gives of queries, keys and values: those of the queries."""
    if not ATTENTION.search(ast.unparse(call.func)) or len(call.args) < 3 or "Multihead" in ast.unparse(call.func):
        return None
    body = structure.callee(source, call)
    if body is not None and any(
        last_name(c.func) in ("permute", "transpose") and "-1" not in ast.unparse(c) for c in within(body, ast.Call)
    ):
        return None
    inside = layout(source, call.args[0], at, depth - 1)
    return Layout(inside.axes, attended=True) if inside is not None and len(inside.axes) == 4 else None


SHAPE = re.compile(
    r"[(\[]\s*([\w.]+(?:\s*[*/+-]+\s*[\w.]+)*(?:\(=\w+\))?(?:\s*(?:,|x|×)\s*[\w.*/+() =-]+?)+)\s*,?\s*[)\]]"
)
"""A shape as comments tell it: `(batch, steps, 2 * hidden)`."""


def _axes_in(text: str) -> tuple[str, ...] | None:
    """The axes that a comment tells, where it tells of one shape alone."""
    if re.search(r"->|=>|→", text):
        return None
    found = SHAPE.findall(text)
    if len(found) != 1:
        return None
    parts = [re.sub(r"\(=.*?\)|=.*$", "", part).strip() for part in re.split(r",|\s[x×]\s", found[0])]
    plain = all(re.fullmatch(r"[\w.]+(\s*[*/+-]+\s*[\w.]+)*", part) for part in parts)
    return (
        tuple(parts) if plain and 2 <= len(parts) <= 6 and any(re.search(r"[A-Za-z]", part) for part in parts) else None
    )


def _commented(source: Source, statement: ast.stmt) -> Layout | None:
    """The axes of what a statement assigns, by the comment behind it, or by one above that is nothing else."""
    lines = source.places.lines
    last = statement.end_lineno or statement.lineno
    line = lines[last - 1] if last <= len(lines) else ""
    behind = line[statement.end_col_offset or 0 :]
    if "#" in behind:
        axes = _axes_in(behind.partition("#")[2])
        return Layout(axes) if axes is not None else None
    above = lines[statement.lineno - 2].strip() if statement.lineno >= 2 else ""
    if above.startswith("#") and re.fullmatch(r"#+\s*(\w+\s*[:=]?\s*)?[(\[].*[)\]]\s*", above):
        axes = _axes_in(above)
        return Layout(axes) if axes is not None else None
    return None


def _of_parameter(source: Source, expr: ast.expr, at: ast.AST, depth: int) -> Layout | None:
    """The axes of a parameter, by the calls of its function in the text, where these agree."""
    function = function_around(source, at)
    if function is None or not isinstance(expr, ast.Name):
        return None
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if expr.id not in names:
        return None
    calls = structure.callers(source, function)
    place = names.index(expr.id) - (names[:1] == ["self"])
    found: list[Layout | None] = []
    for call in calls[:MOST_CALLERS]:
        plain = 0 <= place < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args)
        found.append(layout(source, call.args[place], call, depth - 2) if plain else None)
    agree = found and found[0] is not None and all(one is not None and one.axes == found[0].axes for one in found)
    return found[0] if agree and len(calls) <= MOST_CALLERS else None


def _unnamed(of: ast.expr, given: Sequence[ast.expr]) -> Layout | None:
    """Axes without names, as many as a permutation has."""
    number = len(given[0].elts) if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)) else len(given)
    return Layout(tuple(f"{UNNAMED}{i}" for i in range(number))) if number > 2 else None


def _permuted(inside: Layout | None, given: Sequence[ast.expr], how: str) -> Layout | None:
    """The axes after `permute` or `transpose`."""
    if inside is None:
        return None
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    order = [whole_number(one) for one in given]
    if any(one is None for one in order) or not order:
        return None
    numbers = [one for one in order if one is not None]
    axes = list(inside.axes)
    if how in ("transpose", "swapaxes") and len(numbers) == 2:
        needed = max(numbers) + 1
        if inside.more and min(numbers) >= 0 and needed > len(axes):
            axes += ["?"] * (needed - len(axes))
        elif inside.more and min(numbers) < 0:
            return None
        if not all(-len(axes) <= one < len(axes) for one in numbers):
            return None
        a, b = numbers
        axes[a], axes[b] = axes[b], axes[a]
        return Layout(tuple(axes), inside.more, pictures=inside.pictures)
    if how in ("permute", "transpose"):
        if inside.more:
            axes += ["?"] * (len(numbers) - len(axes))
        if len(numbers) != len(axes) or sorted(one % len(axes) for one in numbers) != list(range(len(axes))):
            return None
        return Layout(tuple(axes[one] for one in numbers), pictures=inside.pictures)
    return None


def _with_axis(inside: Layout | None, given: ast.expr | None) -> Layout | None:
    at = whole_number(given)
    if inside is None or at is None or (at < 0 and inside.more):
        return None
    axes = list(inside.axes)
    axes.insert(at if at >= 0 else len(axes) + 1 + at, "1")
    return Layout(tuple(axes), inside.more, pictures=inside.pictures)


def _of_list(source: Source, expr: ast.expr, depth: int) -> Layout | None:
    """The axes of an array made of a list to which pictures are appended, or of a list comprehension over them."""
    one: ast.expr | None = None
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
        one = expr.elt
    elif isinstance(expr, (ast.List, ast.Tuple)) and expr.elts:
        one = expr.elts[0]
    elif isinstance(expr, (ast.Name, ast.Attribute)):
        for call in source.all_calls:
            adds = isinstance(call.func, ast.Attribute) and call.func.attr == "append" and call.args
            if adds and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == ast.unparse(expr):
                one = call.args[0]
        if one is None:
            made = [w.value for w in all_written(source, expr) if isinstance(w.value, ast.ListComp)]
            one = made[0].elt if len(made) == 1 and isinstance(made[0], ast.ListComp) else None
    inner = layout(source, one, one, depth - 1) if one is not None else None
    return (
        Layout(("<pictures>", *inner.axes), pictures=True)
        if inner is not None and inner.pictures and len(inner.axes) == 3
        else None
    )


def _of_dataset(source: Source, expr: ast.Attribute) -> Layout | None:
    """The axes of the pictures that a CIFAR data set of torchvision keeps."""
    made = source.constructor(expr.value)
    name = (source.qualified(made.func) or "") if made is not None else ""
    if name.rpartition(".")[2] in ("CIFAR10", "CIFAR100") and expr.attr == "data":
        return Layout(("<pictures>", HEIGHT, WIDTH, CHANNELS), pictures=True)
    return None


# --- what sizes are made of


def text_of(source: Source, expr: ast.expr, at: ast.AST) -> str:
    """What a size is called."""
    read = _read_through_name(source, expr)
    if read is not None and read[1] >= 0:
        of = layout(source, read[0], at, 6)
        if of is not None and read[1] < len(of.axes):
            return of.axes[read[1]]
        return f"{ast.unparse(read[0])}.size({read[1]})"
    return ast.unparse(expr)


def parts_of(source: Source, size: ast.expr) -> list[ast.expr]:
    """The factors of a size, of one that is written once as a product as well."""
    written = all_written(source, size) if isinstance(size, (ast.Name, ast.Attribute)) else ()
    product = written[0].value if len(written) == 1 and written[0].place is None else size
    is_product = isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)
    return list(factors_of(product if is_product else size))


def factors_of(expr: ast.expr) -> Iterator[ast.expr]:
    """The factors of a size."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        yield from factors_of(expr.left)
        yield from factors_of(expr.right)
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.FloorDiv, ast.Div)):
        yield from factors_of(expr.left)
    elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "int" and expr.args:
        yield from factors_of(expr.args[0])
    else:
        yield expr
