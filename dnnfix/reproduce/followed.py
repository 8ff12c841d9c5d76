"""The data of a program, followed once: what several actions ask for."""

from __future__ import annotations

import ast
from itertools import pairwise

from dnnfix.reproduce.flow.follow import follow
from dnnfix.reproduce.flow.values import Flow
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
    return follow(source, undefined, {**options(source), **given, "argv": ("program.py", *words)})


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
