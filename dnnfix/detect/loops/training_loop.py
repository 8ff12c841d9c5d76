"""Training loops that a program writes itself: where `zero_grad`, `backward` and `step` are called, and on which
object.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import position, stored_names, within

Loop = ast.For | ast.While | ast.AsyncFor
Function = ast.FunctionDef | ast.AsyncFunctionDef

LOOPS = (ast.For, ast.While, ast.AsyncFor)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

OPTIMIZERS = "torch.optim."
SCHEDULES = "torch.optim.lr_scheduler."
SCALERS = words("torch.cuda.amp.GradScaler torch.amp.GradScaler torch.amp.grad_scaler.GradScaler")
HALF = words("torch.float16 torch.half")
"""The type whose gradients a scaler keeps from becoming zero."""

OTHER_WAYS = frozenset(
    [
        "grad",
        "accelerator",
        "manual_backward",
        "scaler",
        "GradScaler",
        "closure",
        "LBFGS",
        "accumulation",
        "accumulate",
        "gradient_accumulation_steps",
        "accum_steps",
        "accumulation_steps",
        "accum_iter",
        "deepspeed",
        "lightning",
    ]
)
"""Words of programs that come to their gradients, or clear them, in another way, or keep them on purpose."""

MEASURES = words("norm abs square mean std var max min sum item shape size numel isnan isfinite any all")
"""Attributes by which a gradient is measured, which leaves it as it is."""

SAMPLING = words(
    "sample samples n_samples mc_samples num_samples monte carlo uncertainty ddpm fake noise generator reward"
)
"""Words of programs that may want the chance of dropout after training as well: to draw samples, or for their spread."""


def goes_other_ways(source: Source, program_words: frozenset[str]) -> bool:
    """Whether a program computes or clears its gradients otherwise, or keeps them on purpose, by words in its files."""
    found = OTHER_WAYS & program_words
    return bool(found - {"grad"}) or (bool(found) and not only_measures_gradients(source))


@once
def only_measures_gradients(source: Source) -> bool:
    """Whether all that is done with gradients by their name, in this file alone, is to measure them."""
    read = [node for node in source.nodes(ast.Attribute) if node.attr == "grad"]
    if not read or any("grad" in module.words for module in source.beside):
        return False
    named = (
        *(node.id for node in source.nodes(ast.Name)),
        *(node.value for node in source.nodes(ast.Constant)),
        *(node.name for node in source.nodes(ast.alias)),
    )
    return "grad" not in named and all(_is_measured(source, node) for node in read)


def _is_measured(source: Source, gradient: ast.Attribute) -> bool:
    above = source.parent(gradient)
    if isinstance(above, ast.Attribute) and above.attr == "data":
        above = source.parent(above)
    if isinstance(above, ast.Compare):
        return all(isinstance(sign, (ast.Is, ast.IsNot)) for sign in above.ops)
    return isinstance(above, ast.Attribute) and above.attr in MEASURES


@dataclass(frozen=True, slots=True)
class LoopOperation:
    """A statement `on.name()` of a training loop, such as `optimizer.step()`, alone in its line."""

    name: str
    on: str
    call: ast.Call
    statement: ast.Expr


@once
def operations(source: Source) -> tuple[LoopOperation, ...]:
    """The statements of the program that are one call of a method, in source order."""
    found = []
    for statement in source.nodes(ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            found.append(LoopOperation(call.func.attr, ast.unparse(call.func.value), call, statement))
    return tuple(found)


@once
def operations_named(source: Source, name: str) -> tuple[LoopOperation, ...]:
    """The statements that call the method of that name."""
    return tuple(operation for operation in operations(source) if operation.name == name)


def loops_around(source: Source, node: ast.AST) -> list[Loop]:
    """The loops around a node within its own function, the innermost first; a node of a loop's header is outside."""
    found: list[Loop] = []
    child, above = node, source.parent(node)
    while above is not None and not isinstance(above, (*FUNCTIONS, ast.ClassDef)):
        if isinstance(above, LOOPS) and child in above.body:
            found.append(above)
        child, above = above, source.parent(above)
    return found


def passes_of_step(source: Source, backward: ast.Call) -> list[LoopOperation]:
    """This backward pass with those around it in its block of statements that no update or clearing parts from it."""
    statement = source.statement_of(backward)
    found: list[LoopOperation] = []
    for each in block_of(source, statement):
        named = {call.func.attr for call in within(each, ast.Call) if isinstance(call.func, ast.Attribute)}
        own = [operation for operation in operations(source) if operation.statement is each]
        if own and own[0].name == "backward":
            found += own
        elif named & {"step", "zero_grad", "backward"}:
            if any(operation.statement is statement for operation in found):
                break
            found = []
    return found


def function_around(source: Source, node: ast.AST) -> Function | None:
    """The function around a node; `None` at the top of a module."""
    above = source.parent(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        above = source.parent(above)
    return above


def block_of(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that a statement is in."""
    above = source.parent(statement)
    for _, value in ast.iter_fields(above) if above is not None else ():
        if isinstance(value, list) and statement in value:
            return value
    return [statement]


@once
def is_optimizer(source: Source, expr: ast.expr) -> bool:
    """Whether an expression surely is an optimizer of torch."""
    made = source.constructor(expr)
    name = source.qualified(made.func) if made is not None else None
    return name is not None and name.startswith(OPTIMIZERS) and not name.startswith(SCHEDULES)


def operated_on(operation: LoopOperation) -> ast.expr:
    """What the operation is called on."""
    return cast(ast.Attribute, operation.call.func).value


def attribute_calls(node: ast.AST, *names: str) -> list[ast.Call]:
    """The calls of methods with one of these names below a node."""
    return [call for call in within(node, ast.Call) if isinstance(call.func, ast.Attribute) and call.func.attr in names]


def method_calls(source: Source, *names: str) -> list[ast.Call]:
    """The calls of methods with one of these names in a program, in source order."""
    known = _calls_by_method(source)
    return sorted((call for name in dict.fromkeys(names) for call in known.get(name, ())), key=position)


@once
def _calls_by_method(source: Source) -> dict[str, list[ast.Call]]:
    found = defaultdict(list)
    for call in source.nodes(ast.Call):
        if isinstance(call.func, ast.Attribute):
            found[call.func.attr].append(call)
    return found


def assignments_behind(
    statements: Sequence[ast.stmt], names: Collection[str]
) -> tuple[ast.Assign | ast.AugAssign, ...]:
    """The assignments among statements that the values of names come from, in their order."""
    wanted = set(names)
    found: list[ast.Assign | ast.AugAssign] = []
    for each in reversed(statements):
        if isinstance(each, (ast.Assign, ast.AugAssign)) and stored_names(each) & wanted:
            found.append(each)
            kept = wanted if isinstance(each, ast.AugAssign) else wanted - stored_names(each)
            wanted = kept | read_names(each.value)
    return tuple(reversed(found))


def read_names(statement: ast.AST) -> set[str]:
    """The names that a statement or expression reads; those that it changes in place are read, too."""
    changed = stored_names(statement.target) if isinstance(statement, ast.AugAssign) else set()
    return changed | {node.id for node in within(statement, ast.Name) if isinstance(node.ctx, ast.Load)}
