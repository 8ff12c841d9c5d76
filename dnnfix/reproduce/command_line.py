"""What a program is called with: arguments that `argparse`, `click`, `fire`, absl's flags or `sys.argv` ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.paths import MADE
from dnnfix.reproduce.sizes import GUESS, Known, value_of
from dnnfix.reproduce.syntax import keyword, last_name, texts
from dnnfix.source.program import Source

ACTION = EditAction.HYPERPARAMETERS

_FOLDER = re.compile(
    r"(?:^|_|-)(?:dirs?|directory|folder|root|save|out|output|logs?|checkpoints?|results?|home)(?:_|-|$|path)",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"csv|file|path|data|images?|weights|model|input|corpus|text|json|src|train|test|valid|vocab|dataset", re.IGNORECASE
)
_WITHOUT_VALUE = frozenset({"store_true", "store_false", "store_const", "count", "help", "version", "append_const"})
_NUMBERS = {"builtins.int": "1", "builtins.float": "1.0"}


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Values for what has no default, where the user gave no arguments."""
    if case.arguments:
        return
    yield from _parsed(case)
    yield from _counted(case)
    yield from _commands(case)
    yield from _flags(case)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _value(case: Case, name: str, call: ast.Call | None) -> tuple[Known, str]:
    """The word for an argument, and code that makes what it names."""
    choices = keyword(call, "choices") if call is not None else None
    if isinstance(choices, (ast.List, ast.Tuple)) and choices.elts and isinstance(choices.elts[0], ast.Constant):
        return Known(str(choices.elts[0].value), f"line {choices.lineno}: the first of its choices"), ""
    kind = keyword(call, "type") if call is not None else None
    numeric = _NUMBERS.get(case.source.qualified(kind) or "") if kind is not None else None
    known = value_of(case, name.replace("-", "_"))
    if numeric is not None:
        return known or Known(
            numeric, f"a guess: nothing tells it but that it is a number (line {kind.lineno if kind else 1})"
        ), ""
    if _FOLDER.search(name):
        return Known(f"{MADE}/{name}", "a folder that is made for it"), _folder(f"{MADE}/{name}")
    if _FILE.search(name) and not (known and re.search(r"size|num|rate|epoch|batch", name)):
        suffix = _suffix(case.source, name)
        return Known(f"{MADE}/{name}{suffix}", "a path, as its name says"), _folder(MADE)
    if known is not None:
        return Known(known.code.strip("\"'"), known.evidence), ""
    return Known(MADE, GUESS), ""


def _folder(path: str) -> str:
    return f"import os as _made_os\n_made_os.makedirs({path!r}, exist_ok=True)"


def _suffix(source: Source, name: str) -> str:
    """The kind of file that a path names, after what reads it."""
    for kind in ("csv", "json", "npy", "npz", "txt", "h5", "pkl", "hdf5", "png", "jpg"):
        if kind in name.lower():
            return "" if name.lower().endswith("." + kind) else f".{kind}"
    words = source.words
    for word, suffix in (
        ("read_csv", ".csv"),
        ("loadtxt", ".txt"),
        ("h5py", ".h5"),
        ("pickle", ".pkl"),
        ("imread", ".png"),
    ):
        if word in words:
            return suffix
    return ""


# --- argparse


def _parsed(case: Case) -> Iterator[EditStep | Gap]:
    """Positional and required arguments of `argparse`, in their order."""
    source = case.source
    for call in source.all_calls:
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"):
            continue
        names = texts(call)
        if not names:
            continue
        positional = not names[0].startswith("-")
        action = keyword(call, "action")
        bare = isinstance(action, ast.Constant) and action.value in _WITHOUT_VALUE
        nargs = keyword(call, "nargs")
        optional = isinstance(nargs, ast.Constant) and nargs.value in ("?", "*")
        if bare or (positional and optional) or not (positional or _is_true(keyword(call, "required"))):
            continue
        name = max(names, key=len).lstrip("-")
        value, code = _value(case, name, call)
        words: tuple[str, ...] = (value.code,) if positional else (max(names, key=len), value.code)
        if isinstance(nargs, ast.Constant) and isinstance(nargs.value, int):
            words = (*words, *(value.code for _ in range(nargs.value - 1)))
        yield _given(words, value, call.lineno, code)


def _given(words: tuple[str, ...], value: Known, line: int, code: str = "") -> EditStep:
    return EditStep(
        ACTION,
        f"the program is called with {' '.join(words)}",
        value.evidence,
        line,
        scaffold=Scaffold(start=code, arguments=words),
    )


# --- sys.argv


def _counted(case: Case) -> Iterator[EditStep | Gap]:
    """As many words as the program reads of `sys.argv`."""
    source = case.source
    if any(isinstance(c.func, ast.Attribute) and c.func.attr == "parse_args" for c in source.all_calls):
        return
    read: dict[int, ast.Subscript] = {}
    for node in source.nodes(ast.Subscript):
        index = node.slice
        if source.qualified(node.value) != "sys.argv" or not isinstance(index, ast.Constant):
            continue
        if isinstance(index.value, int) and index.value > 0 and not _is_guarded(source, node):
            read.setdefault(index.value, node)
    for number in range(1, max(read, default=0) + 1):
        node_or_none = read.get(number)
        name, numeric = _meaning(source, node_or_none)
        if numeric:
            value, code = (
                value_of(case, name) or Known(numeric, "a guess: nothing tells it but that it is a number"),
                "",
            )
        else:
            value, code = _value(case, name or "argument", None)
        yield _given((value.code,), value, node_or_none.lineno if node_or_none else 1, code)


def _is_guarded(source: Source, node: ast.AST) -> bool:
    """Whether the program reads the word only where one was given: `if len(sys.argv) > 1`."""
    test: ast.If | ast.IfExp | None = source.enclosing(node, ast.If) or source.enclosing(node, ast.IfExp)
    if test is None:
        return False
    words = ast.unparse(test.test)
    return "sys.argv" in words and ">" in words and not any(part is node for part in ast.walk(test.test))


def _meaning(source: Source, node: ast.Subscript | None) -> tuple[str, str]:
    """The name that a word of `sys.argv` is kept under, and a number where it is read as one."""
    if node is None:
        return "", ""
    parent = source.parent(node)
    numeric = ""
    if isinstance(parent, ast.Call):
        numeric = _NUMBERS.get(source.qualified(parent.func) or "", "")
    statement = source.statement_of(node)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, numeric
    opened = isinstance(parent, ast.Call) and last_name(parent.func) in ("open", "read_csv", "load")
    return ("file" if opened else ""), numeric


# --- click, fire, absl


def _commands(case: Case) -> Iterator[EditStep | Gap]:
    """Required options and arguments of `click`, and what a function that `fire` calls requires."""
    source = case.source
    for call in source.calls("click.argument", "click.option"):
        names = texts(call)
        positional = source.qualified(call.func) == "click.argument"
        required = positional and not isinstance(keyword(call, "required"), ast.Constant)
        if not names or not (required or _is_true(keyword(call, "required"))):
            continue
        name = max(names, key=len).lstrip("-")
        value, code = _value(case, name, call)
        yield _given((value.code,) if positional else (max(names, key=len), value.code), value, call.lineno, code)
    for call in source.calls("fire.Fire"):
        function = source.definition(call.args[0]) if call.args else None
        if isinstance(function, ast.FunctionDef):
            needed = function.args.args[: len(function.args.args) - len(function.args.defaults)]
            for parameter in needed:
                value, code = _value(case, parameter.arg, None)
                yield _given((f"--{parameter.arg}={value.code}",), value, call.lineno, code)


def _flags(case: Case) -> Iterator[EditStep | Gap]:
    """Flags of absl that are marked as required."""
    source = case.source
    for call in source.all_calls:
        if (source.qualified(call.func) or "").rpartition(".")[2] not in (
            "mark_flag_as_required",
            "mark_flags_as_required",
        ):
            continue
        names = texts(call)
        for arg in call.args:
            if isinstance(arg, (ast.List, ast.Tuple)):
                names += [e.value for e in arg.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        for name in names:
            value, code = _value(case, name, None)
            yield _given((f"--{name}={value.code}",), value, call.lineno, code)
