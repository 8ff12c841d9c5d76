"""Records of places in a program and of the edits at them.

`dnnfix.source.edits` carries the edits out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dnnfix.records.record import record


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """File, line and column of an expression or statement.

    Lines and columns count from 1, columns in characters; the end column is one past the last character. `path` is
    empty for the program under analysis itself and relative to its folder for the modules that it imports.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    path: str = ""

    def encloses(self, other: Site) -> bool:
        """Whether `other` lies within this site (equal sites enclose each other)."""
        return (
            self.path == other.path
            and (self.line, self.column) <= (other.line, other.column)
            and (other.end_line, other.end_column) <= (self.end_line, self.end_column)
        )

    def overlaps(self, other: Site) -> bool:
        """Whether the two sites share at least one character."""
        return (
            self.path == other.path
            and (self.line, self.column) < (other.end_line, other.end_column)
            and (other.line, other.column) < (self.end_line, self.end_column)
        )

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}-{self.end_line}:{self.end_column}"
        return f"{self.path}:{place}" if self.path else place


@record
class Replace:
    """Put `code` in place of the expression or statement at `site`."""

    site: Site
    code: str


@record
class Wrap:
    """Put `before` and `after` around the expression at `site`, whose own text is kept to the byte."""

    site: Site
    before: str
    after: str


@record
class Unwrap:
    """Put the expression at `inner`, which lies within `site`, in place of the expression at `site`."""

    site: Site
    inner: Site


@record
class SetArgument:
    """Give the call at `site` the argument `name`.

    The keyword `name` is replaced where it is given; else the positional argument number `position` where there is
    one; else the keyword is appended.
    """

    site: Site
    name: str
    code: str
    position: int | None = None


@record
class RemoveArgument:
    """Take from the call at `site` the keyword `name` or the positional argument number `position`."""

    site: Site
    name: str
    position: int | None = None


@record
class RenameArgument:
    """Rename the keyword `old` of the call at `site` to `new`, or give the positional argument `position` that name."""

    site: Site
    old: str
    new: str
    position: int | None = None


@record
class InsertBefore:
    """Put the statement or statements `code` (no indentation of their own) before the statement that holds `site`."""

    site: Site
    code: str


@record
class InsertAfter:
    """Put the statement or statements `code` after the statement that holds `site`."""

    site: Site
    code: str


@record
class InsertElement:
    """Put the expression `code` into the list, tuple or call arguments at `site`, before the element `index`."""

    site: Site
    index: int
    code: str


@record
class DeleteElement:
    """Take the element `index` out of the list, tuple or call arguments at `site`."""

    site: Site
    index: int


@record
class Enclose:
    """Put the statements from the one at `first` to the one at `last` of its block under the header `code`.

    The header is a compound statement's line, such as `with torch.no_grad():`; the statements are only indented, so
    that other edits may change what is in them.
    """

    first: Site
    last: Site
    code: str

    @property
    def site(self) -> Site:
        """From the first to the last statement."""
        return Site(self.first.line, self.first.column, self.last.end_line, self.last.end_column, self.first.path)


@record
class ReplaceLines:
    """Put the lines of `code`, with their final indentation, in place of the whole lines of `site`.

    For code that is moved along with its comments; without `code` the lines are removed.
    """

    site: Site
    code: str


@record
class Delete:
    """Take the whole statement at `site` away; a block left empty gets `pass`."""

    site: Site


@record
class AddImport:
    """Make sure that the module at `path` has this import statement at its top; nothing happens if it has it."""

    statement: str
    path: str = ""

    @property
    def site(self) -> Site:
        """The start of the file."""
        return Site(1, 1, 1, 1, self.path)


@record
class AddDefinition:
    """Put the functions and classes of `code` below the imports that the module at `path` begins with.

    They come after the import of every name that they use, between two blank lines. `after` names an import
    behind which they stand instead, where the program calls them before it has imported the rest.
    """

    code: str
    path: str = ""
    after: Site | None = None

    @property
    def site(self) -> Site:
        """The start of the file."""
        return Site(1, 1, 1, 1, self.path)


Edit: TypeAlias = (
    Replace
    | Wrap
    | Unwrap
    | SetArgument
    | RemoveArgument
    | RenameArgument
    | InsertBefore
    | InsertAfter
    | InsertElement
    | DeleteElement
    | Enclose
    | ReplaceLines
    | Delete
    | AddImport
    | AddDefinition
)
