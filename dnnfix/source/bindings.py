"""The records that `scopes.index` fills: the bindings and calls of each scope of a program."""

from __future__ import annotations

import ast
from typing import Final, TypeAlias

ScopeNode: TypeAlias = (
    "ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ListComp | ast.SetComp | "
    "ast.DictComp | ast.GeneratorExp"
)

COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)


class Imported(str):
    """The qualified name that an import binds."""

    __slots__ = ()


Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"
Binding: TypeAlias = "ast.expr | Imported | Definition | None"
"""What a name is bound to: a value, an import, a definition, or `None` for what cannot be told (loops, parameters…)."""


class Scope:
    """What one module, class, function or comprehension binds, and the calls that stand directly in it."""

    __slots__ = ("attributes", "calls", "names", "node", "owner", "parent", "redirected", "self_name")

    def __init__(self, node: ScopeNode, parent: Scope | None) -> None:
        self.node = node
        self.parent = parent
        self.names: dict[str, list[Binding]] = {}
        self.calls: list[ast.Call] = []
        self.redirected: dict[str, bool] | None = None
        """Names declared `global` (true) or `nonlocal` (false)."""
        self.self_name: str | None = None
        """The name of the first parameter of the method that the scope is in."""
        self.owner: Scope | None = None
        """The class that `self_name` is an instance of."""
        self.attributes: dict[str, list[Binding]] = {}
        """For a class: what its methods assign to attributes of `self`."""


class Index:
    """All scopes of a tree, what is imported, and which names are bound elsewhere than at the module's top."""

    __slots__ = ("foreign_attributes", "imports", "local_names", "module", "scopes", "stars")

    def __init__(self, module: Scope) -> None:
        self.module = module
        self.scopes: dict[ast.AST, Scope] = {module.node: module}
        self.local_names: set[str] = set()
        self.imports: list[str] = []
        """The modules and names that are imported, as written."""
        self.stars: list[str] = []
        """Modules of `from MODULE import *`."""
        self.foreign_attributes: set[str] = set()
        """Attributes that are assigned on something else than the `self` of a method."""
