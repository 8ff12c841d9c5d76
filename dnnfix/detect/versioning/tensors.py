"""Outdated operations on torch tensors: byte masks, `1 - mask` on Boolean tensors, and `type(x) == Variable`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.graph import holds_tensor
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import Replace
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.subject import Subject

_MASKED = frozenset(("masked_fill", "masked_fill_", "masked_scatter", "masked_scatter_", "masked_select"))
"""Functions and methods that take a mask, first after the tensor."""

_VARIABLE = ("torch.autograd.Variable", "torch.autograd.variable.Variable")

_BYTES = ("torch.uint8", "torch.ByteTensor", "torch.cuda.ByteTensor")
"""What makes a tensor of bytes, or names their type."""

_SAME_VALUES = frozenset(
    (
        "clone",
        "contiguous",
        "cpu",
        "cuda",
        "detach",
        "expand",
        "expand_as",
        "repeat",
        "t",
        "transpose",
        "unsqueeze",
        "view",
    )
)
"""Methods that keep the type of what they are called on."""

_SUBTRACTED = "with a bool tensor is not supported"
_MASK_OF_BYTES = re.compile(r"boolean masks?, but got mask with dtype (?:unsigned char|Byte)")

_COMPARISONS = frozenset(("eq", "ge", "gt", "le", "lt", "ne"))

_TELLING_TRUTH = frozenset(("any", "bool", "byte", "double", "float", "int", "long", "nonzero", "sum", "to", "type"))
"""Methods for which it makes no difference whether they are called on truth values or on bytes of 0 and 1."""


def changed_tensor_calls(uses: Uses) -> Iterator[Hit]:
    """The hits of a program about operations on tensors."""
    words = uses.source.words
    for call in uses.calls() if not words.isdisjoint(_MASKED) else ():
        if (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in _MASKED:
            yield from _mask(uses.source, call)
    if "Variable" in words and "type" in words:
        for test in uses.source.nodes(ast.Compare):
            yield from _of_variable(uses.source, test)
    if not words.isdisjoint(_COMPARISONS) or "==" in uses.source.text:
        for node in uses.source.places.by_type.get(ast.BinOp, ()):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                yield from _complement(uses.source, node)


def _of_variable(source: Source, node: ast.Compare) -> Iterator[Hit]:
    """`type(x) == Variable`: there are no others than tensors since torch 0.4, and none of that type."""
    of, test = node.left, node.ops[0]
    if not isinstance(of, ast.Call) or not isinstance(of.func, ast.Name) or of.func.id != "type" or len(of.args) != 1:
        return
    if not isinstance(test, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) or len(node.ops) > 1:
        return
    if source.qualified(node.comparators[0]) not in _VARIABLE or isinstance(source.parent(node), ast.BoolOp):
        return  # a test of several may know of tensors as well
    value = source.segment(source.site(of.args[0]))
    negated = "not " if isinstance(test, ast.NotEq | ast.IsNot) else ""
    imported = any(alias.name == "torch" and not alias.asname for i in source.nodes(ast.Import) for alias in i.names)
    kind = "torch.Tensor" if imported else source.segment(source.site(node.comparators[0]))
    yield Hit(
        source.site(node),
        f"{source.segment(source.site(node))}: no object is of that type since torch 0.4, where variables became tensors",
        title="check for a tensor with isinstance",
        edits=(Replace(source.site(node), f"{negated}isinstance({value}, {kind})"),),
        safe=True,
        removed={"torch": "0.4"},
    )


def refused_mask(subject: Subject) -> Iterator[Hit]:
    """The mask at which the run stopped, where it is of bytes and the program does not say so."""
    crash = subject.crash
    call = subject.node(crash.site) if crash is not None else None
    if crash is None or not isinstance(call, ast.Call) or _MASK_OF_BYTES.search(crash.message) is None:
        return
    given = _mask_of(subject.source, call)
    if given is not None and not _is_bytes(subject.source, given):
        yield _as_truth(subject.source, call, given)


def refused_complement(subject: Subject) -> Iterator[Hit]:
    """`1 - x` at which the run stopped, where the program does not say that `x` holds truth values; with the same ones around it."""
    crash, source = subject.crash, subject.source
    node = subject.node(crash.site) if crash is not None else None
    if crash is None or _SUBTRACTED not in crash.message or not isinstance(node, ast.BinOp):
        return
    around = source.enclosing(node, ast.FunctionDef)
    for other in source.nodes(ast.BinOp):
        same = ast.dump(other) == ast.dump(node) and source.enclosing(other, ast.FunctionDef) is around
        if same and not _is_truth(source, other.right):
            yield from _complement(source, other, known=True)


def _mask(source: Source, call: ast.Call) -> Iterator[Hit]:
    """A mask of bytes, which only index today: the functions for masks want truth values."""
    given = _mask_of(source, call)
    if given is not None and _is_bytes(source, given):
        yield _as_truth(source, call, given)


def _mask_of(source: Source, call: ast.Call) -> ast.expr | None:
    """The argument of a function for masks that is the mask."""
    name = source.qualified(call.func) or ""
    place = 1 if name.startswith("torch.") and not name.startswith("torch.Tensor.") else 0
    return argument_value(call, "mask", place) if not name or name.startswith("torch.") else None


def _as_truth(source: Source, call: ast.Call, given: ast.expr) -> Hit:
    text = source.segment(source.site(given))
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "byte":
        code = f"{source.segment(source.site(given.func.value))}.bool()"
    else:
        plain = isinstance(given, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        code = f"{text}.bool()" if plain else f"({text}).bool()"
    return Hit(
        source.site(given),
        f"{text}: masks are boolean since torch 1.2, and bytes are refused since 2.1",
        title="convert the mask to bool",
        edits=(Replace(source.site(given), code),),
        safe=True,
        removed={"torch": "2.1"},
        within=source.site(call),
    )


def _is_bytes(source: Source, value: ast.expr, depth: int = 4) -> bool:
    """Whether a value is a tensor of bytes, as far as the program says so."""
    if isinstance(value, ast.Subscript) or isinstance(value, ast.Attribute) and value.attr == "data":
        return _is_bytes(source, value.value, depth)
    if isinstance(value, (ast.Name, ast.Attribute)) and depth:
        now = source.bindings(value, value)
        bound = now or source.bindings(value)
        return any(_is_bytes(source, one, depth - 1) for one in bound)
    if not isinstance(value, ast.Call):
        return False
    name = source.qualified(value.func) or ""
    if name == "torch.autograd.Variable" and value.args:
        return _is_bytes(source, value.args[0], depth)
    if name in _BYTES:
        return True
    if any(k.arg == "dtype" and source.qualified(k.value) in _BYTES for k in value.keywords):
        return name.startswith("torch.")
    if name or not isinstance(value.func, ast.Attribute):
        return False
    method, first = value.func.attr, value.args[0] if value.args else None
    if method in ("type", "to") and first is not None:
        return source.qualified(first) in _BYTES
    return method == "byte" or method in _SAME_VALUES and _is_bytes(source, value.func.value, depth)


def _complement(source: Source, node: ast.BinOp, known: bool = False) -> Iterator[Hit]:
    """`1 - mask`: what comparing gives are truth values since torch 1.2, which cannot be subtracted."""
    if not isinstance(node.left, ast.Constant) or node.left.value not in (1, 1.0) or node.left.value is True:
        return
    if not known and not _is_truth(source, node.right):
        return
    above = source.parent(node)
    text = source.segment(source.site(node.right))
    if isinstance(node.right, ast.Compare):
        text = f"({text})"
    as_mask = (
        isinstance(above, ast.Attribute) and above.attr in _TELLING_TRUTH
        or isinstance(above, ast.Subscript) and above.slice is node
        or isinstance(above, ast.Call) and getattr(above.func, "attr", "") in _MASKED
    )  # fmt: skip
    code = f"~{text}" if as_mask else f"1 - {text}.byte()"
    yield Hit(
        source.site(node),
        f"{source.segment(source.site(node))}: boolean tensors cannot be subtracted since torch 1.2",
        title="negate the mask" if as_mask else "subtract bytes, which comparisons returned before",
        edits=(Replace(source.site(node), code),),
        exact=True,
        removed={"torch": "1.2"},
        confidence=0.9,
    )


def _is_truth(source: Source, value: ast.expr, depth: int = 2) -> bool:
    """Whether a value is what comparing tensors gives."""
    if isinstance(value, ast.Name) and depth:
        bound = source.bindings(value, value) or source.bindings(value)
        return bool(bound) and all(_is_truth(source, one, depth - 1) for one in bound)
    if isinstance(value, ast.Compare):
        apart = not any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in value.ops)
        return apart and any(_is_tensor(source, side) for side in (value.left, *value.comparators))
    if not isinstance(value, ast.Call) or value.keywords:
        return False
    name = source.qualified(value.func) or ""
    if name.rpartition(".")[2] in _COMPARISONS and name.startswith("torch."):
        return True
    method = value.func.attr if isinstance(value.func, ast.Attribute) and not name else ""
    if method in _SAME_VALUES and isinstance(value.func, ast.Attribute):
        return _is_truth(source, value.func.value, depth)
    return (
        method in _COMPARISONS
        and len(value.args) == 1
        and isinstance(value.func, ast.Attribute)
        and (_is_tensor(source, value.func.value) or _is_tensor(source, value.args[0]))
    )


def _is_tensor(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Attribute) and value.attr == "data":
        return _is_tensor(source, value.value)
    return holds_tensor(source, value)
