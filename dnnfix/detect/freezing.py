"""What a program says that keeps weights from training, and the edits by which they train."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import Delete, Edit, InsertBefore, RemoveArgument, SetArgument
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words

Freed = tuple[str, tuple[Edit, ...], float]
"""A way to have weights train: the words for it, the edits, and how likely it is meant."""

FLAGS = words("requires_grad trainable")

ADAPTED = words("peft.get_peft_model peft.inject_adapter_in_model")
PREPARED = words("peft.prepare_model_for_kbit_training peft.prepare_model_for_int8_training")
"""Functions that put adapters into a model, and those that freeze all of it, which is done before."""

LOADED = re.compile(r"peft\.(?:Auto)?Peft(?:Mixed)?Model\w*\.from_pretrained")


def statements(source: Source) -> list[ast.expr | ast.stmt]:
    """The statements and constructor calls that freeze weights, in source order."""
    found: list[ast.stmt | ast.expr] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            if node.targets[0].attr in FLAGS and is_false(node.value):
                found.append(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
            given = [*node.args, *(k.value for k in node.keywords)]
            if given and is_false(given[0]) and isinstance(source.parent(node), ast.Expr):
                found.append(source.statement_of(node))
        elif isinstance(node, ast.Call) and any(k.arg == "trainable" and is_false(k.value) for k in node.keywords):
            found.append(node)
    return sorted(found, key=lambda each: (each.lineno, each.col_offset))


def freed(source: Source, node: ast.expr | ast.stmt) -> Edit:
    """The edit that removes a freezing statement, with a loop that does nothing else, or the freezing argument."""
    if isinstance(node, ast.Call):
        return RemoveArgument(source.site(node), "trainable")
    return Delete(source.site(whole(source, node)))


def whole(source: Source, node: ast.AST) -> ast.AST:
    """A statement that freezes, with the loop that does nothing else."""
    above = source.parent(node)
    while isinstance(above, ast.For) and len(above.body) == 1 and not above.orelse:
        node, above = above, source.parent(above)
    return node


def of_adapters(source: Source) -> Iterator[tuple[ast.expr | ast.stmt, Freed]]:
    """What keeps the adapters of `peft` from training, with the edit: they are loaded or made to be used only, or are frozen afterwards."""
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        if LOADED.fullmatch(name) and not {"is_trainable", None} & {keyword.arg for keyword in call.keywords}:
            yield (
                call,
                ("Load the adapter to be trained", (SetArgument(source.site(call), "is_trainable", "True"),), 0.9),
            )
        used = keyword_value(call, "inference_mode") if name.startswith("peft.") else None
        if isinstance(used, ast.Constant) and used.value is True:
            yield call, ("Make adapters that train", (RemoveArgument(source.site(call), "inference_mode"),), 0.9)
        statement = source.statement_of(call)
        before = _puts_adapters_in(source, statement) if name in PREPARED else None
        if before is not None:
            moved = InsertBefore(source.site(before), source.segment(source.site(statement)))
            edits = (moved, Delete(source.site(statement)))
            yield call, ("Prepare the model before adapters are put in", edits, 0.9)


def _puts_adapters_in(source: Source, prepared: ast.stmt) -> ast.stmt | None:
    """The statement that puts adapters into the model which a later statement prepares, under the same name."""
    above = source.parent(prepared)
    name = _changed_in_place(prepared)
    for other in getattr(above, "body", ()):
        if other is prepared:
            return None
        made = other.value if isinstance(other, ast.Assign) else None
        is_put_in = isinstance(made, ast.Call) and source.qualified(made.func) in ADAPTED
        if is_put_in and name and name == _changed_in_place(other):
            return other  # type: ignore[no-any-return]
    return None


def _changed_in_place(statement: ast.stmt) -> str:
    """The name that a statement gives what a function makes of what it was before: `model` of `model = prepare(model)`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call) or not statement.value.args:
        return ""
    name = ast.unparse(statement.targets[0])
    return name if name == ast.unparse(statement.value.args[0]) else ""


def is_false(value: ast.expr) -> bool:
    """Whether an expression is the constant `False`."""
    return isinstance(value, ast.Constant) and value.value is False


def freezes_all(statement: ast.stmt, root: str) -> bool:
    """Whether a statement freezes every parameter of a model."""
    if isinstance(statement, ast.For) and len(statement.body) == 1:
        body = statement.body[0]
        is_set = isinstance(body, ast.Assign) and isinstance(body.targets[0], ast.Attribute)
        is_off = is_set and ast.unparse(body).endswith(".requires_grad = False")
        return is_off and ast.unparse(statement.iter) == f"{root}.parameters()"
    return ast.unparse(statement) == f"{root}.requires_grad_(False)"
