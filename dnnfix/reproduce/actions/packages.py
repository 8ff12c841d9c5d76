"""Edit action: a module of a package is run as one, so that it imports what lies in the package as it does when a program imports it.

Run by itself, its own folder is what Python looks in first: `from . import x` has nothing to go by, and where a module of the package
is called like the package (`net/net.py`), `import net.layers` finds that module in the package's place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case
from dnnfix.run.visible import repository_of

_HIDDEN = re.compile(
    r"'(?P<a>\w+)' is not a package|the package '(?P<b>\w+)' is not installed"
    r"|cannot import name '\w+' from (?:partially initialized module )?'(?P<c>\w+)'"
)
"""What is said of a package in whose place a module was found."""
_RELATIVE = "this is a module of a package"
"""How the account of a run begins that ended at a relative import."""


def steps(case: Case) -> Iterator[EditStep]:
    """The step that runs a file as a module of the package around it, where a run ended for want of that."""
    package = _package(case)
    if package is not None and case.folder is not None:
        dotted = ".".join(case.folder.parts[len(package.parent.parts) :])
        yield EditStep(
            EditAction.IMPORTS,
            f"it is run as a module of the package {dotted}, as `python -m` does",
            "run by itself it does not find what lies in the package",
            None,
            invented=False,
            scaffold=Scaffold(start=f"__package__ = {dotted!r}\nmade_in_package({dotted.count('.') + 1})"),
        )


def _package(case: Case) -> Path | None:
    """The folder of the outermost package that a file has to be run as a module of; `None` where no run asked for that."""
    if case.folder is None:
        return None
    repository = repository_of(case.folder)
    around = (case.folder, *case.folder.parents)
    inside = [place for place in around if place != repository and place.is_relative_to(repository)]
    for trace in case.traces:
        if trace.detail.startswith(_RELATIVE):
            levels = max((node.level for node in case.source.nodes(ast.ImportFrom)), default=1)
            whole = [place for place in inside if (place / "__init__.py").is_file()]
            return next(iter((whole or inside[:levels])[-1:]), None)
        hidden = _HIDDEN.search(trace.crash.message if trace.crash is not None else trace.detail)
        name = next(filter(None, hidden.groups()), "") if hidden is not None else ""
        if name and (case.folder / f"{name}.py").is_file():
            return next((place for place in inside if place.name == name), None)
    return None
