"""Finds fix templates and validators by folder, and refuses a catalogue that is not sound.

There is no list to register in: every module below `dnnfix/fix_templates/<family>/` that defines a `FixTemplate` is
part of the catalogue, and so is every module of `dnnfix/validators/`. A module that cannot be imported, a code or name
used twice and a template without its metadata stop the run: a rule that silently vanished would read as "no problem".
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dnnfix import index
from dnnfix.errors import CatalogueError, DuplicateCodeError
from dnnfix.index import LOCAL, Listed, imported, modules_of, templates_in
from dnnfix.records import OF_SYMPTOMS

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate
    from dnnfix.validate.evidence import Validator


def listed(extra: tuple[Path, ...] = ()) -> tuple[Listed, ...]:
    """All fix templates in the order of their codes: built-in, installed by entry point, and in the folders `extra`.

    Only those of folders are imported for it. Raises `CatalogueError` where a module fails to import or a template lacks
    metadata, and `DuplicateCodeError` where two share a code or a name.
    """
    return _in_order((*index.shipped(), *_local_templates(extra)))


def templates(extra: tuple[Path, ...] = ()) -> tuple[type[FixTemplate], ...]:
    """The same templates, imported."""
    return tuple(one.load() for one in listed(extra))


@lru_cache(maxsize=8)  # asked for each file of a scan
def _in_order(every: tuple[Listed, ...]) -> tuple[Listed, ...]:
    """These templates in the order of their codes, where none has the code or name of another."""
    found: dict[str, Listed] = {}
    taken: dict[str, Listed] = {}
    for one in every:
        for code, name in OF_SYMPTOMS:
            if one.code == code or one.name == name:
                raise DuplicateCodeError(f"{one.place}: {code} {name} is what dnnfix itself reports. Take another.")
        for word in (one.code, one.name, *one.formerly):
            if taken.setdefault(word, one) != one:
                raise DuplicateCodeError(
                    f"{one.place} and {taken[word].place} both claim {word}. Give one of them another."
                )
        found[one.code] = one
    return tuple(found[code] for code in sorted(found))


def template(code_or_name: str, extra: tuple[Path, ...] = ()) -> type[FixTemplate] | None:
    """The template with that code (in any case) or name, or `None`."""
    for candidate in listed(extra):
        known = (candidate.code, candidate.name, *candidate.formerly)
        if code_or_name in known or code_or_name.upper() in known:
            return candidate.load()
    return None


@cache
def validators() -> tuple[Validator, ...]:
    """All validators, in the order of the ladder's rungs and then of their names."""
    from dnnfix.records import RUNGS
    from dnnfix.validate.evidence import Validator

    found: dict[str, Validator] = {}
    for module in map(imported, modules_of(Path(__file__).parent / "validators", "dnnfix.validators")):
        lacking = [word for word in ("NAME", "RUNG", "judge") if not hasattr(module, word)]
        if lacking:
            raise CatalogueError(
                f"{module.__file__}: a validator has NAME, RUNG and judge. Missing: {', '.join(lacking)}"
            )
        validator = Validator(module.NAME, module.RUNG, module.judge, getattr(module, "MEASURES", ()))
        if validator.rung not in RUNGS:
            raise CatalogueError(
                f"{module.__name__}: RUNG must be one of {', '.join(RUNGS)}. Received: {validator.rung}"
            )
        if validator.name in found:
            raise DuplicateCodeError(f"two validators are named {validator.name}. Rename one of them.")
        found[validator.name] = validator
    return tuple(sorted(found.values(), key=lambda v: (RUNGS.index(v.rung), v.name)))


def _local_templates(folders: tuple[Path, ...]) -> Iterator[Listed]:
    for root in folders:
        files = [root] if root.is_file() else sorted((*root.glob("**/*.py"), *root.glob("**/*.toml")))
        if not files:
            raise CatalogueError(f"{root}: no template modules here. Name a folder with .py files under `templates`.")
        for file in files:
            if file.suffix == ".toml":
                yield _entry(_load_table(file.resolve()))
            elif file.name != "__init__.py":
                yield from map(_entry, templates_in(_load(str(file.resolve()))))


@cache
def _load_table(path: Path) -> type[FixTemplate]:
    from dnnfix.detect.versioning.local_changes import template_of

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


def _entry(template: type[FixTemplate]) -> Listed:
    return Listed.of(template, loaded=template)
