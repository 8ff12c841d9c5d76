"""Where a text gives weights their first values, and which functions of it do so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import Function
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_true, last_name, names_in, parameter_names, within

OF_INITIALIZING = re.compile(
    r"init|reset|xavier|kaiming|glorot|orthogonal|trunc_normal|fill|copy|load|normal|uniform|zeros|ones|constant",
    re.IGNORECASE,
)
"""Parts of the names of functions that give weights values."""
OF_INITIALIZER = re.compile(
    r"^_?(weights?_?init\w*|init_?[wW]eights?|init(ialize|ialise)?_?(model_?|net\w*_?|all_?)?(weights?|params?|parameters|layers?|modules?)?"
    r"|init(ialize|ialise)?_(model|net\w*)|reset_(model_)?parameters|weight_reset|(conv|linear|fc|layer|xavier|kaiming)_init\w*|(xavier|kaiming)\w*_init\w*|set_weights"
    r"|(w_init|init_?(w|fn|normal|uniform|xavier|kaiming|orthogonal|layer|linear|conv|lstm|gru|rnn|emb|embeddings?)))_?$"
)
"""Usual names of functions that initialize a network."""
LOADED_LATER = words(
    "weight_loader set_weight_attrs load_weights _load_from_state_dict create_weights from_pretrained _init_weights is_meta"
)
"""Words of texts whose weights come from elsewhere."""
COMPREHENSIVE = words("parameters named_parameters modules named_modules children named_children _modules _parameters")


def initializers(source: Source) -> Iterator[Function]:
    """The functions and methods of the text that initialize weights, by their names, as they are applied or by what they take, and by what they do."""
    given = (call.args[0] for call in source.all_calls if last_name(call.func) == "apply" and len(call.args) == 1)
    applied = {last_name(each) for each in given}
    for function in structure.functions(source):
        named = OF_INITIALIZER.search(function.name) or function.name in applied
        if (named or _draws_for_module(source, function)) and sets_values(source, function):
            yield function


OF_DRAWING = re.compile(r"^(normal|uniform|xavier|kaiming|orthogonal|trunc_normal)\w*$")
"""The names of functions and methods that draw weights."""


def _draws_for_module(source: Source, function: Function) -> bool:
    """Whether a function draws the weight of a module that it is given, if that is of some kind."""
    weights = {f"{name}.weight" for name in parameter_names(function)}
    return any(
        OF_DRAWING.search(last_name(call.func))
        and any(ast.unparse(each).removesuffix(".data") in weights for each in (*call.args[:1], call.func.value))
        for call in within(function, ast.Call)
        if isinstance(call.func, ast.Attribute)
    ) and bool(kinds_asked(source, function))


def sets_values(source: Source, root: ast.AST) -> bool:
    """Whether something below a root sets weights: by `nn.init`, a method with an underscore, or through `.data`."""
    for call in within(root, ast.Call):
        name = source.qualified(call.func) or ast.unparse(call.func)
        last = name.rpartition(".")[2]
        if re.search(r"(^|\.)init\.\w+$", name) or re.search(r"^(xavier|kaiming|orthogonal|trunc_normal)\w*$", last):
            return True
        if isinstance(call.func, ast.Attribute) and last.endswith("_") and not last.startswith("_"):
            return True
    targets = [target for node in within(root, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Attribute) and target.attr in ("data", "weight") for target in targets)


@once
def set_somewhere(source: Source, name: str, of_layers: bool = False) -> bool:
    """Whether the text gives values to what has this name, an attribute's or a variable's, after it was made, or may do so.

    A `weight` or `bias` of a layer within something counts only where `of_layers` says so.
    """
    if not LOADED_LATER.isdisjoint(source.words):
        return True
    own = of_layers or name not in ("weight", "bias")
    attributes = (
        node for node in source.nodes(ast.Attribute) if node.attr == name and (own or isinstance(node.value, ast.Name))
    )
    names = (node for node in source.nodes(ast.Name) if node.id == name)
    if any(_is_set(source, node) for node in (*attributes, *names)):
        return True
    return any(_is_given(source, node, name) for node in source.nodes(ast.Constant)) or sets_all(source, name)


def _is_given(source: Source, node: ast.Constant, name: str) -> bool:
    """Whether a text that is compared or looked up is the name: `if "weight" in key`."""
    return (
        isinstance(node.value, str)
        and node.value == name
        and isinstance(source.parent(node), (ast.Compare, ast.List, ast.Tuple, ast.Subscript))
    )


VIEWS = words("t view transpose squeeze unsqueeze permute narrow select flatten")
"""Methods whose result is the same memory."""


def _is_set(source: Source, node: ast.expr) -> bool:
    """Whether a mention of a tensor gives it values."""
    last: ast.expr = node
    above = source.parent(last)
    while isinstance(above, (ast.Attribute, ast.Subscript)) and above.value is last:
        last = above
        if (
            isinstance(above, ast.Attribute)
            and isinstance(call := source.parent(above), ast.Call)
            and call.func is above
        ):
            if above.attr not in VIEWS:
                return above.attr.endswith("_") and not above.attr.endswith("__") and above.attr != "requires_grad_"
            last = call
        above = source.parent(last)
    while isinstance(above, ast.IfExp):
        last, above = above, source.parent(above)
    if isinstance(above, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return last is not node and _is_target(above, last)
    if isinstance(above, (ast.List, ast.Tuple, ast.Set)):
        above = source.parent(above)
    if isinstance(above, ast.Call) and last is not above.func:
        called = (source.qualified(above.func) or ast.unparse(above.func)).rpartition(".")[2]
        return (
            bool(OF_INITIALIZING.search(called))
            or called.endswith("_")
            or isinstance(source.parent(above), ast.Expr)
            and called not in ("print", "register_parameter", "setattr")
        )
    return isinstance(above, (ast.For, ast.comprehension))


def _is_target(statement: ast.Assign | ast.AugAssign | ast.AnnAssign, node: ast.expr) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(node in within(target, type(node)) for target in targets)


@once
def sets_all(source: Source, name: str = "") -> bool:
    """Whether the text initializes all weights of a network at once, or applies or calls what may do so and is not seen."""
    defined = {function.name: function for function in source.nodes(ast.FunctionDef)}
    for loop in source.nodes(ast.For):
        over = ast.unparse(loop.iter)
        if re.search(r"parameters\(\)|state_dict\(\)", over) and _sets_target(source, loop):
            return True
    for call in source.all_calls:
        called = ast.unparse(call.func).rpartition(".")[2]
        if called == "apply" and len(call.args) == 1 and isinstance(call.func, ast.Attribute):
            given = ast.unparse(call.args[0]).rpartition(".")[2].partition("(")[0]
            function = defined.get(given)
            if function is None or _reaches(source, function, name):
                return True
        own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in ("self", "super()")
        if own and OF_INITIALIZER.search(called) and called not in defined and called != "__init__":
            return True
        if not own and OF_INITIALIZER.search(called) and called not in defined and isinstance(call.func, ast.Name):
            return True
    return False


def _sets_target(source: Source, loop: ast.For) -> bool:
    """Whether the body of a loop sets what the loop goes over."""
    names = names_in(loop.target)
    return any(
        isinstance(node, ast.Name) and node.id in names and _is_set(source, node)
        for statement in loop.body
        for node in within(statement, ast.Name)
    )


def _reaches(source: Source, function: Function, name: str) -> bool:
    """Whether a function that is applied to each module sets weights of any name, or of this one."""
    asks = {node.attr for node in within(function, ast.Attribute)}
    return (
        not asks.isdisjoint(COMPREHENSIVE)
        or name in asks
        or any(node.value == name for node in within(function, ast.Constant))
    )


@record
class MadeEmpty:
    """A weight that is made without values: `name` is the attribute or variable that it is kept under."""

    name: str
    text: str
    call: ast.Call
    statement: ast.stmt
    axes: int


UNSET = words("""torch.empty torch.Tensor torch.FloatTensor torch.DoubleTensor torch.HalfTensor torch.empty_like
    torch.cuda.FloatTensor torch.empty_strided""")
OF_SIZES = re.compile(
    r"dim|size|feat|channel|hidden|num|units|classes|shape|width|length|vocab|heads|(^|[._])(n|k|d|h|in|out|input|output|inp|c|m|r)(_|$|\d)",
    re.IGNORECASE,
)
MOVES = words("cuda to float double half type cpu requires_grad_ contiguous")


def is_unset(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is a tensor without values of its own: memory as it was found."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in MOVES:
        expr = expr.func.value
    if not isinstance(expr, ast.Call):
        return False
    name = source.qualified(expr.func) or ""
    if name.startswith("torch.empty"):
        return True
    if isinstance(expr.func, ast.Attribute) and expr.func.attr == "new_empty":
        return True
    if name not in UNSET or not expr.args or expr.keywords:
        return False
    return len(expr.args) > 1 or _is_size(expr.args[0])  # data are one argument


def _is_size(expr: ast.expr) -> bool:
    """Whether an argument of `torch.Tensor` is a size, and no data."""
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, int)
    if isinstance(expr, ast.Starred):
        return True
    if isinstance(expr, (ast.BinOp, ast.UnaryOp)):
        return all(_is_size(each) for each in ast.iter_child_nodes(expr) if isinstance(each, ast.expr))
    if isinstance(expr, ast.Subscript):
        return _is_size(expr.value)
    return isinstance(expr, (ast.Name, ast.Attribute)) and bool(OF_SIZES.search(ast.unparse(expr)))


def axes_of(expr: ast.expr) -> int:
    """The number of sizes that a tensor is made with; 0 where that is not told."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in MOVES:
        expr = expr.func.value
    if not isinstance(expr, ast.Call) or any(isinstance(each, ast.Starred) for each in expr.args):
        return 0
    if len(expr.args) == 1 and isinstance(expr.args[0], (ast.Tuple, ast.List)):
        return len(expr.args[0].elts)
    return len(expr.args)


PARAMETER = words("torch.nn.Parameter torch.nn.parameter.Parameter")


def _kept_as(source: Source, call: ast.Call, statement: ast.stmt) -> str:
    """The text of the name or attribute under which a parameter is kept, alone or in a list; empty where that is not told."""
    above = source.parent(call)
    if isinstance(above, ast.Call) and ast.unparse(above.func) == "self.register_parameter" and above.args:
        first = above.args[0]
        return f"self.{first.value}" if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    target: ast.expr | None = None
    if isinstance(statement, ast.Assign) and _is_part(source, call, statement.value):
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is call:
        target = statement.target
    return ast.unparse(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""


def _is_part(source: Source, call: ast.Call, value: ast.expr) -> bool:
    """Whether a call is a value, or one of the parts of a list that is."""
    node: ast.AST | None = call
    while node is not value:
        node = source.parent(node) if node is not None else None
        is_list = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("ParameterList", "ParameterDict"))
        if not (is_list or isinstance(node, (ast.List, ast.ListComp, ast.Dict, ast.DictComp))):
            return False
    return True


@once
def made_empty(source: Source) -> tuple[MadeEmpty, ...]:
    """The parameters that are made of memory as it was found, each with what it is kept under."""
    found = []
    for call in source.calls(*PARAMETER, "torch.empty", "torch.autograd.Variable"):
        asked = next((k.value for k in call.keywords if k.arg == "requires_grad"), None)
        if source.qualified(call.func) in PARAMETER:
            given, trained = (
                call.args[0] if call.args else None,
                not (isinstance(asked, ast.Constant) and asked.value is False),
            )
        else:
            own = source.qualified(call.func) == "torch.empty"
            given, trained = call if own else call.args[0] if call.args else None, is_true(asked)
        if given is None or not trained or not is_unset(source, given):
            continue
        statement = source.statement_of(call)
        text = _kept_as(source, call, statement)
        if text:
            found.append(MadeEmpty(text.rpartition(".")[2], text, call, statement, axes_of(given)))
    return tuple(found)


WEIGHTED = re.compile(r"^torch\.nn\.((Lazy)?(Linear|Conv[123]d|ConvTranspose[123]d)|Bilinear|Embedding|LSTM|GRU|RNN)$")
"""Layers with weights."""


def kinds_made(source: Source, root: ast.AST) -> set[str]:
    """The kinds of layers with weights that are made below a root."""
    found = {source.qualified(call.func) or "" for call in within(root, ast.Call)}
    return {name.removeprefix("torch.nn.") for name in found if WEIGHTED.search(name)}


def kinds_asked(source: Source, root: ast.AST) -> set[str]:
    """The kinds of layers that an initialization asks for; empty where it takes all."""
    found = set()
    for node in (*within(root, ast.Attribute), *within(root, ast.Name)):
        name = source.qualified(node) or ""
        if WEIGHTED.search(name) and not source.is_called(node):
            found.add(name.removeprefix("torch.nn."))
    for text in within(root, ast.Constant):
        if isinstance(text.value, str) and re.search(r"^(Linear|Conv\w*|Embedding|LSTM|GRU)$", text.value):
            found.add(text.value)
    return found


def fitting_kinds(asked: set[str], made: set[str]) -> set[str]:
    """The kinds among those made that are asked for, by the name or the beginning of it."""
    return {kind for kind in made if any(kind == one or kind.startswith(one) for one in asked)} if asked else made
