"""The fields of classes that a parser takes for options: `HfArgumentParser((ModelArguments, TrainingArguments))`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dnnfix.reproduce.arguments import asked, options
from dnnfix.reproduce.arguments.demands import demands
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source, once
from dnnfix.source.tree import last_name

_PARSERS = frozenset({"HfArgumentParser", "TrlParser", "H4ArgumentParser"})
_OF_LIBRARIES = ("model_name_or_path", "dataset_name")
"""Fields of the libraries' own classes that have a default with which nothing can be loaded."""

_SETTINGS = ("TrainingArguments", "Config")
"""How the libraries' classes of settings are called that have a folder for results."""


@dataclass(frozen=True)
class Field:
    """A field that the program is given a value for: its name, the line that says so, and how its values are written."""

    name: str
    line: int
    kind: str
    """Its annotation; empty where none is known."""
    by_default: ast.expr | None
    """The default that is of no use; `None` where it has none."""


@once
def classes(source: Source) -> tuple[ast.expr, ...]:
    """The classes that the program's parsers are made of, as they are named there."""
    found: list[ast.expr] = []
    for call in source.nodes(ast.Call):
        if last_name(call.func) not in _PARSERS or not call.args:
            continue
        given = call.args[0]
        values = source.bindings(given) if isinstance(given, ast.Name) and source.definition(given) is None else ()
        for value in values or (given,):
            found += value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
    return tuple(found)


def needed(source: Source) -> Iterator[Field]:
    """The fields that have no default, those without which the program ends, paths that a training reads, and those of a library's class."""
    fields = _all_fields(source)
    wanted = _insisted_on(source, fields)
    for name, field in fields.items():
        if field.by_default is None or name in wanted or _is_path_to_train(source, field):
            yield field
    of_libraries = any(not isinstance(source.definition(one), ast.ClassDef) for one in classes(source))
    for name in _OF_LIBRARIES if of_libraries else ():
        reads = asked.read_as(source, name)
        if reads and name not in fields:
            yield Field(name, reads[0].lineno, "str", ast.Constant(None))


def by_default(source: Source) -> dict[str, ast.expr | None]:
    """What the fields of the program's own classes have where a parser is given nothing else."""
    return {name: field.by_default for name, field in _all_fields(source).items()}


def _all_fields(source: Source) -> dict[str, Field]:
    return {
        name: field
        for one in classes(source)
        if isinstance(definition := source.definition(one), ast.ClassDef)
        for name, field in _fields(definition)
    }


def trains_with(source: Source) -> ast.expr | None:
    """The class of settings of a trainer among those of a parser."""
    return next((one for one in classes(source) if (last_name(one) or "").endswith(_SETTINGS)), None)


def _fields(definition: ast.ClassDef) -> Iterator[tuple[str, Field]]:
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name, value = statement.target.id, statement.value
            if isinstance(value, ast.Call) and last_name(value.func) == "field":
                made = keyword_value(value, "default_factory")
                value = keyword_value(value, "default") or made
            yield name, Field(name, statement.lineno, ast.unparse(statement.annotation), value)


def _is_path_to_train(source: Source, field: Field) -> bool:
    """Whether a field without a value is read as the path of what the program trains on."""
    is_empty = field.by_default is not None and _is_none(field.by_default)
    return is_empty and "train" in field.name and asked.path_use(source, field.name) is not None


def _insisted_on(source: Source, fields: Mapping[str, Field]) -> frozenset[str]:
    """The fields without which a test ends the program; of several of which one will do, one. Nothing is turned on for some models alone."""
    has_value = {name: field.by_default is None or not _is_none(field.by_default) for name, field in fields.items()}
    found = [(demand, demand.chosen(has_value)) for demand in demands(source) if demand.ends]
    return frozenset(
        name for demand, name in found if name and not (demand.asks_more and fields[name].kind.endswith("bool"))
    )


def _is_none(default: ast.expr) -> bool:
    return isinstance(default, ast.Constant) and options.is_nothing(default.value)
