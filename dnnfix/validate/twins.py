"""Where what a patch replaces stands once more, in statements that the run did not come to: half of a repair."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from dnnfix.records import Trace
from dnnfix.source.program import Source
from dnnfix.validate.reach import Place, own_statements, ran_in

_PLAIN = (ast.Name, ast.Constant)
"""Expressions that say too little by themselves: what they stand in is replaced."""


def twins(before: Source, after: Source, trace: Trace) -> dict[Place, str]:
    """The expressions, by where their statement begins in the patched program, that the patch replaces elsewhere and not there.

    Of statements that ran in `trace`, the run of `after`, none is named: it shows that they may stay. Empty where it is not
    recorded which ran.
    """
    ran = ran_in(trace)
    replaced = dict(_replaced(before, after)) if ran is not None else {}
    if not replaced or ran is None:
        return {}
    return {
        (path, statement.lineno): replaced[written]
        for path, file in after.files.items()
        for statement, parts in own_statements(file.tree)
        for written in map(ast.dump, parts)
        if written in replaced and statement.lineno not in ran.get(path, ())
    }


def _replaced(before: Source, after: Source) -> Iterator[tuple[str, str]]:
    """The expressions that the patch has others for, each as its tree and its text."""
    for path, file in before.files.items():
        patched = after.files.get(path)
        if patched is None or patched.text == file.text:
            continue
        lines, others = ([line.strip() for line in one.text.split("\n")] for one in (file, patched))
        for kind, first, end, start, stop in difflib.SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
            old, new = _within(file.tree, range(first + 1, end + 1)), _within(patched.tree, range(start + 1, stop + 1))
            if kind == "replace" and len(old) == len(new):
                for one, other in zip(old, new, strict=True):
                    yield from ((ast.dump(gone), ast.unparse(gone)) for gone in _differing(one, other))


def _within(tree: ast.Module, lines: range) -> list[ast.stmt]:
    """The simple statements that begin on the lines."""
    simple = [s for s, _ in own_statements(tree) if not hasattr(s, "body") and s.lineno in lines]
    return sorted(simple, key=lambda statement: (statement.lineno, statement.col_offset))


def _differing(old: ast.AST, new: ast.AST) -> list[ast.expr]:
    """The smallest expressions of a statement that another has others for in their place; a name or a number with what it stands in."""
    if type(old) is not type(new):
        return [old] if isinstance(old, ast.expr) else []
    pairs = list(zip(ast.iter_child_nodes(old), ast.iter_child_nodes(new), strict=False))
    same = len(list(ast.iter_child_nodes(old))) == len(list(ast.iter_child_nodes(new)))
    found = [gone for one, other in pairs if ast.dump(one) != ast.dump(other) for gone in _differing(one, other)]
    alone = any(isinstance(one, _PLAIN) for one, other in pairs if ast.dump(one) != ast.dump(other))
    if isinstance(old, ast.expr) and (not same or alone or not found) and ast.dump(old) != ast.dump(new):
        return [old]
    return found
