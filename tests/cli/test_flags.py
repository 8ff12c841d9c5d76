"""Every flag of the commands before they were read by typer is there, takes what it took, and has the default it had."""

from __future__ import annotations

import csv
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FLAGS = [tuple(row) for row in csv.reader((Path(__file__).parent / "flags.tsv").open(), delimiter="\t")][1:]
COUNTS = {"one": (1, True), "one or none": (1, False), "any number": (-1, False), "one or more": (-1, True)}


@cache
def flags(command: str) -> dict[str, Any]:
    """The flags of a command by each of their spellings, and its operands by their names."""
    built = import_module(f"dnnfix.cli.{command.replace(' ', '.')}").run.built(command.split()[-1])
    operands = {one.metavar: one for one in built.params if not one.opts[0].startswith("-")}
    return operands | {name: one for one in built.params for name in one.opts}


@pytest.mark.parametrize(("command", "flag", "kind", "default"), FLAGS, ids=lambda word: word)
def test_flag(command: str, flag: str, kind: str, default: str) -> None:
    names = flag.split()
    found = flags(command).get(names[0]) or flags(command)[names[0].upper()]
    if not flag.startswith("-"):
        count, required = COUNTS[kind]
        assert (found.nargs, found.required) == (count, required)
        return
    kind, *more = kind.split(", ")
    assert set(names) <= set(found.opts)
    assert found.is_flag == (kind == "flag")
    assert found.required == bool(more)
    assert found.multiple == (kind == "values")
    assert str(found.default or "") == default
    if kind.startswith("one of "):
        assert [str(getattr(one, "value", one)) for one in found.type.choices] == kind.split()[2:]
