"""Weights that a training keeps under a name, such as those of its best epoch: as a copy, or as what training goes on changing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile

from dnnfix.detect import checkpoints
from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import block_of, function_around, loops_around
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.tree import names_in, stored_names, within

TRAINING = frozenset({"backward", "step", "train_one_epoch", "train_epoch"})
OF_BEST = re.compile(
    r"(^|[._])(\w*best\w*|opt_model|optimal\w*|saved_\w+|early_stop\w*|min_loss_model)$", re.IGNORECASE
)
"""Usual names of what is kept for the end."""
OF_PAST = re.compile(r"(^|[._])(old|prev|before|init|orig|best|start|backup|saved|snapshot|first)", re.IGNORECASE)
"""Beginnings of the names of what is compared with, or gone back to, later."""
OF_WRITING = re.compile(r"^self\.\w*(save|write|dump|store|checkpoint)")
"""Methods that may write what their object keeps."""
OF_TRAINING = re.compile(r"(^|[._])(train|fit|optimi[sz]e|step|backward)\w*$")


@record
class Kept:
    """What is kept: `value` is the expression that refers to the weights of `network`, `name` what it is kept under."""

    value: ast.expr
    name: str
    network: str
    statement: ast.stmt


@once
def loaded_after_training(source: Source) -> tuple[Kept, ...]:
    """The `state_dict()` that a training loop keeps without a copy, and that the program loads into the same network after the loop."""
    loaded = {
        call.args[0].id: call
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "load_state_dict"
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Name)
    }
    found = []
    for statement in source.nodes(ast.Assign):
        loops = loops_around(source, statement)
        for target, value in _parts(statement):
            call = loaded.get(target.id) if isinstance(target, ast.Name) else None
            network = _state(value)
            if call is None or not network or not loops:
                continue
            if network != ast.unparse(call.func)[: -len(".load_state_dict")]:
                continue
            outer = loops[-1]
            trains = any(isinstance(n, ast.Attribute) and n.attr in TRAINING for n in ast.walk(outer))
            same = function_around(source, call) is function_around(source, statement)
            if trains and same and outer not in loops_around(source, call) and call.lineno > outer.lineno:
                found.append(Kept(value, ast.unparse(target), network, statement))
    return tuple(found)


@once
def kept_by_reference(source: Source) -> tuple[Kept, ...]:
    """The weights that are kept for later, by their name or a condition, while training goes on changing them."""
    sure = {each.value for each in loaded_after_training(source)}
    return tuple(
        each
        for each in (*_assigned(source), *_appended(source))
        if each.value not in sure and (_is_kept(source, each) or _is_read_after_training(source, each))
    )


def _is_read_after_training(source: Source, kept: Kept) -> bool:
    """Whether the network is trained below a state that is kept of it, and the state is read after that."""
    if isinstance(kept.value, (ast.Name, ast.Attribute)) or not isinstance(kept.statement, ast.Assign):
        return False
    if "parameters()" in ast.unparse(kept.value) and not OF_PAST.search(kept.name):
        return False  # the list of what is trained
    if checkpoints.is_optimizer_name(kept.network) or structure.OF_SCHEDULE.search(kept.network):
        return False
    where: ast.AST = function_around(source, kept.statement) or source.tree
    line = kept.statement.end_lineno or kept.statement.lineno
    trained = _first_training(source, where, kept.network, line)
    if trained is None:
        return False
    again = [
        node.lineno
        for node in within(where, ast.Assign)
        if node is not kept.statement
        and any(ast.unparse(each) == kept.name for each in node.targets)
        and node.lineno > line
    ]
    end = min(again, default=10**9)
    if any(
        ast.unparse(call.func) == f"{kept.network}.load_state_dict"
        and [ast.unparse(each) for each in call.args] == [kept.name]
        and any(line < loop.lineno <= trained <= (loop.end_lineno or 0) for loop in loops_around(source, call))
        for call in within(where, ast.Call)
        if not again
    ):
        return True  # each turn of a loop goes back to what the one before has changed
    names = [(node, node.ctx) for node in within(where, ast.Name) if node.id == kept.name]
    attributes = [(node, node.ctx) for node in within(where, ast.Attribute) if ast.unparse(node) == kept.name]
    return any(trained < node.lineno < end and isinstance(context, ast.Load) for node, context in (*names, *attributes))


def _first_training(source: Source, where: ast.AST, network: str, line: int) -> int | None:
    """The line below another one of the first training of a network: it is given to a function that trains, or asked and updated."""
    lines = [
        call.lineno
        for call in within(where, ast.Call)
        if call.lineno > line
        and OF_TRAINING.search(ast.unparse(call.func))
        and any(ast.unparse(each) == network for each in (*call.args, *(k.value for k in call.keywords)))
    ]
    for happening in structure.happenings(source, where):
        if happening.kind is structure.Kind.UPDATE and happening.at.lineno > line:
            asked = [call.lineno for call in within(where, ast.Call) if ast.unparse(call.func) == network]
            if not asked or any(line < each <= happening.at.lineno for each in asked):
                lines.append(happening.at.lineno)
    return min(lines, default=None)


def _assigned(source: Source) -> Iterator[Kept]:
    for statement in source.nodes(ast.Assign):
        for target, value in _parts(statement):
            name = ast.unparse(target)
            network = shared_with(source, value)
            whole = network == ast.unparse(value)
            if not network or name == network or (whole and not OF_BEST.search(name)):
                continue
            yield Kept(value, name, network, statement)


def _appended(source: Source) -> Iterator[Kept]:
    """`states.append(net.state_dict())` in a loop that trains."""
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
            network = _state(call.args[0]) or shared_with(source, call.args[0])
            if network:
                yield Kept(call.args[0], ast.unparse(call.func.value), network, source.statement_of(call))


def _parts(statement: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The names and attributes that an assignment binds, each with its value."""
    for target in statement.targets:
        if isinstance(target, (ast.Name, ast.Attribute)) or _is_best_entry(target):
            yield target, statement.value
        elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for one, other in zip(target.elts, statement.value.elts, strict=False):
                if isinstance(one, (ast.Name, ast.Attribute)):
                    yield one, other


def _is_best_entry(target: ast.expr) -> bool:
    """Whether a target is an entry of a dictionary that says that it is the best: `best["weights"]`, `kept["best"]`."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return False
    return any(OF_BEST.search(each) for each in (ast.unparse(target.value), str(target.slice.value)))


def _state(value: ast.expr) -> str:
    """The network of `network.state_dict()`, which is nothing else; empty otherwise."""
    if not isinstance(value, ast.Call) or value.args or value.keywords or within(value, ast.Lambda):
        return ""
    is_state = isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict"
    return ast.unparse(value.func.value) if is_state and isinstance(value.func, ast.Attribute) else ""


def shared_with(source: Source, value: ast.expr) -> str:
    """The network whose own tensors a value holds: its state, a shallow copy of that, or the network itself; empty otherwise."""
    if isinstance(value, (ast.Dict, ast.Tuple, ast.List)):
        parts = value.values if isinstance(value, ast.Dict) else value.elts
        held = [shared_with(source, each) for each in parts if _state(each)]
        return held[0] if held else ""
    if isinstance(value, ast.DictComp):
        over = ast.unparse(value.generators[0].iter)
        name = over.removesuffix(".items()").removesuffix(".state_dict()")
        own = isinstance(value.value, ast.Name) or ast.unparse(value.value).endswith((".data", ".detach()"))
        return name if own and over.endswith(".state_dict().items()") else ""
    if isinstance(value, ast.Call) and not _state(value):
        name = source.qualified(value.func) or ast.unparse(value.func)
        inner = value.args[0] if len(value.args) == 1 else None
        if inner is not None and name in ("builtins.dict", "copy.copy", "collections.OrderedDict", "OrderedDict"):
            return shared_with(source, inner)
        if inner is not None and name == "builtins.list" and ast.unparse(inner).endswith(".parameters()"):
            return ast.unparse(inner).removesuffix(".parameters()")
        shallow = isinstance(value.func, ast.Attribute) and value.func.attr == "copy" and not value.args
        return _state(value.func.value) if shallow and isinstance(value.func, ast.Attribute) else ""
    if isinstance(value, ast.ListComp):
        over = ast.unparse(value.generators[0].iter)
        own = ast.unparse(value.elt) in {
            f"{name}{end}" for name in names_in(value.generators[0].target) for end in ("", ".data", ".detach()")
        }
        return over.removesuffix(".parameters()") if own and over.endswith(".parameters()") else ""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return ast.unparse(value) if checkpoints.is_whole_network(source, value) else ""
    return _state(value)


def _is_kept(source: Source, kept: Kept) -> bool:
    """Whether something is kept beyond the turn of the loop, and training goes on after it."""
    around = loops_around(source, kept.statement)
    loops = list(takewhile(lambda loop: not _makes(loop, kept.network), around))
    if around and not loops:
        return False  # another network is made in each turn
    trains = any(_trains(source, loop) for loop in loops)
    chosen = isinstance(source.parent(kept.statement), ast.If)
    of_best = bool(OF_BEST.search(kept.name)) or kept.name.endswith("]")
    if loops and not trains:
        return False
    if not loops and not (chosen and (of_best or kept.name.startswith("self.")) and _goes_on(source, kept)):
        return False
    if checkpoints.is_optimizer_name(kept.network) or structure.OF_SCHEDULE.search(kept.network):
        return False
    following = _following(source, kept.statement)
    counted = {name for loop in loops if isinstance(loop, ast.For) for name in names_in(loop.target)}
    at_once = (one for one in following if not _waits(source, one, kept, counted))
    if any(_hands_on(source, one, kept.name) for one in at_once) or _is_stopped(following):
        return False
    return of_best or chosen or _is_append(kept)


def _makes(loop: ast.AST, network: str) -> bool:
    """Whether each turn of a loop has another network."""
    goes_over = isinstance(loop, (ast.For, ast.AsyncFor)) and network.partition(".")[0] in names_in(loop.target)
    return goes_over or structure.made_in(loop, {network})


def _following(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The statements below one in its block, and below the conditions that it stands under."""
    found: list[ast.stmt] = []
    while True:
        block = block_of(source, statement)
        found += block[block.index(statement) + 1 :]
        above = source.parent(statement)
        if not isinstance(above, (ast.If, ast.With, ast.Try)):
            return found
        statement = above


def _is_append(kept: Kept) -> bool:
    return isinstance(kept.statement, ast.Expr)


def _trains(source: Source, loop: ast.AST) -> bool:
    """Whether a loop trains: by what happens in it, or by the names of what it calls."""
    if structure.has(source, loop, structure.Kind.BACKWARD) or structure.has(source, loop, structure.Kind.UPDATE):
        return True
    over_epochs = isinstance(loop, ast.For) and re.search(
        r"epoch|iteration", ast.unparse(loop.target) + ast.unparse(loop.iter)
    )
    called = any(OF_TRAINING.search(ast.unparse(call.func)) for call in within(loop, ast.Call))
    return called or bool(over_epochs)


def _goes_on(source: Source, kept: Kept) -> bool:
    """Whether a condition outside of any loop is that of a step of training: it compares with the best so far."""
    above = source.parent(kept.statement)
    return isinstance(above, ast.If) and bool(re.search(r"best|min|max|patience", ast.unparse(above.test)))


def _waits(source: Source, statement: ast.stmt, kept: Kept, counted: set[str]) -> bool:
    """Whether a statement runs in some turns of the loop, told by its count, and not along with what keeps the weights."""
    if not isinstance(statement, ast.If) or statement.orelse or not counted & (asked := names_in(statement.test)):
        return False
    along = {name for one in block_of(source, kept.statement) for name in stored_names(one)} - {kept.name}
    own = {ast.unparse(one.test) for one in _conditions(source, kept.statement)}
    return not along & asked and ast.unparse(statement.test) not in own


def _conditions(source: Source, statement: ast.AST) -> Iterator[ast.If]:
    """The conditions around a statement, in its function."""
    above = source.parent(statement)
    while isinstance(above, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
        if isinstance(above, ast.If):
            yield above
        above = source.parent(above)


def _hands_on(source: Source, statement: ast.stmt, name: str) -> bool:
    """Whether a statement saves or loads what was kept at once, so that nothing changes it before."""
    if any(
        ast.unparse(target).startswith(f"{name}[") for node in within(statement, ast.Assign) for target in node.targets
    ):
        return True  # its entries are made anew
    name = name.partition("[")[0]
    return any(
        any(checkpoints.uses_name(each, name) for each in (*call.args, *(k.value for k in call.keywords)))
        or (name.startswith("self.") and OF_WRITING.search(ast.unparse(call.func)))
        for call in within(statement, ast.Call)
        if source.qualified(call.func) not in ("builtins.print", "builtins.len")
    )


def _is_stopped(following: list[ast.stmt]) -> bool:
    """Whether the loop ends right after."""
    return any(isinstance(one, (ast.Break, ast.Return)) for one in following)
