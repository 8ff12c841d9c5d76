"""Values that a training loop sums up or collects together with their graphs, and states that it carries from turn to turn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.loops import graph_flow, structure
from dnnfix.detect.loops.graph_flow import Flow, Kept
from dnnfix.detect.loops.structure import Kind
from dnnfix.detect.loops.training_loop import (
    Loop,
    function_around,
    loops_around,
    operated_on,
    operations_named,
    read_names,
)
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import within

OF_STATE = re.compile(
    r"hid|(^|[._])(h|c|hs|cs|[hc]_?(prev|last|old)|carry|hc|state\w*|hx|cx|h_?n|c_?n|h_?t|c_?t|mems?|memory|context|h_?\d|c_?\d)$",
    re.IGNORECASE,
)
OF_RESULT = re.compile(
    r"loss|cost|crit(?!ic)|(^|[ _.])err(or)?s?($| )|pred|output|logit|(^|[ _.])outs?($| )|mse|metric", re.IGNORECASE
)
LETS_GO = re.compile(
    r"detach|\.data\b|repackage|init_?hidden|init_?state|reset|zeros|requires_grad|no_grad|initHidden|truncate"
)

NO_GRAPH = re.compile(r"item\(|detach|\.data\b|no_grad|float\(|numpy|cpu\(")
"""What lets go of a graph in a meter."""

OF_TENSOR = words("item detach cpu data numpy tolist backward")
"""Attributes of tensors that numbers do not have, or that a report does not need."""


@record
class Carried:
    """A state that a call of a network is given and gives back for the next turn of a loop."""

    state: str
    call: ast.Call
    statement: ast.stmt
    loop: Loop


@once
def kept(source: Source) -> tuple[Kept, ...]:
    """What a loop that trains or evaluates keeps with its graph, where no backward pass goes back from it."""
    return tuple(each for each in graph_flow.account(source).kept if _is_kept(source, each))


def _is_kept(source: Source, each: Kept) -> bool:
    around = loops_around(source, each.node)
    ended = {name for loop in around for name in _ends(source, loop)}
    is_end = isinstance(each.node, ast.Name) and each.node.id in ended
    if not _may_keep(source, each):
        return False
    if not is_end and not OF_RESULT.search(f"{each.keeper} {_given_back(source, each.node)}"):
        return False
    trains = [loop for loop in around if structure.has(source, loop, Kind.BACKWARD)]
    if not trains:
        measures = structure.evaluates(source, each.node) or _is_averaged(source, around[:1], each.keeper)
        evaluates = measures and each.value.flow is Flow.GRAPH
        return bool(around) and evaluates and not _is_made_in(around[0], each) and not _is_trained(source, each)
    loop = trains[0]
    is_loss = isinstance(each.node, ast.Name) and each.node.id in {*_ends(source, loop)}
    by_network = each.value == graph_flow.BY_NETWORK and structure.OF_LOSS.search(ast.unparse(each.node))
    may = each.value.flow is Flow.UNKNOWN and not structure.evaluates(source, each.node)
    has_graph = each.value.flow is Flow.GRAPH or (may and (is_loss or bool(by_network)))
    return has_graph and not _is_made_in(loop, each) and not _is_trained(source, each)


def _is_averaged(source: Source, loops: list[Loop], keeper: str) -> bool:
    """Whether a loop over a loader sums up what is then divided by the number of batches, and trains nothing: it measures, whatever it is called."""
    loop = loops[0] if loops else None
    if not isinstance(loop, ast.For) or not structure.goes_over_loader(source, loop):
        return False
    around: ast.AST = function_around(source, loop) or source.tree
    if structure.has(source, around, Kind.BACKWARD) or structure.has(source, around, Kind.UPDATE):
        return False
    ends = {ast.unparse(each.end) for each in graph_flow.account(source).passes}
    calls = structure.callers(source, around) if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)) else ()
    if any(
        ends & {ast.unparse(one) for one in within(source.statement_of(call), ast.Name, ast.Call)} for call in calls
    ):
        return False
    gone_over = ast.unparse(loop.iter)
    return any(
        isinstance(node.op, ast.Div)
        and keeper in {ast.unparse(one) for one in within(node.left, ast.Name, ast.Attribute)}
        and isinstance(node.right, ast.Call)
        and any(re.search(rf"\b{re.escape(name)}\b", gone_over) for name in read_names(node.right) - {"len"})
        for node in within(around, ast.BinOp)
    )


def _given_back(source: Source, node: ast.expr) -> str:
    """An expression as text; of the call of a training step that the text has, what this gives back."""
    body = structure.callee(source, node) if isinstance(node, ast.Call) else None
    if body is None or not structure.has(source, body, Kind.BACKWARD):
        return ast.unparse(node)
    return " ".join(ast.unparse(each.value) for each in within(body, ast.Return) if each.value is not None)


def _may_keep(source: Source, each: Kept) -> bool:
    """Whether what a value goes into holds on to it: a sum or a list does, a place of an array of NumPy or a metric of a library does not."""
    statement = each.statement
    if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Subscript):
        if statement.value is not each.node:
            return True  # a sum
        made = source.bindings(target.value)
        return bool(made) and all(_is_store(source, one) for one in made)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "update":
        meter = source.constructor(call.func.value)
        return meter is not None and _adds_up(source, meter)
    return True


def _is_store(source: Source, made: ast.expr) -> bool:
    """Whether an expression makes a dictionary, a list or a tensor."""
    if isinstance(made, ast.BinOp):
        return isinstance(made.left, ast.List)
    name = source.qualified(made.func) or "" if isinstance(made, ast.Call) else ""
    return isinstance(made, (ast.Dict, ast.List)) or name in graph_flow.FRESH or name.endswith((".dict", ".list"))


def _adds_up(source: Source, meter: ast.Call) -> bool:
    """Whether a meter adds up what it is given as it is: by its class, or by the name of the one that everybody copies."""
    definition = source.definition(meter.func)
    if isinstance(definition, ast.ClassDef):
        update = next((one for one in within(definition, ast.FunctionDef) if one.name == "update"), None)
        adds = update is not None and any(within(update, ast.AugAssign))
        return adds and update is not None and not NO_GRAPH.search(ast.unparse(update))
    return ast.unparse(meter.func).rpartition(".")[2] == "AverageMeter"


def _ends(source: Source, loop: ast.AST) -> Iterator[str]:
    """The names that backward passes in a loop go back from."""
    for each in graph_flow.account(source).passes:
        if isinstance(each.end, ast.Name) and loop in loops_around(source, each.end):
            yield each.end.id


def _is_made_in(loop: Loop, each: Kept) -> bool:
    """Whether every turn of a loop begins the sum or list anew."""
    keeper = each.keeper.partition("[")[0]
    for node in within(loop, ast.Assign):
        for target in node.targets:
            texts = {ast.unparse(one) for one in within(target, ast.Name, ast.Attribute)}
            anew = keeper not in {ast.unparse(one) for one in within(node.value, ast.Name, ast.Attribute)}
            if keeper in texts and anew and node in loop.body and node is not each.statement:
                return True
    made = {name.id for name in within(loop.target, ast.Name)} if isinstance(loop, (ast.For, ast.AsyncFor)) else set()
    return keeper.partition(".")[0] in made - {"self"}


def _is_trained(source: Source, each: Kept) -> bool:
    """Whether a backward pass may go back from the sum or list, or from what is made of it."""
    around: ast.AST = function_around(source, each.node) or source.tree
    names = {each.keeper.partition("[")[0]}
    for _ in range(3):
        for node, value, targets in _flows(around):
            texts = {ast.unparse(one) for one in within(value, ast.Name, ast.Attribute)}
            if texts & names and node is not each.statement:
                names |= {ast.unparse(one) for target in targets for one in within(target, ast.Name, ast.Attribute)}
    for call in within(around, ast.Call):
        body = structure.callee(source, call)
        is_given = body is not None and any(ast.unparse(arg) in names for arg in call.args)
        if is_given and body is not None and structure.has(source, body, Kind.BACKWARD):
            return True
    for one in graph_flow.account(source).passes:
        if {ast.unparse(part) for part in within(one.end, ast.Name, ast.Attribute)} & names:
            return True
    return False


def _flows(around: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr, list[ast.expr]]]:
    """The statements that give names values: each with the value and what it is given to."""
    for assigned in within(around, ast.Assign):
        yield assigned, assigned.value, assigned.targets
    for added in within(around, ast.AugAssign):
        yield added, added.value, [added.target]
    for loop in within(around, ast.For):
        yield loop, loop.iter, [loop.target]


@once
def carried(source: Source) -> tuple[Carried, ...]:
    """The states that a training loop carries from one turn to the next with the graphs of all turns before."""
    found: list[Carried] = []
    for loop, _ in structure.batch_loops(source):
        found += _carried_by(source, loop)
    return tuple(found)


def _carried_by(source: Source, loop: Loop) -> Iterator[Carried]:
    for statement in within(loop, ast.Assign):
        call = statement.value
        if not isinstance(call, ast.Call) or not structure.in_region(loop, statement, source):
            continue
        given = {ast.unparse(one) for arg in (*call.args, *(k.value for k in call.keywords)) for one in bare(arg)}
        stored = {ast.unparse(one) for target in statement.targets for one in bare(target)}
        network = structure.is_network(source, call.func) or bool(graph_flow.OF_LAYER.search(ast.unparse(call.func)))
        passing = [node for node in within(loop, ast.Assign) if _passes_on(node, stored, statement)]
        passed = {ast.unparse(one): node for node in passing for target in node.targets for one in bare(target)}
        for state in sorted(given & (stored | passed.keys())):
            own = [statement, passed[state]] if state in passed else [statement]
            kept_whole = not any(
                _is_let_go(source, loop, each, own) for each in {state, *(stored if len(own) > 1 else ())}
            )
            if network and OF_STATE.search(state) and kept_whole:
                yield Carried(state, call, statement, loop)


def _passes_on(node: ast.Assign, stored: set[str], own: ast.stmt) -> bool:
    """Whether a later statement only gives what a call gave another name: as a whole, or a part of it."""
    names = {each.id for each in within(node.value, ast.Name)}
    is_plain = not any(within(node.value, ast.Call, ast.BinOp, ast.Attribute))
    return node.lineno > own.lineno and is_plain and bool(names) and names <= stored


def goes_round(source: Source, loop: Loop) -> bool:
    """Whether a loop gives a network a state that it got from it in the turn before, let go of its graph or not."""
    for statement in within(loop, ast.Assign):
        call = statement.value
        if isinstance(call, ast.Call) and call.args:
            given = {ast.unparse(one) for arg in call.args for one in within(arg, ast.Name, ast.Attribute)}
            stored = {ast.unparse(one) for target in statement.targets for one in bare(target)}
            begun = any(
                node is not statement and isinstance(node.value, ast.Call) and not read_names(node.value) & {state}
                for state in given & stored
                for node in within(loop, ast.Assign)
                if state in {ast.unparse(one) for target in node.targets for one in bare(target)}
            )
            if any(OF_STATE.search(state) for state in given & stored) and not begun:
                return True
    return False


def bare(expr: ast.expr) -> Iterator[ast.expr]:
    """A name or attribute, or those in a tuple."""
    if isinstance(expr, (ast.Tuple, ast.List)):
        for each in expr.elts:
            yield from bare(each)
    elif isinstance(expr, (ast.Name, ast.Attribute)):
        yield expr


def _is_let_go(source: Source, loop: Loop, state: str, own: list[ast.Assign]) -> bool:
    """Whether a turn of a loop makes the state anew, or lets its graph go, in any way."""
    inner = [one for one in loops_around(source, own[0]) if one is not loop]
    for node in within(loop, ast.Assign):
        if node in own:
            continue
        stored = {ast.unparse(one) for target in node.targets for one in bare(target)}
        if state in stored and not (
            set(read_names(node.value)) & {state} and isinstance(node.value, ast.Call) and inner
        ):
            return True
    for each in within(loop, ast.Call):
        text = ast.unparse(each)
        if LETS_GO.search(ast.unparse(each.func)) and re.search(rf"(?<![\w.]){re.escape(state)}\b", text):
            return True
    stores = [node for node in within(loop, ast.For) if state in {ast.unparse(one) for one in bare(node.target)}]
    return bool(stores) or state in {ast.unparse(n.iter) for n in within(loop, ast.For)}


# --- sums and lists of which the text shows beginning and end


@once
def of_values(source: Source) -> tuple[tuple[ast.Name, str], ...]:
    """The losses that are kept, each with the name that keeps it, where the text shows that only their values are used."""
    return tuple(_of_values(source))


def _of_values(source: Source) -> Iterator[tuple[ast.Name, str]]:
    for step in operations_named(source, "backward"):
        loss = operated_on(step)
        loops = loops_around(source, step.statement)
        if not isinstance(loss, ast.Name) or not loops:
            continue
        around = function_around(source, step.statement)
        stores = [
            node
            for node in within(loops[0], ast.Name)
            if node.id == loss.id and isinstance(node.ctx, ast.Store) and node.lineno > step.statement.lineno
        ]
        if stores:
            continue
        for added, keeper, starts in _keepers(loops[0], loss.id):
            if _begins(source, keeper, starts, added) and not _needs_tensor(source, keeper, around or source.tree):
                yield added, keeper


def _keepers(loop: ast.AST, loss: str) -> Iterator[tuple[ast.Name, str, type[ast.expr]]]:
    """Where a loop keeps a loss: the loss there, the name that keeps it, and the type of that name's initial value."""
    for statement in within(loop, ast.AugAssign):
        value = statement.value
        weighed = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div))
        added = value.left if weighed and isinstance(value, ast.BinOp) else value
        target = statement.target
        if not isinstance(statement.op, ast.Add) or not isinstance(target, ast.Name):
            continue
        if isinstance(added, ast.Name) and added.id == loss:
            yield added, target.id, ast.Constant
    for call in within(loop, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
            given, keeper = call.args[0], call.func.value
            if isinstance(given, ast.Name) and given.id == loss and isinstance(keeper, ast.Name):
                yield given, keeper.id, ast.List


def _begins(source: Source, keeper: str, kind: type[ast.expr], at: ast.Name) -> bool:
    """Whether every assignment to the keeper in its function is a constant or an empty list."""
    around = function_around(source, at) or source.tree
    values = [
        value
        for statement in within(around, ast.Assign)
        for target in statement.targets
        for name, value in _pairs(target, statement.value)
        if name == keeper
    ]
    empty = all(not value.elts if isinstance(value, ast.List) else True for value in values)
    return bool(values) and empty and all(isinstance(value, kind) for value in values)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for one, other in zip(target.elts, value.elts, strict=True) for pair in _pairs(one, other)]
    return []


def _made_of(keeper: str, where: ast.AST) -> Iterator[str]:
    """The names that are assigned something computed from the keeper."""
    for statement in within(where, ast.Assign):
        if any(node.id == keeper for node in within(statement.value, ast.Name)):
            yield from (node.id for target in statement.targets for node in within(target, ast.Name))


def _needs_tensor(source: Source, keeper: str, where: ast.AST) -> bool:
    """Whether the keeper is used in a way that needs a tensor."""
    names = {keeper, *_made_of(keeper, where)}
    for node in within(where, ast.Name):
        if node.id not in names or isinstance(node.ctx, ast.Store):
            continue
        above = source.parent(node)
        if source.enclosing(node, ast.Return) is not None and not OF_TENSOR.isdisjoint(source.words - {"backward"}):
            return True
        if isinstance(above, ast.Attribute) and above.attr in OF_TENSOR:
            return True
        if isinstance(above, ast.Subscript) and isinstance(source.parent(above), (ast.Attribute, ast.Subscript)):
            return True
        if isinstance(above, (ast.For, ast.comprehension, ast.Starred)):
            return True
        if isinstance(above, ast.Call) and (source.qualified(above.func) or "").startswith("torch."):
            return True
    return False
