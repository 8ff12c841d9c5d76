"""A setting that counts something, such as `epochs`, is converted with `bool`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Source, Subject, keyword_value, trees

COUNTS = re.compile(
    r"^-*(n|nb|num|number|max|no)?[_-]?(of[_-])?(training[_-]|train[_-])?"
    r"(epochs?|batch[_-]?size|batchsize|steps|iterations|iters?|neurons|hidden[_-]?(size|units|dim)|layers|units|workers|"
    r"filters|classes|timesteps|steps[_-]per[_-]epoch|embedding[_-]dim|seq(uence)?[_-]len(gth)?|heads)$",
    re.IGNORECASE,
)
"""Names of settings that are numbers: `epochs`, `batch_size`, `--num-layers`."""


class CountConvertedToBool(ReadTemplate):
    """`epochs = bool(…)`, or `type=bool` for an option that is a number, is `True` for nearly every input.

    `True` counts as 1, so nothing crashes: the training runs one epoch, batches hold one sample, a layer has one unit.

    Reported where the name says that the setting is a number, and the converted value is not a comparison.

    Fix safety: unsafe. The setting gets the value it was given, which is the point.

    References: https://docs.python.org/3/library/functions.html#bool, argparse ("type").
    """

    code = "DNF712"
    name = "count-converted-to-bool"
    formerly = ("count-read-as-truth",)
    message = (
        "`{option}` expects a number and is converted with bool: every number but 0 becomes True, which counts as 1"
    )
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_TYPE
    triggers = ("bool",)
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for call in source.all_calls:
            read = _option(source, call) or _setting(source, call)
            if read is not None:
                site = source.site(read[0])
                yield Fault.with_repair(site, {"option": read[1]}, "Convert it to an integer", Replace(site, "int"))

    programs = """
=== example: a setting of a script
import keras
import sys

settings = dict(argument.split('=') for argument in sys.argv[1:])
batch_size = int(settings.get('batch_size', 32))
- epochs = bool(settings.get('epochs', 20))
+ epochs = int(settings.get('epochs', 20))
model.fit(x, y, batch_size=batch_size, epochs=epochs)

=== example: an option of argparse
import argparse

import torch

parser = argparse.ArgumentParser()
- parser.add_argument('--num-epochs', type=bool, default=10, help='how often')
+ parser.add_argument('--num-epochs', type=int, default=10, help='how often')
parser.add_argument('--cuda', type=bool, default=False)
args = parser.parse_args()

=== reject: whether there is something
import torch

use_epochs = bool(config.get("epochs"))
layers = bool(depth > 2)
verbose = bool(flags)

=== reject: options that are true or false
import argparse
import keras

parser = argparse.ArgumentParser()
parser.add_argument('--save_epochs', type=bool, default=True)
parser.add_argument('--batch_size', type=int, default=10)
"""


def _setting(source: Source, call: ast.Call) -> tuple[ast.expr, str] | None:
    """The function `bool` in `count = bool(value)`, with the name that is assigned."""
    if not _is_bool(source, call.func) or len(call.args) != 1 or call.keywords:
        return None
    holder = source.parent(call)
    if not isinstance(holder, ast.Assign) or holder.value is not call or len(holder.targets) != 1:
        return None
    target = holder.targets[0]
    name = trees.last_name(target)
    if not COUNTS.match(name) or not isinstance(call.args[0], (ast.Call, ast.Subscript, ast.Attribute, ast.Name)):
        return None
    return call.func, name


def _option(source: Source, call: ast.Call) -> tuple[ast.expr, str] | None:
    """The function `bool` in `add_argument("--count", type=bool)`, with the option's name."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return None
    kind = keyword_value(call, "type")
    default = keyword_value(call, "default")
    if kind is None or not _is_bool(source, kind):
        return None
    if isinstance(default, ast.Constant) and isinstance(default.value, bool):
        return None
    for given in call.args:
        if isinstance(given, ast.Constant) and isinstance(given.value, str) and COUNTS.match(given.value):
            return kind, given.value
    return None


def _is_bool(source: Source, function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and source.qualified(function) == "builtins.bool"
