"""The scale of what goes into the network: inputs of about one, by numbers that are taken from the training samples alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.training_loop import function_around, loops_around
from dnnfix.network.facts import layer_facts
from dnnfix.records import Call, Edit, FixPattern, InsertAfter, InsertBefore, Value, Wrap
from dnnfix.source.program import Source, once
from dnnfix.source.tree import within
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.causes.written import passed
from dnnfix.synthesize.recipes import insert_layer_before
from dnnfix.synthesize.spelling import spell
from dnnfix.validate.reading import Reading

LARGE = 10.0
"""Size of the largest input from which on its scale may be what stops training: beyond three deviations of scaled data."""

BYTES = (60.0, 255.0)
"""Largest values between which inputs that are never negative are the bytes of pictures."""

CALLERS = 2
"""Functions through which an array is followed to where it has its name."""

DATASETS = ("torch.utils.data.TensorDataset",)
METHODS = ("fit", "evaluate", "predict")


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Scaled arrays where they are handed to training, or a normalization as the first layer."""
    first = _first_layer(subject)
    if first is None:
        return
    call, value = first
    size = max(abs(value.low or 0.0), abs(value.high or 0.0))
    if size <= LARGE:
        return
    is_bytes = value.low is not None and value.low >= 0.0 and BYTES[0] < size <= BYTES[1]
    made = _scaled_arrays(subject, is_bytes)
    if made:
        how = "by 255" if is_bytes else "by the mean and the deviation of the training samples"
        title = f"Scale the inputs, which reach {size:.3g}, {how}"
        yield Cause("inputs", title, FixPattern.DATA_WRANGLING, made, 0.8)
    yield from _normalized(subject, call, value, size)


def _first_layer(subject: Subject) -> tuple[Call, Value] | None:
    """The first layer or model that is called, and what it is given; indices are no amounts."""
    for call in subject.network.calls:
        facts = layer_facts(call)
        for value in call.inputs[:1]:
            if value.high is None or not _is_of_network(subject, call):
                continue
            if facts is not None and facts.kind == "embedding":
                return None
            return call, value
    return None


def _scaled_arrays(subject: Subject, is_bytes: bool) -> tuple[Edit, ...]:
    """Statements that scale the array given to training, and the ones that the network is asked about later."""
    given = list(_handed_over(subject))
    if not given:
        return ()
    trained, statement = given[0]
    source = subject.source
    others = dict.fromkeys(name for name, _ in given[1:] if name != trained)
    place = source.site(statement)
    if is_bytes:
        lines = [f"{trained} = {trained} / 255"]
    else:
        lines = [
            f"mean, deviation = {trained}.mean(axis=0), {trained}.std(axis=0) + 1e-7",
            f"{trained} = ({trained} - mean) / deviation",
        ]
    edits: list[Edit] = []
    for name in others:
        line = f"{name} = {name} / 255" if is_bytes else f"{name} = ({name} - mean) / deviation"
        made = _last_assignment(subject, name)
        if made is None:
            return ()
        if made.lineno < statement.lineno:
            lines.append(line)
        else:
            edits.append(InsertAfter(source.site(made), line))
    return (InsertBefore(place, "\n".join(lines)), *edits)


def _handed_over(subject: Subject) -> Iterator[tuple[str, ast.stmt]]:
    """The names of arrays that go into the network, the first that is trained on first, with the statement before which to scale."""
    source = subject.source
    found: list[tuple[bool, int, str, ast.stmt]] = []
    for call in source.all_calls:
        trains = True
        expr: ast.expr | None = None
        if source.qualified(call.func) in DATASETS and call.args:
            expr = call.args[0]
        elif (
            isinstance(call.func, ast.Attribute) and call.func.attr in METHODS and subject.source.frameworks & {"keras"}
        ):
            expr = next((k.value for k in call.keywords if k.arg == "x"), call.args[0] if call.args else None)
            trains = call.func.attr == "fit"
            held = next((k.value for k in call.keywords if k.arg == "validation_data"), None)
            if isinstance(held, ast.Tuple) and held.elts and isinstance(held.elts[0], ast.Name):
                found.append((True, call.lineno, held.elts[0].id, source.statement_of(call)))
        elif isinstance(call.func, ast.Name) and call.func.id in _models(subject) and call.args:
            expr = call.args[0]
        for _ in range(CALLERS):
            if isinstance(expr, ast.Name) and not _is_made_where_it_stands(source, expr):
                expr = passed(subject, expr) or expr
        if isinstance(expr, ast.Name) and _is_array(subject, expr):
            found.append((not trains, call.lineno, expr.id, _outside_loops(subject, expr)))
    scopes = {function_around(source, statement) for _, _, _, statement in found}
    for _, _, name, statement in sorted(found, key=lambda item: item[:2]) if len(scopes) == 1 else ():
        yield name, statement


@once
def _models(subject: Subject) -> frozenset[str]:
    """The names under which the program calls networks; what happens within one is no place for arrays."""
    source = subject.source
    nodes = [subject.call_node(call) for call in subject.network.calls if _is_of_network(subject, call)]
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


def _is_of_network(subject: Subject, call: Call) -> bool:
    made = subject.network.component(call.component)
    return made is not None and made.kind in ("layer", "model")


def _is_made_where_it_stands(source: Source, name: ast.Name) -> bool:
    """Whether the function around a name assigns it, so that what its caller gives is something else."""
    around = function_around(source, name)
    stored = within(around, ast.Name) if around is not None else ()
    return any(one.id == name.id and isinstance(one.ctx, ast.Store) for one in stored)


def _is_array(subject: Subject, name: ast.Name) -> bool:
    """Whether a name is assigned as a whole, not by a loop or a function's caller."""
    return _last_assignment(subject, name.id) is not None and not any(
        isinstance(node, (ast.For, ast.AsyncFor)) and name.id in {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        for node in ast.walk(subject.source.tree)
    )  # fmt: skip


def _last_assignment(subject: Subject, name: str) -> ast.stmt | None:
    made = [
        node
        for node in subject.source.nodes(ast.Assign)
        if any(isinstance(n, ast.Name) and n.id == name for target in node.targets for n in ast.walk(target))
    ]
    return made[-1] if made else None


def _outside_loops(subject: Subject, node: ast.expr) -> ast.stmt:
    loops = loops_around(subject.source, node)
    return loops[-1] if loops else subject.source.statement_of(node)


def _normalized(subject: Subject, call: Call, value: Value, size: float) -> Iterator[Cause]:
    """A normalization over the batch in front of the first layer."""
    shape = value.shape or ()
    if call.name.startswith("keras."):
        spelled = spell(subject, "keras.layers.BatchNormalization")
        code = f"{spelled.code}()"
    elif call.name.startswith("torch.nn.") and len(shape) in (2, 4) and shape[1] is not None:
        spelled = spell(subject, f"torch.nn.BatchNorm{len(shape) // 2}d")
        code = f"{spelled.code}({shape[1]})"
    else:
        return
    made = insert_layer_before(subject, call, code)
    if made is not None and not isinstance(made[0], Wrap):  # a layer made anew in every call would not learn
        title = f"Normalize the inputs, which reach {size:.3g}, in the first layer"
        yield Cause("inputs", title, FixPattern.ADD_LAYER, (*made, *spelled.imports), 0.5)
