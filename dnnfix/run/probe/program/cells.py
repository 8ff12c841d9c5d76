"""Parses a program as the cells of a notebook are compiled: `from __future__` imports may follow other statements."""

from __future__ import annotations

import ast
from typing import Any, List


def parsed(source: Any, filename: str) -> ast.Module:
    """The tree of a program, ready for `compile`; raises what `ast.parse` raises.

    Of a notebook, imports from `__future__` in later cells stand at the top: there they are taken, and in a file they
    are only taken there. No node changes its position.
    """
    tree: ast.Module = ast.parse(source, filename)
    if str(filename).endswith(".ipynb"):
        late = late_futures(tree)
        start = 1 if ast.get_docstring(tree, clean=False) is not None else 0
        tree.body = tree.body[:start] + late + [node for node in tree.body[start:] if node not in late]
    return tree


def late_futures(tree: ast.Module) -> List[ast.stmt]:
    """The `from __future__` imports that follow other statements of a module."""
    header = True
    found: List[ast.stmt] = []
    for index, statement in enumerate(tree.body):
        documented = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        header = header and (future or documented)
        if future and not header:
            found.append(statement)
    return found
