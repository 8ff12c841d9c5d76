"""An index of the fix templates on disk, so that a scan imports only those that may concern the program.

It holds each template's code, name and triggers, for the catalogue and for installed packages of rules. It is made by
importing every module once, is kept where Python keeps bytecode, and holds as long as no file of the package has
changed. Where it cannot be kept, each start makes it anew.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dnnfix.errors import CatalogueError, file_of, in_words, not_importable
from dnnfix.records.record import record

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate

ENTRY_POINTS = "dnnfix.templates"
"""Entry-point group through which installed packages add template modules."""

VALIDATORS = "dnnfix.validators"
"""Entry-point group through which installed packages add modules that are a validator each."""

GROUPS = (ENTRY_POINTS, VALIDATORS)

LOCAL = "_dnnfix_local_"
"""How the names of modules begin that came from a folder of the user's."""

RULE_FILES = "dnnfix.detect.rule_files.template"
"""The module that makes a template of a file with a rule, imported where there is one, as those of the catalogue are."""

PACKAGE = Path(__file__).parent
ROOT = PACKAGE / "fix_templates"
OF_RULES = frozenset({"detect", "fix_templates", "network", "records", "source", "synthesize"})
"""The folders of the package that what the index says may depend on."""


def is_triggered(triggers: Collection[str], words: frozenset[str]) -> bool:
    """Whether one of the triggers is among the words of a program, or there is none to look for."""
    return not triggers or not words.isdisjoint(triggers)


@record
class Listed:
    """A template as the index lists it: where it is, and what decides whether it is asked about a program."""

    module: str
    kind: str
    code: str
    name: str
    family: str
    triggers: tuple[str, ...]
    needs_run: bool
    default: bool
    default_in_check: bool = False
    formerly: tuple[str, ...] = ()
    silent: int = 0
    loaded: type[FixTemplate] | None = None
    """The template, where it came from outside of the catalogue."""

    @classmethod
    def of(cls, template: type[FixTemplate], loaded: type[FixTemplate] | None = None) -> Listed:
        """The entry of a template. Raises `CatalogueError` where it lacks metadata."""
        from dnnfix.template import misstated

        if wrong := misstated(template):
            raise CatalogueError(f"{place_of(template.__module__, template.__qualname__)} {wrong}")
        return cls(
            template.__module__,
            template.__qualname__,
            template.code,
            template.name,
            str(template.family),
            tuple(template.triggers),
            template.needs_run,
            template.default,
            template.default_in_check,
            tuple(template.formerly),
            template.silent,
            loaded,
        )

    def __hash__(self) -> int:
        return hash(self.code)  # asked of all of them for each file of a scan

    @property
    def place(self) -> str:
        """Its place, for messages to its author."""
        return place_of(self.module, self.kind)

    def load(self) -> type[FixTemplate]:
        """The template itself, imported where it was not yet."""
        return self.loaded or _loaded(self.module, self.kind)

    def is_triggered(self, words: frozenset[str]) -> bool:
        """Whether a program with these identifiers may have its fault as its source reads."""
        return is_triggered(self.triggers, words)


@cache  # asked for each file of a scan
def _loaded(module: str, kind: str) -> type[FixTemplate]:
    home = imported(module)
    found: type[FixTemplate] = home.template_of(ROOT / kind, kind) if kind.endswith(".toml") else getattr(home, kind)
    return found


def shipped() -> tuple[Listed, ...]:
    """The templates of dnnfix and of installed packages: all but those of the user's own folders."""
    return (*builtin(), *installed())


@cache
def builtin() -> tuple[Listed, ...]:
    """The templates of the catalogue's folders. Raises `CatalogueError` where a module fails to import."""
    return _indexed(kept_at(), _engine(), _catalogue)


@cache
def installed() -> tuple[Listed, ...]:
    """The templates of installed packages. Raises `CatalogueError` where one of their modules fails to import."""
    return tuple(one for point in entry_points() for one in _of_point(point))


@cache
def entry_points(group: str = ENTRY_POINTS) -> tuple[str, ...]:
    """The modules and packages that the entry points of a group name, read from the files themselves: importing importlib.metadata costs more than a scan.

    Raises `CatalogueError` for a group of ours that there is not: what a package adds under it would silently be left out.
    """
    found: set[str] = set()
    for folder in sys.path:
        try:
            entries = [entry for entry in os.scandir(folder or ".") if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for entry in entries:
            path = os.path.join(entry.path, "entry_points.txt")
            try:
                with open(path, encoding="utf-8") as file:
                    found.update(_points_in(path, file, group))
            except OSError:
                continue
    return tuple(sorted(found))


def _points_in(path: str, lines: Iterable[str], group: str) -> Iterator[str]:
    inside = False
    for line in lines:
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{group}]"
            if line.startswith("[dnnfix.") and line[1:-1] not in GROUPS:
                raise CatalogueError(
                    f"{path}: {line} is no group of entry points that dnnfix knows. It knows {' and '.join(GROUPS)} "
                    "(docs/writing-templates.md)."
                )
        elif inside and "=" in line:
            yield line.split("=", 1)[1].split(":")[0].split("[")[0].strip()


def _of_point(point: str) -> tuple[Listed, ...]:
    """The templates of one entry point: those of the module that it names, or of every module of the package."""
    file, names = _file_of(point), modules_at(point)
    found = _indexed(kept_at(point), f"{_engine()} {stamp_of(point)}", lambda: _in_modules(map(imported, names)))
    if not found:
        raise CatalogueError(
            f"{file}: an entry point of {ENTRY_POINTS} names {point}, and no class there derives from FixTemplate. "
            "Name the module with the rules, or a package of such modules."
        )
    return found


def modules_at(point: str, group: str = ENTRY_POINTS) -> list[str]:
    """The names of the modules that an entry point brings: the one that it names, or every one of the package, which comes first itself."""
    file = _file_of(point, group)
    return list(_modules_below(file.parent, point)) if file.name == "__init__.py" else [point]


def stamp_of(point: str) -> str:
    """A digest that changes with every file of the package that an entry point names or is in."""
    file = _file_of(point)
    above = point.count(".") if file.name == "__init__.py" else point.count(".") - 1
    return _digest(file.parents[above]) if above >= 0 else _digest(file.parent, frozenset(), file.name)


def _file_of(point: str, group: str = ENTRY_POINTS) -> Path:
    try:
        spec = importlib.util.find_spec(point)
    except Exception as error:
        raise CatalogueError(
            f"an entry point of {group} names {point}, which cannot be imported: {in_words(error)}. "
            "Correct the entry point of the package that says so, and install it again."
        ) from error
    if spec is None or spec.origin is None:
        raise CatalogueError(
            f"an entry point of {group} names {point}, and there is no such module. "
            "Correct the entry point of the package that says so, and install it again; a package of rules has an __init__.py."
        )
    return Path(spec.origin)


def _modules_below(folder: Path, package: str) -> Iterator[str]:
    """The package and all modules below it."""
    yield package
    yield from modules_of(folder, package)
    for name in sorted(os.listdir(folder)):
        if (folder / name / "__init__.py").exists():
            yield from _modules_below(folder / name, f"{package}.{name}")


def _indexed(place: Path, stamp: str, templates: Callable[[], Iterable[type[FixTemplate]]]) -> tuple[Listed, ...]:
    """The entries of templates, as the index says that is kept at a place; made anew where its stamp is another."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(place.read_bytes())
        if kept["stamp"] == stamp:
            return tuple(map(_read, kept["entries"]))
    found = tuple(map(Listed.of, templates()))
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        written = place.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps({"stamp": stamp, "entries": [_written(one) for one in found]}))
        written.replace(place)
    return found


def kept_at(point: str = "") -> Path:
    """The file of the catalogue's index, or of that of an entry point: every version of Python and every copy of dnnfix has its own."""
    return Path(importlib.util.cache_from_source(str(ROOT / f"index{point and '-'}{point}.py"))).with_suffix(".json")


def place_of(module: str, kind: str) -> str:
    """Where a template stands, as its author knows it: the file and the class."""
    return str(ROOT / kind) if kind.endswith(".toml") else f"{file_of(module)}: {kind}"


def today(word: str) -> str:
    """The code of the template that had this code or name before; any other word as it is."""
    return _former().get(word, word)


def former(code: str) -> tuple[str, ...]:
    """The codes that a template had before, or that others had which are part of it now."""
    return tuple(old for old, new in _former().items() if new == code)


@cache
def _former() -> Mapping[str, str]:
    return {old: one.code for one in shipped() for old in one.formerly}


def _read(entry: Mapping[str, Any]) -> Listed:
    read: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    return Listed(**read)


def _written(one: Listed) -> dict[str, object]:
    return {field.name: getattr(one, field.name) for field in fields(one) if field.name != "loaded"}


def templates_in(module: ModuleType) -> Iterator[type[FixTemplate]]:
    """The templates that a module defines."""
    from dnnfix.template import FixTemplate

    for value in vars(module).values():
        own = isinstance(value, type) and issubclass(value, FixTemplate) and value.__module__ == module.__name__
        if own and not value.__name__.startswith("_"):
            yield value


def imported(module: str) -> ModuleType:
    """A module with rules. Raises `CatalogueError` where it fails to import."""
    try:
        return importlib.import_module(module)
    except CatalogueError:
        raise
    except Exception as error:
        raise not_importable(module, error) from error


def modules_of(folder: Path, package: str) -> Iterator[str]:
    """The names of the modules in a folder."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") and name != "__init__.py":
            yield f"{package}.{name[:-3]}"


def _catalogue() -> Iterator[type[FixTemplate]]:
    """The templates below the families' folders: those of modules, and those that are a file of a rule."""
    template_of = imported(RULE_FILES).template_of
    for family in sorted(entry.name for entry in os.scandir(ROOT) if entry.is_dir()):
        if os.path.exists(ROOT / family / "__init__.py"):
            yield from _in_modules(map(imported, modules_of(ROOT / family, f"dnnfix.fix_templates.{family}")))
            for file in sorted((ROOT / family).glob("*.toml")):
                yield template_of(file, f"{family}/{file.name}")


def _in_modules(modules: Iterable[ModuleType]) -> Iterator[type[FixTemplate]]:
    for module in modules:
        yield from templates_in(module)


@cache
def _engine() -> str:
    """The first result of `_stamp` in this process."""
    return _stamp()


def _stamp() -> str:
    """A digest of size and time of every file of dnnfix that a rule may depend on."""
    return _digest(PACKAGE, OF_RULES)


def _digest(root: Path, into: AbstractSet[str] | None = None, only: str = "") -> str:
    """A digest of size and time of the files in a folder: those of this name, or all, with what is below these folders of it, or below all."""
    files = _files(str(root), into)
    named = [f"{path[len(str(root)) :]} {size} {time}" for path, size, time in files if not only or path.endswith(only)]
    return sha256("\n".join(sorted(named)).encode()).hexdigest()


def _files(folder: str, into: AbstractSet[str] | None) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".toml")):
            about = entry.stat()
            yield entry.path, about.st_size, about.st_mtime_ns
        elif (into is None or entry.name in into) and entry.is_dir():
            yield from _files(entry.path, None)
