"""What a text saves of its training, and what it takes out of a checkpoint again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import function_around
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import names_in, within

PICKLES = words("pickle.dump joblib.dump dill.dump cloudpickle.dump _pickle.dump torch.save")
OF_SAVING = re.compile(r"^_?save_?(\w*(checkpoint|ckpt|check_point|model|state|on_master|snapshot))?$")
"""Names of functions that save what they are given, as the usual `save_checkpoint`."""
OF_STATE = re.compile(
    r"state|dict|weights?|wts|params?|type|arch|kind|ckpt|checkpoint|path|file|name|dir|out$|outputs?$|info|args|config|cfg|ids?$|data|loss|acc|hist|metrics?|results?|scores?|features?|embed",
    re.IGNORECASE,
)
"""Words of names that mean no network, whatever else is in them."""
OF_SETTINGS = r"(self\.)?(args?|opts?|cfg|config|conf|hparams|params|settings|flags|FLAGS|options)\."
"""How an expression begins that is a setting, such as the name of a model."""
MOVES = words("cpu cuda to eval train half float double module")
COPIES = words("copy.deepcopy copy.copy deepcopy")


@record
class Save:
    """What one call saves: `entries` are those of a dictionary by their keys, `None` where it is none; `is_open` says that there may be others."""

    call: ast.Call
    value: ast.expr
    entries: Mapping[str, ast.expr] | None
    is_open: bool
    path: str


@record
class Load:
    """A call of `torch.load`: `name` is what it is kept under, `taken` are the keys that are read of it with their places.

    `keys` has those that are asked for by `get` as well.
    """

    call: ast.Call
    path: str
    name: str
    taken: tuple[tuple[str, ast.Subscript], ...]
    keys: frozenset[str]


@once
def saves(source: Source) -> tuple[Save, ...]:
    """The calls that save something, in source order."""
    found = []
    for call in source.all_calls:
        name = source.qualified(call.func) or ast.unparse(call.func)
        is_pickle = name in PICKLES or name.endswith(("torch.save", "th.save"))
        if is_pickle or OF_SAVING.search(name.rpartition(".")[2]):
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            given = [*call.args, *(named[each] for each in ("obj", "f") if is_pickle and each in named)]
            for value in given[:1] if is_pickle else given:
                if not isinstance(value, ast.Starred):
                    entries, is_open = _entries(source, value, call)
                    path = ast.unparse(given[1]) if is_pickle and len(given) > 1 else ""
                    if is_pickle or entries is not None:
                        found.append(Save(call, value, entries, is_open, path))
    return tuple(found)


def _entries(source: Source, value: ast.expr, at: ast.AST) -> tuple[Mapping[str, ast.expr] | None, bool]:
    """The entries of a dictionary, written out or kept under a name, and whether there may be others."""
    name = ""
    if isinstance(value, (ast.Name, ast.Attribute)):
        name = ast.unparse(value)
        bound = source.bindings(value, at)
        if len(bound) != 1:
            return None, True
        value = bound[0]
    found: dict[str, ast.expr] = {}
    is_open = False
    if isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found[key.value] = entry
            else:
                is_open = True
    elif isinstance(value, ast.Call) and source.qualified(value.func) == "builtins.dict":
        for keyword in value.keywords:
            if keyword.arg is None:
                is_open = True
            else:
                found[keyword.arg] = keyword.value
        is_open = is_open or bool(value.args)
    else:
        return None, True
    if name:
        is_open = is_open or _is_given_on(source, name, found, at)
    return found, is_open


def _is_given_on(source: Source, name: str, found: dict[str, ast.expr], at: ast.AST) -> bool:
    """Adds what is put into a dictionary under a name; whether something else may be."""
    is_open = False
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) == name:
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                found[target.slice.value] = node.value
            else:
                is_open = True
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name:
            is_open = is_open or call.func.attr in ("update", "setdefault", "pop")
        elif call is not at and any(ast.unparse(each) == name for each in call.args):
            is_open = is_open or source.qualified(call.func) not in PICKLES | {"builtins.print", "builtins.len"}
    return is_open


@once
def loads(source: Source) -> tuple[Load, ...]:
    """The calls of `torch.load`, in source order."""
    found = []
    for call in source.all_calls:
        name = source.qualified(call.func) or ast.unparse(call.func)
        if name != "torch.load" or not call.args:
            continue
        whole: ast.expr = call
        above = source.parent(whole)
        while (
            isinstance(above, ast.Attribute)
            and above.attr in MOVES
            and isinstance(moved := source.parent(above), ast.Call)
        ):
            whole, above = moved, source.parent(moved)
        kept: ast.expr | None = None
        taken: list[tuple[str, ast.Subscript]] = []
        if isinstance(above, (ast.Assign, ast.AnnAssign)) and above.value is whole:
            target = above.targets[0] if isinstance(above, ast.Assign) else above.target
            kept = target if isinstance(target, (ast.Name, ast.Attribute)) else None
            taken = _taken(source, call, ast.unparse(kept)) if kept is not None else []
        elif isinstance(above, ast.Subscript) and above.value is call and isinstance(above.slice, ast.Constant):
            taken = [(str(above.slice.value), above)]
        name = ast.unparse(kept) if kept is not None else ""
        keys = frozenset(key for key, _ in taken) | (_asked(source, call, name) if name else frozenset())
        found.append(Load(call, ast.unparse(call.args[0]), name, tuple(taken), keys))
    return tuple(found)


def _taken(source: Source, call: ast.Call, name: str) -> list[tuple[str, ast.Subscript]]:
    """The keys that are read of what is kept under a name, in the same function."""
    around = function_around(source, call)
    again = [
        node.lineno
        for node in source.nodes(ast.Assign)
        if node.lineno > call.lineno and any(ast.unparse(target) == name for target in node.targets)
    ]
    end = min(again, default=10**9)
    return [
        (node.slice.value, node)
        for node in source.nodes(ast.Subscript)
        if isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and ast.unparse(node.value) == name
        and call.lineno <= node.lineno <= end
        and function_around(source, node) is around
    ]


def _asked(source: Source, load: ast.Call, name: str) -> frozenset[str]:
    """The keys that the function of a load asks of what is kept under a name, by `get`."""
    around = function_around(source, load)
    return frozenset(
        call.args[0].value
        for call in source.all_calls
        if ast.unparse(call.func) == f"{name}.get"
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
        and function_around(source, call) is around
    )


def bare(source: Source, expr: ast.expr) -> ast.expr:
    """A network without what moves, wraps or copies it: `net` of `copy.deepcopy(net.module).cpu()`."""
    while True:
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in MOVES:
            expr = expr.func.value
        elif isinstance(expr, ast.Call) and len(expr.args) == 1 and _is_copy(source, expr):
            expr = expr.args[0]
        elif isinstance(expr, ast.IfExp):
            expr = expr.body
        elif isinstance(expr, ast.Attribute) and expr.attr == "module":
            expr = expr.value
        else:
            return expr


def _is_copy(source: Source, call: ast.Call) -> bool:
    return (source.qualified(call.func) or ast.unparse(call.func)) in COPIES


def is_whole_network(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is a network itself, and not its state."""
    expr = bare(source, expr)
    if isinstance(expr, ast.Name) and expr.id == "self":
        return _is_in_module(source, expr)
    if isinstance(expr, ast.Subscript):
        return ast.unparse(expr) in asked_as_network(source)
    if not isinstance(expr, (ast.Name, ast.Attribute)) or re.match(OF_SETTINGS, ast.unparse(expr)):
        return False
    if any(".state_dict()" in ast.unparse(value) for value in source.bindings(expr)):
        return False
    values = source.bindings(expr)
    if len(values) == 1 and isinstance(values[0], ast.Name) and ast.unparse(values[0]) != ast.unparse(expr):
        return is_whole_network(source, values[0])  # another name of it
    text = ast.unparse(expr)
    named = not OF_STATE.search(text.rpartition(".")[2]) or text in asked_as_network(source)
    of_object = isinstance(expr, ast.Attribute) and structure.OF_NETWORK.search(expr.attr)
    by_name = bool(of_object) and not structure.OF_NO_NETWORK.search(
        text
    )  # a part of what is not seen, as `agent.q_net`
    return named and (by_name or structure.is_network(source, expr))


@once
def asked_as_network(source: Source) -> frozenset[str]:
    """The texts of what is put into a mode, or asked for its parameters."""
    asked = words("parameters named_parameters eval train zero_grad modules")
    return frozenset(
        ast.unparse(call.func.value)
        for call in source.all_calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in asked
    )


def _is_in_module(source: Source, expr: ast.expr) -> bool:
    around = source.enclosing(expr, ast.ClassDef)
    bases = [source.qualified(base) or ast.unparse(base) for base in around.bases] if around is not None else []
    return any(base.endswith("Module") for base in bases)


def state_of(expr: ast.expr) -> str:
    """The text of what an expression is the `state_dict()` of, empty where it is none."""
    if isinstance(expr, ast.Call) and len(expr.args) == 1 and ast.unparse(expr.func) in COPIES:
        expr = expr.args[0]
    while isinstance(expr, ast.IfExp):
        expr = expr.body
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "state_dict":
        return ast.unparse(expr.func.value)
    return ""


def is_optimizer_name(text: str) -> bool:
    """Whether a text names an optimizer."""
    return bool(structure.OF_OPTIMIZER.search(text.lower())) and not structure.OF_SCHEDULE.search(text.lower())


def is_schedule_name(text: str) -> bool:
    """Whether a text names a schedule of learning rates."""
    return bool(structure.OF_SCHEDULE.search(text.lower()))


def restored(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """What is given a state, and the call of `load_state_dict` that does it."""
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict":
            yield ast.unparse(call.func.value), call


def uses_name(root: ast.AST, name: str) -> bool:
    """Whether a name, or an attribute of `self`, is read below a root."""
    if "." in name:
        return any(ast.unparse(node) == name for node in within(root, ast.Attribute))
    return name in names_in(root)
