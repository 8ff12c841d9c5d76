"""Edit steps for missing files of rows: tables, spreadsheets, JSON records, and matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.reproduce import paths
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import columns
from dnnfix.reproduce.data.frames import Table, columns_in_words, listed, table_of
from dnnfix.reproduce.data_files import Made
from dnnfix.reproduce.data_files.images import EACH, largest_batch, size_of
from dnnfix.reproduce.data_files.values import below, whole
from dnnfix.reproduce.flow.values import Datum, Use

MOST_IMAGES = 640
PIXELS = 16_000_000
"""Images that the column of a table names at most, and their places together."""

_RECORDS = 1000
"""Records of a data set that is made in a file, at least."""

_LABEL = re.compile(r"(?:^|_)(?:labels?|class|target|category|stars)(?:_|$)")


def rows_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A table whose lines a program splits, or has split by a reader of the module `csv`; None where it does neither."""
    uses = [of_a_row for use in datum.uses for of_a_row in _of_a_row(use)]
    reader = next(iter(datum.of("reader", "DictReader")), None)
    if reader is None and not any(use.kind == "opened" for use in uses):
        return None
    options: dict[str, object] = {"header": None}
    if reader is not None and reader.kind == "DictReader":
        options = {"names": reader.detail} if reader.detail else {}
    separator = next(
        (step[1] for use in datum.uses for step in use.part if step[0] == "split" and step[1] != "\n"), None
    )
    options["sep"] = separator or (" " if reader is None else ",")
    return table_file(case, replace(datum, uses=uses, options=options), path)


def _of_a_row(use: Use) -> Iterator[Use]:
    """A use of the fields of a line as one of columns."""
    steps = tuple(step for step in use.part if step != ("split", "\n"))
    if steps[:1] != (("element",),):
        return
    rest = steps[1:]
    if rest[:1] and rest[0][0] == "split":
        rest = rest[1:]
    if rest[:1] and rest[0][0] == "item":
        yield replace(use, part=(("column", ("one", rest[0][1])), *rest[1:]))
    elif rest:
        yield replace(use, part=rest)
    elif use.kind == "item":
        yield replace(use, part=(), kind="column", detail=("one", use.detail))
    elif use.kind == "unpacked":
        yield replace(use, part=(), kind="column", detail=("range", 0, len(use.detail)))
    elif use.kind == "slice":
        yield replace(use, part=(), kind="column", detail=("range", *use.detail))
    else:
        yield replace(use, part=())


def table_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A table; the images that a column of it names are made beside it."""
    options = dict(datum.options)
    if datum.kind == "matrix":
        options["header"] = 0 if options.get("skiprows") or options.get("skip_header") else None
    before: tuple[str, ...] = ()
    table = table_of(case, datum, options)
    if table is None:
        looks = whole(case, datum)
        if looks is None or datum.kind != "matrix" or len(looks.shape) != 1:
            return None
        table = table_of(
            case, replace(datum, uses=[Use((), "column", ("range", 0, looks.shape[0]), datum.line)]), options
        )
        if table is None:
            return None
        table.evidence = looks.evidence
    if "file" in table.kinds:
        table.rows = _rows_of_images(case, datum)
    header = options.get("header", 0)
    if isinstance(header, int) and not isinstance(header, bool) and header > 0:
        before = ("made for a program that reads it",) * header
    elif isinstance(skip := options.get("skiprows"), int) and datum.kind != "matrix":
        before = ("made for a program that reads it",) * skip
    separator = options.get("sep", options.get("delimiter"))
    if options.get("delim_whitespace") or (isinstance(separator, str) and "\\s" in separator):
        separator = " "
    elif not isinstance(separator, str) or len(separator) != 1:
        last = datum.name
        separator = "\t" if last == "read_table" else " " if last in ("read_fwf", "loadtxt", "genfromtxt") else ","
    rest = f"{table.rows}, {table.classes}, words={table.words!r}"
    if datum.name == "read_excel":
        code = f"made_excel({path!r}, {listed(table.kinds)}, {listed(table.names)}, {rest})"
        return code, f"{table.rows} rows with {columns_in_words(table)}", table.evidence
    names = table.names
    code = f"made_csv({path!r}, {listed(table.kinds)}, {listed(names)}, {rest}, separator={separator!r}, before={before!r})"
    if "file" in table.kinds:
        return _with_images(case, datum, table, code)
    return code, f"{table.rows} rows with {columns_in_words(table)}", table.evidence


def _with_images(case: Case, datum: Datum, table: Table, code: str) -> Made:
    """The images that a column of a table names, beside the table."""
    read = {use.part for use in datum.of("opened")}
    folder = next((use.detail for use in datum.of("joined") if use.detail and use.part in read), "")
    (height, width), told = size_of(case, datum)
    images = f"{table.rows}, {(height, width, 3)!r}, {table.classes}"
    code += f"\nmade_images_when_read({images})"
    place = paths.inside(case.source, folder)
    if place is not None and not place[1] and "%" not in folder:  # there before they are read, for who looks for them
        code += f"\nmade_listed_images({place[0]!r}, {images})"
    what = f"{table.rows} rows with {columns_in_words(table)}, and the images in `{folder}`"
    return code, what, f"{table.evidence}; {told}"


def _rows_of_images(case: Case, datum: Datum) -> int:
    """So many rows that a tenth of them is a batch, where that is not too much to keep in memory."""
    height, width = size_of(case, datum)[0]
    return max(2 * EACH, min(10 * largest_batch(case.source), MOST_IMAGES, PIXELS // (height * width)))


def json_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A list of records with the keys that the program takes of each, or a dict of such lists."""
    own = replace(datum, uses=below(datum, ("element",)))
    of_each = any(use.kind in ("iterated", "item") and use.part == () for use in datum.uses) and own.of("column")
    table = table_of(case, own if of_each else datum, {})
    if table is None or not table.names:
        return _rows_of_a_set(case, path)
    rest = f"{listed(table.names)}, {listed(table.kinds)}, {table.rows}, {table.classes}, words={table.words!r}, listed={bool(of_each)}"
    what = f"{table.rows} records with {columns_in_words(table)}"
    return f"made_json({path!r}, made_records({rest}))", what, table.evidence


def _rows_of_a_set(case: Case, path: str) -> Made | None:
    """Records that the program only hands on, to a data set whose columns it names."""
    loads = next(case.source.calls(*columns.LOADED), None)
    names = columns.of_hub(case) if loads is not None else ()
    if loads is None or not names:
        return None
    kinds = ["label" if _LABEL.search(name) else "text" for name in names]
    rows = max([_RECORDS, *columns.rows_taken(case.source)])
    code = f"made_json({path!r}, made_records({list(names)!r}, {kinds!r}, {rows}))"
    return (
        code,
        f"{rows} records with {', '.join(names)}",
        f"line {loads.lineno}: a data set is loaded, of which these columns are used",
    )
