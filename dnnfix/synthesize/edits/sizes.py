"""Edits that change a size argument of a layer, at the place where a person would change it.

A size can stand in a constructor as a number, as a product of numbers, as a name that another layer uses too, or as
a parameter that a caller fills. The right place to change depends on which it is and on what else depends on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import prod

from dnnfix.detect.call_arguments import argument
from dnnfix.network.facts import argument_position, signature
from dnnfix.records import Call, Component, Edit, Replace, SetArgument
from dnnfix.records.record import record
from dnnfix.source.arithmetic import number
from dnnfix.source.tree import parameter_names
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.formulas import MAX_RATIO, Around, around, spoken_for
from dnnfix.synthesize.literals import passed

OTHER_NAME = 0.5
"""What remains of the likelihood of a name that happens to hold the size, in the place of another name."""

SHARED = 0.25
"""What remains of the likelihood that the number behind a name is to change which other parts are made with as well: a guess."""

MAX_DEPTH = 3
"""Names followed from a constructor's argument towards the place where the number is written."""


@record
class SizeChange:
    """Edits that change a size argument; `written` is its new code, `prior` ranks rivals in (0, 1]."""

    edits: tuple[Edit, ...]
    written: str
    prior: float


def size_changes(
    subject: Subject,
    of: Call | Component,
    name: str,
    wanted: int,
    *,
    like: Sequence[str] = (),
    factors: Sequence[int] = (),
    whole: int | None = None,
) -> list[SizeChange]:
    """Ways of setting a constructor's size argument `name` to `wanted`, the likeliest first; at most three.

    `like` has the code of expressions known to have that value (the argument of the layer before), used where they mean
    the same at the constructor. `factors` are the sizes whose product `wanted` is, for products to be written as such.
    `whole` is the size at the other end of which `wanted` is to be a part.
    """
    node = subject.constructor_node(of) if isinstance(of, Call) else subject.call_node(of)
    if node is None or any(isinstance(given, ast.Starred) for given in node.args):
        return []
    given = argument(subject, node, of.name, name)
    if given is None:
        return []

    def put(text: str, prior: float) -> SizeChange:
        edit = SetArgument(subject.source.site(node), name, text, argument_position(of.name, name))
        return SizeChange((edit,), text, prior)

    found: list[SizeChange] = []
    plain = number(given) is not None
    place = around(subject, of, node, name)
    for text, prior in _names_for(subject, node, wanted, like, place):
        if text != subject.text(subject.source.site(given)) and place.agrees(text):
            unused = plain and _is_unused_parameter(subject, node, text)
            weight = 1.0 if text in like else 0.9 if plain else OTHER_NAME
            found.append(put(text, 1.0 if unused else prior * weight))
    if plain:
        found.append(put(spelled(subject, given, wanted, factors), 0.95))
    else:
        found += _elsewhere(subject, given, wanted, MAX_DEPTH, factors)
        now = of.args.get(name)
        if isinstance(now, int) and not isinstance(now, bool):
            found += [put(text, prior) for text, prior in _formulas(subject, given, now, wanted, factors, whole, place)]
        if _always_same(subject, of, name):
            found.append(put(str(wanted), 0.25))
    return _first(found, 3)


def spelled(subject: Subject, given: ast.expr, wanted: int, factors: Sequence[int] = ()) -> str:
    """`wanted` as code: as a product where `given` is written as one and the factors are known."""
    written = subject.text(subject.source.site(given))
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult) and factors and prod(factors) == wanted:
        terms = _terms(given)
        shown = [size for size in factors if size != 1] if len(factors) > len(terms) else list(factors)
        if len(shown) > 1:
            return (" * " if " * " in written else "*").join(str(size) for size in shown)
    return str(wanted)


def made_as(subject: Subject, of: Call | Component, name: str) -> str | None:
    """The code of a constructor's argument, where it is a name or made of names rather than a plain number."""
    node = subject.constructor_node(of) if isinstance(of, Call) else subject.call_node(of)
    given = argument(subject, node, of.name, name) if node is not None else None
    if given is None or number(given) is not None or not _means_the_same(given):
        return None
    return subject.text(subject.source.site(given))


def named_sizes(subject: Subject, at: ast.AST) -> dict[str, int]:
    """Names (and plain expressions of names) in the function around `at` whose size the observed layers show."""
    around = subject.source.enclosing(at, ast.FunctionDef, ast.AsyncFunctionDef)
    known: dict[str, int] = {}
    torn: set[str] = set()
    for component in subject.network.components:
        node = subject.call_node(component)
        if node is None or subject.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) is not around:
            continue
        for text, value in _stated(subject, component, node):
            if known.setdefault(text, value) != value:
                torn.add(text)
    return {text: value for text, value in known.items() if text not in torn}


def _stated(subject: Subject, component: Component, node: ast.Call) -> Iterator[tuple[str, int]]:
    described = signature(component.name)
    names = described.parameters if described is not None else ()
    for name in names:
        value = component.args.get(name)
        given = argument(subject, node, component.name, name)
        if given is None or isinstance(value, bool) or not isinstance(value, int) or not _means_the_same(given):
            continue
        yield subject.text(subject.source.site(given)), value


def _means_the_same(node: ast.expr) -> bool:
    """Whether the expression is made of names, attributes and whole numbers only, with at least one name."""
    parts = (ast.Name, ast.Attribute, ast.BinOp, ast.Constant, ast.operator, ast.expr_context)
    return all(isinstance(part, parts) for part in ast.walk(node)) and any(
        isinstance(part, ast.Name) for part in ast.walk(node)
    )


def _names_for(
    subject: Subject, node: ast.Call, wanted: int, like: Sequence[str], place: Around
) -> Iterator[tuple[str, float]]:
    known = {**named_sizes(subject, node), **place.values}
    for text in like:
        if known.get(text) == wanted:
            yield text, 1.0
    for text, value in sorted(known.items(), key=lambda item: len(item[0])):
        if value == wanted and text not in like and text.replace(".", "").replace("_", "").isalnum():
            yield text, 0.55


def _formulas(
    subject: Subject,
    given: ast.expr,
    now: int,
    wanted: int,
    factors: Sequence[int],
    whole: int | None,
    place: Around,
) -> list[tuple[str, float]]:
    """Formulas for the size: those that the program speaks for, and one of the argument's own name.

    The latter only where it cannot be the wrong one of several: where the size is a part of another that is known by a
    name, the part is written by that name.
    """
    told = list(spoken_for(subject, place, wanted, whole))
    if any(prior > 0.9 for _, prior in told):
        return told
    own = [(text, prior) for text, prior in _derived(subject, given, now, wanted, factors) if place.agrees(text)]
    return [*told, *own]


def _derived(
    subject: Subject, given: ast.expr, now: int, wanted: int, factors: Sequence[int]
) -> Iterator[tuple[str, float]]:
    """Expressions of the same names that have the wanted value."""
    text = subject.text(subject.source.site(given))
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
        terms = _terms(given)
        named = [term for term in terms if number(term) is None]
        fixed = prod(number(term) or 1 for term in terms)
        base = now // fixed if fixed and now % fixed == 0 else 0
        if base and wanted % base == 0 and len(named) < len(terms):
            rest = [size for size in _rest(base, factors)] if prod(_rest(base, factors)) * base == wanted else []
            shown = [subject.text(subject.source.site(term)) for term in named]
            tail = [str(size) for size in rest if size != 1] or ([str(wanted // base)] if wanted != base else [])
            yield (" * " if " * " in text else "*").join([*shown, *tail]), 0.9
            return
    if isinstance(given, ast.Subscript):  # rather another element of what is indexed is meant
        return
    simple = text if isinstance(given, (ast.Name, ast.Attribute)) else f"({text})"
    if now % wanted == 0 and 1 < now // wanted <= MAX_RATIO:
        yield f"{simple} // {now // wanted}", 0.7
    elif wanted % now == 0 and 1 < wanted // now <= MAX_RATIO:
        yield f"{simple} * {wanted // now}", 0.7


def _rest(base: int, factors: Sequence[int]) -> Sequence[int]:
    return factors[1:] if factors and factors[0] == base else ()


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _elsewhere(
    subject: Subject, given: ast.expr, wanted: int, depth: int, factors: Sequence[int] = ()
) -> list[SizeChange]:
    """The number behind a name: where the name is bound once, or where the only caller fills the parameter."""
    source = subject.source
    if depth == 0 or not isinstance(given, (ast.Name, ast.Attribute)):
        return []
    bound = source.bindings(given, given) or source.bindings(given)
    if len(bound) == 1:
        values: list[ast.expr] = [bound[0]]
    elif isinstance(given, ast.Name):
        filled = passed(subject, given)
        values = [filled] if filled is not None else []
    else:
        values = []
    weight = 1.0 if _uses(subject, given) <= 1 else SHARED
    for value in values:
        if number(value) is not None:
            text = spelled(subject, value, wanted, factors)
            return [SizeChange((Replace(source.site(value), text),), text, 0.92 * weight)]
        return [
            SizeChange(change.edits, change.written, change.prior * weight)
            for change in _elsewhere(subject, value, wanted, depth - 1, factors)
        ]
    return []


def _uses(subject: Subject, given: ast.Name | ast.Attribute) -> int:
    """How often a name is read in its function (or an attribute in the file)."""
    around: ast.AST | None = None
    if isinstance(given, ast.Name):
        around = subject.source.enclosing(given, ast.FunctionDef, ast.AsyncFunctionDef)
    written = ast.dump(given)
    nodes = ast.walk(around or subject.source.tree)
    return sum(
        isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and ast.dump(node) == written
        for node in nodes
    )


def _is_unused_parameter(subject: Subject, at: ast.AST, name: str) -> bool:
    """Whether the function around `at` takes an argument of that name and does not read it: a number stands in its place."""
    function = subject.source.enclosing(at, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return name in parameter_names(function) and not any(
        isinstance(node, ast.Name) and node.id == name for node in ast.walk(function)
    )


def _always_same(subject: Subject, of: Call | Component, name: str) -> bool:
    """Whether every object that this constructor expression made was given the same size."""
    site = of.made_at if isinstance(of, Call) else of.site
    values = [one.args.get(name) for one in subject.network.components if one.site == site and site is not None]
    return all(value == values[0] for value in values)


def _first(found: list[SizeChange], most: int) -> list[SizeChange]:
    seen: dict[tuple[Edit, ...], SizeChange] = {}
    for change in sorted(found, key=lambda change: -change.prior):
        seen.setdefault(change.edits, change)
    return list(seen.values())[:most]
