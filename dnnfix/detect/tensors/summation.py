"""Over which axes of a tensor the program later sums, averages or takes `argmax`.

Weights that are normalized belong to the axis that is summed afterwards: what is added up with them is then a weighted
mean. A product of matrices sums over one axis, so does a product followed by a sum; `argmax` chooses along one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.network.facts import KEEPS_VALUES, activation_of, layer_facts
from dnnfix.records import Call, Json, Network, Value
from dnnfix.subject import Subject

MAX_STEPS = 32
"""Calls followed onwards from one value."""

MATRIX_PRODUCTS = frozenset(f"torch.{area}{name}" for area in ("", "Tensor.") for name in ("matmul", "bmm", "mm", "mv"))
PRODUCTS = frozenset({"torch.mul", "torch.multiply", "torch.Tensor.mul", "torch.Tensor.multiply", "torch.Tensor.mul_"})
SUMS = frozenset({"torch.sum", "torch.Tensor.sum"})
CHOICES = frozenset(f"torch.{area}{name}" for area in ("", "Tensor.") for name in ("argmax", "argmin", "topk"))

_ELEMENT_BY_ELEMENT = PRODUCTS | frozenset(
    f"torch.{area}{name}"
    for area in ("", "Tensor.")
    for name in ("add", "sub", "div", "masked_fill", "clamp", "log", "exp", "where", "pow", "add_", "sub_", "div_")
)
_SWAPS = frozenset(f"torch.{area}{name}" for area in ("", "Tensor.") for name in ("transpose", "swapaxes", "swapdims"))

Axes = tuple[int | None, ...]
"""For each axis of a tensor, the axis of the followed value that it is; `None` for any other."""


def summed_axes(subject: Subject, call: Call, choices: bool = True) -> frozenset[int]:
    """The axes of the call's output (from 0) along which the program sums it up, as far as seen.

    With `choices` those too along which it chooses from it. Empty where the rank is not known, or what follows does not
    tell.
    """
    if not call.outputs or call.outputs[0].shape is None:
        return frozenset()
    axes = tuple(range(len(call.outputs[0].shape)))
    return frozenset(_Follower(subject.network, choices).follow(call.outputs[0], axes))


@dataclass
class _Follower:
    network: Network
    choices: bool
    steps: int = 0

    def follow(self, value: Value, axes: Axes, weighs: bool = False) -> Iterator[int]:
        """The followed axes summed from here on; `weighs` says that the value has been multiplied with another."""
        for call in self.network.users(value):
            self.steps += 1
            if self.steps > MAX_STEPS:
                return
            place = next((i for i, given in enumerate(call.inputs) if given.id == value.id), None)
            if place is None:
                continue
            if self.choices or call.name not in CHOICES:
                yield from _known(axes, _summed(call, place, len(axes), weighs))
            onwards = _onwards(call, value, axes)
            if onwards is not None and call.outputs:
                yield from self.follow(call.outputs[0], onwards, weighs or call.name in PRODUCTS)


def _known(axes: Axes, places: Iterator[int]) -> Iterator[int]:
    for place in places:
        axis = axes[place] if -len(axes) <= place < len(axes) else None
        if axis is not None:
            yield axis


def _summed(call: Call, place: int, rank: int, weighs: bool) -> Iterator[int]:
    """The axes of the input number `place` over which the call itself sums or chooses."""
    if call.name in MATRIX_PRODUCTS and place < 2:
        yield -1 if place == 0 or rank == 1 else -2
    elif call.name == "torch.einsum":
        yield from _einsum(call, place)
    elif call.name in CHOICES or (call.name in SUMS and weighs):
        axis = call.args.get("dim", -1 if call.name.endswith("topk") else None)
        yield from axes_in(axis)


def _einsum(call: Call, place: int) -> Iterator[int]:
    equation = next((given for given in call.args.values() if isinstance(given, str) and "->" in given), None)
    if equation is None or "." in equation:
        return
    taken, _, given = equation.replace(" ", "").partition("->")
    terms = taken.split(",")
    if place < len(terms):
        yield from (axis for axis, letter in enumerate(terms[place]) if letter not in given)


def _onwards(call: Call, value: Value, axes: Axes) -> Axes | None:
    """What the axes of the call's output are; `None` where that cannot be told."""
    last = call.name.rpartition(".")[2]
    if call.name in _SWAPS:
        two = [given for given in call.args.values() if isinstance(given, int)]
        return _swapped(axes, two[0], two[1]) if len(two) == 2 else None
    if last in ("mT", "t", "T") and len(axes) >= 2 and (last == "mT" or len(axes) == 2):
        return _swapped(axes, -1, -2)
    if last == "permute":
        order = list(axes_in(call.args.get("dims")))
        return tuple(axes[axis] for axis in order) if sorted(o % len(axes) for o in order) == _upto(axes) else None
    if last == "unsqueeze":
        return _unsqueezed(axes, call.args.get("dim"))
    if last in ("squeeze", "getitem"):
        return _dropped(axes, value, call)
    return _broadcast(call, value, axes) if _element_by_element(call) else None


def _element_by_element(call: Call) -> bool:
    facts = layer_facts(call)
    if call.name in _ELEMENT_BY_ELEMENT or (facts is not None and facts.kind == "dropout") or "dropout" in call.name:
        return True
    use = activation_of(call)
    if use is not None:
        return not use.facts.has_axis
    same = call.name in KEEPS_VALUES and bool(call.inputs and call.outputs)
    return same and call.inputs[0].shape == call.outputs[0].shape and call.inputs[0].shape is not None


def _broadcast(call: Call, value: Value, axes: Axes) -> Axes | None:
    """The axes of the result of a call element by element: sizes are matched from the last axis on."""
    shape = call.outputs[0].shape if call.outputs else None
    if shape is None or value.shape is None or len(shape) < len(axes):
        return None
    lead: Axes = (None,) * (len(shape) - len(axes))
    own = shape[len(lead) :]
    return lead + tuple(axis if size == out else None for axis, size, out in zip(axes, value.shape, own, strict=True))


def _swapped(axes: Axes, first: int, second: int) -> Axes | None:
    if not all(-len(axes) <= axis < len(axes) for axis in (first, second)):
        return None
    changed = list(axes)
    changed[first], changed[second] = changed[second], changed[first]
    return tuple(changed)


def _unsqueezed(axes: Axes, at: Json) -> Axes | None:
    if not isinstance(at, int) or not -len(axes) - 1 <= at <= len(axes):
        return None
    place = at % (len(axes) + 1)
    return (*axes[:place], None, *axes[place:])


def _dropped(axes: Axes, value: Value, call: Call) -> Axes | None:
    """The axes left after `squeeze`, or after an index made of slices, numbers and `None`."""
    if call.name.endswith("squeeze"):
        given = [axis % len(axes) for axis in axes_in(call.args.get("dim"))] or _upto(axes)
        shape = value.shape or ()
        return tuple(axis for place, axis in enumerate(axes) if not (place in given and shape[place] == 1))
    index = call.args.get("index")
    if index is None:
        return None
    listed = list(index) if isinstance(index, (list, tuple)) else [index]
    left: list[int | None] = []
    place = 0
    for one in listed:
        if one is None:
            left.append(None)
            continue
        if isinstance(one, bool) or place >= len(axes):
            return None
        text = one.get("repr") if isinstance(one, dict) else None
        if isinstance(text, str) and ":" in text:
            left.append(axes[place])
        elif not isinstance(one, int):
            return None
        place += 1
    return (*left, *axes[place:])


def _upto(axes: Axes) -> list[int]:
    return list(range(len(axes)))


def axes_in(given: Json) -> Iterator[int]:
    """The axes that a recorded argument names, one or several."""
    for one in given if isinstance(given, (list, tuple)) else (given,):
        if isinstance(one, int) and not isinstance(one, bool):
            yield one
