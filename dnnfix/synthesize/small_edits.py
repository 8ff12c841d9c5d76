"""The search over small edits at a crash that no rule repairs: operators along the slice, tried where the program stopped.

Thousands of edits are tried in the frames that the crash left alive, each for a part of a millisecond. Those under which
the program goes on are put together by what they came to, and the likeliest of each such class is what whole runs decide on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dnnfix.errors import EditError
from dnnfix.records import AddImport, Edit, FixPattern, InsertBefore, Json, Replace, Wrap
from dnnfix.run.job import TextEdit, Trying
from dnnfix.source.edits import text_changes
from dnnfix.source.program import Source
from dnnfix.synthesize.operators import Change, Operator, operators
from dnnfix.synthesize.prior import Traits, score
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role, places

MOST = 4000
"""Edits that are tried at one crash, the likeliest."""

SETTLING = frozenset({"rename", "by name", "all by name", "attribute", "spelling", "import", "curry", "make and call"})
"""Forms of change after which another complaint of the same call is progress: a library looks at one thing after the other."""

SAID = 120
"""Characters of two messages that are compared."""


@dataclass(frozen=True, slots=True)
class Guess:
    """One edit that may be the repair: what it is, of which operator, where, and how likely before any run."""

    change: Change
    operator: str
    pattern: FixPattern
    place: Place
    traits: Traits
    score: float


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a guess where the program stopped.

    `holds` where the edited statement and all that follows in its block ran; `moved` where the statement itself ran, and
    something behind it did not; `print` tells guesses apart that came to different values, and is empty where nothing does.
    """

    guess: Guess
    holds: bool
    moved: bool
    print: str


def guesses(scene: Scene) -> list[Guess]:
    """What the operators offer along the slice of a crash, the likeliest first; equal edits once."""
    found: list[Guess] = []
    seen: set[tuple[object, ...]] = set()
    for place in places(scene):
        for operator in operators():
            for order, change in enumerate(operator.changes(scene, place)):
                where = (place.role.value, place.steps)
                traits = Traits(operator.name, change.form, *where, order, change.likeness)
                guess = Guess(change, operator.name, operator.pattern, place, traits, score(traits))
                for each in (guess, *wider(scene, operator, guess)):
                    if each.change.edits not in seen:
                        seen.add(each.change.edits)
                        found.append(each)
    found.sort(key=lambda guess: -guess.score)
    return found[:MOST]


def wider(scene: Scene, operator: Operator, guess: Guess) -> Iterator[Guess]:
    """The same change at all places that are like the guess's, and once for all uses of a name that follow."""
    node = guess.place.node
    if isinstance(node, ast.Call) and guess.operator in ("arguments", "calls"):
        edits = list(guess.change.edits)
        function = ast.unparse(node.func)
        for other in scene.subject.source.all_calls:
            if other is not node and ast.unparse(other.func) == function and not _within(other, node):
                like = replace(guess.place, node=other, told=None)
                same = [c for n, c in enumerate(operator.changes(scene, like)) if c.form == guess.change.form]
                edits += next(
                    (c.edits for c in same if c.title == guess.change.title), same[0].edits if len(same) == 1 else ()
                )
        yield from _as_well(guess, edits, "alike")
    elif guess.change.form in ("attribute", "spelling") and isinstance(node, ast.Name | ast.Attribute):
        (edit, *_) = guess.change.edits
        uses = [n for n in scene.subject.source.nodes(type(node)) if ast.unparse(n) == ast.unparse(node)]
        if isinstance(edit, Replace):
            yield from _as_well(guess, [Replace(scene.site(n), edit.code) for n in uses], "everywhere")
    elif isinstance(node, ast.Name) and guess.operator in ("axes", "kinds", "shapes"):
        (edit, *imports) = guess.change.edits
        statement = scene.subject.source.statement_of(node)
        if isinstance(edit, Wrap) and not isinstance(statement, ast.For | ast.While | ast.With | ast.If):
            code = f"{node.id} = {edit.before}{node.id}{edit.after}"
            change = Change((InsertBefore(scene.site(statement), code), *imports), f"Write {code}", guess.change.form)
            yield _as_wide(guess, change, "rebound")


def _as_well(guess: Guess, edits: Sequence[Edit], words: str) -> Iterator[Guess]:
    if len(edits) > len(guess.change.edits):
        change = replace(guess.change, edits=tuple(edits), title=f"{guess.change.title}, {words}")
        yield _as_wide(guess, change, words)


def _as_wide(guess: Guess, change: Change, wide: str) -> Guess:
    traits = replace(guess.traits, wide=wide)
    return replace(guess, change=change, traits=traits, score=score(traits))


def _within(one: ast.AST, other: ast.AST) -> bool:
    return any(node is other for node in ast.walk(one)) or any(node is one for node in ast.walk(other))


def tryings(source: Source, wanted: Iterable[Guess]) -> tuple[list[Guess], tuple[Trying, ...]]:
    """The guesses whose edits can be carried out, and the same as changes of the text."""
    able: list[Guess] = []
    written: list[Trying] = []
    for guess in wanted:
        imports = tuple(edit.statement for edit in guess.change.edits if isinstance(edit, AddImport))
        edits = tuple(edit for edit in guess.change.edits if not isinstance(edit, AddImport))
        try:
            changes = tuple(_text_edits(source, edits))
        except EditError:
            continue
        able.append(guess)
        written.append(Trying(changes, imports, guess.score))
    return able, tuple(written)


def _text_edits(source: Source, edits: Sequence[Edit]) -> Iterator[TextEdit]:
    """The changes of the text; of expressions as they stand, since one that could not stand there just fails where it is tried."""
    for edit in edits:
        site = edit.site
        if isinstance(edit, Replace):
            yield TextEdit("", (site.line, site.column), (site.end_line, site.end_column), edit.code)
        elif isinstance(edit, Wrap):
            yield _inserted(site.line, site.column, edit.before)
            yield _inserted(site.end_line, site.end_column, edit.after)
        else:
            place = source.places.place
            for change in text_changes(source, (edit,)):
                yield TextEdit("", place(change.start), place(change.end), change.new)


def _inserted(line: int, column: int, text: str) -> TextEdit:
    return TextEdit("", (line, column), (line, column), text)


def outcomes(tried: Sequence[Guess], answers: Json, message: str = "") -> list[Tried]:
    """What the speculation said of each guess; those of which it said nothing, or that changed nothing, are left out.

    `message` is what the crash said: where a name or a keyword is another one and the same call complains of something
    else, the guess has moved the crash.
    """
    if not isinstance(answers, (list, tuple)):
        return []
    found: list[Tried] = []
    for guess, answer in zip(tried, answers, strict=False):
        told: Any = answer
        if isinstance(told, dict) and told.get("ok"):
            error = told.get("error")
            found.append(Tried(guess, error is None, error is not None, str(told.get("print") or "")))
        elif isinstance(told, dict) and told.get("error") and _settles(guess):
            moved = not message.startswith(str(told["error"][1])[:SAID])
            found += [Tried(guess, False, True, "")] if moved else []
    return found


def _settles(guess: Guess) -> bool:
    return guess.change.form in SETTLING and guess.place.role is Role.FAILING


def one_of_each(tried: Iterable[Tried]) -> list[Tried]:
    """Of the guesses that came to the same values in the same statement the likeliest, in the order given."""
    found: list[Tried] = []
    seen: set[tuple[object, ...]] = set()
    for one in tried:
        key = (one.print,) if one.print else (one.guess.change.edits,)
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found
