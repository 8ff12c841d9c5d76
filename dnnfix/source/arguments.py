"""Edits of a call's arguments and of the elements of lists, sets and tuples. All edits of one site are made together."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

from dnnfix.errors import EditError, NestedSitesError
from dnnfix.records import DeleteElement, InsertElement, RemoveArgument, RenameArgument, SetArgument, Site
from dnnfix.source.changes import TextChange
from dnnfix.source.expressions import expression_at, expression_of
from dnnfix.source.layout import Element, Layout, layout_of
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.tree import Tree

ElementEdit: TypeAlias = "SetArgument | RemoveArgument | RenameArgument | InsertElement | DeleteElement"


def element_changes(tree: Tree, site: Site, edits: Sequence[ElementEdit]) -> list[TextChange]:
    """The changes of the text for all argument and element edits of one call, list, set or tuple."""
    node = expression_at(tree, site)
    if not isinstance(node, ast.Call) and any(
        isinstance(edit, (SetArgument, RemoveArgument, RenameArgument)) for edit in edits
    ):
        raise EditError(f"There is no call at {site} whose arguments could be edited.")
    return _Elements(tree, node, site).changes(edits)


class _Elements:
    """One call or display under edit."""

    def __init__(self, tree: Tree, node: ast.expr, site: Site) -> None:
        self.tree = tree
        self.base = tree.offset(site.line, site.column)
        self.text = tree.segment(site)
        self.site = site
        self.layout: Layout = layout_of(node, self.text)
        self.elements = self.layout.elements
        self.removed: set[int] = set()
        self.named: set[int] = set()
        """Positional elements that all edits together give a name."""
        self.appended: list[str] = []
        self.found: list[TextChange] = []

    def changes(self, edits: Sequence[ElementEdit]) -> list[TextChange]:
        renames = [edit for edit in edits if isinstance(edit, RenameArgument) and self._keyword(edit.old) is None]
        placed = (self._positional(edit.position) for edit in renames)
        self.named = {index for index in placed if index is not None}
        for edit in edits:
            if isinstance(edit, RenameArgument):
                self._rename(edit)
            elif isinstance(edit, SetArgument):
                self._set(edit)
            elif isinstance(edit, InsertElement):
                self._insert(edit)
            elif isinstance(edit, RemoveArgument):
                self._mark(self._argument(edit.name, edit.position))
            else:
                self._mark(edit.index)
        self._append()
        self._remove()
        return self.found

    def _change(self, start: int, end: int, new: str, *, whole_lines: bool = False, stacks: bool = False) -> None:
        self.found.append(TextChange(self.base + start, self.base + end, new, whole_lines, 0, stacks))

    # --- finding

    def _keyword(self, name: str) -> int | None:
        return next((i for i, element in enumerate(self.elements) if element.keyword == name), None)

    def _positional(self, position: int | None) -> int | None:
        """The index of a positional argument; unknown counts of arguments before it are refused."""
        if position is None or position < 0:
            return None
        plain = [i for i, element in enumerate(self.elements) if element.keyword is None and element.star != "**"]
        if any(self.elements[i].star for i in plain[: position + 1]):
            raise EditError(
                f"The call at {self.site} unpacks its arguments; which one is number {position} is unknown."
            )
        return plain[position] if position < len(plain) else None

    def _argument(self, name: str, position: int | None) -> int:
        found = self._keyword(name)
        if found is None:
            found = self._positional(position)
        if found is None:
            raise EditError(f"The call at {self.site} has no argument {name!r}.")
        return found

    # --- the edits

    def _rename(self, edit: RenameArgument) -> None:
        index = self._keyword(edit.old)
        if index is None and (placed := self._positional(edit.position)) is not None:
            self._name(placed, edit.new)
            return
        if index is None:
            raise EditError(f"The call at {self.site} has no keyword {edit.old!r}.")
        if self._keyword(edit.new) is not None or not edit.new.isidentifier():
            raise EditError(f"The keyword {edit.old!r} of the call at {self.site} cannot be named {edit.new!r}.")
        start = self.elements[index].start
        self._change(start, start + len(edit.old), edit.new)

    def _name(self, index: int, name: str) -> None:
        """A positional argument becomes one by name, whose own text may be edited as well."""
        after = [e for n, e in enumerate(self.elements) if n > index and n not in self.named]
        if self._keyword(name) is not None or any(e.keyword is None and e.star != "**" for e in after):
            raise EditError(f"The argument {index} of the call at {self.site} cannot be named {name!r}.")
        start = self.elements[index].value
        self._change(start, start, f"{name}=", stacks=True)

    def _set(self, edit: SetArgument) -> None:
        code = _argument_code(edit.code)
        index = self._keyword(edit.name)
        if index is None:
            index = self._positional(edit.position)
        if index is not None:
            self._change(self.elements[index].value, self.elements[index].end, code)
            return
        if any(element.star for element in self.elements):
            raise EditError(f"The call at {self.site} unpacks arguments, among which may be {edit.name!r}.")
        if not edit.name.isidentifier():
            raise EditError(f"{edit.name!r} is no name of an argument.")
        self.appended.append(f"{edit.name}={code}")

    def _insert(self, edit: InsertElement) -> None:
        code = _argument_code(edit.code, star=True)
        if not 0 <= edit.index <= len(self.elements):
            raise EditError(f"There is no place {edit.index} among {len(self.elements)} elements at {self.site}.")
        if edit.index == len(self.elements):
            self.appended.append(code)
            return
        element = self.elements[edit.index]
        indent = self._own_line(element)
        self._change(element.start, element.start, f"{code}, " if indent is None else f"{code},\n{indent}", stacks=True)

    def _mark(self, index: int) -> None:
        if not 0 <= index < len(self.elements):
            raise EditError(f"There is no element {index} among {len(self.elements)} at {self.site}.")
        if index in self.removed:
            raise NestedSitesError(f"Two edits take away element {index} at {self.site}.")
        self.removed.add(index)

    # --- adding at the end

    def _append(self) -> None:
        if not self.appended:
            return
        left = [i for i in range(len(self.elements)) if i not in self.removed]
        if not left:
            lone = self.layout.is_tuple and len(self.appended) == 1
            text = ", ".join(self.appended) + ("," if lone else "")
            place = self.elements[0].start if self.elements else self.layout.first
            self._change(place, place, text, stacks=True)
            return
        last = self.elements[left[-1]]
        if last.bare_generator:
            raise EditError(f"The call at {self.site} has a bare generator as its argument, which must stand alone.")
        indent = self._own_line(last) if len(left) > 1 else self._own_line(last, hanging=True)
        if indent is None or self.removed and left[-1] + 1 in self.removed:
            self._change(last.end, last.end, "".join(f", {text}" for text in self.appended), stacks=True)
            return
        after = last.comma + 1 if last.comma >= 0 else last.end
        place = self._line_end(after)
        if last.comma < 0:
            lines = ",".join(f"\n{indent}{text}" for text in self.appended)
            if place == after:
                self._change(after, after, "," + lines, stacks=True)
                return
            self._change(after, after, ",", stacks=True)
        else:
            lines = "".join(f"\n{indent}{text}," for text in self.appended)
        self._change(place, place, lines, stacks=True)

    def _own_line(self, element: Element, *, hanging: bool = False) -> str | None:
        """The indentation of an element that begins a line of its own, on which no other begins."""
        start = self.text.rfind("\n", 0, element.start) + 1
        before = self.text[start : element.start]
        if not start or before.strip():
            return None
        if hanging and element.comma < 0 and "\n" not in self.text[element.end :]:
            return None
        line_end = self.text.find("\n", element.start)
        line_end = len(self.text) if line_end < 0 else line_end
        shared = any(element.start < other.start < line_end for other in self.elements)
        return None if shared else before

    def _line_end(self, place: int) -> int:
        """The end of the line at `place` where nothing but a comment follows, else `place`."""
        end = self.text.find("\n", place)
        rest = self.text[place : end if end >= 0 else len(self.text)].strip()
        return end if end >= 0 and (not rest or rest.startswith("#")) else place

    # --- taking away

    def _remove(self) -> None:
        runs: list[tuple[int, int]] = []
        for index in sorted(self.removed):
            if runs and runs[-1][1] == index - 1:
                runs[-1] = (runs[-1][0], index)
            else:
                runs.append((index, index))
        for first, last in runs:
            self._remove_run(first, last)
        left = [element for i, element in enumerate(self.elements) if i not in self.removed]
        if self.layout.is_tuple and len(left) == 1 and self.removed and not self.appended:
            self._keep_tuple(left[0])

    def _remove_run(self, first: int, last: int) -> None:
        start, end = self.elements[first], self.elements[last]
        after = end.comma + 1 if end.comma >= 0 else end.end
        if self._own_line(start) is not None and self._alone_until(after, last):
            line_start = self.text.rfind("\n", 0, start.start) + 1
            self._change(line_start, self._line_end(after) + 1, "", whole_lines=True)
        elif last + 1 < len(self.elements):
            following = self.elements[last + 1].start
            comment = "#" in self.text[after:following]
            ahead = self.text[self.elements[first - 1].comma + 1 : start.start] if first else ""
            if "\n" in self.text[after:following] and first and not ahead.strip() and "\n" not in ahead:
                # The next argument begins a line, and goes on doing so.
                self._change(self.elements[first - 1].comma + 1, after, "")
            else:
                self._change(start.start, after if comment else following, "")
        elif first > 0:
            previous = self.elements[first - 1]
            comment = "#" in self.text[previous.comma : start.start]
            self._change(start.start if comment else previous.end, after if comment else end.end, "")
        else:
            self._change(start.start, after, "")

    def _alone_until(self, after: int, last: int) -> bool:
        place = self._line_end(after)
        return (
            place < len(self.text)
            and self.text[place] == "\n"
            and (last + 1 >= len(self.elements) or self.elements[last + 1].start > place)
        )

    def _keep_tuple(self, left: Element) -> None:
        """Leave the comma that makes a tuple of the one element that is left."""
        index = self.elements.index(left)
        if left.comma < 0:
            self._change(left.end, left.end, ",")
        elif index + 1 < len(self.elements):
            # The run after it was taken away from the end of this element on: give the comma back.
            self._change(left.end, left.end, ",") if self._comma_taken(left) else None

    def _comma_taken(self, left: Element) -> bool:
        comma = self.base + left.comma
        return any(change.start <= comma < change.end for change in self.found)


def _argument_code(code: str, *, star: bool = False) -> str:
    """`code` as it can stand among arguments: in parentheses where it would otherwise be taken apart there."""
    code = code.strip()
    if not star or not code.startswith("*"):
        expression_of(code)
    for candidate in (code, f"({code})"):
        try:
            call = parse(f"_({candidate}\n, _)").body[0]
        except Unparsable:
            continue
        value = call.value if isinstance(call, ast.Expr) else None
        if isinstance(value, ast.Call) and len(value.args) == 2 and not value.keywords:
            if isinstance(value.args[0], ast.Starred) and not star:
                continue
            return candidate
    raise EditError(f"The edit's code is not an expression. Received: {code!r}")
