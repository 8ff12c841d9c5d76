"""The columns and rows of a data set of the hub that a program names, which a data set that is made up for it has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from dnnfix.reproduce.arguments import options, parsed_classes
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data.numbers import numbers_of
from dnnfix.reproduce.syntax import string, strings
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

_Function = ast.FunctionDef | ast.Lambda

FROM_DISK = ("datasets.load_from_disk", "datasets.Dataset.load_from_disk", "datasets.DatasetDict.load_from_disk")
LOADED = ("datasets.load_dataset", *FROM_DISK)
"""What gives a data set."""

PARTS = words("train test validation valid dev val eval unsupervised train_sft test_sft")

_ROW_FUNCTIONS = words("map filter with_transform set_transform sort")
"""Methods of a data set that call a function for its rows."""

_OF_NETWORKS = words("input_ids attention_mask token_type_ids pixel_values decoder_input_ids labels input_values")
"""Columns that a tokenizer or processor makes; a data set does not bring them."""

_WANTED_BY_TRAINER = {
    "RewardTrainer": "chosen rejected",
    "DPOTrainer": "prompt chosen rejected",
    "CPOTrainer": "prompt chosen rejected",
    "ORPOTrainer": "prompt chosen rejected",
    "KTOTrainer": "prompt completion label",
    "GRPOTrainer": "prompt",
    "RLOOTrainer": "prompt",
    "PRMTrainer": "prompt completions labels",
}
"""Columns that the trainers of trl read."""

_OPTION = re.compile(r"(?:^|_)(?:column|field)(?:_name)?$")
"""How options are called that name a column."""

_OF_COLUMNS = re.compile(r"column_names|columns$|features$")
"""How the names of a data set's columns are kept."""

_MOST_NAMED = 20
"""Columns that one loop goes through."""

_NAME = re.compile(r"[A-Za-z_]\w*")


def of_hub(case: Case) -> tuple[str, ...]:
    """The columns that a program names: of the set, in functions for its rows, where it removes or renames them, as the default of an
    option; and the one that it missed in the last run.
    """
    source = case.source
    found: dict[str, None] = dict.fromkeys((*_by_default(source), *_missed(case), *_looked_for(source)))
    brought = dict.fromkeys(column for column in _asked_of_sets(source) if column not in PARTS)
    stored = {string(node.slice) for node in source.nodes(ast.Subscript) if not isinstance(node.ctx, ast.Load)}
    for function in _row_functions(source):
        found.update(dict.fromkeys(_asked_of_rows(source, function, 0, set())))
        made = (node for node in ast.walk(function) if isinstance(node, ast.Dict))
        stored.update(string(key) for node in made for key in node.keys)
    for call in source.all_calls:
        name = last_name(call.func)
        if name in ("remove_columns", "select_columns", "map"):
            given = (
                argument_value(call, "column_names", 0)
                if name != "map"
                else argument_value(call, "remove_columns", None)
            )
            parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
            found.update(dict.fromkeys(string(part) or "" for part in parts))
        elif name == "rename_column":
            found[string(argument_value(call, "original_column_name", 0)) or ""] = None
            stored.add(string(argument_value(call, "new_column_name", 1)))
        found[string(argument_value(call, "dataset_text_field", None)) or ""] = None
        found.update(dict.fromkeys(_WANTED_BY_TRAINER.get(name, "").split()))
    kept = [
        name
        for name in found
        if name and name not in brought and name not in stored and name not in _OF_NETWORKS | PARTS
    ]
    # What is read from the disk and not mapped was tokenized before it was saved.
    tokenized = next(source.calls(*FROM_DISK), None) is not None and next(_row_functions(source), None) is None
    return (*kept, *brought, *(("input_ids", "attention_mask") if tokenized else ()))


def _by_default(source: Source) -> Iterator[str]:
    """The columns that options and fields of parsers name where nothing else is given: `--image_column` with `default="image"`."""
    yield from (
        value for name, value in options.defaults(source).items() if _OPTION.search(name) and isinstance(value, str)
    )
    for name, default in parsed_classes.by_default(source).items():
        if _OPTION.search(name) and (value := string(default)):
            yield value


def _missed(case: Case) -> Iterator[str]:
    """The column for want of which the last run ended, on a line that looks something up by a name."""
    crash = case.crash
    if crash is None or crash.kind != "KeyError" or not crash.frames:
        return
    site, name = crash.frames[-1].site, crash.message.strip().strip("'\"")
    lookups = (node for node in case.source.nodes(ast.Subscript) if isinstance(node.ctx, ast.Load))
    if (
        not site.path
        and _NAME.fullmatch(name)
        and any(node.lineno <= site.line <= (node.end_lineno or 0) for node in lookups)
    ):
        yield name


def _looked_for(source: Source) -> Iterator[str]:
    """The columns that a program looks for among those of a data set, and the label that it looks for in rows.

    As in `"tokens" in column_names`, with an option's default in `f"{args.task}_tags"`, and in `"label" if "label" in rows[0] else "labels"`.
    """
    defaults = {**options.defaults(source), **_constants(parsed_classes.by_default(source))}
    for test in source.nodes(ast.Compare):
        if not isinstance(test.ops[0], ast.In):
            continue
        of_columns = _OF_COLUMNS.search(last_name(test.comparators[0])) is not None
        name = string(test.left)
        if name == "label" or (name is not None and of_columns):
            yield name
        elif of_columns and isinstance(test.left, ast.JoinedStr):
            parts = [
                defaults.get(last_name(part.value)) if isinstance(part, ast.FormattedValue) else string(part)
                for part in test.left.values
            ]
            if all(isinstance(part, str) for part in parts):
                yield "".join(map(str, parts))


def _constants(values: Mapping[str, ast.expr | None]) -> dict[str, str]:
    return {name: text for name, value in values.items() if value is not None and (text := string(value)) is not None}


def _asked_of_sets(source: Source) -> Iterator[str]:
    """The columns that a program asks a data set itself for, one of its parts, a row of it or its `features`."""
    for node in source.nodes(ast.Subscript):
        if not isinstance(node, ast.Subscript) or (column := string(node.slice)) is None:
            continue
        of: ast.expr = node.value
        while isinstance(of, ast.Subscript) or (isinstance(of, ast.Attribute) and of.attr == "features"):
            of = of.value
        made = source.constructor(of)
        if made is not None and source.qualified(made.func) in LOADED:
            yield column
    for inside, target, over in _loops(source):
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.args:
            over = over.args[0]  # the data set in `enumerate(data)` or `tqdm(data)`
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        if isinstance(target, ast.Name) and _is_loaded(source, over):
            yield from _asked_of(source, inside, target.id)


def _loops(source: Source) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """The loops and comprehensions of lists, with what each binds and what it goes over."""
    yield from ((loop, loop.target, loop.iter) for loop in source.nodes(ast.For))
    for made in source.nodes(ast.ListComp):
        yield from ((made, part.target, part.iter) for part in made.generators)


def _is_loaded(source: Source, node: ast.expr, depth: int = 6) -> bool:
    """Whether an expression is a data set that was loaded, a part of it, or what its methods make of it."""
    if isinstance(node, ast.Subscript):
        return _is_loaded(source, node.value, depth)
    if isinstance(node, ast.Name):
        return depth > 0 and any(_is_loaded(source, value, depth - 1) for value in source.bindings(node))
    if not isinstance(node, ast.Call):
        return False
    below = node.func.value if isinstance(node.func, ast.Attribute) else None
    return source.qualified(node.func) in LOADED or (below is not None and _is_loaded(source, below, depth))


def _asked_of_rows(source: Source, function: _Function, place: int, seen: set[_Function]) -> Iterator[str]:
    """The columns that a function asks its parameter at `place` for, itself or in functions that it hands it on to."""
    parameters = [argument.arg for argument in function.args.args if argument.arg != "self"]
    if function in seen or place >= len(parameters):
        return
    seen.add(function)
    row = parameters[place]
    yield from _asked_of(source, function, row)
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            given = [isinstance(argument, ast.Name) and argument.id == row for argument in node.args]
            called = source.definition(node.func) if True in given else None
            if isinstance(called, ast.FunctionDef):
                yield from _asked_of_rows(source, called, given.index(True), seen)


def _asked_of(source: Source, within: ast.AST, row: str) -> Iterator[str]:
    """The columns that a row of this name is asked for."""
    for node in ast.walk(within):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == row:
            yield from strings([node.slice, *source.bindings(node.slice)])
            yield from _named_in_turn(source, node.slice)


def _named_in_turn(source: Source, place: ast.expr) -> Iterator[str]:
    """The columns whose names a loop goes through: `for end in [f"ending{i}" for i in range(4)]`."""
    if not isinstance(place, ast.Name):
        return
    for _inside, target, over in _loops(source):
        if isinstance(target, ast.Name) and target.id == place.id:
            for names in (over, *source.bindings(over)):
                if isinstance(names, (ast.List, ast.Tuple)):
                    yield from strings(names.elts)
                elif isinstance(names, ast.ListComp):
                    yield from _counted(names)


def _counted(made: ast.ListComp) -> Iterator[str]:
    """The texts of `[f"ending{i}" for i in range(4)]`."""
    match made:
        case ast.ListComp(
            elt=ast.JoinedStr(values=[ast.Constant(value=str(before)), ast.FormattedValue(value=ast.Name(id=counter))]),
            generators=[
                ast.comprehension(
                    target=ast.Name(id=counted),
                    iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]),
                )
            ],
        ) if counter == counted:
            yield from (f"{before}{number}" for number in range(min(count, _MOST_NAMED)))


def _row_functions(source: Source) -> Iterator[_Function]:
    """The functions that a program gives to the methods of a data set that call one for its rows."""
    for call in source.all_calls:
        given = argument_value(call, "formatting_func", None)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ROW_FUNCTIONS:
            given = argument_value(call, "function", 0) or argument_value(call, "transform", 0)
        if isinstance(given, ast.Lambda):
            yield given
        elif given is not None and isinstance(found := source.definition(given), ast.FunctionDef):
            yield found


def rows_taken(source: Source) -> Iterator[int]:
    """How many rows a program takes of a data set: `select(range(2000))`; twice as many as it puts apart: `train_test_split(test_size=2000)`."""
    for call in source.all_calls:
        given = call.args[0] if last_name(call.func) in ("select", "take", "skip") and call.args else None
        ends = given.args if isinstance(given, ast.Call) else [given]
        yield from (end.value for end in ends if isinstance(end, ast.Constant) and type(end.value) is int)
        if last_name(call.func) == "train_test_split":
            for name in ("test_size", "train_size"):
                yield from (2 * number for number in numbers_of(source, argument_value(call, name, None)))
