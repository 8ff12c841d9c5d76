"""Code that constructs an object of one of the program's classes, or calls a function, with values for parameters.

Parameters with a default keep it. Each of the others needs a value that the program states or that its name means; if
one has none, nothing is constructed and the answer names the parameter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from dnnfix.network.names import KERAS_FUNCTIONAL, KERAS_SEQUENTIALS
from dnnfix.reproduce.arguments import choices
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness.sizes import GUESS, Known, value_of
from dnnfix.reproduce.harness.unused import top_level
from dnnfix.reproduce.syntax import methods_of, strings
from dnnfix.source.bindings import Definition

CONTAINERS = ("torch.nn.Sequential", *KERAS_FUNCTIONAL, *KERAS_SEQUENTIALS)
"""The classes of the frameworks that are networks without a class of the program's."""

LAYERS = ("keras.layers.Layer", "keras.Layer")
_DEEP = 4


@dataclass
class Built:
    """Code that constructs something, and notes on the values in it; `lacking` names the parameters without a value."""

    code: str
    evidence: list[str] = field(default_factory=list)
    lacking: str = ""
    guesses: int = 0
    """How many of the values are guessed: several of them may not go together."""


def never(node: Definition, used: str, lacks: str) -> Gap:
    """What is missing of a definition that is never called, constructed or used."""
    return Gap(f"{node.name} is never {used}, and {lacks}: add a call of it", node.lineno)


def kind_of(case: Case, node: ast.expr | ast.ClassDef, depth: int = 0) -> str:
    """The canonical name of the library class that a class of the program is derived from; empty without one."""
    if not isinstance(node, ast.ClassDef):
        defined = case.source.definition(node)
        if not isinstance(defined, ast.ClassDef) or depth > _DEEP:
            return case.source.qualified(node) or ""
        node = defined
    for base in node.bases:
        name = kind_of(case, base, depth + 1)
        if name and name != "builtins.object":
            return name
    return ""


def is_model(name: str) -> bool:
    """Whether a canonical name is that of a class of networks."""
    return name in CONTAINERS or name.startswith("torch.nn.")


def method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """A method of a class, where the class itself has it."""
    return methods_of(node).get(name)


def required(function: ast.FunctionDef | ast.AsyncFunctionDef, bound: bool = False) -> list[ast.arg]:
    """The parameters without a default; of a method without the object itself."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    needed = arguments[: len(arguments) - len(function.args.defaults)]
    only = [a for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d is None]
    return [*needed[1 if bound else 0 :], *only]


def instance(case: Case, node: ast.ClassDef, depth: int = 0) -> Built:
    """A new object of a class of the program."""
    made = Built(node.name + "()")
    init = _inherited(case, node, "__init__")
    if init is None:
        return made
    return called(case, node.name, required(init, bound=True), depth, [node])


def called(case: Case, name: str, parameters: list[ast.arg], depth: int = 0, within: Iterable[ast.AST] = ()) -> Built:
    """A call of what `name` means with values for parameters."""
    made = Built("")
    written: list[str] = []
    for parameter in parameters:
        one = _argument(case, parameter, depth, tuple(within))
        if one is None:
            made.lacking = made.lacking or f"what `{parameter.arg}` of {name} is"
            continue
        made.lacking = made.lacking or one.lacking
        made.evidence += one.evidence
        made.guesses += one.guesses or (GUESS in one.evidence)
        written.append(f"{parameter.arg}={one.code}")
    made.code = f"{name}({', '.join(written)})"
    made.evidence = list(dict.fromkeys(made.evidence))
    return made


def _argument(case: Case, parameter: ast.arg, depth: int, within: tuple[ast.AST, ...]) -> Built | None:
    """The value for one parameter."""
    name = parameter.arg
    own = _own_class(case, name)
    if own is not None and depth < _DEEP:
        return instance(case, own, depth + 1)
    if SETTINGS.fullmatch(name):
        own_settings = _settings_class(case)
        if own_settings is not None:
            return Built(f"{own_settings.name}()", [f"line {own_settings.lineno}: the program's class of settings"])
        code = settings_of(case, name, [case.source.tree])
        return Built(code, [GUESS], guesses=2) if code is not None else None  # they may not go together
    listed = _listed(name, within)
    if listed:
        return Built(listed, [GUESS])
    block = _block(case, name)
    if block is not None:
        return Built(block.name, [f"line {block.lineno}: the program's class of blocks"])
    known = value_of(case, name) or _of_its_kind(name)
    if known is None and parameter.annotation is not None:
        known = _annotated(parameter.annotation)
    return Built(known.code, [known.evidence]) if known is not None else None


def _settings_class(case: Case) -> ast.ClassDef | None:
    """The class in which the program keeps its settings, where it can be made of nothing."""
    for node in top_level(case.source):
        if isinstance(node, ast.ClassDef) and re.search(r"config|param|option|setting|args", node.name, re.IGNORECASE):
            init = method(node, "__init__")
            empty = any(isinstance(part, (ast.Assign, ast.AnnAssign)) and _is_none(part.value) for part in node.body)
            if not empty and (init is None or not required(init, bound=True)):
                return node
    return None


def _is_none(value: ast.expr | None) -> bool:
    """Whether a setting is still to be given."""
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _own_class(case: Case, name: str) -> ast.ClassDef | None:
    """The network of the program that a parameter is named after: `encoder` for a class `Encoder`."""
    wanted = name.replace("_", "").lower()
    for node in top_level(case.source):
        if not isinstance(node, ast.ClassDef) or not is_model(kind_of(case, node)):
            continue
        if node.name.replace("_", "").lower() in (wanted, wanted + "rnn", wanted + "lstm", wanted + "net"):
            return node
    return None


def _listed(name: str, within: tuple[ast.AST, ...]) -> str:
    """A list of small numbers for a parameter that is read by plain indices: `layers[0]`, …, `layers[3]`."""
    parts = (part for node in within for part in ast.walk(node) if isinstance(part, ast.Subscript))
    indices = [
        part.slice.value
        for part in parts
        if _is_named(part.value, name) and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, int)
    ]
    return repr([2] * (max(indices) + 1)) if indices else ""


def _block(case: Case, name: str) -> ast.ClassDef | None:
    """The class of the program that a network is put together of, for a parameter such as `block`."""
    if not re.fullmatch(r"(?:\w+_)?block(?:_\w+)?", name):
        return None
    for node in top_level(case.source):
        if isinstance(node, ast.ClassDef) and re.search(r"block|bottleneck", node.name, re.IGNORECASE):
            return node
    return None


_BY_NAME = {
    "device": ('"cpu"', "the CPU is there everywhere"),
    "activation": ('"relu"', GUESS),
    "nonlinearity": ('"relu"', GUESS),
    "rnn_type": ('"LSTM"', GUESS),
    "filter_sizes": ("[3, 4, 5]", GUESS),
    "kernel_sizes": ("[3, 4, 5]", GUESS),
    "hidden_layers": ("[32, 32]", GUESS),
    "hidden_sizes": ("[32, 32]", GUESS),
    "input_shape": ("(32, 32, 3)", GUESS),
    "img_shape": ("(32, 32, 3)", GUESS),
}


_WRITTEN = re.compile(
    r"(?:save|snapshot|checkpoint|ckpt|log|out(?:put)?|result|model|tb)s?_?(?:dir|folder|path|root)", re.IGNORECASE
)
"""Names of folders that are written into."""


def _of_its_kind(name: str) -> Known | None:
    if _WRITTEN.fullmatch(name):
        return Known('"made"', "a folder to write into")
    found = _BY_NAME.get(name.lower())
    return Known(*found) if found else None


def _annotated(annotation: ast.expr) -> Known | None:
    """A value for an annotation of a plain type."""
    values = {"int": "16", "float": "0.5", "bool": "False"}
    code = values.get(ast.unparse(annotation))
    return Known(code, GUESS) if code is not None else None


def _inherited(case: Case, node: ast.ClassDef, name: str, depth: int = 0) -> ast.FunctionDef | None:
    """A method of a class or of the classes of the program that it comes from."""
    own = method(node, name)
    if own is not None or depth > _DEEP:
        return own
    bases = (case.source.definition(base) for base in node.bases)
    found = (_inherited(case, base, name, depth + 1) for base in bases if isinstance(base, ast.ClassDef))
    return next(filter(None, found), None)


def returns_model(case: Case, node: Definition, depth: int = 0) -> bool:
    """Whether a function returns a network that it builds."""
    if isinstance(node, ast.ClassDef) or depth > _DEEP:
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.Return) and part.value is not None and _is_built(case, part.value, depth):
            return True
    return False


def _is_built(case: Case, value: ast.expr, depth: int) -> bool:
    call = value if isinstance(value, ast.Call) else case.source.constructor(value)
    if call is None:
        return any(_is_built(case, one, depth + 1) for one in case.source.bindings(value)) if depth <= _DEEP else False
    return makes_network(case, call, depth + 1)


def makes_network(case: Case, call: ast.Call, depth: int = 0) -> bool:
    """Whether a call returns a network: of a container, of a class of the program, of a function that builds one."""
    if (case.source.qualified(call.func) or "") in CONTAINERS:
        return True
    defined = case.source.definition(call.func)
    if isinstance(defined, ast.ClassDef):
        return is_model(kind_of(case, defined))
    return defined is not None and returns_model(case, defined, depth)


SETTINGS = re.compile(
    r"args|opts?|options|config|cfg|conf|params|hparams|hps|hp|flags|settings|configs?", re.IGNORECASE
)


def settings_of(case: Case, name: str, nodes: Iterable[ast.AST]) -> str | None:
    """A settings object for `name` where it is read by attribute or by key: a namespace or a dictionary with usual
    values.

    `None` where it is not read like that, or where one of the values is not told by its name.
    """
    attributes: set[str] = set()
    keys: set[str] = set()
    for part in (part for node in nodes for part in ast.walk(node)):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and _is_named(part.value, name):
            if isinstance(part, ast.Attribute):
                attributes.add(part.attr)
            else:
                keys.update(strings([part.slice]))
    of_mapping = {"get", "items", "keys", "values", "update", "copy", "__dict__", "setdefault", "pop"}
    names = keys or attributes - of_mapping
    if not names:
        return None
    values: dict[str, str] = {}
    for one in sorted(names):
        known = value_of(case, one) or _of_its_kind(one) or _compared(case, one)
        if known is None:
            return None
        values[one] = known.code
    if keys:
        return "{" + ", ".join(f"{key!r}: {value}" for key, value in values.items()) + "}"
    return f"__import__('types').SimpleNamespace({', '.join(f'{key}={value}' for key, value in values.items())})"


_USUAL_WORDS = ("lstm", "adam", "relu", "train")
"""Of several words the one that is chosen most."""


def _compared(case: Case, setting: str) -> Known | None:
    """A word that the program compares a setting with: `args.model == "lstm"`; the most usual of them, or the first."""
    words = choices.words_of(case.source, lambda node: isinstance(node, ast.Attribute) and node.attr == setting)
    if not words:
        return None
    word = next((word for word in words if word.lower() in _USUAL_WORDS), next(iter(words)))
    return Known(word if word.isdigit() else repr(word), f"line {words[word]}: the program compares it with that")


def _is_named(node: ast.expr, name: str) -> bool:
    """Whether an expression is a name, or the attribute of the object that keeps it: `self.args` for `args`."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.value, ast.Name) and node.value.id == "self"
    return isinstance(node, ast.Name) and node.id == name
