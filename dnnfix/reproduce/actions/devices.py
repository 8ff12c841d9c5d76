"""Runs programs that ask for a GPU on the CPU of a machine without one; the step says which faults that hides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from dnnfix.detect.loops.training_loop import method_calls
from dnnfix.records import EditAction, EditStep, RunOutcome, Scaffold, Site
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.syntax import string, tests_around
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

ACTION = EditAction.HYPERPARAMETERS

HIDES = "every tensor is on the CPU then: a fault of tensors on different devices cannot show in the run"

_ASKS = frozenset({"is_available", "device_count", "list_physical_devices", "is_gpu_available", "is_built"})
_NAMED = re.compile(r"cuda(?::(?:\d+|\{\w*\}|%[ds])?)?\Z|torch\.cuda\.\w+Tensor\Z")
_TENSORFLOW_NAMED = re.compile(r"/?(?:device:)?gpu:\d+\Z", re.IGNORECASE)
_NUMBERED = "Cannot access accelerator device"
"""Of the message where something is moved to the number of a GPU."""
_MISSED = re.compile(rf"\bcuda\b|_cuda_|nvidia|cudnn|\bgpu\b|no kernel image|torch_cuda|{_NUMBERED}", re.IGNORECASE)
_KNOWN_BY_GPU = ("version.cuda", "current_accelerator")
"""What torch has no value of where there is no GPU."""
_METHODS = frozenset({"cuda", "pin_memory"})


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """The step that runs the program's CUDA calls on the CPU, where it uses a GPU without testing for one."""
    if case.gpu or not _missed(case):
        return
    source = case.source
    joins = any(not _is_asked_for(source, call) for call in method_calls(source, "init_process_group"))
    if joins and not case.of_several:
        yield Gap(
            "the program trains in several processes that find each other over the network: run one of them alone"
        )
        return
    uses, beside = _uses(source), [use for other in source.beside for use in _uses(other)]
    named = [node for node in (*uses, *beside) if isinstance(node, ast.Constant)]
    literals = {str(node.value): _on_cpu(str(node.value)) for node in named}
    torch = "torch" in source.frameworks and case.installed("torch")
    if not uses and not beside and not _asks_for_gpu(case) and not _gave_up(case):
        return
    yield EditStep(
        ACTION,
        "what the program puts on a GPU stays on the CPU",
        f"there is no GPU here; {HIDES}",
        min((node.lineno for node in uses), default=None),
        scaffold=Scaffold(start="made_without_gpu()" if torch else "", literals=tuple(literals.items())),
        invented=False,
    )


def _uses(source: Source) -> list[ast.Constant | ast.Attribute]:
    """Where a file names a GPU, or calls what puts something there."""
    named = [node for node in source.nodes(ast.Constant) if _names_one(string(node) or "")]
    return [*named, *(node for node in source.nodes(ast.Attribute) if node.attr in _METHODS or _is_cuda(node))]


def _missed(case: Case) -> bool:
    """Whether the missing GPU ended a run, or will: nothing in the program looks whether there is one."""
    for trace in case.traces:
        if trace.crash is not None and _MISSED.search(f"{trace.crash.kind} {trace.crash.message}"):
            return True
    if _asks_for_gpu(case) or _gave_up(case):
        return True
    return not any(node.attr in _ASKS for node in case.source.nodes(ast.Attribute)) and _names_gpu(case)


def _asks_for_gpu(case: Case) -> bool:
    """Whether a run stopped at something that a torch without GPUs does not have: one by number, the version of CUDA."""
    if any(_NUMBERED in trace.crash.message for trace in case.traces if trace.crash is not None):
        return True
    said = "'NoneType' object has no attribute"
    sites = [trace.crash.site for trace in case.traces if trace.crash is not None and said in trace.crash.message]
    return any(name in _line(case, site) for site in sites if site is not None for name in _KNOWN_BY_GPU)


def _gave_up(case: Case) -> bool:
    """Whether a run ended as the program found no GPU: it ended itself, or did not hold what it makes sure of."""
    sites = [
        trace.crash.site for trace in case.traces if trace.crash is not None and trace.crash.kind == "AssertionError"
    ]
    if any(asked in _line(case, site) for site in sites if site is not None for asked in _ASKS):
        return True
    if not any(trace.outcome is RunOutcome.EXITED and not trace.detail.endswith(_OF_A_PARSER) for trace in case.traces):
        return False
    tests = [
        node.test
        for file in case.source.files.values()
        for node in file.nodes(ast.If)
        if any(_ends(statement) for statement in (*node.body, *node.orelse))
    ]
    parts = [part for test in tests for part in ast.walk(test) if isinstance(part, ast.Attribute)]
    return any(part.attr in _ASKS and _is_cuda(part.value) for part in parts)


_OF_A_PARSER = " with 2"
"""How the account of an end goes that a parser of the command line brought about."""


def _ends(statement: ast.stmt) -> bool:
    """Whether a statement ends the program."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in ("exit", "_exit", "quit")


def _line(case: Case, site: Site) -> str:
    """A line of the program, or of a file that it ran."""
    text = "" if site.path else case.source.text
    if site.path and case.folder is not None:
        with suppress(OSError):
            text = (case.folder / site.path).read_text("utf-8", "replace")
    return "".join(text.splitlines()[site.line - 1 : site.line])


def _names_gpu(case: Case) -> bool:
    """Whether the program puts something on a GPU without a test of a flag around it."""
    if "torch" not in case.source.frameworks:
        return False
    named = [node for node in case.source.nodes(ast.Constant) if _NAMED.match(string(node) or "")]
    called = [n for n in case.source.nodes(ast.Attribute) if n.attr in _METHODS or _is_cuda(n)]
    return any(not _is_chosen(case.source, node) for node in (*named, *called))


def _is_chosen(source: Source, node: ast.AST) -> bool:
    """Whether a node is reached only where a flag for the GPU is set."""
    above: ast.AST | None = node
    while above is not None:
        if isinstance(above, (ast.If, ast.IfExp)) and re.search(
            r"cuda|gpu|device", ast.unparse(above.test), re.IGNORECASE
        ):
            return not _is_always(source, above.test)
        above = source.parent(above)
    return False


def _is_always(source: Source, test: ast.expr) -> bool:
    """Whether a test is a flag that the program itself sets, and to nothing but true."""
    bound = source.bindings(test, test) if isinstance(test, (ast.Name, ast.Attribute)) else ()
    return bool(bound) and all(isinstance(value, ast.Constant) and value.value in (True, 1) for value in bound)


def _is_asked_for(source: Source, node: ast.AST) -> bool:
    """Whether a node is reached only where the program is told to train in several processes."""
    told = re.compile(r"distrib|world|rank|multi", re.IGNORECASE)
    return any(told.search(ast.unparse(test)) for test in tests_around(source, node))


def _is_cuda(node: ast.AST) -> bool:
    """Whether a node is `torch.cuda`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "cuda"
        and isinstance(node.value, ast.Name)
        and node.value.id == "torch"
    )


def _names_one(text: str) -> bool:
    """Whether a string names a GPU."""
    return bool(_NAMED.match(text) or _TENSORFLOW_NAMED.match(text))


def _on_cpu(name: str) -> str:
    if name.startswith("cuda"):
        return "cpu" if name[-1].isalnum() and "%" not in name else name.replace("cuda", "cpu")
    if name.startswith("torch"):
        return name.replace("cuda.", "")
    return re.sub(r"gpu:\d+", "cpu:0", name, flags=re.IGNORECASE)
