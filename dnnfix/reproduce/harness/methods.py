"""Puts methods that were pasted without their class into a class, for the run.

`def forward(self, x)` at the top of a file, or `self.lstm = nn.LSTM(…)` outside of any method, belongs to a class whose
head was left out. The methods become those of a class of the framework, and `self` an instance of it; an undefined
network that the program calls is that instance. Attributes that are read and never set get a usual size.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness.construct import called, required
from dnnfix.reproduce.harness.roles import role_of
from dnnfix.reproduce.harness.sizes import value_of
from dnnfix.reproduce.harness.unused import top_level

ACTION = EditAction.NETWORK

_RUNS = ("forward", "call", "__call__")
_INHERITED = frozenset({"training", "parameters", "modules", "children", "train", "eval", "zero_grad", "add_module", "cuda",
                        "register_buffer", "register_parameter", "named_parameters", "state_dict", "to", "apply"})  # fmt: skip
_SELF = "self"


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """The class and its instance, and the names that stand for them; no steps where no method lacks its class."""
    methods = [node for node in top_level(case.source) if isinstance(node, ast.FunctionDef) and _is_method(node)]
    loose = _loose(case)
    if not methods or "torch" not in case.source.frameworks or not any(m.name in (*_RUNS, "__init__") for m in methods):
        return
    first = methods[0]
    missing = [undefined.name for undefined in case.undefined]
    asked = _asked(case, {method.name for method in methods})
    given: dict[str, str] = {}
    for name, line in asked.items():
        known = value_of(case, name)
        if known is None or _is_called(case, name):
            yield Gap(f"the methods are without their class, and nothing says what self.{name} is", line)
            return
        given[name] = known.code
    init = next((method for method in methods if method.name == "__init__"), None)
    own = _named_in_super(init) if init is not None else ""
    kind = own if own in missing else "_MadeClass"
    held = ", ".join(f"{method.name!r}: {method.name}" for method in methods)
    lines = ["import torch as _made_torch", f"{kind} = type({kind!r}, (_made_torch.nn.Module,), dict({{{held}}}))"]
    built = called(case, kind, required(init, bound=True)) if init is not None else None
    if built is not None and built.lacking:
        yield Gap(f"the methods are without their class, and to build it {built.lacking} is missing", first.lineno)
        return
    what = f"{', '.join(method.name for method in methods)} are put into a class of networks, and self is one"
    told = "methods without their class" + "".join(f"; self.{name} = {code}, a guess" for name, code in given.items())
    if not loose:
        yield EditStep(ACTION, what, told, first.lineno, scaffold=_class_alone(lines, kind, missing))
        return
    lines.append(f"{_SELF} = {built.code if built is not None else f'{kind}()'}")
    lines += [f"{_SELF}.{name} = {code}" for name, code in given.items()]
    definitions: list[tuple[str, str]] = []
    network = next((name for name in missing if role_of(name) == "model"), None)
    run = next((method for method in methods if method.name in _RUNS), None)
    if network is not None:
        lines.append(f"{network} = {_SELF}")
        definitions.append((network, _DONE))
        data = _fed(case, network, missing)
        viewed = _viewed(run) if run is not None else ""
        layer = _layer(case, run) if run is not None and not viewed else ""
        if data and viewed:
            lines.append(f"{data} = {viewed}")
            definitions.append((data, _DONE))
        elif data and layer:
            definitions.append((data, f"{data} = made_input_of({layer})"))
        if data and (viewed or layer):
            what += f"; {data} is made after what is done with it first"
    definitions.insert(0, (_SELF, "\n".join(lines)))
    yield EditStep(ACTION, what, told, first.lineno, scaffold=Scaffold(definitions=tuple(definitions)))


_DONE = "pass"
"""The definition of a name that is bound along with `self`."""


def _class_alone(lines: list[str], kind: str, missing: list[str]) -> Scaffold:
    """The class before what asks for it; at the end of the program where nothing does."""
    code = "\n".join(lines)
    return Scaffold(definitions=((kind, code),)) if kind in missing else Scaffold(end=code)


def _is_method(node: ast.FunctionDef) -> bool:
    return bool(node.args.args) and node.args.args[0].arg == _SELF


def _loose(case: Case) -> bool:
    """Whether `self` stands in no function."""
    return any(name.name == _SELF for name in case.undefined)


def _asked(case: Case, methods: set[str]) -> dict[str, int]:
    """The attributes of `self` that are read and nowhere given, with the line."""
    source = case.source
    own = [node for node in source.nodes(ast.Attribute) if _is_self(node.value)]
    own = [node for node in own if source.enclosing(node, ast.ClassDef) is None]
    stored = {node.attr for node in own if isinstance(node.ctx, ast.Store)} | methods | _INHERITED
    return {node.attr: node.lineno for node in own if node.attr not in stored}


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == _SELF


def _is_called(case: Case, name: str) -> bool:
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == name and _is_self(call.func.value)
        for call in case.source.all_calls
    )


def _named_in_super(init: ast.FunctionDef) -> str:
    """The name of the class that `super(Net, self).__init__()` gives away."""
    for call in (part for part in ast.walk(init) if isinstance(part, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == "super" and call.args:
            return call.args[0].id if isinstance(call.args[0], ast.Name) else ""
    return ""


def _fed(case: Case, network: str, missing: list[str]) -> str:
    """The undefined name that the network is called with."""
    for call in case.source.all_calls:
        named = isinstance(call.func, ast.Name) and call.func.id == network
        if named and len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id in missing:
            return call.args[0].id
    return ""


def _taken(run: ast.FunctionDef) -> Iterator[tuple[ast.Attribute, ast.Call, str]]:
    """The calls of methods in a method that takes one thing, with the name of that."""
    given = required(run, bound=True)
    for part in ast.walk(run) if len(given) == 1 else ():
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            yield part.func, part, given[0].arg


def _viewed(run: ast.FunctionDef) -> str:
    """Code for what a method takes where it is viewed with sizes that are known."""
    for function, call, name in _taken(run):
        if isinstance(function.value, ast.Name) and function.value.id == name and function.attr in ("view", "reshape"):
            sizes = [ast.unparse(size) for size in call.args]
            if sizes and not any(name in size or size.startswith("-") for size in sizes):
                return f"_made_torch.linspace(-1, 1, {' * '.join(sizes)}).view({', '.join(sizes)})"
    return ""


def _layer(case: Case, run: ast.FunctionDef) -> str:
    """Code for the layer that takes first what a method takes."""
    for function, call, name in _taken(run):
        if not _is_self(function.value) or not call.args or not isinstance(call.args[0], ast.Name):
            continue
        made = [
            node.value
            for node in case.source.nodes(ast.Assign)
            if isinstance(node.targets[0], ast.Attribute)
            and node.targets[0].attr == function.attr
            and _is_self(node.targets[0].value)
        ]
        if call.args[0].id == name and len(made) == 1:
            text = ast.unparse(made[0])
            return "" if f"{_SELF}." in text else text
    return ""
