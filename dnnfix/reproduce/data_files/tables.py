"""Files of rows with named or numbered columns: tables, spreadsheets, matrices, records."""

from __future__ import annotations

from dataclasses import replace

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data_files.images import EACH, size_of
from dnnfix.reproduce.data_files.made import Made
from dnnfix.reproduce.data_files.values import below, whole
from dnnfix.reproduce.flow.values import Datum, Use
from dnnfix.reproduce.frames import Table, columns_in_words, listed, table_of


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
        table.rows = 2 * EACH
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
        return code, f"{table.rows} rows with {columns_in_words(table)}", table.evidence, ("made_excel",)
    names = table.names
    code = f"made_csv({path!r}, {listed(table.kinds)}, {listed(names)}, {rest}, separator={separator!r}, before={before!r})"
    if "file" in table.kinds:
        return _with_images(case, datum, table, code)
    return code, f"{table.rows} rows with {columns_in_words(table)}", table.evidence, ("made_csv",)


def _with_images(case: Case, datum: Datum, table: Table, code: str) -> Made:
    """The images that a column of a table names, beside the table."""
    joined = next((use.detail for use in datum.of("joined")), "")
    (height, width), told = size_of(case, datum)
    table_of_images = f"made_listed_images({joined!r}, {table.rows}, {(height, width, 3)!r}, {table.classes})"
    what = f"{table.rows} rows with {columns_in_words(table)}, and the images in `{joined}`"
    return f"{code}\n{table_of_images}", what, f"{table.evidence}; {told}", ("made_csv", "made_listed_images")


def json_file(case: Case, datum: Datum, path: str) -> Made | None:
    """A list of records with the keys that the program takes of each, or a dict of such lists."""
    own = replace(datum, uses=below(datum, ("element",)))
    of_each = any(use.kind in ("iterated", "item") and use.part == () for use in datum.uses) and own.of("column")
    table = table_of(case, own if of_each else datum, {})
    if table is None or not table.names:
        return None
    rest = f"{listed(table.names)}, {listed(table.kinds)}, {table.rows}, {table.classes}, words={table.words!r}, listed={bool(of_each)}"
    what = f"{table.rows} records with {columns_in_words(table)}"
    return f"made_json({path!r}, made_records({rest}))", what, table.evidence, ("made_json", "made_records")
