"""Calls of the Python 2 method `next` of iterators, where the object is known to be an iterator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.graph import method
from dnnfix.detect.versioning.names import uses_of
from dnnfix.source.program import Source

OF_PYTHON = ("builtins.iter", "builtins.enumerate", "builtins.open", "os.walk", "csv.reader", "itertools.")
"""Functions and classes of Python that give iterators."""

IMAGES = "ImageDataGenerator"
FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")
"""Keras's generator of images, and those of its methods that give iterators."""

PLAIN = frozenset(("builtins.staticmethod", "builtins.classmethod", "builtins.property"))
"""Decorators that leave what a function gives as it is."""

_DEEP = 4


def asked_by_method(source: Source) -> Iterator[tuple[ast.Call, ast.expr, bool]]:
    """The calls of `next` as a method of iterators, those iterators, and whether Keras makes them.

    Those of Keras had a method of this name until Keras 3.0, the others had it in Python 2 alone.
    """
    uses = uses_of(source)
    if "next" in uses.defined:
        return
    for call in uses.calls():
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "next" or call.args or call.keywords:
            continue
        kinds = _kinds(source, function.value)
        if kinds and None not in kinds:
            yield call, function.value, True in kinds


def _kinds(source: Source, expr: ast.expr, left: int = _DEEP) -> set[bool | None]:
    """For each value that an expression may have, whether it is an iterator of Keras; `None` where it may be none."""
    direct = isinstance(expr, (ast.Call, ast.GeneratorExp))
    values = [expr] if direct else source.bindings(expr)
    return {_kind(source, value, left) for value in values}


def _kind(source: Source, value: ast.expr, left: int) -> bool | None:
    if isinstance(value, ast.GeneratorExp):
        return False
    if not isinstance(value, ast.Call):
        return None
    function, name = value.func, source.qualified(value.func) or ""
    if name == "builtins.iter" and "torch" in source.frameworks:
        return None  # those of loaders are read elsewhere
    if name.startswith(OF_PYTHON):
        return False
    if isinstance(function, ast.Attribute) and function.attr in FLOWS and _makes_images(source, function.value):
        return True
    made = _function(source, function)
    if made is None or not {source.qualified(each) for each in made.decorator_list} <= PLAIN or not left:
        return None
    own = [part for part in ast.walk(made) if source.enclosing(part, ast.FunctionDef, ast.Lambda) is made]
    if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own):
        return False
    returned = [part.value for part in own if isinstance(part, ast.Return)]
    kinds = {kind for each in returned for kind in (_kinds(source, each, left - 1) if each else {None})}
    return True in kinds if kinds and None not in kinds else None


def _function(source: Source, function: ast.expr) -> ast.FunctionDef | None:
    """The function of the program that is called, by its name or as a method of an object whose class is known."""
    found = source.definition(function)
    if found is None and isinstance(function, ast.Attribute):
        owner = _class(source, function.value)
        found = method(owner, function.attr) if owner is not None else None
    return found if isinstance(found, ast.FunctionDef) else None


def _class(source: Source, expr: ast.expr) -> ast.ClassDef | None:
    """The class of the program that what an expression holds was made of."""
    if isinstance(expr, ast.Name) and expr.id == "self":
        return source.enclosing(expr, ast.ClassDef)
    made = source.constructor(expr)
    found = source.definition(made.func) if made is not None else source.definition(expr)
    return found if isinstance(found, ast.ClassDef) else None


def _makes_images(source: Source, expr: ast.expr) -> bool:
    """Whether an expression holds Keras's generator of images, or one of a class derived from it."""
    values = [expr] if isinstance(expr, ast.Call) else source.bindings(expr)
    return bool(values) and all(isinstance(value, ast.Call) and _is_of_images(source, value.func) for value in values)


def _is_of_images(source: Source, made: ast.expr) -> bool:
    owner = source.definition(made)
    if not isinstance(owner, ast.ClassDef):
        package, _, last = (source.qualified(made) or "").rpartition(".")
        return last == IMAGES and package.partition(".")[0] in ("keras", "keras_preprocessing")
    return not any(method(owner, name) for name in FLOWS) and any(_is_of_images(source, base) for base in owner.bases)
