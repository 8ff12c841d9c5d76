"""Recognizes parts of a training by their names (`criterion`, `optimizer`, `device`), and defines missing ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness import summaries
from dnnfix.reproduce.harness.construct import makes_network
from dnnfix.reproduce.harness.sizes import GUESS
from dnnfix.reproduce.syntax import comments
from dnnfix.source.program import Source

ACTION = EditAction.NETWORK

_ROLES = (
    ("model", r"(?:the_?|my_?)?(?:model|net|network|classifier|cnn)"),
    (
        "loader",
        r"(?:\w+_)?(?:train|test|val(?:id)?|data)?_?(?:loader|iter|iterator|batches|generator|dl)s?(?:_(?:\w+))?",
    ),
    ("optimizer", r"optimi[sz]er|optim|opt"),
    ("criterion", r"criterion|crit|loss_?(?:fn|func|function|f|criterion|fct)|loss|cost_?function|objective"),
    ("scheduler", r"(?:lr_)?scheduler|sched"),
    ("device", r"device|dev"),
    ("epoch", r"epoch|ep|e|epoch_?(?:i|idx|num|number|id)|iteration|step|global_step|start_epoch"),
    ("settings", r"args|opt(?:ions)?|config|cfg|conf|params|hparams|hps|hp|flags|settings"),
    ("writer", r"(?:\w+_)?(?:writer|logger|log|tb|board|vis|viz)"),
    ("inputs", r"(?:x|inputs?|data|images?|features?|xs|imgs?|batch_x|src)(?:_?(?:train|batch|tr))?|train_?x"),
    ("targets", r"(?:y|targets?|labels?|ys|batch_y|trg|gt)(?:_?(?:train|batch|tr|true))?|train_?y|y_true"),
)
_PATTERNS = tuple((role, re.compile(rf"(?:{pattern})\Z", re.IGNORECASE)) for role, pattern in _ROLES)


def role_of(name: str) -> str:
    """The role that a name usually has; empty where it has none."""
    return next((role for role, pattern in _PATTERNS if pattern.match(name)), "")


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Definitions of the undefined parts of a training; an undefined network is described by nothing."""
    torch = "torch" in case.source.frameworks
    for undefined in case.undefined:
        role = role_of(undefined.name) if undefined.name.islower() and not case.may_be_starred(undefined.name) else ""
        code, evidence = "", GUESS
        if role == "device" and torch:
            code, evidence = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")', "the usual line for it"
        elif role == "criterion" and undefined.name != "loss" and torch:
            code, evidence = _criterion(case.source)
        elif role == "criterion" and undefined.name != "loss":
            code = "keras.losses.SparseCategoricalCrossentropy()"
        elif role == "optimizer" and _steps(case.source, undefined.name):
            network = _network_name(case)
            if torch and network:
                code = f"torch.optim.Adam({network}.parameters(), lr=0.001)"
            elif not torch:
                code = "keras.optimizers.Adam()"
        elif role == "scheduler" and torch:
            optimizer = _bound_to(case, "torch.optim.")
            if optimizer:
                code = f"torch.optim.lr_scheduler.StepLR({optimizer}, step_size=10)"
        what = f"{undefined.name} = {code}"
        if role == "model" and torch and (printed := _printed(case)):
            code, evidence = printed
            what = f"{undefined.name} is built as it was printed"
        if code:
            definition = _with_import(case.source, undefined.name, code)
            yield EditStep(
                ACTION, what, evidence, undefined.line, scaffold=Scaffold(definitions=((undefined.name, definition),))
            )
        elif role == "model":
            yield Gap(
                f"`{undefined.name}` is used and nothing says what network it is: add the code that builds it",
                undefined.line,
            )


def _printed(case: Case) -> tuple[str, str] | None:
    """The network that the report, or a comment or docstring of the program, prints."""
    written = "\n".join(text for _line, text, _alone in comments(case.source))
    return summaries.rebuilt(case.said) or summaries.rebuilt(written)


def _steps(source: Source, name: str) -> bool:
    """Whether a name is used as an optimizer is: the module `torch.optim` goes by the same names."""
    attributes = {n.attr for n in source.nodes(ast.Attribute) if isinstance(n.value, ast.Name) and n.value.id == name}
    return bool(attributes & {"step", "zero_grad", "apply_gradients", "minimize", "param_groups", "state_dict"}) or (
        not attributes and name != "opt"
    )


def _with_import(source: Source, name: str, code: str) -> str:
    """A definition that brings its own import along, under a name that is not the program's."""
    library = code.partition(".")[0]
    if library == "keras" and "tensorflow.keras" in {s.module for s in source.nodes(ast.ImportFrom)} | {
        alias.name for s in source.nodes(ast.Import) for alias in s.names
    }:
        return f"import tensorflow as _made_tensorflow\n{name} = {code.replace('keras.', '_made_tensorflow.keras.')}"
    renamed = re.sub(rf"(?<![.\w]){library}[.]", f"_made_{library}.", code)
    return f"import {library} as _made_{library}\n{name} = {renamed}"


def _criterion(source: Source) -> tuple[str, str]:
    """The loss that fits what the network of a program gives."""
    words = source.words
    if words & {"log_softmax", "LogSoftmax"}:
        return "torch.nn.NLLLoss()", "the network ends in a log-softmax"
    widths = _last_widths(source)
    if words & {"sigmoid", "Sigmoid"} and widths and widths <= {1}:
        return "torch.nn.BCELoss()", "the network ends in a sigmoid over one unit"
    if widths and widths <= {1}:
        return "torch.nn.MSELoss()", "a guess: the network has one output and no activation at its end"
    return "torch.nn.CrossEntropyLoss()", "a guess: the usual loss of a classifier"


def _last_widths(source: Source) -> set[int]:
    """The output sizes of the last linear layer of each class and sequence."""
    widths: dict[ast.AST | None, int] = {}
    for call in source.calls("torch.nn.Linear"):
        size = call.args[1] if len(call.args) > 1 else None
        if isinstance(size, ast.Constant) and isinstance(size.value, int):
            widths[source.enclosing(call, ast.ClassDef)] = size.value
    return set(widths.values())


def _network_name(case: Case) -> str:
    """The name at module level that holds the network."""
    for statement in ast.walk(case.source.tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            inside = case.source.enclosing(statement, ast.FunctionDef, ast.ClassDef) is not None
            if not inside and isinstance(statement.value, ast.Call) and makes_network(case, statement.value):
                return statement.targets[0].id
    return ""


def _bound_to(case: Case, prefix: str) -> str:
    """The first name that is bound to a call of a name of a library, or that is defined here as an optimizer."""
    for statement in ast.walk(case.source.tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            if isinstance(value, ast.Call) and (case.source.qualified(value.func) or "").startswith(prefix):
                return statement.targets[0].id
    return next((one.name for one in case.undefined if role_of(one.name) == "optimizer"), "")
