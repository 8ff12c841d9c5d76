"""Harness calls of unused trainers, losses, autograd functions and data sets, with arguments made for their parameters.

What `train(model, loader, optimizer, epoch)` takes is known by the names of its parameters (`roles.role_of`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data import batches, input_operations
from dnnfix.reproduce.harness.construct import called, instance, is_model, kind_of, method, never, required, settings_of
from dnnfix.reproduce.harness.roles import role_of
from dnnfix.reproduce.harness.sizes import value_of
from dnnfix.reproduce.harness.unused import bodies
from dnnfix.reproduce.syntax import methods_of
from dnnfix.source.bindings import Definition
from dnnfix.source.program import Source

ACTION = EditAction.NETWORK


def is_trainer(case: Case, node: Definition) -> bool:
    """Whether a function trains a network among its parameters, or a class one of its constructor's, by a backward
    pass.
    """
    source = case.source
    if isinstance(node, ast.ClassDef):
        init = method(node, "__init__")
        if init is None or is_model(kind_of(case, node)) or not _training_method(node):
            return False
        given = required(init, bound=True)
    else:
        given = required(node)
    found = {role_of(parameter.arg) for parameter in given}
    attributes = {
        part.attr for one in bodies(source, node) for part in ast.walk(one) if isinstance(part, ast.Attribute)
    }
    return "model" in found and "torch" in source.frameworks and "backward" in attributes


def _training_method(node: ast.ClassDef) -> ast.FunctionDef | None:
    """The method that trains, from which the others are called: `fit` rather than the `_step` that it repeats."""
    methods = methods_of(node)
    calls = {name: _own_calls(part) & methods.keys() for name, part in methods.items()}

    def leads_back(name: str, seen: frozenset[str] = frozenset()) -> bool:
        if name in seen:
            return False
        own = any(isinstance(part, ast.Attribute) and part.attr == "backward" for part in ast.walk(methods[name]))
        return own or any(leads_back(other, seen | {name}) for other in calls[name])

    called = {other for name, others in calls.items() for other in others if other != name}
    tops = [n for n in methods if n not in called and n not in ("__init__", "__call__") and leads_back(n)]
    return methods[tops[0]] if tops else None


def _own_calls(function: ast.FunctionDef) -> set[str]:
    """The names of the methods of its own object that a method calls."""
    return {
        part.func.attr
        for part in ast.walk(function)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and isinstance(part.func.value, ast.Name)
        and part.func.value.id == "self"
    }


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a training gets: a network and batches as code, and what is said of them."""

    lines: tuple[str, ...]
    evidence: tuple[str, ...]


def trainer(case: Case, node: Definition, network: Definition | None) -> Iterator[EditStep | Gap]:
    """A call of a trainer with the network of the program, or a small one, and synthetic data."""
    form = batches.form_of(case.source, node, bodies(case.source, node))
    if form is None:
        yield never(node, "called", "the batches that it takes are not told")
        return
    loss, last, floats = _loss_of(case.source, node)
    parts = _own_parts(case, node, network, floats) if network is not None else _made_parts(node, form, last, floats)
    if isinstance(parts, Gap):
        yield parts
        return
    evidence = list(parts.evidence)
    train = _training_method(node) if isinstance(node, ast.ClassDef) else None
    init = method(node, "__init__") if isinstance(node, ast.ClassDef) else None
    values: list[list[str]] = []
    for function in (init, train) if isinstance(node, ast.ClassDef) else (node,):
        given = required(function, bound=function is not node) if isinstance(function, _FUNCTIONS) else []
        values.append([])
        for parameter in given:
            value = _value_for(case, parameter.arg, function or node, node, loss)
            if value is None:
                yield never(node, "called", f"what its `{parameter.arg}` is is not told")
                return
            values[-1].append(f"{parameter.arg}={value}")
    lines = [*parts.lines, "if _made_batches is not None:"]
    callee = node.name
    if train is not None:
        lines.append(f"    _made_trainer = {node.name}({', '.join(values[0])})")
        callee = f"_made_trainer.{train.name}"
    lines.append(f"    _made_given = dict({', '.join(values[-1])})")
    lines.append("    for _made_epoch in range(10):")
    lines.append("        if not made_is_over():")
    lines.append(f"            {callee}(**_made_given)")
    what = f"{node.name} is {'built and told to ' + train.name if train is not None else 'called'}"
    yield EditStep(
        ACTION,
        f"{what} with a network, made data and an optimizer",
        "; ".join([*dict.fromkeys(evidence), "the program defines it and never calls it"]),
        node.lineno,
        scaffold=Scaffold(end="import torch as _made_torch\n" + "\n".join(lines)),
    )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _own_parts(case: Case, node: Definition, network: Definition, floats: bool) -> _Parts | Gap:
    """The network of the program, and batches that go through it."""
    built = (
        instance(case, network) if isinstance(network, ast.ClassDef) else called(case, network.name, required(network))
    )
    if built.lacking:
        return Gap(
            f"{node.name} is never called, and to build {network.name} {built.lacking} is missing", network.lineno
        )
    lines = (
        f"_made_model = {built.code}",
        f"_made_batches = made_loader_for(_made_model, {input_operations.as_code(case.source)}, {floats})",
    )
    return _Parts(lines, tuple(built.evidence))


def _made_parts(node: Definition, form: batches.Form, last: str, floats: bool) -> _Parts:
    """A small network, and batches of the form that is asked for."""
    evidence = "the network and the data are made up: nothing says what they were"
    if form.fields:
        words = f"the parts of a batch are named {', '.join(form.fields)}"
        lines = (
            "_made_model = made_reader()",
            f"_made_batches = made_named_batches({form.inputs!r}, {form.targets!r}, {form.turned}, {form.lowest})",
        )
        return _Parts(lines, (evidence, words))
    width = 1 if floats else 10
    shape = _viewed(node)
    lines = (
        f"_made_model = made_classifier({shape}, {width}, {last!r})",
        f"_made_batches = made_training_loader({shape}, {2 if floats else width}, floats={floats})",
    )
    return _Parts(lines, (evidence,))


def _value_for(case: Case, name: str, node: ast.AST, whole: Definition, loss: str) -> str | None:
    """The value for a parameter of what trains: by the role that its name tells, else by what is done with it."""
    role = role_of(name)
    if role == "settings":
        return settings_of(case, name, [node, *bodies(case.source, whole)])
    plain = {
        "model": "_made_model",
        "loader": "_made_batches",
        "optimizer": "_made_torch.optim.Adam(_made_model.parameters(), lr=0.001)",
        "criterion": loss,
        "scheduler": "_made_torch.optim.lr_scheduler.StepLR(_made_torch.optim.SGD(_made_model.parameters(), lr=0.1), 10)",
        "device": '_made_torch.device("cpu")',
        "epoch": "1",
        "writer": "made_listener()",
        "inputs": "next(iter(_made_batches))[0]",
        "targets": "next(iter(_made_batches))[1]",
    }
    if role in ("inputs", "") and batches.is_loader(whole, node, name):
        return plain["loader"]
    if role in plain:
        return plain[role]
    known = value_of(case, name)
    return known.code if known is not None else None


def _loss_of(source: Source, node: ast.AST) -> tuple[str, str, bool]:
    """For a training function: a loss for its `criterion`, what a network for it ends in, and whether targets are floats."""
    names = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    if names & {"nll_loss", "NLLLoss"} or source.words & {"log_softmax", "LogSoftmax"}:
        return "_made_torch.nn.NLLLoss()", "log_softmax", False
    if names & {"binary_cross_entropy", "BCELoss"}:
        return "_made_torch.nn.BCELoss()", "sigmoid", True
    if names & {"sigmoid"}:  # it makes probabilities itself
        return "_made_torch.nn.BCELoss()", "", True
    if names & {"mse_loss", "MSELoss", "l1_loss", "smooth_l1_loss", "L1Loss"}:
        return "_made_torch.nn.MSELoss()", "", True
    return "_made_torch.nn.CrossEntropyLoss()", "", False


def _viewed(node: ast.AST) -> str:
    """The shape of a sample that a training function makes known: `data.view(-1, 784)`, else that of a small image."""
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr in ("view", "reshape")
        ):
            sizes = [one.value for one in part.args[1:] if isinstance(one, ast.Constant) and isinstance(one.value, int)]
            if len(sizes) == len(part.args) - 1 and sizes and all(size > 0 for size in sizes):
                return repr(tuple(sizes))
    return "(1, 28, 28)"


_PREDICTIONS = re.compile(
    r"(?:y_?)?(?:pred\w*|outputs?|logits?|inputs?|y_hat|scores?|probs?|x1?|recon\w*|out)\Z", re.IGNORECASE
)
_TARGETS = re.compile(r"(?:y_?)?(?:true|targets?|labels?|y|gt\w*|truth|x2|mask)\Z|y_true", re.IGNORECASE)


def is_loss(node: Definition) -> bool:
    """Whether a function computes a loss: it takes a prediction and a target, and its name says so."""
    if isinstance(node, ast.ClassDef):
        return False
    names = [parameter.arg for parameter in required(node)]
    pair = len(names) == 2 and any(_PREDICTIONS.match(n) for n in names) and any(_TARGETS.match(n) for n in names)
    return pair and bool(re.search(r"loss|dice|focal|entropy|iou|error|coef|metric", node.name, re.IGNORECASE))


def loss(case: Case, node: Definition) -> Iterator[EditStep | Gap]:
    """Calls a loss function with predictions and targets between 0 and 1."""
    if isinstance(node, ast.ClassDef) or "torch" not in case.source.frameworks:
        return
    names = [parameter.arg for parameter in required(node)]
    first = next(n for n in names if _PREDICTIONS.match(n))
    values = ", ".join(f"{n}={'_made_torch.sigmoid(_made_scores)' if n == first else '_made_wanted'}" for n in names)
    code = (
        "import torch as _made_torch\n"
        "_made_scores = _made_torch.linspace(-2, 2, 64).view(4, 1, 4, 4).requires_grad_()\n"
        "_made_wanted = (_made_torch.arange(64).view(4, 1, 4, 4) % 3 == 0).float()\n"
        f"_made_value = {node.name}({values})\n"
        "if isinstance(_made_value, _made_torch.Tensor) and _made_value.requires_grad:\n"
        "    _made_value.sum().backward()"
    )
    what = f"{node.name} is called with predictions between 0 and 1 and targets of 0 and 1, and differentiated"
    yield EditStep(ACTION, what, "a guess: the program never calls it", node.lineno, scaffold=Scaffold(end=code))


def function_of_autograd(node: ast.ClassDef) -> Iterator[EditStep | Gap]:
    """Applies a function of autograd to a tensor and goes back through it."""
    forward = method(node, "forward")
    if forward is None or len(required(forward, bound=True)) != 1:
        yield never(node, "applied", "the shapes of its inputs are not told")
        return
    code = (
        "import torch as _made_torch\n"
        "_made_input = _made_torch.linspace(-2, 2, 32).view(8, 4).requires_grad_()\n"
        f"_made_output = {node.name}.apply(_made_input)\n"
        "if _made_output.requires_grad:\n"
        "    _made_output.sum().backward()"
    )
    what = f"{node.name} is applied to a tensor of shape (8, 4), forwards and backwards"
    yield EditStep(ACTION, what, "a guess: the program never applies it", node.lineno, scaffold=Scaffold(end=code))


def data_set(node: ast.ClassDef) -> Iterator[EditStep | Gap]:
    """Builds a data set of arrays and reads a batch of it."""
    init = method(node, "__init__")
    values = []
    for parameter in required(init, bound=True) if init is not None else []:
        role = role_of(parameter.arg)
        if role not in ("inputs", "targets"):
            yield never(node, "built", f"what its `{parameter.arg}` is is not told")
            return
        values.append(f"{parameter.arg}={'_made_x' if role == 'inputs' else '_made_y'}")
    code = (
        "import torch as _made_torch\n"
        "_made_x, _made_y = made_table(64, 16)\n"
        f"for _made_batch in _made_torch.utils.data.DataLoader({node.name}({', '.join(values)}), batch_size=8):\n"
        "    pass"
    )
    what = f"{node.name} is built of made rows and labels, and read in batches"
    yield EditStep(ACTION, what, "a guess: the program never builds it", node.lineno, scaffold=Scaffold(end=code))
