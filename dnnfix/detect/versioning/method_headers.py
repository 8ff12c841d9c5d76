"""The lines above the body of a method, in which it is given another name or fewer parameters, and new methods above it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from dnnfix.detect.versioning.statements import spliced, within
from dnnfix.records import ReplaceLines, Site
from dnnfix.source.program import Source


@dataclass(frozen=True)
class Header:
    """The header of a method, with the comments and decorators above it."""

    source: Source
    method: ast.FunctionDef

    @property
    def site(self) -> Site:
        """Its whole lines."""
        lines, method = self.source.places.lines, self.method
        first = min([method.lineno, *(node.lineno for node in method.decorator_list)])
        while first > 1 and lines[first - 2].lstrip().startswith("#") and self._at_margin(lines[first - 2]):
            first -= 1
        taken = method.args
        every = (
            *taken.posonlyargs,
            *taken.args,
            *taken.kwonlyargs,
            *taken.defaults,
            taken.vararg,
            taken.kwarg,
            method.returns,
        )
        last = max([method.lineno, *(each.end_lineno or 0 for each in every if each is not None)])
        while not lines[last - 1].partition("#")[0].rstrip().endswith(":") and last < method.body[0].lineno:
            last += 1
        return Site(first, 1, last, len(lines[last - 1]) + 1)

    @property
    def is_apart(self) -> bool:
        """Whether the body stands on lines of its own."""
        return self.method.body[0].lineno > self.site.end_line

    def _at_margin(self, line: str) -> bool:
        return len(line) - len(line.lstrip()) == self.method.col_offset

    def written_anew(
        self,
        name: str = "",
        without: Iterable[str] = (),
        above: Iterable[str] = (),
        default: tuple[str, str] = ("", ""),
    ) -> ReplaceLines:
        """The edit that gives the method a name, and a parameter a default, takes parameters from it, and puts methods (not
        indented) above it.
        """
        source, place = self.source, self.site
        lines = source.places.lines
        text = "\n".join(lines[place.line - 1 : place.end_line])
        changes: list[tuple[int, int, str]] = []
        if name:
            column = lines[self.method.lineno - 1].index(self.method.name, self.method.col_offset + len("def ")) + 1
            named = Site(self.method.lineno, column, self.method.lineno, column + len(self.method.name))
            changes.append((*within(named, place, text), name))
        gone, given = set(without), [*self.method.args.posonlyargs, *self.method.args.args]
        values: list[ast.expr | None] = [None] * (len(given) - len(self.method.args.defaults)) + [
            *self.method.args.defaults
        ]
        for number, each in enumerate(given):
            if each.arg == default[0]:
                _, end = within(source.site(each), place, text)
                changes.append((end, end, f" = {default[1]}" if each.annotation is not None else f"={default[1]}"))
            if each.arg in gone:
                before = source.site(values[number - 1] or given[number - 1])
                own = source.site(values[number] or each)
                gap = Site(before.end_line, before.end_column, own.end_line, own.end_column)
                changes.append((*within(gap, place, text), ""))
        margin = lines[self.method.lineno - 1][: self.method.col_offset]
        added = [margin + line if line else "" for hook in above if hook for line in (*hook.split("\n"), "")]
        return ReplaceLines(place, "\n".join([*added, spliced(text, changes)]))
