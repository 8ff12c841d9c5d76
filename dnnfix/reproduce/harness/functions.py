"""Harness calls of unused functions that contain outdated library calls, so that these lines run.

The kind of a parameter follows from its uses: a tensor is asked for its size or passed to torch, a generator is asked
for samples, a network is called. Functions without outdated lines are left alone, since synthetic arguments could cause
a failure of their own; so is a function that failed with them elsewhere than at an outdated line.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from dnnfix.detect.versioning.migration import migration
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness.construct import never, required, settings_of
from dnnfix.reproduce.harness.roles import role_of
from dnnfix.reproduce.harness.sizes import GUESS, value_of
from dnnfix.reproduce.harness.unused import bodies, top_level
from dnnfix.source.bindings import Definition
from dnnfix.source.program import once
from dnnfix.source.public_names import words
from dnnfix.subject import Subject

ACTION = EditAction.NETWORK

MOST = 4
"""Functions that are called of one program."""

_TENSOR = words(
    """size shape dim view reshape t data cuda cpu float long double int byte type expand contiguous squeeze unsqueeze sum
    mean max min topk sort argmax numpy detach clone item unbind chunk split permute transpose repeat norm gather eq ne
    index_select masked_select masked_fill narrow nelement numel new log exp sigmoid softmax mul add pow sqrt abs"""
)
"""What tensors are asked for."""

_PARTNER = re.compile(
    r"sample|generate|\w*loss\w*|\w*nll\w*|forward|parameters|train|eval|zero_grad|cuda|cpu|to", re.IGNORECASE
)
"""Methods of a network of the author's that lives in another file."""

_IDS = re.compile(
    r"(?:\w+_)?(?:ids?|idx|indices|index|seqs?|sequences?|sent\w*|samples?|tokens?|words?|labels?|targets?|y|gt|classes)",
    re.IGNORECASE,
)
_CLASSES = re.compile(r"(?:\w+_)?(?:labels?|targets?|y|gt|y_true|classes)", re.IGNORECASE)
_SCORES = re.compile(r"(?:\w+_)?(?:outputs?|logits?|preds?|predictions?|scores?|probs?|y_hat|y_pred)", re.IGNORECASE)


def steps(case: Case, left: tuple[Definition, ...]) -> Iterator[EditStep | Gap]:
    """A call of each function with outdated lines, as far as everything that it takes can be made."""
    if "torch" not in case.source.frameworks:
        return
    outdated = _outdated(case)
    failed = _failed(case, outdated)
    functions = [node for node in left if isinstance(node, ast.FunctionDef)]
    concerned = [node for node in functions if any(_within(one, outdated) for one in bodies(case.source, node))]
    for node in concerned[:MOST]:
        if failed is None or not any(getattr(one, "lineno", 0) == failed for one in bodies(case.source, node)):
            yield _called(case, node)


@once
def _outdated_lines(subject: Subject) -> frozenset[int]:
    return frozenset(line for hit in migration(subject) for line in range(hit.site.line, hit.site.end_line + 1))


def _outdated(case: Case) -> frozenset[int]:
    """The lines of a program that its versions make a fault of."""
    return _outdated_lines(Subject(case.source, case.latest))


def _within(node: ast.AST, lines: frozenset[int]) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return any(first <= line <= last for line in lines)


def _failed(case: Case, outdated: frozenset[int]) -> int | None:
    """The line of the function in which what was made failed in an earlier run, at no outdated line."""
    crash = case.crash
    if crash is None or len(case.traces) < 2:
        return None
    lines = [frame.site.line for frame in crash.frames if not frame.site.path]
    if not lines or outdated & set(lines):
        return None
    inside = [node.lineno for node in top_level(case.source) if _within(node, frozenset(lines))]
    return min(inside, default=None)


def _called(case: Case, node: ast.FunctionDef) -> EditStep | Gap:
    values: list[str] = []
    made: list[str] = []
    for parameter in required(node):
        value = _value(case, node, parameter.arg)
        if value is None:
            return never(node, "called", f"what its `{parameter.arg}` is is not told")
        code, words_for_it = value
        values.append(f"{parameter.arg}={code}")
        made.append(f"{parameter.arg}: {words_for_it}")
    told = f" ({'; '.join(made)})" if made else ""
    return EditStep(
        ACTION,
        f"{node.name} is called{told}",
        "its parameters are made after what is done with them; the program defines it and never calls it",
        node.lineno,
        scaffold=Scaffold(end=f"import torch as _made_torch\n{node.name}({', '.join(values)})"),
    )


def _value(case: Case, node: ast.FunctionDef, name: str) -> tuple[str, str] | None:
    """Code for a parameter, and what it is in words."""
    role = role_of(name)
    if role == "settings":
        code = settings_of(case, name, bodies(case.source, node))
        return (code, "settings") if code is not None else None
    uses = _uses(case, node, name)
    asked = {use for kind, use in uses if kind in ("called", "read")}
    if role in ("optimizer", "criterion", "scheduler", "device"):
        return _part(role)
    if role == "model" or asked and all(_PARTNER.fullmatch(one) for one in asked) and not asked <= _TENSOR:
        return "made_partner()", "a small network"
    if any(kind == "iterated" for kind, _use in uses) and role in ("loader", "inputs"):
        return "made_training_loader((1, 28, 28))", "batches of made images"
    kinds = {kind for kind, _use in uses}
    if asked and asked <= _TENSOR or not asked and kinds & {"indexed", "torch"}:
        return _tensor(uses, name)
    known = value_of(case, name, data=True)
    if known is not None and not asked:
        return known.code, "a usual value" if known.evidence == GUESS else known.evidence
    return None


def _part(role: str) -> tuple[str, str]:
    parts = {
        "optimizer": "_made_torch.optim.SGD([_made_torch.nn.Parameter(_made_torch.ones(2))], lr=0.1)",
        "criterion": "_made_torch.nn.CrossEntropyLoss()",
        "scheduler": "_made_torch.optim.lr_scheduler.StepLR(_made_torch.optim.SGD([_made_torch.nn.Parameter("
        "_made_torch.ones(2))], lr=0.1), 10)",
        "device": '_made_torch.device("cpu")',
    }
    return parts[role], f"the usual {role}"


def _uses(case: Case, node: ast.FunctionDef, name: str, depth: int = 0) -> set[tuple[str, str]]:
    """What is done with a parameter, here and in the functions of the program that it is handed to."""
    source, found = case.source, set[tuple[str, str]]()
    for part in ast.walk(node):
        if not isinstance(part, ast.Name) or part.id != name or not isinstance(part.ctx, ast.Load):
            continue
        parent = source.parent(part)
        above = source.parent(parent) if parent is not None else None
        if isinstance(parent, ast.Attribute):
            called = isinstance(above, ast.Call) and above.func is parent
            found.add(("called" if called else "read", parent.attr))
            if parent.attr == "size" and isinstance(source.parent(above) if above else None, ast.Assign):
                statement = source.parent(above) if above is not None else None
                target = statement.targets[0] if isinstance(statement, ast.Assign) else None
                found |= {("axes", str(len(target.elts)))} if isinstance(target, ast.Tuple) else set()
        elif isinstance(parent, ast.Subscript) and parent.value is part:
            axes = len(parent.slice.elts) if isinstance(parent.slice, ast.Tuple) else 1
            found |= {("indexed", ""), ("axes", str(axes))}
        elif isinstance(parent, ast.For) or isinstance(parent, ast.Call) and isinstance(above, ast.For):
            found.add(("iterated", ""))
        elif isinstance(parent, ast.Call) and part in parent.args:
            found |= _handed(case, parent, parent.args.index(part), depth)
        elif isinstance(parent, (ast.Tuple, ast.List)) and isinstance(above, ast.Call):
            found |= _handed(case, above, -1, depth)
        elif isinstance(parent, ast.Call) and parent.func is part:
            found.add(("called", "forward"))
    return found


def _handed(case: Case, call: ast.Call, place: int, depth: int) -> set[tuple[str, str]]:
    """What a function that is given a value does with it."""
    name = case.source.qualified(call.func) or ""
    if name.startswith("torch."):
        return {("torch", name)}
    defined = case.source.definition(call.func)
    if isinstance(defined, ast.FunctionDef) and 0 <= place < len(defined.args.args) and depth < 3:
        return _uses(case, defined, defined.args.args[place].arg, depth + 1)
    return set()


def _tensor(uses: set[tuple[str, str]], name: str) -> tuple[str, str]:
    """A tensor with as many axes as the function takes apart, whole numbers where its name speaks of them."""
    axes = max((int(use) for kind, use in uses if kind == "axes"), default=0)
    if _CLASSES.fullmatch(name) and axes < 2:
        return "_made_torch.arange(8) % 10", "eight classes"
    if _SCORES.fullmatch(name):
        return "_made_torch.linspace(-1, 1, 80).view(8, 10)", "scores of ten classes"
    shape = {0: (8, 20), 1: (8, 20), 2: (8, 20), 3: (8, 20, 16)}.get(axes, (8, 3, 32, 32))
    count = math.prod(shape)
    if _IDS.fullmatch(name):
        return f"(_made_torch.arange({count}) % 10).view({shape})", f"whole numbers of shape {shape}"
    return f"_made_torch.linspace(-1, 1, {count}).view({shape})", f"numbers of shape {shape}"
