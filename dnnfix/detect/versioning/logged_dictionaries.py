"""Figures that a step of Lightning returned under "log": since 1.3 nothing logs them but `self.log_dict`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.epoch_ends import ENDS
from dnnfix.detect.versioning.lightning_modules import is_of_lightning_1, lightning_modules, own_method, returns
from dnnfix.detect.versioning.migration import Hit
from dnnfix.records import InsertBefore
from dnnfix.source.program import Source
from dnnfix.subject import Subject

RETURNING = ("training_step", *ENDS)
"""Methods of which a dictionary was looked through for figures."""

BAR = "progress_bar"

_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Dict, ast.expr_context)
"""What figures may be written of to be written twice."""

GUIDE = "https://github.com/Lightning-AI/pytorch-lightning/pull/6734"


def unlogged(subject: Subject) -> Iterator[Hit]:
    """The figures that modules of the program return to be logged."""
    source = subject.source
    if source.words.isdisjoint({"log", BAR}) or not is_of_lightning_1(source) or _reads_them(source):
        return
    for owner, package in lightning_modules(source).items():
        for method in filter(None, (own_method(owner, name) for name in RETURNING)):
            for statement in returns(method):
                entries = _entries(source, statement)
                figures = entries.get("log", entries.get(BAR))
                if figures is None:
                    continue
                lines = _logging(source, statement, entries, method.name)
                called = {ast.unparse(node) for node in ast.walk(method) if isinstance(node, ast.Call)}
                if lines and ast.unparse(ast.parse(lines[0])) in called:
                    continue  # they are logged as well
                yield Hit(
                    source.site(statement),
                    f"what {method.name} returns under log is not logged since Lightning 1.3; log_dict logs",
                    title="log the figures",
                    edits=(InsertBefore(source.site(statement), "\n".join(lines)),) if lines else (),
                    decline="" if lines else "give the figures to self.log_dict before",
                    exact=True,
                    removed={package: "1.3"},
                    evidence={"reference": GUIDE},
                )


def _reads_them(source: Source) -> bool:
    """Whether the program itself looks for the figures in what a step returned."""
    keys = (node.slice for node in source.nodes(ast.Subscript) if isinstance(node.ctx, ast.Load))
    return any(isinstance(key, ast.Constant) and key.value in ("log", BAR) for key in keys)


def _entries(source: Source, statement: ast.Return) -> dict[str, ast.expr]:
    """The entries of the dictionary that a statement returns, where it is seen as a whole."""
    value = statement.value
    values = source.bindings(value, statement) or source.bindings(value) if isinstance(value, ast.Name) else (value,)
    made = values[0] if len(values) == 1 else None
    if (
        isinstance(made, ast.Call)
        and (source.qualified(made.func) or "").endswith("OrderedDict")
        and len(made.args) == 1
    ):
        made = made.args[0]
    if not isinstance(made, ast.Dict):
        return {}
    pairs = zip(made.keys, made.values, strict=True)
    return {key.value: each for key, each in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _logging(source: Source, statement: ast.Return, entries: dict[str, ast.expr], method: str) -> list[str]:
    """The statements that log what is returned; none where it cannot be written twice."""
    figures, bar = entries.get("log"), entries.get(BAR)
    shown = bar is not None and (figures is None or ast.dump(figures) == ast.dump(bar))
    chosen = figures if figures is not None else bar
    if chosen is None or not all(isinstance(node, _PLAIN) for node in ast.walk(chosen)):
        return []
    key = "log" if figures is not None else BAR
    code = (
        f'{statement.value.id}["{key}"]'
        if isinstance(statement.value, ast.Name)
        else source.segment(source.site(chosen))
    )
    lines = [f"self.log_dict({code}{', prog_bar=True' if shown else ''})"]
    if method == "training_step":
        return lines
    known = _keys(source, chosen)
    for name in sorted(_monitored(source) & entries.keys() - known - {"log", BAR}):
        value = source.segment(source.site(entries[name]))
        lines.append(f'self.log("{name}", {value}, logger=False)')
    return lines


def _keys(source: Source, figures: ast.expr) -> set[object]:
    """The names of figures."""
    values = source.bindings(figures) if isinstance(figures, ast.Name) else (figures,)
    found = [each for each in values if isinstance(each, ast.Dict)]
    return {key.value for each in found for key in each.keys if isinstance(key, ast.Constant)}


def _monitored(source: Source) -> set[str]:
    """The figures by which the program saves, stops or schedules."""
    values = [k.value for call in source.all_calls for k in call.keywords if k.arg == "monitor"]
    for made in source.nodes(ast.Dict):
        pairs = zip(made.keys, made.values, strict=True)
        values += [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "monitor"]
    return {each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)}
