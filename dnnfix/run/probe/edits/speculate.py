"""Tries the edits of a job at the crash, where the frames are alive and an edited statement can run in them at once.

Each edit is tried in a fork. An edit of a statement that a frame is at is run in that frame, followed by the statements
after it; an edit elsewhere in a function on the stack replaces the function's code, and its caller's statement is run
again; an edit of code that made the objects has the statements that depend on it run again in order. The results are no
proof: they say which edits are worth a whole run.
"""

from __future__ import annotations

import ast
import gc
import time
import types
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

from .. import budget, sites, wire
from ..guard import guarded
from ..lookup import type_name
from ..measures import rows
from ..program import loops
from . import fingerprints, forks, rebuilding, rerun, stopped, time_limit
from .stopped import RESULT, Change, Standing

SECONDS = 1.0
"""Seconds that one edit may take: a training step of a small network takes a hundredth."""

PROCESSES = 2
"""Forks side by side."""

HEAVY = 0.6
"""Share of `within` for edits that cost a fork and the running again of statements each."""

AT_ONCE = 48
"""Edits that are tried before it is asked whether more are worth it: at first, and of those that cost a fork each."""

MOST_AT_ONCE = 384
"""The same of the others, once many were tried: a new fork costs as much as ten of them."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Edit(NamedTuple):
    """One edit as the job has it: changes by file, and the imports that it needs."""

    changes: Dict[str, List[Change]]
    imports: List[str]
    score: float = 0.0
    anew: bool = False
    """Whether the loop around it is to be run from its beginning, as what an earlier round of it left is what failed."""


@guarded
def speculate(error: BaseException, wanted: Dict[str, Any]) -> None:
    """Try the edits of a job where `error` left the program, and write their results as the probe `speculation`."""
    stopped.forget()
    frames = stopped.standings(error)
    edits = [_edit(fields) for fields in wanted.get("edits", ())]
    told: List[Dict[str, Any]] = [{} for _ in edits]
    attempt = Attempt(frames, error)
    until = time.monotonic() + float(wanted["seconds"])

    def tell(chosen: List[int], work: Callable[[Edit], Dict[str, Any]], share: int) -> None:
        if share == 1 and not forks.possible():  # nothing would undo what one of them leaves behind
            return
        seconds = until - time.monotonic()
        for number, said in zip(chosen, forks.answers([edits[n] for n in chosen], work, PROCESSES, seconds, share)):
            told[number] = dict(told[number], **said) if work == attempt.outwards else said or told[number]

    numbers = range(len(frames))
    held = forks.answers(numbers, attempt.unchanged, PROCESSES, until - time.monotonic(), 1)
    attempt.forgetful.update(number for number in numbers if held[number].get("ok"))
    light = {number for number, edit in enumerate(edits) if frames and attempt.is_light(edit)}
    # The cheap ones first: where one of them holds, few of the others are worth their time.
    left = [*sorted(light), *(number for number in range(len(edits)) if frames and number not in light)]
    at_once = AT_ONCE
    while left and time.monotonic() < until:
        best = max((edits[n].score for n, said in enumerate(told) if _holds(said)), default=-1e9)
        least = {True: best - wanted["within"], False: best - wanted["within"] * HEAVY}
        left = [number for number in left if edits[number].score >= least[number in light]]
        size = at_once if left and left[0] in light else AT_ONCE
        now, left = left[:size], left[size:]
        at_once = min(2 * at_once, MOST_AT_ONCE)
        tell([number for number in now if number in light], attempt, size // PROCESSES)
        # What exchanges code or makes objects anew would be there for whatever is tried next in the same fork.
        tell([number for number in now if number in light and _holds(told[number])], attempt.outwards, 1)
        tell([number for number in now if number not in light], attempt, 1)
        anew = [number for number in now if number in light and attempt.is_carried(edits[number], told[number])]
        for number in anew:
            edits[number] = edits[number]._replace(anew=True)
            light.discard(number)
        left = anew + left
    wire.emit("probe", name="speculation", value=told)


def _holds(said: Dict[str, Any]) -> bool:
    return bool(said.get("ok")) and "error" not in said


def _edit(fields: Dict[str, Any]) -> Edit:
    changes: Dict[str, List[Change]] = {}
    for path, start, end, text in fields["changes"]:
        changes.setdefault(sites.file_at(path), []).append(Change(tuple(start), tuple(end), text))
    return Edit(changes, list(fields.get("imports", ())), float(fields.get("score", 0.0)))


class Attempt:
    """Tries one edit after another; see the module."""

    def __init__(self, frames: List[Standing], error: BaseException) -> None:
        self._frames = frames
        self._message = _said(error)
        self.forgetful: Set[int] = set()
        """Frames whose statement runs, unchanged, where it had failed: it takes other data, or the first again."""
        self._put_back = rows.draws()
        self._steps = budget.steps
        self._rests: Dict[int, List[Any]] = {}
        if frames:
            self._rest(len(frames) - 1)  # once, and not in every fork

    def __call__(self, edit: Edit) -> Dict[str, Any]:
        """What came of the edit: `ok`, `error`, a fingerprint `print`, and what came of the statements that follow."""
        self._put_back()
        budget.end_after(1)
        number = None if edit.anew else self.frame_at(edit)
        if number is not None:
            return self._statement(number, edit)
        rebuilt = rebuilding.rebuild(self._frames, edit.changes)
        if rebuilt is not None and self._place_of(edit) is not None:
            with rebuilt as number:
                return dict(self._statement(number - 1, Edit({}, edit.imports)), plan="rebuild")
        budget.end_after(self._steps + 1)  # a loop that is run anew has to come to where it failed
        number = self._frame_in(edit)
        if edit.anew:
            return rerun.in_frames(self._frames, edit.changes, edit.imports, _run_again)
        if number:
            again = rerun.in_frames(self._frames, edit.changes, edit.imports, _run_again, forgetful=self.forgetful)
            if "failed" not in again:
                return again
            if number - 1 not in self.forgetful:
                exchange(self._frames[number], edit.changes)
                return dict(self._statement(number - 1, Edit({}, edit.imports)), plan="exchange")
        told = rerun.from_definitions(self._frames, edit.changes, edit.imports, _run_again)
        return told if "failed" not in told else self._in_part(edit) or told

    def _in_part(self, edit: Edit) -> Dict[str, Any]:
        """Of an edit at several places what lies in the innermost statement; what follows it needs the rest."""
        one = self._frames[-1]
        here = [change for change in edit.changes.get(one.filename, ()) if _at_statement(one, [change])]
        return self._statement(len(self._frames) - 1, Edit({one.filename: here}, edit.imports)) if here else {}

    def is_light(self, edit: Edit) -> bool:
        """Whether what an edit does can be undone, so that another may be tried after it in the same fork."""
        return self.frame_at(edit) is not None or self._place_of(edit) is not None

    def unchanged(self, number: int) -> Dict[str, Any]:
        """What comes of the statement that a frame is at as it is."""
        return self._statement(number, Edit({}, []))

    def is_carried(self, edit: Edit, told: Dict[str, Any]) -> bool:
        """Whether an edit failed as the program did, in a loop whose earlier round may have made what failed."""
        if told.get("error", [None, None])[1] != self._message:
            return False
        number = self.frame_at(edit)
        return number is not None and rerun.is_carried(self._frames[number])

    def _place_of(self, edit: Edit) -> Any:
        place = rebuilding.place_of(self._frames, edit.changes)
        return None if place is None or place.number - 1 in self.forgetful else place

    def outwards(self, edit: Edit) -> Dict[str, Any]:
        """What comes of an edit that holds in its frame where that goes on: the caller's statement, and what follows it."""
        number = self.frame_at(edit)
        if not number or number - 1 in self.forgetful:
            return {}
        self._put_back()
        budget.end_after(1)
        try:
            if edit.changes:
                exchange(self._frames[number], edit.changes)
            else:
                _imports(edit.imports, self._frames[number].frame.f_globals)
        except (SyntaxError, ValueError):
            return {}
        told = self._statement(number - 1, Edit({}, edit.imports))
        return {key: value for key, value in told.items() if key in ("error", "slow")}

    def frame_at(self, edit: Edit) -> Optional[int]:
        """The innermost frame that is at a statement with all the changes in it; with none, as an import, the innermost."""
        if not edit.changes:
            return len(self._frames) - 1
        for number in reversed(range(len(self._frames))):
            one = self._frames[number]
            if number in self.forgetful:
                continue
            if set(edit.changes) == {one.filename} and _at_statement(one, edit.changes[one.filename]):
                return number
        return None

    def _frame_in(self, edit: Edit) -> Optional[int]:
        """The innermost frame, the module's apart, whose function has all the changes in it."""
        for number in reversed(range(1, len(self._frames))):
            one = self._frames[number]
            owner = one.blocks[0][0]
            if set(edit.changes) == {one.filename} and isinstance(owner, _FUNCTIONS):
                start, end = stopped.text(one.filename).whole(owner)
                if all(start <= change.start and change.end <= end for change in edit.changes[one.filename]):
                    return number
        return None

    def _statement(self, number: int, edit: Edit) -> Dict[str, Any]:
        """Run the statement that a frame is at, edited, and then what follows it in its block."""
        one = self._frames[number]
        try:
            statements = stopped.piece(one, edit.changes.get(one.filename, []))
        except (SyntaxError, ValueError) as error:
            return {"failed": str(error)}
        space = one.space()
        before = dict(space)
        try:
            _imports(edit.imports, space)
            return _run_all(statements, self._rest(number), space, one.filename)
        finally:
            if space is one.frame.f_globals:
                space.clear()
                space.update(before)

    def _rest(self, number: int) -> List[Any]:
        """The code of the statements that follow a frame's in its block, as far as they run outside of a function."""
        if number not in self._rests:
            one = self._frames[number]
            found = self._rests[number] = []
            for statement in stopped.alone(one.rest):
                try:
                    found.append(_code([statement], one.filename))
                except (SyntaxError, ValueError):
                    break
        return self._rests[number]


def _at_statement(one: Standing, changes: Sequence[Change]) -> bool:
    text = stopped.text(one.filename)
    start, end = text.span(one.statement)
    start, end = (start[0], 1), (end[0] + 1, 1)  # whole lines: a statement may be put before or behind it
    inside = all(start <= change.start and change.end <= end for change in changes)
    if not inside or not stopped.blocks_of(one.statement):
        return inside
    body = min(text.span(block[0])[0] for block in stopped.blocks_of(one.statement) if block)
    return all(change.end <= body for change in changes)


def _run_again(first: List[ast.stmt], rest: List[ast.stmt], space: Dict[str, Any], filename: str) -> Dict[str, Any]:
    """Run the first statements, and then the rest, of which none was run before."""
    return _run_all(first, (_code([statement], filename) for statement in rest), space, filename)


def _run_all(first: List[ast.stmt], rest: Iterable[Any], space: Dict[str, Any], filename: str) -> Dict[str, Any]:
    """Run the first statements, which are what was edited, then the code of the rest as far as it goes."""
    told: Dict[str, Any] = {"ok": False}
    try:
        with time_limit.limited(SECONDS):
            exec(_code(first, filename), space)
            told["ok"] = True
            given = {name: space[name] for name in {*_bound(first), RESULT} if name in space}
            # That a statement gives nothing, as one that prints does, is true of many edits that do different things.
            told["print"] = fingerprints.of_names(given) if any(value is not None for value in given.values()) else None
            told["largest"] = fingerprints.largest(given)
            told["further"] = 0
            for code in rest:
                exec(code, space)
                told["further"] += 1
    except time_limit.OverTime:
        told["slow"] = True
    except BaseException as error:
        told["error"] = [type_name(error), _said(error)]
        entries = sites.entries_of(error.__traceback__)
        told["at"] = [[sites.path_of(entry.tb_frame.f_code.co_filename), entry.tb_lineno] for entry in entries]
    return told


def _said(error: BaseException) -> str:
    return str(error)[:300]


def _code(statements: List[ast.stmt], filename: str) -> Any:
    """Code of statements, to be run by themselves; raises `SyntaxError`, `ValueError`."""
    looped = ast.For(
        target=ast.Name(id="__dnnfix_once__", ctx=ast.Store()),
        iter=ast.Tuple(elts=[ast.Constant(value=0, kind=None)], ctx=ast.Load()),
        body=statements, orelse=[], type_comment=None,
    )  # fmt: skip
    # Of a loop's body, which may leave the loop; no guard is put around this one.
    module = ast.Module(body=[looped], type_ignores=[])
    rewritten = loops.rewrite(ast.Module(body=statements, type_ignores=[]), filename)
    looped.body = rewritten.body
    return compile(ast.fix_missing_locations(module), filename, "exec", dont_inherit=True)


def _bound(statements: Sequence[ast.stmt]) -> List[str]:
    return [
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _imports(statements: Sequence[str], space: Dict[str, Any]) -> None:
    for statement in statements:
        exec(statement, space)


def exchange(one: Standing, changes: Dict[str, List[Change]]) -> None:
    """Replace the code of every function that runs a frame's code by the edited code; raises `SyntaxError`,
    `ValueError`.
    """
    old = one.frame.f_code
    text = stopped.text(one.filename)
    owner = one.blocks[0][0]
    top = next(node for node in text.tree.body if any(each is owner for each in ast.walk(node)))
    (line, _), end = text.whole(top)
    edited = ast.parse(text.between((line, 1), end, changes.get(one.filename, [])))
    path = rerun.path_to(top, owner)
    module = loops.rewrite(edited, one.filename)
    new = rerun.code_at(compile(module, one.filename, "exec", dont_inherit=True), path)
    if new is None or new.co_freevars != old.co_freevars:
        raise ValueError("the function cannot be exchanged")
    for function in gc.get_referrers(old):
        if isinstance(function, types.FunctionType) and function.__code__ is old:
            function.__code__ = new
