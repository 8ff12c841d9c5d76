"""Whatever the program prints as a probability or an accuracy lies within its range.

An accuracy above 100 % comes of predictions that are compared with labels over all pairs, or of another count than
there are samples: both are what an axis that was added or dropped at a crash leads to. Where the original ran, what
it printed out of range is not held against the patch. After a crash nothing is known of it, so that only printed
values count that a changed statement leads to, by the names that it assigns.
"""

from __future__ import annotations

import ast
import math
import re

from dnnfix.api import Evidence, Source, Trace, Verdict, code_changes

NAME = "named-ranges-hold"
RUNG = "honest"

WHOLE = 100.0
"""The largest share in per cent; shares from 0 to 1 lie within. Programs print both under the same names."""

ROUNDING = 1e-3
"""By how much rounding may carry a printed share beyond its range."""

NOTHING_YET = -1.0
"""What programs begin with where they look for the best accuracy."""

SHARES = frozenset({"prob", "probs", "probability", "probabilities", "confidence", "accuracy", "acc"})

_FIGURE = re.compile(
    r"(?<![A-Za-z])(?P<name>prob(?:abilit(?:y|ies)|s)?|confidence|acc(?:uracy)?)(?![A-Za-z])[\"']?\s*[:=]?\s*"
    r"(?:tensor\()?(?P<value>[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?)(?![\w.]|\s*/)",
    re.IGNORECASE,
)
"""A name and the number behind it. "log prob: -1.2" is none of them, nor is a count ("acc: 12/64")."""

_LOGARITHM = re.compile(r"(?:log|ln|neg(?:ative)?)[\s_-]*$", re.IGNORECASE)


def judge(evidence: Evidence) -> Verdict:
    """Fail when a fraction outside its range is printed that the original did not print, or that the patch leads to."""
    after = _figures(evidence.after)
    if not after:
        return Verdict.not_applicable("no probability or accuracy was printed")
    outside = {name: value for name, values in after.items() for value in values if _is_outside(value)}
    if not outside:
        measured = {name: max(values) for name, values in after.items()}
        return Verdict.passes("printed shares lie in their range", measured)
    before = _figures(evidence.before)
    old = {name for name, values in before.items() if any(map(_is_outside, values))}
    if evidence.before.crash is not None:
        led_to = _led_to(evidence)
        old |= {name for name in outside if name not in led_to}
    new = sorted(set(outside) - old)
    if not new:
        return Verdict.not_applicable("shares are out of range, and not by the patch", {**outside})
    reason = f"{new[0]} is {outside[new[0]]:g}, which is no share"
    return Verdict.fails(reason, {"name": new[0], "value": outside[new[0]], "largest": WHOLE})


def _figures(trace: Trace) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for match in _FIGURE.finditer(trace.printed):
        if not _LOGARITHM.search(trace.printed[max(0, match.start() - 12) : match.start()]):
            found.setdefault(match["name"].lower(), []).append(float(match["value"]))
    return found


def _is_outside(value: float) -> bool:
    return math.isfinite(value) and value != NOTHING_YET and not -ROUNDING <= value <= WHOLE + ROUNDING


def _led_to(evidence: Evidence) -> set[str]:
    """The words for shares in statements that a changed statement leads to, where something on the way is divided.

    What nothing divides is a count, whatever it is called. What a changed `return` gives leads to the function's name,
    and no further where that is a model's `forward`.
    """
    lines = code_changes.changed_lines(evidence.source_before, evidence.source_after)
    words: set[str] = set()
    for path, file in evidence.source_after.files.items():
        statements = [n for n in ast.walk(file.tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
        touched = [any((path, line) in lines for line in range(*_extent(one))) for one in statements]
        reached = [one for one, is_touched in zip(statements, touched, strict=True) if is_touched]
        names = {name for one in reached for name in _given(file, one)}
        size = -1
        while size != len(names):
            size = len(names)
            reading = [one for one in statements if names & _read(one)]
            names |= {name for one in reading for name in _given(file, one)}
        reached += reading
        if any(_divides(node) for one in reached for node in ast.walk(one)):
            words |= {w.lower() for one in reached for w in re.findall(r"[A-Za-z]+", file.segment(file.site(one)))}
    return words & SHARES


def _extent(statement: ast.stmt) -> tuple[int, int]:
    return statement.lineno, (statement.end_lineno or statement.lineno) + 1


def _given(file: Source, statement: ast.stmt) -> set[str]:
    """The names that a statement assigns, or the function that it returns from."""
    if isinstance(statement, ast.Return):
        function = file.enclosing(statement, ast.FunctionDef)
        return {function.name} - {"forward", "call"} if function is not None else set()
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _read(statement: ast.stmt) -> set[str]:
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign)}


def _divides(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
            return True
        case ast.Attribute(attr="mean" | "average" | "div"):
            return True
    return False
