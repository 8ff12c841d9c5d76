"""Which of the statements that a patch writes a run came to: of the others it shows nothing."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.records import Trace
from dnnfix.source.program import Source
from dnnfix.source.tree import first_line

Place = tuple[str, int]
"""The path of a file, and a line in it."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LOADED = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Reach:
    """The statements of a patch that ran (`came`), and those that did not (`missed`), by where they begin in the patched program.

    Imports count only where a patch changes nothing else: that they ran shows nothing of what needs them.
    """

    came: frozenset[Place]
    missed: frozenset[Place]

    @property
    def is_none(self) -> bool:
        """Whether the patch writes statements, and none of them ran."""
        return bool(self.missed) and not self.came


def reach(before: Source, after: Source, trace: Trace) -> Reach | None:
    """What of the patch from `before` to `after` ran in the run `trace` of `after`; `None` where that was not recorded."""
    ran = ran_in(trace)
    if ran is None:
        return None
    written = list(_written(before, after))
    counted = [(path, node) for path, node in written if not isinstance(node, _LOADED)] or written
    came = frozenset((path, node.lineno) for path, node in counted if _ran(node, ran.get(path, frozenset())))
    return Reach(came, frozenset((path, node.lineno) for path, node in counted) - came)


def ran_in(trace: Trace) -> Mapping[str, frozenset[int]] | None:
    """The lines on which statements begin that ran, by file; `None` where that was not recorded."""
    return _listed(trace, "lines")


def seen_to_run(trace: Trace) -> Mapping[str, frozenset[int]] | None:
    """As `ran_in`; where TensorFlow compiled functions, the lines that ran outside of these."""
    every = ran_in(trace)
    return every if every is not None else _listed(trace, "some-lines")


def _listed(trace: Trace, name: str) -> Mapping[str, frozenset[int]] | None:
    found = trace.probes.get(name)
    if not isinstance(found, Mapping):
        return None
    listed = {path: lines for path, lines in found.items() if isinstance(lines, (list, tuple))}
    return {path: frozenset(line for line in lines if isinstance(line, int)) for path, lines in listed.items()}


def _ran(statement: ast.stmt, lines: frozenset[int]) -> bool:
    """Whether a statement ran: of a function or class what stands in it, for that it was defined shows nothing."""
    inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
    if isinstance(statement, ast.ClassDef):
        methods = [each for each in inner if isinstance(each, _DEFINITIONS)]
        inner = [node for method in methods for node in ast.walk(method) if isinstance(node, ast.stmt)] or inner
        inner = [node for node in inner if node not in methods]
    if isinstance(statement, _DEFINITIONS):
        return any(node.lineno in lines for node in inner)
    return statement.lineno in lines


def _written(before: Source, after: Source) -> Iterator[tuple[str, ast.stmt]]:
    """The statements that a patch writes, each with its file; of one that only takes lines away those beside them.

    A line that is only indented otherwise is none of the patch, unless the patch does nothing else.
    """
    pairs = [(path, file.text, after.files[path].text) for path, file in before.files.items() if path in after.files]
    texts = [(path, old.split("\n"), new.split("\n")) for path, old, new in pairs if old != new]
    stripped = [(path, [line.strip() for line in old], [line.strip() for line in new]) for path, old, new in texts]
    for lines in (
        _lines_of(stripped, "replace", "insert"),
        _lines_of(texts, "replace", "insert"),
        _lines_of(texts, "delete"),
    ):
        found = [(path, node) for path, numbers in lines.items() for node in _statements(after.files[path], numbers)]
        if found:
            yield from found
            return


def _lines_of(texts: Sequence[tuple[str, list[str], list[str]]], *kinds: str) -> dict[str, set[int]]:
    """The lines, from 1, by file, of the new texts that come of changes of these kinds; those around lines that are gone."""
    found: dict[str, set[int]] = {}
    for path, old, new in texts:
        for kind, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind in kinds:
                found.setdefault(path, set()).update(
                    (start, start + 1) if kind == "delete" else range(start + 1, end + 1)
                )
    return found


def _statements(file: Source, lines: set[int]) -> list[ast.stmt]:
    """The statements that the lines are of, in the order of the file."""
    found = (node for node in ast.walk(file.tree) if isinstance(node, ast.stmt) and not lines.isdisjoint(_head(node)))
    return sorted(found, key=lambda node: node.lineno)


def _head(node: ast.stmt) -> range:
    """The lines of a statement, or of the header of a compound one; none of a docstring."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return range(0)
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        return range(first_line(node), max(first_line(body[0]), node.lineno + 1))
    cases = getattr(node, "cases", None)
    return range(first_line(node), cases[0].pattern.lineno if cases else (node.end_lineno or node.lineno) + 1)


def own_statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    """The statements of a program, each with the expressions in it, without those in statements that it encloses."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            waiting: list[ast.AST] = [statement]
            parts: list[ast.expr] = []
            while waiting:
                for child in ast.iter_child_nodes(waiting.pop()):
                    if not isinstance(child, ast.stmt):
                        waiting.append(child)
                        parts += [child] if isinstance(child, ast.expr) else []
            yield statement, parts
