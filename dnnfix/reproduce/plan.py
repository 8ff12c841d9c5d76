"""Joins the steps of all edit actions for a case into one scaffold."""

from __future__ import annotations

from collections.abc import Sequence

from dnnfix.records import EditStep, Reproduction, Scaffold
from dnnfix.reproduce import standin
from dnnfix.reproduce.actions import (
    addresses,
    compile_errors,
    datasets,
    hub,
    hyperparameters,
    imports,
    input_data,
    logs,
    network,
    obsolete_parameters,
    pretrained,
    smaller,
    versions,
)
from dnnfix.reproduce.case import Action, Case, Gap

ACTIONS: tuple[Action, ...] = (
    compile_errors,
    versions,
    obsolete_parameters,
    imports,
    addresses,
    datasets,
    pretrained,
    hub,
    hyperparameters,
    smaller,
    network,
    input_data,
    logs,
)
"""In the order in which they are asked: a name that one of them defines is not defined by a later one, and of two
stand-ins for one function the later one is asked first."""


def plan(case: Case) -> Reproduction:
    """The reproduction that all actions together plan for the case."""
    steps: list[EditStep] = []
    gaps: list[str] = []
    for action in ACTIONS:
        for found in action.steps(case):
            if isinstance(found, Gap):
                gaps.append(found.what if found.line is None else f"line {found.line}: {found.what}")
                continue
            steps.append(found)
            scaffold = found.scaffold
            case = case.taking(frozenset(name for name, _ in scaffold.definitions), scaffold.arguments)
    return Reproduction(tuple(steps), joined(steps), tuple(dict.fromkeys(gaps)))


def joined(steps: Sequence[EditStep]) -> Scaffold:
    """One scaffold for all steps, with the source of the stubs that they use."""
    parts = [step.scaffold for step in steps]
    used = standin.used_in("\n".join(code for part in parts for code in (part.start, part.defining, part.end)))
    starts = [standin.text(used)] if used else []
    starts += dict.fromkeys(part.start.strip() for part in parts if part.start.strip())
    definitions: dict[str, str] = {}
    for part in parts:
        for name, code in part.definitions:
            definitions.setdefault(name, code)
    return Scaffold(
        start="\n\n".join(starts),
        definitions=tuple(definitions.items()),
        end="\n".join(dict.fromkeys(part.end.strip() for part in parts if part.end.strip())),
        literals=tuple(dict(pair for part in parts for pair in part.literals).items()),
        arguments=tuple(word for part in parts for word in part.arguments),
        sizes=tuple(dict(pair for part in parts for pair in part.sizes).items()),
    )
