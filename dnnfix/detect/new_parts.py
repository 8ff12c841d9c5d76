"""Parts of a loaded model that its checkpoint does not have: a run is told of them, and sees whether they train."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.freezing import Freed, statements
from dnnfix.records import Edit, InsertAfter, Replace, SetArgument
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source
from dnnfix.subject import Subject

NEW_IN_TABLE = re.compile(r"^(\w[\w.]*)\s*\|\s*MISSING\b", re.MULTILINE)
NEW_IN_LIST = re.compile(r"newly initialized: \[([^\]]*)\]")
"""How transformers tells of weights that a checkpoint does not have: a table since version 5, a list before."""


OF_SUMMARIES = frozenset({"pooler"})
"""Parts that few programs use the output of: that they do not train says nothing."""


def frozen(subject: Subject) -> tuple[str, ...]:
    """The parts of a loaded model that its checkpoint does not have, and that stay as they were initialized while others train."""
    warnings = subject.trace.warnings if subject.trace is not None else ()
    told = [name for warning in warnings for name in _new(warning.message)]
    parameters = subject.network.parameters
    if not told or not any(each.trainable and each.update for each in parameters):
        return ()
    found = []
    for part in dict.fromkeys(name.partition(".")[0] for name in told if "." in name):
        own = [each for each in parameters if f".{part}." in f".{each.name}"]
        is_new = all(any(f".{each.name}".endswith(f".{name}") for name in told) for each in own)
        if own and is_new and part not in OF_SUMMARIES and not any(each.trainable for each in own):
            found.append(part)
    return tuple(found)


def _new(message: str) -> Iterator[str]:
    yield from NEW_IN_TABLE.findall(message)
    for said in NEW_IN_LIST.findall(message):
        yield from re.findall(r"['\"]([\w.]+)['\"]", said)


def trained(source: Source, parts: tuple[str, ...]) -> Iterator[tuple[ast.AST, Freed]]:
    """How new parts of a model are trained beside the others: as parts that an adapter keeps, or after the rest was frozen."""
    configs = [call for call in source.all_calls if _is_config(source, call)]
    if len(configs) == 1 and None not in {keyword.arg for keyword in configs[0].keywords}:
        site, kept = source.site(configs[0]), keyword_value(configs[0], "modules_to_save")
        texts = ", ".join(f'"{part}"' for part in parts)
        edit: Edit = SetArgument(site, "modules_to_save", f"[{texts}]")
        if isinstance(kept, ast.List):
            others = ", ".join(source.segment(source.site(each)) for each in kept.elts)
            edit = Replace(source.site(kept), f"[{others}, {texts}]" if others else f"[{texts}]")
        if kept is None or isinstance(kept, ast.List) or (isinstance(kept, ast.Constant) and kept.value is None):
            yield configs[0], ("Train and save the new part with the adapter", (edit,), 0.9)
        return
    last = next((node for node in reversed(statements(source)) if isinstance(node, ast.stmt)), None)
    if last is None or configs:
        return
    freezing = source.enclosing(last, ast.For) or last
    root = _frozen_by(freezing)
    if root:
        lines = [f"for parameter in {root}.{part}.parameters():\n    parameter.requires_grad = True" for part in parts]
        yield freezing, ("Train the new part", (InsertAfter(source.site(freezing), "\n".join(lines)),), 0.85)


def _is_config(source: Source, call: ast.Call) -> bool:
    name = source.qualified(call.func) or ""
    return name.startswith("peft.") and name.endswith("Config")


def _frozen_by(statement: ast.AST) -> str:
    """The model that a loop or a call freezes, as it is written."""
    call = getattr(statement, "iter" if isinstance(statement, ast.For) else "value", None)
    function = call.func if isinstance(call, ast.Call) else None
    ways = ("parameters", "named_parameters", "requires_grad_")
    return ast.unparse(function.value) if isinstance(function, ast.Attribute) and function.attr in ways else ""
