"""The operator "devices": a tensor or network is moved to the device of the others, or to the CPU for NumPy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import FixPattern, SetArgument
from dnnfix.synthesize.operators.change import Change, around, replaced
from dnnfix.synthesize.scene import Scene, Told
from dnnfix.synthesize.slices import Place

PATTERN = FixPattern.DATA_TYPE

MADE = frozenset(
    {"arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "tensor", "zeros"}
)
"""Functions of torch that make a tensor where their argument `device` says."""

AWAY = -1.5
"""What it loses, in logarithms, to move something out of a GPU where something else could be moved there."""

OF_LAYER = -0.5
"""What a device that is asked of a tensor loses for one that the program has a name for."""

_APART = re.compile(r"\bdevices?\b(?!-side)|type \(torch\.\w+\.?\w*\)|on (?:the )?CPU", re.IGNORECASE)
_OUT_OF_REACH = re.compile(r"can't convert \S+ device type tensor to numpy")


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other devices for the value at a place."""
    told = place.told
    if told is None:
        return
    if _OUT_OF_REACH.search(scene.message):
        yield from _for_numpy(scene, place.node, told)
    elif told.device and _APART.search(scene.message):
        yield from _beside(scene, place.node, told)


def _for_numpy(scene: Scene, node: ast.expr, told: Told) -> Iterator[Change]:
    """A tensor, or each of a list of them, as NumPy can read it."""
    if told.is_torch and told.device:
        yield around(scene, node, "", ".detach().cpu()" if told.grown else ".cpu()", "host")
    elif told.items and all(item.is_torch and item.device for item in told.items):
        one = "item()" if all(item.shape == () for item in told.items) else "detach().cpu()"
        yield replaced(scene, node, f"[one.{one} for one in {scene.code(node)}]", "host")


def _beside(scene: Scene, node: ast.expr, told: Told) -> Iterator[Change]:
    """A value on another device than its own that a name of the program says or that a tensor is on."""
    if not told.is_array and isinstance(node, ast.Name):
        return  # a network is moved where it is made
    for name, other in sorted(scene.names(node).items(), key=lambda item: item[1].is_torch):
        if not other.device or other.device == told.device or not (other.is_torch or other.kind == "torch.device"):
            continue
        code = f"{name}.device" if other.is_torch else name
        likeness = AWAY * (told.device != "cpu") + OF_LAYER * other.is_torch
        function = scene.subject.source.qualified(node.func) or "" if isinstance(node, ast.Call) else ""
        if function.startswith("torch.") and function.rpartition(".")[2] in MADE:
            edit = SetArgument(scene.site(node), "device", code)
            yield Change((edit,), f"Make it on {code}", "made there", likeness)
        else:
            yield around(scene, node, "", f".to({code})", "moved", likeness=likeness)
