"""Parses Python, and turns every error of `ast.parse` into `Unparsable`."""

from __future__ import annotations

import ast
import warnings

from dnnfix.records.record import record


@record
class Unparsable(Exception):
    """Why and where a text is not Python. `line` counts from 1 and is 0 where the parser does not report it."""

    message: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def parse(text: str) -> ast.Module:
    """The syntax tree of `text`. Raises only `Unparsable`, where the text does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise Unparsable(error.msg or "invalid syntax", error.lineno or 0, error.offset or 0) from None
    except (RecursionError, MemoryError):
        raise Unparsable("the code is nested too deeply", 0) from None
    except ValueError as error:
        raise Unparsable(str(error), 0) from None
