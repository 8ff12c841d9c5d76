"""The class `Source`, the program under analysis: its syntax tree, with sites, resolved names and its file's bytes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from dnnfix.records import Site
from dnnfix.source.bindings import Definition
from dnnfix.source.decode import runnable
from dnnfix.source.document import Document, read_document
from dnnfix.source.resolve import Resolver
from dnnfix.source.tree import Tree

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BELOW = re.compile(r"^(?:\.\./)+(?:src/)?")
"""How the path of a module begins that lies in a folder above the program's."""

Node = TypeVar("Node", bound=ast.AST)
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Source:
    """One program.

    Sites are places in `text`, which is what is analysed: newlines are `\\n`, and where the file had to be recovered its
    lines differ from the file's, but have the same numbers. For a notebook `text` is the code cells, joined. `beside` are
    the modules of its repository that it imports, by paths relative to the program's folder; they are part of the program.
    """

    def __init__(self, document: Document, raw: bytes, beside: tuple[Source, ...] = ()) -> None:
        self.document = document
        self.raw = raw
        self.beside = beside
        self.path = document.path
        self.text = document.text
        self.recoveries = document.recoveries
        self.encoding = document.encoding
        self.bom = document.bom
        self.within: Source | None = None
        """The program that this module was last put beside."""
        for module in beside:
            module.within = self
        self._readings: dict[Hashable, Any] = {}

    @classmethod
    def from_bytes(cls, raw: bytes, path: str, python: str | None = None) -> Source:
        """The program in a file's bytes; a path that ends in `.ipynb` makes it a notebook.

        A file whose text is `python`, which is known to parse, is parsed only once its tree is asked for. Raises
        `InputError`, and nothing else, whatever the bytes.
        """
        return cls(read_document(raw, path, python), raw)

    def along_with(self, beside: Iterable[Source]) -> Source:
        """The same file with these modules beside it."""
        return Source(self.document, self.raw, tuple(beside))

    @property
    def contents(self) -> tuple[bytes, ...]:
        """The bytes of the file and of the modules beside it, which identify the program."""
        return tuple(file.raw for file in self.files.values())

    @property
    def files(self) -> Mapping[str, Source]:
        """The files of the program by the path that sites name them with: the program itself under ""."""
        return {"": self, **{module.path: module for module in self.beside}}

    def module_named(self, name: str) -> Source | None:
        """The module of the program's repository that `import name` brings, a file or a package."""
        place = name.replace(".", "/")
        wanted = (f"{place}.py", f"{place}/__init__.py")
        return next((m for m in self.beside if _BELOW.sub("", m.path) in wanted), None)

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the analysed text."""
        return self.document.tree

    @cached_property
    def places(self) -> Tree:
        """The tree with its places in the text."""
        return Tree(self.text, self.tree)

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(self.places)

    @property
    def newline(self) -> str:
        """The line ending that most lines of the file have."""
        return self.document.newline

    @cached_property
    def runnable(self) -> bytes:
        """The bytes to run in place of the file, for which an interpreter reads the analysed text.

        They are the file's own where nothing had to be recovered. Sites are places in this program.
        """
        if self.document.is_as_given:
            return self.raw
        return runnable(self.text, self.encoding)

    def locate(self, line: int) -> tuple[str | None, int]:
        """The notebook cell (its id, else its number from 0) of a line and the line's number in it; else no cell."""
        return self.document.container.locate(line)

    def cell_number(self, cell: str) -> int:
        """The number among all cells, from 1, of the notebook cell that `locate` names."""
        return self.document.container.number(cell)

    def line_in_words(self, line: int, path: str = "") -> str:
        """A line of the program, or of the module at `path` beside it, as its reader counts it."""
        if path:
            return f"line {line} of {path}"
        cell, own = self.locate(line)
        return f"line {own}" if cell is None else f"line {own} of cell {self.cell_number(cell)}"

    @cached_property
    def imported_names(self) -> frozenset[tuple[str, str]]:
        """What the top of the module imports: pairs of the name that is bound and what was imported under it."""
        return self._resolver.imported_names

    @cached_property
    def words(self) -> frozenset[str]:
        """The identifiers and other words of the program, found without a walk over the tree."""
        return frozenset(_IDENTIFIER.findall(self.text))

    def is_of_program(self, name: str) -> bool:
        """Whether a qualified name is that of something in a module of the program, beside it or beside this module of it."""
        return (self.within or self).module_named(name.partition(".")[0]) is not None

    @property
    def words_of_program(self) -> frozenset[str]:
        """The identifiers and other words of the program that this file is a part of: a module may be given what another imports."""
        program = self.within or self
        return program.words.union(*(module.words for module in program.beside))

    # --- places

    def segment(self, site: Site) -> str:
        """The text at a site."""
        return self.places.segment(site)

    def site(self, node: ast.AST) -> Site:
        """The site of a node, in characters from 1. Raises `ValueError` for a node without a position."""
        return self.places.site(node)

    def node_at(self, site: Site) -> ast.expr | ast.stmt | None:
        """The expression that spans exactly the site, else the statement that does, else `None`."""
        return self.places.node_at(site)

    def nodes(self, kind: type[Node]) -> tuple[Node, ...]:
        """The nodes of exactly that type, in source order. The tree is walked once, whatever is asked for."""
        return self.places.nodes(kind)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds `node`; `None` for the module."""
        return self.places.parent(node)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The statement that `node` is or is part of."""
        return self.places.statement_of(node)

    def enclosing(self, node: ast.AST, *kinds: type[Node]) -> Node | None:
        """The innermost node of one of the kinds around `node`; `node` does not count itself."""
        return self.places.enclosing(node, *kinds)

    def is_called(self, expr: ast.expr) -> bool:
        """Whether an expression is what a call calls."""
        above = self.parent(expr)
        return isinstance(above, ast.Call) and above.func is expr

    # --- names

    def is_called_in_vain(self, expr: ast.expr) -> bool:
        """Whether an expression is called and what that gives is left lying: only what the call does can count."""
        call = self.parent(expr)
        return self.is_called(expr) and call is not None and isinstance(self.parent(call), ast.Expr)

    @property
    def frameworks(self) -> frozenset[str]:
        """Which of "torch", "keras" and "tensorflow" the program uses; `tensorflow.keras` counts as both."""
        return self._resolver.frameworks

    @property
    def all_calls(self) -> tuple[ast.Call, ...]:
        """Every call in source order."""
        return self._resolver.all_calls

    def calls(self, *qualified_names: str) -> Iterator[ast.Call]:
        """The calls of what has one of these canonical names, in source order."""
        return self._resolver.calls(*qualified_names)

    def qualified(self, expr: ast.expr) -> str | None:
        """The canonical name (`keras.layers.Dense`) of what `expr` refers to.

        `None` when that is unknown or when its bindings disagree. Builtins are `builtins.len`; the program's own
        classes, functions and objects have no qualified name (see `definition` and `constructor`).
        """
        return self._resolver.qualified(expr)

    def written(self, expr: ast.expr) -> str | None:
        """As `qualified`, but as the import was written: `tensorflow.keras.layers.core.Dense` stays that."""
        return self._resolver.written(expr)

    def bindings(self, expr: ast.expr, at: ast.AST | None = None) -> tuple[ast.expr, ...]:
        """Every value that is assigned to `expr`, a name (in its scope) or `self.attribute` (in its class).

        Empty when one of the values is unknown: a parameter, a loop variable, an unpacked call. With `at`, the one value
        that the name has at that node, where a straight line of statements tells it.
        """
        return self._resolver.bindings(expr, at)

    def constructor(self, expr: ast.expr) -> ast.Call | None:
        """The call that made what `expr` holds, when every binding agrees; `net.to(device)` counts as `net`."""
        return self._resolver.constructor(expr)

    def definition(self, expr: ast.expr) -> Definition | None:
        """The class or function of this program that `expr` names, when it names nothing else."""
        return self._resolver.definition(expr)

    def defined(self, expr: ast.expr) -> tuple[Source, Definition] | None:
        """As `definition`, with the file that it is in: this one, or a module beside it from which the name comes."""
        if (own := self.definition(expr)) is not None:
            return self, own
        name, _, last = (self.qualified(expr) or "").rpartition(".")
        module = self.module_named(name) if name else None
        if module is None:
            return None
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in module.tree.body if isinstance(node, kinds) and node.name == last]
        return (module, found[-1]) if found else None


class _Read(Protocol):
    @property
    def _readings(self) -> dict[Hashable, Any]: ...


OfWhat = TypeVar("OfWhat", bound=_Read)


def once(
    reading: Callable[Concatenate[OfWhat, Arguments], Result],
) -> Callable[Concatenate[OfWhat, Arguments], Result]:
    """A decorator that caches a function of a source or subject (and hashable arguments) on that object.

    The answer lives as long as what it was read from. It is shared, so it must be something that nobody changes.
    """

    def kept(of: OfWhat, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = (reading, args, tuple(kwargs.items()))
        known = of._readings
        if key not in known:
            known[key] = reading(of, *args, **kwargs)
        result: Result = known[key]
        return result

    update_wrapper(kept, reading)
    return kept
