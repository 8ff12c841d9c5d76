"""The values that a program's `argparse` options and absl flags have under a given command line.

`command_line` chooses the words that a program is called with; here their effect is computed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from dnnfix.reproduce.syntax import string, strings
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_true

WITHOUT_WORD = words("store_true store_false store_const append_const count help version")
"""Actions of options that take no word of their own."""


def read_of(source: Source, called_with: tuple[str, ...]) -> dict[str, object]:
    """The values of the options of a program called with these words, by the name that it reads them by."""
    apart = [part for word in called_with for part in (word.split("=", 1) if word.startswith("--") else (word,))]
    given = {read_as(name): value for name, value in pairwise(apart) if name.startswith("--")}
    positional = [names[0].replace("-", "_") for names, _call in _arguments(source) if not names[0].startswith("-")]
    return {**defaults(source), **given, **dict(zip(positional, _without_options(source, called_with), strict=False))}


@once
def defaults(source: Source) -> dict[str, object]:
    """The defaults of the options that a program or a module beside it asks for, by the name that they are read under."""
    found: dict[str, object] = {}
    for method, names, call in _asked(source):
        if method == "add_argument":
            if isinstance(default := keyword_value(call, "default"), ast.Constant):
                found[_key(names, call)] = default.value
        elif method.startswith("DEFINE_") and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
            found[names[0]] = call.args[1].value
    return found


def is_nothing(value: object) -> bool:
    """Whether a default says that nothing is given, or that a switch is off."""
    return value is False or value in (None, "")


@once
def have_values(source: Source) -> dict[str, bool]:
    """The options of a program by the name that they are read under, and whether each has a value with no word given for it."""
    by_default = defaults(source)
    found = {name: not is_nothing(value) for name, value in by_default.items()}
    for names, call in _arguments(source):
        name = _key(names, call)
        required = not names[0].startswith("-") or is_true(keyword_value(call, "required"))
        computed = name not in by_default and keyword_value(call, "default") is not None
        found[name] = found.get(name, False) or required or computed
    return found


def _key(names: list[str], call: ast.Call) -> str:
    """The name that an argument of `argparse` is read by."""
    kept = keyword_value(call, "dest")
    return (
        str(kept.value)
        if isinstance(kept, ast.Constant)
        else read_as(max(names, key=lambda name: name.startswith("--")))
    )


def read_as(name: str) -> str:
    """The name that an option is read by: `batch_size` of `--batch-size`."""
    return name.lstrip("-").replace("-", "_")


def _without_options(source: Source, called_with: tuple[str, ...]) -> Iterator[str]:
    """The words that belong to no option."""
    alone = {
        name
        for names, call in _arguments(source)
        if string(keyword_value(call, "action")) in WITHOUT_WORD
        for name in names
    }
    left = iter(called_with)
    for word in left:
        if not word.startswith("-"):
            yield word
        elif "=" not in word and word not in alone:
            next(left, None)


def _arguments(source: Source) -> Iterator[tuple[list[str], ast.Call]]:
    """The arguments of `argparse`: their names, and the calls that ask for them."""
    return ((names, call) for method, names, call in _asked(source) if method == "add_argument")


def _asked(source: Source) -> Iterator[tuple[str, list[str], ast.Call]]:
    """The calls of methods with names for something, in the program and beside it: the method, the names, and the call."""
    for call in (call for file in (*source.beside, source) for call in file.all_calls):
        if isinstance(call.func, ast.Attribute) and (names := strings(call.args)):
            yield call.func.attr, names, call
