"""A function, layer or method is called with arguments that it does not have, or without required ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Fault,
    FixPattern,
    Refusal,
    RemoveArgument,
    RenameArgument,
    Replace,
    ReplaceLines,
    Site,
    Source,
    Subject,
    changed_calls,
    interfaces,
    spelling,
    undefined_names,
    uses_of,
    within,
    words,
)

TEXTS = words("name padding mode activation reduction data_format kind dtype scope title label")
"""Parameters that take a string."""

_SPELLING = 0.97
"""The least similarity of names that differ in capitals and underscores only."""

OF_EVERY_LAYER = words(
    """activity_regularizer autocast batch_input_shape batch_shape batch_size dtype dynamic input_dim input_shape name
    trainable weights"""
)
"""Arguments that Keras layers pass to their base class."""

_UNEXPECTED = re.compile(r"unexpected keyword argument '(?P<name>\w+)'")

_Way = tuple[str, tuple[Edit, ...], float]


class UnknownArgument(CrashTemplate):
    """A function, layer or method is called with arguments that it does not have, or without required ones.

    Its parameters were recorded at the crash. For a library, a keyword is renamed if one free parameter is by far the
    likeliest (`Conv2D(num_filters=12, stride=2)`): the same words, one letter off, one more word, its name in another
    library (`nn.Linear(4, 2, use_bias=False)`), or the only required one. If a function of nearly the same name accepts
    the call (`tf.argmax` for `tf.arg_max`), that is called. Of one positional argument too many, the one after which
    the others fit is removed. For any function, an unknown name means the one free parameter that differs in capitals,
    underscores or a letter, or that contains its words or the reverse. If the parameter itself is misspelled, and the
    body reads the name in the call, the parameter is renamed.

    An argument that a library refuses, also deep inside, and that is `None` or `False` in the run is left out: it asks
    for nothing (`timm.create_model("resnet18", bn_tf=args.bn_tf)`).

    Fix safety: unsafe. The call could not run before.

    References: https://docs.python.org/3/reference/expressions.html#calls;
    https://docs.python.org/3/library/inspect.html.
    """

    code = "DNF610"
    name = "unknown-argument"
    formerly = ("misspelt-argument", "DNF552", "arguments-not-of-function")
    message = "`{function}` does not accept these arguments{missing}"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "ValueError"})

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        found = tuple(self._refused(subject, crash))
        yield from found or _asking_for_nothing(subject, crash)

    def _refused(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        asked = interfaces.refusal(subject)
        call = subject.node(asked.site) if asked is not None else None
        if asked is None or asked.asked != "call" or asked.site.path or not isinstance(call, ast.Call):
            return
        if asked.parameters is None or any(each.arg is None for each in call.keywords):
            return
        if any(hit.within == asked.site for hit in changed_calls.changed_arguments(uses_of(subject.source))):
            return  # the tables know what became of it
        unknown = tuple(interfaces.unknown_keywords(asked, call, crash.message))
        refused = not asked.own and (bool(unknown) or interfaces.takes(asked.parameters, call) is False)
        ways: list[_Way] = [*_of_library(subject, asked, call, unknown)] if refused else []
        renamed = _renamed(asked, call)
        if renamed and "argument" in crash.message.lower() and _spoken_of(crash.message, renamed, asked):
            ways += _parameter_renamed(subject, call, renamed)
            ways.append(_named(asked.site, renamed, 0.85))
        if not asked.own:  # what a library refuses here it refuses everywhere
            ways = [
                (title, (*edits, *_in_other_calls(subject.source, call, edits)), prior) for title, edits, prior in ways
            ]
        if ways:
            lacking = unknown or tuple(renamed)
            missing = f": it has no parameter {', '.join(f'`{word}`' for word in lacking)}" if lacking else ""
            yield Fault(
                asked.site, {"function": asked.name, "missing": missing}, tuple({way[0]: way for way in ways}.values())
            )

    programs = """
=== example: other names for filters and strides
import numpy as np
import keras
from keras import layers

inputs = keras.Input((8, 8, 1))
- x = layers.Conv2D(num_filters=4, kernel_size=3, stride=2, name="first")(inputs)
+ x = layers.Conv2D(filters=4, kernel_size=3, strides=2, name="first")(inputs)
model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
print(model.predict(np.ones((2, 8, 8, 1)), verbose=0).shape)

=== example: what another library calls it
import torch
from torch import nn

- net = nn.Sequential(nn.Linear(4, 4, use_bias=False), nn.ReLU(), nn.Linear(4, 1))
+ net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net(torch.ones(2, 4)).sum().backward()
optimizer.step()

=== example: in all calls of it
from torch import nn

- net = nn.Sequential(nn.Linear(4, 4, use_bias=False), nn.ReLU(), nn.Linear(4, 1, use_bias=True))
+ net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=True))

=== example: a parameter that is misspelt itself
import torch


- def scaled(x, scael=None):
-     if scael is not None:
+ def scaled(x, scale=None):
+     if scale is not None:
        return x * scale
    return x


print(scaled(torch.ones(2), scale=3))

=== example: a switch that is off, and that the optimizer does not know
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--nesterov", action="store_true")
parser.add_argument("--lr", type=float, default=0.01)
options = parser.parse_args()
layer = torch.nn.Linear(2, 1)
- optimizer = torch.optim.Rprop(layer.parameters(), lr=options.lr, nesterov=options.nesterov)
+ optimizer = torch.optim.Rprop(layer.parameters(), lr=options.lr)
layer(torch.ones(3, 2)).sum().backward()
optimizer.step()

=== reject: a switch that is on
import torch

layer = torch.nn.Linear(2, 1)
optimizer = torch.optim.Rprop(layer.parameters(), nesterov=True)

=== reject: a value that the function refuses, under a name that it has
import torch

print(torch.nn.Linear(in_features=3, out_features="4"))

=== reject: an argument that matches no parameter
import torch

print(torch.nn.Linear(2, 1, activation="relu"))

=== reject: a parameter that is passed already
import torch


def pad(x, size):
    return x + size


print(pad(torch.ones(2), size=2, sizes=3))

=== reject: an argument that may be either of two
import torch


def clip(x, low_value=0, high_value=1):
    return x.clamp(low_value, high_value)


print(clip(torch.ones(2), value=2))
"""


def _asking_for_nothing(subject: Subject, crash: Crash) -> Iterator[Fault]:
    """A call of a library without the keyword that it refuses, where that is switched off."""
    said = _UNEXPECTED.search(crash.message)
    call = subject.node(crash.site) if crash.site is not None and not crash.site.path else None
    if said is None or not isinstance(call, ast.Call) or subject.source.definition(call.func) is not None:
        return
    keyword = next((one for one in call.keywords if one.arg == said["name"]), None)
    written = subject.source.written(call.func) or ""
    if keyword is None or "." not in written or not _is_off(subject, crash, keyword.value):
        return
    site = subject.source.site(call)
    way = f"Leave out {said['name']}, which asks for nothing", (RemoveArgument(site, said["name"]),), 0.8
    missing = f": it has no parameter `{said['name']}`"
    yield Fault(site, {"function": written.rpartition(".")[2], "missing": missing}, (way,))


def _is_off(subject: Subject, crash: Crash, value: ast.expr) -> bool:
    """Whether an argument is `None` or `False`, as it is written or as the run had it."""
    if isinstance(value, ast.Constant):
        return value.value is None or value.value is False
    held = crash.held_at(subject.source.site(value))
    return held is not None and (held.kind == "NoneType" or held.text == "False" and held.kind == "bool")


def _named(site: Site, names: Mapping[str, str], prior: float) -> _Way:
    """The call with renamed arguments."""
    edits: tuple[Edit, ...] = tuple(RenameArgument(site, given, name) for given, name in names.items())
    return f"Rename {', '.join(names)} to {', '.join(names.values())}", edits, prior


def _in_other_calls(source: Source, call: ast.Call, edits: Sequence[Edit]) -> Iterator[Edit]:
    """The same for the keywords that other calls of the same function give."""
    function = ast.unparse(call.func)
    for other in source.all_calls:
        if other is call or ast.unparse(other.func) != function:
            continue
        given = {keyword.arg for keyword in other.keywords}
        for edit in edits:
            if isinstance(edit, RenameArgument) and edit.old in given and edit.new not in given:
                yield replace(edit, site=source.site(other))


def _of_library(subject: Subject, asked: Refusal, call: ast.Call, unknown: tuple[str, ...]) -> Iterator[_Way]:
    """Calls of a similar function, with renamed arguments, or with one argument less."""
    source = subject.source
    sibling = _sibling(asked, call)
    if sibling is not None and isinstance(call.func, ast.Attribute):
        owner = subject.text(source.site(call.func.value))
        yield f"Call `{sibling}`", (Replace(source.site(call.func), f"{owner}.{sibling}"),), 0.85
    if unknown:
        names = _meant(asked, call, unknown)
        if names is not None and interfaces.takes(asked.parameters, call, names) is not False:
            yield _named(asked.site, names, 0.8)
        return
    dropped = _one_too_many(asked, call)
    if dropped is not None:
        text = subject.text(source.site(call.args[dropped]))
        yield f"Remove the argument `{text}`", (RemoveArgument(asked.site, "", dropped),), 0.6


def _meant(asked: Refusal, call: ast.Call, unknown: tuple[str, ...]) -> Mapping[str, str] | None:
    """The parameters meant by the unknown keywords; `None` if one is not certain."""
    free = list(interfaces.free_parameters(asked, call))
    found: dict[str, str] = {}
    for keyword in unknown:
        left = [each for each in free if each.name not in found.values()]
        ranked = [
            (1.0 if interfaces.same_meaning(keyword, each.name) else spelling.likeness(keyword, each.name), each.name)
            for each in left
        ]
        name = spelling.likest((score, name) for score, name in ranked if score >= 0.6)
        missing = [each.name for each in left if not each.optional]
        if name is None and len(unknown) == len(missing) == 1:
            name = missing[0]
        if name is None:
            return None
        found[keyword] = name
    return found


def _sibling(asked: Refusal, call: ast.Call) -> str | None:
    """A function of the same module, with another spelling of the name, that accepts the call.

    For a call without arguments the name may also be longer.
    """
    bare = not call.args and not call.keywords
    found = []
    for offer in asked.near:
        score = spelling.likeness(asked.name, offer.name)
        near = offer.name.startswith(f"{asked.name}_") if bare else score >= _SPELLING
        if near and offer.callable and interfaces.takes(offer.parameters, call):
            found.append((score, offer.name))
    return spelling.likest(found)


def _one_too_many(asked: Refusal, call: ast.Call) -> int | None:
    """The positional argument to remove so that a string after it becomes that of a string parameter."""
    known = [each for each in asked.parameters or () if each.kind <= 1]
    if call.keywords or len(call.args) != len(known) + 1:
        return None
    ends = [
        number for number, arg in enumerate(call.args) if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    ]
    if len(ends) != 1 or not 0 < ends[0] <= len(known) or known[ends[0] - 1].name not in TEXTS:
        return None
    before = range(1, ends[0])
    return before[0] if len(before) == 1 else None


def _renamed(asked: Refusal, node: ast.Call) -> dict[str, str]:
    """The parameter meant by each unknown name; empty if one is not certain."""
    given = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
    if any(isinstance(one, ast.Starred) for one in node.args):
        return {}
    named = {each.name for each in asked.parameters or () if each.kind in (1, 3)}
    passed_on = OF_EVERY_LAYER if asked.passes_on else frozenset[str]()
    unknown = [name for name in given if name not in named and name not in passed_on]
    free = [each.name for each in interfaces.free_parameters(asked, node)]
    renamed: dict[str, str] = {}
    for name in unknown:
        other = spelling.same_letters(name, free) or spelling.one_letter_off(name, free) or _same_words(name, free)
        if other is None or other in renamed.values():
            return {}
        renamed[name] = other
    return renamed


def _parameter_renamed(
    subject: Subject, node: ast.Call, renamed: dict[str, str]
) -> Iterator[tuple[str, tuple[Edit, ...], float]]:
    """Renames a parameter of the program to the name in the call, which the body reads and nothing defines."""
    source = subject.source
    function = source.definition(node.func)
    if not isinstance(function, ast.FunctionDef) or len(renamed) != 1:
        return
    ((name, other),) = renamed.items()
    inside = list(within(function, ast.Name))
    undefined = name in {each.name for each in undefined_names.undefined_names(source)}
    if not undefined or all(each.id != name for each in inside):
        return
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    for argument in arguments:
        if argument.arg == other:
            uses = (Replace(source.site(each), name) for each in inside if each.id == other)
            yield f"Rename the parameter to {name}", (_renamed_at(source, argument, name), *uses), 0.9


def _renamed_at(source: Source, argument: ast.arg, name: str) -> Edit:
    """The line with a renamed parameter."""
    site = source.site(argument)
    text = source.places.lines[site.line - 1]
    start = site.column - 1
    return ReplaceLines(
        Site(site.line, 1, site.line, len(text) + 1), f"{text[:start]}{name}{text[start + len(argument.arg) :]}"
    )


def _same_words(name: str, free: list[str]) -> str | None:
    """The one parameter that contains all words of the name, or the reverse."""
    own = set(spelling.parts(name))
    found = [one for one in free if set(spelling.parts(one)) < own or own < set(spelling.parts(one))]
    return found[0] if len(found) == 1 else None


def _spoken_of(message: str, renamed: dict[str, str], asked: Refusal) -> bool:
    """Whether the exception is about these arguments: unexpected or missing ones."""
    needed = {each.name for each in asked.parameters or () if each.kind != 2 and not each.optional}
    return any(f"'{name}'" in message for name in (*renamed, *renamed.values())) and (
        not asked.passes_on or not needed.isdisjoint(renamed.values())
    )
