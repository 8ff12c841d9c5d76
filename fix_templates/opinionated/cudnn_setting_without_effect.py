"""A setting of cuDNN is misspelt, or compared and not set: it has no effect, and nothing says so."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Source, Subject, random_state, words

SETTINGS = words("enabled benchmark benchmark_limit deterministic allow_tf32 fp32_precision conv rnn flags set_flags")
ELSEWHERE = words("torch torch.backends torch.cuda torch.cudnn torch.backends.cuda torch.nn")
"""Where people look for the settings of cuDNN, and where Python lets anything be assigned."""


class CudnnSettingWithoutEffect(ReadTemplate):
    """`torch.backends.cudnn.benckmark = True` sets an attribute that nobody reads; `cudnn.benchmark == True` sets nothing.

    Python lets any attribute of a module be assigned. The settings are `enabled`, `benchmark`, `benchmark_limit`, `deterministic` and `allow_tf32` of
    `torch.backends.cudnn`.

    Fix safety: unsafe. The setting has its effect from now on.

    References: torch.backends.cudnn.
    """

    code = "DNF918"
    name = "cudnn-setting-without-effect"
    message = "`{setting}` has no effect: {why}"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.FAULT
    silent = 14
    default = False
    triggers = ("cudnn", "backends", "benchmark", "deterministic")
    declined = "no setting of cuDNN has a name like this"
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for node in source.nodes(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield from _assigned(source, target)
        for statement in source.nodes(ast.Expr):
            compared = statement.value
            if not isinstance(compared, ast.Compare) or not isinstance(compared.left, ast.Attribute):
                continue
            if _is_cudnn(source, compared.left.value) and isinstance(compared.ops[0], ast.Eq):
                site = source.site(statement)
                code = f"{ast.unparse(compared.left)} = {ast.unparse(compared.comparators[0])}"
                said = {"setting": ast.unparse(compared), "why": "it compares, and sets nothing"}
                yield Fault.with_repair(site, said, "Set it", Replace(site, code))

    programs = """
=== example: misspelt
import torch

- torch.backends.cudnn.benckmark = True
+ torch.backends.cudnn.benchmark = True

=== example: compared
import torch.backends.cudnn as cudnn

- cudnn.deterministic == True
+ cudnn.deterministic = True

=== example: of another module
import torch

- torch.backends.benchmark = True
+ torch.backends.cudnn.benchmark = True

=== reject: as they are
import torch

torch.backends.cudnn.enabled = True
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
assert torch.backends.cudnn.benchmark == True

=== reject: an object of the program
class Options:
    pass

options = Options()
options.benchmark = True
options.cudnn = Options()
options.cudnn.tuner = "fast"
"""


def _assigned(source: Source, target: ast.Attribute) -> Iterator[Fault]:
    """What is wrong with the assignment of an attribute, if it is meant for cuDNN."""
    site, text = source.site(target), ast.unparse(target)
    if _is_cudnn(source, target.value):
        if target.attr in SETTINGS:
            return
        meant = difflib.get_close_matches(target.attr, sorted(SETTINGS), 1, 0.7)
        said = {"setting": text, "why": "torch.backends.cudnn has no such setting"}
        edits = (Replace(site, f"{ast.unparse(target.value)}.{meant[0]}"),) if meant else None
        yield Fault(site, said, (("Spell it as torch does", edits, 0.95),))
    elif target.attr in random_state.SETTINGS and source.qualified(target.value) in ELSEWHERE:
        said = {"setting": text, "why": "the setting is that of torch.backends.cudnn"}
        is_spelt_out = text.startswith("torch.")
        edits = (Replace(site, f"torch.backends.cudnn.{target.attr}"),) if is_spelt_out else None
        yield Fault(site, said, (("Set it where it is read", edits, 0.9),))


def _is_cudnn(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is the module of cuDNN's settings."""
    text = source.qualified(expr) or ast.unparse(expr)
    return text == "torch.backends.cudnn" or (text == "cudnn" and source.definition(expr) is None)
