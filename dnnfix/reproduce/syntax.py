"""Small questions to a syntax tree that several actions ask."""

from __future__ import annotations

import ast

from dnnfix.source.known import words
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

_ENDINGS = words("builtins.exit builtins.quit sys.exit os._exit os.abort")
"""Functions that end a program."""

_TOLD = words("usage print_usage print_help show_help")
"""Names of functions that say how a program is to be called, after which it does nothing more."""

_PARSERS = words("argparse.ArgumentParser optparse.OptionParser")
"""What ends a program by its methods `error` and `exit`; a logger's `error` does not."""


def ends(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement ends the program: it raises, exits, asserts what is false, or says how the program is called."""
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    called = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(called, ast.Call):
        return isinstance(statement, ast.Raise)
    if last_name(called.func) in _TOLD or source.qualified(called.func) in _ENDINGS:
        return True
    if not isinstance(called.func, ast.Attribute) or called.func.attr not in ("error", "exit"):
        return False
    made = source.constructor(called.func.value)
    named = made is None and last_name(called.func.value).lower().endswith("parser")
    return named or made is not None and source.qualified(made.func) in _PARSERS


def is_static(function: ast.FunctionDef) -> bool:
    """Whether a method takes no object."""
    return any(last_name(decorator) == "staticmethod" for decorator in function.decorator_list)


def texts(call: ast.Call) -> list[str]:
    """The constant texts among the positional arguments of a call."""
    return [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def shortened(text: str, length: int) -> str:
    """A text in one line that is no longer than that."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."
