"""What a repair of dnnfix is worth beside the repairs that people made: pure functions over programs and traces."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dnnfix.emit.hunks import replacements
from dnnfix.records import Family, Finding, Trace

ENDS = frozenset({Family.DATA_DIMENSION, Family.LAYER_DIMENSION})
"""A mismatch of dimensions can be told, and repaired, on the side of the data or of the layer: both name one fault."""

NEAR = 1e-4
"""Relative difference up to which two numbers of deterministic runs are the same: sums may be taken in another order."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)\b")


def detected(findings: Iterable[Finding], family: Family) -> bool:
    """Whether a finding names the family of the fault."""
    wanted = ENDS if family in ENDS else {family}
    return any(finding.family in wanted for finding in findings)


def changed_lines(diff: str) -> frozenset[int]:
    """The lines of the original that a repair changes; an insertion counts as the lines on both sides of it."""
    found: set[int] = set()
    for change in replacements(diff):
        found.update(range(change.first, change.end) if change.old else (change.first - 1, change.first))
    return frozenset(found)


def localized(findings: Iterable[Finding], lines: Iterable[int]) -> bool:
    """Whether a finding points at one of the lines."""
    wanted = frozenset(lines)
    return any(wanted & set(range(f.site.line, f.site.end_line + 1)) for f in findings)


def same_tree(one: bytes, other: bytes) -> bool:
    """Whether two programs read the same: layout, comments, docstrings and the order of keywords apart."""
    try:
        return _plain(one) == _plain(other)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _plain(program: bytes) -> str:
    tree = ast.parse(program)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a run did, as far as it can be compared: words and numbers printed, losses, and what its layers gave.

    Reshaping and other functions between the layers are left out: one result is got in many ways.
    """

    words: str
    numbers: tuple[float, ...]
    losses: tuple[float, ...]
    shapes: tuple[object, ...]

    @property
    def tells(self) -> bool:
        """Whether there is anything in it that two different programs would differ in."""
        return bool(self.losses or self.numbers or self.shapes)

    def same_as(self, other: Behaviour) -> bool:
        """Whether two runs did the same up to rounding."""
        if (self.words, self.shapes) != (other.words, other.shapes):
            return False
        return _near(self.numbers, other.numbers) and _near(self.losses, other.losses)


def behaviour(trace: Trace) -> Behaviour:
    """What a run did."""
    calls = trace.network.calls if trace.network is not None else ()
    return Behaviour(
        words=" ".join(_NUMBER.sub("#", trace.printed).split()),
        numbers=tuple(float(found) for found in _NUMBER.findall(trace.printed)),
        losses=tuple(step.loss for step in trace.steps if step.loss is not None),
        shapes=tuple(
            (call.name, tuple((v.shape, v.dtype) for v in call.outputs)) for call in calls if call.component is not None
        ),
    )


def same_behaviour(some: Sequence[Trace], others: Sequence[Trace]) -> bool:
    """Whether two programs did the same on the same seeds."""
    pairs = [(behaviour(one), behaviour(other)) for one, other in zip(some, others, strict=True)]
    return bool(pairs) and all(one.tells and one.same_as(other) for one, other in pairs)


def _near(some: Sequence[float], others: Sequence[float]) -> bool:
    if len(some) != len(others):
        return False
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=NEAR, abs_tol=NEAR**2)
        for a, b in zip(some, others, strict=True)
    )
