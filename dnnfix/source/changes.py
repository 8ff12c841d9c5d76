"""The text changes of edits, put in order, with an error where two of them touch the same text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from dnnfix.errors import NestedSitesError
from dnnfix.records.record import record
from dnnfix.source.document import END_OF_LINE, Change, Splice
from dnnfix.source.tree import Tree


@record
class TextChange(Splice):
    """A replacement of a range of the analysed text.

    `whole_lines` and `like` are those of `Change`. `stacks` tells that further insertions at the same place may follow
    it, in the order in which they were asked for.
    """

    whole_lines: bool = False
    like: int = 0
    stacks: bool = False


def ordered(changes: Iterable[TextChange]) -> list[TextChange]:
    """The changes in the order of the text. Raises `NestedSitesError` where two of them touch the same text."""
    found = sorted(dict.fromkeys(changes), key=lambda change: (change.start, change.end))
    for first, second in pairwise(found):
        same_place = first.start == first.end == second.start == second.end
        if second.start < first.end or same_place and not (first.stacks and second.stacks):
            raise NestedSitesError(f"Two edits touch the same text, near {second.new or first.new!r}.")
    return found


def in_document(change: TextChange, tree: Tree) -> Change:
    """The change by line and column, as `Document` expects it."""
    line, column = tree.place(change.start)
    end_line, end_column = tree.place(change.end)
    at_end = change.start == change.end and change.new.startswith("\n") and column == len(tree.lines[line - 1]) + 1
    return Change(
        line=line,
        column=END_OF_LINE if at_end else column - 1,
        end_line=end_line,
        end_column=END_OF_LINE if at_end else end_column - 1,
        new=change.new,
        whole_lines=change.whole_lines,
        like=change.like,
    )
