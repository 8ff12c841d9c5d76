"""Interpreter: statements, that is assignments, branches, loops and definitions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dnnfix.network.containers import extend, unpack, unrollable
from dnnfix.network.expressions import Expressions
from dnnfix.network.machine import Flow, Machine
from dnnfix.network.nodes import own_nodes
from dnnfix.network.user_code import UserCode
from dnnfix.network.values import (
    Abstract,
    Env,
    Instance,
    Item,
    Items,
    Library,
    Opaque,
    Plain,
)

_TRANSPARENT = (
    "torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled", "tensorflow.function",
    "torch.jit.export", "torch.jit.ignore", "torch.jit.unused", "torch.autocast", "torch.cuda.amp.autocast",
    "torch.compile", "functools.lru_cache", "functools.cache", "typing.no_type_check", "abc.abstractmethod",
    "torch.jit.script_method", "keras.saving.register_keras_serializable",
    "keras.utils.register_keras_serializable", "torch.cuda.amp.custom_fwd",
)  # fmt: skip


class Statements:
    """Executes statements abstractly; see `machine` for the rules."""

    def __init__(self, machine: Machine, expressions: Expressions, user_code: UserCode) -> None:
        self.machine = machine
        self.expressions = expressions
        self.user_code = user_code
        self._assigned: dict[ast.AST, tuple[frozenset[str], list[ast.Attribute], list[ast.Name]]] = {}
        self._by_type: dict[type[ast.stmt], Callable[[Any, Env], Flow]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: self._try,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Return: self._return,
            ast.Raise: self._raise,
            ast.Break: self._jump,
            ast.Continue: self._jump,
            ast.Import: self._import,
            ast.ImportFrom: self._import,
            ast.Global: self._global,
            ast.Nonlocal: self._nonlocal,
            ast.Delete: self._delete,
            ast.Match: self._match,
            ast.Assert: self._assert,
        }

    def execute(self, body: list[ast.stmt], env: Env) -> Flow:
        """Read statements in order."""
        perhaps = False
        for statement in body:
            self.machine.step()
            handler = self._by_type.get(type(statement))
            if handler is None:
                continue
            flow = handler(statement, env)
            if flow is Flow.ENDED:
                return flow
            if flow is Flow.PERHAPS:
                perhaps = True
                self.machine.enter_context()
        return Flow.PERHAPS if perhaps else Flow.ON

    def _expression(self, node: ast.Expr, env: Env) -> Flow:
        self.machine.evaluate(node.value, env)
        return Flow.ON

    # --- assignments

    def _assign(self, node: ast.Assign, env: Env) -> Flow:
        value = self.machine.evaluate(node.value, env)
        for target in node.targets:
            self.machine.bind(target, value, env)
        return Flow.ON

    def _annotated(self, node: ast.AnnAssign, env: Env) -> Flow:
        if node.value is not None:
            self.machine.bind(node.target, self.machine.evaluate(node.value, env), env)
        return Flow.ON

    def _augmented(self, node: ast.AugAssign, env: Env) -> Flow:
        old, given = self.machine.evaluate(node.target, env), self.machine.evaluate(node.value, env)
        if isinstance(old, Items) and isinstance(node.op, ast.Add):
            extend(self.machine, old, given)
            return Flow.ON
        self.machine.bind(node.target, self.expressions.binary(node.op, old, given, node), env)
        return Flow.ON

    def _delete(self, node: ast.Delete, env: Env) -> Flow:
        for target in node.targets:
            if isinstance(target, ast.Name):
                env.names.pop(target.id, None)
        return Flow.ON

    # --- branches

    def _if(self, node: ast.If, env: Env) -> Flow:
        truth = self.expressions.truth(node.test, env)
        if truth is not None:
            return self.execute(node.body if truth else node.orelse, env)
        return self._branches([node.body, node.orelse], env)

    def _branches(self, bodies: list[list[ast.stmt]], env: Env) -> Flow:
        before = env.names
        ends: list[dict[str, Abstract]] = []
        left = False
        for body in bodies:
            env.names = dict(before)
            with self.machine.branch():
                flow = self.execute(body, env)
            if flow is not Flow.ENDED:
                ends.append(env.names)
            left = left or flow is Flow.PERHAPS or (flow is Flow.ENDED and not isinstance(body[-1], ast.Raise))
        if not ends:
            env.names = dict(before)
            return Flow.ENDED
        env.names = self.machine.merge(ends)
        return Flow.PERHAPS if left else Flow.ON

    def _match(self, node: ast.Match, env: Env) -> Flow:
        self.machine.evaluate(node.subject, env)
        for case in node.cases:
            for child in ast.walk(case.pattern):
                if isinstance(child, ast.MatchAs | ast.MatchStar) and child.name:
                    env.names[child.name] = Opaque()
        return self._branches([*(case.body for case in node.cases), []], env)

    def _try(self, node: ast.Try, env: Env) -> Flow:
        before = dict(env.names)
        with self.machine.branch():
            flow = self.execute([*node.body, *node.orelse], env)
        ends = [env.names] if flow is not Flow.ENDED else []
        left = flow is not Flow.ON
        unsure = {name: self._unsure(name, before, env.names) for name in {*before, *env.names}}
        for handler in node.handlers:
            env.names = {name: value for name, value in unsure.items() if value is not None}
            if handler.name:
                env.names[handler.name] = Opaque()
            with self.machine.branch():
                flow = self.execute(handler.body, env)
            if flow is not Flow.ENDED:
                ends.append(env.names)
            left = left or (flow is not Flow.ON and not isinstance(handler.body[-1], ast.Raise))
        env.names = self.machine.merge(ends) if ends else before
        if not ends:
            self.execute(node.finalbody, env)
            return Flow.ENDED
        final = self.execute(node.finalbody, env)
        return final if final is Flow.ENDED else Flow.PERHAPS if left else Flow.ON

    def _unsure(self, name: str, before: dict[str, Abstract], after: dict[str, Abstract]) -> Abstract | None:
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            return Opaque() if old is None else old
        return self.machine.join(old, new)

    def _with(self, node: ast.With | ast.AsyncWith, env: Env) -> Flow:
        for item in node.items:
            value = self.machine.evaluate(item.context_expr, env)
            if item.optional_vars is not None:
                self.machine.escape(value)
                self.machine.bind(item.optional_vars, Opaque(), env)
        return self.execute(node.body, env)

    # --- loops

    def _for(self, node: ast.For | ast.AsyncFor, env: Env) -> Flow:
        over = self.machine.evaluate(node.iter, env)
        values = unrollable(over)
        if values is not None and not _jumps(node):
            flow = Flow.ON
            for value in values:
                self.machine.bind(node.target, value, env)
                flow = self.execute(node.body, env)
                if flow is Flow.ENDED:
                    return flow
            return self.execute(node.orelse, env) if node.orelse else flow

        def enter() -> None:
            self.machine.bind(node.target, unpack(self.machine, over, None, (node.target,))[0], env)

        return self._loop(node, enter, env)

    def _while(self, node: ast.While, env: Env) -> Flow:
        return self._loop(node, lambda: None, env, node.test)

    def _loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        enter: Callable[[], None],
        env: Env,
        test: ast.expr | None = None,
    ) -> Flow:
        self._forget_assigned(node, env)
        if test is not None:
            self.machine.evaluate(test, env)
        before = dict(env.names)
        exits: list[dict[str, Abstract]] = []
        loops = self.machine.frames[-1].loops
        loops.append(exits)
        with self.machine.branch():
            enter()
            flow = self.execute(node.body, env)
        loops.pop()
        if flow is not Flow.ENDED:
            exits.append(env.names)
        env.names = self.machine.merge([before, *exits])
        returns = flow is not Flow.ON and any(isinstance(n, ast.Return) for n in own_nodes(node.body))
        after = self.execute(node.orelse, env) if node.orelse else Flow.ON
        return Flow.PERHAPS if returns or after is not Flow.ON else Flow.ON

    def _forget_assigned(self, node: ast.For | ast.AsyncFor | ast.While, env: Env) -> None:
        """At the start of a loop's body, what the body assigns may be what an earlier round left."""
        if node not in self._assigned:
            self._assigned[node] = _assigned(node)
        names, attributes, lists = self._assigned[node]
        for name in names:
            if name in env.names:
                env.names[name] = self.machine.fuzz(env.names[name])
        for target in attributes:
            base = env.lookup(target.value.id) if isinstance(target.value, ast.Name) else None
            if isinstance(base, Instance) and target.attr in base.attributes:
                base.attributes[target.attr] = self.machine.fuzz(base.attributes[target.attr])
        for grown in lists:
            held = env.lookup(grown.id)
            if isinstance(held, Items) and held.draft is None:
                held.items.append(Item(Opaque(), False))

    def _jump(self, node: ast.Break | ast.Continue, env: Env) -> Flow:
        loops = self.machine.frames[-1].loops
        if loops:
            loops[-1].append(dict(env.names))
        return Flow.ENDED

    # --- functions and classes

    def _return(self, node: ast.Return, env: Env) -> Flow:
        value = self.machine.evaluate(node.value, env) if node.value is not None else Plain(None)
        self.machine.frames[-1].returns.append(value)
        return Flow.ENDED

    def _raise(self, node: ast.Raise, env: Env) -> Flow:
        return Flow.ENDED

    def _assert(self, node: ast.Assert, env: Env) -> Flow:
        self.machine.evaluate(node.test, env)
        return Flow.ON

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, env: Env) -> Flow:
        made = self.machine.define(node, env)
        for decorator in node.decorator_list:
            value = self.machine.evaluate(decorator, env)
            name = value.name if isinstance(value, Library) else None
            called = decorator.func if isinstance(decorator, ast.Call) else None
            if called is not None:
                name = self.machine.source.qualified(called)
            if name in ("builtins.staticmethod", "builtins.classmethod", "builtins.property"):
                made.kind = name.rpartition(".")[2]
            elif name not in _TRANSPARENT:
                made.transparent = False
        env.names[node.name] = made
        return Flow.ON

    def _class(self, node: ast.ClassDef, env: Env) -> Flow:
        env.names[node.name] = self.user_code.define_class(node, env)
        return Flow.ON

    # --- names

    def _import(self, node: ast.Import | ast.ImportFrom, env: Env) -> Flow:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.machine.imported.add(name)
            if name in env.names:
                env.names[name] = Opaque()
        return Flow.ON

    def _global(self, node: ast.Global, env: Env) -> Flow:
        env.global_names.update(node.names)
        return Flow.ON

    def _nonlocal(self, node: ast.Nonlocal, env: Env) -> Flow:
        for name in node.names:
            outer = env.parent
            while outer is not None and name not in outer.names:
                outer = outer.parent
            if outer is not None:
                outer.names[name] = Opaque()
        return Flow.ON


def _jumps(node: ast.For | ast.AsyncFor) -> bool:
    return any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in own_nodes(node.body))


def _assigned(node: ast.For | ast.AsyncFor | ast.While) -> tuple[frozenset[str], list[ast.Attribute], list[ast.Name]]:
    names: set[str] = set()
    attributes: list[ast.Attribute] = []
    lists: list[ast.Name] = []
    for child in own_nodes(node.body):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.add(child.id)
        elif isinstance(child, ast.Subscript):
            if isinstance(child.ctx, ast.Store) and isinstance(child.value, ast.Name):
                names.add(child.value.id)
        elif isinstance(child, ast.Attribute):
            if isinstance(child.ctx, ast.Store):
                attributes.append(child)
            elif child.attr in ("append", "extend", "insert") and isinstance(child.value, ast.Name):
                lists.append(child.value)
    return frozenset(names), attributes, lists
