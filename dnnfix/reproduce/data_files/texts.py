"""Files of text: running text, or lines of fields where the program splits them."""

from __future__ import annotations

from dnnfix.reproduce import clues
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data_files.made import Made
from dnnfix.reproduce.data_files.tables import rows_file
from dnnfix.reproduce.flow.values import Datum
from dnnfix.reproduce.frames import ROWS, listed

TEXT = 12_000
"""Characters of plain text: some 500 lines, small enough for programs that make a sample of every character."""


NUMBERS = 8
"""Numbers in a line of a file of text, where nothing tells how many there are."""

STRUCTURED = (".csv", ".tsv", ".json", ".xml", ".html", ".yaml", ".yml")
"""Endings of files that hold more than sentences: what their parts are has to be told by something."""


def text_file(case: Case, datum: Datum, path: str) -> Made | None:
    """Lines of fields where they are split, else running text."""
    if (rows := rows_file(case, datum, path)) is not None:
        return rows
    fields = _fields(datum, clues.ends(case.source))
    if fields is not None and not fields[1]:
        return None
    if fields is not None:
        separator, kinds, line = fields
        ends = clues.ends(case.source)
        classes = ends.outputs if ends.outputs and ends.form in ("classes", "one-hot") else 2
        made = f"made_lines({ROWS}, {listed(kinds)}, {separator!r}, {max(2, classes)})"
        if any(step == ("split", "\n") for use in datum.uses for step in use.part):
            made += ".rstrip()"  # split at newlines, a last one would make a line without fields
        what = f"{ROWS} lines of {len(kinds)} fields ({', '.join(kinds)})"
        return (
            f"made_text_file({path!r}, {made})",
            what,
            f"line {line}: split at {separator!r}",
            ("made_text_file", "made_lines"),
        )
    read = any(use.kind in ("iterated", "text", "method", "passed") for use in datum.uses)
    if not read or path.lower().endswith(STRUCTURED):
        return None
    return (
        f"made_text_file({path!r}, made_running_text({TEXT}))",
        f"{TEXT} characters of plain sentences",
        f"line {datum.line}: read as text",
        ("made_text_file", "made_running_text"),
    )


def _fields(datum: Datum, ends: clues.Ends) -> tuple[str, list[str], int] | None:
    """The fields of a line: what they are split at, and the kind of each."""
    count, separator, line = 0, "", 0
    last = numbers = False
    head: int | None = None
    whole: set[int] = set()
    kinds: dict[int, str] = {}
    for use in datum.uses:
        splits = [place for place, step in enumerate(use.part) if step[0] == "split" and step[1] not in ("\n", "\r\n")]
        in_lines = (
            any(step[0] == "element" or step == ("split", "\n") for step in use.part[: splits[0]]) if splits else False
        )
        if not splits or not in_lines:
            continue
        separator = use.part[splits[0]][1]
        after = use.part[splits[0] + 1 :]
        if not after:
            line = line or use.line
            if use.kind == "unpacked":
                count = max(count, len(use.detail))
            if use.kind == "item" and isinstance(use.detail, int) and use.detail >= 0:
                count = max(count, use.detail + 1)
            if use.kind == "item" and use.detail == -1:
                last = True
            if use.kind == "slice" and isinstance(use.detail[0], int) and use.detail[1] is None:
                count = max(count, use.detail[0] + 1)
                head = use.detail[0]
            numbers = numbers or use.kind in ("number", "iterated")
        elif after[0][0] == "element":
            numbers = numbers or use.kind == "number"
        elif after[0][0] == "item" and isinstance(after[0][1], int) and after[0][1] >= 0:
            kind = {"number": "number", "encoded": "word", "one-hot": "label", "targets": "label", "text": "text"}.get(
                use.kind
            )
            if kind and kinds.get(after[0][1], "text") == "text":
                kinds[after[0][1]] = kind
            if use.kind == "passed" and use.detail == "builtins.int":
                whole.add(after[0][1])
    if head and numbers and count == head + 1 and whole <= set(range(head)):
        # `int(row[0])`, `[float(x) for x in row[1:]]`: labels, then as many numbers as the network takes
        taken = ends.inputs[0] if ends.inputs and len(ends.inputs) == 1 else None
        first = ["label" if place in whole else kinds.get(place, "word") for place in range(head)]
        return separator or " ", [*first, *["number"] * (taken or NUMBERS)], line
    if last and numbers and not count:
        wanted = ends.inputs[0] if ends.inputs and len(ends.inputs) == 1 else None
        return separator or " ", [*["number"] * wanted, "label"] if wanted else [], line
    if not count or not isinstance(separator, (str, type(None))):
        return None
    found = [kinds.get(place, "text") for place in range(count)]
    if "text" in found and found.count("text") == len(found) > 1:
        found[0] = "word"
    return separator or " ", found, line
