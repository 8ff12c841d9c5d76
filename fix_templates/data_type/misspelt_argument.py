"""Arguments are given under names that what is called does not take, and each is like one that it takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    FixPattern,
    Mend,
    Reject,
    RenameArgument,
    Replace,
    ReplaceLines,
    Site,
    Source,
    Subject,
    Takes,
    one_letter_off,
    parts,
    same_letters,
    undefined_names,
    within,
    words,
)

OF_EVERY_LAYER = words(
    """activity_regularizer autocast batch_input_shape batch_shape batch_size dtype dynamic input_dim input_shape name
    trainable weights"""
)
"""Arguments that the layers of Keras hand on to what they derive from."""


class MisspeltArgument(CrashTemplate):
    """Arguments are given under names that what is called does not take.

    Each unknown name stands for the one parameter, not given yet, that differs from it in capitals, underscores or a
    letter, or of which it has all words or that has all its words (`num_filters`, `filters`). The run tells the
    parameters. Where one of the names stands for none or for several, nothing is proposed. Where it is the parameter that
    is misspelt, and the function itself reads the name that the call gives, the parameter gets that name.

    Fix safety: unsafe. The call could not run before.

    References: https://docs.python.org/3/reference/expressions.html#calls.
    """

    code = "DNF610"
    name = "misspelt-argument"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "ValueError"})
    confidence = 0.8

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        takes = crash.takes
        if not isinstance(node, ast.Call) or takes is None or "argument" not in crash.message.lower():
            return
        renamed = _renamed(node, takes)
        if not renamed or not _spoken_of(crash.message, renamed, takes):
            return
        site = subject.source.site(node)
        edits: tuple[Edit, ...] = tuple(RenameArgument(site, old, new) for old, new in renamed.items())
        names = ", ".join(renamed)
        ways = [
            *_parameter_renamed(subject, node, renamed),
            (f"Give {names} as {', '.join(renamed.values())}", edits, 0.85),
        ]
        what = f"{ast.unparse(node.func)} does not take {names}; it takes {', '.join(renamed.values())}"
        yield Mend(site, what, tuple(ways))

    examples = (
        Example(
            "several names of a layer",
            """\
import torch
from torch import nn

- layer = nn.Conv2d(3, 8, kernel=3, strides=2)
+ layer = nn.Conv2d(3, 8, kernel_size=3, stride=2)
print(layer(torch.ones(1, 3, 9, 9)).shape)
""",
            runs=True,
        ),
        Example(
            "a parameter that is misspelt itself",
            """\
import torch


- def scaled(x, scael=None):
-     if scael is not None:
+ def scaled(x, scale=None):
+     if scale is not None:
        return x * scale
    return x


print(scaled(torch.ones(2), scale=3))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an argument that stands for no parameter",
            """\
import torch

print(torch.nn.Linear(2, 1, activation="relu"))
""",
            runs=True,
        ),
        Reject(
            "a parameter that is given already",
            """\
import torch


def pad(x, size):
    return x + size


print(pad(torch.ones(2), size=2, sizes=3))
""",
            runs=True,
        ),
        Reject(
            "an argument that may be either of two",
            """\
import torch


def clip(x, low_value=0, high_value=1):
    return x.clamp(low_value, high_value)


print(clip(torch.ones(2), value=2))
""",
            runs=True,
        ),
    )


def _renamed(node: ast.Call, takes: Takes) -> dict[str, str]:
    """What each unknown name stands for; empty where one of them stands for nothing."""
    given = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
    if None in (keyword.arg for keyword in node.keywords) or any(isinstance(one, ast.Starred) for one in node.args):
        return {}
    unknown = [name for name in given if name not in takes.names]
    if takes.more_names:
        unknown = [name for name in unknown if name not in OF_EVERY_LAYER]
    free = [name for name in takes.names if name not in given and name not in takes.places[: len(node.args)]]
    renamed: dict[str, str] = {}
    for name in sorted(unknown, key=lambda one: [k.arg for k in node.keywords].index(one)):
        other = same_letters(name, free) or one_letter_off(name, free) or _same_words(name, free)
        if other is None or other in renamed.values():
            return {}
        renamed[name] = other
    return renamed


def _parameter_renamed(
    subject: Subject, node: ast.Call, renamed: dict[str, str]
) -> Iterator[tuple[str, tuple[Edit, ...], float]]:
    """The parameter of a function of the program under the name that the call gives and that the function reads, undefined."""
    source = subject.source
    function = source.definition(node.func)
    if not isinstance(function, ast.FunctionDef) or len(renamed) != 1:
        return
    ((name, other),) = renamed.items()
    inside = list(within(function, ast.Name))
    undefined = name in {each.name for each in undefined_names(source)}
    if not undefined or all(each.id != name for each in inside):
        return
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    for argument in arguments:
        if argument.arg == other:
            uses = (Replace(source.site(each), name) for each in inside if each.id == other)
            yield f"Call the parameter {name}", (_renamed_at(source, argument, name), *uses), 0.9


def _renamed_at(source: Source, argument: ast.arg, name: str) -> Edit:
    """The line with a parameter under another name."""
    site = source.site(argument)
    text = source.places.lines[site.line - 1]
    start = site.column - 1
    return ReplaceLines(
        Site(site.line, 1, site.line, len(text) + 1), f"{text[:start]}{name}{text[start + len(argument.arg) :]}"
    )


def _same_words(name: str, free: list[str]) -> str | None:
    """The one parameter of which the name has all words, or that has all words of the name."""
    own = set(parts(name))
    found = [one for one in free if set(parts(one)) < own or own < set(parts(one))]
    return found[0] if len(found) == 1 else None


def _spoken_of(message: str, renamed: dict[str, str], takes: Takes) -> bool:
    """Whether the exception is about these arguments: one that is not taken, or one that is missing."""
    return any(f"'{name}'" in message for name in (*renamed, *renamed.values())) and (
        not takes.more_names or any(name in takes.needed for name in renamed.values())
    )
