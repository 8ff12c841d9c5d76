"""Extracts the source of stubs from `standins`, to be pasted into a scaffold or a script.

The modules of `dnnfix/reproduce/standins` are never imported by dnnfix itself. They are ordinary code, so that they can
be tested, and what a scaffold needs of them is cut out as text, so that a script made of it runs without dnnfix.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_NAME = re.compile(r"\bmade_\w+")

FOLDER = Path(__file__).parent / "standins"


def text(names: Iterable[str]) -> str:
    """The definitions of the named functions and of all that they use, in the order of their modules.

    Raises `KeyError` for a name that no module of stand-ins defines.
    """
    known = _definitions()
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in wanted:
            continue
        wanted.add(name)
        pending.extend(known[name][1])
    return "\n\n\n".join(known[name][0] for name in known if name in wanted)


def used_in(code: str) -> list[str]:
    """The stub functions and classes that the code names."""
    return [name for name in dict.fromkeys(_NAME.findall(code)) if name in _definitions()]


@cache
def attributes(name: str) -> frozenset[str]:
    """The attributes that the body of a class of stand-ins assigns."""
    (definition,) = ast.parse(_definitions()[name][0]).body
    assigned = [node for node in getattr(definition, "body", ()) if isinstance(node, ast.Assign)]
    return frozenset(part for node in assigned for part in _names(node))


@cache
def _definitions() -> dict[str, tuple[str, frozenset[str]]]:
    """For each top-level name: its source, and the other top-level names that it uses."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for path in sorted(FOLDER.glob("[!_]*.py")):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for node in ast.parse(source).body:
            for name in _names(node):
                used = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                found[name] = ("\n".join(lines[first - 1 : node.end_lineno]), used)
    return {name: (code, (used & found.keys()) - {name}) for name, (code, used) in found.items()}


def _names(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    return ()
