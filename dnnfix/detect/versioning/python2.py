"""Whether a program was written for Python 2, and in which mode it opens a file."""

from __future__ import annotations

import ast

from dnnfix.detect.versioning.names import uses_of
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source, once

BUILTINS = frozenset(("basestring", "long", "raw_input", "reduce", "unichr", "unicode", "xrange"))
"""Builtins that Python 3 lacks."""

MODULES = frozenset(
    (
        "ConfigParser",
        "HTMLParser",
        "Queue",
        "StringIO",
        "Tkinter",
        "__builtin__",
        "cPickle",
        "cStringIO",
        "commands",
        "httplib",
        "urllib2",
        "urlparse",
    )
)
"""Modules that Python 3 lacks."""


@once
def speaks_python2(source: Source) -> bool:
    """Whether a program runs on Python 2 alone: its statements, builtins or modules have no fallback for Python 3."""
    if any("Python 2" in note for note in source.recoveries):
        return True
    uses = uses_of(source)
    for statement in uses.imports():
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else [statement.module]
        if MODULES.intersection(names) and source.enclosing(statement, ast.Try) is None:
            return True
    return any(
        name.id not in uses.bound and name.id not in uses.imported and source.enclosing(name, ast.Try) is None
        for name in uses.names(*BUILTINS)
    )


def opened_by(source: Source, expr: ast.expr) -> ast.Call | None:
    """The call of the builtin `open` whose file an expression holds; `None` where that is uncertain."""
    made: ast.expr | None = expr
    if isinstance(expr, ast.Name):
        made = _entered(source, expr) or source.constructor(expr)
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
        return None
    uses, name = uses_of(source), made.func.id
    if name in uses.bound or name in uses.imported:
        return None
    return made if name == "file" or source.qualified(made.func) == "builtins.open" else None


def _entered(source: Source, name: ast.Name) -> ast.expr | None:
    """What the `with` statement around a name gave it."""
    above = source.enclosing(name, ast.With)
    while above is not None:
        for item in above.items:
            if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name.id:
                return item.context_expr
        above = source.enclosing(above, ast.With)
    return None


def mode_of(call: ast.Call) -> str | None:
    """The mode that `open` is given, `r` where it is given none; `None` where it is not written out."""
    given = keyword_value(call, "mode")
    if given is None and len(call.args) > 1:
        given = call.args[1]
    if given is None:
        return None if any(k.arg is None for k in call.keywords) else "r"
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
