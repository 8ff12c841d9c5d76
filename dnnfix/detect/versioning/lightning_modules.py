"""Modules of Lightning in a program: which classes are some, what they derive from, and what their methods return."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.source.program import Source, once

PACKAGES = ("lightning", "pytorch_lightning")

Function = ast.FunctionDef

_OF_VERSION_1 = frozenset(
    ["add_argparse_args", "checkpoint_callback", "data_loader", "distributed_backend", "from_argparse_args", "gpus", "optimizer_idx",
     "progress_bar_refresh_rate", "resume_from_checkpoint", "test_end", "test_epoch_end", "training_epoch_end", "validation_end",
     "validation_epoch_end", "weights_summary"]
)  # fmt: skip

_DEEP = 8
"""How many classes of the program in a row are followed to what they derive from."""


@once
def lightning_modules(source: Source, kind: str = "LightningModule") -> dict[ast.ClassDef, str]:
    """The classes of the program that are modules of Lightning, or of another `kind`, with the package that they have that from."""
    found = ((owner, _package(source, owner, kind, _DEEP)) for owner in source.nodes(ast.ClassDef))
    return {owner: package for owner, package in found if package}


def _package(source: Source, owner: ast.ClassDef, kind: str, depth: int) -> str:
    for base in owner.bases:
        package, _, last = (source.qualified(base) or "").partition(".")
        if package in PACKAGES and last.rpartition(".")[2] == kind:
            return package
        defined = source.defined(base) if depth else None
        if defined is not None and isinstance(defined[1], ast.ClassDef):
            above = _package(defined[0], defined[1], kind, depth - 1)
            if above:
                return above
    return ""


@once
def is_of_lightning_1(source: Source) -> bool:
    """Whether a program has something else that only Lightning 1 took, so that what does no harm today was meant as it was then."""
    return not source.words.isdisjoint(_OF_VERSION_1)


def ancestors(source: Source, owner: ast.ClassDef, depth: int = _DEEP) -> list[ast.ClassDef]:
    """The classes of the program that a class derives from, nearest first."""
    found: list[ast.ClassDef] = []
    for base in owner.bases if depth else ():
        defined = source.defined(base)
        if defined is not None and isinstance(defined[1], ast.ClassDef):
            found += [defined[1], *ancestors(defined[0], defined[1], depth - 1)]
    return found


def own_method(owner: ast.ClassDef, name: str) -> Function | None:
    """The method that a class itself defines under a name."""
    return next((one for one in reversed(owner.body) if isinstance(one, Function) and one.name == name), None)


def method_of(source: Source, owner: ast.ClassDef, name: str) -> Function | None:
    """The method that the objects of a class have from the program: its own, or that of a class it derives from."""
    found = (own_method(each, name) for each in (owner, *ancestors(source, owner)))
    return next((method for method in found if method is not None), None)


def parameters(method: Function) -> list[str]:
    """The names of the parameters that are given by their place."""
    return [each.arg for each in (*method.args.posonlyargs, *method.args.args)]


def returns(method: Function) -> Iterator[ast.Return]:
    """The statements by which a method itself returns; not those of functions within it."""
    open_: list[ast.AST] = list(method.body)
    while open_:
        node = open_.pop(0)
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            open_[:0] = ast.iter_child_nodes(node)


def always_returns(method: Function) -> bool:
    """Whether a method surely returns something other than `None`, whatever way it takes."""
    return _leaves(method.body) and all(_is_something(each.value) for each in returns(method))


def _leaves(body: list[ast.stmt]) -> bool:
    match body[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=then, orelse=other):
            return bool(other) and _leaves(then) and _leaves(other)
        case ast.With(body=inner):
            return _leaves(inner)
    return False


def _is_something(value: ast.expr | None) -> bool:
    """Whether an expression is not `None`, as far as it shows: what a method of the program gives is not known."""
    if value is None or isinstance(value, ast.Constant) and value.value is None:
        return False
    head = value.func if isinstance(value, ast.Call) else None
    return not (isinstance(head, ast.Attribute) and isinstance(head.value, ast.Name) and head.value.id == "self")


def first_statement(method: Function) -> ast.stmt | None:
    """The first statement of a method behind its docstring."""
    rest = method.body[1:] if ast.get_docstring(method, clean=False) is not None else method.body
    return rest[0] if rest else None


def constructed(owner: ast.ClassDef) -> ast.stmt | None:
    """The statement of a class's constructor behind which an object of it is a module."""
    made = own_method(owner, "__init__")
    for statement in made.body if made is not None else ():
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            return statement
    return None
