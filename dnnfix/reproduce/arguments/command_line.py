"""Edit steps for a missing command line: what `argparse`, `click`, `fire`, absl flags or `sys.argv` require."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.loops.training_loop import method_calls
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.arguments import asked, choices, options, parsed_classes, usage
from dnnfix.reproduce.arguments.choices import says_train
from dnnfix.reproduce.arguments.demands import excluded, rank
from dnnfix.reproduce.arguments.options import WITHOUT_WORD, read_as
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness.sizes import GUESS, Known, value_of
from dnnfix.reproduce.harness.unused import top_level
from dnnfix.reproduce.paths import MADE
from dnnfix.reproduce.standins.hub_sets import made_known_set
from dnnfix.reproduce.syntax import named, string, strings
from dnnfix.source.arguments import argument_value, keyword_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_true, last_name

ACTION = EditAction.HYPERPARAMETERS

MOST_WORDS = 100
"""Words of a command line that are made up for one argument, or one program, at most."""

_FOLDER = re.compile(
    r"(?:^|_|-)(?:dirs?|directory|folder|root|save|out|output|logs?|checkpoints?|results?|home)(?:_|-|$|path)",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"csv|file|path|data|images?|weights|model|input|corpus|text|json|src|train|test|valid|vocab|dataset", re.IGNORECASE
)
_OF_HUB = re.compile(
    r"^(?:model|dataset|tokenizer|processor)_(?:name|id|name_or_path)$|model_name|dataset_name|model_id"
)
_PROSE = words(
    """a an and are as at be by can cannot does for from has if in into is it may must needs not of on only or should so than
    that the then they this to together was when where which while will with without you"""
)
"""Words after an option by which a sentence goes on: what stands there is no example of its value."""

_NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?")

_NUMBERS = {"builtins.int": "1", "builtins.float": "1.0"}
_NUMBERS_BY_NAME = {"int": "1", "float": "1.0", "bool": "True"}
_PARSING = ("parse_args", "parse_known_args", "parse_args_into_dataclasses", "parse_args_and_config")


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """What the program's own text or a README calls it with, and values for what else has no default; nothing where the user gave arguments."""
    if case.arguments:
        return
    shown = usage.shown(case.source, case.folder, case.said) if _parses(case.source) else None
    if shown is not None:
        yield from _shown(case, shown)
    given = {read_as(option[0].split("=")[0]) for option in shown.options} if shown is not None else set()
    alone = shown.alone if shown is not None else 0
    for step in (
        *_parsed(case),
        *_of_classes(case),
        *_counted(case),
        *_looked_for(case),
        *_commands(case),
        *_flags(case),
    ):
        words = step.scaffold.arguments if isinstance(step, EditStep) else ()
        if shown is not None and words and shown.gives(words[0]):
            continue
        if alone and words and not words[0].startswith("-"):
            alone -= 1
            continue
        name = read_as(words[0].split("=")[0]) if words else ""
        if not any(name in together and together - {name} <= given for together in excluded(case.source)):
            given.add(name)
            yield step


def _parses(source: Source) -> bool:
    """Whether the program reads a command line by a parser."""
    return bool(method_calls(source, *_PARSING) or source.calls("fire.Fire") or parsed_classes.classes(source))


def _shown(case: Case, shown: usage.Shown) -> Iterator[EditStep]:
    """The words of a command line that is shown, as far as the parser knows them; of a README no numbers that have a default."""
    asked = [
        (strings(call.args), keyword_value(call, "required")) for call in method_calls(case.source, "add_argument")
    ]
    known = {name for names, _ in asked for name in names}
    required = {name for names, is_required in asked for name in names if is_true(is_required)}
    of_classes = parsed_classes.classes(case.source)
    defaults = options.defaults(case.source) if shown.by_readme else {}
    for option in shown.options:
        name, value = option[0].split("=")[0], option[-1].rpartition("=")[2]
        has_one = name not in required and not options.is_nothing(defaults.get(read_as(name)))
        if has_one and _NUMBER.fullmatch(value):
            continue
        if of_classes or not known or name in known or not name.startswith("-"):
            yield _given(option, Known("", f"{shown.where}: the command line that is shown"), shown.line)
    if of_classes:
        why = "a command line that is shown may be older than the classes"
        start = Scaffold(start="made_known_words_only()")
        yield EditStep(ACTION, "words that no class of the parser knows are left out", why, shown.line, False, start)


def _of_classes(case: Case) -> Iterator[EditStep]:
    """Fields of the classes that a parser is made of, and that a training is wanted."""
    source = case.source
    for field in parsed_classes.needed(source):
        if field.kind in _NUMBERS_BY_NAME:
            value, code = Known(_NUMBERS_BY_NAME[field.kind], GUESS), ""
        elif _OF_HUB.search(field.name):
            made = Known(f"{MADE}/{field.name}", "a name on the hub, as what the field is called says")
            value, code = _set_of_table(case.source, field.name) or made, ""
        else:
            value, code = _value(case, field.name, None)
        yield _given((f"--{field.name}", value.code), value, field.line, code)
    settings = parsed_classes.trains_with(source)
    if settings is not None:
        folder = f"{MADE}/output_dir"
        yield _given(
            ("--output_dir", folder), Known(folder, "a folder that is made for it"), settings.lineno, _folder(folder)
        )
        reads = asked.read_as(source, "do_train")
        if reads:
            yield _given(
                ("--do_train",), Known("", f"line {reads[0].lineno}: which leads to a training"), reads[0].lineno
            )


def _value(case: Case, name: str, call: ast.Call | None) -> tuple[Known, str]:
    """The word for an argument, and code that makes what it names."""
    compared = choices.chosen(case.source, _is_called(name))
    if compared is not None:
        return _compared(compared), ""
    listed = keyword_value(call, "choices") if call is not None else None
    if (of_table := _set_of_table(case.source, name)) is not None:
        return of_table, ""
    if isinstance(listed, (ast.List, ast.Tuple)) and listed.elts and isinstance(listed.elts[0], ast.Constant):
        return Known(str(listed.elts[0].value), f"line {listed.lineno}: the first of its choices"), ""
    kind = keyword_value(call, "type") if call is not None else None
    numeric = _NUMBERS.get(case.source.qualified(kind) or "") if kind is not None else None
    examples = re.finditer(rf"--{re.escape(name)}[= ]+['\"]?(\w[\w./-]*)", case.source.text)
    written = next((one for one in examples if one[1][-1] != "." and one[1].lower() not in _PROSE), None)
    if written is not None:
        line = case.source.text.count("\n", 0, written.start()) + 1
        return Known(written[1], f"line {line}: an example of it"), ""
    known = value_of(case, name.replace("-", "_"))
    if numeric is not None:
        return (known if known is not None and _NUMBER.fullmatch(known.code) else None) or Known(
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


def _set_of_table(source: Source, name: str) -> Known | None:
    """A data set of the hub that a table of the program has something for, and whose columns are known."""
    if not _OF_HUB.search(name):
        return None
    for word, line in choices.looked_up(source, _is_called(name)).items():
        if made_known_set(word) is not None:  # type: ignore[no-untyped-call]
            return Known(word, f"line {line}: the program knows it, and its columns are known")
    return None


def _compared(choice: choices.Choice) -> Known:
    """A word that the program compares the argument with."""
    why = "which leads to a training" if choice.trains else "the program compares it with that"
    return Known(choice.word, f"line {choice.line}: {why}")


def _is_called(name: str) -> choices.Is:
    """Whether an expression is what the program keeps an argument of that name in: `args.mode`, `mode`, `args["mode"]`."""
    plain = name.replace("-", "_")

    def is_argument(node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Constant) and node.slice.value == plain
        return last_name(node) == plain

    return is_argument


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
    """Positional and required arguments of `argparse`, in their order, and the optional ones that a training waits for."""
    source = case.source
    commands = {id(call): name for call in method_calls(source, "add_parser") for name in strings(call.args)[:1]}
    command = _command(case, list(commands.values()))
    late: list[EditStep] = []
    for call in method_calls(source, "add_argument"):
        names = strings(call.args)
        parser = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
        of_command = commands.get(id(parser), "")
        if not names or (of_command and command is not None and of_command != command.code):
            continue
        step = _argument(case, call, names)
        if step is not None and of_command:
            late.append(step)
        elif step is not None:
            yield step
    if command is not None:
        line = min(call.lineno for call in method_calls(source, "add_parser"))
        yield _given((command.code,), command, line)
    yield from late


def _command(case: Case, names: list[str]) -> Known | None:
    """Which of several commands the program is called with: one that trains, else the first."""
    if not names:
        return None
    for call in method_calls(case.source, "add_subparsers"):
        kept = keyword_value(call, "dest")
        if isinstance(kept, ast.Constant):
            compared = choices.chosen(case.source, _is_called(str(kept.value)))
            if compared is not None and compared.word in names:
                return _compared(compared)
    return Known(next((name for name in names if says_train(name)), names[0]), "one of the commands of the program")


def _argument(case: Case, call: ast.Call, names: list[str]) -> EditStep | None:
    """What one argument of `argparse` is given, where it is given anything."""
    positional = not names[0].startswith("-")
    action = keyword_value(call, "action")
    longest = max(names, key=len)
    kept = keyword_value(call, "dest")
    name = str(kept.value) if isinstance(kept, ast.Constant) else longest.lstrip("-")
    if isinstance(action, ast.Constant) and action.value in WITHOUT_WORD:
        return _switch(case, call, longest, name) if action.value == "store_true" else None
    nargs = keyword_value(call, "nargs")
    optional = isinstance(nargs, ast.Constant) and nargs.value in ("?", "*")
    required = is_true(keyword_value(call, "required")) or _is_of_group(case.source, call)
    if (positional and optional) or not (positional or required):
        default = keyword_value(call, "default")
        choice = _wanted(case, name, default)
        needed = _needed(case, name, call, default) if choice is None else (_compared(choice), "")
        if needed is None:
            return None
        value, code = needed
    else:
        value, code = _value(case, name, call)
    given: tuple[str, ...] = (value.code,) if positional else (longest, value.code)
    if isinstance(nargs, ast.Constant) and isinstance(nargs.value, int):
        given = (*given, *(value.code for _ in range(min(nargs.value, MOST_WORDS) - 1)))
    return _given(given, value, call.lineno, code)


def _switch(case: Case, call: ast.Call, word: str, name: str) -> EditStep | None:
    """A switch that turns the training on, or that the program insists on."""
    switch = None if usage.is_elsewhere(name) else choices.switched(case.source, _is_called(name), name)
    if switch is not None:
        return _given((word,), _compared(switch), call.lineno)
    line = asked.insisted_on(case.source, asked.read_as(case.source, name.replace("-", "_")), _have_values(case))
    if line is not None:
        return _given((word,), Known("", f"line {line}: the program ends without it"), call.lineno)
    why = "one of its group has to be given"
    return _given((word,), Known("", why), call.lineno) if _is_of_group(case.source, call) else None


def _is_of_group(source: Source, call: ast.Call) -> bool:
    """Whether an argument is the one that is given of a group of which the program must be given one."""
    group = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if group is None or last_name(group.func) != "add_mutually_exclusive_group":
        return False
    if not is_true(keyword_value(group, "required")):
        return False
    of_group = [
        other
        for other in method_calls(source, "add_argument")
        if isinstance(other.func, ast.Attribute) and source.constructor(other.func.value) is group
    ]
    return call is min(of_group, key=lambda one: rank(max(strings(one.args), key=len, default="")))


def _needed(case: Case, name: str, call: ast.Call | None, default: ast.expr | None) -> tuple[Known, str] | None:
    """What an argument is given that may be left out, but not as the program goes on: it insists on it, or reads a path."""
    if default is not None and not _is_empty(default):
        return None
    source = case.source
    plain = name.replace("-", "_")
    reads, others = asked.read_as(source, plain), _have_values(case)
    line = asked.insisted_on(source, reads, others)
    use = asked.path_use(source, plain) if line is not None or not asked.is_spared(source, reads, others) else None
    if line is None and (use is None or (default is not None and ast.unparse(default) != "None" and not use.plain)):
        return None
    value, code = _value(case, name, call)
    if use is not None:
        path = f"{MADE}/{name}" if use.folder else f"{MADE}/{name}{_suffix(source, name)}"
        value, code = Known(path, f"line {use.line}: it is used as a path"), _folder(path if use.folder else MADE)
    if line is not None:
        value = Known(value.code, f"line {line}: the program ends without it")
    return value, code


def _have_values(case: Case) -> dict[str, bool]:
    """The options of the program, and whether each has a value already: a default, or what a command line that is shown gives it."""
    shown = usage.shown(case.source, case.folder, case.said)
    return {
        name: has_one or (shown is not None and shown.gives(name))
        for name, has_one in options.have_values(case.source).items()
    }


def _is_empty(default: ast.expr) -> bool:
    """Whether a default stands for nothing given; a switch that is off is something."""
    return isinstance(default, ast.Constant) and default.value in (None, "")


def _wanted(case: Case, name: str, default: ast.expr | None) -> choices.Choice | None:
    """The word for an argument that may be left out, where a training depends on it; none for what no run has."""
    if usage.is_elsewhere(name):
        return None
    value = default.value if isinstance(default, ast.Constant) else None
    if value is not None and default is not None and not isinstance(value, (str, bool)):
        return None
    if value is False:
        switch = choices.switched(case.source, _is_called(name), name)
        return None if switch is None else choices.Choice("True", switch.line, switch.rank)
    if value is True or (default is not None and not isinstance(default, ast.Constant)):
        return None
    return choices.chosen(case.source, _is_called(name), str(value or ""), optional=True)


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
    if method_calls(source, "parse_args"):
        return
    read: dict[int, ast.Subscript] = {}
    for node in source.nodes(ast.Subscript):
        index = node.slice
        if source.qualified(node.value) != "sys.argv" or not isinstance(index, ast.Constant):
            continue
        if isinstance(index.value, int) and index.value > 0 and not _is_guarded(source, node):
            read.setdefault(index.value, node)
    for number in range(1, min(max(read, default=0), MOST_WORDS) + 1):
        node_or_none = read.get(number)
        name, numeric = _meaning(source, node_or_none)
        optional = node_or_none is not None and _asks_first(source, node_or_none)
        compared = choices.chosen(source, _is_word(source, number, name), optional=optional)
        if compared is not None:
            value, code = _compared(compared), ""
        elif optional:
            return
        elif numeric:
            value, code = (
                value_of(case, name) or Known(numeric, "a guess: nothing tells it but that it is a number"),
                "",
            )
        else:
            value, code = _value(case, name or "argument", None)
        yield _given((value.code,), value, node_or_none.lineno if node_or_none else 1, code)


def _is_word(source: Source, number: int, name: str) -> choices.Is:
    """Whether an expression is a word of `sys.argv`, or the name that it is kept under."""

    def is_argument(node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return node.slice.value == number and source.qualified(node.value) == "sys.argv"
        return bool(name) and isinstance(node, ast.Name) and node.id == name

    return is_argument


def _asks_first(source: Source, node: ast.AST) -> bool:
    """Whether the test that reads a word asks in the same breath how many there are: `len(sys.argv) > 1 and …`."""
    above = source.enclosing(node, ast.BoolOp)
    return above is not None and "len(sys.argv)" in ast.unparse(above.values[0])


def _looked_for(case: Case) -> Iterator[EditStep | Gap]:
    """A word that the program looks for among those it is called with: `"--train" in sys.argv`."""
    source = case.source
    choice = choices.chosen(source, lambda node: source.qualified(node) == "sys.argv", optional=True)
    if choice is not None:
        yield _given((choice.word,), _compared(choice), choice.line)


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
        names = strings(call.args)
        positional = source.qualified(call.func) == "click.argument"
        required = positional and not isinstance(keyword_value(call, "required"), ast.Constant)
        if not names:
            continue
        name = max(names, key=len).lstrip("-")
        if not (required or is_true(keyword_value(call, "required"))):
            choice = None if positional else _wanted(case, name, keyword_value(call, "default"))
            if choice is not None:
                switch = is_true(keyword_value(call, "is_flag"))
                words = (f"--{name}",) if switch else (f"--{name}", choice.word)
                yield _given(words, _compared(choice), call.lineno)
            continue
        value, code = _value(case, name, call)
        yield _given((value.code,) if positional else (max(names, key=len), value.code), value, call.lineno, code)
    for call in source.calls("fire.Fire"):
        function = source.definition(call.args[0]) if call.args else None
        if not call.args:
            function = next((node for node in top_level(source) if says_train(node.name)), None)
            if function is not None:
                why = Known(function.name, "the program's functions are its commands, and that one trains")
                yield _given((function.name,), why, call.lineno)
        if isinstance(function, ast.FunctionDef):
            for name in _required(source, function):
                value, code = _value(case, name, None)
                yield _given((f"--{name}={value.code}",), value, call.lineno, code)


def _required(source: Source, function: ast.FunctionDef) -> Iterator[str]:
    """The parameters of a function without a default, and those whose default it does not go on with."""
    first = len(function.args.args) - len(function.args.defaults)
    for number, parameter in enumerate(function.args.args):
        default = function.args.defaults[number - first] if number >= first else None
        reads = [node for node in named(source, parameter.arg) if source.enclosing(node, ast.FunctionDef) is function]
        if default is None or (_is_empty(default) and asked.insisted_on(source, reads) is not None):
            yield parameter.arg


_INSISTING = ("mark_flag_as_required", "mark_flags_as_required")


def _flags(case: Case) -> Iterator[EditStep | Gap]:
    """Flags of absl and TensorFlow that are marked as required, and those that a training waits for."""
    source = case.source
    marked: set[str] = set()
    for call in source.all_calls:
        name = _flag(call)
        if not name:
            continue
        default = argument_value(call, "default", 1) or keyword_value(call, "default_value")
        choice = _wanted(case, name, default)
        needed = _needed(case, name, None, default) if choice is None else (_compared(choice), "")
        if needed is None and is_true(keyword_value(call, "required")):
            needed = _value(case, name, None)
        if needed is not None:
            marked.add(name)
            value, code = _of_kind(case, call, name, needed)
            yield _given((f"--{name}={value.code}",), value, call.lineno, code)
    for call in source.all_calls:
        if (source.qualified(call.func) or "").rpartition(".")[2] not in _INSISTING:
            continue
        listed = (part for arg in call.args if isinstance(arg, (ast.List, ast.Tuple)) for part in arg.elts)
        for name in dict.fromkeys(strings((*call.args, *listed))):
            if name not in marked:
                marked.add(name)
                value, code = _value(case, name, None)
                yield _given((f"--{name}={value.code}",), value, call.lineno, code)


def _of_kind(case: Case, call: ast.Call, name: str, value: tuple[Known, str]) -> tuple[Known, str]:
    """The value of a flag that the program insists on: a number, or one of its words, where it is defined as such."""
    kind = last_name(call.func).removeprefix("DEFINE_")
    numeric = {"integer": "1", "float": "1.0"}.get(kind)
    if numeric is not None and not _NUMBER.fullmatch(value[0].code):
        return value_of(case, name) or Known(numeric, value[0].evidence), ""
    listed = argument_value(call, "enum_values", 2)
    if kind == "enum" and isinstance(listed, (ast.List, ast.Tuple)) and listed.elts:
        known = [word.value for word in listed.elts if isinstance(word, ast.Constant)]
        return (value[0] if value[0].code in known else Known(str(known[0]), value[0].evidence)), ""
    return value


def _flag(call: ast.Call) -> str:
    """The name of the flag that a call of absl or TensorFlow defines."""
    if not last_name(call.func).startswith("DEFINE_"):
        return ""
    name = argument_value(call, "name", 0) or keyword_value(call, "flag_name")
    return string(name) or ""
