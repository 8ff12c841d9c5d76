"""Draws which package imports which, and writes it into `docs/architecture.md` between its marks.

    python tools/draw_packages.py [--check]

The picture has the packages and modules at the top of `dnnfix/`; an arrow that another way of arrows says already is left out. The table has the
first sentence of each one's docstring, and who imports it.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dnnfix"
PAGE = ROOT / "docs" / "architecture.md"
MARKS = re.compile(r"(<!-- packages -->\n).*?(<!-- end of packages -->\n)", re.DOTALL)
EVERYWHERE = frozenset({"records", "errors"})
"""What almost everything imports, so that its arrows would say nothing."""
LEFT_OUT = frozenset({"__init__", "__main__", "fix_templates", "validators"})


def parts() -> dict[str, str]:
    """The packages and modules at the top, with the first sentence of their docstrings."""
    found = {}
    for path in sorted(PACKAGE.iterdir()):
        module = path / "__init__.py" if path.is_dir() else path
        name = path.stem
        if module.suffix == ".py" and module.exists() and name not in LEFT_OUT:
            told = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
            found[name] = " ".join(told.split("\n\n")[0].split())
    return found


def imports(names: Mapping[str, str]) -> dict[str, set[str]]:
    """By part, the other parts that its modules import, wherever in them."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        path = PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            found[name].update(one for one in _imported(file) if one in names and one != name)
    return found


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dnnfix" and not node.level:
            _, *inside = (node.module or "").split(".")
            yield from [inside[0]] if inside else [alias.name for alias in node.names]


def reduced(arrows: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The arrows without those that a longer way says; without a circle, nothing is lost."""

    def reached(start: str, seen: set[str]) -> set[str]:
        for end in arrows[start] - seen:
            seen.add(end)
            reached(end, seen)
        return seen

    return {
        start: {end for end in ends if not any(end in reached(other, set()) for other in ends - {end})}
        for start, ends in arrows.items()
    }


def drawn() -> str:
    """The picture and the table in Markdown."""
    told = parts()
    arrows = imports(told)
    shown = reduced({name: ends - EVERYWHERE for name, ends in arrows.items() if name not in EVERYWHERE})
    picture = [f"    {start} --> {end}" for start in sorted(shown) for end in sorted(shown[start])]
    rows = [
        f"| `{name}` | {told[name]} | {', '.join(sorted(one for one in arrows if name in arrows[one])) or '–'} |"
        for name in sorted(told)
    ]
    return "\n".join(
        [
            "```mermaid",
            "graph TD",
            *picture,
            "```",
            "",
            "| part | what it is | imported by |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    """Write the page, or say whether it is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where the page is another")
    options = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = MARKS.sub(lambda match: f"{match[1]}\n{drawn()}\n{match[2]}", before)
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
    return int(options.check and before != after)


if __name__ == "__main__":
    sys.exit(main())
