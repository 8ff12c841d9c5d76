"""Write the tables of settings of `docs/configuration.md` from `dnnfix/config.py` and `dnnfix/endpoint.py`.

python tools/settings_page.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dnnfix import config, endpoint

PAGE = ROOT / "docs" / "configuration.md"
TAKES = {
    "Path": "path",
    "bool": "true or false",
    "float": "number",
    "int": "integer",
    "str": "string",
    "tuple[Path, ...]": "list of paths",
    "Endpoint": "table",
    "tuple[float, float]": "list of two numbers",
    "tuple[str, ...]": "list of strings",
    "tuple[tuple[str, tuple[str, ...]], ...]": "table of lists",
}
"""What people call the types of settings."""
TABLES = {
    "settings": (config.Settings, config.keys()),
    "settings of the model": (
        endpoint.Endpoint,
        {field.name.replace("_", "-"): field.name for field in fields(endpoint.Endpoint)},
    ),
}
"""The tables of the page, by the words of the comments that they stand between: a class, and the field of each key."""


def table(settings: type, keys: Mapping[str, str]) -> Iterator[str]:
    """The lines of the table: each key with what it takes, its default, and what it means."""
    said, defaults = _docstrings(settings), {field.name: field.default for field in fields(settings)}
    yield "| setting | takes | default | |"
    yield "|---|---|---|---|"
    for key, name in keys.items():
        if not said.get(name):
            raise SystemExit(f"`{settings.__name__}.{name}` has no docstring: say what the setting `{key}` means")
        takes = str(settings.__annotations__[name]).removesuffix(" | None")
        yield f"| `{key}` | {TAKES[takes]} | {_default(defaults[name])} | {said[name]} |"


def _docstrings(settings: type) -> dict[str, str]:
    """What stands below each field of a class of settings."""
    (of_class,) = ast.parse(inspect.getsource(settings)).body
    said = {}
    for field, below in zip(of_class.body, of_class.body[1:]):  # type: ignore[attr-defined]
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                said[name] = " ".join(inspect.cleandoc(text).split()).replace("|", "\\|")
    return said


def _default(value: Any) -> str:
    match value:
        case _ if value is MISSING or value in (None, (), "", endpoint.Endpoint()):
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return f"`{list(value)}`".replace("'", '"')
        case str() if value == sys.executable:
            return "dnnfix's own"
        case str():
            return f'`"{value}"`'
        case _:
            return f"`{value:g}`"


def page(before: str) -> str:
    """The page with its tables written anew."""
    for words, (settings, keys) in TABLES.items():
        marks = re.compile(rf"(<!-- {words} -->\n).*(<!-- end of {words} -->)", re.DOTALL)
        made = "\n".join(table(settings, keys))
        before = marks.sub(lambda match, made=made: f"{match[1]}\n{made}\n\n{match[2]}", before)  # type: ignore[misc]
    return before


def main() -> int:
    """Write the page, or say whether it is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where the page is another")
    options = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = page(before)
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
    elif before != after:
        sys.stderr.write("docs/configuration.md is not what dnnfix/config.py says: run make docs\n")
    return int(options.check and before != after)


if __name__ == "__main__":
    sys.exit(main())
