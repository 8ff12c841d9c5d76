"""Work that a text gives to a GPU: whether it uses one, what waits for it, and what moves between the devices."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import loops_around
from dnnfix.network.losses import LOSSES
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, names_in, within

WAITS = words(
    """synchronize item cpu numpy tolist barrier wait wait_stream nonzero all_reduce block_until_ready asnumpy get
    generate decode batch_decode nms batched_nms non_max_suppression masked_select unique save"""
)
"""Methods and functions that wait for the GPU, or copy what it has to compute first: also those whose results have a size that it decides."""
OF_WORK = words("""matmul mm bmm einsum conv1d conv2d conv3d linear addmm svd inverse cholesky fft ifft sort topk interpolate softmax
    relu exp dot backward""")
"""Functions and methods of tensors that take a GPU time."""
SHOWING = words("print add_scalar update info log write debug add")
"""Functions and methods that show a value, or keep it as a number."""
PLAIN = words(
    "print len range enumerate zip str int format append update zero_grad step iter next tqdm sum max min round scale unscale_"
)
"""Calls that do no work on a GPU and wait for none."""


@once
def uses_gpu(source: Source) -> bool:
    """Whether the text says that it works on a GPU, or may."""
    if "cuda" in source.words:
        return True
    for call in source.all_calls:
        if moves(source, call) and isinstance(call.func, ast.Attribute) and call.func.attr == "to":
            return True
    return False


def moves(source: Source, call: ast.Call) -> bool:
    """Whether a call moves something to a GPU, or to the device of the program: `x.cuda()`, `x.to(device)`."""
    if not isinstance(call.func, ast.Attribute) or source.qualified(call.func):
        return False
    if call.func.attr == "cuda":
        return True
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
    return call.func.attr == "to" and any(is_device(source, one) for one in given)


def is_device(source: Source, expr: ast.expr) -> bool:
    """Whether an expression names a device that is not the CPU for certain."""
    if isinstance(expr, ast.Constant):
        return (
            isinstance(expr.value, str) and expr.value.startswith("cuda") or expr.value == 0 and expr.value is not False
        )
    text = ast.unparse(expr)
    values = source.bindings(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else (expr,)
    if values and all("cpu" in ast.unparse(v) and "cuda" not in ast.unparse(v) for v in values):
        return False
    return bool(re.search(r"device|cuda|gpu|\bdev\b|rank", text, re.IGNORECASE)) and "cpu" not in text


OF_MACHINE = re.compile(
    r"(not )?[\w.]*(cuda|gpu|mps|device)[\w.]*(\(\))?( (==|!=|is|is not|>|>=) [\w.'\"-]+)?", re.IGNORECASE
)


def is_asked_for(test: ast.expr) -> bool:
    """Whether a condition asks what machine there is, and nothing else: `use_cuda`, `torch.cuda.is_available()`, `device.type == "mps"`."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return all(OF_MACHINE.fullmatch(ast.unparse(part)) for part in parts)


def works(source: Source, call: ast.Call) -> bool:
    """Whether a call gives a GPU work: a network, a loss, a backward pass, an operation of tensors."""
    name = source.qualified(call.func) or ""
    if structure.is_network(source, call.func) and (call.args or call.keywords):
        return True
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("forward", "generate")
        and structure.is_network(source, call.func.value)
    ):
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "mm", "bmm"):
        return True
    above = source.parent(source.statement_of(call))
    if (
        isinstance(above, ast.With)
        and any("autocast" in ast.unparse(item.context_expr) for item in above.items)
        and not name.startswith("builtins.")
    ):
        return True
    last = name.rpartition(".")[2]
    return name.startswith("torch.") and (name in LOSSES and last.islower() or last in OF_WORK)


def is_tensor(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is seen to be a tensor of PyTorch: what it was made by says so."""
    values = source.bindings(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else (expr,)
    calls = [call for value in values for call in within(value, ast.Call)]
    return any(moves(source, call) or (source.qualified(call.func) or "").startswith("torch.") for call in calls)


def waits(source: Source, root: ast.AST, depth: int = 3) -> bool:
    """Whether something below a node waits for the GPU, in a function of this text that it calls as well."""
    for call in within(root, ast.Call):
        if last_name(call.func) in WAITS and not _of_queue(call):
            return True
        if isinstance(call.func, ast.Name) and call.func.id in ("float", "bool") and call.args:
            return True
        if last_name(call.func) == "to" and any("cpu" in ast.unparse(one) for one in call.args):
            return True
        body = structure.callee(source, call) if depth > 0 else None
        if body is not None and body is not root and waits(source, body, depth - 1):
            return True
    if any(
        isinstance(node.slice, ast.Constant) and ast.unparse(node.value).endswith(".data")
        for node in within(root, ast.Subscript)
    ):
        return True
    return any(
        isinstance(part, ast.Name) and "loss" in part.id for call in _prints(root) for part in within(call, ast.Name)
    )


def looks_at(source: Source, root: ast.AST, names: set[str]) -> bool:
    """Whether something below a node prints one of these results, or hands them to what keeps figures or writes a log."""
    for call in within(root, ast.Call):
        shown = last_name(call.func) in SHOWING and source.constructor(call.func) is None
        if shown and any(names & names_in(one) for one in (*call.args, *(k.value for k in call.keywords))):
            return True
    return False


def _of_queue(call: ast.Call) -> bool:
    return last_name(call.func) == "get" and isinstance(call.func, ast.Attribute)


def _prints(root: ast.AST) -> list[ast.Call]:
    return [call for call in within(root, ast.Call) if isinstance(call.func, ast.Name) and call.func.id == "print"]


def loop_around(source: Source, node: ast.AST) -> ast.For | ast.While | None:
    """The innermost loop around a node in its function; `None` where it stands in its header or in none."""
    for loop in loops_around(source, node)[:1]:
        return loop if isinstance(loop, (ast.For, ast.While)) else None
    return None
