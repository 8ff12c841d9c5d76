"""Edit steps for missing text files: running text, or lines of fields where the program splits them."""

from __future__ import annotations

import ast
import os.path
import re

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import clues
from dnnfix.reproduce.data.frames import ROWS, listed
from dnnfix.reproduce.data_files import Made
from dnnfix.reproduce.data_files.images import size_of
from dnnfix.reproduce.data_files.tables import rows_file
from dnnfix.reproduce.flow.values import Datum
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

TEXT = 12_000
"""Characters of plain text: some 500 lines, small enough for programs that make a sample of every character."""


NUMBERS = 8
"""Numbers in a line of a file of text, where nothing tells how many there are."""

STYLE = ".mplstyle"
"""How the names of style sheets of matplotlib end."""

STRUCTURED = (".csv", ".tsv", ".json", ".xml", ".html", ".yaml", ".yml")
"""Endings of files that hold more than sentences: what their parts are has to be told by something."""


def text_file(case: Case, datum: Datum, path: str) -> Made | None:
    """Lines of fields where they are split, else running text."""
    if (rows := rows_file(case, datum, path)) is not None:
        return rows
    if (numbers := _numbers(case, datum, path)) is not None:
        return numbers
    fields = _fields(datum, clues.ends(case.source))
    if fields is not None and not fields[1]:
        return None
    if fields is not None:
        separator, kinds, line = fields
        classes = max(2, clues.ends(case.source).classes())
        made = f"made_lines({ROWS}, {listed(kinds)}, {separator!r}, {classes})"
        if any(step == ("split", "\n") for use in datum.uses for step in use.part):
            made += ".rstrip()"  # split at newlines, a last one would make a line without fields
        code = f"made_text_file({path!r}, {made})"
        what = f"{ROWS} lines of {len(kinds)} fields ({', '.join(kinds)})"
        told = f"line {line}: split at {separator!r}"
        if "file" not in kinds:
            return code, what, told
        (height, width), size_told = size_of(case, datum)
        code += f"\nmade_images_when_read({ROWS}, {(height, width, 3)!r}, {classes})"
        return code, f"{what}, and the images", f"{told}; {size_told}"
    read = any(use.kind in ("iterated", "text", "method", "passed") for use in datum.uses)
    parsed = any(use.kind == "passed" and use.detail in ("ParseFromString", "FromString") for use in datum.uses)
    if not read or parsed or path.lower().endswith(STRUCTURED):
        return None
    return sentences_file(case, datum, path)


def sentences_file(case: Case, datum: Datum, path: str) -> Made | None:
    """Running text."""
    code = f"made_text_file({path!r}, made_running_text({TEXT}))"
    return code, f"{TEXT} characters of plain sentences", f"line {datum.line}: read as text"


def style_sheet(case: Case, datum: Datum, path: str) -> Made | None:
    """An empty style sheet: what plots look like does not matter to a run."""
    return f"made_text_file({path!r}, '')", "an empty style sheet", f"line {datum.line}: the style of plots"


def _numbers(case: Case, datum: Datum, path: str) -> Made | None:
    """Lines of numbers that become the rows of an array as they are; None where fields of their own are taken."""
    taken = [use for use in datum.uses if use.kind == "typed" and len(use.part) == 2 and use.part[1][0] == "split"]
    if not taken:
        return None
    ends = clues.ends(case.source)
    separator = taken[0].part[1][1] or " "
    targets = re.match(r"(?i)(y|labels?|targets?)(?![a-z])", os.path.basename(path)) is not None
    classes = ends.outputs or _classes_named(case.source) or 2
    columns = 1 if targets else ends.inputs[0] if ends.inputs and len(ends.inputs) == 1 else NUMBERS
    kind = "number" if taken[0].detail == "float" else "label"
    code = f"made_lines({ROWS}, {[kind] * (columns or NUMBERS)!r}, {separator!r}, {max(2, classes)})"
    what = f"{ROWS} lines of {columns} {'numbers' if kind == 'number' else f'labels of {classes} classes'}"
    if kind == "label" and any(use.kind == "arithmetic" and use.detail == ("Sub", 1) for use in datum.uses):
        code = f'"".join("%d\\n" % (int(label) + 1) for label in {code}.split())'
        what += ", counted from 1"
    told = f"line {taken[0].line}: each line becomes {'numbers' if kind == 'number' else 'whole numbers'}"
    return f"made_text_file({path!r}, {code})", what, told


def _classes_named(source: Source) -> int:
    """How many classes a program says that there are, by the name of a number; 0 where it does not say."""
    found = [
        statement.value.value
        for statement in source.nodes(ast.Assign)
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, int)
        for target in statement.targets
        if re.search(r"(?i)(n|num|nb)_?(of_?)?(class|label)", last_name(target))
    ]
    return max(found, default=0)


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
            if use.kind == "joined" and str(use.detail).endswith("/"):
                kind = "file"
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
    if not (separator or "").strip():  # a text of several words would be several fields
        found = ["word" if kind == "text" else kind for kind in found]
    elif "text" in found and found.count("text") == len(found) > 1:
        found[0] = "word"
    return separator or " ", found, line
