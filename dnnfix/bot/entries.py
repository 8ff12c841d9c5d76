"""Which files of a repository are programs to run, and with which command-line arguments."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath

from dnnfix.programs import is_about_models

NOT_PROGRAMS = frozenset({"setup.py", "conftest.py", "conf.py", "noxfile.py", "__init__.py", "versioneer.py"})
OF_OTHERS = frozenset({"node_modules", "site-packages", "vendor", "third_party", "external"})
COMMANDS_IN = re.compile(r"^(readme.*|makefile|.*\.(md|rst|sh|ya?ml))$", re.IGNORECASE)
"""Names of files in which people write how their programs are called."""

_CALL = re.compile(
    r"^(?:[\s>$-]*|.*`|\s*(?:- )?run:\s*)python[0-9.]*\s+(?P<module>-m\s+)?(?P<name>[\w./-]+)(?P<rest>[^\n`]*)",
    re.MULTILINE,
)
"""A call at the beginning of a line, or of code in a sentence: prose that speaks of one is none."""
_SHELL = frozenset("$<>|&;(){}*?[]\\#")
"""Characters of a shell that is not ours: a call with one of them is not taken."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A program of a repository: its path, and the words that it is called with."""

    path: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a repository, those to run first; `others` are read and not run."""

    entries: tuple[Entry, ...]
    others: tuple[str, ...]


def tells_of_programs(path: str) -> bool:
    """Whether a file may be a program, or may show how one is called (a README, a workflow)."""
    return is_program(path) or COMMANDS_IN.match(PurePosixPath(path).name) is not None


def is_program(path: str) -> bool:
    """Whether a file is Python, a script or a notebook."""
    return path.endswith((".py", ".ipynb"))


def imported_names(raw: bytes) -> Iterator[str]:
    """Every part of the name of every module that a file imports; none where Python does not read it."""
    return _imports(_parsed(raw))


def module_of(path: str) -> str:
    """The last part of the name that a file is imported by; that of its folder for a package."""
    place = PurePosixPath(path)
    return place.parent.name if place.name == "__init__.py" else place.stem


def with_importers(
    files: AbstractSet[str], names: Mapping[str, AbstractSet[str]], modules: AbstractSet[str] = frozenset()
) -> frozenset[str]:
    """The files, and those that import one of them or of the `modules`, however far; `names` are those that each file imports."""
    found = frozenset(files)
    while True:
        known = modules | {module_of(path) for path in found}
        more = {path for path, own in names.items() if path not in found and own & known}
        if not more:
            return found
        found |= more


def programs(files: Mapping[str, bytes]) -> Programs:
    """The programs among the files of a repository, by path.

    Run are notebooks, scripts with a main part, and modules that nobody imports and that do something when they are run, if they or
    what they import of the repository name a framework. First come those that a README, a Makefile or a workflow calls.
    """
    named = {path: raw for path, raw in files.items() if is_program(path) and _is_own(path)}
    framed = {path for path, raw in named.items() if is_about_models(raw)}
    trees = {path: _parsed(raw) for path, raw in named.items() if path.endswith(".py")}
    imports = {path: set(_imports(tree)) for path, tree in trees.items()}
    imported = set().union(*imports.values())
    used = with_importers(framed, imports)
    called = _called(files, used)
    entries = [
        Entry(path, called.get(path, ()))
        for path in sorted(used, key=lambda path: (path not in called, path.count("/"), path))
        if path in called or _is_entry(path, trees.get(path), imported)
    ]
    run = {entry.path for entry in entries}
    return Programs(tuple(entries), tuple(sorted(framed - run)))


def _is_own(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not any(part in OF_OTHERS or part.startswith(".") for part in parts)


def _is_entry(path: str, tree: ast.Module | None, imported: set[str]) -> bool:
    name = PurePosixPath(path).name
    if path.endswith(".ipynb"):
        return True
    if tree is None or name in NOT_PROGRAMS or name.startswith("test_") or name.endswith("_test.py"):
        return False
    if any(_is_main_part(node) for node in tree.body):
        return True
    acts = any(isinstance(node, (ast.For, ast.While, ast.With)) or _is_call(node) for node in tree.body)
    return acts and PurePosixPath(path).stem not in imported


def _is_main_part(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    return "__name__" in names and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def _is_call(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _parsed(raw: bytes) -> ast.Module | None:
    try:
        return ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imports(tree: ast.Module | None) -> Iterator[str]:
    """Every part of the name of every module that is imported: which of them is the file's is not asked."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)


def _called(files: Mapping[str, bytes], known: AbstractSet[str]) -> dict[str, tuple[str, ...]]:
    """The first call of each program that the repository's own texts tell, with words that mean the same without a shell."""
    found: dict[str, tuple[str, ...]] = {}
    for path, raw in sorted(files.items(), key=lambda item: (item[0].count("/"), item[0])):
        if not COMMANDS_IN.match(PurePosixPath(path).name):
            continue
        base = PurePosixPath(path).parent
        for call in _CALL.finditer(raw.decode("utf-8", "replace")):
            name = f"{call['name'].replace('.', '/')}.py" if call["module"] else call["name"].removeprefix("./")
            target = next((one for one in (name, str(base / name)) if one in known), None)
            words = _words(call["rest"])
            if target is not None and words is not None:
                found.setdefault(target, words)
    return found


def _words(rest: str) -> tuple[str, ...] | None:
    if set(rest) & _SHELL:
        return None
    try:
        return tuple(shlex.split(rest))
    except ValueError:
        return None
