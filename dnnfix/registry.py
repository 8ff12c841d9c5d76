"""Collects and checks the fix templates and validators of the catalogue, installed packages and the user's folders.

There is no list to register in: every module below `dnnfix/fix_templates/<family>/` that defines a `FixTemplate` is
part of the catalogue, and so is every module of `dnnfix/validators/`. A module that cannot be imported, a code or
name used twice and a template without its metadata raise an error: a rule that silently vanished would read as "no
problem".
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dnnfix import index
from dnnfix.errors import CatalogueError, DuplicateCodeError, in_words, line_of
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
                both = " and ".join(f"{each.place}{_was(word, each)}" for each in (one, taken[word]))
                raise DuplicateCodeError(f"{both} both claim {word}. Give one of them another{_free(word, every)}.")
        found[one.code] = one
    return tuple(found[code] for code in sorted(found))


def _was(word: str, one: Listed) -> str:
    """Said of a template that had a code or name, and has it no longer."""
    return " (formerly called so)" if word in one.formerly else ""


def _free(taken: str, every: tuple[Listed, ...]) -> str:
    """The next code after one that is taken, in words; nothing for a name."""
    if not taken[-2:].isdigit():
        return ""
    used = {word for one in every for word in (one.code, *one.formerly)} | {code for code, _ in OF_SYMPTOMS}
    codes = (f"{taken[:-2]}{number:02}" for number in range(int(taken[-2:]) + 1, 100))
    return next((f", such as {code}" for code in codes if code not in used), "")


def template(code_or_name: str, extra: tuple[Path, ...] = ()) -> type[FixTemplate] | None:
    """The template with that code (in any case) or name, or `None`."""
    for candidate in listed(extra):
        known = (candidate.code, candidate.name, *candidate.formerly)
        if code_or_name in known or code_or_name.upper() in known:
            return candidate.load()
    return None


@cache
def validators() -> tuple[Validator, ...]:
    """All validators, built-in and installed by entry point, in the order of the ladder's rungs and then of their names."""
    from dnnfix.records import RUNGS

    found: dict[str, tuple[Validator, str | None]] = {}
    own = map(imported, modules_of(Path(__file__).parent / "validators", "dnnfix.validators"))
    for module in (*own, *_installed_validators()):
        validator = _validator(module)
        if validator.name in found:
            raise DuplicateCodeError(
                f"{module.__file__} and {found[validator.name][1]} are both named {validator.name}. Rename one of them."
            )
        found[validator.name] = validator, module.__file__
    every = (validator for validator, _ in found.values())
    return tuple(sorted(every, key=lambda v: (RUNGS.index(v.rung), v.name)))


def _installed_validators() -> Iterator[ModuleType]:
    """The module that an entry point names, or those of the package, but for what begins with an underscore."""
    for point in index.entry_points(index.VALIDATORS):
        named = map(imported, index.modules_at(point, index.VALIDATORS))
        modules = [one for one in named if not hasattr(one, "__path__") and not _last(one).startswith("_")]
        if not modules:
            raise CatalogueError(
                f"an entry point of {index.VALIDATORS} names {point}, a package without modules. "
                "Name a module that is a validator, or a package of such modules."
            )
        yield from modules


def _last(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _validator(module: ModuleType) -> Validator:
    """The validator that a module is. Raises `CatalogueError` with the file and what is wrong in it."""
    from dnnfix.records import RUNGS
    from dnnfix.validate.evidence import EXPERIMENTS, Validator

    lacking = [word for word in ("NAME", "RUNG", "judge") if not hasattr(module, word)]
    if lacking:
        raise CatalogueError(f"{module.__file__}: a validator has NAME, RUNG and judge. Missing: {', '.join(lacking)}")
    if module.RUNG not in RUNGS:
        raise CatalogueError(f"{module.__file__}: RUNG must be one of {', '.join(RUNGS)}. Received: {module.RUNG}")
    try:
        signature(module.judge).bind(None)
    except TypeError as error:
        raise CatalogueError(f"{module.__file__}: judge is called with the evidence alone: {error}") from None
    measures = getattr(module, "MEASURES", ())
    if isinstance(measures, str) or not set(measures) <= set(EXPERIMENTS):
        raise CatalogueError(
            f"{module.__file__}: MEASURES is a tuple with any of {', '.join(EXPERIMENTS)}. Received: {measures!r}"
        )
    return Validator(module.NAME, module.RUNG, module.judge, measures)


def _local_templates(folders: tuple[Path, ...]) -> Iterator[Listed]:
    for root in folders:
        files = [root] if root.is_file() else sorted((*root.glob("**/*.py"), *root.glob("**/*.toml")))
        if not files:
            raise CatalogueError(f"{root}: no template modules here. Name a folder with .py files under `templates`.")
        for file in files:
            if file.suffix == ".toml":
                yield _entry(_load_table(file.resolve(), file.stat().st_mtime_ns))
            elif file.name != "__init__.py":
                yield from map(_entry, templates_in(_load(str(file.resolve()))))


def rule_in(path: Path) -> type[FixTemplate]:
    """The rule that a TOML file is. Raises `CatalogueError`, which names line and key, where it is none or not sound."""
    from dnnfix.detect.rule_files.template import is_rule_file, template_of

    if not is_rule_file(path):
        raise CatalogueError(f"{path}: has no table [rule]. See docs/rules.md.")
    return template_of(path)


@cache
def _load_table(path: Path, changed: int) -> type[FixTemplate]:
    from dnnfix.detect.rule_files import template as rule_files
    from dnnfix.detect.versioning import local_changes

    return rule_files.template_of(path) if rule_files.is_rule_file(path) else local_changes.template_of(path)


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
        raise CatalogueError(
            f"{line_of(error, path)}: the template module cannot be imported: {in_words(error)}"
        ) from error
    return module


def _entry(template: type[FixTemplate]) -> Listed:
    return Listed.of(template, loaded=template)
