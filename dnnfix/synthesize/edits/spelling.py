"""How a program writes a name of a library: by the imports that it has, else by one that is added."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.records import AddImport, Edit
from dnnfix.source.names import canonical
from dnnfix.subject import Subject

USUAL = {
    "torch.nn": ("nn", "import torch.nn as nn"),
    "torch.nn.functional": ("F", "import torch.nn.functional as F"),
    "torch": ("torch", "import torch"),
    "numpy": ("np", "import numpy as np"),
    "keras": ("keras", "import keras"),
    "keras.layers": ("layers", "from keras import layers"),
    "keras.utils": ("keras.utils", "import keras"),
}
"""The spelling that most programs use for a module, and the import behind it."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """`code` is what to write; `imports` are the edits that make it mean what it should."""

    code: str
    imports: tuple[AddImport, ...] = ()


def spell(subject: Subject, name: str) -> Spelling:
    """The shortest way in which the program already reaches the canonical `name`, else the usual one with its import.

    Keras of TensorFlow is spelled through the module that the program imports it from.
    """
    bound = _imported(subject)
    best: str | None = None
    for alias, meant in bound.items():
        if meant == name:
            spelled = alias
        elif name.startswith(f"{meant}."):
            spelled = f"{alias}{name[len(meant) :]}"
        else:
            continue
        if best is None or len(spelled) < len(best):
            best = spelled
    if best is not None:
        return Spelling(best)
    module, _, last = name.rpartition(".")
    if "tensorflow" in subject.source.frameworks and module.startswith("keras"):
        return Spelling(last, (AddImport(f"from tensorflow.{module} import {last}"),))
    if module in USUAL:
        alias, statement = USUAL[module]
        return Spelling(f"{alias}.{last}", (AddImport(statement),))
    return Spelling(last, (AddImport(f"from {module} import {last}"),))


def _imported(subject: Subject) -> dict[str, str]:
    """What the imports at the module's top bind, by alias, in canonical names."""
    bound: dict[str, str] = {}
    for statement in subject.source.tree.body:
        if isinstance(statement, ast.Import):
            for item in statement.names:
                if item.asname:
                    bound[item.asname] = canonical(item.name)
                elif "." not in item.name:
                    bound[item.name] = canonical(item.name)
                else:
                    bound[item.name.split(".")[0]] = canonical(item.name.split(".")[0])
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            for item in statement.names:
                if item.name != "*":
                    bound[item.asname or item.name] = canonical(f"{statement.module}.{item.name}")
    return bound


def sibling(subject: Subject, like: ast.expr, name: str) -> tuple[str, tuple[Edit, ...]] | None:
    """How to write `name` from the module that `like` (the function of a call) comes from, and the import it needs.

    `nn.Linear` gives `nn.Flatten`; an imported `Dense` gives `Flatten` and, where it is not imported yet, its import.
    `None` where the module is unknown.
    """
    if isinstance(like, ast.Attribute):
        return f"{subject.text(subject.source.site(like.value))}.{name}", ()
    written = subject.source.written(like)
    if written is None or "." not in written:
        return None
    module = written.rpartition(".")[0]
    if any(bound == name for bound, _ in subject.source.imported_names) or _starred(subject, module):
        return name, ()
    return name, (AddImport(f"from {module} import {name}"),)


def _starred(subject: Subject, module: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        and (node.module == module or module.startswith(f"{node.module}."))
        for node in subject.source.tree.body
    )  # fmt: skip


def imports(subject: Subject, name: str) -> bool:
    """Whether the program has the module under exactly this name (`torch`)."""
    return (name, name) in subject.source.imported_names
