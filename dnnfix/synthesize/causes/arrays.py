"""Edits that scale the arrays a program trains on, at the statement where each array has its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import input_expression
from dnnfix.detect.loops.training_loop import function_around, loops_around
from dnnfix.detect.tensors.values import loss_uses
from dnnfix.records import Call, Edit, InsertAfter, InsertBefore
from dnnfix.source.program import Source, once
from dnnfix.source.tree import names_in, stored_names
from dnnfix.subject import Subject
from dnnfix.synthesize.literals import passed

CALLERS = 2
"""Functions through which an array is followed to where it has its name."""

DATASETS = ("torch.utils.data.TensorDataset",)
METHODS = ("fit", "evaluate", "predict")

ROLES = ("x", "y")
"""Inputs and targets, in the order in which they are given."""

NAMES = {"x": ("mean", "deviation"), "y": ("target_mean", "target_deviation")}
"""What the numbers are called by which arrays of each role are scaled."""


def scaled(subject: Subject, role: str, is_bytes: bool) -> tuple[Edit, ...]:
    """Statements that scale the array given to training as `x` or `y`, and the ones that come with it later.

    By 255, or by the mean and the deviation of what is trained on.
    """
    given = list(_handed_over(subject, role))
    if not given:
        return ()
    trained, statement = given[0]
    source = subject.source
    others = dict.fromkeys(name for name, _ in given[1:] if name != trained)
    place = source.site(statement)
    mean, deviation = NAMES[role]
    if is_bytes:
        lines = [f"{trained} = {trained} / 255"]
    else:
        lines = [
            f"{mean}, {deviation} = {trained}.mean(axis=0), {trained}.std(axis=0) + 1e-7",
            f"{trained} = ({trained} - {mean}) / {deviation}",
        ]
    edits: list[Edit] = []
    for name in others:
        line = f"{name} = {name} / 255" if is_bytes else f"{name} = ({name} - {mean}) / {deviation}"
        made = _last_assignment(subject, name)
        if made is None:
            return ()
        if made.lineno < statement.lineno:
            lines.append(line)
        else:
            edits.append(InsertAfter(source.site(made), line))
    return (InsertBefore(place, "\n".join(lines)), *edits)


def _handed_over(subject: Subject, role: str) -> Iterator[tuple[str, ast.stmt]]:
    """The names of arrays that go into the network, the first that is trained on first, with the statement before which to scale."""
    source = subject.source
    found: list[tuple[bool, int, str, ast.stmt]] = []
    for call, given, trains in _given(subject, role):
        expr = given
        for _ in range(CALLERS):
            if isinstance(expr, ast.Name) and not _is_made_where_it_stands(source, expr):
                expr = passed(subject, expr) or expr
        if isinstance(expr, ast.Name) and _is_array(subject, expr):
            found.append((not trains, call.lineno, expr.id, _outside_loops(subject, expr)))
    scopes = {function_around(source, statement) for _, _, _, statement in found}
    for _, _, name, statement in sorted(found, key=lambda item: item[:2]) if len(scopes) == 1 else ():
        yield name, statement


def _given(subject: Subject, role: str) -> Iterator[tuple[ast.Call, ast.expr, bool]]:
    """What calls are given as `x` or `y`, and whether that is trained on, or held out beside it."""
    source, place = subject.source, ROLES.index(role)
    compared = dict(_compared(subject)) if role == "y" else {}
    for call in source.all_calls:
        if source.qualified(call.func) in DATASETS and len(call.args) > place:
            yield call, call.args[place], True
        elif isinstance(call.func, ast.Attribute) and call.func.attr in METHODS and source.frameworks & {"keras"}:
            named = next((k.value for k in call.keywords if k.arg == role), None)
            if named is not None or len(call.args) > place:
                yield call, named or call.args[place], call.func.attr == "fit"
            held = next((k.value for k in call.keywords if k.arg == "validation_data"), None)
            if isinstance(held, ast.Tuple) and len(held.elts) > place:
                yield call, held.elts[place], False
        elif role == "x" and isinstance(call.func, ast.Name) and call.func.id in models(subject) and call.args:
            yield call, call.args[0], True
        elif call in compared:
            yield call, compared[call], True


def _compared(subject: Subject) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The losses that the program calls itself, each with the expression of its target."""
    for use in loss_uses(subject):
        call, target = subject.call_node(use.call), input_expression(subject, use.call, 1)
        if call is not None and target is not None:
            yield call, target


@once
def models(subject: Subject) -> frozenset[str]:
    """The names under which the program calls networks; arrays are not scaled inside of them."""
    source = subject.source
    nodes = [subject.call_node(call) for call in subject.network.calls if is_of_network(subject, call)]
    recorded = {node.func.id for node in nodes if node is not None and isinstance(node.func, ast.Name)}
    own = {
        call.func.id
        for call in source.all_calls
        if isinstance(call.func, ast.Name) and (made := source.constructor(call.func)) is not None
        if isinstance(definition := source.definition(made.func), ast.ClassDef) and _is_module(definition)
    }
    return frozenset(recorded | own)


def _is_module(definition: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name in ("forward", "call") for each in definition.body)


def _is_made_where_it_stands(source: Source, name: ast.Name) -> bool:
    """Whether the function around a name assigns it, so that what its caller gives is something else."""
    around = function_around(source, name)
    return around is not None and name.id in stored_names(around)


def _is_array(subject: Subject, name: ast.Name) -> bool:
    """Whether a name is assigned as a whole, not by a loop or a function's caller."""
    source = subject.source
    targets = [each.target for each in source.nodes(ast.For)] + [each.target for each in source.nodes(ast.AsyncFor)]
    assigned = _last_assignment(subject, name.id) is not None
    return assigned and not any(name.id in names_in(target) for target in targets)


def _last_assignment(subject: Subject, name: str) -> ast.stmt | None:
    assignments = subject.source.nodes(ast.Assign)
    made = [node for node in assignments if any(name in names_in(target) for target in node.targets)]
    return made[-1] if made else None


def _outside_loops(subject: Subject, node: ast.expr) -> ast.stmt:
    loops = loops_around(subject.source, node)
    return loops[-1] if loops else subject.source.statement_of(node)


def is_of_network(subject: Subject, call: Call) -> bool:
    """Whether a call is one of a layer or of a whole network."""
    made = subject.network.component(call.component)
    return made is not None and made.kind in ("layer", "model")
