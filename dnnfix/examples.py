"""The example programs of a rule: examples, which it has to repair, those that it only finds something in, and rejects, which it has to leave alone.

A rule states them in one string, `programs`. Each program comes below a line that says what it is:

    === example: the best of all epochs
    === example (runs): a loss that a run shows
    === finds: a sum that nothing can be done about
    === reject: written to a file at once

The string is parsed only when the examples are asked for, which a scan never does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dnnfix.errors import CatalogueError
from dnnfix.records.record import record

_HEADER = re.compile(r"=== *(?P<kind>example|finds|reject)(?P<runs> \(runs\))?: *(?P<name>.*\S)")


@record
class Example:
    """A program that a template repairs, with the lines that change marked as in a diff: `- ` before those that go, `+ ` before those that come.

    Where a template proposes several candidates, the program afterwards is one of them. `runs` says that the fault shows only
    when the program runs: such an example is executed by the harness, on the framework it imports. Those of a template that
    needs a run need not say so.
    """

    name: str
    marked: str
    runs: bool = False

    @property
    def before(self) -> str:
        """The program with its fault."""
        return _without_marks(self.marked, "-")

    @property
    def after(self) -> str:
        """The program as the template writes it."""
        return _without_marks(self.marked, "+")


@record
class Finds:
    """A program in which a template has to find something, of a rule that repairs nothing."""

    name: str
    source: str
    runs: bool = False


@record
class Reject:
    """A program that a template must leave alone, and why someone might think otherwise."""

    name: str
    source: str
    runs: bool = False


_KINDS: dict[str, type[Example | Finds | Reject]] = {"example": Example, "finds": Finds, "reject": Reject}


def added(code: str) -> str:
    """Code as `Example` marks the lines that come."""
    return "\n".join(f"+ {line}" for line in code.split("\n"))


def read_programs(text: str, code: str, runs: bool) -> Iterator[Example | Finds | Reject]:
    """The examples and rejects in the string of the template `code`, all of which are run if `runs`.

    Raises `CatalogueError` where a header cannot be read.
    """
    before, *parts = re.split(r"^(===.*)\n", text, flags=re.MULTILINE)
    if before.strip():
        raise CatalogueError(f"{code}: its programs begin with no header, as `=== example: what it shows` is one")
    for header, program in zip(parts[::2], parts[1::2], strict=True):
        found = _HEADER.fullmatch(header.rstrip())
        if found is None:
            raise CatalogueError(
                f"{code}: {header!r} is not `=== example: NAME`, `=== finds: NAME`, `=== reject: NAME`, or one of them with ` (runs)` before the colon"
            )
        kind = _KINDS[found["kind"]]
        yield kind(found["name"], program.strip("\n") + "\n", runs or bool(found["runs"]))


def _without_marks(marked: str, mark: str) -> str:
    """The lines that have this mark or none; a mark stands alone before an empty line."""
    kept = []
    for line in marked.splitlines(keepends=True):
        if line[:1] not in ("-", "+") or line[1:2] not in (" ", "\n"):
            kept.append(line)
        elif line[0] == mark:
            kept.append(line[1:].removeprefix(" "))
    return "".join(kept)
