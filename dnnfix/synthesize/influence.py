"""Whether a patch may have caused a crash: the statements that it wrote, and whatever reads what they wrote.

Names are followed by their spelling alone, through attributes, functions and classes, in all files of the program: that
names too much rather than too little, as a stop that the patch may have caused must never be called another fault's.
"""

from __future__ import annotations

import ast
import builtins
import copy
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dnnfix.records import Crash
from dnnfix.source.program import Source
from dnnfix.source.tree import first_line
from dnnfix.synthesize.progress import blocks_of, original_line, statement_at

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_EVERYWHERE = frozenset({"self", "cls"})
"""Names that say nothing of what they hold."""
_BUILT_IN = frozenset(dir(builtins))
_ANYTHING = "*"
"""What `from module import *` binds."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A statement without those of its blocks, and the names of the functions and classes that it stands in."""

    node: ast.stmt
    around: frozenset[str]

    @property
    def imports(self) -> bool:
        return isinstance(self.node, (ast.Import, ast.ImportFrom))


def written_by_patch(before: Source, after: Source, crash: Crash, by_names: bool = True) -> bool:
    """Whether a run stopped in a statement that the patch changed, or on a call from one, or in a graph written there.

    Statements in which the patch changed nothing but names, and imports, count only with `by_names`.
    """
    touched = {id(place.node) for place in _touched(before, after, by_names)}
    return any(id(node) in touched for node in _on_the_way(before, after, crash))


def may_have_caused(before: Source, after: Source, crash: Crash, by_imports: bool, by_names: bool = True) -> bool:
    """Whether a statement on the way to where a run stopped reads what the patch wrote, directly or by way of other names.

    What a changed import binds is followed as far only with `by_imports`, else it counts where it is read directly. Statements
    in which the patch changed nothing but names, and imports, count only with `by_names`.
    """
    imported = {name for file in after.files.values() for name in _imported(file.tree)}
    places = _touched(before, after, by_names)
    bound = {name for place in places if place.imports for name in _written(place.node, set())}
    flowing = {name for place in places if not place.imports for name in _of_patch(place, imported)}
    known = _followed(after, flowing | bound if by_imports else flowing, imported) | bound
    nodes = _on_the_way(before, after, crash)
    return not nodes or _ANYTHING in known or any(known & _read(node) for node in nodes)


def _touched(before: Source, after: Source, by_names: bool) -> list[_Place]:
    """The statements of either version that the other does not have as they are; without `by_names`, apart from names."""
    found: list[_Place] = []
    for path, old in before.files.items():
        new = after.files[path]
        if old.raw != new.raw:
            gone, added = _changed_lines(old.text, new.text)
            were = [place for place in _all(old.tree.body) if _is_at(place.node, gone)]
            are = [place for place in _all(new.tree.body) if _is_at(place.node, added)]
            if not by_names:
                imported = frozenset(_imported(old.tree)) | frozenset(_imported(new.tree))
                forms = [{_form(each, imported) for each in places} for places in (were, are)]
                were, are = (
                    [each for each in places if not each.imports and _form(each, imported) not in others]
                    for places, others in zip((were, are), reversed(forms), strict=True)
                )
            found += were + are
    return found


def _form(place: _Place, imported: frozenset[str]) -> str:
    """A statement, without those of its blocks, with all names of modules, their parts, methods and keywords left out."""
    node = copy.copy(place.node)
    for field in ("body", "orelse", "finalbody", "handlers"):
        if isinstance(getattr(node, field, None), list):
            setattr(node, field, [])
    return ast.dump(_Nameless(imported).visit(copy.deepcopy(node)))


class _Nameless(ast.NodeTransformer):
    """Leaves out what is imported, what methods are called, and how arguments are."""

    def __init__(self, imported: frozenset[str]) -> None:
        self._known = imported | _BUILT_IN

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("") if node.id in self._known else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = self.visit(node.value)
        return owner if isinstance(owner, ast.Name) and not owner.id else ast.Attribute(owner, node.attr)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            node.func.attr = ""
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        node.arg = node.arg and ""
        return node


def _changed_lines(before: str, after: str) -> tuple[set[int], set[int]]:
    """The lines that only the first text has, and those that only the second has, counted from 1."""
    gone: set[int] = set()
    added: set[int] = set()
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            gone |= set(range(old_start + 1, old_end + 1))
            added |= set(range(new_start + 1, new_end + 1))
    return gone, added


def _is_at(statement: ast.stmt, lines: set[int]) -> bool:
    starts = [first_line(block[0]) for block in blocks_of(statement)]
    last = max(statement.lineno, min(starts) - 1) if starts else statement.end_lineno or statement.lineno
    return not lines.isdisjoint(range(first_line(statement), last + 1))


def _all(block: Sequence[ast.stmt], around: frozenset[str] = frozenset()) -> Iterator[_Place]:
    for node in block:
        yield _Place(node, around)
        inside = around | {node.name} if isinstance(node, _DEFINITIONS) else around
        for inner in blocks_of(node):
            yield from _all(inner, inside)


def _on_the_way(before: Source, after: Source, crash: Crash) -> list[ast.stmt]:
    """The statements at which a run of the patched program stopped, and those of the program before that they stand for."""
    found: list[ast.stmt | None] = []
    for frame in (*crash.frames, *crash.written):
        path = frame.site.path
        if path in after.files and path in before.files:
            found.append(statement_at(after.files[path].tree, frame.site.line))
            found.append(statement_at(before.files[path].tree, original_line(before, after, frame)))
    return [node for node in found if node is not None]


def _followed(program: Source, names: set[str], imported: set[str]) -> set[str]:
    """The names with all that is written by statements that read them, and so on."""
    places = [place for file in program.files.values() for place in _all(file.tree.body)]
    steps = [(_read(place.node), place.around | _written(place.node, imported)) for place in places]
    known = set(names)
    while True:
        more = {name for read, written in steps if read & known for name in written}
        if more <= known:
            return known
        known |= more


def _of_patch(place: _Place, imported: set[str]) -> set[str]:
    """What a statement of the patch may have changed: what it writes, what it hands to calls, and where it stands."""
    handed = {
        argument.id
        for node in _own(place.node)
        if isinstance(node, ast.Call)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
        if isinstance(argument, ast.Name)
    }
    return _written(place.node, imported) | place.around | (handed - imported - _EVERYWHERE)


def _imported(tree: ast.Module) -> Iterator[str]:
    for place in _all(tree.body):
        if place.imports:
            yield from _written(place.node, set())


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of its blocks."""
    inner = {id(node) for block in blocks_of(statement) for node in block}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if id(child) not in inner]


def _read(statement: ast.stmt) -> set[str]:
    """The names and attributes that a statement mentions."""
    names = {node.id for node in _own(statement) if isinstance(node, ast.Name)}
    return (names | {node.attr for node in _own(statement) if isinstance(node, ast.Attribute)}) - _EVERYWHERE


def _written(statement: ast.stmt, imported: set[str]) -> set[str]:
    """The names and attributes that a statement binds, stores into, or calls a method of; no imported module's."""
    found: set[str] = set()
    for node in _own(statement):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found |= _chain(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = _chain(node.func.value)
            found |= receiver if imported.isdisjoint(receiver) else set()
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, _DEFINITIONS):
            found.add(node.name)
    return found - _EVERYWHERE


def _chain(node: ast.expr) -> set[str]:
    """The names of `a.b[0].c`."""
    found: set[str] = set()
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return found | {node.id} if isinstance(node, ast.Name) else found
