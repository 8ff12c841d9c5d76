"""Reproduction masks no fault: programs of the catalogue lose what snippets lack, and their faults are still found.

Every rule that needs a run gives its examples. Each loses its imports, as code in a question does, and each that makes its
data by itself loses that as well, with a comment in its place that says the shape. Then the program is made to run again.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dnnfix import registry
from dnnfix.records import Family, Reproduction, Trace
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.rounds import attempt, needed
from dnnfix.run.interpreter import modules
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

CONVENTIONS = {
    "import torch", "import torch.nn as nn", "from torch import nn", "from torch import nn, optim", "import numpy as np",
    "import torch.nn.functional as F", "import torch.optim as optim", "import keras", "from keras import layers",
    "import tensorflow as tf", "import pandas as pd", "from torch.utils.data import DataLoader, TensorDataset",
}  # fmt: skip
"""Imports that everyone writes alike, and leaves out of a question."""

MAKERS = {
    "randn",
    "rand",
    "randint",
    "random",
    "zeros",
    "ones",
    "normal",
    "uniform",
    "arange",
    "RandomState",
    "default_rng",
}


def programs() -> list[Any]:
    return list(_programs())


def _programs() -> Iterator[Any]:
    kept: dict[Family, str] = {}
    for template in registry.templates():
        running = [example for example in template.examples if example.runs]
        for example in running[:1]:
            source = Source.from_bytes(example.before.encode(), "program.py")
            named = [name.name for node in source.nodes(ast.Import) for name in node.names]
            named += [node.module or "" for node in source.nodes(ast.ImportFrom)]
            wanted = source.frameworks | {name.partition(".")[0] for name in named}
            missing = sorted(name for name in wanted if importlib.util.find_spec(name) is None)
            marks = [pytest.mark.skip(reason=f"{', '.join(missing)} is not installed")] if missing else []
            if not missing and kept.setdefault(template.family, template.code) != template.code:
                marks.append(pytest.mark.slow)  # make test has one rule of each family
            yield pytest.param(template, example.before, id=f"{template.code}-{template.name}", marks=marks)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(Path(sys.executable)) as one:
        yield one


def reproduced(program: str, runner: Runner) -> tuple[Source, Trace, Reproduction]:
    """The program in the scaffold that makes it run, and the trace of that."""
    source = Source.from_bytes(program.encode(), "program.py")

    def run(reproduction: Reproduction | None) -> Trace:
        scaffold = reproduction.scaffold if reproduction else None
        words = scaffold.arguments if scaffold else ()
        budget = Budget(steps=12, seconds=60)
        return runner.run(Job("program.py", source.runnable, budget=budget, arguments=words, scaffold=scaffold))

    first = run(None)
    if not needed(first):
        return source, first, Reproduction()
    case = Case(source, (first,), lambda name: name in modules(Path(sys.executable)))
    reproduction, traces = attempt(case, run)
    return source, (first, *traces)[-1], reproduction


def found(template: type[FixTemplate], source: Source, trace: Trace) -> list[str]:
    return [finding.message for finding in template().detect(Subject(source, trace))]


def without_imports(program: str) -> str:
    """The program without the imports that everyone knows; the lines stay, so that sites do."""
    return "".join("\n" if line.strip() in CONVENTIONS else line for line in program.splitlines(keepends=True))


@pytest.mark.parametrize(("template", "program"), programs())
def test_missing_imports_mask_nothing(template: type[FixTemplate], program: str, runner: Runner) -> None:
    cut = without_imports(program)
    if cut == program:
        pytest.skip("the example has no import that a question would leave out")
    source, trace, reproduction = reproduced(cut, runner)
    assert trace.outcome.says_something, (trace.detail, reproduction.missing)
    assert found(template, source, trace), (trace.detail, [str(step) for step in reproduction.steps])


def admitted(reproduction: Reproduction) -> bool:
    """Whether a step says of its data that something was guessed, or taken from the network that it is for."""
    return any(word in step.evidence for step in reproduction.steps for word in ("could not show", "a guess"))


def data_of(program: str) -> dict[str, tuple[ast.Assign, tuple[int, ...]]]:
    """Arrays that statements at the top of a program make with random numbers alone, by name, with their shape."""
    tree = ast.parse(program)
    space: dict[str, Any] = {}
    made: dict[str, tuple[ast.Assign, tuple[int, ...]]] = {}
    for statement in tree.body:
        importing = isinstance(statement, (ast.Import, ast.ImportFrom))
        making = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _only_makes(statement)
        read = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        if not (importing or (making and read <= space.keys())):
            continue
        exec(compile(ast.Module([statement], []), "data", "exec"), space)  # noqa: S102 - random numbers, as checked
        if isinstance(statement, ast.Assign):
            names, values = _pairs(statement, space)
            if names and all(hasattr(value, "shape") and len(value.shape) for value in values):
                made |= {name: (statement, tuple(value.shape)) for name, value in zip(names, values, strict=True)}
    return made


def _only_makes(statement: ast.Assign) -> bool:
    calls = [node for node in ast.walk(statement.value) if isinstance(node, ast.Call)]
    plain = {"astype", "float", "long", "reshape", "seed"}
    names = [node.func.attr if isinstance(node.func, ast.Attribute) else "" for node in calls]
    return bool(set(names) & MAKERS) and set(names) <= MAKERS | plain


def _pairs(statement: ast.Assign, space: dict[str, Any]) -> tuple[list[str], list[Any]]:
    target = statement.targets[0]
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [node.id for node in targets if isinstance(node, ast.Name)]
    return (names, [space[name] for name in names]) if len(names) == len(targets) else ([], [])


def without_data(program: str) -> str:
    """The program with comments that say the shapes in place of the statements that make its data."""
    lines = program.splitlines(keepends=True)
    said: dict[int, list[str]] = {}
    for name, (statement, shape) in data_of(program).items():
        said.setdefault(statement.lineno, []).append(f"{name}.shape = {shape}")
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
            lines[line - 1] = "\n"
    for line, words in said.items():
        lines[line - 1] = f"# {'; '.join(words)}\n"
    return "".join(lines)


@pytest.mark.parametrize(("template", "program"), programs())
def test_missing_data_mask_nothing(template: type[FixTemplate], program: str, runner: Runner) -> None:
    cut = without_data(program)
    if cut == program:
        pytest.skip("the example makes no data that a comment could stand for")
    source, trace, reproduction = reproduced(cut, runner)
    assert trace.outcome.says_something, (trace.detail, reproduction.missing)
    if found(template, source, trace):
        return
    if any(f"name '{name}' is not defined" in trace.detail for name in data_of(program)):
        pytest.skip("not reproduced: nothing tells what the data is")
    assert admitted(reproduction), (trace.detail, [str(step) for step in reproduction.steps])
    pytest.skip("the comment tells the shape alone; that the rest was guessed is said")
