"""Learning rate schedules of a text: how each is made, where it is stepped, and in what its settings count."""

from __future__ import annotations

import ast
import re
from enum import StrEnum

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.structure import Happening, Kind
from dnnfix.detect.loops.training_loop import LOOPS, function_around, loops_around
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, within

BY_BATCH = words("OneCycleLR CyclicLR")
"""Schedules that are stepped once per batch."""
BY_EPOCH = words("StepLR MultiStepLR ExponentialLR CosineAnnealingLR LambdaLR MultiplicativeLR LinearLR PolynomialLR")
"""Schedules that are stepped once per epoch where their settings say nothing else; others need a metric."""
BY_METRIC = words("ReduceLROnPlateau")
"""Schedules whose step is told a metric."""
OF_BATCHES = re.compile(
    r"\blen\(|steps?_per|per_epoch|total_steps|training_steps|num_steps|max_iter|total_iter|iterations|num_batches|\* ?n_?iter",
    re.IGNORECASE,
)
"""Settings that count batches."""
OF_EPOCHS = re.compile(
    r"^(\w+\.)*(\w+_)?(n_?|num_?|max_?)?epochs?(_num)?$|^(\w+\.)*(num|n|max|total)_epochs?$", re.IGNORECASE
)
"""Settings that count epochs."""
MANY = 300
"""More batches than a milestone that is meant so would leave out."""


class Turn(StrEnum):
    """How often a schedule is stepped."""

    BATCH = "batch"
    EPOCH = "epoch"


@record
class Schedule:
    """A schedule that is made for an optimizer and kept under a name."""

    on: str
    made: ast.Call
    target: ast.expr
    kind: str
    optimizer: str


@once
def schedules(source: Source) -> tuple[Schedule, ...]:
    """The schedules that the text makes and keeps, in its order."""
    found = []
    for node in source.nodes(ast.Assign):
        made = node.value
        if (
            len(node.targets) != 1
            or not isinstance(made, ast.Call)
            or not isinstance(node.targets[0], (ast.Name, ast.Attribute))
        ):
            continue
        name, kind = source.qualified(made.func) or "", last_name(made.func)
        known = name.startswith(structure.SCHEDULES) if name else kind in BY_BATCH | BY_EPOCH | BY_METRIC
        given = argument_value(made, "optimizer", 0)
        if known and given is not None:
            found.append(Schedule(ast.unparse(node.targets[0]), made, node.targets[0], kind, ast.unparse(given)))
    return tuple(found)


@once
def turn_of(source: Source, step: structure.Operation) -> Turn | None:
    """Whether a step of a schedule comes with each batch or with each epoch; `None` where that is not seen or depends."""
    loops = loops_around(source, step.node)
    region = loops[0] if loops else function_around(source, step.node)
    if region is None or not structure.is_unconditional(source, step.node, region):
        return None
    updates = [each for each in structure.happenings(source, region) if each.kind is Kind.UPDATE]
    if not updates:
        return None
    if all(_is_in_further_loop(source, each, region) for each in updates):
        return Turn.EPOCH
    nested = len(loops) > 1 or (isinstance(region, ast.For) and structure.goes_over_data(region))
    return Turn.BATCH if nested and isinstance(region, LOOPS) else None


def _is_in_further_loop(source: Source, happening: Happening, region: ast.AST) -> bool:
    """Whether an operation happens in a loop within a region, or in a loop of a function that the region calls."""
    loops = loops_around(source, happening.at)
    inside = bool(loops) and loops[0] is not region
    return inside or (
        happening.at is not happening.operation.node and bool(loops_around(source, happening.operation.node))
    )


def counts(source: Source, schedule: Schedule) -> Turn | None:
    """What the settings of a schedule count: batches or epochs; `None` where they do not tell."""
    given = [*schedule.made.args[1:], *(each.value for each in schedule.made.keywords if each.arg != "optimizer")]
    text = " ; ".join(_written_out(source, each) for each in given)
    if OF_BATCHES.search(text):
        return Turn.BATCH
    if schedule.kind == "OneCycleLR":
        return None
    if schedule.kind == "MultiStepLR":
        marks = argument_value(schedule.made, "milestones", 1)
        values = [_number(each) for each in getattr(marks, "elts", [])]
        return Turn.EPOCH if values and all(each is not None and each <= MANY for each in values) else None
    if schedule.kind == "StepLR":
        size, gamma = (_number(argument_value(schedule.made, *each)) for each in (("step_size", 1), ("gamma", 2)))
        return Turn.EPOCH if size is not None and size <= MANY / 3 and (gamma is None or gamma <= 0.5) else None
    if schedule.kind == "ExponentialLR":
        gamma = _number(argument_value(schedule.made, "gamma", 1))
        return Turn.EPOCH if gamma is not None and gamma <= 0.98 else None
    if schedule.kind == "CosineAnnealingLR":
        whole = argument_value(schedule.made, "T_max", 1)
        return Turn.EPOCH if whole is not None and OF_EPOCHS.search(ast.unparse(whole)) else None
    return None


def _written_out(source: Source, setting: ast.expr) -> str:
    """A setting with what its names were assigned, once."""
    known = [binding for node in within(setting, ast.Name) for binding in _assigned(source, node.id)]
    return " ; ".join([ast.unparse(setting), *known])


def _assigned(source: Source, name: str) -> list[str]:
    return [
        ast.unparse(node.value)
        for node in source.nodes(ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def _number(node: ast.expr | None) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
