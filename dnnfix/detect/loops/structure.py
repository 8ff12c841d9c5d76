"""How a program trains and evaluates, as its text tells: the operations of training steps, where they happen, and in which phase.

It reads whole programs and fragments alike. In a fragment much is not seen: the optimizer that is stepped, the caller of a
function, what a function from elsewhere does with what it is given. So objects are known by how they are made, else by what is
done with them, else by their usual names; and what the text leaves open is `None`, which no rule may take for no.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from enum import StrEnum

from dnnfix.detect.loops.training_loop import (
    FUNCTIONS,
    LOOPS,
    OTHER_WAYS,
    Function,
    Loop,
    function_around,
    loops_around,
    only_measures_gradients,
)
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_self, last_name, parameter_names, receiver, stored_names, within

OPTIMIZERS = (
    "torch.optim.",
    "transformers.",
    "apex.optimizers.",
    "torch_optimizer.",
    "bitsandbytes.optim.",
    "timm.optim.",
)
SCHEDULES = "torch.optim.lr_scheduler."
OF_SCHEDULE = re.compile(r"sched|anneal|warm|lr_?decay|(^|[._])lr(_|$)|lr$|onplateau")
OF_OPTIMIZER = re.compile(r"opt|sgd|adam|rmsprop|trainer_[gd]\b|solver")
OF_NETWORK = re.compile(
    r"(^|[._])(model(_?\w*)|(\w+_)?model\d*|net(work)?(_?\w{0,8})|\w*[a-z]net|net[A-Z]\w*|encoder\d?|decoder\d?|(\w+_)?generator|(\w+_)?discriminator"
    r"|backbone|critic|actor|policy|(\w+_)?classifier|rnn|lstm|gru|cnn|mlp|resnet\w*|vgg\w*|unet|bert|gpt\d?|transformer|autoencoder|(c?v)?ae|[dgDG])(\.module)?$"
)
OF_NO_NETWORK = re.compile(
    r"(^|[._])([A-Z][a-z]+[A-Z]\w*|[A-Z][a-z]{2,}|(?<!_)[A-Z]{2,}_[a-z]{3,}\w*|(get|make|read|export|from|to|fetch|freeze|build|load|wrap|save|train|test|eval|plot|init|update|run|set|print|define|parse|setup|prepare|compile|convert|copy|check|count)_?\w*|\w*(loss|criterion|dataset|loader|optim\w*|config|params?|name|path|file|dir|type|fn|args|summary|info))$"
)
"""Names of what is called beside networks: classes, functions named by what they do, losses, data."""
OF_LOSS = re.compile(
    r"loss|crit(?!ic)|objective|cross_?entropy|(^|[._])(mse|bce|ce|nll|kld?|l1|l2|dice|iou|cost|err|error)(_|$|\d)|error$",
    re.IGNORECASE,
)
OF_ACTION = re.compile(
    r"^(eval|test|valid|train|predict|infer|run|process|preprocess|get|load|save|make|create|build|init|update|sync|copy|print|count|set|freeze|export|compute|calc|classify|apply)\w*_",
    re.IGNORECASE,
)
OF_OBJECT = re.compile(
    r"loader|dataset|data$|trainer|optim|sched|config|logger|writer|env$|buffer|memory", re.IGNORECASE
)
OF_EVALUATION = re.compile(
    r"(^|_)(eval|evaluat\w*|val|valid|validat\w*|test|testing|infer\w*|predict\w*|accuracy)(_|$|\d)",
    re.IGNORECASE,
)
OF_HELD_OUT = re.compile(
    r"(test|val|valid|eval|dev)(_?|[a-z]*_)(loader|dataloader|dl|data|set|iter|batch|gen|x|images?)|(loader|dataloader|data|iter)s?\[?.{0,2}_?(test|val)",
    re.IGNORECASE,
)
OF_DATA = re.compile(r"load|data|dl\b|iter|batch|gen\b|test|valid|val\b|samples|images", re.IGNORECASE)
OF_LOADER = re.compile(r"loader(?!s\b)|batches\b|(_|\b)dl\b|iterator\b|_iter\b", re.IGNORECASE)
OF_STEPS = re.compile(r".*\brange\(.*(steps|iters?|iterations)\b.*\)", re.IGNORECASE)
OF_STEP = re.compile(
    r"(train(ing)?|valid(ation|ate)?|test|eval(uation|uate)?|predict(ion)?|run|process)_((on|one|single)_)?(step|batch|iter(ation)?)(_end)?"
    r"|on_(train|validation|test|predict)_batch_(start|end)"
)
"""Names of functions that are called for each batch."""
UNGRADED = words("torch.no_grad torch.inference_mode torch.autograd.no_grad torch.autograd.grad_mode.no_grad")
SAME = words("cuda to cpu float half double requires_grad_ share_memory")
"""Methods of networks that give the network itself back."""
NETWORKS = words("torch.hub.load torch.jit.load torch.jit.script torch.jit.trace torch.compile")
"""Functions of torch that give networks."""
HARMLESS = words(
    "print len range enumerate zip list tuple dict set str int float isinstance type id tqdm max min sum sorted format unscale_"
)
"""Functions that train nothing, whatever they are given."""

WRAPS = words("tqdm enumerate iter zip islice cycle tqdm_notebook progress_bar track DataLoader")
"""Functions that go over what they are given, and what is gone over."""


class Kind(StrEnum):
    """What an operation of a training step does."""

    CLEAR = "clear"
    BACKWARD = "backward"
    UPDATE = "update"
    SCHEDULE = "schedule"
    TRAIN = "train mode"
    EVAL = "evaluation mode"


@record
class Operation:
    """One operation: `on` is the text of what it is done to (an optimizer, a schedule, a loss, a network)."""

    kind: Kind
    on: str
    node: ast.expr | ast.stmt
    statement: ast.stmt
    by_hand: bool = False
    """Whether it is written out for a tensor, and is no call of an optimizer or a network."""


@record
class Happening:
    """An operation as it happens in a region: `at` is itself, or the call in the region that leads to it.

    `on` is what the region calls that which it is done to; empty for what a function has alone.
    """

    operation: Operation
    at: ast.expr | ast.stmt
    on: str

    @property
    def kind(self) -> Kind:
        """The operation's."""
        return self.operation.kind


@once
def operations(source: Source) -> tuple[Operation, ...]:
    """Every operation of training that the text has, in source order."""
    found = [operation for call in source.nodes(ast.Call) if (operation := _called(source, call)) is not None]
    found += [operation for node in source.nodes(ast.Assign) if (operation := _let_go(source, node)) is not None]
    return tuple(sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset)))


def of_kind(source: Source, kind: Kind) -> tuple[Operation, ...]:
    """The operations of one kind."""
    return tuple(operation for operation in operations(source) if operation.kind is kind)


def _called(source: Source, call: ast.Call) -> Operation | None:
    """The operation that a call is."""
    called = call.func
    if not isinstance(called, ast.Attribute):
        return None
    name, on = called.attr, ast.unparse(called.value)
    statement = source.statement_of(call)
    if name == "zero_grad":
        return Operation(Kind.CLEAR, on, call, statement)
    if name in ("zero_", "fill_", "mul_") and re.search(r"\.grad(\.data)?$", on):
        return Operation(Kind.CLEAR, on.partition(".grad")[0], call, statement, by_hand=True)
    if name in ("backward", "manual_backward"):
        given = call.args[0] if call.args else None
        passes_on = given is not None and (
            name == "manual_backward" or re.search(r"accelerator|fabric|autograd|engine$", on)
        )
        return Operation(Kind.BACKWARD, ast.unparse(given) if passes_on and given is not None else on, call, statement)
    if name == "step":
        return _step(source, call, called.value, statement)
    if name in ("eval", "train"):
        on = _put(called.value, statement)
    if name == "eval" and not call.args:
        return Operation(Kind.EVAL, on, call, statement)
    if name == "train" and len(call.args) + len(call.keywords) <= 1:
        mode = [*call.args, *(keyword.value for keyword in call.keywords), ast.Constant(True)][0]
        if isinstance(mode, ast.Constant) and isinstance(mode.value, bool):
            return Operation(Kind.TRAIN if mode.value else Kind.EVAL, on, call, statement)
    return None


def _put(expr: ast.expr, statement: ast.stmt) -> str:
    """The network that a mode is asked of: `net` in `net.cuda().eval()`, and what `Net().eval()` is assigned to."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SAME:
        expr = expr.func.value
    if isinstance(expr, ast.Call) and isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return ast.unparse(statement.targets[0])
    return ast.unparse(expr)


def _step(source: Source, call: ast.Call, stepped: ast.expr, statement: ast.stmt) -> Operation | None:
    """The operation that a call of `step` is; `None` where it steps something else, such as a game."""
    on, made = ast.unparse(stepped), source.constructor(stepped)
    maker = ast.unparse(made.func) if made is not None else ""
    name = (source.qualified(made.func) or "") if made is not None else ""
    if name.startswith(SCHEDULES) or (not name and OF_SCHEDULE.search(f"{on} {maker}".lower())):
        return Operation(Kind.SCHEDULE, on, call, statement)
    if "scaler" in on.lower() and call.args:
        return Operation(Kind.UPDATE, ast.unparse(call.args[0]), call, statement)
    if on in _cleared(source) or is_optimizer(source, stepped):
        return Operation(Kind.UPDATE, on, call, statement)
    return None


@once
def _cleared(source: Source) -> frozenset[str]:
    """The texts of what `zero_grad` is called on."""
    return frozenset(receiver(call) for call in source.nodes(ast.Call) if last_name(call.func) == "zero_grad")


def is_optimizer(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is an optimizer: by what made it, or by its name where that is not seen."""
    made = source.constructor(expr)
    name = (source.qualified(made.func) or "") if made is not None else ""
    if name.startswith((*OPTIMIZERS, "torch.", "numpy.", "builtins.")):
        return name.startswith(OPTIMIZERS) and not name.startswith(SCHEDULES)
    text = f"{ast.unparse(expr)} {ast.unparse(made.func) if made is not None else ''}".lower()
    return bool(OF_OPTIMIZER.search(text)) and not OF_SCHEDULE.search(text)


def _let_go(source: Source, node: ast.Assign) -> Operation | None:
    """`weight.grad = None`, which clears a gradient."""
    target = node.targets[0]
    if isinstance(target, ast.Attribute) and target.attr == "grad":
        return Operation(Kind.CLEAR, ast.unparse(target.value), node, node, by_hand=True)
    return None


# --- where operations happen


def is_fragment(source: Source) -> bool:
    """Whether a text imports nothing, so that it is a part of a program: what the rest of it does is not known."""
    return not source.nodes(ast.Import) and not source.nodes(ast.ImportFrom)


def functions(source: Source) -> list[Function]:
    """The functions and methods of the text."""
    return [*source.nodes(ast.FunctionDef), *source.nodes(ast.AsyncFunctionDef)]


@once
def _bodies(source: Source) -> dict[str, list[Function]]:
    """The functions and methods of the text by their names."""
    found: dict[str, list[Function]] = {}
    for function in functions(source):
        found.setdefault(function.name, []).append(function)
    return found


@once
def callee(source: Source, call: ast.Call) -> Function | None:
    """The function of this text that a call calls, where only one can be meant."""
    definition = source.definition(call.func)
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return definition
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    own = _bodies(source).get(name, [])
    if name == "forward" and isinstance(call.func, ast.Attribute) and not is_self(call.func.value):
        return None  # every network has one: that of a part of a network is not its own
    is_method = len(own) == 1 and is_like_method(source, own[0])
    return own[0] if is_method and name not in ("step", "backward", "zero_grad", "train", "eval") else None


def is_like_method(source: Source, function: Function) -> bool:
    """Whether a function is a method, or was one before its text was cut out of a class."""
    return isinstance(source.parent(function), ast.ClassDef) or next(iter(parameter_names(function)), "") == "self"


def in_region(root: ast.AST, node: ast.AST, source: Source) -> bool:
    """Whether a node is below a root, and not in a function that is only defined there."""
    above: ast.AST | None = node
    while above is not None and above is not root:
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)) and above is not node:
            return False
        above = source.parent(above)
    return above is root


@once
def happenings(source: Source, root: ast.AST) -> tuple[Happening, ...]:
    """The operations that a region does itself or by functions of this text that it calls, in the order of the region."""
    found = list(_happenings(source, root, frozenset()))
    return tuple(sorted(found, key=lambda one: (one.at.lineno, one.at.col_offset)))


def _happenings(source: Source, root: ast.AST, on_the_way: frozenset[Function]) -> Iterator[Happening]:
    yield from (Happening(one, one.node, one.on) for one in operations(source) if in_region(root, one.node, source))
    for call, body in _led_to(source, root, on_the_way):
        for each in _happenings(source, body, on_the_way | {body}):
            yield Happening(each.operation, call, as_caller_names(body, call, each.on))


def _led_to(source: Source, root: ast.AST, on_the_way: frozenset[Function]) -> Iterator[tuple[ast.Call, Function]]:
    """The calls of functions of this text in a region, with what they call."""
    return ((call, body) for call, body in _calls(source, root) if body not in on_the_way and body is not root)


@once
def _calls(source: Source, root: ast.AST) -> tuple[tuple[ast.Call, Function], ...]:
    found = ((call, callee(source, call)) for call in within(root, ast.Call) if in_region(root, call, source))
    return tuple((call, body) for call, body in found if body is not None)


def as_caller_names(body: Function, call: ast.Call, text: str) -> str:
    """What the caller of a function calls something that the function names so; empty where it is the function's own."""
    first, dot, rest = text.partition(".")
    parameters = [*parameter_names(body)]
    if isinstance(call.func, ast.Attribute) and parameters[:1] == ["self"]:
        parameters = parameters[1:]
        if first == "self":
            return f"{ast.unparse(call.func.value)}{dot}{rest}"
    given = dict(zip(parameters, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if first in given:
        return f"{ast.unparse(given[first])}{dot}{rest}"
    return "" if first in {*parameters, *stored_names(body)} else text


@once
def reached(source: Source, root: ast.AST) -> tuple[ast.AST, ...]:
    """A region and the functions of this text that it calls, also by others."""
    regions = [root]
    for region in regions:
        regions += [body for _, body in _led_to(source, region, frozenset()) if body not in regions]
    return tuple(regions)


@once
def forwards(source: Source, root: ast.AST) -> tuple[tuple[str, ast.Call], ...]:
    """The networks that a region calls, by its own names for them, each with the call in the region that does it or leads to it."""
    return tuple(_forwards(source, root, frozenset()))


def _forwards(source: Source, root: ast.AST, on_the_way: frozenset[Function]) -> Iterator[tuple[str, ast.Call]]:
    yield from (
        (receiver(call) if _is_forward(source, call) else ast.unparse(call.func), call)
        for call in forward_calls(source, root)
    )
    for call, body in _led_to(source, root, on_the_way):
        for on, _ in _forwards(source, body, on_the_way | {body}):
            yield as_caller_names(body, call, on), call


SEEN_HERE = words("grad scaler GradScaler accelerator manual_backward")
"""Words of other ways to gradients that are read here, or asked for apart."""


@once
def goes_other_ways(source: Source, root: ast.AST, may_collect: bool = False) -> bool:
    """Whether a region, or what it calls in this text, gets or clears gradients in a way that is not read here, or collects them on purpose."""
    known = source.words
    if known.isdisjoint(OTHER_WAYS) and not any("accum" in word.lower() for word in known):
        return False
    regions = reached(source, root)
    named = {node.id for each in regions for node in within(each, ast.Name)}
    named |= {node.attr for each in regions for node in within(each, ast.Attribute)}
    named |= {node.arg or "" for each in regions for node in within(each, ast.keyword)}
    if may_collect:
        named = {name for name in named if "accum" not in name.lower() or name == "accumulate"}
    if not named.isdisjoint(OTHER_WAYS - SEEN_HERE) or any("accum" in name.lower() for name in named):
        return True
    return "grad" in named and not only_measures_gradients(source)


def has(source: Source, root: ast.AST, kind: Kind) -> bool:
    """Whether an operation of a kind happens in a region."""
    return any(one.kind is kind for one in happenings(source, root))


def is_unconditional(source: Source, node: ast.AST, region: ast.AST | None) -> bool:
    """Whether no condition stands between a node and a region, but for one that asks whether the object is there or the phase is training."""
    inside: ast.AST = node
    above = source.parent(node)
    while above is not None and above is not region:
        if isinstance(above, (ast.If, ast.IfExp, ast.Try, ast.While)) and not _asks_little(above):
            return False
        inside, above = above, source.parent(above)
    return inside is not region


def _asks_little(above: ast.AST) -> bool:
    test = above.test if isinstance(above, ast.If) else None
    if isinstance(test, ast.Compare):
        compared = test.comparators[0]
        return isinstance(compared, ast.Constant) and (
            compared.value is None or (isinstance(compared.value, str) and compared.value.lower().startswith("train"))
        )
    return isinstance(test, (ast.Name, ast.Attribute))


def callers(source: Source, function: Function) -> tuple[ast.Call, ...]:
    """The calls of a function in this text."""
    return tuple(call for call in source.nodes(ast.Call) if callee(source, call) is function)


def given_away(source: Source, root: ast.AST, names: Collection[str]) -> bool:
    """Whether one of these objects is given to a function from elsewhere in a region, which may do anything with it."""
    known = {operation.node for operation in operations(source)}
    for call in within(root, ast.Call):
        if call in known:
            continue
        given = {ast.unparse(one) for one in (*call.args, *(k.value for k in call.keywords))} & {*names}
        if not given or callee(source, call) is not None:
            continue
        name = source.qualified(call.func) or ast.unparse(call.func)
        if source.is_of_program(name):
            continue  # what its words say is asked of the whole program
        last = name.rpartition(".")[2]
        if not name.startswith(("torch.", "builtins.")) and last not in HARMLESS and not is_network(source, call.func):
            return True
    return False


def made_in(root: ast.AST, names: Collection[str]) -> bool:
    """Whether a region binds one of these objects anew, and not to itself, as `model = model.eval()` does."""
    return any(
        (made := ast.unparse(target)) in names and not ast.unparse(node.value).startswith(f"{made}.")
        for node in within(root, ast.Assign)
        for target in node.targets
    )


# --- phases


@once
def is_network(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is a network: by what made it, by what is done with it, or by its name where nothing else is known."""
    if not isinstance(expr, (ast.Name, ast.Attribute)):
        return False
    text = ast.unparse(expr)
    if text in _by_use(source):
        return not OF_NO_NETWORK.search(text)
    made = source.constructor(expr)
    maker = ast.unparse(made.func) if made is not None else ""
    if OF_LOSS.search(maker or text):
        return False
    name = (source.qualified(made.func) or "") if made is not None else ""
    if name == "torch.load":
        return bool(OF_NETWORK.search(text)) and not OF_NO_NETWORK.search(text)  # it may be a state as well
    if name.startswith(("torch.", "torchvision.", "numpy.", "builtins.")):
        return name.startswith(("torch.nn.", "torchvision.models.")) or name in NETWORKS
    if made is not None and isinstance(source.definition(made.func), ast.ClassDef):
        return is_network_class(source, made.func)
    if not name and maker[:1].isupper():  # a class that the text does not have
        return any(OF_NETWORK.search(each) for each in (text, maker)) and not OF_OBJECT.search(maker)
    definition = source.definition(expr)
    if definition is not None or source.qualified(expr):
        return definition in _written_as_functions(source)
    if made is None and isinstance(expr, ast.Name) and OF_ACTION.search(text):
        return False
    if isinstance(expr, ast.Attribute) and "_" in expr.attr and not text.startswith("self."):
        return False  # `accelerator.unwrap_model` does something
    return bool(OF_NETWORK.search(text)) and not OF_NO_NETWORK.search(text)


@once
def _written_as_functions(source: Source) -> frozenset[ast.AST]:
    """The functions that are networks: they compute with tensors of the whole text whose gradients are asked for, and give a result back."""
    if source.words.isdisjoint(("requires_grad", "requires_grad_", "Parameter", "optim")):
        return frozenset()
    weights: set[str] = set()
    for call in source.nodes(ast.Call):
        listed = call.args[0] if call.args else None
        if isinstance(listed, (ast.List, ast.Tuple)) and OF_OPTIMIZER.search(last_name(call.func).lower()):
            weights |= {ast.unparse(each) for each in listed.elts}
        if last_name(call.func) == "requires_grad_":
            weights.add(receiver(call))
    for assign in source.nodes(ast.Assign):
        asked = isinstance(assign.value, (ast.Call, ast.Tuple)) and "requires_grad=True" in ast.unparse(assign.value)
        if asked and function_around(source, assign) is None:
            weights |= stored_names(assign)
    return frozenset(
        function
        for function in functions(source)
        if weights
        and isinstance(source.parent(function), ast.Module)
        and not OF_LOSS.search(function.name)
        and any(within(function, ast.Return))
        and any(node.id in weights for node in within(function, ast.Name))
        and weights.isdisjoint({*stored_names(function), *parameter_names(function)})
        and not any(last_name(call.func) in ("backward", "step") for call in within(function, ast.Call))
    )


def is_network_class(source: Source, expr: ast.expr) -> bool:
    """Whether an expression names a class of this text that derives from `nn.Module`, or as much as says so."""
    definition = source.definition(expr)
    return isinstance(definition, ast.ClassDef) and is_module(source, definition)


@once
def is_module(source: Source, definition: ast.ClassDef) -> bool:
    """Whether a class of this text derives from `nn.Module`, directly or by another class of it, or has a `forward` and bases that are not seen."""
    for base in definition.bases:
        above = source.definition(base)
        if "Module" in (source.qualified(base) or ast.unparse(base)) or (
            isinstance(above, ast.ClassDef) and above is not definition and is_module(source, above)
        ):
            return True
    return any(isinstance(s, ast.FunctionDef) and s.name == "forward" for s in definition.body)


def goes_over_data(loop: ast.For) -> bool:
    """Whether a loop goes over batches, by what it goes over."""
    return bool(OF_DATA.search(ast.unparse(loop.iter)))


@once
def _by_use(source: Source) -> frozenset[str]:
    """The texts of what is asked for its parameters, its state or its mode."""
    asked = words("parameters named_parameters state_dict load_state_dict eval train zero_grad cuda")
    found: set[str] = set()
    optimizers = {operation.on for operation in of_kind(source, Kind.UPDATE)}
    for call in source.nodes(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in asked - {
            "cuda",
            "state_dict",
            "load_state_dict",
            "zero_grad",
        }:
            found.add(ast.unparse(call.func.value))
    return frozenset(found - optimizers)


@once
def forward_calls(source: Source, root: ast.AST) -> tuple[ast.Call, ...]:
    """The calls of networks in a region."""
    return tuple(
        call
        for call in within(root, ast.Call)
        if (call.args or call.keywords)
        and in_region(root, call, source)
        and (is_network(source, call.func) or _is_forward(source, call))
    )


def _is_forward(source: Source, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "forward" and is_network(source, call.func.value)


def without_gradients(source: Source, node: ast.AST) -> bool:
    """Whether a node stands where no gradients are recorded: in a block of `no_grad` or a function that is decorated so."""
    above: ast.AST | None = node
    while above is not None:
        asked: list[ast.expr] = []
        if isinstance(above, (ast.With, ast.AsyncWith)) and above is not node:
            asked = [item.context_expr for item in above.items]
        elif isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            asked = above.decorator_list
        if any(is_ungraded(source, one) for one in asked):
            return True
        above = source.parent(above)
    return any(_turned_off(source, call, node) for call in _switches_off(source))


def is_ungraded(source: Source, expr: ast.expr) -> bool:
    """Whether a context or decorator keeps gradients from being recorded, or may do so."""
    call = expr if isinstance(expr, ast.Call) else None
    named = call.func if call is not None else expr
    name = source.qualified(named) or ast.unparse(named)
    if name.endswith("set_grad_enabled"):
        given = call.args[0] if call is not None and call.args else None
        return not (isinstance(given, ast.Constant) and given.value is True)
    return name in UNGRADED or name.rpartition(".")[2] in ("no_grad", "inference_mode", "no_grad_wrapper")


@once
def _switches_off(source: Source) -> tuple[ast.Call, ...]:
    """The calls of `set_grad_enabled(False)`."""
    if "set_grad_enabled" not in source.words:
        return ()
    off = (call for call in source.nodes(ast.Call) if ast.unparse(call).endswith("(False)"))
    return tuple(
        call for call in off if (source.qualified(call.func) or ast.unparse(call.func)).endswith("set_grad_enabled")
    )


def _turned_off(source: Source, call: ast.Call, node: ast.AST) -> bool:
    """Whether a call that turns gradients off does so for a node: at once for the whole text, or above it in its function."""
    around = function_around(source, call)
    at_once = around is None or around.name == "__init__"
    return at_once or (around is function_around(source, node) and call.lineno < getattr(node, "lineno", 0))


def evaluates(source: Source, node: ast.AST) -> bool:
    """Whether a node stands where a network is evaluated, by what is named around it: the function, or what a loop goes over."""
    around = function_around(source, node)
    if around is not None and OF_EVALUATION.search(around.name):
        return True
    gone_over = (loop.test if isinstance(loop, ast.While) else loop.iter for loop in loops_around(source, node))
    return any(OF_HELD_OUT.search(ast.unparse(each)) for each in gone_over)


@once
def batch_loops(source: Source) -> tuple[tuple[Loop, Happening], ...]:
    """The innermost loops in which a backward pass happens, each with the first of its passes, in source order."""
    found: dict[Loop, Happening] = {}
    loops: list[Loop] = [*source.nodes(ast.For), *source.nodes(ast.While), *source.nodes(ast.AsyncFor)]
    for loop in loops:
        for each in happenings(source, loop):
            innermost = loops_around(source, each.at)[:1] == [loop]
            nested = loops_around(source, each.operation.node) if each.at is not each.operation.node else []
            if each.kind is Kind.BACKWARD and innermost and not nested:
                found.setdefault(loop, each)
    return tuple(sorted(found.items(), key=lambda pair: (pair[0].lineno, pair[0].col_offset)))


def is_done_for_each_batch(source: Source, node: ast.AST, depth: int = 2) -> bool:
    """Whether a node stands in the rounds of a loop over batches, or in a function that is called for each of them.

    The innermost loop around it is one over batches if it trains, calls a network, or goes over a loader, and holds no loop over batches:
    that is a loop over epochs or over whole trainings. What goes over a loader may train with each batch several times, or with its parts.
    """
    around = function_around(source, node)
    loop = next(iter(loops_around(source, node)), None)
    if loop is None:
        return around is not None and _is_called_for_each_batch(source, around, depth)
    training = [one for one, _ in batch_loops(source)]
    if loop in training:
        return True
    inner = [one for one in within(loop, *LOOPS) if one is not loop]
    if any(isinstance(one, ast.For) and goes_over_loader(source, one) for one in inner):
        return False
    if isinstance(loop, ast.For) and goes_over_loader(source, loop):
        return True
    if any(one in training for one in inner) or has(source, loop, Kind.BACKWARD):
        return False
    calls = [*forward_calls(source, loop)]
    for call, body in _led_to(source, loop, frozenset()):
        if any(not loops_around(source, each) for each in forward_calls(source, body)):
            calls.append(call)
    return any(loops_around(source, call)[:1] == [loop] for call in calls)


def _is_called_for_each_batch(source: Source, function: Function, depth: int) -> bool:
    """Whether a function is the step of a trainer, the `forward` of a network, or called for each batch wherever this text calls it."""
    if OF_STEP.fullmatch(function.name):
        return True
    if function.name == "forward" and isinstance(above := source.parent(function), ast.ClassDef):
        return is_module(source, above)
    calls = callers(source, function) if depth else ()
    return bool(calls) and all(
        is_unconditional(source, call, next(iter(loops_around(source, call)), function_around(source, call)))
        and is_done_for_each_batch(source, call, depth - 1)
        for call in calls
    )


def goes_over_loader(source: Source, loop: ast.For) -> bool:
    """Whether a loop goes over the batches of a loader, or counts steps with no loop in them, by the names of what it goes over."""
    text = ast.unparse(loop.iter)
    counts = OF_STEPS.fullmatch(text) is not None and len(list(within(loop, *LOOPS))) <= 1
    return counts or any(OF_LOADER.search(ast.unparse(each)) for each in _gone_over(source, loop.iter))


def _gone_over(source: Source, expr: ast.expr) -> Iterator[ast.expr]:
    """What a loop goes over, and what a name there stands for: `loader` for `bar` with `bar = tqdm(loader)`."""
    yield expr
    while isinstance(expr, ast.Call) and last_name(expr.func) in WRAPS and expr.args:
        expr = expr.args[0]
    for made in source.bindings(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else ():
        if isinstance(made, ast.Call) and last_name(made.func) in WRAPS:
            yield made
