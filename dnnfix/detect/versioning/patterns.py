"""Outdated expressions, by patterns with holes: `numpy.asscalar($x)` is rewritten as `$x.item()`.

A `[[form]]` of the tables has the pattern in `old` and its replacement in `new`. A name of a library in the pattern
matches whatever the program calls it; `$x` matches any expression, `$$rest` the remaining arguments of a call. Names
of libraries in `new` are in braces; `$function` is what the program calls, `$0` the whole expression. Only what
differs is edited: a call keeps the arguments that both forms have.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from dnnfix.detect.versioning.conditions import CONDITIONS
from dnnfix.detect.versioning.imports import Renames
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.tables import Form
from dnnfix.errors import CatalogueError
from dnnfix.records import (
    AddImport,
    Edit,
    Enclose,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    Replace,
    SetArgument,
    Site,
    Wrap,
)
from dnnfix.source.names import canonical
from dnnfix.source.program import Source
from dnnfix.subject import Subject

_ALL, _ONE, _NAMED = "all_", "one_", "lib_"
"""How the identifiers begin that take the place of `$$rest`, `$x` and `{numpy.sort}` where a pattern is parsed."""

_USUAL = {"numpy": "np", "pandas": "pd"}
"""The name by which most programs import a library."""

_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)

_KEYWORD = re.compile(r"\b(\w+)=")
"""The keywords that a pattern of a call gives."""

_DIGITS = 12
"""Decimal places of a difference that is worked out: `1 - 0.8` is not quite 0.2 in binary."""

Given = ast.expr | list[ast.expr | ast.keyword]
"""What stands in a hole: an expression, or all the arguments that are left."""


@dataclass(frozen=True)
class Found:
    """An expression of the program that matches a pattern, with the code that fills its holes."""

    subject: Subject
    node: ast.expr
    holes: dict[str, Given] = field(default_factory=dict)

    def text(self, node: ast.AST) -> str:
        """The code of a part of the program."""
        return self.subject.source.segment(self.subject.source.site(node))


def outdated_forms(subject: Subject, uses: Uses) -> Iterator[Hit]:
    """The hits of a program about expressions that the tables have in another form.

    The first one that fits counts, and of a call others that are of other keywords.
    """
    words = [word for word in uses.hot if any(known.has(word, "form") for known in uses.tables)]
    wanted = {word: [form for known in uses.tables for form in known.forms(word)] for word in words}
    if not wanted:
        return
    heads: set[ast.AST] = set()
    named = (node for node in uses.names(*wanted, *uses.imported) if isinstance(node.ctx, ast.Load))
    for node in (*uses.calls(), *uses.all_attributes(), *named):
        if node in heads:
            continue
        head = node.func if isinstance(node, ast.Call) else node
        last = head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")
        renamed = (uses.source.written(head) or "").rpartition(".")[2] if last in uses.imported else ""
        known: set[str] = set()
        for form in wanted.get(last) or wanted.get(renamed) or ():
            own = set(_KEYWORD.findall(form.old)) if isinstance(node, ast.Call) else set()
            if head in heads and (not own or own & known or not known):
                continue
            hit = _hit(uses, subject, form, node)
            if hit is not None:
                yield _at_keyword(uses, hit, node, own) if head in heads else hit
                heads.add(head)
                known |= own


def _at_keyword(uses: Uses, hit: Hit, node: ast.expr, own: set[str]) -> Hit:
    """A further hit of a call, told where its keyword stands."""
    keyword = next((one for one in getattr(node, "keywords", ()) if one.arg in own), None)
    return replace(hit, site=uses.source.site(keyword), within=hit.site) if keyword is not None else hit


def _hit(uses: Uses, subject: Subject, form: Form, node: ast.expr) -> Hit | None:
    for one in form.of or ("",):
        found = Found(subject, node, {"function": node.func} if isinstance(node, ast.Call) else {})
        its = replace(form, old=form.old.replace("@", one), new=form.new.replace("@", one))
        if _fits(found, _pattern(its.old), node) and _holds(found, its):
            return _made(uses, found, its)
    return None


def _made(uses: Uses, found: Found, form: Form) -> Hit:
    source, node = found.subject.source, found.node
    target = source.statement_of(node) if form.at == "statement" else found.holes[form.at] if form.at else node
    if isinstance(target, list):
        raise CatalogueError(f"{form.old}: {form.at} is not a hole for one expression.")
    edits, code = _edits(uses, found, form, target) if form.new or form.add else ([], "")
    head = re.split(r"[([]", form.old, maxsplit=1)[0]
    package, name = form.package or head.partition(".")[0], head.rpartition(".")[2]
    words = {hole: found.text(value) for hole, value in found.holes.items() if isinstance(value, ast.expr)}
    words |= {"old": f"the method {name}" if "$" in head else head, "code": code, "name": name}
    site = source.site(target)
    decline = "" if edits else form.note or "its names mean something else in this program"
    return Hit(
        site,
        (form.message or f"{{old}} was removed in {package} {form.removed}").format(**words),
        title=(form.title or "write {code}").format(**words),
        edits=() if decline else tuple(edits),
        decline=decline,
        safe=form.safe,
        exact=form.exact,
        deprecated=not form.removed and not form.always,
        removed={package: form.removed} if form.removed else {},
        evidence={"since": form.since} if form.since else {},
        confidence=0.95 if form.safe or not form.removed else 0.9,
        within=source.site(node) if form.at else None,
    )


@cache
def _pattern(text: str) -> ast.expr:
    """The tree of a pattern, in which holes are names."""
    text = re.sub(r"\$\$(\w+)", rf"*{_ALL}\1", text)
    text = re.sub(r"\$(\w+)", rf"{_ONE}\1", text)
    text = re.sub(r"\{([\w.]+)\}", lambda m: _NAMED + m[1].replace(".", "__"), text)
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise CatalogueError(f"{text}: no expression, so no pattern of one.") from None


def _fits(found: Found, pattern: ast.expr, node: ast.expr) -> bool:
    """Whether an expression has the form of a pattern, whose holes are filled on the way."""
    source = found.subject.source
    if isinstance(pattern, ast.Name) and pattern.id.startswith(_ONE):
        before = found.holes.setdefault(pattern.id.removeprefix(_ONE), node)
        return isinstance(before, ast.expr) and (before is node or ast.dump(before) == ast.dump(node))
    if isinstance(pattern, ast.Call):
        return (
            isinstance(node, ast.Call) and _fits(found, pattern.func, node.func) and _fits_given(found, pattern, node)
        )
    if isinstance(pattern, (ast.Name, ast.Attribute)) and _ONE not in (name := ast.unparse(pattern)):
        written = source.written(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        return written is not None and name in (written, canonical(written))
    if isinstance(pattern, ast.Attribute):
        if not isinstance(node, ast.Attribute) or node.attr != pattern.attr or _is_of_library(source, node):
            return False
        return _fits(found, pattern.value, node.value)
    return ast.dump(pattern) == ast.dump(node)


def _is_of_library(source: Source, node: ast.Attribute) -> bool:
    """Whether an attribute is a name of a library, and no object's."""
    written = source.written(node)
    return written is not None and not source.is_of_program(written)


def _fits_given(found: Found, pattern: ast.Call, node: ast.Call) -> bool:
    """Whether a call is given what a pattern has, and nothing else unless the pattern ends in `$$rest`."""
    rest = next((one.value for one in pattern.args if isinstance(one, ast.Starred)), None)
    plain = [one for one in pattern.args if not isinstance(one, ast.Starred)]
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    own = {keyword.arg for keyword in pattern.keywords}
    if len(node.args) < len(plain) or not own <= keywords.keys():
        return False
    if any(isinstance(value, ast.Starred) for value in node.args[: len(plain)]):
        return False
    if not all(_fits(found, one, value) for one, value in zip(plain, node.args, strict=False)):
        return False
    if not all(_fits(found, one.value, keywords[one.arg]) for one in pattern.keywords):
        return False
    left: list[ast.expr | ast.keyword] = [
        *node.args[len(plain) :],
        *(keyword for keyword in node.keywords if keyword.arg not in own),
    ]
    if isinstance(rest, ast.Name):
        found.holes[rest.id.removeprefix(_ALL)] = left
    return rest is not None or not left


def _holds(found: Found, form: Form) -> bool:
    """Whether the conditions of a form hold, and the run stopped at it where that has to be."""
    subject, site = found.subject, found.subject.source.site(found.node)
    if form.crash:
        crash = subject.crash
        if crash is None or not re.search(form.crash, f"{crash.kind}: {crash.message}"):
            return False
        if not site.line <= crash.own_line <= site.end_line:
            return False
    given = {keyword.arg for keyword in found.node.keywords} if isinstance(found.node, ast.Call) else set()
    if form.add and not given.isdisjoint({None, *form.add}):
        return False
    for hole, conditions in form.where.items():
        value: Given = found.node if hole == "call" else found.holes[hole]
        for condition in conditions.split("; "):
            name, _, words = condition.partition(": ")
            if name not in CONDITIONS:
                raise CatalogueError(f"{form.old}: {name!r} is not a condition. Use {', '.join(CONDITIONS)}.")
            if not CONDITIONS[name](subject, value, words):
                return False
    return True


def _edits(uses: Uses, found: Found, form: Form, target: ast.expr | ast.stmt) -> tuple[list[Edit], str]:
    """The edits that write the new form, and its code; no edits where a name of it means something else here."""
    imports: list[Edit] = [SetArgument(found.subject.source.site(found.node), *one) for one in form.add.items()]
    names: dict[str, str] = {}
    for name in re.findall(r"\{([\w.]+)\}", form.new + form.enclose):
        code, more = _spelled(uses, found.node, name)
        if code is None:
            return [], ""
        names[name] = code
        imports += more
    code = _filled(found, form.new, names)
    site = found.subject.source.site(target)
    if form.enclose:
        line = found.subject.source.site(found.subject.source.statement_of(found.node))
        imports.append(Enclose(line, line, _filled(found, form.enclose, names)))
    if not form.new or form.at == "statement":
        return [Replace(site, code), *imports] if form.new else imports, code
    if "$0" in form.new:
        before, _, after = code.partition("$0")
        return [Wrap(site, before, after), *imports], code.replace("$0", found.text(target))
    new, old = _pattern(form.new), _pattern(form.old)
    if not form.at and isinstance(new, ast.Call) and isinstance(old, ast.Call) and isinstance(target, ast.Call):
        changed = _changed(found, old, new, target, names)
        if changed is not None:
            return [*changed, *imports], code
    above = uses.source.parent(target)
    bare = isinstance(new, (ast.UnaryOp, ast.BinOp, ast.Compare)) and isinstance(
        above, (ast.BinOp, ast.Compare, ast.Attribute)
    )
    return [Replace(site, f"({code})" if bare else code), *imports], code


def _spelled(uses: Uses, node: ast.expr, name: str) -> tuple[str | None, list[Edit]]:
    """How a name of a library is written in the program, and the import that this takes."""
    package, _, rest = name.partition(".")
    usual = _USUAL.get(package, "")
    there = any(f"{name}.".startswith(f"{module}.") for module in uses.imported.values())
    if usual and not there and usual not in uses.bound:
        return f"{usual}.{rest}", [AddImport(f"import {package} as {usual}")]
    return Renames(uses).reference(node.func if isinstance(node, ast.Call) else node, name)


def _filled(found: Found, text: str, names: dict[str, str]) -> str:
    """The code of a form, with what stands in the holes."""

    def all_of(match: re.Match[str]) -> str:
        values = found.holes[match[2]]
        code = ", ".join(found.text(value) for value in (values if isinstance(values, list) else [values]))
        return f"{match[1]}{code}{match[3]}" if code else match[1] and match[3]

    def one(match: re.Match[str]) -> str:
        value = found.holes[match[2]]
        if isinstance(value, list):
            raise CatalogueError(f"{text}: ${match[2]} is not a hole for one expression.")
        code = found.text(value)
        plain = isinstance(value, (*_SIMPLE, ast.Constant)) or not (match[1] or match[3])
        return match[1] + (code if plain else f"({code})")

    text = re.sub(r"\{([\w.]+)\}", lambda match: names[match[1]], text)
    text = re.sub(r"(, |)\$\$(\w+)(, |)", all_of, text)
    return re.sub(r"(- |\bif |)\$([a-z]\w*)(?=(\.|\[)?)", one, text)


def _changed(found: Found, old: ast.Call, new: ast.Call, call: ast.Call, names: dict[str, str]) -> list[Edit] | None:
    """The edits of the parts in which two forms of a call differ; `None` where what is given goes to another place."""
    source = found.subject.source
    site = source.site(call)
    inside = {node.id for node in ast.walk(new.func) if isinstance(node, ast.Name)}
    held = {node.id for node in ast.walk(old.func) if isinstance(node, ast.Name)}
    if any(name.startswith(_ONE) and name not in held for name in inside):
        return None
    edits: list[Edit] = []
    if ast.dump(old.func) != ast.dump(new.func):
        edits.append(Replace(source.site(call.func), _code(found, new.func, names)))
    stay = {keyword.arg: ast.dump(keyword.value) for keyword in old.keywords}
    kept = 0
    for place, one in enumerate(old.args):
        if kept < len(new.args) and ast.dump(one) == ast.dump(new.args[kept]):
            kept += 1
        elif isinstance(one, ast.Starred):
            return None
        else:
            edits.append(RemoveArgument(site, "", place))
    more = new.args[kept:]
    if any(isinstance(one, ast.Starred) or not isinstance(one, ast.Constant) for one in more):
        return None
    edits += [InsertElement(site, len(call.args), ast.unparse(one)) for one in more]
    return [*edits, *_keywords(found, new, stay, site, names)]


def _keywords(
    found: Found, new: ast.Call, stay: dict[str | None, str], site: Site, names: dict[str, str]
) -> list[Edit]:
    """The edits of the keywords of a call: those that change their names or values, come and go."""
    edits: list[Edit] = []
    gone = {name: hole for name, hole in stay.items() if name not in {keyword.arg for keyword in new.keywords}}
    for keyword in new.keywords:
        value, name = ast.dump(keyword.value), str(keyword.arg)
        if stay.get(keyword.arg) == value:
            continue
        before = next((old for old, hole in gone.items() if hole == value), next(iter(gone), None))
        if before is None or gone.pop(before) != value:
            edits.append(SetArgument(site, str(before or name), _code(found, keyword.value, names)))
        if before is not None:
            edits.append(RenameArgument(site, before, name))
    return [*edits, *(RemoveArgument(site, str(name)) for name in gone)]


def _code(found: Found, part: ast.expr, names: dict[str, str]) -> str:
    """The code of a part of the new form."""
    text = re.sub(rf"\b{_ONE}(\w+)", r"$\1", ast.unparse(part).replace("'", '"'))
    text = re.sub(rf"\b{_NAMED}(\w+)", lambda match: "{" + match[1].replace("__", ".") + "}", text)
    code = _filled(found, text, names)
    match ast.parse(code, mode="eval").body:
        case ast.BinOp(left=ast.Constant(value=int(one)), op=ast.Sub(), right=ast.Constant(value=float(other))):
            return repr(round(one - other, _DIGITS))
    return code
