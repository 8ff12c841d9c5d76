"""What a program ends without: the tests that an argument, or one of several, must be given.

`if not args.data: raise …` insists on one argument. `if args.dataset_name is None and args.train_file is None: raise …`
insists on one of two, and many a program that does so refuses both together; so of several only one is given.
`args.path.split(".")` insists on one where no test around it asks for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, product

from dnnfix.reproduce.syntax import ends, string
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

_OF_HUB = re.compile(r"dataset_name|model_name|(?:model|dataset)_id")
"""What is loaded from the hub, for which the names of files need not be known."""

_LATE = re.compile(r"resum|checkpoint|ckpt|restor|(?:^|_)(?:test|eval|valid|dev|infer|predict)", re.IGNORECASE)
"""What comes after a training, or takes one up that there was before."""

_OF_TEXTS = words("split rsplit strip rstrip lstrip lower upper startswith endswith replace format")
"""Methods of a text, which what is missing does not have."""

_MOST = 8
"""Ways to meet a test that are read at most."""

_Clause = tuple[ast.expr, ...]
"""Expressions of which one must have a value."""

_Ways = list[tuple[_Clause, _Clause]]
"""The clauses that lead a test to come out as wanted, each with what has to be there for it to be asked at all."""


@dataclass(frozen=True)
class Demand:
    """Expressions of which one must have a value, the line of the test that asks for it, and whether the program ends otherwise.

    Where it does not end, what the test stands in returns with nothing done. `beside` are expressions that only ask for it if all of
    them have a value: `if args.prompt and not args.image: raise …`.
    """

    line: int
    of: _Clause
    ends: bool = True
    beside: _Clause = ()
    asks_more: bool = False
    """Whether the test asks for something else as well, of which nothing is known: `if config.model_type == "bert" and not args.mlm`."""

    def chosen(self, arguments: Mapping[str, bool]) -> str:
        """The name of the argument that is to be given, of those that tell whether they have a value already; empty where one has."""
        if not all(arguments.get(name_of(part), True) for part in self.beside):
            return ""
        named = [name for part in self.of if (name := name_of(part)) in arguments]
        if any(arguments[name] for name in named):
            return ""
        return min(named, key=rank, default="")


@once
def demands(source: Source) -> tuple[Demand, ...]:
    """Everything that a test of the program insists on, in the order of the text."""
    found = [*_of_asserts(source), *_of_branches(source), *_of_uses(source)]
    return tuple(sorted(found, key=lambda demand: demand.line))


@once
def excluded(source: Source) -> tuple[frozenset[str], ...]:
    """The arguments that end the program if all of a set are given: `if args.rows and args.table: raise …`."""
    tests = [test.test for test in source.nodes(ast.If) if ends(source, test.body[-1])]
    tests += [test.test.operand for test in source.nodes(ast.Assert) if isinstance(test.test, ast.UnaryOp)]
    found = []
    for test in tests:
        several, alike = _several(test), _alike(test)
        asked = [_presence(part) for part in several[1]] if several is not None and several[0] else []
        if alike is not None and alike[0]:
            asked = [(part, True) for part in alike[1]]
        names = frozenset(name_of(part) for part, is_there in asked if part is not None and is_there)
        if len(names) > 1 and len(names) == len(asked):
            found.append(names)
    return tuple(found)


def name_of(part: ast.expr) -> str:
    """What an argument is called where it is read: `args.name`, `args["name"]`, `name`."""
    if isinstance(part, ast.Subscript):
        return string(part.slice) or ""
    return last_name(part)


def rank(name: str) -> int:
    """The place of an argument among several of which one will do: the lowest is given."""
    return 0 if _OF_HUB.search(name) else 2 if _LATE.search(name) else 1


def _of_asserts(source: Source) -> Iterator[Demand]:
    for statement in source.nodes(ast.Assert):
        around = _around(source, statement)
        yield from (Demand(statement.lineno, of, True, (*around, *more)) for of, more in _ways(statement.test, True))


def _of_branches(source: Source) -> Iterator[Demand]:
    """Of each branch that ends the program: what keeps its test, or one of those before it in a chain, from leading there."""
    for branch in source.nodes(ast.If):
        before, around = _before(source, branch), _around(source, branch)
        stops = _stops(source, branch.body[-1])
        if stops is not None:
            yield from _apart(branch, False, before, around, stops)
        last = branch.orelse[-1] if branch.orelse else None
        otherwise = _stops(source, last) if last is not None and not isinstance(last, ast.If) else None
        if otherwise is not None:
            yield from _apart(branch, True, before, around, otherwise)


def _of_uses(source: Source) -> Iterator[Demand]:
    """Of each method of a text that is called where an argument is read, with no test for it around: it, or what keeps the program
    from there. What a function was given is passed over: whether that is there may be tested where the function is called.
    """
    for call in source.all_calls:
        match call.func:
            case ast.Attribute(
                value=(ast.Attribute(value=ast.Name(id=of)) | ast.Subscript(value=ast.Name(id=of))) as text, attr=method
            ) if method in _OF_TEXTS and of != "self":
                yield from _unguarded(source, call, text)


def _unguarded(source: Source, call: ast.Call, text: ast.expr) -> Iterator[Demand]:
    tests: list[ast.expr] = []
    instead: list[ast.expr] = []
    node: ast.AST = call
    while (above := source.parent(node)) is not None:
        if isinstance(above, ast.BoolOp):
            tests.append(above)
        elif isinstance(above, (ast.If, ast.IfExp)) and node is not above.test:
            tests.append(above.test)
            ways = _ways(above.test, True) if isinstance(above, ast.If) and node in above.orelse else []
            instead += ways[0][0] if len(ways) == 1 else ()
        node = above
    if not any(_mentions(test, text, call) for test in tests):
        yield Demand(call.lineno, (text, *instead), beside=_around(source, source.statement_of(call)))


def _mentions(test: ast.expr, text: ast.expr, besides: ast.expr) -> bool:
    """Whether a test reads a text, `besides` the place where it is used."""
    own = {id(node) for node in ast.walk(besides)}
    wanted = ast.dump(text)
    alike = (node for node in ast.walk(test) if id(node) not in own and type(node) is type(text))
    return any(ast.dump(node) == wanted for node in alike)


def _apart(branch: ast.If, wanted: bool, before: _Clause, around: _Clause, stops: bool) -> Iterator[Demand]:
    ways = _ways(branch.test, wanted) or ([((), ())] if before and wanted else [])
    parts = branch.test.values if isinstance(branch.test, ast.BoolOp) else []
    asks_more = any(isinstance(part, ast.Compare) and _presence(part)[0] is None for part in parts)
    yield from (Demand(branch.lineno, (*before, *of), stops, (*around, *beside), asks_more) for of, beside in ways)


def _around(source: Source, statement: ast.stmt) -> _Clause:
    """What has to be there for a statement to be reached, by the tests around it."""
    found: list[ast.expr] = []
    node: ast.AST = statement
    while (above := source.parent(node)) is not None:
        if isinstance(above, ast.If) and node in above.body:
            parts = above.test.values if isinstance(above.test, ast.BoolOp) else [above.test]
            if not (isinstance(above.test, ast.BoolOp) and isinstance(above.test.op, ast.Or)):
                found += [asked for part in parts for asked in _absent(part, False)]
        node = above
    return tuple(found)


def _before(source: Source, branch: ast.If) -> _Clause:
    """What leads to an earlier branch of the chain of `if` and `elif` that a branch belongs to, if it is there."""
    found: list[ast.expr] = []
    above = source.parent(branch)
    while isinstance(above, ast.If) and above.orelse == [branch]:
        ways = _ways(above.test, True)
        found = [*(ways[0][0] if len(ways) == 1 else ()), *found]
        branch, above = above, source.parent(above)
    return tuple(found)


def _stops(source: Source, last: ast.stmt) -> bool | None:
    """Whether a branch that ends with a statement ends the program; `None` where it goes on."""
    if ends(source, last):
        return True
    empty = isinstance(last, ast.Return) and (last.value is None or isinstance(last.value, ast.Constant))
    return False if empty else None


def _ways(test: ast.expr, wanted: bool) -> _Ways:
    """What must be there for a test to come out as wanted: one of each clause. What else it asks is passed over."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _ways(test.operand, not wanted)
    several = _several(test)
    if several is not None:
        of_all, parts = several
        if of_all == wanted:
            return [way for part in parts for way in _ways(part, wanted)]
        known = [ways for part in parts if (ways := _ways(part, wanted))]
        beside = tuple(asked for part in parts for asked in _absent(part, wanted))
        every = islice(product(*known), _MOST) if known else ()
        return [
            (
                tuple(chain.from_iterable(of for of, _ in ways)),
                (*beside, *chain.from_iterable(more for _, more in ways)),
            )
            for ways in every
        ]
    alike = _alike(test)
    if alike is not None:
        are_alike, both = alike
        return [(both, ())] if are_alike != wanted else []
    asked, is_there = _presence(test)
    return [((asked,), ())] if asked is not None and is_there == wanted else []


def _absent(test: ast.expr, wanted: bool) -> _Clause:
    """What must be missing for a test to come out as wanted."""
    asked, is_there = _presence(test)
    return (asked,) if asked is not None and is_there != wanted else ()


def _several(test: ast.expr) -> tuple[bool, list[ast.expr]] | None:
    """The tests that one is made of, and whether all of them must hold: `a and b`, `any([a, b])`."""
    match test:
        case ast.BoolOp(op=op, values=values):
            return isinstance(op, ast.And), values
        case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
            return name == "all", parts
    return None


def _alike(test: ast.expr) -> tuple[bool, _Clause] | None:
    """Two things that a test compares by being there, and whether it holds where they are alike: `(a is None) == (b is None)`."""
    match test:
        case ast.BinOp(left=left, op=ast.BitXor(), right=right):
            same = False
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            same = True
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.IsNot()], comparators=[right]):
            same = False
        case _:
            return None
    both = [(_presence(side), side) for side in (left, right)]
    asked = tuple(part for (part, _there), side in both if part is not None and part is not side)
    told = {there for (_part, there), _side in both}
    return (same == (len(told) == 1), asked) if len(asked) == len(both) else None


def _presence(test: ast.expr) -> tuple[ast.expr | None, bool]:
    """What a test asks for nothing but being there, and whether it holds if it is: `x`, `not x`, `x is None`, `x == ""`, `bool(x)`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            asked, is_there = _presence(operand)
            return asked, not is_there
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=value)]) if not value:
            return left, False
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=value)]) if (
            not value
        ):
            return left, True
        case ast.Call(func=ast.Name(id="bool"), args=[asked], keywords=[]):
            return asked, True
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return test, True
    return None, False
