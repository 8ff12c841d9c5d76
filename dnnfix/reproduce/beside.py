"""The modules beside a program that it imports: what they ask of a library counts as well."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.records import EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.run.visible import offered
from dnnfix.source.program import Source

MOST = 20
"""Modules beside a program that are read."""

Ask = Callable[[Case], Iterator[EditStep | Gap]]


def everywhere(ask: Ask, case: Case) -> Iterator[EditStep | Gap]:
    """What an action does for the program, then what it does for the modules beside it: that names the file."""
    done: set[Scaffold] = set()
    for found in ask(case):
        if isinstance(found, EditStep):
            done.add(found.scaffold)
        yield found
    for module in case.source.beside:
        for found in ask(replace(case, source=module)):
            if isinstance(found, Gap):
                where = f", line {found.line}" if found.line is not None else ""
                yield Gap(f"{module.path}{where}: {found.what}")
            elif found.scaffold not in done:
                done.add(found.scaffold)
                yield replace(found, what=f"{found.what} (asked for in {module.path})", line=None)


def modules_beside(source: Source, folder: Path) -> tuple[Source, ...]:
    """The files in the program's folder that it imports, and those that they import: of those that a run gets to see."""
    program = folder / Path(source.path).name
    found: dict[Path, Source] = {}
    pending = [(program, source)]
    while pending and len(found) < MOST:
        for path in _imported(*pending.pop(), folder):
            if path in found or path == program or not offered(folder, path):
                continue
            try:
                module = Source.from_bytes(path.read_bytes(), path.relative_to(folder).as_posix())
            except (InputError, OSError):
                continue
            found[path] = module
            pending.append((path, module))
    return tuple(found.values())


def _imported(file: Path, source: Source, folder: Path) -> Iterator[Path]:
    """The files below the folder that the source in a file imports."""
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        start = folder
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
            if node.level:
                start = file.parents[min(node.level, len(file.parents)) - 1]
        else:
            names = [alias.name for alias in getattr(node, "names", ())]
        for name in filter(None, names):
            place = start.joinpath(*name.split("."))
            packages = [above / "__init__.py" for above in place.parents if start in above.parents]
            for path in (*reversed(packages), place.with_suffix(".py"), place / "__init__.py"):
                if path.is_relative_to(folder) and path.is_file():
                    yield path
