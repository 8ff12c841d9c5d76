"""What ran before a crash still runs: a language model's edit mends a fault, and does not have the program go around it.

Asked of edits of language models alone. A statement that the crashing program came to, and that the edit leaves as it stands, has to
run in the edited program, too: a condition that is never true, a loop with nothing to go through and a call that is not made any
more all keep a program away from its crash. Handlers of exceptions are left out, whose exception is gone. And an edit writes
something: one that only takes statements away that ran is refused. Rules take away what they know to be useless, and the search has
no edit that does. What TensorFlow compiles is seen to run neither before nor after.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator

from dnnfix.api import Evidence, Source, Verdict, seen_to_run

NAME = "nothing-skipped"
RUNG = "property"
MEASURES = ("lines",)


def judge(evidence: Evidence) -> Verdict:
    """Fail where a statement that ran does not run any more, or is taken away with nothing in its place."""
    if not evidence.by_model or evidence.before.crash is None:
        return Verdict.not_applicable("this is asked of a language model's edits at a crash")
    before, after = evidence.source_before, evidence.source_after
    ran, runs = seen_to_run(evidence.before), seen_to_run(evidence.after)
    if ran is None or runs is None:
        return Verdict.not_applicable("which lines ran is not known")
    for path, file in before.files.items():
        left, now = _left(file.text, after.files[path].text), runs.get(path, frozenset())
        came = sorted(ran.get(path, frozenset()) - _handling(file))
        skipped = [line for line in came if line in left and left[line] not in now]
        if skipped:
            return Verdict.fails(f"what ran at {before.line_in_words(skipped[0], path)} does not run any more")
    taken = [place for place in _taken_away(before, after) if place[1] in ran.get(place[0], ())]
    if taken:
        path, line = taken[0]
        return Verdict.fails(f"what ran at {before.line_in_words(line, path)} is taken away, and nothing is put there")
    return Verdict.passes("all that ran still runs")


def _left(before: str, after: str) -> dict[int, int]:
    """The lines that an edit leaves as they stand, but for how far they are indented, with their numbers after it."""
    old, new = ([line.strip() for line in text.split("\n")] for text in (before, after))
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.a + i + 1: block.b + i + 1 for block in blocks for i in range(block.size)}


def _handling(file: Source) -> set[int]:
    """The lines of handlers of exceptions."""
    handlers = file.nodes(ast.ExceptHandler)
    return {line for one in handlers for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}


def _taken_away(before: Source, after: Source) -> Iterator[tuple[str, int]]:
    """The file and line of each statement that is not in the edited program; none where that has a new one."""
    had, has = list(_statements(before)), Counter(said for _, _, said in _statements(after))
    if has - Counter(said for _, _, said in had):
        return
    for path, line, said in had:
        has[said] -= 1
        if has[said] < 0:
            yield path, line


def _statements(program: Source) -> Iterator[tuple[str, int, str]]:
    """The file, the line and the words of each statement that does something, in their order, without those that it encloses."""
    for path, file in program.files.items():
        found = [node for node in ast.walk(file.tree) if isinstance(node, ast.stmt) and not isinstance(node, ast.Pass)]
        for node in sorted(found, key=lambda node: node.lineno):
            parts = (ast.dump(child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                yield path, node.lineno, f"{type(node).__name__} {' '.join(parts)}"
