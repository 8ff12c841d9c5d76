"""Edits that keep a copy of weights in place of the weights themselves."""

from __future__ import annotations

import ast

from dnnfix.records import AddImport, Edit, Wrap
from dnnfix.source.program import Source


def copied(source: Source, value: ast.expr) -> tuple[Edit, ...] | None:
    """The edits that put a deep copy of a value in its place; `None` where the program means something else by `copy`."""
    site, names = source.site(value), dict(source.imported_names)
    name = next((bound for bound, what in names.items() if what == "copy.deepcopy"), "")
    if name or names.get("copy") == "copy":
        return (Wrap(site, f"{name or 'copy.deepcopy'}(", ")"),)
    if "copy" in names or any(node.id == "copy" for node in source.nodes(ast.Name)):
        return None
    return (Wrap(site, "copy.deepcopy(", ")"), AddImport("import copy"))
