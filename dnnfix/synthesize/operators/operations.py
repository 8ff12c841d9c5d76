"""The operator "operations": another operator or function of the same operands, as `//` for `/`, `stack` for `cat`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import FixPattern
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place

PATTERN = FixPattern.DATA_TYPE

FUNCTIONS = (
    ("mm", "matmul", "bmm", "dot", "mv", "mul"),
    ("cat", "stack", "hstack", "vstack", "concat", "concatenate"),
    ("view", "reshape"),
    ("max", "amax", "argmax"), ("min", "amin", "argmin"),
    ("zeros", "empty", "ones"),
    ("append", "extend"),
    ("Conv1d", "Conv2d", "Conv3d"), ("MaxPool1d", "MaxPool2d", "MaxPool3d"), ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
    ("AvgPool1d", "AvgPool2d"), ("Dropout", "Dropout2d"),
    ("Conv1D", "Conv2D", "Conv3D"), ("MaxPooling1D", "MaxPooling2D", "MaxPooling3D"), ("GlobalMaxPooling1D", "GlobalMaxPooling2D"),
    ("CrossEntropyLoss", "BCEWithLogitsLoss", "BCELoss", "NLLLoss", "MSELoss"),
    ("cross_entropy", "binary_cross_entropy_with_logits", "binary_cross_entropy", "nll_loss", "mse_loss"),
    ("tensor", "stack", "as_tensor", "from_numpy"),
)  # fmt: skip
"""Functions that take the same operands and are written in each other's place."""

LIBRARIES = frozenset({"numpy", "torch", "tensorflow", "keras.ops", "jax.numpy"})

OUT_OF_GRAPH = -2.5
"""What a function of NumPy loses, in logarithms, for one of a framework that is given its tensors: no gradient flows through."""

OTHER_LOSS = -2.0
"""What another loss loses where the message speaks of kinds of numbers: these are to be converted."""

_KINDS = re.compile(r"\b(?:float|double|half|long|int|bool)\b|dtype", re.IGNORECASE)
_SIZES = re.compile(r"\b(?:shape|size|dimension)s?\b", re.IGNORECASE)

PRIMARY = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
"""Expressions that an operator can stand before as they are."""

EXCHANGED = {ast.Div: "//", ast.Mult: "@", ast.MatMult: "*"}


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other operations at a place."""
    node = place.node
    if isinstance(node, ast.BinOp) and type(node.op) in EXCHANGED:
        code = f"{scene.code(node.left)} {EXCHANGED[type(node.op)]} {scene.code(node.right)}"
        yield replaced(scene, node, code, "operator")
    if (mask := _inverted(scene, node)) is not None:
        yield replaced(scene, node, f"~{mask}", "inverted")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        yield replaced(scene, node, scene.code(node.left), "left alone")
        yield replaced(scene, node, scene.code(node.right), "right alone")
    if isinstance(node, ast.Attribute | ast.Name) and scene.subject.source.is_called(node):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        before = f"{scene.code(node.value)}." if isinstance(node, ast.Attribute) else ""
        yield from _of_other_library(scene, node)
        for group in FUNCTIONS:
            if name in group:
                less = OTHER_LOSS * ("MSELoss" in group or "mse_loss" in group) * _is_of_kinds(scene.message)
                for other in group:
                    if other != name:
                        yield replaced(scene, node, f"{before}{other}", "function", less)


def _is_of_kinds(message: str) -> bool:
    """Whether a message speaks of kinds of numbers, and not of sizes."""
    return _KINDS.search(message) is not None and _SIZES.search(message) is None


def _inverted(scene: Scene, node: ast.expr) -> str | None:
    """What a mask of truth values is called, or how it is computed, in `1 - mask`."""
    match node:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=right):
            told = scene.told(right)
            if told is not None and told.is_array and told.dtype == "bool":
                return scene.code(right) if isinstance(right, PRIMARY) else f"({scene.code(right)})"
    return None


def _of_other_library(scene: Scene, node: ast.Attribute | ast.Name) -> Iterator[Change]:
    """The function of the same name of another library of arrays that the program imports."""
    owner = scene.told(node.value) if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Attribute) and owner is not None and owner.module in LIBRARIES:
        for name, told in scene.names(node).items():
            if told.module in LIBRARIES and told.module != owner.module:
                out = OUT_OF_GRAPH * (told.module == "numpy" and _takes_tensors(scene, node))
                yield replaced(scene, node, f"{name}.{node.attr}", "library", out)


def _takes_tensors(scene: Scene, function: ast.Attribute) -> bool:
    """Whether what a function is called on, or one of its parts, is an array of a framework."""
    call = scene.subject.source.parent(function)
    given = (scene.told(each) for each in (call.args if isinstance(call, ast.Call) else ()))
    return any(told is not None and told.is_array and not told.is_numpy for told in given)
