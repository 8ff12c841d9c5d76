"""The conditions of rule files: what a match, or what fills one of its holes, has to be, to have, and to stand in."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection

from dnnfix.detect import devices
from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import FUNCTIONS, LOOPS, function_around, loops_around
from dnnfix.detect.rule_files.matches import Match, matches
from dnnfix.detect.rule_files.reading import Condition
from dnnfix.source.program import Source
from dnnfix.source.tree import within


def is_about(condition: Condition, match: Match) -> bool:
    """Whether a condition concerns a match: one that names a hole of another case's pattern does not."""
    return not condition.hole or condition.hole.lstrip("$") in match.holes


def holds(source: Source, match: Match, condition: Condition) -> bool:
    """Whether all that a condition states holds for a match."""
    hole = match.holes.get(condition.hole.lstrip("$")) if condition.hole else None
    node = hole.node if hole is not None else match.node
    text = hole.text if hole is not None else source.segment(match.site)
    tests: dict[str, Callable[[], bool]] = {
        "named": lambda: _is_named(_name(source, node), condition.named),
        "made_by": lambda: _is_named(_maker(source, node), condition.made_by),
        "text": lambda: re.fullmatch(condition.text, text, re.DOTALL) is not None,
        "inside": lambda: _stands_in(source, match, condition.inside),
        "function": lambda: _is_in_function(source, match, condition.function),
        "derives_from": lambda: _derives(source, match, condition.derives_from),
        "has": lambda: node is not None and any(True for _ in matches(source, condition.has, node)),
        "lacks_argument": lambda: isinstance(node, ast.Call) and _lacks(node, condition),
        "followed_by": lambda: _beside(source, match, condition.followed_by, after=True),
        "preceded_by": lambda: _beside(source, match, condition.preceded_by, after=False),
        "program_has": lambda: any(
            _same_holes(match, other) for pattern in condition.program_has for other in matches(source, pattern)
        ),
        "stays": lambda: _stays(source, match, text),
    }
    return all(test() for key, test in tests.items() if getattr(condition, key))


def _name(source: Source, node: ast.AST | None) -> str:
    """The resolved name of an expression, or of what a call calls; what is written where that is not known."""
    expr = node.func if isinstance(node, ast.Call) else node
    if isinstance(expr, ast.Expr) and isinstance(expr.value, ast.Call):
        expr = expr.value.func
    return (source.qualified(expr) or ast.unparse(expr)) if isinstance(expr, ast.expr) else ""


def _maker(source: Source, node: ast.AST | None) -> str:
    made = source.constructor(node) if isinstance(node, ast.expr) else None
    return (source.qualified(made.func) or "") if made is not None else ""


def _is_named(name: str, wanted: Collection[str]) -> bool:
    return any(name == one or (one.endswith(".*") and name.startswith(one[:-1])) for one in wanted)


def _stands_in(source: Source, match: Match, place: str) -> bool:
    """Whether a match stands in a place of that kind."""
    node = match.node
    if node is None:
        return False
    match place:
        case "loop":
            return bool(loops_around(source, node))
        case "training loop":
            return any(structure.has(source, loop, structure.Kind.BACKWARD) for loop in loops_around(source, node))
        case "batch loop":
            return structure.is_done_for_each_batch(source, node)
        case "condition":
            return _is_conditional(source, node)
        case "try":
            return source.enclosing(node, ast.Try) is not None
        case "except":
            return source.enclosing(node, ast.ExceptHandler) is not None
        case "evaluation":
            return structure.evaluates(source, node) or structure.without_gradients(source, node)
        case "function":
            return function_around(source, node) is not None
        case "class":
            return source.enclosing(node, ast.ClassDef) is not None
        case _:
            return structure.without_gradients(source, node)


def _is_conditional(source: Source, node: ast.AST) -> bool:
    """Whether a node stands under a condition in its function, or in its loop where it stands in one.

    That a file is run as a program is none, nor is that there is a GPU: it is the same in every round and every run of the machine.
    """
    above = source.parent(node)
    while above is not None and not isinstance(above, (*FUNCTIONS, *LOOPS)):
        if isinstance(above, (ast.If, ast.IfExp)) and not (
            "__name__" in ast.unparse(above.test) or devices.is_asked_for(above.test)
        ):
            return True
        above = source.parent(above)
    return False


def _is_in_function(source: Source, match: Match, name: str) -> bool:
    """Whether a match stands in a function whose name fits a regular expression."""
    around = function_around(source, match.node) if match.node is not None else None
    return around is not None and re.fullmatch(name, around.name) is not None


def _derives(source: Source, match: Match, bases: Collection[str]) -> bool:
    """Whether the class around a match derives from one of these, by classes of the program, too."""
    around = source.enclosing(match.node, ast.ClassDef) if match.node is not None else None
    pending, seen = [around] if around is not None else [], set()
    while pending:
        kind = pending.pop()
        seen.add(kind)
        for base in kind.bases:
            if _is_named(source.qualified(base) or ast.unparse(base), bases):
                return True
            above = source.definition(base)
            if isinstance(above, ast.ClassDef) and above not in seen:
                pending.append(above)
    return False


def _lacks(call: ast.Call, condition: Condition) -> bool:
    given = {keyword.arg for keyword in call.keywords}
    spread = None in given or any(isinstance(each, ast.Starred) for each in call.args)
    by_place = bool(condition.position) and len(call.args) >= condition.position
    return not spread and condition.lacks_argument not in given and not by_place


def _stays(source: Source, match: Match, text: str) -> bool:
    """Whether no loop around a match binds a name or an attribute of a text, but for the match itself."""
    named = {*re.findall(r"[A-Za-z_]\w*", text), *re.findall(r"[A-Za-z_][\w.]*", text)}
    loops = loops_around(source, match.node) if match.node is not None else []
    own = source.statement_of(match.node) if match.node is not None else None
    bound = {
        ast.unparse(node)
        for loop in loops[-1:]
        for node in within(loop, ast.Name, ast.Attribute)
        if isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Store)
        and source.statement_of(node) is not own
    }
    return named.isdisjoint(bound)


def _beside(source: Source, match: Match, patterns: Collection[str], after: bool) -> bool:
    """Whether one of some patterns is found after (or before) a match in its function, or outside of all; in a loop, anywhere in it."""
    node = match.node
    if node is None:
        return False
    around = function_around(source, node)
    loops = loops_around(source, node)
    for other in (each for pattern in patterns for each in matches(source, pattern)):
        its = other.node
        if its is None or function_around(source, its) is not around or not _same_holes(match, other):
            continue
        if (
            (other.site > match.site) is after
            and other.site != match.site
            or any(loop in loops_around(source, its) for loop in loops)
        ):
            return True
    return False


def _same_holes(match: Match, other: Match) -> bool:
    """Whether the holes that two matches share are filled with the same code."""
    return all(other.holes[name].text == hole.text for name, hole in match.holes.items() if name in other.holes)
