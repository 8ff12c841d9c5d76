"""Finds the modules beside a program that it imports, and applies edit actions to them as well."""

from __future__ import annotations

import ast
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.records import EditStep, Scaffold
from dnnfix.reproduce import conventions
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.syntax import strings
from dnnfix.run.visible import below, offered, repository_of, too_broad
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
    root = _root(folder, repository)
    program = folder / Path(source.path).name
    places = looked_in(folder, repository)
    found: dict[Path, Source] = {}
    pending = deque([(program, source)])  # the nearest are read first
    while pending and len(found) < MOST:
        file, text = pending.popleft()
        places += [place for place in _put_on_the_path(text, folder, file.parent) if place not in places]
        homes = [place for name in _unfound(text, places) if (place := home_of(name, root)) is not None]
        for path in imported_files(file, text, [*places, *homes]):
            if path in found or path == program or not path.is_relative_to(root) or not offered(root, path):
                continue
            try:
                module = Source.from_bytes(path.read_bytes(), Path(os.path.relpath(path, folder)).as_posix())
            except (InputError, OSError):
                continue
            found[path] = module
            pending.append((path, module))
    return tuple(found.values())


def looked_in(folder: Path, repository: Path | None, source: Source | None = None) -> list[Path]:
    """The folders that a run of a program in `folder` finds modules in: its own, those above it up to the repository, and
    those that a `source` puts on the path itself.
    """
    root = _root(folder, repository)
    places = [folder]
    for above in folder.parents if folder != root else ():
        places += [above, above / "src"]
        if above == root:
            break
    return places if source is None else [*places, *_put_on_the_path(source, folder)]


def home_of(module: str, repository: Path) -> Path | None:
    """The one folder of a repository, wherever it lies, from which a module is imported that nothing else is called like.

    `None` for modules of Python and of packages that are known, for those that lie in several folders, and for parts of
    packages, which are imported with these.
    """
    if module in sys.stdlib_module_names or module in conventions.PACKAGES or module in conventions.SILENT:
        return None
    homes = _homes(repository).get(module, ())
    return homes[0] if len(homes) == 1 else None


@lru_cache(maxsize=8)
def _homes(repository: Path) -> dict[str, list[Path]]:
    """The folders from which a module can be imported that lies in a repository, by its name."""
    found: dict[str, list[Path]] = {}
    for place in map(Path, () if too_broad(repository) else below(str(repository), str(repository))):
        start = place.parent
        if place.name == "__init__.py":
            start, module = start.parent, start.name
        elif place.suffix == ".py":
            module = place.stem
        else:
            continue
        if not (start / "__init__.py").exists() and place.parent != repository:
            found.setdefault(module, []).append(start)
    return found


def _root(folder: Path, repository: Path | None) -> Path:
    return repository if repository is not None and folder.is_relative_to(repository) else folder


def _unfound(source: Source, places: Sequence[Path]) -> Iterator[str]:
    """The modules that a file imports and that lie in none of the places."""
    for name in {module.partition(".")[0] for _name, module in source.imported_names}:
        if not any(_lies_in(name, place) for place in places):
            yield name


def _lies_in(module: str, place: Path) -> bool:
    return (place / module).is_dir() or (place / f"{module}.py").is_file()


def lies_beside(module: str, case: Case) -> bool:
    """Whether a module lies in a folder where the run of a case looks for it."""
    if case.folder is None:
        return False
    places = looked_in(case.folder, repository_of(case.folder), case.source)
    return any(_lies_in(module, place) for place in [*places, *([case.start] if case.start else [])])


def _put_on_the_path(source: Source, *folders: Path) -> Iterator[Path]:
    """The folders that a program looks for modules in as well, as seen from `folders`: `sys.path.append("utils")`, also
    where the path is a joined one.
    """
    for call in source.all_calls:
        if call.args and ast.unparse(call.func) in PATH:
            place = "/".join(strings(node for node in ast.walk(call.args[-1]) if isinstance(node, ast.Constant)))
            if place and not os.path.isabs(place):
                yield from dict.fromkeys(Path(os.path.normpath(folder / place)) for folder in folders)


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
