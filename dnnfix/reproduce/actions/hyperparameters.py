"""Edit action: hyperparameter initialization. Values for undefined sizes, arguments, environment variables, prompts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.crashes.undefined import Undefined
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.actions import devices
from dnnfix.reproduce.arguments import choices, command_line
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.data.clues import shapes_of
from dnnfix.reproduce.harness.construct import SETTINGS, settings_of
from dnnfix.reproduce.harness.sizes import GUESS, value_of
from dnnfix.reproduce.syntax import bound_names, call_of, named, string, strings
from dnnfix.source.program import Source
from dnnfix.source.spelling import misspelt
from dnnfix.source.tree import bound_in, names_in

ACTION = EditAction.HYPERPARAMETERS


USUAL = {"SIZE|COUNT|NUM|THREADS|WORKERS": "1", "ADDR|HOST": "127.0.0.1", "PORT": "29500"}
"""What environment variables with such words in their names are set to."""
OF_RANKS = frozenset(
    {"RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
)
"""Environment variables that each of several processes is started with."""


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Values for undefined names first, then what the program is called with and the machine that it expects."""
    for undefined in case.undefined:
        yield from _defined(case, undefined)
    yield from command_line.steps(case)
    yield from _environment(case)
    yield from _prompts(case)
    yield from devices.steps(case)


def _defined(case: Case, undefined: Undefined) -> Iterator[EditStep | Gap]:
    """A value for one undefined name, where it is a hyperparameter or an object that holds some."""
    name = undefined.name
    if (
        name.startswith("__")
        or case.may_be_starred(name)
        or misspelt(name, bound_names(case.source) - {name})
        or _is_called(case.source, name)
        or _is_of_a_method(case.source, name)
    ):
        return
    if SETTINGS.fullmatch(name):
        code = settings_of(case, name, [case.source.tree])
        if code is not None:
            yield _step(name, code, GUESS, undefined.line, f"{name} holds the settings that the program reads of it")
        elif _is_read(case.source, name):
            yield Gap(f"`{name}` is read and nothing says what is in it: add the settings", undefined.line)
        return
    if _is_read(case.source, name) or shapes_of(case, name):
        return
    known = value_of(case, name, data=True)
    if known is not None:
        yield _step(name, known.code, known.evidence, undefined.line, f"{name} = {known.code}")


def _step(name: str, code: str, evidence: str, line: int, what: str) -> EditStep:
    return EditStep(
        ACTION,
        what,
        evidence,
        line,
        scaffold=Scaffold(definitions=((name, f"{name} = {code}"),)),
        invented=evidence == GUESS,
    )


def _is_called(source: Source, name: str) -> bool:
    return any(call_of(source, use) is not None for use in named(source, name))


def _is_of_a_method(source: Source, name: str) -> bool:
    """Whether a name is a parameter or variable of one method of a class and read in another: a fault, and not what a program lacks."""
    for owner in source.nodes(ast.ClassDef):
        methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)]
        readers = [each for each in methods if name in names_in(each) and name not in bound_in(each)]
        if readers and any(name in bound_in(each) for each in methods):
            return True
    return False


def _is_read(source: Source, name: str) -> bool:
    """Whether a name is an object with attributes or items, which no hyperparameter is."""
    above = ((use, source.parent(use)) for use in named(source, name))
    return any(isinstance(part, (ast.Attribute, ast.Subscript)) and part.value is use for use, part in above)


# --- environment variables


def _environment(case: Case) -> Iterator[EditStep | Gap]:
    """Variables that the program reads with `os.environ["X"]` and that it does not set itself."""
    source = case.source
    own = {string(node.slice) for node in _variables(source) if isinstance(node.ctx, ast.Store)}
    done = set(_asked_for(source)) | (OF_RANKS if case.of_several else set())
    for node in _variables(source):
        name = string(node.slice) if isinstance(node.ctx, ast.Load) else None
        if name is None or name in own or name in done or name in ("HOME", "PATH", "PWD", "USER", "LANG"):
            continue
        done.add(name)
        if re.search(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL", name):
            yield Gap(f"the environment variable {name} holds a secret of yours, which is never made up", node.lineno)
            continue
        known = value_of(case, name.lower())
        path = re.search(r"PATH|DIR|FILE|FOLDER|ROOT|HOME|CHANNEL", name)
        value = f"made/{name.lower()}" if path else (known.code.strip("\"'") if known is not None else _usual(name))
        code = f"import os as _made_os\n_made_os.environ.setdefault({name!r}, {value!r})"
        if path:
            code += f"\n_made_os.makedirs({value!r}, exist_ok=True)"
        evidence = known.evidence if known is not None and not path else GUESS
        yield EditStep(
            ACTION,
            f"the environment variable {name} is {value!r}",
            evidence,
            node.lineno,
            scaffold=Scaffold(start=code),
        )


def _usual(name: str) -> str:
    """What a variable says where the program is the only process: one of what is counted, this machine, the first."""
    for pattern, value in USUAL.items():
        if re.search(pattern, name):
            return value
    return "0"


def _variables(source: Source) -> Iterator[ast.Subscript]:
    for node in source.nodes(ast.Subscript):
        if source.qualified(node.value) == "os.environ":
            yield node


def _asked_for(source: Source) -> Iterator[str]:
    """Variables that the program itself does without where they are not set: it asks for them first."""
    for call in source.calls("os.environ.get", "os.getenv"):
        yield from (str(part.value) for part in call.args[:1] if isinstance(part, ast.Constant))
    for node in source.nodes(ast.Compare):
        if any(source.qualified(other) == "os.environ" for other in node.comparators):
            yield from strings([node.left])


# --- prompts

ENDLESS = 3
"""Answers to a prompt that comes again and again."""

_CHOICES = re.compile(r"[\[(]\s*(?P<first>\w+)\s*(?:=\s*\w+\s*)?/\s*\w+")


def _prompts(case: Case) -> Iterator[EditStep | Gap]:
    """Answers to `input()`, where the prompt, the name or the report tells one."""
    source = case.source
    answers: dict[str, str] = {}
    for call in source.all_calls:
        asks = isinstance(call.func, ast.Name) and call.func.id in (
            "input",
            "raw_input",
        )  # which is `input` once patched
        if not asks or source.definition(call.func):
            continue
        if source.qualified(call.func) not in ("builtins.input", "builtins.raw_input", "raw_input", None):
            continue
        prompt = str(call.args[0].value) if call.args and isinstance(call.args[0], ast.Constant) else ""
        answer, evidence = _answer(case, call, prompt)
        if answer is None:
            yield Gap(
                f"the program asks {prompt.strip() or 'something'!r}, and nothing tells what to answer", call.lineno
            )
            continue
        if prompt in answers:
            continue
        answers[prompt] = answer
        times = f", {ENDLESS}" if _is_endless(source, call) else ""
        start = f"input = made_answers({{{prompt!r}: {answer!r}}}, input{times})"
        often = f" {ENDLESS} times, then the program is left" if times else ""
        yield EditStep(
            ACTION,
            f"the prompt {prompt.strip()!r} is answered with {answer!r}{often}",
            evidence,
            call.lineno,
            scaffold=Scaffold(start=start),
        )


def _is_endless(source: Source, call: ast.Call) -> bool:
    """Whether a program asks in a loop that only its user ends."""
    loop = source.enclosing(call, ast.While)
    if loop is None or not isinstance(loop.test, ast.Constant) or not loop.test.value:
        return False
    return not any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop))


def _answer(case: Case, call: ast.Call, prompt: str) -> tuple[str | None, str]:
    target = case.source.statement_of(call)
    if isinstance(target, ast.Expr) and target.value is call:
        return "", "the program only waits for it"
    names = [t.id for t in target.targets if isinstance(t, ast.Name)] if isinstance(target, ast.Assign) else []
    compared = choices.chosen(
        case.source, lambda node: node is call or (isinstance(node, ast.Name) and node.id in names)
    )
    if compared is not None:
        return compared.word, f"line {compared.line}: the program compares the answer with that"
    offered = _CHOICES.search(prompt)
    if offered:
        return offered["first"], "the prompt names it first"
    names += ["_".join(re.findall(r"[a-z]+", prompt.lower()))]
    for name in names:
        known = value_of(case, name) if name else None
        if known is not None:
            return known.code.strip("\"'"), known.evidence
    return None, ""
