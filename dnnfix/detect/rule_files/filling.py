"""Fills the holes of a message or of code with what a match has in them."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.rule_files.matches import Hole, Match
from dnnfix.detect.rule_files.reading import HOLE

ATOMS = (
    ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Set, ast.JoinedStr,
    ast.ListComp, ast.DictComp, ast.SetComp,
)  # fmt: skip
"""Expressions that nothing beside them takes apart."""
BEFORE, AFTER = "([{,:\n", ")]},:\n"
"""Between what an expression stands alone, whatever it is."""


def said(text: str, match: Match) -> str:
    """A message with the code in its holes, in one line."""
    return HOLE.sub(lambda found: " ".join(_of(match, found[1]).text.split()), text)


def code(text: str, match: Match) -> str:
    """Code with the code in its holes: in parentheses where something beside a hole would take an expression apart, and indented as
    the line that a hole begins. Commas beside holes with nothing in them go.
    """
    for name in HOLE.findall(text):
        if not _of(match, name).text:
            text = re.sub(rf"\${{1,3}}{name}, |, \${{1,3}}{name}\b|\${{1,3}}{name}\b", "", text)
    return HOLE.sub(lambda found: _put(_of(match, found[1]), text, found), text)


def _of(match: Match, name: str) -> Hole:
    return match.holes.get(name, Hole(""))


def _put(hole: Hole, text: str, found: re.Match[str]) -> str:
    """What is written for one hole of a text."""
    before, after = text[: found.start()].rstrip(" "), text[found.end() :].lstrip(" ")
    begins = text[: found.start()].rpartition("\n")[2]
    if isinstance(hole.node, ast.expr) and not isinstance(hole.node, ATOMS) and not hole.text.startswith("("):
        assigned = before.endswith("=") and not before.endswith(("==", "!=", "<=", ">="))
        alone = (not before or before[-1] in BEFORE or assigned) and (not after or after[0] in AFTER)
        return hole.text if alone else f"({hole.text})"
    if begins.strip():
        return hole.text
    first, *rest = hole.text.split("\n")
    margin = " " * (hole.column - 1)
    return "\n".join([first, *(begins + line.removeprefix(margin) if line.strip() else line for line in rest)])
