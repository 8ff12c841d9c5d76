"""A setting of cuDNN is misspelt, or read and not set: it has no effect, and nothing says so."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Source, Subject, random_state, words

SETTINGS = words("enabled benchmark benchmark_limit deterministic allow_tf32 fp32_precision conv rnn flags set_flags")
ELSEWHERE = words("torch torch.backends torch.cuda torch.cudnn torch.backends.cuda torch.backends.mps torch.nn")
"""Where people look for the settings of cuDNN, and where Python lets anything be assigned."""


class CudnnSettingWithoutEffect(ReadTemplate):
    """`torch.backends.cudnn.benckmark = True` sets an attribute that nobody reads; `cudnn.benchmark == True` sets nothing, nor do
    `cudnn.benchmark` alone, `cudnn.benchmark: True`, a `flags(...)` that no `with` enters, and a name that was imported from the module.

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
        for declared in source.nodes(ast.AnnAssign):
            if declared.value is None and _is_setting(source, declared.target):
                code = f"{ast.unparse(declared.target)} = {ast.unparse(declared.annotation)}"
                yield _nothing_set(source, declared, "it declares a type, and sets nothing", code)
        for statement in source.nodes(ast.Expr):
            shown = statement.value
            if isinstance(shown, ast.Compare) and _is_setting(source, shown.left):
                if isinstance(shown.ops[0], (ast.Eq, ast.Is)):
                    code = f"{ast.unparse(shown.left)} = {ast.unparse(shown.comparators[0])}"
                    yield _nothing_set(source, statement, "it compares, and sets nothing", code)
            elif _is_setting(source, shown) and not _is_shown(source, statement):
                yield _nothing_set(source, statement, "it is read, and not set", f"{ast.unparse(shown)} = True")
            elif isinstance(shown, ast.Call) and source.qualified(shown.func) == "torch.backends.cudnn.flags":
                yield _nothing_set(source, statement, "it is for a `with`, and sets nothing by itself", None)
        yield from _of_imported_names(source)

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

=== example: read, and not set
import torch

if torch.cuda.is_available():
-     torch.backends.cudnn.benchmark
+     torch.backends.cudnn.benchmark = True
    net = make().cuda()

=== example: an annotation
import torch.backends.cudnn as cudnn

- cudnn.deterministic: True
+ cudnn.deterministic = True

=== finds: a context that nothing enters
import torch

torch.backends.cudnn.flags(enabled=False)
slope = second_derivative(rnn(x))

=== finds: a name that was imported
from torch.backends.cudnn import benchmark, deterministic

benchmark = True

=== reject: shown by a notebook
import torch

torch.backends.cudnn.benchmark

=== reject: a name that says the same
from torch.backends.cudnn import version

benchmark = True
enabled = version() is not None

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


def _nothing_set(source: Source, statement: ast.stmt, why: str, code: str | None) -> Fault:
    """A statement that leaves a setting as it was, and what is written to set it."""
    site = source.site(statement)
    edits = (Replace(site, code),) if code is not None else None
    return Fault(site, {"setting": ast.unparse(statement), "why": why}, (("Set it", edits, 0.9),))


def _of_imported_names(source: Source) -> Iterator[Fault]:
    """Names that were imported from the module of the settings, and are then given a value: the module keeps its own."""
    if "cudnn" not in source.words:
        return
    imported = {name for name, what in source.imported_names if what.rpartition(".")[0] == "torch.backends.cudnn"}
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in imported & SETTINGS:
            yield _nothing_set(source, node, "the name is bound anew, and torch.backends.cudnn keeps its value", None)


def _is_shown(source: Source, statement: ast.Expr) -> bool:
    """Whether a notebook may show what stands alone: at the top of a text, or of a cell."""
    return isinstance(source.parent(statement), ast.Module)


def _is_setting(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is a setting of cuDNN."""
    return isinstance(expr, ast.Attribute) and expr.attr in SETTINGS and _is_cudnn(source, expr.value)


def _is_cudnn(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is the module of cuDNN's settings."""
    text = source.qualified(expr) or ast.unparse(expr)
    return text == "torch.backends.cudnn" or (text == "cudnn" and source.definition(expr) is None)
