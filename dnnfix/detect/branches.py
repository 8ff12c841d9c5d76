"""The branches and loops around a node, which show whether one statement always runs when another one does."""

from __future__ import annotations

import ast

from dnnfix.source.program import Source

_BRANCHES = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.ExceptHandler, ast.match_case),
    *(ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""What is carried out in some runs only, or several times."""


def branches_around(source: Source, node: ast.AST) -> set[tuple[ast.AST, str]]:
    """The branches and loops around a node, each with the name of the field that the node is in.

    Code under `if __name__ == "__main__"` counts as always run.
    """
    found: set[tuple[ast.AST, str]] = set()
    above = source.parent(node)
    while above is not None:
        started = isinstance(above, ast.If) and "__name__" in source.segment(source.site(above.test))
        if isinstance(above, _BRANCHES) and not started:
            parts = [name for name, part in ast.iter_fields(above) if part is node or _holds(part, node)]
            found.add((above, parts[0] if parts else ""))
        node, above = above, source.parent(above)
    return found


def _holds(part: object, node: ast.AST) -> bool:
    return isinstance(part, list) and any(each is node for each in part)
