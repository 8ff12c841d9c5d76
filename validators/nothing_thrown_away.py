"""Results that the program computed and used are still used: a patch must not get past a crash by discarding them.

Judged on the syntax trees before and after, function by function. A patch fails that leaves a name unread which was read
and still is computed by a call, that overwrites a result before it is used, or that has a call stand alone whose result
was used. Taking a computation away altogether is another matter: a softmax before a loss that has one has to go.

Of a language model's edit it is asked, too, that what a function is given is read in it as before: rules and the search know what they
leave unread, and an edit that hands a loop nothing to go through removes its crash.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from dnnfix.api import Evidence, Verdict

NAME = "nothing-thrown-away"
RUNG = "honest"

_IN_PLACE = """
    append extend insert add update sort reverse shuffle remove clear pop backward step zero_grad train eval cuda cpu to half
    float double compile fit build requires_grad share_memory apply summary seed manual_seed save load_state_dict
    drop fillna rename reset_index
    """
IN_PLACE = frozenset(_IN_PLACE.split())
"""Methods that change what they are called on, so that their result need not be used."""

KEEPING = frozenset({"append", "extend", "load_state_dict", "register_buffer", "zero_grad"})
"""Calls that later ones build on: a patch may move them, and may not take them away."""

ACCESSORS = frozenset({"size", "dim", "len", "numel", "type", "device", "get_shape"})
"""Calls that tell of a value and compute nothing."""

Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def judge(evidence: Evidence) -> Verdict:
    """Fail on a result that was used and is not any more."""
    for path, file in evidence.source_before.files.items():
        before, after = dict(_scopes(file.tree, "")), dict(_scopes(evidence.source_after.files[path].tree, ""))
        for name in (name for name in before if name in after):
            thrown = _thrown_away(before[name], after[name])
            if not thrown and evidence.by_model:
                thrown = _left_unread(before[name], after[name])
            if thrown:
                return Verdict.fails(thrown, {"where": name or "module"})
    return Verdict.passes("what was computed is used as before")


def _scopes(scope: Scope, name: str) -> Iterator[tuple[str, Scope]]:
    yield name, scope
    for inner in ast.walk(scope):
        if inner is not scope and isinstance(inner, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{name}.{inner.name}", inner


def _thrown_away(before: Scope, after: Scope) -> str:
    """What is used no longer, in words; nothing where all is."""
    was, now = _read(before), _read(after)
    for names in _computed(after):
        if not names & now and names & was:
            return f"{min(names & was)} is computed and not used any more"
    overwritten = Counter(_overwritten(after)) - Counter(_overwritten(before))
    if overwritten:
        return f"{min(overwritten)} is overwritten before it is used"
    used = _used_calls(before) - _used_calls(after)
    alone = Counter(map(ast.dump, _alone(after))) - Counter(map(ast.dump, _alone(before)))
    for call in _alone(after):
        if ast.dump(call) in used and ast.dump(call) in alone and not _changes_its_object(call):
            return f"the result of {ast.unparse(call)[:60]} is not used any more"
    kept = Counter(map(_method, _alone(before))) - _methods(after)
    gone = sorted(KEEPING & set(kept))
    return f"a call of {gone[0]} is taken away" if gone else ""


def _left_unread(before: Scope, after: Scope) -> str:
    """The parameter that a function read and reads no more, in words; nothing where it has none."""
    left = (_parameters(before) & _read(before) & _parameters(after)) - _read(after)
    return f"{min(left)} is given and not used any more" if left else ""


def _parameters(scope: Scope) -> set[str]:
    if isinstance(scope, ast.Module | ast.ClassDef):
        return set()
    taken = scope.args
    every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, *filter(None, (taken.vararg, taken.kwarg))]
    return {one.arg for one in every}


def _read(scope: ast.AST) -> set[str]:
    """The names that are read; `x += y` reads both."""
    found = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    sums = [node.target for node in ast.walk(scope) if isinstance(node, ast.AugAssign)]
    return found | {target.id for target in sums if isinstance(target, ast.Name)}


def _computed(scope: Scope) -> Iterator[frozenset[str]]:
    """The names of each assignment of what a call gives, where all its targets are plain names."""
    for node in ast.walk(scope):
        names = _assigned(node)
        if names:
            yield names


def _assigned(node: ast.AST) -> frozenset[str]:
    if not isinstance(node, ast.Assign) or not any(map(_computes, ast.walk(node.value))):
        return frozenset()
    parts = [part for target in node.targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return (
        frozenset(names)
        if len(names) == len(parts) and not all(name.startswith("_") for name in names)
        else frozenset()
    )


def _computes(node: ast.AST) -> bool:
    """Whether a call computes something of something: constructors and functions without arguments make new things."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords or isinstance(node.func, ast.Attribute)):
        return False
    name = _method(node) or (node.func.id if isinstance(node.func, ast.Name) else "")
    return not name[:1].isupper() and name not in ACCESSORS


def _overwritten(scope: Scope) -> Iterator[str]:
    """The names that a block assigns from a call and assigns again with nothing reading them in between."""
    for node in ast.walk(scope):
        for block in (getattr(node, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list):
                waiting: set[str] = set()
                for statement in block:
                    names = _assigned(statement)
                    waiting -= _read(statement)
                    yield from sorted(waiting & names)
                    simple = {part.id for part in ast.walk(statement) if isinstance(part, ast.Name)}
                    waiting = (waiting - simple) | (names if len(names) == 1 else frozenset())


def _alone(scope: Scope) -> list[ast.Call]:
    statements = [node for node in ast.walk(scope) if isinstance(node, ast.Expr)]
    return [node.value for node in statements if isinstance(node.value, ast.Call)]


def _used_calls(scope: Scope) -> Counter[str]:
    calls = Counter(ast.dump(node) for node in ast.walk(scope) if isinstance(node, ast.Call))
    return calls - Counter(map(ast.dump, _alone(scope)))


def _changes_its_object(call: ast.Call) -> bool:
    return _method(call) in IN_PLACE or _method(call).endswith("_") or isinstance(call.func, ast.Name)


def _methods(scope: Scope) -> Counter[str]:
    return Counter(_method(node) for node in ast.walk(scope) if isinstance(node, ast.Call))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
