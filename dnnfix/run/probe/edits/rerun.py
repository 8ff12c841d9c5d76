"""Runs an edited statement again, and the later statements of the frame that depend on it, up to the failing one.

Dependence is read from the names that each statement binds, changes and uses. If the value of a name was changed since,
it is computed anew from its definition on; where dependence cannot be decided, nothing is run.
"""

from __future__ import annotations

import ast
import sys
from types import CodeType, ModuleType
from typing import AbstractSet, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from . import stopped
from .stopped import Change, Standing

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FLAT = (ast.If, ast.Try)
"""Compound statements that are gone into: what was run of them is a block like any other."""

Run = Callable[..., Dict[str, Any]]


class _Use(NamedTuple):
    """What a statement does with names."""

    binds: Set[str]
    changes: Set[str]
    uses: Set[str]


def from_definitions(
    frames: Sequence[Standing], changes: Dict[str, List[Change]], imports: Sequence[str], run: Run
) -> Dict[str, Any]:
    """Run the edited definition and everything that depends on it, in the innermost frame where anything does."""
    if len(changes) != 1:
        return {"failed": "the edit is in several files"}
    filename = next(iter(changes))
    text = stopped.text(filename)
    spaces = _space_of(filename, frames)
    if spaces is None:
        return {"failed": "the module is not loaded"}
    top = next((node for node in text.tree.body if _encloses(text, node, changes[filename])), None)
    if top is None and all(any(_encloses(text, s, [change]) for s in text.tree.body) for change in changes[filename]):
        return in_frames(frames, changes, imports, run)
    if top is None:
        return {"failed": "the edit is in no one statement of the module"}
    if not isinstance(top, _DEFINITIONS):
        return in_frames(frames, changes, imports, run)
    edited = _edited(text, top, changes[filename])
    try:
        for statement in imports:
            exec(statement, spaces)
        before = spaces.get(top.name)
        code = compile(ast.Module(body=edited, type_ignores=[]), filename, "exec", dont_inherit=True)
        exec(code, spaces)
        _imported_anew(frames, before, spaces.get(top.name))
    except (SyntaxError, ValueError) as error:
        return {"failed": str(error)}
    return in_frames(frames, {}, imports, run, _reaching(text.tree, top.name))


def _space_of(filename: str, frames: Sequence[Standing]) -> Optional[Dict[str, Any]]:
    """The names of the module that a file was run as."""
    for one in frames:
        if one.filename == filename:
            return one.frame.f_globals
    loaded = (vars(m) for m in list(sys.modules.values()) if getattr(m, "__file__", None) == filename)
    return next(loaded, None)


def _imported_anew(frames: Sequence[Standing], before: Any, after: Any) -> None:
    """What other files had imported of a definition is the new one."""
    for one in frames:
        for name, value in list(one.frame.f_globals.items()):
            if value is before and before is not None:
                one.frame.f_globals[name] = after


def in_frames(
    frames: Sequence[Standing],
    changes: Dict[str, List[Change]],
    imports: Sequence[str],
    run: Run,
    names: AbstractSet[str] = frozenset(),
    forgetful: AbstractSet[int] = frozenset(),
) -> Dict[str, Any]:
    """Run the statements that are changed or use one of `names`, and all that depends on them, in the innermost frame with any.

    Of the frames `forgetful` the statement under way alone is not run: it holds without any change.
    """
    for number in reversed(range(len(frames))):
        one = frames[number]
        block = _executed(one)
        text = stopped.text(one.filename)
        own = changes.get(one.filename, [])
        begun = [n for n, s in enumerate(block) if own and any(_encloses(text, s, [change]) for change in own)]
        begun += [n for n, s in enumerate(block) if names & _use(s, one.frame.f_globals).uses]
        if not begun:
            continue
        if begun == [len(block) - 1] and not own and one is not frames[0]:
            continue  # the names are used in what is under way only: further out they may be used before
        chosen = _dependent(block, set(begun), one)
        if chosen is None or (number in forgetful and chosen == {len(block) - 1}):
            continue
        statements = [s for n in sorted(chosen) for s in _edited(text, block[n], own)]
        space = one.space()
        for statement in imports:
            exec(statement, space)
        behind = one.blocks[0][1][one.blocks[0][2] + 1 :] if len(one.blocks) == 1 else []
        rest = [s for statement in behind for s in _edited(text, statement, own)]
        told = run(stopped.alone(statements), stopped.alone(rest), space, one.filename)
        told.pop("print", None)  # what is made anew differs in more than the statement's result
        return dict(told, plan="again", ran=len(statements))
    return {"failed": "nothing that was run depends on it"}


def is_carried(one: Standing) -> bool:
    """Whether a frame's statement uses a name that a loop around it binds later in its body: a value of the previous
    iteration.
    """
    loops = [n for n, (_, block, index) in enumerate(one.blocks) if isinstance(block[index], _LOOPS)]
    if not loops or isinstance(one.statement, _LOOPS):
        return False
    later = [s for _, block, index in one.blocks[loops[0] + 1 :] for s in block[index:]]
    bound = {name for statement in later for name in _use(statement, one.frame.f_globals).binds}
    return bool(bound & _use(one.statement, one.frame.f_globals).uses)


def _executed(one: Standing) -> List[ast.stmt]:
    """The statements of a frame that were run, in order, up to the one under way: branches as a part of their block."""
    found: List[ast.stmt] = []
    for place, (_, block, index) in enumerate(one.blocks):
        statement = block[index]
        found += block[:index]
        if place == len(one.blocks) - 1 or not isinstance(statement, _FLAT):
            return [*found, statement]
    return found


def _dependent(block: Sequence[ast.stmt], begun: Set[int], one: Standing) -> Optional[Set[int]]:
    """The statements to run again: what depends on those begun with, and what makes anew what they need; else `None`."""
    uses = [_use(statement, one.frame.f_globals) for statement in block]
    last = len(block) - 1
    chosen = set(begun) | {last}
    if isinstance(block[last], _LOOPS):  # its first round begins with what stands before it
        for name in uses[last].binds & uses[last].uses:
            _made_anew(uses, last, name, chosen)
    while True:
        before = set(chosen)
        touched: Set[str] = set()
        for number, use in enumerate(uses):
            if number in chosen or (touched & use.uses and number != last):
                chosen.add(number)
                touched |= use.binds | use.changes
        for number in sorted(chosen - {last}):
            for name in uses[number].uses | uses[number].changes:
                spoilt = any(name in uses[later].binds | uses[later].changes for later in range(number, last))
                if spoilt and not _made_anew(uses, number, name, chosen):
                    return None
        if chosen == before:
            return chosen


def _made_anew(uses: Sequence[_Use], number: int, name: str, chosen: Set[int]) -> bool:
    """Choose what gave a name the value that a statement used; false where it came from elsewhere and was replaced."""
    for earlier in range(number - 1, -1, -1):
        use = uses[earlier]
        if name in use.binds | use.changes:
            chosen.add(earlier)
            if name in use.binds and name not in use.uses:
                return True
            if name in use.binds:  # it was made from what it was before
                return _made_anew(uses, earlier, name, chosen)
    return not any(name in use.binds for use in uses[number:-1]) or name in uses[number].binds


def _use(statement: ast.stmt, space: Dict[str, Any]) -> _Use:
    binds: Set[str] = set()
    changes: Set[str] = set()
    uses: Set[str] = set()
    if isinstance(statement, _DEFINITIONS):
        used = {n.id for part in _at_definition(statement) for n in ast.walk(part) if isinstance(n, ast.Name)}
        return _Use({statement.name}, set(), used)
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            (uses if isinstance(node.ctx, ast.Load) else binds).add(node.id)
        elif isinstance(node, ast.AugAssign):
            changes |= _base(node.target)
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            changes |= _base(node)
        elif isinstance(node, ast.alias):
            binds.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute):
                changes |= {n for n in _base(function) if not isinstance(space.get(n), ModuleType)}
    return _Use(binds, changes - binds, uses)


def _at_definition(statement: Any) -> Iterator[ast.AST]:
    """The parts of a definition that run with it; what stands in functions runs when they are called."""
    yield from statement.decorator_list
    if isinstance(statement, ast.ClassDef):
        yield from (*statement.bases, *statement.keywords)
        for inner in statement.body:
            if isinstance(inner, _DEFINITIONS):
                yield from _at_definition(inner)
            else:
                yield inner
    else:
        yield from (default for default in (*statement.args.defaults, *statement.args.kw_defaults) if default)


def _base(node: Any) -> Set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _reaching(tree: ast.Module, name: str) -> Set[str]:
    """The names of the module's functions and classes that use `name`, or use one that does, and itself."""
    uses = {
        node.name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in tree.body
        if isinstance(node, _DEFINITIONS)
    }
    found = {name}
    while True:
        more = {other for other, used in uses.items() if used & found} - found
        if not more:
            return found
        found |= more


def _encloses(text: stopped.Text, node: ast.stmt, changes: Sequence[Change]) -> bool:
    start, end = text.whole(node)
    return all((start[0], 1) <= change.start and change.end <= (end[0] + 1, 1) for change in changes)


def _edited(text: stopped.Text, statement: ast.stmt, changes: Sequence[Change]) -> List[ast.stmt]:
    own = [change for change in changes if _encloses(text, statement, [change])]
    if not own:
        return [statement]
    start, end = text.whole(statement)
    stop = (end[0], len(text.lines[end[0] - 1]) + 1)
    lines = text.between((start[0], 1), stop, [stopped.in_lines(change, stop) for change in own])
    indent = start[1] - 1
    if not indent:
        return ast.parse(lines).body
    outer: Any = ast.parse("if True:\n%s" % lines).body[0]
    body: List[ast.stmt] = outer.body
    return body


def path_to(top: ast.AST, wanted: ast.AST) -> List[str]:
    """The names of the definitions from a statement of a module down to one in it, both included."""
    if top is wanted:
        return [getattr(top, "name", "")]
    for child in ast.iter_child_nodes(top):
        below = path_to(child, wanted) if any(each is wanted for each in ast.walk(child)) else []
        if below:
            return ([top.name] if isinstance(top, _DEFINITIONS) else []) + below
    return []


def code_at(code: CodeType, path: Sequence[str]) -> Optional[CodeType]:
    """The code object of a definition within that of a module; the last one of several with that name."""
    found: Optional[CodeType] = code
    for name in path:
        inside = [c for c in (found.co_consts if found else ()) if isinstance(c, CodeType) and c.co_name == name]
        found = inside[-1] if inside else None
    return found
