"""Which value of an argument leads to training, where a program compares it: `if args.mode == "train":`.

Of the words that the program compares an argument with, the one that leads to a training is chosen, as it shows most of
it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dnnfix.network.nodes import own_nodes
from dnnfix.reproduce.harness.unused import TRAINING, top_level
from dnnfix.reproduce.syntax import ends
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

_SAYS_TRAIN = re.compile(r"(?:\A|[_\W])(?:train|training|fit|learn|dotrain|istrain)(?:\Z|[_\W])", re.IGNORECASE)
_SAYS_NOT = re.compile(r"(?:\A|[_\W])(?:no|not|dont|skip|without|disable|un)[_\W]|(?:test|eval|valid)", re.IGNORECASE)

_TRAINS = TRAINING | {"train", "train_step", "learn"}
_RUNS = words("predict predict_generator evaluate evaluate_generator run call forward load_weights load_model restore")


@dataclass(frozen=True, slots=True)
class Choice:
    """A word that the program compares an argument with, the line, and how much of a training it leads to."""

    word: str
    line: int
    rank: int

    @property
    def trains(self) -> bool:
        """Whether the word leads to a training, or says so."""
        return self.rank >= _BODY_TRAINS


_BODY_RUNS, _BODY_TRAINS, _WORD_TRAINS = 1, 2, 4

Is = Callable[[ast.expr], bool]
"""Whether an expression is the argument that is compared."""


def says_train(word: str) -> bool:
    """Whether a word of a command line asks for a training."""
    return bool(_SAYS_TRAIN.search(word)) and not _SAYS_NOT.search(word)


def chosen(source: Source, is_argument: Is, default: str | None = None, optional: bool = False) -> Choice | None:
    """The word for an argument: one that trains before one that only runs the network, and these before others.

    `default` is the word that counts where the program is not given another one. An argument that is `optional` gets none
    where the program trains without it, or where no word makes it do more.
    """
    compared = list(_compared(source, is_argument))
    choices = [
        Choice(word, test.lineno, _rank(source, word, body)) for test, told, body, _other in compared for word in told
    ]
    if not choices:
        return None
    best = max(choices, key=lambda choice: choice.rank)
    needed = {word for branch in compared if _is_needed(source, branch, compared, default) for word in branch[1]}
    if optional and needed:
        return max((choice for choice in choices if choice.word in needed), key=lambda choice: choice.rank)
    if optional:
        usual = max((choice.rank for choice in choices if choice.word == default), default=0)
        more = best.rank > usual and (usual == 0 or best.trains > (usual >= _BODY_TRAINS))
        return best if more and not _trains_without(source, compared, default) else None
    if not best.trains and any(_reaches(source, other, _TRAINS) for _test, _told, _body, other in compared):
        return Choice("train", best.line, _BODY_TRAINS)
    return best


def words_of(source: Source, is_argument: Is) -> dict[str, int]:
    """All words that an argument is compared with, in their order, with the line of each."""
    found: dict[str, int] = {}
    for test, told, _body, _other in _compared(source, is_argument):
        for word in told:
            found.setdefault(word, test.lineno)
    return found


def looked_up(source: Source, is_argument: Is) -> dict[str, int]:
    """The words under which a table of the program has something for an argument, with the line: `TASKS[args.task]`, `SETS.get(args.name)`."""
    found: dict[str, int] = {}
    for node in (*source.nodes(ast.Subscript), *source.all_calls):
        match node:
            case ast.Subscript(value=table, slice=asked):
                pass
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[asked, *_]):
                pass
            case _:
                continue
        if is_argument(asked):
            found.update(dict.fromkeys(_texts_of_table(source, table), node.lineno))
    return found


def switched(source: Source, is_argument: Is, word: str) -> Choice | None:
    """The word of a switch that turns the training on, where the program has one and does not train without it."""
    tested = list(_tested(source, is_argument))
    needed = [branch for branch in tested if _is_needed(source, branch, (), None) and _is_best(source, branch)]
    if not needed and (not tested or not says_train(word) or _trains_without(source, tested, None)):
        return None
    choices = [Choice(word, test.lineno, _rank(source, word, body)) for test, _told, body, _other in needed or tested]
    return max(choices, key=lambda choice: choice.rank)


_Branch = tuple[ast.expr | ast.stmt, tuple[str, ...], Sequence[ast.AST], Sequence[ast.AST]]
"""A test, the words that it compares with, what runs where it holds and what runs where it does not."""


def _trains_without(source: Source, branches: list[_Branch], default: str | None) -> bool:
    """Whether the program trains where none of these tests holds but those that the default word meets."""
    held = {id(part) for _test, told, body, _other in branches if default not in told for part in body}
    return _reaches(source, source.tree.body, _TRAINS, held)


def _is_needed(source: Source, branch: _Branch, compared: Sequence[_Branch], default: str | None) -> bool:
    """Whether a program gets no further where no test of a chain of `if` and `elif` holds, and none does by default.

    Then nothing gives a value to a name that is read after the chain, or its `else` ends the program. So does an assertion.
    """
    if isinstance(source.statement_of(branch[0]), ast.Assert):
        return default not in branch[1]
    chain = _chain(source, branch[0])
    if not any(link.body is branch[2] for link in chain):
        return False
    if any(default in told and _chain(source, test)[:1] == chain[:1] for test, told, *_ in compared):
        return False
    last = chain[-1].orelse
    if last:
        return ends(source, last[-1])
    return not _bound_in_each(chain).isdisjoint(_read_after(source, chain[0]))


def _is_best(source: Source, branch: _Branch) -> bool:
    """Whether a test is the one of its chain that says training, or the first where none of them does."""
    chain = _chain(source, branch[0])
    best = next((link for link in chain if says_train(ast.unparse(link.test))), chain[0])
    return best.body is branch[2]


def _chain(source: Source, test: ast.AST) -> list[ast.If]:
    """The `if` that a test stands in and all that belong to it by `elif`, from the first."""
    link = test if isinstance(test, ast.If) else source.enclosing(test, ast.If)
    if link is None or not (link is test or any(part is test for part in ast.walk(link.test))):
        return []
    while isinstance(above := source.parent(link), ast.If) and above.orelse == [link]:
        link = above
    chain = [link]
    while len(link.orelse) == 1 and isinstance(link.orelse[0], ast.If):
        link = link.orelse[0]
        chain.append(link)
    return chain


def _bound_in_each(chain: Sequence[ast.If]) -> set[str]:
    """The names that get a value wherever a test of a chain holds."""
    bound = [
        {
            part.id
            for statement in link.body
            for part in ast.walk(statement)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        for link in chain
    ]
    return set.intersection(*bound)


def _read_after(source: Source, chain: ast.If) -> set[str]:
    """The names that are read after a chain, where it stands, whatever it asks for, with the value that they have from it alone."""
    scope = source.enclosing(chain, ast.FunctionDef) or source.tree
    names = [part for part in own_nodes(scope.body) if isinstance(part, ast.Name)]
    before = {name.id for name in names if isinstance(name.ctx, ast.Store) and name.lineno < chain.lineno}
    if isinstance(scope, ast.FunctionDef):
        before |= {part.arg for part in ast.walk(scope.args) if isinstance(part, ast.arg)}
    last = chain.end_lineno or chain.lineno
    after = [name for name in names if isinstance(name.ctx, ast.Load) and name.lineno > last]
    asked = _asked_of(chain.test)
    anew: dict[str, int] = {}
    for name in names:
        if isinstance(name.ctx, ast.Store) and name.lineno > last:
            since = _bound_since(source, name)
            anew[name.id] = min(since, anew.get(name.id, since))
    kept = (name for name in after if name.lineno < anew.get(name.id, name.lineno + 1))
    return {name.id for name in kept if not any(asked & _asked_of(test) for test in _tests_of(source, name))} - before


def _bound_since(source: Source, name: ast.Name) -> int:
    """The line from which on a name has what it is bound to there: after an assignment, from the start of what a comprehension is in."""
    statement = source.statement_of(name)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        within = source.enclosing(name, ast.comprehension) is not None
        return statement.lineno if within else (statement.end_lineno or statement.lineno) + 1
    return statement.lineno if source.enclosing(name, ast.comprehension) is not None else name.lineno


def _asked_of(test: ast.expr) -> set[str]:
    """The arguments that a test may be about: `mode` of `args.mode`, and names."""
    parts = [part for part in ast.walk(test) if isinstance(part, (ast.Attribute, ast.Name))]
    owners = {id(part.value) for part in parts if isinstance(part, ast.Attribute)}
    return {last_name(part) for part in parts if id(part) not in owners}


def _tests_of(source: Source, node: ast.AST) -> Iterator[ast.expr]:
    """The tests that decide whether a node is reached, of statements and expressions around it."""
    above = source.parent(node)
    while above is not None:
        if isinstance(above, (ast.If, ast.IfExp)):
            yield above.test
        above = source.parent(above)


def _rank(source: Source, word: str, body: Sequence[ast.AST]) -> int:
    """How much of a training a word leads to."""
    rank = _WORD_TRAINS if says_train(word) else 0
    if _reaches(source, body, _TRAINS):
        return rank + _BODY_TRAINS
    return rank + (_BODY_RUNS if _reaches(source, body, _RUNS) else 0)


def _reaches(
    source: Source, nodes: Sequence[ast.AST], methods: frozenset[str], without: set[int] | None = None
) -> bool:
    """Whether statements, and the definitions that they lead to, call one of these methods or functions."""
    own = {node.name: node for node in top_level(source)}
    left = (without or set()) | {id(node) for node in own.values()}
    pending: list[ast.AST] = [node for node in nodes if id(node) not in left]
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call) and last_name(node.func) in methods:
            return True
        if isinstance(node, ast.Name) and node.id in own and node.id not in seen:
            seen.add(node.id)
            pending.extend(child for child in ast.iter_child_nodes(own[node.id]) if id(child) not in left)
        pending.extend(child for child in ast.iter_child_nodes(node) if id(child) not in left)
    return False


def _compared(source: Source, is_argument: Is) -> Iterator[_Branch]:
    """The comparisons of an argument with constant texts."""
    for compare in source.nodes(ast.Compare):
        if len(compare.ops) != 1:
            continue
        left, right = compare.left, compare.comparators[0]
        told = _texts(right) if is_argument(_plain(left)) else _texts(left) if is_argument(_plain(right)) else ()
        told = tuple(word for word in told if not (word.startswith(".") and isinstance(compare.ops[0], ast.In)))
        if not told and isinstance(compare.ops[0], (ast.In, ast.NotIn)) and is_argument(_plain(left)):
            told = _texts_of_table(source, right)
        if told:
            body, other = _branches(source, compare)
            negated = isinstance(compare.ops[0], (ast.NotEq, ast.NotIn, ast.IsNot))
            yield (compare, told, other, body) if negated else (compare, told, body, other)
    for match in source.nodes(ast.Match):
        if is_argument(_plain(match.subject)):
            for case in match.cases:
                values = [part.value for part in ast.walk(case.pattern) if isinstance(part, ast.MatchValue)]
                told = tuple(word for value in values for word in _texts(value))
                if told:
                    yield case.body[0], told, case.body, []


def _tested(source: Source, is_argument: Is) -> Iterator[_Branch]:
    """The tests of an argument for being given at all."""
    tests: list[ast.If | ast.IfExp] = [*source.nodes(ast.If), *source.nodes(ast.IfExp)]
    for branch in tests:
        for part in ast.walk(branch.test):
            if isinstance(part, (ast.Attribute, ast.Name, ast.Subscript)) and is_argument(part):
                body, other = _branches(source, part)
                above = source.parent(part)
                negated = isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)
                yield (branch, (), other, body) if negated else (branch, (), body, other)


def _branches(source: Source, test: ast.AST) -> tuple[Sequence[ast.AST], Sequence[ast.AST]]:
    """What runs where a test holds, and where it does not."""
    branch = source.enclosing(test, ast.If)
    if branch is not None and any(part is test for part in ast.walk(branch.test)):
        return branch.body, branch.orelse
    shorter = source.enclosing(test, ast.IfExp)
    if shorter is not None and any(part is test for part in ast.walk(shorter.test)):
        return [shorter.body], [shorter.orelse]
    return [], []


def _plain(node: ast.expr) -> ast.expr:
    """What a comparison is about: `args.mode` of `args.mode.lower()`, `str(args.mode)`, `sys.argv[1:]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return _plain(node.func.value)
    if isinstance(node, ast.Call) and last_name(node.func) in ("str", "set", "list") and len(node.args) == 1:
        return _plain(node.args[0])
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _plain(node.value)
    return node


def _texts_of_table(source: Source, node: ast.expr) -> tuple[str, ...]:
    """The words of a collection that the program keeps under a name: a list, or the keys of a dictionary."""
    values = source.bindings(_plain(node))
    if len(values) != 1:
        return ()
    if isinstance(values[0], ast.Dict):
        return tuple(word for key in values[0].keys if key is not None for word in _texts(key))
    return _texts(values[0])


def _texts(node: ast.expr) -> tuple[str, ...]:
    """The constants that an argument is compared with, as words of a command line."""
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    return tuple(
        str(value) for value in values if isinstance(value, (str, int)) and value != "" and not isinstance(value, bool)
    )
