"""Finds the modules beside a program that it imports, and applies edit actions to them as well."""

from __future__ import annotations

import ast
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.records import EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.run.visible import offered
from dnnfix.source.program import Source

MOST = 20
"""Modules beside a program that are read."""

PATH = ("sys.path.append", "sys.path.insert")

Ask = Callable[[Case], Iterator[EditStep | Gap]]


def everywhere(ask: Ask, case: Case) -> Iterator[EditStep | Gap]:
    """The steps of an action for the program, then its steps for the imported modules, which name the file."""
    done: set[Scaffold] = set()
    for found in ask(case):
        if isinstance(found, EditStep):
            done.add(found.scaffold)
        yield found
    for module in case.source.beside:
        for found in ask(replace(case, source=module, started=case.start)):
            if isinstance(found, Gap):
                where = f", line {found.line}" if found.line is not None else ""
                yield Gap(f"{module.path}{where}: {found.what}")
            elif found.scaffold not in done:
                done.add(found.scaffold)
                yield replace(found, what=f"{found.what} (asked for in {module.path})", line=None)


def modules_beside(source: Source, folder: Path, repository: Path | None = None) -> tuple[Source, ...]:
    """The files in the program's folder that it imports, directly or through others, as far as a run may see them.

    Of a program in a `repository` also those that lie in a folder above its own, as a run finds them there. They are named as
    seen from the program: `../network/layers.py`.
    """
    root = repository if repository is not None and folder.is_relative_to(repository) else folder
    program = folder / Path(source.path).name
    places = [folder, *_above(folder, root)]
    found: dict[Path, Source] = {}
    pending = deque([(program, source)])  # the nearest are read first
    while pending and len(found) < MOST:
        file, text = pending.popleft()
        places += [Path(os.path.normpath(folder / place)) for place in _put_on_the_path(text)]
        for path in imported_files(file, text, places):
            if path in found or path == program or not path.is_relative_to(root) or not offered(root, path):
                continue
            try:
                module = Source.from_bytes(path.read_bytes(), Path(os.path.relpath(path, folder)).as_posix())
            except (InputError, OSError):
                continue
            found[path] = module
            pending.append((path, module))
    return tuple(found.values())


def _put_on_the_path(source: Source) -> Iterator[str]:
    """The folders that a program looks for modules in as well: `sys.path.append("utils")`."""
    for call in source.all_calls:
        match call:
            case ast.Call(args=[*_, ast.Constant(value=str() as place)]) if ast.unparse(call.func) in PATH:
                yield from [] if os.path.isabs(place) else [place]


def places_of(source: Source, folder: Path, root: Path) -> list[Path]:
    """The folders, up to `root`, in which the modules lie that a file in `folder` imports, the first that is asked first."""
    put = (Path(os.path.normpath(folder / place)) for place in _put_on_the_path(source))
    return [folder, *_above(folder, root), *put]


def _above(folder: Path, root: Path) -> Iterator[Path]:
    for above in folder.parents if folder != root else ():
        yield from (above, above / "src")
        if above == root:
            break


def imported_files(file: Path, source: Source, places: Sequence[Path]) -> Iterator[Path]:
    """The files that the source in a file imports, where they lie below one of the places, the first of them that has them."""
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        starts = places
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
            if node.level:
                starts = [file.parents[min(node.level, len(file.parents)) - 1]]
        else:
            names = [alias.name for alias in getattr(node, "names", ())]
        for name in filter(None, names):
            yield from next(filter(None, (_files_of(name, start) for start in starts)), ())


def _files_of(name: str, start: Path) -> list[Path]:
    """The files below a folder that an import of this name runs there: of the packages around the module, and its own."""
    place = start.joinpath(*name.split("."))
    packages = [above / "__init__.py" for above in place.parents if start in above.parents]
    return [path for path in (*reversed(packages), place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
