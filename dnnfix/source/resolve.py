"""Resolves names to qualified names: through imports, assignments and scopes, or by convention without imports."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from dnnfix import libraries
from dnnfix.source import names
from dnnfix.source.bindings import COMPREHENSIONS, SCOPES, Binding, Definition, Imported, Index, Scope
from dnnfix.source.public_names import TORCH_METHODS, words
from dnnfix.source.reaching_assignment import value_at
from dnnfix.source.scope_index import index
from dnnfix.source.tree import Tree, position

_BUILTINS = words("""abs all any bool bytes callable dict dir enumerate eval exec filter float format getattr hasattr hash id input
    int isinstance issubclass iter len list locals map max min next object open ord pow print property range repr
    reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip""")
_SAME_OBJECT = words("cpu cuda double eval float half requires_grad_ share_memory to train")
"""Methods of modules that give back the module itself."""

_DEPTH = 8
"""How many assignments are followed from a name to what it stands for."""


class Resolver:
    """Resolves the names of one syntax tree. A name that is bound to several values is unknown."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._roots: dict[tuple[Scope, str], tuple[str, ...]] = {}
        self._named: dict[ast.expr, tuple[str | None, str | None]] = {}
        """What an expression refers to: as written, and the canonical name."""

    @cached_property
    def index(self) -> Index:
        """What each scope binds."""
        return index(self._tree.module)

    @cached_property
    def frameworks(self) -> frozenset[str]:
        """The frameworks that the program imports or, in a snippet without imports of any, plainly speaks of."""
        found = frozenset(f for name in self.index.imports for f in _framework(name))
        if found:
            return found | self._keras_by_attribute(found)
        spoken: set[str] = set()
        if any(
            self.index.module.names.get(node.id) is None
            for node in self._tree.nodes(ast.Name)
            if node.id in ("torch", "nn")
        ):
            spoken.add("torch")
        for scope, call in self._calls_in_scope:
            root, attributes = _chain(call.func)
            puts_mode = attributes[-1:] in (["eval"], ["train"]) and not call.args and not call.keywords
            if puts_mode or TORCH_METHODS.intersection(attributes):
                spoken.add("torch")
            if root is None or self._lookup(root.id, scope) is not None:
                continue
            if root.id in {"torch", "nn", "optim"}:
                spoken.add("torch")
            elif root.id in {"tf", "tensorflow"}:
                spoken.add("tensorflow")
                spoken.update({"keras"} & {*attributes})
            elif root.id in {"keras", "layers"}:
                spoken.add("keras")
            else:
                spoken.update(self._by_class(root.id))
        return frozenset(spoken)

    @cached_property
    def all_calls(self) -> tuple[ast.Call, ...]:
        """Every call in source order."""
        calls = [call for _, call in self._calls_in_scope]
        return tuple(sorted(calls, key=position))

    def calls(self, *qualified: str) -> Iterator[ast.Call]:
        """The calls of what has one of the canonical names, in source order."""
        found = [call for name in dict.fromkeys(qualified) for call in self._calls_by_name.get(name, ())]
        yield from sorted(found, key=position) if len(qualified) > 1 else found

    def qualified(self, expr: ast.expr) -> str | None:
        """The canonical name of what `expr` refers to; `None` when unknown or when bindings disagree."""
        return self._name(expr, None)[1]

    def written(self, expr: ast.expr) -> str | None:
        """The name of what `expr` refers to, resolved through imports but as its author wrote the import."""
        return self._name(expr, None)[0]

    def bindings(self, expr: ast.expr, at: ast.AST | None = None) -> tuple[ast.expr, ...]:
        """The values that `expr`, a name or `self.attribute`, is bound to; empty when one of them is unknown."""
        values = self._values(expr, self._scope_for(expr))
        found = sorted((v for v in values or () if isinstance(v, ast.expr)), key=position)
        if not found or len(found) != len(values or ()):
            return ()
        if at is not None and len(found) > 1:
            last = value_at(self._tree, self.scope_of, found, at)
            return (last,) if last is not None else tuple(found)
        return tuple(found)

    def definition(self, expr: ast.expr) -> Definition | None:
        """The class or function of this source that `expr` names, when it names nothing else."""
        values = self._values(expr, self._scope_for(expr))
        if values is None or len(values) != 1:
            return None
        value = values[0]
        return value if isinstance(value, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def constructor(self, expr: ast.expr, depth: int = _DEPTH) -> ast.Call | None:
        """The call that made the object that `expr` holds, when every binding agrees on it."""
        expr = _same_object(expr)
        if isinstance(expr, ast.Call):
            return expr
        if depth <= 0 or not isinstance(expr, (ast.Name, ast.Attribute)):
            return None
        made: list[ast.Call] = []
        for value in self.bindings(expr):
            source = _same_object(value)
            if type(source) is type(expr):
                own = ast.dump(expr)
                if ast.dump(source) in {own, own.replace("Load()", "Store()")}:
                    continue
            call = self.constructor(source, depth - 1)
            if call is None:
                return None
            made.append(call)
        if not made or len(made) > 1 and len({ast.dump(call) for call in made}) != 1:
            return None
        return made[0]

    @cached_property
    def imported_names(self) -> frozenset[tuple[str, str]]:
        """Pairs of a name that the module binds by an import and what it imports under it."""
        module = self.index.module
        found = {(name, str(v)) for name, values in module.names.items() for v in values if isinstance(v, Imported)}
        for statement in self._tree.module.body:
            if isinstance(statement, ast.Import):
                found.update((alias.name, alias.name) for alias in statement.names if not alias.asname)
        imported = {name for name, _ in found}
        found.update((name, "") for name, values in module.names.items() if values and name not in imported)
        return frozenset(found)

    # --- scopes

    def _scope_for(self, expr: ast.expr) -> Scope:
        """The scope in which the name at the root of `expr` is looked up."""
        root, _ = _chain(expr)
        return self._scope_at(root) if root is not None else self.index.module

    def _scope_at(self, root: ast.Name) -> Scope:
        if root.id not in self.index.local_names and root.id not in self._self_names:
            return self.index.module
        return self.scope_of(root)

    @cached_property
    def _self_names(self) -> frozenset[str]:
        return frozenset(s.self_name for s in self.index.scopes.values() if s.self_name)

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope that `node` is evaluated in: decorators, defaults and bases belong to the one outside."""
        child, above = node, self._tree.parent(node)
        trail: list[ast.AST] = [node]
        while above is not None:
            if isinstance(above, SCOPES) and _inside(above, child, trail):
                scope = self.index.scopes.get(above)
                if scope is not None:
                    return scope
            trail.append(above)
            child, above = above, self._tree.parent(above)
        return self.index.module

    def _lookup(self, name: str, scope: Scope) -> list[Binding] | None:
        """What a name is bound to where it is seen from `scope`; `None` when nothing binds it."""
        seen: Scope | None = scope
        while seen is not None:
            visible = seen is scope or not isinstance(seen.node, ast.ClassDef)
            if visible and name in seen.names:
                return seen.names[name]
            if seen.redirected and seen.redirected.get(name):
                return self.index.module.names.get(name)
            seen = seen.parent
        return None

    def _values(self, expr: ast.expr, scope: Scope) -> list[Binding] | None:
        if isinstance(expr, ast.Name):
            return self._lookup(expr.id, scope)
        if not isinstance(expr, ast.Attribute) or not isinstance(expr.value, ast.Name):
            return None
        owner = scope.owner
        if owner is None or expr.value.id != scope.self_name or expr.attr in self.index.foreign_attributes:
            return None
        if expr.value.id in scope.names and len(scope.names[expr.value.id]) > 1:
            return None
        values = [*owner.attributes.get(expr.attr, ()), *owner.names.get(expr.attr, ())]
        return values or None

    # --- names

    @cached_property
    def _calls_in_scope(self) -> list[tuple[Scope, ast.Call]]:
        return [(scope, call) for scope in self.index.scopes.values() for call in scope.calls]

    @cached_property
    def _calls_by_name(self) -> dict[str, list[ast.Call]]:
        by_name: defaultdict[str, list[ast.Call]] = defaultdict(list)
        for scope, call in self._calls_in_scope:
            _, name = self._name(call.func, scope)
            if name is not None:
                by_name[name].append(call)
        for calls in by_name.values():
            calls.sort(key=position)
        return by_name

    def _name(self, expr: ast.expr, scope: Scope | None) -> tuple[str | None, str | None]:
        known = self._named.get(expr)
        if known is None:
            written = set(self._written(expr, scope, _DEPTH))
            canonical = {names.canonical(name) for name in written}
            known = self._named[expr] = (
                written.pop() if len(written) == 1 else None,
                canonical.pop() if len(canonical) == 1 else None,
            )
        return known

    def _written(self, expr: ast.expr, scope: Scope | None, depth: int) -> tuple[str, ...]:
        """The names that `expr` may refer to, one for each binding; empty when one of them is unknown.

        `scope` is the one that `expr` is evaluated in, where the caller knows it.
        """
        root, attributes = _chain(expr)
        if root is None:
            return ()
        scope = scope or self._scope_at(root)
        if attributes and root.id == scope.self_name:
            values = self._values(_base_attribute(expr), scope)
            return _with(self._of_values(values, scope, depth), attributes[1:]) if values else ()
        return _with(self._root(root.id, scope, depth), attributes)

    def _root(self, name: str, scope: Scope, depth: int) -> tuple[str, ...]:
        key = (scope, name)
        found = self._roots.get(key)
        if found is None:
            values = self._lookup(name, scope)
            found = self._unbound(name) if values is None else self._of_values(values, scope, depth)
            if depth == _DEPTH:
                self._roots[key] = found
        return found

    def _of_values(self, values: list[Binding], scope: Scope, depth: int) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for value in values:
            if isinstance(value, Imported):
                found[str(value)] = None
                continue
            if depth <= 0 or not isinstance(value, (ast.Name, ast.Attribute)):
                return ()
            meant = self._written(value, None, depth - 1)
            if not meant:
                return ()
            found.update(dict.fromkeys(meant))
        return tuple(found)

    def _unbound(self, name: str) -> tuple[str, ...]:
        """What a name means that nothing in the program binds."""
        for module in reversed(self.index.stars):
            exported = names.star_export(module, name)
            if exported is not None:
                return (exported,)
        if name in _BUILTINS:
            return ("builtins." + name,)
        foreign = any(not names.knows_star(module) for module in self.index.stars)
        usual = names.usual(name, self.frameworks, foreign)
        return (usual,) if usual is not None else ()

    def _by_class(self, name: str) -> set[str]:
        """The framework that alone has a class of this name."""
        torch = names.usual(name, frozenset(["torch"]), False)
        keras = names.usual(name, frozenset(["keras"]), False)
        if torch and not keras:
            return {"torch"} if torch.startswith("torch.") else set()
        return {"keras"} if keras and not torch and keras.startswith("keras.") else set()

    def _keras_by_attribute(self, imported: frozenset[str]) -> frozenset[str]:
        if "tensorflow" not in imported or "keras" in imported:
            return frozenset()
        used = any(node.attr == "keras" for node in self._tree.nodes(ast.Attribute))
        return frozenset(["keras"]) if used else frozenset()


def _framework(name: str) -> tuple[str, ...]:
    root = name.partition(".")[0]
    if root == "torch" or root in libraries.ON_TORCH:
        return ("torch",)
    if root in {"keras", "tf_keras"} or root in libraries.ON_KERAS:
        return ("keras",)
    if root == "tensorflow":
        return ("tensorflow", "keras") if names.canonical(name).startswith("keras") else ("tensorflow",)
    return ()


def _chain(expr: ast.expr) -> tuple[ast.Name | None, list[str]]:
    """The name at the root of a chain of attributes, and the attributes in order."""
    attributes: list[str] = []
    while isinstance(expr, ast.Attribute):
        attributes.append(expr.attr)
        expr = expr.value
    attributes.reverse()
    return (expr, attributes) if isinstance(expr, ast.Name) else (None, attributes)


def _base_attribute(expr: ast.expr) -> ast.expr:
    """The innermost attribute access of a chain: `self.act` of `self.act.relu`."""
    while isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Attribute):
        expr = expr.value
    return expr


def _with(roots: tuple[str, ...], attributes: list[str]) -> tuple[str, ...]:
    if not attributes:
        return roots
    tail = "." + ".".join(attributes)
    return tuple(root + tail for root in roots)


def _same_object(expr: ast.expr) -> ast.expr:
    """What `expr` is called on where that call gives the same object back, as `net.to(device)` does."""
    while (
        isinstance(expr, ast.Call)
        and isinstance(expr.func, ast.Attribute)
        and expr.func.attr in _SAME_OBJECT
        and isinstance(expr.func.value, (ast.Call, ast.Name, ast.Attribute))
    ):
        expr = expr.func.value
    return expr


def _inside(scope: ast.AST, child: ast.AST, trail: list[ast.AST]) -> bool:
    """Whether `child`, a child of a scope's node on the way of `trail`, is evaluated in that scope."""
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return isinstance(child, ast.stmt)
    if isinstance(scope, ast.Lambda):
        return child is scope.body
    if isinstance(scope, COMPREHENSIONS):
        first = scope.generators[0]
        return not (child is first and len(trail) > 1 and trail[-2] is first.iter)
    return True
