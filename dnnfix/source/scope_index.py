"""Builds the index of scopes in one pass over a syntax tree: what each scope binds and which calls it makes.

It is a hand-written loop over a table of child fields, not an `ast.NodeVisitor`: this runs on every file of a scan, and
the visitor costs several times the parse. Everything else about names is computed later, when it is asked for.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from dnnfix.source.bindings import COMPREHENSIONS, Binding, Imported, Index, Scope, ScopeNode
from dnnfix.source.public_names import words

_LEAVES: Final = (
    ast.Name,
    ast.Constant,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.expr_context,
    ast.boolop,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.Import,
    ast.ImportFrom,
    ast.Global,
    ast.Nonlocal,
    ast.alias,
    ast.arg,
)
_SKIPPED_FIELDS: Final = words("""ctx op ops id attr name names module level lineno type_comment kind rest kwd_attrs""")


def _child_fields() -> dict[type[object], tuple[str, ...]]:
    """For each node type, its fields that can hold nodes worth a look, last one first."""
    fields: dict[type[object], tuple[str, ...]] = {type(None): ()}
    pending: list[type[ast.AST]] = list(ast.AST.__subclasses__())
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        kept = () if issubclass(kind, _LEAVES) else kind._fields
        fields[kind] = tuple(name for name in reversed(kept) if name not in _SKIPPED_FIELDS)
    fields[ast.Dict] = ("values", "keys")
    return fields


_FIELDS: Final = _child_fields()


def index(tree: ast.Module) -> Index:
    """Walk `tree` once."""
    return _Walk(tree).run()


class _Walk:
    """The state of the pass: scopes whose body is still to be walked."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(tree, None)
        self.index = Index(self.module)
        self.pending: list[tuple[Scope, list[ast.AST]]] = [(self.module, tree.body[::-1])]  # type: ignore[list-item]

    def run(self) -> Index:
        pending = self.pending
        while pending:
            scope, stack = pending.pop()
            self._body(scope, stack)
            if scope.redirected:
                self._redirect(scope)
            if scope is not self.module:
                self.index.local_names.update(scope.names)
        return self.index

    def _body(self, scope: Scope, stack: list[ast.AST]) -> None:
        handlers = _HANDLERS
        fields = _FIELDS
        calls = scope.calls
        pop, push, extend = stack.pop, stack.append, stack.extend
        while stack:
            node = pop()
            kind = node.__class__
            if kind is ast.Call:
                calls.append(node)  # type: ignore[arg-type]
            elif kind in handlers and handlers[kind](self, node, scope, stack):
                continue
            for field in fields[kind]:
                value = getattr(node, field)
                if value.__class__ is list:
                    if value:
                        extend(value[::-1])
                elif value is not None and fields.get(value.__class__):
                    push(value)

    # --- bindings

    def bind(self, scope: Scope, name: str, value: Binding) -> None:
        names = scope.names
        if name in names:
            names[name].append(value)
        else:
            names[name] = [value]

    def assign(self, scope: Scope, target: ast.expr, value: Binding) -> None:
        """Bind what `target` names to `value`, taking literal tuples apart."""
        if isinstance(target, ast.Name):
            self.bind(scope, target.id, value)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(scope, target, value)
        elif isinstance(target, ast.Starred):
            self.assign(scope, target.value, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[Binding] = [None] * len(target.elts)
            if (
                isinstance(value, (ast.Tuple, ast.List))
                and len(value.elts) == len(target.elts)
                and not any(isinstance(e, ast.Starred) for e in (*value.elts, *target.elts))
            ):
                values = list(value.elts)
            for element, part in zip(target.elts, values, strict=True):
                self.assign(scope, element, part)

    def _assign_attribute(self, scope: Scope, target: ast.Attribute, value: Binding) -> None:
        base = target.value
        owner = scope.owner
        if owner is not None and isinstance(base, ast.Name) and base.id == scope.self_name:
            owner.attributes.setdefault(target.attr, []).append(value)
        else:
            self.index.foreign_attributes.add(target.attr)

    def _redirect(self, scope: Scope) -> None:
        """Move what a function binds through `global` and `nonlocal` to where it belongs."""
        for name, is_global in (scope.redirected or {}).items():
            values = scope.names.pop(name, [])
            home: Scope | None = self.module
            if not is_global:
                home = scope.parent
                while home is not None and name not in home.names:
                    home = home.parent
            if home is not None and values:
                # A name rebound from inside a function has a value that depends on when that function is called.
                home.names.setdefault(name, []).extend([*values, None])

    # --- scopes

    def _open(self, node: ScopeNode, parent: Scope, body: list[ast.AST]) -> Scope:
        scope = Scope(node, parent)
        self.index.scopes[node] = scope
        self.pending.append((scope, body[::-1]))
        if not isinstance(node, ast.ClassDef):
            scope.self_name, scope.owner = parent.self_name, parent.owner
        return scope

    def _parameters(self, scope: Scope, arguments: ast.arguments) -> list[str]:
        """Bind the parameters as unknown; the names of the positional ones in order."""
        positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        for name in positional:
            self.bind(scope, name, None)
        for argument in (*arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if argument is not None:
                self.bind(scope, argument.arg, None)
        return positional

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, stack: list[ast.AST]) -> bool:
        self.bind(scope, node.name, node)
        inner = self._open(node, scope, node.body)  # type: ignore[arg-type]
        positional = self._parameters(inner, node.args)
        if isinstance(scope.node, ast.ClassDef):
            static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
            inner.self_name = positional[0] if positional and not static else None
            inner.owner = scope
        elif inner.self_name in inner.names:
            inner.self_name = inner.owner = None
        _push_signature(node.args, stack)
        if node.returns is not None:
            stack.append(node.returns)
        stack.extend(node.decorator_list)
        return True

    def lambda_(self, node: ast.Lambda, scope: Scope, stack: list[ast.AST]) -> bool:
        inner = self._open(node, scope, [node.body])
        self._parameters(inner, node.args)
        if inner.self_name in inner.names:
            inner.self_name = inner.owner = None
        _push_signature(node.args, stack)
        return True

    def class_(self, node: ast.ClassDef, scope: Scope, stack: list[ast.AST]) -> bool:
        self.bind(scope, node.name, node)
        self._open(node, scope, node.body)  # type: ignore[arg-type]
        stack.extend(node.keywords)
        stack.extend(node.bases)
        stack.extend(node.decorator_list)
        return True

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope, stack: list[ast.AST]
    ) -> bool:
        body: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for position, generator in enumerate(node.generators):
            if position:
                body.append(generator.iter)
            body.extend(generator.ifs)
        inner = self._open(node, scope, body)
        for generator in node.generators:
            self.assign(inner, generator.target, None)
        stack.append(node.generators[0].iter)
        return True

    # --- statements that bind

    def import_(self, node: ast.Import, scope: Scope, stack: list[ast.AST]) -> bool:
        for alias in node.names:
            self.index.imports.append(alias.name)
            if alias.asname:
                self.bind(scope, alias.asname, Imported(alias.name))
            else:
                root = alias.name.partition(".")[0]
                if Imported(root) not in [b for b in scope.names.get(root, ()) if isinstance(b, Imported)]:
                    self.bind(scope, root, Imported(root))
        return True

    def import_from(self, node: ast.ImportFrom, scope: Scope, stack: list[ast.AST]) -> bool:
        module = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                self.index.stars.append("." * node.level + module)
                self.index.imports.append("." * node.level + module)
            else:
                name = f"{module}.{alias.name}"
                if not node.level:
                    self.index.imports.append(name)
                self.bind(scope, alias.asname or alias.name, None if node.level else Imported(name))
        return True

    def assignment(self, node: ast.Assign, scope: Scope, stack: list[ast.AST]) -> bool:
        value = node.value
        for target in node.targets:
            if target.__class__ is ast.Name:
                self.bind(scope, target.id, value)
            else:
                self.assign(scope, target, value)
        return False

    def annotated(self, node: ast.AnnAssign, scope: Scope, stack: list[ast.AST]) -> bool:
        if node.value is not None:
            self.assign(scope, node.target, node.value)
        return False

    def walrus(self, node: ast.NamedExpr, scope: Scope, stack: list[ast.AST]) -> bool:
        home = scope
        while isinstance(home.node, COMPREHENSIONS) and home.parent is not None:
            home = home.parent
        self.assign(home, node.target, node.value if home is scope else None)
        return False

    def target(self, node: ast.AugAssign | ast.For | ast.AsyncFor, scope: Scope, stack: list[ast.AST]) -> bool:
        self.assign(scope, node.target, None)
        return False

    def with_(self, node: ast.With | ast.AsyncWith, scope: Scope, stack: list[ast.AST]) -> bool:
        for item in node.items:
            if item.optional_vars is not None:
                self.assign(scope, item.optional_vars, None)
        return False

    def handler(self, node: ast.ExceptHandler, scope: Scope, stack: list[ast.AST]) -> bool:
        if node.name:
            self.bind(scope, node.name, None)
        return False

    def global_(self, node: ast.Global | ast.Nonlocal, scope: Scope, stack: list[ast.AST]) -> bool:
        if scope is not self.module:
            declared = scope.redirected = scope.redirected or {}
            declared.update(dict.fromkeys(node.names, isinstance(node, ast.Global)))
        return True

    def capture(self, node: ast.MatchAs | ast.MatchStar, scope: Scope, stack: list[ast.AST]) -> bool:
        if node.name:
            self.bind(scope, node.name, None)
        return False

    def mapping(self, node: ast.MatchMapping, scope: Scope, stack: list[ast.AST]) -> bool:
        if node.rest:
            self.bind(scope, node.rest, None)
        return False


def _push_signature(arguments: ast.arguments, stack: list[ast.AST]) -> None:
    """Put defaults and annotations, which belong to the scope around a function, on the stack."""
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None and argument.annotation is not None:
            stack.append(argument.annotation)
    stack.extend(d for d in reversed(arguments.kw_defaults) if d is not None)
    stack.extend(reversed(arguments.defaults))


_HANDLERS: Final[dict[type[ast.AST], Any]] = {
    ast.FunctionDef: _Walk.function,
    ast.AsyncFunctionDef: _Walk.function,
    ast.Lambda: _Walk.lambda_,
    ast.ClassDef: _Walk.class_,
    ast.ListComp: _Walk.comprehension,
    ast.SetComp: _Walk.comprehension,
    ast.DictComp: _Walk.comprehension,
    ast.GeneratorExp: _Walk.comprehension,
    ast.Import: _Walk.import_,
    ast.ImportFrom: _Walk.import_from,
    ast.Assign: _Walk.assignment,
    ast.AnnAssign: _Walk.annotated,
    ast.NamedExpr: _Walk.walrus,
    ast.AugAssign: _Walk.target,
    ast.For: _Walk.target,
    ast.AsyncFor: _Walk.target,
    ast.With: _Walk.with_,
    ast.AsyncWith: _Walk.with_,
    ast.ExceptHandler: _Walk.handler,
    ast.Global: _Walk.global_,
    ast.Nonlocal: _Walk.global_,
    ast.MatchAs: _Walk.capture,
    ast.MatchStar: _Walk.capture,
    ast.MatchMapping: _Walk.mapping,
}
