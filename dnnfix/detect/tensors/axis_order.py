"""Views that give the sizes of a tensor's axes in another order than these have, so that values of other samples are mixed.

A `view` keeps the order of the values. What the axes are is asked of `axis_layouts`; what the text leaves open is no fault.
"""

from __future__ import annotations

import ast
import math
import re

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import function_around
from dnnfix.detect.tensors.axis_layouts import (
    BATCH,
    CHANNELS,
    HIDDEN,
    IN_ORDER,
    LAYERS,
    POINTWISE_LAYER,
    ROLES,
    STEPS,
    UNNAMED,
    Layout,
    Viewing,
    factors_of,
    is_self_method,
    layout,
    parts_of,
    read_of_size,
    text_of,
    whole_number,
)
from dnnfix.detect.written import written_above
from dnnfix.source.program import Source


def swaps(source: Source, viewing: Viewing) -> tuple[str, str] | None:
    """The axes before a view and the sizes that it is given, in words, where these are in another order; `None` where they are not."""
    before = layout(source, viewing.base, viewing.call)
    if before is None or not before.axes or before.axes[0] == "<pair>" or _is_of_one_sample(source, viewing.call):
        return None
    numbers = [whole_number(size) for size in viewing.sizes]
    said = ", ".join(before.axes) + (", …" if before.more else ""), ", ".join(map(ast.unparse, viewing.sizes))
    if _joins_layers(numbers, before) or _splits_backwards(source, viewing, before):
        return said
    pictures = before.pictures and numbers.count(3) == 1
    if None not in numbers and not pictures and sorted(map(str, numbers)) != sorted(before.axes):
        return None  # numbers alone do not tell which axis is meant
    after = _places(source, viewing, before)
    if after is None:
        return None
    if before.more and after[0] == {1} and [*map(whole_number, viewing.sizes)] == [None, -1]:
        return None  # of one step, as a cell gets it, no more than the first axis goes
    if _comes_from_behind(source, viewing, before):
        return said
    last = -1
    for places in after:
        if places and min(places) < last:
            return said
        last = max([last, *places])
    end = after.index({len(before.axes) - 1}) if not before.more and {len(before.axes) - 1} in after else len(after)
    is_whole = end < len(viewing.sizes) and not isinstance(viewing.sizes[end], ast.BinOp) and "*" not in before.axes[-1]
    if any((number or 0) > 1 for number in numbers[end + 1 :]) and is_whole:
        return said  # behind the whole of the last axis nothing is left
    return said if _has_no_place(source, viewing, before, after) else None


def _joins_layers(numbers: list[int | None], before: Layout) -> bool:
    """Whether the last states of several layers are laid out in rows wider than those of one, which are of other samples then."""
    if before.axes != (LAYERS, BATCH, HIDDEN) or before.many_layers is not True or not before.width:
        return False
    rest = math.prod(one for one in numbers[1:] if one is not None)
    return (
        None not in numbers
        and numbers[:1] == [-1]
        and -1 not in numbers[1:]
        and numbers[-1] != before.width
        and rest > before.width
        and rest % before.width == 0
    )


def _splits_backwards(source: Source, viewing: Viewing, before: Layout) -> bool:
    """Whether an axis that two were joined to is split into these in the opposite order."""
    sizes = [text_of(source, one, viewing.call) for one in viewing.sizes]
    for axis in before.axes:
        parts = axis.split(IN_ORDER)
        if len({*parts}) == 2 and [one for one in sizes if one in parts] == parts[::-1]:
            return True
    return False


def _comes_from_behind(source: Source, viewing: Viewing, before: Layout) -> bool:
    """Whether a factor beside an axis can only be of an axis behind one that is stated whole in a later size, with all in front of it."""
    stated: set[int] = set()
    is_left = False
    for size in viewing.sizes:
        names = [text_of(source, one, viewing.call) for one in factors_of(size)]
        if "/" in ast.unparse(size):
            return False
        here = {before.axes.index(name) for name in names if name in before.axes}
        if is_left and here and set(range(max(here) + 1)) <= stated | here:
            return True
        stated |= here
        is_left = is_left or (bool(here) and any(n not in before.axes and not n.isdigit() for n in names))
    return False


def _is_of_one_sample(source: Source, node: ast.AST) -> bool:
    """Whether a node is reached only where something has the size 1."""
    around = source.enclosing(node, ast.If)
    return around is not None and re.search(r"== 1\b", ast.unparse(around.test)) is not None


def _is_half_known(source: Source, viewing: Viewing, after: list[set[int]]) -> bool:
    """Whether one of the sizes is a product of which a factor is the size of no known axis."""
    return any(len(parts_of(source, size)) > len(places) > 0 for size, places in zip(viewing.sizes, after, strict=True))


def _has_no_place(source: Source, viewing: Viewing, before: Layout, after: list[set[int]]) -> bool:
    """Whether an axis that no size is the size of cannot be part of any of the others without changing its place."""
    used: set[int] = set().union(*after)
    if _is_half_known(source, viewing, after):
        return False  # the axis may be in the factor that is not known
    free = [i for i, places in enumerate(after) if not places and whole_number(viewing.sizes[i]) != 1]
    for axis in range(len(before.axes)):
        if axis in used or before.axes[axis] == "1" or (before.axes[axis] == LAYERS and before.many_layers is not True):
            continue
        fits = [
            all(max(places, default=axis) <= axis for places in after[:i])
            and all(min(places, default=axis) >= axis for places in after[i + 1 :])
            for i in free
        ]
        if fits and not any(fits):
            return True
    return False


def _places(source: Source, viewing: Viewing, before: Layout) -> list[set[int]] | None:
    """For each size of a view the places of the axes that it is made of, empty where that is not known."""
    own = dict(enumerate(before.axes))
    used: set[int] = set()
    found: list[set[int]] = []
    rest: int | None = None
    divided: set[int] = set()
    for number, size in enumerate(viewing.sizes):
        value = whole_number(size)
        if value == -1:
            rest = number
            found.append(set())
            continue
        places: set[int] = set()
        for factor in parts_of(source, size):
            place = _place(source, factor, viewing, own, used, before)
            if place is not None:
                with_parts = {place, *_other_part(source, factor, viewing, own, place)}
                places |= with_parts
                used |= with_parts
                if factor is not size and "/" in ast.unparse(size):
                    divided.add(place)
        if LAYERS in own.values() and before.many_layers is not False:
            found_layers = _with_layers(before, places, size)
            places |= found_layers
            used |= found_layers
        found.append(places)
    missing = [i for i in own if i not in used and before.axes[i] != "1"]
    if before.many_layers is not True:
        missing = [i for i in missing if before.axes[i] != LAYERS]
    unknown = [i for i, size in enumerate(viewing.sizes) if not found[i] and whole_number(size) not in (1, -1)]
    if rest is not None:
        if not used:
            return None
        if not unknown and not _is_half_known(source, viewing, found):
            found[rest] = set(missing)
    elif len(missing) == 1 and unknown and not before.more:
        for i in unknown:
            found[i] = set(missing)
    elif len(missing) == len(unknown) and not before.more:
        for i, axis in zip(unknown, missing, strict=True):
            found[i] = {axis}
    elif not missing and len(divided) == 1 and unknown:
        for i in unknown:
            found[i] = set(divided)
    return found


def _with_layers(before: Layout, places: set[int], size: ast.expr) -> set[int]:
    """The axis of layers and directions, where the features are multiplied by something: by their number."""
    hidden, factors = before.axes.index(HIDDEN) if HIDDEN in before.axes else -1, list(factors_of(size))
    return {before.axes.index(LAYERS)} if places == {hidden} and len(factors) > 1 else set()


def _bare(text: str) -> str:
    """The name of a size without what it is an attribute of, in small letters."""
    return text.removeprefix("self.").lower()


def _other_part(source: Source, factor: ast.expr, viewing: Viewing, own: dict[int, str], place: int) -> set[int]:
    """The axis with the other part of a size that was split before: with `c // n` at `place` and `n`, `c` is made of both."""
    whole, sign, divisor = own[place].partition(" // ")
    if not sign or text_of(source, factor, viewing.call) != whole:
        return set()
    fitting = {i for i, axis in own.items() if axis == divisor}
    return {place + 1} if place + 1 in fitting else fitting if len(fitting) == 1 else set()


def _place(
    source: Source, factor: ast.expr, viewing: Viewing, own: dict[int, str], used: set[int], before: Layout
) -> int | None:
    """The axis that a size is the size of."""
    text = text_of(source, factor, viewing.call)
    text = dict(before.also).get(text, text)
    if text == "1":
        return None
    fitting = [i for i, axis in own.items() if axis == text]
    if text.isdigit() and len(fitting) > 1:
        return None
    if not fitting:
        fitting = [i for i, axis in own.items() if axis in ROLES and ROLES[axis].search(ast.unparse(factor))]
    if not fitting and before.pictures and whole_number(factor) == 3:
        fitting = [i for i, axis in own.items() if axis == CHANNELS]
    if not fitting:
        short = _bare(text)
        alike = [i for i, axis in own.items() if short in [_bare(part) for part in re.split(r" [*×] ", axis)]]
        fitting = alike if len({own[i] for i in alike}) == 1 else []
    if not fitting:
        for role in (BATCH, STEPS):
            alike = [i for i, axis in own.items() if ROLES[role].search(axis)]
            if len(alike) == 1 and ROLES[role].search(ast.unparse(factor)):
                fitting = alike
    if not fitting:
        fitting = [
            i for i, axis in own.items() if re.split(r" (//|/) ", axis)[0] == text and not re.search(" [*×] ", axis)
        ]
    after = [i for i in fitting if i not in used and i >= max(used, default=-1)]
    return next(iter(after or [i for i in fitting if i not in used] or fitting), None)


def permutation(source: Source, viewing: Viewing) -> tuple[int, ...] | None:
    """The order of axes that gives the shape of a view, where it states each axis once."""
    before = layout(source, viewing.base, viewing.call)
    after = _places(source, viewing, before) if before is not None else None
    if before is None or after is None or any(len(places) != 1 for places in after):
        return None
    order = tuple(next(iter(places)) for places in after)
    return (
        order
        if sorted(order) == list(range(max(order) + 1)) and (before.more or len(order) == len(before.axes))
        else None
    )


# --- patches

OF_PICTURE = re.compile(r"(^|[._])(h|w|hh|ww|(img|image)?_?(height|width|size|h|w|res)|rows|cols)$", re.IGNORECASE)
OF_PATCHES = re.compile(r"(^|[._])(n|num|nb|number_of)_?patch(es)?$", re.IGNORECASE)
SQUARE = re.compile(r"^([\w.]+) (\*\* 2|\* \1)$")


def torn_patches(source: Source, viewing: Viewing) -> str:
    """What is wrong with a view that lays patches and the pixels within each out as height and width; empty where nothing is."""
    sizes = [ast.unparse(one) for one in viewing.sizes]
    of_picture = [
        i for i, size in enumerate(viewing.sizes) if all(OF_PICTURE.search(ast.unparse(f)) for f in factors_of(size))
    ]
    before = layout(source, viewing.base, viewing.call) if of_picture else None
    if before is None or before.more or not len(before.axes) - 1 <= len(sizes) <= len(before.axes):
        return ""
    at, joined = of_picture[0], len(sizes) < len(before.axes)
    if joined != (isinstance(viewing.sizes[at], ast.BinOp) and len(of_picture) == 1) or (
        not joined and of_picture != [at, at + 1]
    ):
        return ""
    patches, pixels = before.axes[at : at + 2] if at + 2 <= len(before.axes) else ("", "")
    same = before.axes[:at] == tuple(sizes[:at]) and before.axes[at + 2 :] == tuple(sizes[at + 2 - joined :])
    is_torn = (
        same and patches != pixels and SQUARE.search(pixels) and (SQUARE.search(patches) or OF_PATCHES.search(patches))
    )
    return "lays patches and the pixels within each of them out as rows and columns of the picture" if is_torn else ""


# --- heads of attention

HEADS = re.compile(
    r"(^|[._])(n|num|nb|number_of)?_?(attention_|attn_)?heads?$|^(self\.)?(h|nh|n_h|nhead|nheads)$", re.IGNORECASE
)
OF_ONE_HEAD = re.compile(
    r"head_?(dim|size|width|features)|(dim|d|size|hidden|depth)_?(per_|of_|_)?heads?$|^(self\.)?(d_k|d_v|dk|dv|depth|hd|hs|head_dim|dim_head)$|(//|/) ?(self\.)?\w*(heads?|h)\)?$",
    re.IGNORECASE,
)


def mixed_heads(source: Source, viewing: Viewing) -> str:
    """What is wrong with a view that splits features into heads, or joins them, without moving axes; empty where nothing is."""
    sizes = [ast.unparse(one) for one in viewing.sizes]
    heads = [i for i, size in enumerate(viewing.sizes) if any(_of_heads(f) for f in factors_of(size))]
    before = layout(source, viewing.base, viewing.call)
    splits = (
        len(heads) == 1
        and heads[0] < len(sizes) - 2
        and len(sizes) in (3, 4)
        and "1" not in sizes[heads[0] + 1 :]
        and (OF_ONE_HEAD.search(sizes[-1]) is not None or (heads[0] == 0 and isinstance(viewing.sizes[0], ast.BinOp)))
    )
    in_front = sizes[0] == "-1" and len(sizes) == 4 and OF_ONE_HEAD.search(sizes[-1]) and not heads
    splits = splits or (bool(in_front) and all(read_of_size(one) is not None for one in viewing.sizes[1:3]))
    if splits and _is_projected(source, viewing.base, viewing.call):
        return "splits the features of a projection into heads in front of its steps"
    if before is None or len(before.axes) != 4 or len(sizes) != 3:
        return ""
    swapped = before.attended and before.axes[1:3] == (f"{UNNAMED}2", f"{UNNAMED}1") and before.axes[0] == f"{UNNAMED}0"
    joins = swapped and not isinstance(viewing.sizes[0], ast.BinOp) and whole_number(viewing.sizes[0]) != -1
    return "joins heads that were not moved back behind the steps" if joins else ""


def _of_heads(factor: ast.expr) -> bool:
    """Whether a size is a number of heads, by what it is called."""
    text = ast.unparse(factor)
    return HEADS.search(text) is not None and OF_ONE_HEAD.search(text) is None


def _is_projected(source: Source, expr: ast.expr, at: ast.AST, depth: int = 4) -> bool:
    """Whether a tensor is what a layer gave for a sequence, with its features last."""
    if isinstance(expr, ast.Name) and depth > 0:
        written = written_above(source, expr, at)
        function = function_around(source, at)
        names = [] if function is None else [one.arg for one in function.args.args]
        if written is None and function is not None and expr.id in names:
            place = names.index(expr.id) - (names[:1] == ["self"])
            given = [(call, call.args[place : place + 1]) for call in structure.callers(source, function)]
            return bool(given) and all(one and _is_projected(source, one[0], call, depth - 1) for call, one in given)
        return (
            written is not None
            and written.place is None
            and _is_projected(source, written.value, written.statement, depth - 1)
        )
    if not isinstance(expr, ast.Call) or not isinstance(expr.func, ast.Attribute):
        return False
    if expr.func.attr == "contiguous":
        return _is_projected(source, expr.func.value, at, depth - 1)
    made = source.constructor(expr.func)
    name = (source.qualified(made.func) or "") if made is not None else ""
    if made is not None:
        return name == "torch.nn.Linear"
    return is_self_method(expr.func) and POINTWISE_LAYER.match(expr.func.attr) is not None
