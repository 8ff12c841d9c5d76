"""Source code of functions and classes that TensorFlow removed with version 1, cut out of `graphs/version1` as
strings.

The modules of `dnnfix_legacy/graphs/version1` are never imported: they are ordinary code, so that they can be compared with
TensorFlow 1 itself, and a program that keeps its graph gets those of their definitions that it needs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "version1"

_PLACES = {
    "cells": ("nn.rnn_cell", "contrib.rnn", "python.ops.rnn_cell", "python.ops.rnn_cell_impl", "models.rnn.rnn_cell"),
    "layers": ("layers",),
    "contrib_layers": ("contrib.layers", "contrib.slim"),
    "sequences": (
        "contrib.seq2seq",
        "contrib.legacy_seq2seq",
        "nn.seq2seq",
        "python.ops.seq2seq",
        "models.rnn.seq2seq",
    ),
}
"""By file, the modules of TensorFlow that had what it defines."""

_SAME = {"convolution2d": "conv2d", "convolution2d_transpose": "conv2d_transpose", "one_hot": "one_hot_encoding"}
"""Second names of functions of `tf.contrib.layers`."""

_NO_MATTER: dict[str, tuple[object, ...]] = {
    "state_is_tuple": (True,),
    "data_format": (None, "channels_last", "NHWC", "NWC"),
    "axis": (-1, 3),
    "fused": (None, True, False),
    "input_size": (None,),
    "dtype": (None,),
}
"""Arguments that can go where they have one of these values; any other one can where it is `None` or `False`."""


@dataclass(frozen=True, slots=True)
class OldFunction:
    """One definition: its name, its code, the definitions and imports that it needs, and its parameters."""

    name: str
    file: str
    text: str
    needs: tuple[str, ...]
    imports: tuple[str, ...]
    positional: int
    """How many arguments it takes by place, -1 for any number."""
    keywords: frozenset[str]

    def unplaced(self, call: ast.Call) -> list[ast.expr]:
        """What is given by place behind the last argument that is taken so."""
        return call.args[self.positional :] if self.positional >= 0 else []

    def refused(self, call: ast.Call, module: str = "") -> str:
        """Why a call that was written for TensorFlow 1 does not fit; an empty string where it does."""
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return ""  # what is unpacked is mostly what the function knows
        if any(not _not_used(self.name, module, argument) for argument in self.unplaced(call)):
            return f"{self.name} has more positional arguments than can be read"
        for keyword in call.keywords:
            if keyword.arg not in self.keywords and not superfluous(keyword):
                return f"{self.name} is called with {keyword.arg}, which has no replacement"
        return ""


def _not_used(name: str, module: str, argument: ast.expr) -> bool:
    """Whether the second argument of `LSTMCell` says nothing: the size of the inputs before 1.0, then peepholes or not."""
    of_first = module.startswith(("models.", "python.")) and not isinstance(argument, ast.Constant)
    return name == "LSTMCell" and (of_first or isinstance(argument, ast.Constant) and argument.value in (None, False))


def superfluous(keyword: ast.keyword) -> bool:
    """Whether an argument that the function does not know says no more than that it is not used."""
    try:
        value = ast.literal_eval(keyword.value)
    except (TypeError, ValueError):
        return False
    return value in _NO_MATTER.get(keyword.arg or "", (None, False))


def old_function(name: str) -> OldFunction | None:
    """The definition for a name of version 1, given without `tensorflow.`; `None` where there is none."""
    module, _, leaf = name.rpartition(".")
    for file, places in _PLACES.items():
        if module in places:
            return _definitions(file).get(_SAME.get(leaf, leaf) if file == "contrib_layers" else leaf)
    return None


def definitions(functions: Iterable[OldFunction], tensorflow: str, renamed: Mapping[OldFunction, str]) -> str:
    """The code of the functions with all that they need; `tensorflow` is the module's name, `renamed` has new names."""
    parts: list[str] = []
    wanted = list(functions)
    for file in _PLACES:
        known = _definitions(file)
        names = {function.name for function in wanted if function.file == file}
        pending = list(names)
        while pending:
            needed = known[pending.pop()].needs
            pending += [name for name in needed if name not in names]
            names.update(needed)
        for name, function in known.items():
            if name in names:
                text = re.sub(r"(?<![\w.`])tf\.", f"{tensorflow}.", function.text)
                new = renamed.get(function, name)
                parts.append(re.sub(rf"(?<![\w.]){name}(?=[(:])", new, text) if new != name else text)
    return "\n\n\n".join(parts)


def imports(functions: Iterable[OldFunction]) -> tuple[str, ...]:
    """The import statements that the functions need beside TensorFlow."""
    found: dict[str, None] = {}
    for function in functions:
        known = _definitions(function.file)
        for name in (function.name, *function.needs):
            found.update(dict.fromkeys(known[name].imports))
    return tuple(found)


@cache
def _definitions(file: str) -> dict[str, OldFunction]:
    source = (FOLDER / f"{file}.py").read_text("utf-8")
    lines = source.splitlines()
    module = ast.parse(source)
    bound = {
        alias.asname or alias.name: ast.unparse(node)
        for node in module.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if alias.asname != "tf"
    }
    named = {name: node for node in module.body if (name := _name(node))}
    found = {}
    for name, node in named.items():
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        positional, keywords = _signature(node)
        found[name] = OldFunction(
            name=name,
            file=file,
            text="\n".join(lines[node.lineno - 1 : node.end_lineno]),
            needs=tuple(other for other in named if other in used and other != name),
            imports=tuple(statement for local, statement in bound.items() if local in used),
            positional=positional,
            keywords=keywords,
        )
    return found


def _name(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _signature(node: ast.stmt) -> tuple[int, frozenset[str]]:
    """How many arguments are taken by place, and the names of all."""
    itself = 0
    if isinstance(node, ast.ClassDef):
        itself = 1
        node = next((each for each in node.body if getattr(each, "name", "") == "__init__"), node)
    if not isinstance(node, ast.FunctionDef):
        return -1, frozenset({"c", "h"})
    places, named = node.args.args[itself:], node.args.kwonlyargs
    return len(places), frozenset(each.arg for each in (*places, *named))
