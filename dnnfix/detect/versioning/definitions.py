"""Functions and classes that libraries removed, with code that a program can define in their place
(`definitions.toml`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from dnnfix.detect.versioning.names import DATA

_DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Definition:
    """The code that takes the place of what is gone, with what is said of it."""

    names: tuple[str, ...]
    removed: Mapping[str, str] = field(hash=False)
    """The first version without it, by package; empty where the whole package lives on under another name."""
    said: str
    title: str
    reference: str
    imports: tuple[str, ...]
    code: str
    safe: bool = False
    """Whether it does just what was taken away."""
    options: tuple[str, ...] = ()
    """Options of a command line, or attributes, that it knows nothing of: a program that has one means more than it does."""
    keywords: tuple[str, ...] = ()
    """Keywords that it would hand on, though nothing takes them."""

    @property
    def defines(self) -> tuple[str, ...]:
        """The functions and classes that the code defines."""
        return tuple(_DEFINED.findall(self.code))

    @property
    def package(self) -> str:
        """The package that had it."""
        return min(self.removed, default=self.names[0].partition(".")[0])

    def name_for(self, old: str) -> str:
        """What the code calls the function or class that had the qualified name `old`."""
        last = old.rpartition(".")[2]
        return last if last in self.defines else self.defines[0]

    def takes(self, old: str, keyword: str) -> bool:
        """Whether a call of what had the qualified name `old` may have a keyword, as far as the code tells."""
        name = self.name_for(old)
        statement = next(s for s in ast.parse(self.code).body if getattr(s, "name", "") == name)
        body = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        functions = [each for each in body if isinstance(each, ast.FunctionDef)]
        called = next((each for each in functions if each.name in (name, "__init__")), None)
        if called is None or called.args.kwarg is not None:
            return keyword not in self.keywords
        return keyword in {each.arg for each in (*called.args.args, *called.args.kwonlyargs)}

    def only(self, wanted: Iterable[str]) -> Definition:
        """The part of it that defines the wanted names and what they need, with the imports of that part."""
        statements = {getattr(s, "name", ""): s for s in ast.parse(self.code).body}
        kept, asked = set[str](), set(wanted)
        used: set[str] = set()
        while asked:
            kept |= asked
            named = {n.id for name in asked for n in ast.walk(statements[name]) if isinstance(n, ast.Name)}
            used |= named
            asked = (named & statements.keys()) - kept
        lines = self.code.split("\n")
        code = [(_first_line(s) - 1, s.end_lineno) for name, s in statements.items() if name in kept]
        imports = [only for statement in self.imports if (only := _imported(statement, used))]
        return replace(self, imports=tuple(imports), code="\n\n\n".join("\n".join(lines[a:b]) for a, b in code))


def _first_line(statement: ast.stmt) -> int:
    """The line in which a definition begins, with its decorators."""
    decorators = statement.decorator_list if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else []
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _imported(statement: str, used: set[str]) -> str:
    """The part of an import statement that brings in used names."""
    node = ast.parse(statement).body[0]
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return statement
    node.names = [alias for alias in node.names if (alias.asname or alias.name.partition(".")[0]) in used]
    return ast.unparse(node) if node.names else ""


@cache
def definitions() -> Mapping[str, Definition]:
    """The definitions, by each qualified name under which a program knows them."""
    import tomllib

    found: dict[str, Definition] = {}
    for entry in tomllib.loads(DATA.with_name("definitions.toml").read_text("utf-8"))["definition"]:
        each = Definition(
            names=tuple(entry["names"]),
            removed=entry.get("removed", {}),
            said=entry["said"],
            title=entry["title"],
            reference=entry["reference"],
            imports=tuple(entry["imports"]),
            code=entry["code"].strip("\n"),
            safe=entry.get("safe", False),
            options=tuple(entry.get("options", ())),
            keywords=tuple(entry.get("keywords", ())),
        )
        found.update(dict.fromkeys(each.names, each))
    return found
