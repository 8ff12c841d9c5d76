"""The data of a program, followed once: what several actions ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from dnnfix.reproduce.flow.follow import follow
from dnnfix.reproduce.flow.values import Flow
from dnnfix.reproduce.syntax import texts
from dnnfix.source.given import keyword_value
from dnnfix.source.program import Source, once

_FOLLOWED_AT_MOST = 400_000
"""Characters of a program that is followed at most."""


@once
def flow_of(source: Source, undefined: tuple[str, ...], words: tuple[str, ...] = ()) -> Flow:
    """The data of a program, which is called with these words, and what is done with it.

    `undefined` are the names that nothing defines; those of functions of missing modules are qualified.
    """
    if len(source.text) > _FOLLOWED_AT_MOST:
        return Flow()
    apart = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else (word,))]
    given = {name.lstrip("-").replace("-", "_"): value for name, value in pairwise(apart) if name.startswith("--")}
    placed = dict(zip(_positional(source), _without_options(source, words), strict=False))
    return follow(source, undefined, {**options(source), **given, **placed, "argv": ("program.py", *words)})


_ALONE = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "help", "version"})
"""Actions of options that take no word of their own."""


def _positional(source: Source) -> list[str]:
    """The arguments that `argparse` takes by their place, in their order, by the name that they are read under."""
    return [names[0].replace("-", "_") for names, _call in _asked(source) if not names[0].startswith("-")]


def _without_options(source: Source, words: tuple[str, ...]) -> Iterator[str]:
    """The words that belong to no option."""
    alone = {name for names, call in _asked(source) if _action(call) in _ALONE for name in names}
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            yield word
        elif "=" not in word and word not in alone:
            next(left, None)


def _asked(source: Source) -> Iterator[tuple[list[str], ast.Call]]:
    """The calls that ask `argparse` for an argument, with its names."""
    for call in (call for file in (*source.beside, source) for call in file.all_calls):
        names = texts(call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and names:
            yield names, call


def _action(call: ast.Call) -> str:
    action = keyword_value(call, "action")
    return str(action.value) if isinstance(action, ast.Constant) else ""


@once
def options(source: Source) -> dict[str, object]:
    """The defaults of the options that a program or a module beside it asks for, by the name that they are read under."""
    found: dict[str, object] = {}
    for call in (call for file in (*source.beside, source) for call in file.all_calls):
        last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        names = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if last == "add_argument" and names:
            key = max(names, key=lambda name: name.startswith("--")).lstrip("-").replace("-", "_")
            if isinstance(dest := named.get("dest"), ast.Constant):
                key = str(dest.value)
            if isinstance(default := named.get("default"), ast.Constant):
                found[key] = default.value
        elif last.startswith("DEFINE_") and len(call.args) > 1 and names and isinstance(call.args[1], ast.Constant):
            found[names[0]] = call.args[1].value
    return found
