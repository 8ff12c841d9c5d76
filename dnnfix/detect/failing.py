"""Readings of the expression in which a program crashed: its parts, and what each of them held."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.detect.held_values import described_shape, held
from dnnfix.detect.operands import recorded_shape
from dnnfix.detect.shapes import known
from dnnfix.subject import Subject

CALLERS = 2
"""Calls of the program's own functions, outwards from the crash, whose arguments count as parts of it."""

TENSORS = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter"})

_OF_SIZES = re.compile(r"\b(?:shapes?|sizes?|dimensions?|channels|cardinality|broadcast|aligned)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A name, attribute, element or call in the failing expression, and what is known of its value.

    `kind` is the type's name with its module (`numpy.ndarray`), empty where it is not known; sizes that are not known make
    the shape unknown.
    """

    node: ast.expr
    kind: str
    shape: tuple[int, ...] | None
    dtype: str

    @property
    def is_array(self) -> bool:
        """Whether it is an array or tensor of known shape."""
        return self.shape is not None and bool(self.shape)

    @property
    def is_torch(self) -> bool:
        """Whether it is a tensor of torch."""
        return self.kind in TENSORS


def sizes_disagree(subject: Subject) -> bool:
    """Whether the program crashed over the sizes of arrays, which the kind of their numbers has no part in."""
    crash = subject.crash
    return crash is not None and crash.kind.rpartition(".")[2] != "TypeError" and bool(_OF_SIZES.search(crash.message))


def _failing(subject: Subject) -> tuple[ast.expr, ...]:
    """The failing expression of the program, then the calls of the program's own through which it was reached."""
    crash = subject.crash
    if crash is None:
        return ()
    own = [frame.site for frame in crash.frames if not frame.site.path]
    found: list[ast.expr] = []
    for site in list(reversed(own))[: 1 + CALLERS]:
        node = subject.node(site)
        if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return) and node.value is not None:
            node = node.value
        if isinstance(node, ast.expr):
            found.append(node)
    return tuple(found)


def failing_parts(subject: Subject) -> Iterator[Part]:
    """What may be changed in the failing expressions: what is called upon, given, added or indexed, innermost first."""
    seen: set[str] = set()
    for whole in _failing(subject):
        for node in _inside(whole):
            code = ast.unparse(node)
            if code not in seen:
                seen.add(code)
                yield _part(subject, node)


def _inside(whole: ast.expr) -> Iterator[ast.expr]:
    match whole:
        case ast.Call(func=function, args=args, keywords=keywords):
            given = [*args, *(keyword.value for keyword in keywords)]
            if isinstance(function, ast.Attribute):
                given.insert(0, function.value)
        case ast.BinOp(left=left, right=right):
            given = [left, right]
        case ast.Compare(left=left, comparators=others):
            given = [left, *others]
        case ast.Subscript(value=value, slice=index):
            given = [value, index]
        case ast.Attribute(value=value):
            given = [value]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            given = list(elements)
        case ast.Starred(value=value) | ast.UnaryOp(operand=value):
            given = [value]
        case ast.Name():
            yield whole
            return
        case _:
            return
    for node in given:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            yield node
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            yield from _inside(node)


def _part(subject: Subject, node: ast.expr) -> Part:
    told = subject.crash.held_at(subject.source.site(node)) if subject.crash is not None else None
    description = held(subject, node)
    described = description if isinstance(description, dict) else {}
    kind = (told.kind if told is not None else "") or str(described.get("kind", ""))
    dtype = (told.dtype if told is not None else "") or str(described.get("dtype", ""))
    shape = described_shape(described)
    sizes = known(shape)
    if sizes is None:
        sizes = recorded_shape(subject, node)
        if sizes is not None and not kind and shape is None:
            kind = "torch.Tensor"
    return Part(node, kind, sizes, dtype)
