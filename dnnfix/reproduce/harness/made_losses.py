"""Tells what rests on a loss that a scaffold made up: that it does not fit the code around it is no fault of the program."""

from __future__ import annotations

import ast

from dnnfix.records import Finding, Scaffold
from dnnfix.reproduce.harness.roles import role_of
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name


def rests_on_made_loss(finding: Finding, program: Source, scaffold: Scaffold) -> bool:
    """Whether a finding is about a call of a loss that the program is handed, or what goes into it, where a scaffold called the program's parts."""
    source = program.files.get(finding.site.path)
    node: ast.AST | None = source.node_at(finding.site) if source is not None and scaffold.end else None
    while source is not None and node is not None:
        if isinstance(node, ast.Call) and _is_handed(source, node.func):
            return True
        node = source.parent(node) if not isinstance(node, ast.stmt) else None
    return False


def _is_handed(source: Source, loss: ast.expr) -> bool:
    """Whether what is called is a loss by its name, and nothing in the file says which."""
    named = role_of(last_name(loss)) == "criterion"
    return (
        named and source.qualified(loss) is None and source.defined(loss) is None and source.constructor(loss) is None
    )
