"""Finds fix templates and validators by folder, and refuses a catalogue that is not sound.

There is no list to register in: every module below `dnnfix/fix_templates/<family>/` that defines a `FixTemplate` is
part of the catalogue, and so is every module of `dnnfix/validators/`. A module that cannot be imported, a code or name
used twice and a template without its metadata stop the run: a rule that silently vanished would read as "no problem".
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dnnfix.errors import CatalogueError, DuplicateCodeError
from dnnfix.records import OF_SYMPTOMS
from dnnfix.template import FixTemplate

if TYPE_CHECKING:
    from dnnfix.validate.evidence import Validator

ENTRY_POINTS = "dnnfix.templates"
"""Entry-point group through which installed packages add template modules."""

LOCAL = "_dnnfix_local_"
"""How the names of modules begin that came from a folder of the user's."""

REQUIRED = ("code", "name", "family", "fix_pattern", "message")


def templates(extra: tuple[Path, ...] = ()) -> tuple[type[FixTemplate], ...]:
    """All fix templates in the order of their codes: built-in, installed by entry point, and in the folders `extra`.

    Raises `CatalogueError` where a module fails to import or a template lacks metadata, and `DuplicateCodeError` where
    two share a code or a name.
    """
    return _in_order((*_builtin_templates(), *_installed_templates(), *_local_templates(extra)))


@lru_cache(maxsize=8)  # asked for each file of a scan
def _in_order(every: tuple[type[FixTemplate], ...]) -> tuple[type[FixTemplate], ...]:
    """These templates in the order of their codes, where each has what it needs and none the code or name of another."""
    found: dict[str, type[FixTemplate]] = {}
    names: dict[str, type[FixTemplate]] = {}
    for template in every:
        missing = [attribute for attribute in REQUIRED if not hasattr(template, attribute)]
        if missing:
            raise CatalogueError(f"{_place(template)} lacks {', '.join(missing)}. State it as a class attribute.")
        for code, name in OF_SYMPTOMS:
            if template.code == code or template.name == name:
                raise DuplicateCodeError(
                    f"{_place(template)}: {code} {name} is what dnnfix itself reports. Take another."
                )
        for taken, key in ((found, template.code), (names, template.name)):
            if key in taken and taken[key] is not template:
                raise DuplicateCodeError(
                    f"{_place(template)} and {_place(taken[key])} both claim {key}. Give one of them another."
                )
            taken[key] = template
    return tuple(found[code] for code in sorted(found))


def template(code_or_name: str, extra: tuple[Path, ...] = ()) -> type[FixTemplate] | None:
    """The template with that code (in any case) or name, or `None`."""
    for candidate in templates(extra):
        if code_or_name.upper() == candidate.code or code_or_name == candidate.name:
            return candidate
    return None


@cache
def validators() -> tuple[Validator, ...]:
    """All validators, in the order of the ladder's rungs and then of their names."""
    from dnnfix.validate.evidence import RUNGS, Validator

    found: dict[str, Validator] = {}
    for module in _modules(_catalogue("validators"), "dnnfix.validators"):
        validator = Validator(name=module.NAME, rung=module.RUNG, judge=module.judge)
        if validator.rung not in RUNGS:
            raise CatalogueError(
                f"{module.__name__}: RUNG must be one of {', '.join(RUNGS)}. Received: {validator.rung}"
            )
        if validator.name in found:
            raise DuplicateCodeError(f"two validators are named {validator.name}. Rename one of them.")
        found[validator.name] = validator
    return tuple(sorted(found.values(), key=lambda v: (RUNGS.index(v.rung), v.name)))


def _catalogue(name: str) -> Path:
    return Path(__file__).parent / name


@cache
def _builtin_templates() -> tuple[type[FixTemplate], ...]:
    found: list[type[FixTemplate]] = []
    root = _catalogue("fix_templates")
    for family in sorted(entry.name for entry in os.scandir(root) if _is_package(entry)):
        for module in _modules(root / family, f"dnnfix.fix_templates.{family}"):
            found.extend(_templates_in(module))
    return tuple(found)


def _is_package(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and os.path.exists(os.path.join(entry.path, "__init__.py"))


def _installed_templates() -> Iterator[type[FixTemplate]]:
    for point in _entry_points():
        try:
            module = importlib.import_module(point)
        except Exception as error:
            raise CatalogueError(f"the installed template module {point} cannot be imported: {error!r}") from error
        yield from _templates_in(module)


@cache
def _entry_points() -> tuple[str, ...]:
    """Module names of the group, read from the files themselves: importing importlib.metadata costs more than a scan."""
    found: set[str] = set()
    for folder in sys.path:
        try:
            entries = [entry for entry in os.scandir(folder or ".") if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for entry in entries:
            try:
                with open(os.path.join(entry.path, "entry_points.txt"), encoding="utf-8") as file:
                    found.update(_points_in(file))
            except OSError:
                continue
    return tuple(sorted(found))


def _points_in(lines: Iterable[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{ENTRY_POINTS}]"
        elif inside and "=" in line:
            yield line.split("=", 1)[1].split(":")[0].split("[")[0].strip()


def _local_templates(folders: tuple[Path, ...]) -> Iterator[type[FixTemplate]]:
    for root in folders:
        files = [root] if root.is_file() else sorted((*root.glob("**/*.py"), *root.glob("**/*.toml")))
        if not files:
            raise CatalogueError(f"{root}: no template modules here. Name a folder with .py files under `templates`.")
        for file in files:
            if file.suffix == ".toml":
                yield _load_table(file.resolve())
            elif file.name != "__init__.py":
                yield from _templates_in(_load(str(file.resolve())))


@cache
def _load_table(path: Path) -> type[FixTemplate]:
    from dnnfix.detect.local_changes import template_of

    return template_of(path)


@cache
def _load(path: str) -> ModuleType:
    name = f"{LOCAL}{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CatalogueError(f"{path}: not a Python module. Template files end in .py.")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where dataclasses look for their names
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise CatalogueError(f"{path}: the template module cannot be imported: {error!r}") from error
    return module


def _modules(folder: Path, package: str) -> Iterator[ModuleType]:
    for name in sorted(entry.name for entry in os.scandir(folder)):
        if name.endswith(".py") and name != "__init__.py":
            try:
                yield importlib.import_module(f"{package}.{name[:-3]}")
            except CatalogueError:
                raise
            except Exception as error:
                raise CatalogueError(f"{folder / name}: cannot be imported: {error!r}") from error


def _templates_in(module: ModuleType) -> Iterator[type[FixTemplate]]:
    for value in vars(module).values():
        own = isinstance(value, type) and issubclass(value, FixTemplate) and value.__module__ == module.__name__
        if own and not value.__name__.startswith("_"):
            yield value


def _place(template: type[FixTemplate]) -> str:
    """Where a template stands, as its author knows it: the file, where it came from a folder."""
    module = template.__module__
    file = sys.modules[module].__file__ if module.startswith(LOCAL) else None
    return f"{file}: {template.__qualname__}" if file else f"{module}.{template.__qualname__}"
