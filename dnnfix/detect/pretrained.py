"""Where a program makes its model and its tokenizer of the hub's libraries, and what it calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.source.program import Source

LOADS = frozenset({"from_pretrained", "from_config"})
OF_TEXT = ("Tokenizer", "TokenizerFast", "Processor")


@dataclass(frozen=True, slots=True)
class Made:
    """The statement that makes a model or a tokenizer, the call that does, and the expression that it is kept under."""

    statement: ast.Assign
    call: ast.Call
    name: str


def tokenizer(source: Source) -> Made | None:
    """The one tokenizer, or processor, that the program makes; `None` where there are several, or none."""
    return _only(one for one in loaded(source) if _kind(one.call).endswith(OF_TEXT))


def model(source: Source) -> Made | None:
    """The one model that the program loads; `None` where there are several, or none."""
    return _only(one for one in loaded(source) if "Model" in _kind(one.call) or "For" in _kind(one.call))


def after_both(source: Source, *statements: ast.stmt) -> ast.stmt | None:
    """The last of some statements, where each is in one block; `None` where one does not see another."""
    if len({id(source.parent(one)) for one in statements}) != 1:
        return None
    return max(statements, key=lambda one: one.lineno)


def loaded(source: Source) -> Iterator[Made]:
    """What the program loads under a name, in source order: models, tokenizers and others."""
    for node in source.nodes(ast.Assign):
        call, target = node.value, node.targets[0]
        is_kept = len(node.targets) == 1 and isinstance(target, ast.Name | ast.Attribute)
        if is_kept and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in LOADS:
            yield Made(node, call, ast.unparse(target))


def _kind(call: ast.Call) -> str:
    """The last name of the class that is loaded."""
    return ast.unparse(call.func).rpartition(".")[0].rpartition(".")[2]


def _only(found: Iterator[Made]) -> Made | None:
    each = list(found)
    return each[0] if len(each) == 1 else None
