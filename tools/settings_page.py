"""Write the table of settings of `docs/configuration.md` from `dnnfix/config.py`.

python tools/settings_page.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dnnfix import config

PAGE = ROOT / "docs" / "configuration.md"
TAKES = {
    "Path": "path",
    "bool": "true or false",
    "float": "number",
    "int": "integer",
    "str": "string",
    "tuple[Path, ...]": "list of paths",
    "tuple[str, ...]": "list of strings",
    "tuple[tuple[str, tuple[str, ...]], ...]": "table of lists",
}
"""What people call the types of settings."""
MARKS = re.compile(r"(<!-- settings -->\n).*(<!-- end of settings -->)", re.DOTALL)


def table() -> Iterator[str]:
    """The lines of the table: each key with what it takes, its default, and what it means."""
    said, defaults = _docstrings(), {field.name: field.default for field in fields(config.Settings)}
    yield "| setting | takes | default | |"
    yield "|---|---|---|---|"
    for key, name in config.keys().items():
        if not said.get(name):
            raise SystemExit(
                f"dnnfix/config.py: `Settings.{name}` has no docstring: say what the setting `{key}` means"
            )
        yield f"| `{key}` | {TAKES[_type(name)]} | {_default(defaults[name])} | {said[name]} |"


def _type(name: str) -> str:
    return str(config.Settings.__annotations__[name]).removesuffix(" | None")


def _docstrings() -> dict[str, str]:
    """What stands below each field of `Settings`."""
    (of_class,) = ast.parse(inspect.getsource(config.Settings)).body
    said = {}
    for field, below in zip(of_class.body, of_class.body[1:]):  # type: ignore[attr-defined]
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                said[name] = " ".join(inspect.cleandoc(text).split()).replace("|", "\\|")
    return said


def _default(value: Any) -> str:
    match value:
        case _ if value is MISSING or value is None or value == ():
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
    """The page with its table written anew."""
    return MARKS.sub(lambda match: match[1] + "\n" + "\n".join(table()) + "\n\n" + match[2], before)


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
