"""Generates and scores the small edits for a crash: the operators' edits along its slice, and what came of trying
each.

Thousands of edits are tried in the frames that the crash left alive, each for a part of a millisecond. Those under
which the program goes on are grouped by the values that they lead to, and the likeliest of each group is run as a
whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import prod
from typing import Any

from dnnfix.errors import EditError
from dnnfix.records import AddImport, Crash, Edit, FixPattern, InsertBefore, Json, RemoveArgument, Replace, Wrap
from dnnfix.run.job import TextEdit, Trying
from dnnfix.source.edits import text_changes
from dnnfix.source.program import Source
from dnnfix.source.tree import names_in
from dnnfix.source.viewpoint import seen_from
from dnnfix.synthesize.definitions import FUNCTIONS
from dnnfix.synthesize.operators import Change, Operator, operators, statements
from dnnfix.synthesize.prior import Traits, score
from dnnfix.synthesize.progress import may_be_past
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role, Spot, places, spots

MOST = 4000
"""Edits that are tried at one crash, the likeliest."""

SETTLING = frozenset(
    {
        "rename",
        "by name",
        "all by name",
        "attribute",
        "spelling",
        "import",
        "curry",
        "make and call",
        "missing",
        "spread",
        "inwards",
        "outwards",
    }
)
"""Forms of change after which another complaint of the same call is progress: a library looks at one thing after the other."""

SPELLED = frozenset({"attribute", "spelling", "of another", "alone", "one of several", "joined", "function"})
"""Forms of change that are the same wherever the same expression stands."""

OF_KIND = frozenset({"attribute", "one of several"})
"""Forms of change that are the same for all objects of a kind."""

MISTAKES = frozenset(
    {"NameError", "TypeError", "AttributeError", "SyntaxError", "IndexError", "UnboundLocalError", "KeyError"}
)
"""Exceptions that rather the edit is to blame for than something behind what it mended."""

UNREAD = -1.0
"""What an edit loses, in logarithms, after which a name is read nowhere any more: what was made for something is not used."""

CONVERTING = frozenset({"axes", "shapes", "kinds"})
"""Operators that make something else of a value."""

WORKED = -2.0
"""What such an edit loses, in logarithms, at an expression that had been of another rank or kind before, which had worked."""

OVERWRITTEN = -2.0
"""What an edit loses after which a value that was made before is replaced by one that is not made of it: the first was made for nothing."""

REUSED = -1.5
"""What an edit of a constructor loses where the layer that failed had taken other inputs before: its new use is at fault."""

AS_INDEX = -1.5
"""What other axes lose for an array that others are indexed with: what is taken by it gets them too."""

RESHAPED = -1.0
"""What other axes lose for an array whose axes are changed right after: rather that change is another one."""

RESHAPING = frozenset(
    {"unsqueeze", "squeeze", "view", "reshape", "permute", "transpose", "flatten", "expand", "repeat"}
)
"""Methods of arrays that change their axes."""

REFUSED_TOO = 0.5
"""What leaving out an argument gains where it is left out of all calls that cannot take it."""

EVADING = -2.0
"""What an edit loses in the test of a branch that what failed stands in: rather it goes another way than mend anything."""

FLAGS = frozenset({"flag", "add flag"})
"""Forms of change after which another branch is taken: that a name has a value there is no reason for it."""

ASKING = frozenset({"call compared", "asked for", "call", "condition", "none", "length", "all", "any", "elements"})
"""Forms of change that put right what a test asks."""

PAIRED = -1.5
"""What an edit loses after which an operation on two arrays gives more numbers than any array of its statement had."""

_MEETING = re.compile(r"must match the size of tensor|broadcast|Incompatible shapes", re.IGNORECASE)
"""What is said where arrays do not meet element by element."""

OF_OTHERS = frozenset({"name", "other attribute", "unwrap", "left alone", "right alone", "no index", "no method"})
"""Forms of change that put something else in the place of a value, and leave the value out."""

_OF_ARGUMENTS = re.compile(
    r"argument|parameter|keyword|positional|no attribute|not defined|not callable|cannot import", re.IGNORECASE
)
_NO_NUMBER = re.compile(r"invalid literal for int|could not convert string to float")
"""What a conversion says of what has no number in it: that is the edit's own doing."""

_MISGIVEN = re.compile(
    r"multiple values for|missing (?:a |\d+ )?required|required positional|unexpected keyword", re.IGNORECASE
)
_TAKES_OTHERS = re.compile(r"takes (?:\d+|from \d+|no) |missing \d+ required|unexpected keyword")
"""What a function says that is called with other arguments than it takes."""
_OF_NAMES = frozenset({"NameError", "AttributeError"})

_WORD = re.compile(r"\w+")

FURTHER_BACK = frozenset({Role.CONSTRUCTOR, Role.DEFINITION, Role.SOURCE})
"""Roles of places before the failing statement: what is edited there may fail anew in what that statement calls."""

SAID = 120
"""Characters of two messages that are compared."""


@dataclass(frozen=True, slots=True)
class Guess:
    """One edit that may be the repair: what it is, of which operator, where, and how likely before any run.

    The edit is one of the file at `path`, as that file sees itself: its sites have no path.
    """

    change: Change
    operator: str
    pattern: FixPattern
    place: Place | Spot
    traits: Traits
    score: float
    path: str = ""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Its edits, as the program sees them."""
        return seen_from(self.change.edits, {"": self.path}) if self.path else self.change.edits


class Came(IntEnum):
    """What a guess came to where the program stopped, the best first."""

    HELD = 0
    """The edited statement ran, and all that follows in its block."""
    MOVED = 1
    """The statement ran, and something behind it did not; or the same call complains of something else."""
    SLOW = 2
    """It ran on until its time was over."""
    OTHERWISE = 3
    """The statement failed in another way: what it needs may be gone."""
    UNKNOWN = 4
    """It could not be tried there, or gave no answer."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of a guess; `print` distinguishes guesses that led to different values, and is empty if unknown."""

    guess: Guess
    came: Came
    print: str = ""


def guesses(scenes: Mapping[str, Scene]) -> list[Guess]:
    """What the operators offer along the slice of a crash, in all its files, the likeliest first."""
    found = [replace(guess, path=path) for path, scene in scenes.items() for guess in _guesses(scene)]
    return sorted(found, key=lambda guess: -guess.score)[:MOST]


def _guesses(scene: Scene) -> list[Guess]:
    """What the operators offer in one file; of equal edits the likeliest."""
    found: dict[tuple[Edit, ...], Guess] = {}

    def add(guess: Guess) -> None:
        known = found.get(guess.change.edits)
        if known is None or known.score < guess.score:
            found[guess.change.edits] = guess

    reused = REUSED * _worked_before(scene)
    unset = scene.kind in ("NameError", "UnboundLocalError")
    for place in places(scene):
        built = reused if place.role is Role.CONSTRUCTOR else 0.0
        as_index = AS_INDEX * _is_index(scene, place.node)
        reshaped = RESHAPED * _is_reshaped(scene, place.node)
        worked = WORKED * _held_others(scene, place)
        tested = place.role is Role.DEFINITION and _is_tested(scene, place.node)
        evading = EVADING * (tested or _chooses(scene, place.node))
        owner_of_set = _is_owner_of_set(scene, place.node)
        for operator in operators():
            if owner_of_set and operator.name != "names":
                continue
            less = built + (as_index + reshaped if operator.name in ("axes", "shapes") else 0.0)
            less += worked if operator.name in CONVERTING else 0.0
            for order, change in enumerate(operator.changes(scene, place)):
                unread = UNREAD * (change.form in OF_OTHERS and _leaves_unread(scene, place.node, change))
                evades = evading * (change.form not in ASKING) + EVADING * (unset and change.form in FLAGS)
                unread += OVERWRITTEN * _overwrites(scene, place.node, change)
                guess = _guess(operator.name, operator.pattern, change, place, order, unread + less + evades)
                for each in (guess, *wider(scene, operator, place, guess)):
                    add(each)
    for spot in spots(scene):
        for order, change in enumerate(statements.changes(scene, spot)):
            add(_guess("statements", statements.PATTERN, change, spot, order))
    return list(found.values())


def _is_owner_of_set(scene: Scene, node: ast.AST) -> bool:
    """Whether an attribute of what an expression gives is set: set on something made for the moment it would be lost without a word."""
    above = scene.subject.source.parent(node)
    return isinstance(above, ast.Attribute) and isinstance(above.ctx, ast.Store) and above.value is node


def _is_tested(scene: Scene, node: ast.AST) -> bool:
    """Whether an expression is, or is a part of, what a branch or a loop is decided by."""
    above = scene.subject.source.parent(node)
    while isinstance(above, ast.expr | ast.keyword):
        node, above = above, scene.subject.source.parent(above)
    return isinstance(above, ast.If | ast.While | ast.Assert) and above.test is node


def _outwards(scene: Scene, node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """An expression and the one that it is a part of, then that one and the next, to the outermost."""
    above = scene.subject.source.parent(node)
    while isinstance(above, ast.expr):
        yield node, above
        node, above = above, scene.subject.source.parent(above)


def _chooses(scene: Scene, node: ast.AST) -> bool:
    """Whether an expression is, or is a part of, what one of two expressions is chosen by."""
    return any(isinstance(above, ast.IfExp) and above.test is part for part, above in _outwards(scene, node))


def _held_others(scene: Scene, place: Place) -> bool:
    """Whether an expression held an array of another rank, or something of another kind, when its statement ran before."""
    told = place.told
    if told is None or not told.is_array:
        return False
    rank = len(told.shape or ())
    return any(
        (was, kind.rpartition(".")[2]) != (rank, told.dtype)
        for was, kind in scene.before.get(scene.site(place.node), ())
    )


def _is_index(scene: Scene, node: ast.AST) -> bool:
    """Whether an expression is what another one is indexed with, or a part of it."""
    return any(isinstance(above, ast.Subscript) and above.slice is part for part, above in _outwards(scene, node))


def _is_reshaped(scene: Scene, node: ast.AST) -> bool:
    """Whether a method that changes the axes of an array is called on an expression."""
    above = scene.subject.source.parent(node)
    return isinstance(above, ast.Attribute) and above.value is node and above.attr in RESHAPING


def _worked_before(scene: Scene) -> bool:
    """Whether the layer that failed had been called before, on samples of another shape."""
    crash = scene.subject.crash
    call = crash.call if crash is not None else None
    if call is None or call.component is None or not call.inputs:
        return False
    now = (call.inputs[0].shape or ())[1:]
    earlier = [each for each in scene.subject.network.calls if each.component == call.component and each.outputs]
    return any(each.inputs and (each.inputs[0].shape or ())[1:] != now for each in earlier)


def _guess(
    operator: str, pattern: FixPattern, change: Change, place: Place | Spot, order: int, less: float = 0.0
) -> Guess:
    traits = Traits(operator, change.form, place.role.value, place.steps, order, change.likeness + less)
    return Guess(change, operator, pattern, place, traits, score(traits))


def _leaves_unread(scene: Scene, node: ast.expr, change: Change) -> bool:
    """Whether a name that an edit takes out of an expression is read nowhere else in its function."""
    source = scene.subject.source
    after = [edit.code for edit in change.edits if isinstance(edit, Replace)]
    gone = [
        name
        for name in names_in(node)
        if name in scene.names(node) and not any(name in _WORD.findall(code) for code in after)
    ]
    home = source.enclosing(node, *FUNCTIONS) or source.tree
    inside = {id(each) for each in ast.walk(node)}
    for statement in ast.walk(home):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in gone:  # it is made anew from itself
                inside |= {id(n) for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name}
    reads = [
        n.id for n in ast.walk(home) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in inside
    ]
    return any(name not in reads for name in gone)


def _overwrites(scene: Scene, node: ast.expr, change: Change) -> bool:
    """Whether a name is made anew from itself, is made before as well, and an edit takes it out of what it is made from."""
    source = scene.subject.source
    match source.statement_of(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) as statement:
            after = [edit.code for edit in change.edits if isinstance(edit, Replace)]
            inside = {id(each) for each in ast.walk(node)}
            reads = [each for each in ast.walk(value) if isinstance(each, ast.Name) and each.id == name]
            if not after or not reads or any(id(each) not in inside for each in reads):
                return False
            home = source.enclosing(node, *FUNCTIONS) or source.tree
            stores = [each for each in ast.walk(home) if isinstance(each, ast.Name) and each.id == name]
            earlier = any(isinstance(each.ctx, ast.Store) and each.lineno < statement.lineno for each in stores)
            return earlier and not any(name in _WORD.findall(code) for code in after)
    return False


def wider(scene: Scene, operator: Operator, place: Place, guess: Guess) -> Iterator[Guess]:
    """The same change at all places that are like the guess's, and once for all uses of a name that follow."""
    node = place.node
    if isinstance(node, ast.Call) and guess.operator in ("arguments", "brackets", "calls"):
        edits = list(guess.change.edits)
        function = ast.unparse(node.func)
        for other in scene.subject.source.all_calls:
            if other is not node and ast.unparse(other.func) == function and not _within(other, node):
                like = replace(place, node=other, told=None)
                same = [c for n, c in enumerate(operator.changes(scene, like)) if c.form == guess.change.form]
                edits += next(
                    (c.edits for c in same if c.title == guess.change.title), same[0].edits if len(same) == 1 else ()
                )
        refused = _left_out_elsewhere(scene, guess, node)
        surely = replace(
            guess, traits=replace(guess.traits, likeness=guess.traits.likeness + REFUSED_TOO * bool(refused))
        )
        yield from _as_well(surely, [*edits, *refused], "alike")
        if guess.operator == "arguments" and place.role is not Role.CONSTRUCTOR:
            yield from _of_same_arguments(scene, operator, place, guess, node)
    elif guess.change.form in SPELLED and isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        (edit, *_) = guess.change.edits
        uses = [n for n in scene.subject.source.nodes(type(node)) if ast.unparse(n) == ast.unparse(node)]
        if isinstance(edit, Replace):
            yield from _as_well(guess, [Replace(scene.site(n), edit.code) for n in uses], "everywhere")
        if isinstance(edit, Replace) and isinstance(node, ast.Attribute) and guess.change.form in OF_KIND:
            yield from _of_its_kind(scene, guess, node, edit)
    elif guess.change.form == "sized" and isinstance(node, ast.Name):
        (edit, *_) = guess.change.edits
        around = scene.subject.source.statement_of(node)
        uses = [n for n in ast.walk(around) if isinstance(n, ast.Name) and n.id == node.id]
        if isinstance(edit, Replace):
            yield from _as_well(guess, [Replace(scene.site(n), edit.code) for n in uses], "in the whole statement")
    elif isinstance(node, ast.Name) and guess.operator in ("axes", "kinds", "shapes"):
        yield from _of_siblings(scene, operator, place, guess)
        (edit, *imports) = guess.change.edits
        statement = scene.subject.source.statement_of(node)
        if isinstance(edit, Wrap) and not isinstance(statement, ast.For | ast.While | ast.With | ast.If):
            code = f"{node.id} = {edit.before}{node.id}{edit.after}"
            change = Change((InsertBefore(scene.site(statement), code), *imports), f"Write {code}", guess.change.form)
            yield _as_wide(guess, change, "rebound")


def _left_out_elsewhere(scene: Scene, guess: Guess, node: ast.Call) -> list[Edit]:
    """A keyword that is left out is left out of the calls of other functions of the program, too, that do not take it."""
    source = scene.subject.source
    (edit, *_) = guess.change.edits
    if not isinstance(edit, RemoveArgument) or not edit.name:
        return []
    found: list[Edit] = []
    for other in source.all_calls:
        function = source.definition(other.func) if ast.unparse(other.func) != ast.unparse(node.func) else None
        if isinstance(function, ast.FunctionDef) and any(keyword.arg == edit.name for keyword in other.keywords):
            taken = function.args
            names = {each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)}
            if taken.kwarg is None and edit.name not in names:
                found.append(RemoveArgument(scene.site(other), edit.name))
    return found


def _of_its_kind(scene: Scene, guess: Guess, node: ast.Attribute, edit: Replace) -> Iterator[Guess]:
    """The same attribute of all objects of the same kind, some of them under other names."""
    own = scene.told(node.value)
    uses = [n for n in scene.subject.source.nodes(ast.Attribute) if n.attr == node.attr]
    same = [n for n in uses if own is not None and (told := scene.told(n.value)) is not None and told.kind == own.kind]
    if len({ast.unparse(n.value) for n in same}) > 1:
        instead = edit.code.removeprefix(f"{scene.code(node.value)}.")
        edits = [Replace(scene.site(n), f"{scene.code(n.value)}.{instead}") for n in same]
        yield from _as_well(guess, edits, "everywhere")


def _of_same_arguments(scene: Scene, operator: Operator, place: Place, guess: Guess, node: ast.Call) -> Iterator[Guess]:
    """The same change of other functions' calls in the same block that are given the same: a mean and a deviation."""
    source = scene.subject.source
    block = source.parent(source.statement_of(node))
    edits = list(guess.change.edits)
    given = [ast.unparse(each) for each in (*node.args, *node.keywords)]
    beside = [
        each for each in source.all_calls if each is not node and source.parent(source.statement_of(each)) is block
    ]
    for other in beside if given else ():
        if [ast.unparse(each) for each in (*other.args, *other.keywords)] == given:
            like = operator.changes(scene, replace(place, node=other, told=None))
            edits += next((c.edits for c in like if c.title == guess.change.title), ())
    yield from _as_well(guess, edits, "and of what is given the same")


def _of_siblings(scene: Scene, operator: Operator, place: Place, guess: Guess) -> Iterator[Guess]:
    """The same conversion of all the arguments of a call that are of the same kind."""
    node = place.node
    above = scene.subject.source.parent(node)
    call = scene.subject.source.parent(above) if isinstance(above, ast.keyword) else above
    own = scene.told(node)
    if not isinstance(call, ast.Call) or own is None or node is call.func:
        return
    edits = list(guess.change.edits)
    for other in (*call.args, *(keyword.value for keyword in call.keywords)):
        told = scene.told(other)
        if other is node or told is None or told.kind != own.kind or isinstance(other, ast.Constant):
            continue
        like = replace(place, node=other, told=told)
        same = [c for c in operator.changes(scene, like) if c.form == guess.change.form]
        edits += next((c.edits for c in same if _put(c) == _put(guess.change)), ())
    yield from _as_well(guess, edits, "and so for the other arguments")


def _put(change: Change) -> tuple[str, str]:
    """What an edit puts around an expression."""
    edit = change.edits[0]
    return (edit.before, edit.after) if isinstance(edit, Wrap) else ("", "")


def _as_well(guess: Guess, edits: Sequence[Edit], words: str) -> Iterator[Guess]:
    if len(edits) > len(guess.change.edits):
        change = replace(guess.change, edits=tuple(edits), title=f"{guess.change.title}, {words}")
        yield _as_wide(guess, change, "everywhere" if words == "everywhere" else "alike")


def _as_wide(guess: Guess, change: Change, wide: str) -> Guess:
    traits = replace(guess.traits, wide=wide)
    return replace(guess, change=change, traits=traits, score=score(traits))


def _within(one: ast.AST, other: ast.AST) -> bool:
    return any(node is other for node in ast.walk(one)) or any(node is one for node in ast.walk(other))


def tryings(source: Source, wanted: Iterable[Guess]) -> tuple[list[Guess], tuple[Trying, ...]]:
    """The guesses whose edits can be carried out, and the same as changes of the source text."""
    able: list[Guess] = []
    written: list[Trying] = []
    for guess in wanted:
        imports = tuple(edit.statement for edit in guess.change.edits if isinstance(edit, AddImport))
        edits = tuple(edit for edit in guess.change.edits if not isinstance(edit, AddImport))
        try:
            changes = tuple(_text_edits(source.files[guess.path], edits, guess.path))
        except EditError:
            continue
        able.append(guess)
        written.append(Trying(changes, imports, guess.score))
    return able, tuple(written)


def _text_edits(source: Source, edits: Sequence[Edit], path: str) -> Iterator[TextEdit]:
    """The changes of the text; of expressions as they stand, since one that could not stand there just fails where it is tried."""
    others: list[Edit] = []
    for edit in edits:
        site = edit.site
        if isinstance(edit, Replace):
            yield TextEdit(path, (site.line, site.column), (site.end_line, site.end_column), edit.code)
        elif isinstance(edit, Wrap):
            yield _inserted(path, site.line, site.column, edit.before)
            yield _inserted(path, site.end_line, site.end_column, edit.after)
        else:
            others.append(edit)
    place = source.places.place
    for change in text_changes(source, others):
        yield TextEdit(path, place(change.start), place(change.end), change.new)


def _inserted(path: str, line: int, column: int, text: str) -> TextEdit:
    return TextEdit(path, (line, column), (line, column), text)


def outcomes(
    source: Source, tried: Sequence[Guess], answers: Json, crash: Crash, scenes: Iterable[Scene] = ()
) -> list[Tried]:
    """What the speculation said of each guess, the best first; those that fail as the program did are left out."""
    told = answers if isinstance(answers, (list, tuple)) else ()
    largest = max((_largest(scene) for scene in scenes), default=0) if _MEETING.search(crash.message) else 0
    found: list[Tried] = []
    for number, guess in enumerate(tried):
        answer: Any = told[number] if number < len(told) else {}
        came = _came(source, guess, answer if isinstance(answer, dict) else {}, crash)
        here = guess.place.role in (Role.FAILING, Role.STATEMENT)
        if came is Came.HELD and here and 0 < largest < int(answer.get("largest") or 0):
            guess = replace(guess, score=guess.score + PAIRED)
        if came is not None:
            found.append(Tried(guess, came, str(answer.get("print") or "") if came is Came.HELD else ""))
    return sorted(found, key=lambda one: (one.came, -one.guess.score))


def _largest(scene: Scene) -> int:
    """How many numbers the largest array has that stands in the failing statement."""
    values = scene.frames[0].values.values() if scene.frames else ()
    return max((prod(told.sizes) for told in values if told.sizes is not None), default=0)


def _came(source: Source, guess: Guess, answer: Mapping[str, Any], crash: Crash) -> Came | None:
    error = answer.get("error")
    if answer.get("ok"):
        return Came.HELD if error is None else Came.MOVED
    if error is None:
        return Came.SLOW if answer.get("slow") else Came.UNKNOWN
    kind, said = str(error[0]).rpartition(".")[2], str(error[1])
    if crash.message.startswith(said[:SAID]) or _NO_NUMBER.search(said):
        return None
    if _MISGIVEN.search(said) and said.partition("(")[0] == crash.message.partition("(")[0]:
        return None
    if kind == "TypeError" and crash.kind.rpartition(".")[2] in _OF_NAMES and _TAKES_OTHERS.search(said):
        return None  # what it is named now is called otherwise: it is not what was meant
    settles = guess.change.form in SETTLING and guess.place.role is Role.FAILING
    if settles and _OF_ARGUMENTS.search(crash.message):
        return Came.MOVED
    lines = [(str(path), int(line)) for path, line in answer.get("at", ())]
    if kind not in MISTAKES and guess.place.role in FURTHER_BACK and may_be_past(source, crash, lines):
        return Came.MOVED
    return Came.OTHERWISE if kind != crash.kind.rpartition(".")[2] and kind not in MISTAKES else None


def one_of_each(tried: Iterable[Tried]) -> list[Tried]:
    """Of the guesses that came to the same values in the same statement the likeliest, in the order given.

    Sizes that are equal there need not be so for other data: of them the likeliest of each form.
    """
    found: list[Tried] = []
    seen: set[tuple[object, ...]] = set()
    for one in tried:
        form = one.guess.change.form if one.guess.operator == "sizes" else ""
        key = (one.print, form) if one.print else (one.guess.path, one.guess.change.edits)
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found
