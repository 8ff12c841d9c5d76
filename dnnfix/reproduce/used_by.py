"""Finds the programs of a repository that use a module: those that import it, directly or through others, and lead to a
name that it defines. Examples in its READMEs are such programs, too.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.reproduce.beside import imported_files, looked_in, modules_beside
from dnnfix.reproduce.harness.unused import TRAINING, is_active, top_level
from dnnfix.reproduce.readmes import examples
from dnnfix.run.visible import below
from dnnfix.source.program import Source
from dnnfix.source.test_files import is_test
from dnnfix.source.tree import is_main_part

LISTED = 2_000
"""Files of a repository that are looked at."""
PARSED = 400
"""Files that are parsed, those that name what is asked for."""
LONGEST = 2**20
"""Bytes of such a file, a notebook with its outputs."""
COMPARED = 6
"""Programs, the nearest first, whose modules are read to tell whether they train."""


def is_module(source: Source) -> bool:
    """Whether a file has no program of its own: no main part, and nothing of a framework that its own statements call."""
    return not source.path.endswith(".ipynb") and not has_main_part(source) and not is_active(source)


def has_main_part(source: Source) -> bool:
    """Whether a file has statements for the case that it is the program (`if __name__ == "__main__"`)."""
    return any(map(is_main_part, source.tree.body))


@dataclass(frozen=True)
class User:
    """A program that uses a module: a file, or the `code` of an example that begins in a line of a README, `README.md:12`."""

    path: Path
    code: bytes | None = None


def programs_using(module: Source, file: Path, root: Path, preferred: Collection[Path] = ()) -> tuple[User, ...]:
    """The programs below `root` that use the module in a file (both resolved), the best to see it at work first.

    That is one that trains, then one that is near in imports, then one that is `preferred`, then a short one. Examples in READMEs
    come behind programs, and tests last.
    """
    repository = _Repository(root, file.parent)
    programs: dict[_File, int] = {}
    seen, pending, distance = {file}, [(file, _defined(module))], 0
    while pending:
        nearer, pending, distance = pending, [], distance + 1
        for path, names in nearer:
            for other in repository.importers(path):
                led = other.led_to(names)
                if other.path not in seen and led:
                    seen.add(other.path)
                    pending.append((other.path, led))
                    if other.is_program or other.acts_on(led) and not repository.importers(other.path):
                        programs[other] = distance

    def kind(each: _File) -> tuple[bool, bool]:
        return is_test(each.path.relative_to(root).as_posix()), each.is_example

    def worth(each: _File) -> tuple[tuple[bool, bool], int, int, bool, int]:
        return kind(each), -each.trains(root), programs[each], each.path not in preferred, len(each.source.raw)

    nearest = sorted(programs, key=lambda each: (kind(each), programs[each]))[:COMPARED]
    return tuple(User(each.path, each.source.raw if each.is_example else None) for each in sorted(nearest, key=worth))


class _Repository:
    """The files of a repository that may import one another, each parsed once, and only where it names what is asked for."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        places = (Path(place) for place in below(str(root), str(root)))
        self._raw = {path: _read(path) for path in islice(filter(_is_python, places), LISTED)}
        self._examples = {readme.with_name(f"{readme.name}:{line}"): code for readme, line, code in examples(folder)}
        self._raw |= {path: code.encode() for path, code in self._examples.items()}
        self._known: dict[Path, _File | None] = {}

    def importers(self, path: Path) -> list[_File]:
        """The files that import the one at a path."""
        name = _name_of(path).encode()
        naming = (other for other, raw in self._raw.items() if name in raw and other != path)
        return [each for each in map(self._file, naming) if each is not None and path in each.imports]

    def _file(self, path: Path) -> _File | None:
        if path not in self._known and len(self._known) < PARSED:
            try:
                source = Source.from_bytes(self._raw[path], path.name)
            except InputError:
                self._known[path] = None
            else:
                places = looked_in(path.parent, self._root, source)
                imports = frozenset(imported_files(path, source, places))
                self._known[path] = _File(path, source, imports, path in self._examples)
        return self._known.get(path)


def _is_python(path: Path) -> bool:
    return path.suffix in (".py", ".ipynb") and path.is_file()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST + 1)
    except OSError:
        return b""
    return raw if len(raw) <= LONGEST else b""


def _name_of(path: Path) -> str:
    """What a file is called where it is imported as a whole."""
    return path.parent.name if path.name == "__init__.py" else path.stem


@dataclass(frozen=True, eq=False)
class _File:
    """A file of the repository, with the files that it imports."""

    path: Path
    source: Source
    imports: frozenset[Path]
    is_example: bool

    def led_to(self, names: frozenset[str]) -> frozenset[str]:
        """Those of the names that are used here, and what is bound by statements that use them, however far; empty where none is."""
        found = frozenset[str]()
        statements = [(frozenset(_bound(node)), _used(node)) for node in self.source.tree.body]
        while True:
            known = names | found
            more = frozenset().union(*(bound | used & known for bound, used in statements if used & known))
            if more <= found:
                break
            found |= more
        return names | found if self._passes_all_on else found

    @property
    def _passes_all_on(self) -> bool:
        """Whether it is a package that offers whatever its modules do."""
        stars = (alias.name == "*" for node in self.source.nodes(ast.ImportFrom) for alias in node.names)
        return self.path.name == "__init__.py" and any(stars)

    @property
    def is_program(self) -> bool:
        """Whether the file says itself that it is one to run."""
        return self.is_example or self.path.suffix == ".ipynb" or has_main_part(self.source)

    def acts_on(self, names: frozenset[str]) -> bool:
        """Whether its own statements call something that leads to one of the names."""
        own = (node for node in self.source.tree.body if not isinstance(node, _STILL))
        return any(_used(node) & names and any(isinstance(each, ast.Call) for each in ast.walk(node)) for node in own)

    def trains(self, root: Path) -> int:
        """2 where the file itself trains, 1 where it imports something that does."""
        if _trains(self.source):
            return 2
        return int(any(map(_trains, modules_beside(self.source, self.path.parent, root))))


_STILL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that run nothing of what they name."""


def _trains(source: Source) -> bool:
    return any(isinstance(call.func, ast.Attribute) and call.func.attr in TRAINING for call in source.all_calls)


def _defined(module: Source) -> frozenset[str]:
    """The names that a module defines for others, also where it does so under a condition."""
    own = (node for node in module.tree.body if not isinstance(node, (ast.Import, ast.ImportFrom)))
    names = {definition.name for definition in top_level(module)}.union(*map(_bound, own))
    return frozenset(name for name in names if not name.startswith("__"))


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    else:
        stores = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
        yield from (each.id for each in stores)


def _used(node: ast.stmt) -> frozenset[str]:
    """The names that a statement uses, also as attributes and in strings: `getattr(models, "Net")`."""
    found: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
    return frozenset(found)
