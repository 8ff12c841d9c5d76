"""The concrete syntax of a call's arguments or a display's elements: where commas, whitespace and values are.

`ast` knows nothing of commas and comments; LibCST does. Only the one expression that an edit reaches into is given to
it, so that the cost of an edit does not grow with the program. LibCST is imported here and nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dnnfix.errors import EditError
from dnnfix.records.record import record

if TYPE_CHECKING:
    import libcst

MAX_DEPTH = 150
"""How deeply nested an expression may be that LibCST, whose parser recurses, is given."""


@record
class Element:
    """One argument or element; all places are offsets in the expression's text.

    `end` is the end of the value, `comma` the place of the comma after it, -1 where there is none.
    """

    start: int
    value: int
    end: int
    comma: int
    keyword: str | None
    star: str
    bare_generator: bool = False


@record
class Layout:
    """The elements of a call, list, set or tuple. `first` is where the first element stands or would stand."""

    elements: tuple[Element, ...]
    first: int
    is_tuple: bool = False


def layout_of(node: ast.expr, text: str) -> Layout:
    """The layout of the call, list, set or tuple `node`, whose text is `text`."""
    if not isinstance(node, (ast.Call, ast.List, ast.Set, ast.Tuple)):
        raise EditError(f"The edit is for a call, list, set or tuple. Received: a {type(node).__name__}, {text[:60]!r}")
    if _depth(node) > MAX_DEPTH:
        raise EditError("The expression is nested too deeply to be edited.")
    import libcst

    try:
        tree = libcst.parse_expression(f"({text})")
    except (libcst.ParserSyntaxError, RecursionError, ValueError) as error:
        raise EditError(f"LibCST cannot read the expression {text[:60]!r}: {error}") from None
    module = libcst.Module([])

    def width(part: libcst.CSTNode | Sequence[libcst.CSTNode]) -> int:
        parts = [part] if isinstance(part, libcst.CSTNode) else part
        return sum(len(module.code_for_node(p)) for p in parts)

    # The outermost parenthesis is the one put around the text above.
    at = width(getattr(tree, "lpar", ())) - 1
    elements: Sequence[libcst.Arg | libcst.BaseElement]
    if isinstance(tree, libcst.Call):
        at += width(tree.func) + width(tree.whitespace_after_func) + 1
        first = at
        at += width(tree.whitespace_before_args)
        elements = tree.args
    elif isinstance(tree, libcst.List):
        first = at + 1
        at += width(tree.lbracket)
        elements = tree.elements
    elif isinstance(tree, libcst.Set):
        first = at + 1
        at += width(tree.lbrace)
        elements = tree.elements
    elif isinstance(tree, libcst.Tuple):
        first = at
        elements = tree.elements
    else:
        raise EditError(f"LibCST reads {text[:60]!r} as a {type(tree).__name__}, which has no elements.")
    found = []
    for element in elements:
        found.append(_element(element, at, width))
        at += width(element)
    return Layout(tuple(found), found[0].start if found else first, isinstance(node, ast.Tuple))


def _element(
    element: libcst.Arg | libcst.BaseElement, at: int, width: Callable[[libcst.CSTNode | Sequence[libcst.CSTNode]], int]
) -> Element:
    import libcst

    comma = element.comma if isinstance(element.comma, libcst.Comma) else None
    after = width(comma) if comma is not None else 0
    star, keyword = "", None
    if isinstance(element, libcst.Arg):
        star, keyword = element.star, element.keyword.value if element.keyword is not None else None
        after += width(element.whitespace_after_arg)
    elif isinstance(element, libcst.StarredElement):
        star = "*"
    end = at + width(element) - after
    value = end - width(element.value)
    bare = isinstance(element.value, libcst.GeneratorExp) and not element.value.lpar
    return Element(
        start=at,
        value=value,
        end=end,
        comma=end + width(comma.whitespace_before) if comma is not None else -1,
        keyword=keyword,
        star=star,
        bare_generator=bare,
    )


def _depth(node: ast.AST) -> int:
    deepest, pending = 0, [(node, 1)]
    while pending:
        current, depth = pending.pop()
        deepest = max(deepest, depth)
        pending.extend((child, depth + 1) for child in ast.iter_child_nodes(current))
    return deepest
