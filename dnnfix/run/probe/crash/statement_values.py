"""The values of the names in the failing statement when an exception left the program: kinds, items and strings.

A message says that a list is not an array; only the values show which of the names is the list. No code of the program
is called for it: names, stored attributes and elements of plain containers are looked up, nothing else is evaluated.
"""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any, Dict, Iterator, List

from .. import sites
from ..guard import guarded
from ..lookup import MISSING, type_name, value_of

MOST = 40
"""Expressions of one statement that are told of."""

LONGEST = 120
"""Characters of a text that are told."""

_TOLD = (ast.Name, ast.Attribute, ast.Subscript)


@guarded
def held_at(error: BaseException) -> List[Dict[str, Any]]:
    """The values in the statement that failed, as `dnnfix.records.Held` has them."""
    entries = sites.entries_of(error.__traceback__)
    if not entries:
        return []
    frame = entries[-1].tb_frame
    statement = sites.line_site(frame.f_code.co_filename, entries[-1].tb_lineno)
    nodes = sites.nodes_in(frame.f_code.co_filename, statement) if statement is not None else []
    return list(_held(nodes, frame))[:MOST]


def _held(nodes: List[Any], frame: FrameType) -> Iterator[Dict[str, Any]]:
    for node, site in nodes:
        if isinstance(node, _TOLD) and isinstance(node.ctx, ast.Load):
            value = value_of(node, frame)
            if value is not MISSING:
                yield dict(_described(value), site=site)


def _described(value: Any) -> Dict[str, Any]:
    """The kind of a value, what a container holds first, and a text or truth value itself."""
    told: Dict[str, Any] = {"kind": type_name(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        told["size"] = len(value)
        if value:
            told["of"] = type_name(value[0])
    elif type(value) is dict:
        told["size"] = len(value)
        if value:
            told["of"] = type_name(next(iter(value)))
    elif type(value) is str:
        told["text"] = value[:LONGEST]
    elif type(value) is bool:
        told["text"] = str(value)
    elif _is_array(value):
        told["dtype"] = str(value.dtype)
        told["size"] = len(value.shape)
    return told


def _is_array(value: Any) -> bool:
    return type_name(value) in ("numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter")
