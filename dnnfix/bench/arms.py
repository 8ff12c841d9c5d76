"""The control arms of a replay: an empty patch and a random one, which go up the same ladder as the engine's patches.

A ladder that accepts either says nothing about the patches that it accepts from the engine. The empty patch is a
comment: it changes the source text and nothing else. The random patch is one edit of a kind that repairs are made of,
at a random place.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.config import Settings
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.records import (
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    Candidate,
    Family,
    Finding,
    FixPattern,
    RunRecord,
    Site,
    Symptom,
    Trace,
)
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.ladder import Climb, climb

_SIBLINGS = (
    ("relu", "tanh", "sigmoid", "softmax", "linear", "elu"),
    ("ReLU", "Tanh", "Sigmoid", "ELU", "Identity"),
    ("Adam", "SGD", "RMSprop", "Adagrad"),
    ("mse", "mae", "binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"),
    ("MSELoss", "L1Loss", "CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss", "NLLLoss"),
    ("float32", "float64", "int64", "int32"),
    ("same", "valid"),
)
"""Words that repairs put in each other's place."""


def null_patch(program: bytes) -> bytes:
    """The program with a comment at its end."""
    end = b"" if program.endswith(b"\n") else b"\n"
    return program + end + b"# unchanged\n"


def random_patch(program: bytes, seed: int) -> bytes:
    """The program with one random edit that still parses: a constant, a word, an argument or a statement changed.

    Raises `ValueError` where the program offers none.
    """
    tree = ast.parse(program)
    edits = sorted(set(_edits(tree, program)))
    random.Random(seed).shuffle(edits)
    for start, end, new in edits:
        made = program[:start] + new + program[end:]
        try:
            if ast.dump(ast.parse(made)) != ast.dump(tree):
                return made
        except (SyntaxError, ValueError):
            continue
    raise ValueError("the program offers nothing to edit")


def _edits(tree: ast.Module, program: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Edits as (start, end, new bytes), in offsets of the program, which is UTF-8 as columns of the tree count."""
    starts = [0]
    for line in program.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        last = node.end_lineno or node.lineno
        return starts[node.lineno - 1] + node.col_offset, starts[last - 1] + (node.end_col_offset or 0)

    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            yield from ((*span(node), repr(new).encode()) for new in _others(node.value))
        elif isinstance(node, ast.Attribute):
            end = span(node)[1]
            yield from ((end - len(node.attr.encode()), end, new.encode()) for new in _siblings(node.attr))
        elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
            yield (*span(node), b"pass")
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            (start, first), (second, end) = span(node.args[0]), span(node.args[1])
            yield (start, end, program[second:end] + program[first:second] + program[start:first])


def _others(value: object) -> list[object]:
    """What a random patch may write in place of a constant."""
    if type(value) is int:
        return [value * 2, value + 1, value // 2, -value]
    if type(value) is float:
        return [value * 10, value / 10, -value]
    return [*_siblings(value)] if isinstance(value, str) else []


def _siblings(word: str) -> list[str]:
    return [other for group in _SIBLINGS if word in group for other in group if other != word]


def put_to_the_ladder(
    program: bytes, patched: bytes, path: str, settings: Settings, runner: Runner
) -> tuple[Climb, tuple[RunRecord, ...]]:
    """How far a patch comes that claims to repair what the engine found first, or else what the run showed; and the runs.

    Raises `InputError`, `SandboxError` and `InterpreterError` as `suggest_file` does.
    """
    before, after = Source.from_bytes(program, path), Source.from_bytes(patched, path)
    with laboratory_for(before, settings, [], runner) as laboratory:
        trace = laboratory.observe(before, settings.seed)
        findings = laboratory.findings(before, trace)
        claimed = findings[0] if findings else _claim(trace)
        candidate = Candidate("arm", "no template", FixPattern.CHANGE_NEURAL_ARCHITECTURE, (), (claimed,))
        evidence = Evidence((candidate,), before, after, before=trace, after=trace, original=findings)
        return climb(evidence, laboratory), tuple(laboratory.records)


def _claim(trace: Trace) -> Finding:
    """What a patch claims to repair where the engine has found nothing."""
    crash = trace.crash
    site = crash.site if crash is not None and crash.site is not None else Site(1, 1, 1, 1)
    found = Finding(UNEXPLAINED_CODE, UNEXPLAINED_RULE, Family.OPINIONATED, site, "the symptom of the case")
    return replace(found, symptom=Symptom.CRASH if crash is not None else Symptom.NOT_LEARNING)
