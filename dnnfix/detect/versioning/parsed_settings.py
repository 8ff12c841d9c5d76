"""What a program reads of settings that a library's parser gave it: `training_args.evaluation_strategy` is `eval_strategy` today.

The fields of such settings are the arguments of their classes, so that the tables of these tell of both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.calls import said
from dnnfix.detect.versioning.imports import facts, removed_in
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.tables import Change
from dnnfix.records import Replace, Site
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words

PARSERS = words("transformers.HfArgumentParser transformers.hf_argparser.HfArgumentParser trl.TrlParser")
_PARSE = words("parse_args_into_dataclasses parse_args_and_config parse_json_file parse_yaml_file parse_dict")
"""Methods of a parser that give an object of each of its classes."""


def changed_settings(uses: Uses) -> Iterator[Hit]:
    """The fields of parsed settings that are called otherwise today, or that are gone and always had one value unless it was given."""
    source = uses.source
    if source.words.isdisjoint(_PARSE):
        return
    held = dict(_held(source))
    for field in uses.attributes():
        scope = source.enclosing(field, ast.FunctionDef)
        for kind in held.get((scope, field.value.id), ()) if isinstance(field.value, ast.Name) else ():
            change = _change(uses, kind, field.attr)
            if change is not None and (hit := _hit(source, field, change)) is not None:
                yield hit
                break


def _held(source: Source) -> Iterator[tuple[tuple[ast.FunctionDef | None, str], tuple[str, ...]]]:
    """By function and name, the classes that settings are of: that which the parser was given, or those it derives from."""
    for statement in source.nodes(ast.Assign):
        target, call = statement.targets[0], statement.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _PARSE):
            continue
        parser = source.constructor(call.func.value)
        if parser is None or source.qualified(parser.func) not in PARSERS:
            continue
        given = argument_value(parser, "dataclass_types", 0)
        classes = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        scope = source.enclosing(statement, ast.FunctionDef)
        for name, kind in zip(names, classes, strict=False):
            if isinstance(name, ast.Name) and kind is not None:
                yield (scope, name.id), tuple(_classes(source, kind))


def _classes(source: Source, kind: ast.expr) -> Iterator[str]:
    definition = source.definition(kind)
    bases = definition.bases if isinstance(definition, ast.ClassDef) else [kind]
    yield from (name for base in bases if (name := source.qualified(base)) is not None)


def _change(uses: Uses, kind: str, field: str) -> Change | None:
    for known in uses.knowing(field):
        change = known.argument(kind, field)
        if change is not None:
            return change
    return None


def _hit(source: Source, field: ast.Attribute, change: Change) -> Hit | None:
    site = source.site(field)
    if change.new and not change.values and not change.into:
        edit = Replace(site, f"{source.segment(source.site(field.value))}.{change.new}")
        title = f"read {change.new} instead of {change.old}"
    elif change.unset and isinstance(field.ctx, ast.Load):
        edit = _without(source, field) if change.unset == "False" else Replace(site, change.unset)
        title = f"leave out {change.old}, which is {change.unset} unless it is given"
    else:
        return None
    return Hit(
        site,
        said(change),
        title=title,
        edits=(edit,),
        exact=change.exact or bool(change.unset),
        removed=removed_in((change,)),
        evidence=facts(change),
    )


def _without(source: Source, field: ast.Attribute) -> Replace:
    """What is left of `a and not b` where `b` is false, and of `a or b`; else the value itself."""
    above = source.parent(field)
    is_denied = isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)
    part = above if isinstance(above, ast.UnaryOp) and is_denied else field
    test, cut = source.parent(part), source.site(part)
    if not isinstance(test, ast.BoolOp) or isinstance(test.op, ast.And) != is_denied:
        return Replace(cut, str(is_denied))
    whole, place = source.site(test), test.values.index(part)
    if place:
        before = source.site(test.values[place - 1])
        left = Site(whole.line, whole.column, before.end_line, before.end_column)
        right = Site(cut.end_line, cut.end_column, whole.end_line, whole.end_column)
        rest = source.segment(left) + source.segment(right)
    else:
        after = source.site(test.values[1])
        rest = source.segment(Site(after.line, after.column, whole.end_line, whole.end_column))
    is_whole = rest.count("(") == rest.count(")")  # not where an operand stands in brackets of its own
    return Replace(whole, rest) if is_whole else Replace(cut, str(is_denied))
