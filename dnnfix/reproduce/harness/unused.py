"""Finds the classes and functions that a program defines and never uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.source.bindings import Definition
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import names_in

TRAINING = words("fit fit_generator backward train_on_batch apply_gradients minimize")
"""Methods that train a network."""

_RUNS = TRAINING | words("evaluate predict evaluate_generator predict_generator predict_on_batch test_on_batch")
"""Methods that run a network, whoever has them."""

FRAMEWORKS = ("torch.", "keras.", "tensorflow.")
_INNOCENT = words(
    """torch.manual_seed torch.device torch.cuda.is_available torch.set_default_dtype torch.set_printoptions
    torch.cuda.manual_seed torch.cuda.manual_seed_all torch.cuda.device_count torch.set_num_threads
    tensorflow.random.set_seed keras.backend.image_dim_ordering
    keras.backend.image_data_format keras.utils.set_random_seed"""
) | frozenset(
    f"tensorflow.{place}{name}"
    for place in ("", "compat.v1.", "app.", "compat.v1.app.")
    for name in (
        "disable_v2_behavior",
        "disable_eager_execution",
        "enable_eager_execution",
        "reset_default_graph",
        "set_random_seed",
        "logging.set_verbosity",
        *(f"flags.DEFINE_{kind}" for kind in ("string", "integer", "float", "boolean", "bool", "enum")),
    )
)
"""Calls of the frameworks that files make which only define things."""


@once
def top_level(source: Source) -> tuple[Definition, ...]:
    """The classes and functions at the top of the module, also those under `if` and `try`, in source order."""
    return tuple(_definitions(source.tree.body))


def _definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement
        elif isinstance(statement, (ast.If, ast.Try)):
            for block in (statement.body, statement.orelse, getattr(statement, "finalbody", [])):
                yield from _definitions(block)


@once
def unreached(source: Source) -> tuple[Definition, ...]:
    """The definitions that no module-level statement leads to, by any chain of names."""
    reached = _reached(source)
    return tuple(node for node in top_level(source) if node.name not in reached)


@once
def roots(source: Source) -> tuple[Definition, ...]:
    """The unused definitions that no other unused one uses."""
    left = unreached(source)
    used = {name for node in left for name in names_in(node) if name != node.name}
    return tuple(node for node in left if node.name not in used)


@once
def is_active(source: Source) -> bool:
    """Whether the module's own statements, and what they lead to, call the framework or run a network."""
    reached = _reached(source)
    own = _own(source)
    trees: list[ast.AST] = [*_statements(source.tree.body)]
    trees += [own[name] for name in reached if isinstance(own.get(name), (ast.FunctionDef, ast.AsyncFunctionDef))]
    for call in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _RUNS:
            return True
        name = source.qualified(call.func) or ""
        if name.startswith(FRAMEWORKS) and name not in _INNOCENT:
            return True
        defined = source.definition(call.func)
        if isinstance(defined, ast.ClassDef):
            return True
    return False


@once
def _reached(source: Source) -> frozenset[str]:
    """The names of definitions that the module's own statements lead to."""
    own = _own(source)
    pending = [name for statement in _statements(source.tree.body) for name in names_in(statement) if name in own]
    for node in own.values():  # what decorators and defaults use is used when the module runs
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts: list[ast.expr] = [*node.decorator_list, *node.args.defaults]
            pending += [name for part in parts for name in names_in(part) if name in own]
    return _closure(source, pending)


def leads_to(source: Source, node: ast.AST) -> frozenset[str]:
    """The names of the definitions that a node leads to, by any chain of names."""
    return _closure(source, [name for name in names_in(node) if name in _own(source)])


def bodies(source: Source, node: ast.AST) -> list[ast.AST]:
    """A node, and the definitions of the program that it leads to."""
    return [node, *(_own(source)[name] for name in leads_to(source, node))]


@once
def _own(source: Source) -> dict[str, Definition]:
    return {node.name: node for node in top_level(source)}


def _closure(source: Source, names: list[str]) -> frozenset[str]:
    own = _own(source)
    pending, reached = list(names), set[str]()
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += [other for other in names_in(own[name]) if other in own]
    return frozenset(reached)


def _statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements that run when the module does, without the definitions among them."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(statement, (ast.If, ast.Try)):
            if isinstance(statement, ast.If):
                yield statement.test
            for block in (statement.body, statement.orelse, getattr(statement, "finalbody", [])):
                yield from _statements(block)
        else:
            yield statement
