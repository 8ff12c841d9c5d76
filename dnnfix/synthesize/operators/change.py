"""The record of what an operator offers, its edits and its title, with the helpers that make one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dnnfix.records import Edit, Replace, Wrap
from dnnfix.synthesize.edits.data import chosen_value
from dnnfix.synthesize.scene import Scene

NUMBER = re.compile(
    r"(?<![\w.#])(?<!dimension )(?<!axis )(?<!dim )(?<!argument )(?<!number )(?<!between )(?<!between \d and )\d{1,9}(?![\w.])"
)
"""A whole number in a message that may be a size: not which axis, argument or tensor it speaks of, and no bound of what is allowed."""

LONGEST = 60
"""Characters of code in a title."""


@dataclass(frozen=True, slots=True)
class Change:
    """Edits that an operator offers at a place.

    `form` names the kind of change within the operator (`unsqueeze`, `int(…)`): what a prior is learned for. `title` says in
    the imperative what is done.
    """

    edits: tuple[Edit, ...]
    title: str
    form: str
    likeness: float = 0.0
    """What is added to its likelihood, in logarithms, for what the form does not say: less than 0 for what is less likely than the
    best of its form there, more than 0 where evidence such as the message asks for it."""


def replaced(scene: Scene, node: ast.expr, code: str, form: str, likeness: float = 0.0) -> Change:
    """Other code in place of an expression."""
    title = f"Take {short(code)} for {short(scene.code(node))}"
    return Change((Replace(scene.site(node), code),), title, form, likeness)


def call_of(scene: Scene, call: ast.Call, arguments: Iterable[str]) -> str:
    """The code of a call of the same function with other arguments."""
    return f"{scene.code(call.func)}({', '.join(arguments)})"


def around(
    scene: Scene,
    node: ast.expr,
    before: str,
    after: str,
    form: str,
    imports: Iterable[Edit] = (),
    likeness: float = 0.0,
) -> Change:
    """Code around an expression; what is put behind an operation goes around all of it."""
    node = chosen_value(node)
    loose = isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda | ast.Await)
    if not before and loose:
        before, after = "(", f"){after}"
    title = f"Take {before}{short(scene.code(node))}{after} for {short(scene.code(node))}"
    return Change((Wrap(scene.site(node), before, after), *imports), title, form, likeness)


def short(code: str) -> str:
    """Code in one line, cut where it is long."""
    line = " ".join(code.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
