"""Keyword arguments that moved into an object of settings: `SFTTrainer(…, packing=True)` is `SFTConfig(packing=True)` today."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.tables import Change
from dnnfix.records import AddImport, Edit, InsertBefore, RemoveArgument, Replace, SetArgument
from dnnfix.source.program import Source

_PLAIN = (
    ast.Constant, ast.Name, ast.Attribute, ast.expr_context, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.unaryop,
)  # fmt: skip
"""What a value may be made of: nothing that does something when it is computed."""


_OF_TRAINING = "trl."
"""Whose settings are those of `TrainingArguments` and more, so that they can be made from these."""

Moving = tuple[ast.keyword, Change]
"""A keyword argument of a call, and what became of it."""


def moved(
    uses: Uses, call: ast.Call, keyword: ast.keyword, change: Change, all_moving: Sequence[Moving]
) -> tuple[list[Edit], str]:
    """The edits that give a keyword to the settings of a call instead, or why there are none.

    It is given where the settings are made, if its value is known there. Otherwise they are made in the call, together
    with all that moves there: of what training is told, where the call is given that.
    """
    source = uses.source
    given = next((one.value for one in call.keywords if one.arg == change.by), None)
    made = source.constructor(given) if given is not None else None
    name, added = _class(uses, change.into, made or call)
    together = [RemoveArgument(source.site(call), other.old) for _, other in all_moving]
    code = ", ".join(f"{other.new}={source.segment(source.site(one.value))}" for one, other in all_moving)
    if given is None:
        if any(one.arg is None for one in call.keywords) or call.args[1:]:
            return [], f"whether {change.by} is given cannot be seen"
        return [*together, SetArgument(source.site(call), change.by, f"{name}({code})"), *added], ""
    if made is not None and any(one.arg == change.new or one.arg is None for one in made.keywords):
        return [], f"whether {change.by} has {change.new} already cannot be seen"
    is_early = made is not None and all(_known_there(source, one.value, made) for one, _ in all_moving)
    if not is_early and _tells_training(source, given, made, change):
        known = source.segment(source.site(given))
        # A dictionary of them has a mask for the token.
        whole = f'{name}(**{{**{known}.to_dict(), "hub_token": {known}.hub_token}}, {code})'
        return [*together, SetArgument(source.site(call), change.by, whole), *added], ""
    if made is None and isinstance(given, ast.Name) and change.into.endswith("TrainingArguments"):
        # What a parser made of them can be set afterwards.
        set_there = f"{given.id}.{change.new} = {source.segment(source.site(keyword.value))}"
        before = source.site(source.statement_of(call))
        return [RemoveArgument(source.site(call), change.old), InsertBefore(before, set_there)], ""
    if made is None:
        return [], f"give it to {name}: what makes {change.by} is not seen"
    if not _known_there(source, keyword.value, made):
        return [], f"give it to {name}: its value is not known yet where {change.by} is made"
    edits: list[Edit] = [
        RemoveArgument(source.site(call), change.old),
        SetArgument(source.site(made), change.new, source.segment(source.site(keyword.value))),
    ]
    if source.qualified(made.func) != change.into:
        edits += [Replace(source.site(made.func), name), *added]
    return edits, ""


def _tells_training(source: Source, given: ast.expr, made: ast.Call | None, change: Change) -> bool:
    """Whether an argument has what `TrainingArguments` have, and none of what moves: the program does not know the settings."""
    settings = change.into.rpartition(".")[2]
    of = source.qualified(made.func) if made is not None else ""
    is_plain = isinstance(given, (ast.Name, ast.Attribute)) and settings not in source.words
    return (
        change.into.startswith(_OF_TRAINING)
        and is_plain
        and (made is None or (of or "").endswith(".TrainingArguments"))
    )


def _class(uses: Uses, qualified: str, at: ast.Call) -> tuple[str, list[Edit]]:
    """How the program calls a class at a place, or can after an import, and that import."""
    module, _, last = qualified.rpartition(".")
    for name, imported in sorted(uses.source.imported_names):
        if not uses.is_bound_before(name, at):
            continue
        if imported == qualified:
            return name, []
        if imported == module:
            return f"{name}.{last}", []
    return last, [AddImport(f"from {module} import {last}")]


def _known_there(source: Source, value: ast.expr, made: ast.Call) -> bool:
    """Whether a value means the same where the settings are made: its names are bound before, in the same function."""
    if not all(isinstance(node, _PLAIN) for node in ast.walk(value)):
        return False
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    inside = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    if names and source.enclosing(value, *inside) is not source.enclosing(made, *inside):
        return False
    line = source.site(made).line
    bound = [source.bindings(name) for name in names]
    return all(places and all(source.site(one).end_line < line for one in places) for places in bound)
