"""The parts of a training by their usual names: what `criterion` is, what `train(model, loader, optimizer, epoch)` takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce import feeds, summaries
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.construct import (
    CONTAINERS,
    called,
    instance,
    is_model,
    kind_of,
    method,
    required,
    returns_model,
    settings_of,
)
from dnnfix.reproduce.sizes import GUESS, told, value_of
from dnnfix.reproduce.unused import leads_to, top_level
from dnnfix.source import names
from dnnfix.source.program import Source
from dnnfix.source.scope import Definition

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
    """The role that a name stands for; empty where it stands for none."""
    return next((role for role, pattern in _PATTERNS if pattern.match(name)), "")


# --- names that a program uses and nobody defines


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Definitions of the undefined parts of a training; an undefined network is described by nothing."""
    torch = "torch" in case.source.frameworks
    for undefined in case.undefined:
        role = role_of(undefined.name) if undefined.name.islower() and not may_be_starred(case, undefined.name) else ""
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
        if code:
            yield EditStep(
                ACTION,
                f"{undefined.name} = {code}",
                evidence,
                undefined.line,
                scaffold=Scaffold(definitions=((undefined.name, _with_import(case.source, undefined.name, code)),)),
            )
        elif role == "model" and torch and (printed := _printed(case)):
            code, evidence = printed
            definition = _with_import(case.source, undefined.name, code)
            yield EditStep(
                ACTION,
                f"{undefined.name} is built as it was printed",
                evidence,
                undefined.line,
                scaffold=Scaffold(definitions=((undefined.name, definition),)),
            )
        elif role == "model":
            yield Gap(
                f"`{undefined.name}` is used and nothing says what network it is: add the code that builds it",
                undefined.line,
            )


def _printed(case: Case) -> tuple[str, str] | None:
    """The network that the report, or a comment or docstring of the program, prints."""
    return summaries.rebuilt(case.said) or summaries.rebuilt("\n".join(text for _line, text in told(case.source)))


def may_be_starred(case: Case, name: str) -> bool:
    """Whether a name may come from a module of which the program imports everything, and no run missed it."""
    stars = [node.module or "" for node in case.source.nodes(ast.ImportFrom) if any(a.name == "*" for a in node.names)]
    if all(names.knows_star(module) for module in stars):
        return False
    crash = case.latest.crash if case.latest is not None else None
    return crash is None or crash.kind != "NameError" or f"'{name}'" not in crash.message


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
            value = statement.value
            call = value if isinstance(value, ast.Call) else None
            if call is None or case.source.enclosing(statement, ast.FunctionDef, ast.ClassDef) is not None:
                continue
            defined = case.source.definition(call.func)
            own = isinstance(defined, ast.ClassDef) and is_model(kind_of(case, defined))
            made = defined is not None and returns_model(case, defined)
            if own or made or (case.source.qualified(call.func) or "") in CONTAINERS:
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


# --- functions that nobody calls


def is_trainer(source: Source, node: Definition) -> bool:
    """Whether a function trains what it is given: it takes a network, and steps or fits in it."""
    if isinstance(node, ast.ClassDef):
        return False
    found = {role_of(parameter.arg) for parameter in required(node)}
    own = {definition.name: definition for definition in top_level(source)}
    inner = [node, *(own[name] for name in leads_to(source, node))]
    attributes = {part.attr for one in inner for part in ast.walk(one) if isinstance(part, ast.Attribute)}
    return "model" in found and "torch" in source.frameworks and "backward" in attributes


def trainer(case: Case, node: Definition, network: Definition | None) -> Iterator[EditStep | Gap]:
    """Calls a training function with the network of the program, or a small one, and made data."""
    if isinstance(node, ast.ClassDef):
        return
    parameters = required(node)
    if not _takes_pairs(case.source, node):
        yield Gap(
            f"{node.name} is never called, and the batches that it takes are not told: add a call of it", node.lineno
        )
        return
    loss, last, floats = _loss_of(case.source, node)
    evidence: list[str] = []
    lines: list[str] = []
    if network is not None:
        built = (
            instance(case, network)
            if isinstance(network, ast.ClassDef)
            else called(case, network.name, required(network))
        )
        if built.lacking:
            yield Gap(
                f"{node.name} is never called, and to build {network.name} {built.lacking} is missing", network.lineno
            )
            return
        evidence += built.evidence
        lines.append(f"_made_model = {built.code}")
        lines.append(f"_made_batches = made_loader_for(_made_model, {feeds.as_code(case.source)}, {floats})")
    else:
        width = 1 if last == "sigmoid" else 10
        shape = _viewed(node)
        evidence.append("the network and the data are made up: nothing says what they were")
        lines.append(f"_made_model = made_classifier({shape}, {width}, {last!r})")
        lines.append(f"_made_batches = made_training_loader({shape}, {2 if floats else width}, floats={floats})")
    values: list[str] = []
    for parameter in parameters:
        value = _value_for(case, parameter.arg, node, loss)
        if value is None:
            yield Gap(
                f"{node.name} is never called, and what its `{parameter.arg}` is is not told: add a call of it",
                node.lineno,
            )
            return
        values.append(f"{parameter.arg}={value}")
    standins = (
        ("made_listener", "made_is_over", "made_loader_for")
        if network is not None
        else ("made_listener", "made_is_over", "made_training_loader", "made_classifier")
    )
    lines.append("if _made_batches is not None:")
    lines.append(f"    _made_given = dict({', '.join(values)})")
    lines.append("    for _made_epoch in range(10):")
    lines.append("        if not made_is_over():")
    lines.append(f"            {node.name}(**_made_given)")
    yield EditStep(
        ACTION,
        f"{node.name} is called with a network, made data and an optimizer",
        "; ".join([*dict.fromkeys(evidence), "the program defines it and never calls it"]),
        node.lineno,
        scaffold=Scaffold(end="import torch as _made_torch\n" + "\n".join(lines)),
        standins=standins,
    )


def _value_for(case: Case, name: str, node: ast.AST, loss: str) -> str | None:
    role = role_of(name)
    if role == "settings":
        return settings_of(case, name, [node])
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
    if role == "inputs" and _is_iterated(node, name):
        return plain["loader"]
    if role in plain:
        return plain[role]
    known = value_of(case, name)
    return known.code if known is not None else None


def _takes_pairs(source: Source, node: ast.AST) -> bool:
    """Whether a training function, and those that it calls, read batches as pairs of inputs and targets."""
    own = {definition.name: definition for definition in top_level(source)}
    bodies = [node, *(own[name] for name in leads_to(source, node))]
    loops = [part for body in bodies for part in ast.walk(body) if isinstance(part, ast.For)]
    over = [loop for loop in loops if any(_is_loader(inner) for inner in ast.walk(loop.iter))]
    return bool(over) and all(_is_pair(loop) for loop in over)


def _is_loader(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and role_of(node.id) in ("loader", "inputs")


def _is_pair(loop: ast.For) -> bool:
    target = loop.target
    counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "enumerate"
    if counted:
        target = target.elts[-1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else ast.Constant(None)
    if isinstance(target, (ast.Tuple, ast.List)):
        return len(target.elts) == 2 and all(isinstance(part, ast.Name) for part in target.elts)
    if not isinstance(target, ast.Name):
        return False
    for part in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            return False
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            names_bound = part.targets[0]
            return isinstance(names_bound, ast.Tuple) and len(names_bound.elts) == 2
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id == target.id:
            return isinstance(part.slice, ast.Constant) and part.slice.value in (0, 1)
    return False


def _is_iterated(node: ast.AST, name: str) -> bool:
    """Whether a function loops over one of its parameters."""
    loops = (part.iter for part in ast.walk(node) if isinstance(part, ast.For))
    return any(isinstance(inner, ast.Name) and inner.id == name for over in loops for inner in ast.walk(over))


def _loss_of(source: Source, node: ast.AST) -> tuple[str, str, bool]:
    """For a training function: a loss for its `criterion`, what a network for it ends in, and whether targets are floats."""
    names = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    if names & {"nll_loss", "NLLLoss"} or source.words & {"log_softmax", "LogSoftmax"}:
        return "_made_torch.nn.NLLLoss()", "log_softmax", False
    if names & {"binary_cross_entropy", "BCELoss"}:
        return "_made_torch.nn.BCELoss()", "sigmoid", True
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


def function_of_autograd(case: Case, node: ast.ClassDef) -> Iterator[EditStep | Gap]:
    """Applies a function of autograd to a tensor and goes back through it."""
    forward = method(node, "forward")
    if forward is None or len(required(forward, bound=True)) != 1:
        yield Gap(
            f"{node.name} is never applied, and the shapes of its inputs are not told: add a call of it", node.lineno
        )
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


def data_set(case: Case, node: ast.ClassDef) -> Iterator[EditStep | Gap]:
    """Builds a data set of arrays and reads a batch of it."""
    init = method(node, "__init__")
    values = []
    for parameter in required(init, bound=True) if init is not None else []:
        role = role_of(parameter.arg)
        if role not in ("inputs", "targets"):
            yield Gap(
                f"{node.name} is never built, and what its `{parameter.arg}` is is not told: add a call of it",
                node.lineno,
            )
            return
        values.append(f"{parameter.arg}={'_made_x' if role == 'inputs' else '_made_y'}")
    code = (
        "import torch as _made_torch\n"
        "_made_x, _made_y = made_table(64, 16)\n"
        f"for _made_batch in _made_torch.utils.data.DataLoader({node.name}({', '.join(values)}), batch_size=8):\n"
        "    pass"
    )
    what = f"{node.name} is built of made rows and labels, and read in batches"
    yield EditStep(
        ACTION,
        what,
        "a guess: the program never builds it",
        node.lineno,
        scaffold=Scaffold(end=code),
        standins=("made_table",),
    )
