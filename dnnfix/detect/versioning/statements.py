"""Edits of one import statement: its module and names changed in place, and new import lines added after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from dnnfix.detect.versioning.names import Target
from dnnfix.records import Delete, Edit, Replace, Site

_FROM = re.compile(r"from\s+([\w.]+)")


@dataclass
class Plan:
    """What becomes of one `from module import …` statement."""

    module: str
    kept: dict[ast.alias, tuple[str, str]] = field(default_factory=dict)
    """The module and text of each alias that stays, by alias."""
    extra: dict[ast.alias, list[str]] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    declined: list[tuple[Target, ast.alias]] = field(default_factory=list)
    uses: list[Edit] = field(default_factory=list)
    local: dict[str, str] = field(default_factory=dict)
    safe: bool = True

    def keep(self, alias: ast.alias, module: str, target: Target | None) -> None:
        """The alias stays as it is, in that module."""
        self.kept[alias] = (module, _written(alias))
        if target is not None and target.final:
            self._changed(target)

    def rename(self, alias: ast.alias, module: str, leaf: str, local: str, target: Target) -> None:
        """The alias brings in `leaf` of `module` under the name `local`."""
        self.kept[alias] = (module, leaf if leaf == local else f"{leaf} as {local}")
        self._changed(target)

    def replace(self, alias: ast.alias, names: list[str], target: Target) -> None:
        """The names take the alias's place."""
        if names:
            self.kept[alias] = (target.final, ", ".join(names))
        self._changed(target)

    def drop(self, alias: ast.alias, target: Target) -> None:
        """The alias goes."""
        self.targets.append(target)

    def _changed(self, target: Target) -> None:
        self.targets.append(target)
        self.safe = self.safe and target.safe

    def statement_edits(self, text: str, statement: ast.ImportFrom, site: Site) -> list[Edit]:
        """The statement with its module and names changed in place; names of other modules go on lines after it."""
        groups: dict[str, list[ast.alias]] = {}
        for alias in statement.names:
            if alias in self.kept:
                groups.setdefault(self.kept[alias][0], []).append(alias)
        if not groups:
            return [Delete(site)]
        named = [module for module in groups if module]
        if not named:  # what was a part of a package is one of its own
            return [Replace(site, _import(self.kept[alias][1] for alias in groups[""]))]
        main = self.module if self.module in groups else max(named, key=lambda module: len(groups[module]))
        edits: list[tuple[int, int, str]] = []
        match = _FROM.match(text)
        if match is not None and main != self.module:
            edits.append((*match.span(1), main))
        places = [alias_place(alias, site, text) for alias in statement.names]
        stays = [alias in groups[main] for alias in statement.names]
        last = max(index for index, stay in enumerate(stays) if stay)
        for index, alias in enumerate(statement.names):
            start, end = places[index]
            if stays[index]:
                if text[start:end] != self.kept[alias][1]:
                    edits.append((start, end, self.kept[alias][1]))
            elif index < last:
                edits.append((start, places[index + 1][0], ""))
        if last + 1 < len(stays):
            edits.append((places[last][1], places[-1][1], ""))
        lines = [spliced(text, edits)]
        for module, aliases in groups.items():
            if not module:
                lines.append(_import(self.kept[alias][1] for alias in aliases))
            elif module != main:
                lines.append(f"from {module} import " + ", ".join(dict.fromkeys(self.kept[a][1] for a in aliases)))
        new = "\n".join(lines)
        return [Replace(site, new)] if new != text else []


def merged(text: str, statement: ast.ImportFrom, site: Site, versions: list[str]) -> list[Edit]:
    """One edit of an import statement in place of several, each of which changes other names of it.

    A name stays as it was only where every version has it; one that moved is taken from where it moved to.
    """
    own = {(alias.name, alias.asname): alias for alias in statement.names}
    plan = Plan(statement.module or "")
    gone: set[ast.alias] = set()
    for version in versions:
        found = [
            (getattr(module, "module", None) or "", alias)
            for module in ast.parse(version).body
            if isinstance(module, (ast.Import, ast.ImportFrom))
            for alias in module.names
        ]
        there = {(alias.name, alias.asname) for _, alias in found}
        left = [alias for key, alias in own.items() if key not in there]
        gone.update(left)
        new: dict[str, list[str]] = {}
        for module, alias in found:
            old = own.get((alias.name, alias.asname))
            if old is None:
                new.setdefault(module, []).append(_written(alias))
            elif old not in plan.kept or module != plan.module:
                plan.kept[old] = (module, _written(old))
        for (module, names), old in zip(new.items(), left or statement.names, strict=False):
            plan.kept[old] = (module, ", ".join(names))
            gone.discard(old)
    for alias in gone:
        plan.kept.pop(alias, None)
    return plan.statement_edits(text, statement, site)


def without(text: str, statement: ast.ImportFrom, site: Site, names: Container[str]) -> list[Edit]:
    """The edit that takes names out of an import statement."""
    plan = Plan(statement.module or "")
    for alias in statement.names:
        if (alias.asname or alias.name) not in names:
            plan.keep(alias, plan.module, None)
    return plan.statement_edits(text, statement, site)


def _import(names: Iterable[str]) -> str:
    return "import " + ", ".join(dict.fromkeys(names))


def _written(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def alias_place(alias: ast.alias, site: Site, text: str) -> tuple[int, int]:
    """Start and end offset of an imported name in the source text of its statement."""
    start = _offset(alias.lineno, alias.col_offset + 1, site, text)
    end = _offset(alias.end_lineno or alias.lineno, (alias.end_col_offset or 0) + 1, site, text)
    return start, end


def within(inner: Site, outer: Site, text: str) -> tuple[int, int]:
    """Start and end offset of a site in the source text of `outer`, which encloses it."""
    return _offset(inner.line, inner.column, outer, text), _offset(inner.end_line, inner.end_column, outer, text)


def _offset(line: int, column: int, outer: Site, text: str) -> int:
    """The offset in the text of `outer` of a place of the program; import statements are ASCII wherever it matters."""
    lines = text.split("\n")
    before = sum(len(each) + 1 for each in lines[: line - outer.line])
    return before + column - (outer.column if line == outer.line else 1)


def spliced(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The string with each range replaced by its new string; the ranges must not overlap."""
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])
