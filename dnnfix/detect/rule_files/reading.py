"""Reads a rule file. What is wrong in one is told with the line and the key, and what to write instead.

    [rule]                    who it is and what it says: code, name, message, why
    [find]                    pattern, or patterns of which one fits
    [[where]]                 a condition; all of them have to hold
    [[unless]]                the same; none of them may hold
    [fix]                     what to write in place of what was found, before it, after it, or that it goes
    [[case]]                  instead of [find] and [fix], for a rule that looks for several things: pattern, message, and the keys of [fix]
    programs = "…"            in [rule]: examples and rejects, written as those of any rule (`dnnfix.examples`)

`docs/rules.md` leads through it. Patterns are code in which `$NAME` stands for any expression or statement and `$$$NAME` for any
number of them, as ast-grep reads them.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import fields
from enum import StrEnum
from keyword import iskeyword
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

from dnnfix.errors import CatalogueError
from dnnfix.records import Applicability, Family, FixPattern, Nature
from dnnfix.records.record import record

PLACES = (
    "loop",
    "training loop",
    "batch loop",
    "evaluation",
    "function",
    "class",
    "condition",
    "try",
    "except",
    "no_grad",
)
"""Where `inside` can say that a match stands."""

HOLE = re.compile(r"\${1,3}([A-Z_][A-Z0-9_]*)")
"""A hole of a pattern, with its name."""

_WORD = re.compile(r"(?<!\$)\b[A-Za-z_]\w*")
Word = TypeVar("Word", bound=StrEnum)


@record
class Condition:
    """A condition of a rule: everything that it states holds. `hole` is what it is about; without one, the whole match."""

    hole: str = ""
    named: tuple[str, ...] = ()
    """The resolved name is one of these; `torch.optim.*` is any below it."""
    made_by: tuple[str, ...] = ()
    """What the object was made by has one of these names."""
    text: str = ""
    """A regular expression that the whole text fits."""
    inside: str = ""
    """One of `PLACES`, which it stands in."""
    function: str = ""
    """A regular expression that the name of the function around fits."""
    derives_from: tuple[str, ...] = ()
    """The class around derives from one of these."""
    has: str = ""
    """A pattern that is found in it."""
    lacks_argument: str = ""
    """A keyword that the call is not given, neither by name nor, at `position`, by place."""
    position: int = 0
    followed_by: tuple[str, ...] = ()
    """A pattern that comes later in the same function or loop body, with the same code in the same holes; one of several."""
    preceded_by: tuple[str, ...] = ()
    """The same, earlier."""
    program_has: tuple[str, ...] = ()
    """A pattern that is found anywhere in the file; one of several."""
    stays: bool = False
    """No round of a loop around it changes what it names."""


@record
class Fix:
    """How a match is repaired: `replace` is written in its place, `before` and `after` around its statement, or it is removed."""

    title: str = ""
    replace: str = ""
    before: str = ""
    after: str = ""
    before_loop: str = ""
    """Statements that are written before the outermost loop around it."""
    remove: bool = False
    set_argument: str = ""
    """A keyword that the matched call is given, as `num_workers=2`."""
    remove_argument: str = ""
    """A keyword that it is given no longer."""
    imports: tuple[str, ...] = ()


@record
class Case:
    """Code that a rule looks for, how it is repaired, and what is said of it."""

    patterns: tuple[str, ...]
    message: str
    fix: Fix = Fix()


@record
class Rule:
    """A rule file as it was read."""

    path: Path
    code: str
    name: str
    message: str
    why: str
    cases: tuple[Case, ...]
    where: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()
    family: Family = Family.OPINIONATED
    fix_pattern: FixPattern = FixPattern.API_CONTRACT
    nature: Nature = Nature.FAULT
    applicability: Applicability = Applicability.UNSAFE
    safety: str = ""
    references: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()
    confidence: float = 0.8
    silent: int = 0
    default: bool = True
    default_in_check: bool = False
    programs: str = ""

    @property
    def triggers(self) -> tuple[str, ...]:
        """For each pattern a word that a program needs to have, where it has one: the first of the longest that stand outside of holes."""
        found = [max(sorted(_words(pattern)), key=len, default="") for case in self.cases for pattern in case.patterns]
        return tuple(dict.fromkeys(found)) if all(found) else ()


def _words(pattern: str) -> set[str]:
    without_holes = HOLE.sub(" ", pattern)
    return {word for word in _WORD.findall(without_holes) if not iskeyword(word)}


_PLAIN = ("code", "name", "message", "why", "safety", "confidence", "silent", "default", "default_in_check", "programs")
_OF_RULE = (*_PLAIN, "family", "fix_pattern", "nature", "references", "formerly")
_TABLES = {
    "rule": _OF_RULE,
    "find": ("pattern", "patterns"),
    "where": tuple(f.name for f in fields(Condition)),
    "unless": tuple(f.name for f in fields(Condition)),
    "fix": tuple(f.name for f in fields(Fix)),
    "case": ("pattern", "patterns", "message", *(f.name for f in fields(Fix))),
}
_PATTERNS = ("followed_by", "preceded_by", "program_has")
_LISTS = ("named", "made_by", "derives_from", "references", "formerly", "patterns", "imports", *_PATTERNS)


_KINDS: dict[str, type] = {
    "remove": bool,
    "stays": bool,
    "default": bool,
    "default_in_check": bool,
    "silent": int,
    "position": int,
    "confidence": float,
}
_SAID: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number from 0 to 1", str: "a text"}


def read_rule(path: Path) -> Rule:
    """The rule in a file. Raises `CatalogueError`, which names file, line and key, where it is not sound."""
    return _Reading(path).rule()


class _Reading:
    """One file, and where in it things stand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text("utf-8-sig")
            self.tables: dict[str, Any] = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"{path}: is not TOML: {error}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise CatalogueError(f"{path}: the rule cannot be read: {error}.") from None

    def rule(self) -> Rule:
        for name in self.tables:
            if name not in _TABLES:
                raise self.wrong(name, "", f"there is no table {name!r}. Use {', '.join(_TABLES)}")
        about = self.table("rule")
        for key in ("code", "name", "message", "why"):
            if not about.get(key):
                raise self.wrong("rule", "", f"{key} is missing. A rule states code, name, message and why")
        cases = self.cases(about["message"])
        known = {name for case in cases for pattern in case.patterns for name in HOLE.findall(pattern)}
        named = {key: about[key] for key in _PLAIN if key in about}
        return Rule(
            path=self.path,
            cases=cases,
            where=self.conditions("where", known),
            unless=self.conditions("unless", known),
            family=self.choice("family", Family, Family.OPINIONATED),
            fix_pattern=self.choice("fix_pattern", FixPattern, FixPattern.API_CONTRACT),
            nature=self.choice("nature", Nature, Nature.FAULT),
            references=tuple(about.get("references", ())),
            formerly=tuple(about.get("formerly", ())),
            **named,
        )

    def cases(self, message: str) -> tuple[Case, ...]:
        """What the rule looks for: each `[[case]]`, or the one of `[find]` and `[fix]`."""
        if "case" not in self.tables:
            return (self.case("find", "fix", self.table("find") | self.table("fix"), message),)
        for name in ("find", "fix"):
            if name in self.tables:
                raise self.wrong(name, "", f"a rule has [[case]] or [{name}]. Move its keys into a [[case]]")
        return tuple(
            self.case("case", "case", entry, entry.pop("message", message), number)
            for number, entry in enumerate(self.entries("case"))
        )

    def case(self, find: str, fix: str, given: dict[str, Any], message: str, number: int = 0) -> Case:
        """A case, of the keys of the tables `find` and `fix`: what to look for, and its repair."""
        one = [given.pop("pattern")] if "pattern" in given else []
        patterns = (*given.pop("patterns", ()), *one)
        if not patterns:
            raise self.wrong(find, "", "pattern is missing: the code to look for, such as `print($$$ARGS)`", number)
        for pattern in patterns:
            self.sound(find, "pattern" if one else "patterns", pattern, number)
        known = {name for pattern in patterns for name in HOLE.findall(pattern)}
        made = Fix(**given)
        if made.set_argument and not re.fullmatch(r"\w+ *=.+", made.set_argument, re.DOTALL):
            said = f"is a keyword and its value, as num_workers=2. Received: {made.set_argument!r}"
            raise self.wrong(fix, "set_argument", said, number)
        for key in ("replace", "before", "after", "before_loop", "set_argument", "title"):
            self.filled(fix, key, getattr(made, key), known, number)
        for key in ("replace", "before", "after", "before_loop"):
            self.is_code(fix, key, getattr(made, key), number)
        for line in made.imports:
            if not isinstance(self.is_code(fix, "imports", line, number), (ast.Import, ast.ImportFrom)):
                said = f"is a list of imports, such as 'import math'. Received: {line!r}"
                raise self.wrong(fix, "imports", said, number)
        self.filled("rule", "message", message, known)
        return Case(patterns, message, made)

    def entries(self, name: str) -> list[dict[str, Any]]:
        """The tables of a list of them, whose keys and kinds of values are checked."""
        found = self.tables.get(name, [])
        if not isinstance(found, list):
            each = "condition" if name in ("where", "unless") else name
            raise self.wrong(name, "", f"each {each} is a table of its own. Write [[{name}]], not [{name}]")
        return [
            {key: self.value(name, key, value, number) for key, value in entry.items()}
            for number, entry in enumerate(found)
        ]

    def table(self, name: str) -> dict[str, Any]:
        """A table, whose keys and kinds of values are checked."""
        found = self.tables.get(name, {})
        if not isinstance(found, dict):
            raise self.wrong(name, "", f"[{name}] is one table. Write [{name}], not [[{name}]]")
        return {key: self.value(name, key, value) for key, value in found.items()}

    def conditions(self, name: str, known: set[str]) -> tuple[Condition, ...]:
        made = []
        for number, given in enumerate(self.entries(name)):
            condition = Condition(**given)
            if condition.hole and condition.hole.lstrip("$") not in known:
                raise self.wrong(
                    name, "hole", f"the pattern has no ${condition.hole.lstrip('$')}. It has {_listed(known)}", number
                )
            if condition.inside and condition.inside not in PLACES:
                raise self.wrong(name, "inside", f"{condition.inside!r} is none of {', '.join(PLACES)}", number)
            for key in ("has", *_PATTERNS):
                for pattern in (condition.has,) if key == "has" and condition.has else getattr(condition, key):
                    self.sound(name, key, pattern, number)
            for key in ("text", "function"):
                try:
                    re.compile(getattr(condition, key))
                except re.error as error:
                    raise self.wrong(name, key, f"is no regular expression: {error}", number) from None
            if condition.position < 0:
                raise self.wrong(name, "position", f"is a whole number from 1. Received: {condition.position}", number)
            if not given.keys() - {"hole", "position"}:
                raise self.wrong(name, "", "a condition says what has to hold, and this one says nothing", number)
            made.append(condition)
        return tuple(made)

    def value(self, table: str, key: str, value: Any, number: int = 0) -> Any:
        """A value of the kind that its key wants."""
        if key not in _TABLES[table]:
            from difflib import get_close_matches

            near = get_close_matches(key, _TABLES[table], n=1)
            meant = f" Did you mean {near[0]!r}?" if near else f" Use {', '.join(_TABLES[table])}"
            raise self.wrong(table, key, f"there is no such key.{meant}", number)
        if key in _LISTS:
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise self.wrong(table, key, f"is a text or a list of texts. Received: {value!r}", number)
            return tuple(texts)
        wanted = _KINDS.get(key, str)
        if wanted is float:
            sound = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
        else:
            sound = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
        if not sound:
            raise self.wrong(table, key, f"is {_SAID[wanted]}. Received: {value!r}", number)
        return value

    def choice(self, key: str, kind: type[Word], otherwise: Word) -> Word:
        """A value of [rule] that is one of some words."""
        given = self.tables["rule"].get(key, otherwise.value)
        if given not in [*kind]:
            raise self.wrong("rule", key, f"{given!r} is none of {', '.join(kind)}")
        return kind(given)

    def sound(self, table: str, key: str, pattern: str, number: int = 0) -> None:
        """Refuse a pattern that is no Python."""
        from dnnfix.detect.rule_files.matches import is_pattern

        if not is_pattern(pattern):
            raise self.wrong(
                table,
                key,
                f"is not one expression or statement of Python with holes ($NAME, $$$NAME): {pattern!r}",
                number,
            )

    def filled(self, table: str, key: str, text: str, known: set[str], number: int = 0) -> None:
        """Refuse a text with a hole that nothing fills."""
        for name in HOLE.findall(text):
            if name not in known:
                raise self.wrong(table, key, f"nothing fills ${name}. The pattern has {_listed(known)}", number)

    def is_code(self, table: str, key: str, text: str, number: int = 0) -> ast.stmt | None:
        """The last statement of code with holes; refuse what is none."""
        filled = HOLE.sub(r"hole_\1", text)
        try:
            body = ast.parse(dedent(filled).strip()).body
            return body[-1] if body else None
        except SyntaxError as error:
            raise self.wrong(table, key, f"is not Python: {error.msg} in {text!r}", number) from None

    def wrong(self, table: str, key: str, what: str, number: int = 0) -> CatalogueError:
        """An error with the place of a key, or of its table's head."""
        place = f"[{table}] {key}" if key else f"[{table}]"
        end = "" if what.endswith("?") else "."
        return CatalogueError(f"{self.path}:{self.line(table, key, number)}: {place}: {what}{end}")

    def line(self, table: str, key: str, number: int) -> int:
        """The line, from 1, where a key of the table stands (the `number`-th of its name), else the table's head, else the first."""
        head, seen, at_head = "", -1, 1
        for place, line in enumerate(self.text.splitlines(), 1):
            found = re.match(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}", line)
            if found:
                head = found[1]
                seen += head == table
                if head == table and seen <= number:
                    at_head = place
            elif key and head == table and seen == number and re.match(rf"\s*{re.escape(key)}\s*=", line):
                return place
        return at_head


def _listed(known: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(known)) or "no holes"
