"""Finds and reads the programs at the paths that a user gives."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dnnfix import config, libraries
from dnnfix.config import Settings
from dnnfix.errors import InputError
from dnnfix.records.record import record
from dnnfix.suppress import path_matches

SUFFIXES = (".py", ".ipynb")
UNNAMED_SOURCE = "stdin.py"
"""How source that comes from no file is called."""

_FRAMEWORKS = tuple(name.encode() for name in libraries.FRAMEWORKS)


def _imports(*names: str) -> re.Pattern[bytes]:
    """Finds an import of one of the libraries: in a line of Python, or of a notebook's JSON."""
    return re.compile(rf"""(?:^|[\n;"'])[ \t]*(?:from|import)[ \t]+(?:{"|".join(names)})\b""".encode())


_ABOUT_MODELS = _imports(*libraries.ON_TORCH, *libraries.ON_KERAS, *libraries.ABOUT_MODELS)
_OF_DATA = _imports(*libraries.OF_DATA)
_TRAINS = re.compile(rb"\.(?:zero_grad|backward)\(|\bnn\.[A-Z]\w+\(")
"""What a fragment without imports says of torch all the same."""

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
SKIPPED = frozenset({"node_modules", "build", "dist", "site-packages", "__pycache__", "venv"})
"""Folders that hold other people's or generated code; hidden folders and virtual environments are passed over too."""

MAX_SOURCE = 4 * 2**20
"""Bytes of a Python file beyond which it is data, not a program."""
MAX_NOTEBOOK = 64 * 2**20
"""Bytes of a notebook, most of which are its outputs."""


def is_of_interest(raw: bytes) -> bool:
    """Whether the text of a file names a framework, imports any library of which something is known, or trains as only torch does."""
    return is_about_models(raw) or _OF_DATA.search(raw) is not None or _TRAINS.search(raw) is not None


def is_about_models(raw: bytes) -> bool:
    """Whether the text of a file names a framework, or imports a library that is built on one."""
    return any(name in raw for name in _FRAMEWORKS) or _ABOUT_MODELS.search(raw) is not None


@record
class Program:
    """One program to work on. `path` is how it is called in reports, `file` where it lies (`None`: standard input)."""

    path: str
    raw: bytes
    settings: Settings
    file: Path | None
    named: bool = True
    """Whether the user named it, rather than a folder that it is in."""
    suspected_with: tuple[str, ...] = ()
    """The files that a bug report points at, where that led to it."""
    said: str = ""
    """What that report says besides its code."""


@dataclass
class SettingsByFolder:
    """The settings of programs by their folder; the configuration nearest to a program is the one that counts."""

    overrides: Mapping[str, Any]
    file: Path | None = None
    isolated: bool = False
    _known: dict[Path, Settings] = field(default_factory=dict)

    def of(self, folder: Path) -> Settings:
        """The settings of programs in that folder (an absolute path). Raises `ConfigError`."""
        single = self.isolated or self.file is not None
        if single:
            folder = Path()  # all folders have the same
        settings = self._known.get(folder)
        if settings is None:
            own = None if single else config.configuration_in(folder)
            if single or folder == folder.parent:
                settings = config.load(folder, self.overrides, file=self.file, isolated=self.isolated)
            elif own is not None:
                settings = config.load(folder, self.overrides, file=own)
            else:
                settings = self.of(folder.parent)
            self._known[folder] = settings
        return settings


@dataclass
class Finder:
    """Finds and reads programs. `problem` is called for what cannot be read; the others are still found."""

    settings: SettingsByFolder
    problem: Callable[[str], None]
    standard_input: Callable[[int], bytes] | None = None
    """Reads at most so many bytes of what `-` stands for."""
    passed_over: int = 0
    """Python files in folders that import none of the libraries."""
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def programs(self, paths: Sequence[str], stdin_name: str) -> Iterator[Program]:
        """The programs at the paths, in the order given, each once; folders are searched in the order of names."""
        for path in paths:
            try:
                if path == "-":
                    yield self._standard_input(stdin_name)
                elif os.path.isdir(path):
                    yield from self._folder(path)
                else:
                    yield from self._file(path)
            except InputError as error:
                self.problem(str(error))

    def read(self, path: str) -> Program:
        """The program in one file, whether it was met before or not; nobody named it. Raises `InputError`."""
        settings = self.settings.of(Path(os.path.abspath(path)).parent)
        return Program(shown(_followed(path)), read(path)[0], settings, Path(path), named=False)

    def _standard_input(self, name: str) -> Program:
        if self.standard_input is None:
            raise InputError("-: standard input is read by the command line alone. Give a path, or source text.")
        return self.of_text(self.standard_input(MAX_NOTEBOOK + 1), name)

    def of_text(self, raw: bytes, name: str) -> Program:
        """A program that is no file, as if it lay under that name in the working folder. Raises `InputError`."""
        if name.endswith(".py") and _notebook(raw):
            name = f"{name.removesuffix('.py')}.ipynb"
        _refuse(name, raw, MAX_NOTEBOOK)
        return Program(name, raw, self.settings.of(Path(os.path.abspath(name)).parent), None)

    def _file(self, path: str) -> Iterator[Program]:
        raw, identity = read(path)
        if self._first_time(identity):
            settings = self.settings.of(Path(os.path.abspath(path)).parent)
            yield Program(shown(_followed(path)), raw, settings, Path(path))

    def _folder(self, path: str) -> Iterator[Program]:
        any_python = False
        for folder, files in self._walk(path):
            any_python = True
            settings = self.settings.of(Path(os.path.abspath(folder)))
            prefix = shown(folder)
            for name in files:
                file = os.path.join(folder, name)
                if any(path_matches(file, pattern, settings.root) for pattern in settings.exclude):
                    continue
                try:
                    raw, identity = read(file, folder=True)
                except InputError as error:
                    self.problem(str(error).removeprefix("./"))
                    continue
                if not is_of_interest(raw) and not raw.startswith(UTF_16):
                    self.passed_over += 1
                elif self._first_time(identity):
                    called = shown(_followed(file)) if os.path.islink(file) else f"{prefix}/{name}".removeprefix("./")
                    yield Program(called, raw, settings, Path(file), named=False)
        if not any_python:
            raise InputError(f"{path}: no Python files (.py, .ipynb) in this folder. Name a file, or another folder.")

    def _walk(self, folder: str) -> Iterator[tuple[str, list[str]]]:
        """Each folder that holds Python files, with their names; files come before those of inner folders."""
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.problem(f"{folder}: cannot be read ({error.strerror}). Mend its permissions or exclude it.")
            return
        entries = [entry for entry in entries if not entry.name.startswith(".") and entry.name not in SKIPPED]
        files = [entry.name for entry in entries if entry.name.endswith(SUFFIXES) and entry.is_file()]
        if files:
            yield folder, files
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                yield from self._walk(entry.path)

    def _first_time(self, identity: tuple[int, int]) -> bool:
        """Whether the file was not met before, under any name."""
        new = identity not in self._seen
        self._seen.add(identity)
        return new


def read(path: str, folder: bool = False) -> tuple[bytes, tuple[int, int]]:
    """The bytes of a file, and its identity (device and inode). In a `folder`, an empty file is not a mistake.

    Raises:
        InputError: it cannot be read, or is not a program by its size or kind.
    """
    limit = MAX_NOTEBOOK if path.endswith(".ipynb") else MAX_SOURCE
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a named pipe would block for ever
        with open(handle, "rb", buffering=0) as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"{path}: is no regular file. Pipe a program in and name it `-`.")
            if found.st_size > limit:
                raise InputError(_too_large(path, found.st_size, limit))
            raw = file.read()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file or folder. Check the path.") from None
    except PermissionError:
        raise InputError(f"{path}: permission denied. Make the file readable for this user.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    if not folder or raw.strip():
        _refuse(path, raw, limit)
    return raw, (found.st_dev, found.st_ino)


def _notebook(raw: bytes) -> bool:
    """Whether bytes are a notebook by their looks: as Python they would be one harmless dict."""
    return raw.lstrip()[:1] == b"{" and all(word in raw for word in (b'"cells"', b'"nbformat"'))


def _refuse(path: str, raw: bytes, limit: int) -> None:
    if len(raw) > limit:
        raise InputError(_too_large(path, len(raw), limit))
    if not raw.strip():
        raise InputError(f"{path}: is empty. Name a file that holds a program.")


def _too_large(path: str, size: int, limit: int) -> str:
    return f"{path}: is too large for a program ({size / 2**20:.1f} MiB; at most {limit // 2**20} MiB). Exclude it."


def _followed(path: str) -> str:
    """Where a link leads to, if that is below the working folder: `git apply` changes no file through a link."""
    if not os.path.islink(path):
        return path
    target = os.path.realpath(path)
    away = os.path.relpath(target, os.path.realpath(os.curdir)).startswith("..")
    return path if away or os.path.splitext(target)[1] != os.path.splitext(path)[1] else target


def shown(path: str) -> str:
    """A path as reports show it: from the working folder where it lies below it, else absolute."""
    absolute = os.path.abspath(path)
    below = os.path.relpath(absolute)
    return absolute if below.startswith("..") else below.replace(os.sep, "/")
