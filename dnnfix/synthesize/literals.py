"""The literal that an argument comes from: through a variable, a dictionary, a parameter, or an option's default."""

from __future__ import annotations

import ast

from dnnfix.detect.loops.training_loop import attribute_calls, function_around, method_calls
from dnnfix.detect.tensors.shapes import where_written
from dnnfix.subject import Subject

DEPTH = 4
"""Names and parameters that are followed one after the other."""


def number_written(subject: Subject, node: ast.expr) -> ast.Constant | None:
    """The number literal that an expression comes from; `None` where it comes from no or several places."""
    found = constant_written(subject, node)
    return found if found is not None and type(found.value) in (int, float) else None


def constant_written(subject: Subject, node: ast.expr) -> ast.Constant | None:
    """The literal that an expression comes from; `None` where it comes from no or several places."""
    for _ in range(DEPTH):
        node = where_written(subject, node)
        if isinstance(node, ast.Constant):
            return node
        following = _followed(subject, node)
        if following is None:
            return None
        node = following
    return None


def _followed(subject: Subject, node: ast.expr) -> ast.expr | None:
    """What stands behind a parameter, an item of a dictionary, or an option of the command line."""
    match node:
        case ast.Name():
            return passed(subject, node)
        case ast.Subscript(value=held, slice=ast.Constant(str(key))):
            return _item(subject, held, key)
        case ast.Attribute(value=held, attr=name):
            return _default(subject, held, name)
    return None


def passed(subject: Subject, name: ast.Name) -> ast.expr | None:
    """The argument for a parameter in the one call of its function or class, else its default.

    `None` where the name is not a parameter, the calls are none or several, or unpacking hides what they give.
    """
    source, function = subject.source, function_around(subject.source, name)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    owner = source.parent(function)
    if name.id not in names or (isinstance(owner, ast.ClassDef) and function.name != "__init__"):
        return None
    called = owner if isinstance(owner, ast.ClassDef) else function
    calls = [call for call in source.all_calls if source.definition(call.func) is called]
    if len(calls) != 1 or _unpacks(calls[0]):
        return None
    position = names.index(name.id) - (called is owner)
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    given = next((keyword.value for keyword in calls[0].keywords if keyword.arg == name.id), None)
    return given or (calls[0].args[position] if position < len(calls[0].args) else defaults.get(name.id))


def _unpacks(call: ast.Call) -> bool:
    return any(keyword.arg is None for keyword in call.keywords) or any(
        isinstance(argument, ast.Starred) for argument in call.args
    )


def _item(subject: Subject, held: ast.expr, key: str) -> ast.expr | None:
    match where_written(subject, held):
        case ast.Dict(keys=keys, values=values):
            found = [v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant) and k.value == key]
        case ast.Call(func=ast.Name("dict"), keywords=keywords):
            found = [keyword.value for keyword in keywords if keyword.arg == key]
        case _:
            return None
    return found[0] if len(found) == 1 else None


def _default(subject: Subject, held: ast.expr, name: str) -> ast.expr | None:
    """The default of the option of the command line that gives an attribute of the parsed arguments."""
    parsed = where_written(subject, held)
    if not isinstance(parsed, ast.Call) or not attribute_calls(parsed, "parse_args", "parse_known_args"):
        return None
    found = [
        keyword.value
        for call in method_calls(subject.source, "add_argument")
        if name in _names_of(call)
        for keyword in call.keywords
        if keyword.arg == "default"
    ]
    return found[0] if len(found) == 1 else None


def _names_of(option: ast.Call) -> list[str]:
    words = [arg.value for arg in option.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return [word.lstrip("-").replace("-", "_") for word in words]
