"""Programs that are run as several ranks: what their run as two showed, and where they ask which rank they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dnnfix.detect.loops.loader_uses import OF_TRAINING_STEP
from dnnfix.detect.loops.loaders import LOADER
from dnnfix.detect.loops.training_loop import FUNCTIONS, function_around
from dnnfix.detect.written import written_above
from dnnfix.records.record import record
from dnnfix.records.sites import Site
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.tree import stored_names, within
from dnnfix.subject import Subject

HANG = "DistributedHang"
"""The kind of the crash that stands for a rank which waits in vain."""
SAMPLERS = ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler")
WRAPPERS = (
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
)

_RANK = re.compile(r"rank|is_main|is_master|main_process|gpu_id", re.IGNORECASE)
_NAMES = ("rank", "global_rank", "world_rank", "local_rank", "gpu_id")


def shown(subject: Subject) -> Mapping[str, Any]:
    """What the run as two ranks showed of both (the probe `ranks`); empty where there was none."""
    found = subject.trace.probes.get("ranks") if subject.trace is not None else None
    return found if isinstance(found, dict) else {}


def parted(subject: Subject) -> Iterator[tuple[tuple[str, Site | None], tuple[str, Site | None]]]:
    """Pairs of operations that the two ranks came to as their n-th and do not share: the kind (empty: none) and site of each."""
    for pair in shown(subject).get("parted", ()):
        one, two = (("", None) if came is None else (str(came[0]), as_site(came[1])) for came in pair)
        yield one, two


def as_site(listed: object) -> Site | None:
    """The site in what the probe wrote; `None` for one outside of the program itself."""
    if not isinstance(listed, list) or len(listed) != 5 or listed[4]:
        return None
    return Site(*listed[:4])


def branch_of_rank(source: Source, node: ast.AST) -> ast.If | None:
    """The innermost `if` of which only some ranks come into the branch (either one) with a node, in the node's function."""
    child, above = node, source.parent(node)
    while above is not None and not isinstance(above, (*FUNCTIONS, ast.ClassDef)):
        if isinstance(above, ast.If) and child is not above.test and _RANK.search(ast.unparse(above.test)):
            return above
        child, above = above, source.parent(above)
    return None


def rank_at(source: Source, node: ast.AST) -> str | None:
    """How the rank is written at a node: a name of the function around it, else `torch.distributed.get_rank()`."""
    function = function_around(source, node)
    if function is not None:
        known = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)} | stored_names(function)
        for name in _NAMES:
            if name in known:
                return name
    for call in source.all_calls:
        written = ast.unparse(call.func)
        if (source.qualified(call.func) or "").startswith("torch.distributed.") and "." in written:
            return f"{written.rpartition('.')[0]}.get_rank()"
    return None


@record
class Epochs:
    """A loop over epochs (its variable is `epoch`, which may be `_`) in which a loader is iterated, and how the loader is written there."""

    loop: ast.For
    epoch: str
    loader: str


def epochs_of(source: Source, loader: ast.Call) -> Epochs | None:
    """The loop over epochs that trains on the batches of a loader; `None` where it is not clear."""
    found = [one for loop in source.nodes(ast.For) for one in _epochs(source, loop, loader)]
    return found[0] if len({id(one.loop) for one in found}) == 1 else None


def _epochs(source: Source, loop: ast.For, loader: ast.Call) -> Iterator[Epochs]:
    counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) in ("range", "trange", "tqdm.trange")
    if not counted or not isinstance(loop.target, ast.Name):
        return
    for inner in within(loop, ast.For):
        if inner is not loop and _trains(inner):
            for expr in _iterated(source, inner):
                if _made_by(source, expr, loader):
                    yield Epochs(loop, loop.target.id, ast.unparse(expr))
    for call in within(loop, ast.Call):
        body = source.definition(call.func)
        if body is None and OF_TRAINING_STEP.search(ast.unparse(call.func).rpartition(".")[2]):
            for expr in (*call.args, *(keyword.value for keyword in call.keywords)):
                if isinstance(expr, (ast.Name, ast.Attribute)) and _made_by(source, expr, loader):
                    yield Epochs(loop, loop.target.id, ast.unparse(expr))
        if not isinstance(body, ast.FunctionDef):
            continue
        inside = [(one, expr) for one in within(body, ast.For) if _trains(one) for expr in _iterated(source, one)]
        names = [each.arg for each in body.args.args]
        for _one, expr in inside:
            if isinstance(expr, ast.Name) and expr.id in names:
                own = names[1:] if names[:1] == ["self"] else names
                given = argument_value(call, expr.id, own.index(expr.id) if expr.id in own else None)
                if given is not None and _made_by(source, given, loader):
                    yield Epochs(loop, loop.target.id, ast.unparse(given))
            elif isinstance(expr, ast.Name) and _made_by(source, expr, loader):
                yield Epochs(loop, loop.target.id, expr.id)
            elif isinstance(expr, ast.Attribute) and ast.unparse(expr.value) == "self" and _only(source, loader):
                yield Epochs(loop, loop.target.id, ast.unparse(expr))


def _trains(loop: ast.For) -> bool:
    """Whether a loop steps in its body, itself or by another method: `backward` is called, or batches are handed on."""
    called = {call.func.attr for call in within(loop, ast.Call) if isinstance(call.func, ast.Attribute)}
    return "backward" in called or any("train" in name or "run_batch" in name for name in called)


def _iterated(source: Source, loop: ast.For) -> Iterator[ast.expr]:
    """What a loop goes through, within `enumerate` and progress bars, also those that have a name."""
    expr = loop.iter
    while isinstance(expr, ast.Call) and expr.args:
        expr = expr.args[0]
    made = source.constructor(expr)
    expr = made if made is not None and ast.unparse(made.func).rpartition(".")[2] == "tqdm" else expr
    while isinstance(expr, ast.Call) and expr.args:
        expr = expr.args[0]
    if isinstance(expr, (ast.Name, ast.Attribute)):
        yield expr


def _made_by(source: Source, expr: ast.expr, loader: ast.Call) -> bool:
    made = source.constructor(expr)
    if made is None:
        written = written_above(source, expr, expr)
        return written is not None and written.value is loader and written.place is None
    if made is loader:
        return True
    function = source.definition(made.func)
    return isinstance(function, ast.FunctionDef) and any(
        back.value is loader or (isinstance(back.value, ast.Name) and source.constructor(back.value) is loader)
        for back in within(function, ast.Return)
        if back.value is not None
    )


def _only(source: Source, loader: ast.Call) -> bool:
    return list(source.calls(LOADER)) == [loader]
