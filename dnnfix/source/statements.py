"""Edits of whole statements: insert, replace, enclose, delete, and add imports and definitions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from dnnfix.errors import EditError, SiteNotFoundError
from dnnfix.records import (
    AddDefinition,
    AddImport,
    Delete,
    Enclose,
    InsertAfter,
    InsertBefore,
    Replace,
    ReplaceLines,
    Site,
)
from dnnfix.records.record import record
from dnnfix.source.changes import TextChange
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.scan import indented, scan
from dnnfix.source.tree import Tree, first_line, names_in


def statement_at(tree: Tree, site: Site) -> ast.stmt:
    """The statement that is at a site or contains it. Raises `SiteNotFoundError` where there is none."""
    node = tree.node_at(site)
    if node is None:
        raise SiteNotFoundError(f"There is no expression or statement at {site}.")
    return tree.statement_of(node)


def insert(tree: Tree, edit: InsertBefore | InsertAfter) -> list[TextChange]:
    """New statements before or after the one that holds the site."""
    statement = statement_at(tree, edit.site)
    code = _statements(edit.code)
    place = _Place.of(tree, statement)
    if place.is_elif:
        raise EditError(f"Nothing can be put beside the `elif` at {edit.site}.")
    return _before(tree, place, code) if isinstance(edit, InsertBefore) else _after(tree, place, code)


def replace_statement(tree: Tree, edit: Replace, statement: ast.stmt) -> list[TextChange]:
    """New statements in place of one."""
    code = _statements(edit.code)
    place = _Place.of(tree, statement)
    if place.is_elif:
        raise EditError(f"The `elif` at {edit.site} cannot be exchanged.")
    change = TextChange(place.start, place.end, indented(code, place.indent), like=place.first)
    if "\n" not in code and not _is_compound(code):
        return [change]
    if place.following is not None or (place.preceding is not None and _is_compound(code)):
        raise EditError(f"The statement at {edit.site} shares its line, which {code.splitlines()[0]!r} cannot.")
    return [*_own_line(tree, place), change] if place.header or place.preceding is not None else [change]


def replace_lines(tree: Tree, edit: ReplaceLines) -> TextChange:
    """New lines in place of the site's."""
    first, last = edit.site.line, edit.site.end_line
    code = edit.code + "\n" if edit.code and last < len(tree.lines) else edit.code
    return TextChange(tree.starts[first - 1], tree.offset(last + 1, 1), code, whole_lines=True, like=first)


def enclose(tree: Tree, edit: Enclose) -> list[TextChange]:
    """A header above the statements, and each of their lines indented by one level."""
    first, last = statement_at(tree, edit.first), statement_at(tree, edit.last)
    block = _block(tree, first)
    if last not in block or block.index(last) < block.index(first):
        raise EditError(f"{edit.last} is not behind {edit.first} in one block.")
    header = edit.code.strip()
    try:
        parse(f"{header}\n    pass")
    except Unparsable as error:
        raise EditError(f"The edit's code is no header of a block ({error}). Received: {edit.code!r}") from None
    top, bottom = _Place.of(tree, first), _Place.of(tree, last)
    shared = top.header or top.preceding is not None or bottom.following is not None or top.is_elif
    if shared or ";" in tree.lines[bottom.last - 1].partition("#")[0][tree.site(last).end_column - 1 :]:
        raise EditError(f"The statement at {edit.first} or {edit.last} shares its line with others.")
    start = tree.starts[top.first - 1]
    changes = [TextChange(start, start, f"{top.indent}{header}\n", whole_lines=True, like=top.first, stacks=True)]
    inside = scan(tree.text).inside
    for number in range(top.first, bottom.last + 1):
        if tree.lines[number - 1].strip() and number - 1 not in inside:
            place = tree.starts[number - 1] + len(_indentation(tree, number))
            changes.append(TextChange(place, place, _step(top.indent), stacks=True))
    return changes


def delete(tree: Tree, edits: Sequence[Delete]) -> list[TextChange]:
    """The statements at the sites removed; a block that loses all of its statements gets one `pass`."""
    statements = []
    for edit in edits:
        node = tree.node_at(edit.site)
        if node is None:
            raise SiteNotFoundError(f"There is no statement at {edit.site}.")
        above = tree.parent(node)
        statement = above if isinstance(node, ast.expr) and isinstance(above, ast.Expr) else node
        if not isinstance(statement, ast.stmt):
            raise SiteNotFoundError(f"There is an expression but no statement at {edit.site}.")
        statements.append(statement)
    changes = []
    for statement in statements:
        block = _block(tree, statement)
        emptied = tree.parent(statement) is not tree.module and all(s in statements for s in block)
        changes += _deletion(tree, statement, keep=emptied and block[0] is statement)
    return changes


def add_imports(
    tree: Tree, edits: Sequence[AddImport], bound: frozenset[tuple[str, str]], gone: frozenset[Site]
) -> list[TextChange]:
    """Import statements at the top of the module. `bound` has (name, qualified name) of what is imported there.

    `gone` has the statements that are taken away.
    """
    missing = [code for edit in edits for code in _missing(edit.statement, bound)]
    if not missing:
        return []
    code = "\n".join(dict.fromkeys(missing))
    anchor, after = _import_anchor(tree, gone)
    if anchor is None:
        end = len(tree.text)
        lead = "\n" if tree.lines[-1].strip() else ""
        return [TextChange(end, end, f"{lead}{code}\n", stacks=True)]
    place = _Place.of(tree, anchor)
    return _after(tree, place, code) if after else _before(tree, place, code)


def add_definitions(
    tree: Tree, edits: Sequence[AddDefinition], gone: frozenset[Site], imported: bool
) -> list[TextChange]:
    """Definitions below the imports that the module begins with; `gone` has the statements that are taken away.

    `imported` tells that imports are added as well.
    """
    places = dict.fromkeys(edit.after for edit in edits)
    return [
        change
        for place in places
        for change in _definitions(tree, [edit for edit in edits if edit.after == place], gone, imported)
    ]


def _definitions(tree: Tree, edits: Sequence[AddDefinition], gone: frozenset[Site], imported: bool) -> list[TextChange]:
    """Definitions that go to one place."""
    code = "\n\n\n".join(dict.fromkeys(_statements(edit.code) for edit in edits))
    used = names_in(parse(code))
    kept = [s for s in tree.module.body if tree.site(s) not in gone]
    head = [s for s in _head(tree.module) if s in kept]
    imports = [s for s in kept if _imports(s)]
    # A name that is imported again further down, as notebooks do, is there from its first import on.
    needed = [next((s for s in imports if name in _bound(s)), None) for name in sorted(used)]
    above, after = _import_anchor(tree, gone) if imported else (None, False)
    anchor = max(
        (s for s in imports if s in head or s in needed or (s is above and after)),
        key=lambda statement: statement.lineno,
        default=head[0] if head else None,
    )
    if (after_import := edits[0].after) is not None:
        anchor = statement_at(tree, after_import)
    taken = {line for site in gone for line in range(site.line, site.end_line + 1)}
    if anchor is None:
        # Before the first statement, which is where imports go then: what declares an encoding stays above.
        line = first_line(tree.module.body[0]) if tree.module.body else len(tree.lines)
        start = tree.starts[line - 1]
        lead = "\n\n" if imported else ""
        apart = "\n" * max(1, 3 - _blank_lines(tree, line, taken)[0])
        return [TextChange(start, start, f"{lead}{code}{apart}", whole_lines=True, like=line, stacks=True)]
    place = _Place.of(tree, anchor)
    if place.following is not None:
        raise EditError(f"The definitions cannot stand behind the import in line {place.last}, which goes on.")
    below, line = _blank_lines(tree, place.last + 1, taken)
    apart = "" if line > len(tree.lines) else "\n" * max(0, 2 - below)
    end = _line_end(tree, place.last)
    return [TextChange(end, end, f"\n\n\n{code}{apart}", like=place.first, stacks=True)]


def _blank_lines(tree: Tree, line: int, taken: Collection[int]) -> tuple[int, int]:
    """How many empty lines there are from one on, passing over those that are taken away, and the line behind them."""
    found = 0
    while line <= len(tree.lines) and (line in taken or not tree.lines[line - 1].strip()):
        found += line not in taken
        line += 1
    return found, line


# --- where a statement stands


@record
class _Place:
    """A statement's surroundings: offsets of its text, its indentation, and what shares its first and last line."""

    block: list[ast.stmt]
    start: int
    end: int
    first: int
    last: int
    indent: str
    header: bool
    """Whether it begins a suite on the line of the suite's header, as `y` in `if x: y`."""
    preceding: ast.stmt | None
    following: ast.stmt | None
    is_elif: bool

    @classmethod
    def of(cls, tree: Tree, statement: ast.stmt) -> _Place:
        block = _block(tree, statement)
        index = block.index(statement)
        site = tree.site(statement)
        start, end = tree.span(site)
        first = first_line(statement)
        suite = first_line(block[0])
        header = bool(tree.lines[suite - 1][: tree.site(block[0]).column - 1].strip())
        around = tree.enclosing(statement, ast.stmt)
        outer = _indentation(tree, first_line(around)) if around is not None else ""
        return cls(
            block=block,
            start=start,
            end=end,
            first=first,
            last=site.end_line,
            indent=outer + _step(outer) if header else _indentation(tree, suite),
            header=header,
            preceding=next((s for s in block[:index][-1:] if s.end_lineno == first), None),
            following=next((s for s in block[index + 1 :][:1] if s.lineno == site.end_line), None),
            is_elif=isinstance(statement, ast.If) and tree.text.startswith("elif", start),
        )


def _indentation(tree: Tree, line: int) -> str:
    text = tree.lines[line - 1]
    return text[: len(text) - len(text.lstrip())]


def _line_end(tree: Tree, line: int) -> int:
    return tree.starts[line - 1] + len(tree.lines[line - 1])


def _step(indent: str) -> str:
    """By how much a block under a header with that indentation is indented."""
    return "\t" if indent.endswith("\t") else "    "


def _block(tree: Tree, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that a statement is in."""
    above = tree.parent(statement)
    for _, value in ast.iter_fields(above) if above is not None else ():
        if isinstance(value, list) and any(item is statement for item in value):
            return [item for item in value if isinstance(item, ast.stmt)]
    raise SiteNotFoundError(f"The statement at {tree.site(statement)} is in no block.")


def _own_line(tree: Tree, place: _Place) -> list[TextChange]:
    """What puts a statement that shares its line with a header or an earlier statement on a line of its own."""
    gap = place.start
    if place.preceding is not None:
        gap = tree.span(tree.site(place.preceding))[1]
    else:
        while tree.text[gap - 1] in " \t\f":
            gap -= 1
    changes = [TextChange(gap, place.start, f"\n{place.indent}", like=place.first)]
    if place.header and place.preceding is not None:
        changes += _own_line(tree, _Place.of(tree, place.block[0]))
    return changes


# --- the changes


def _before(tree: Tree, place: _Place, code: str) -> list[TextChange]:
    block = indented(code, place.indent)
    if not place.header and place.preceding is None:
        start = tree.starts[place.first - 1]
        new = f"{place.indent}{block}\n{_apart(tree, place)}"
        return [TextChange(start, start, new, whole_lines=True, like=place.first, stacks=True)]
    gap, *others = _own_line(tree, place)
    return [TextChange(gap.start, gap.end, f"\n{place.indent}{block}{gap.new}", like=place.first), *others]


def _apart(tree: Tree, place: _Place) -> str:
    """The blank lines above a definition, which stand below what is put before it as well."""
    if place.indent or not tree.lines[place.first - 1].startswith(("def ", "class ", "async def ", "@")):
        return ""
    above = place.first - 1
    while above and not tree.lines[above - 1].strip():
        above -= 1
    return "\n" * (place.first - 1 - above) if above else ""


def _after(tree: Tree, place: _Place, code: str) -> list[TextChange]:
    if place.following is not None:
        return _before(tree, _Place.of(tree, place.following), code)
    others = _own_line(tree, _Place.of(tree, place.block[0])) if place.header else []
    end = _line_end(tree, place.last)
    return [
        TextChange(end, end, f"\n{place.indent}{indented(code, place.indent)}", like=place.first, stacks=True),
        *others,
    ]


def _deletion(tree: Tree, statement: ast.stmt, *, keep: bool) -> list[TextChange]:
    place = _Place.of(tree, statement)
    if keep and not place.is_elif:
        start = tree.starts[place.first - 1] + len(place.indent) if place.first < statement.lineno else place.start
        return [TextChange(start, place.end, "pass")]
    if place.following is not None:
        return [TextChange(place.start, tree.span(tree.site(place.following))[0], "")]
    if place.preceding is not None:
        return [TextChange(tree.span(tree.site(place.preceding))[1], place.end, "")]
    if place.header:
        raise EditError("The only statement after a header on its line cannot be taken away.")
    return [TextChange(tree.starts[place.first - 1], tree.offset(place.last + 1, 1), "", whole_lines=True)]


def _statements(code: str) -> str:
    """The statements of an edit without the indentation that they share. Raises `EditError` where it is no code."""
    lines = code.strip("\n").rstrip().split("\n")
    margin = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join(line[margin:] if not line[:margin].strip() else line for line in lines)
    try:
        if parse(text).body or text.lstrip().startswith("#"):
            return text
    except Unparsable as error:
        raise EditError(f"The edit's code is not Python ({error}). Received: {code!r}") from None
    raise EditError(f"The edit's code has no statement. Received: {code!r}")


def _is_compound(code: str) -> bool:
    return any(hasattr(statement, "body") or hasattr(statement, "cases") for statement in parse(code).body)


# --- imports


def _missing(statement: str, bound: frozenset[tuple[str, str]]) -> list[str]:
    """What of an import statement the module does not have yet."""
    try:
        body = parse(statement.strip()).body
    except Unparsable:
        body = []
    if len(body) != 1 or not isinstance(body[0], (ast.Import, ast.ImportFrom)):
        raise EditError(f"The edit's code is not an import statement. Received: {statement!r}")
    node = body[0]
    missing = []
    for alias in node.names:
        module = f"{'.' * node.level}{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
        name = alias.asname or alias.name
        qualified = module + alias.name
        if (name, qualified) in bound:
            continue
        visible = name.partition(".")[0]
        if "." not in name and any(n == visible for n, _ in bound):
            raise EditError(f"{visible!r} is bound to something else already, so {statement!r} cannot be added.")
        missing.append(alias)
    if len(missing) == len(node.names):
        return [statement.strip()]
    node.names = missing
    return [ast.unparse(node)] if missing else []


def _import_anchor(tree: Tree, gone: frozenset[Site]) -> tuple[ast.stmt | None, bool]:
    """The statement that new imports go after (true) or before (false)."""
    anchor: ast.stmt | None = None
    imported = False
    for number, statement in enumerate(tree.module.body):
        is_docstring = (
            number == 0
            and isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        )
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            anchor = anchor if tree.site(statement) in gone else statement
            imported = imported or getattr(statement, "module", None) != "__future__"
        elif is_docstring or (_sets_environment(statement) and tree.site(statement) not in gone):
            anchor = statement
        elif imported or not isinstance(statement, (ast.Assign, ast.Expr, ast.Pass)):
            break
    if anchor is not None:
        return anchor, True
    return (tree.module.body[0], False) if tree.module.body else (None, False)


def _sets_environment(statement: ast.stmt) -> bool:
    """Whether a statement is about variables of the environment, which frameworks read while they are imported."""
    named = (ast.Assign, ast.Expr, ast.Delete)
    return isinstance(statement, named) and any(
        isinstance(node, ast.Attribute) and node.attr in ("environ", "putenv") for node in ast.walk(statement)
    )


def _head(module: ast.Module) -> list[ast.stmt]:
    """The statements that a module begins with: its imports, its docstring, and settings among them.

    A notebook's magics are read as `pass`.
    """
    found: list[ast.stmt] = []
    for statement in module.body:
        if not _imports(statement) and not isinstance(statement, (ast.Expr, ast.Pass)):
            setting = isinstance(statement, ast.Assign) and not any(isinstance(t, ast.Name) for t in statement.targets)
            if not setting:
                break
        found.append(statement)
    return found


def _imports(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom)) or (
        isinstance(statement, ast.Try) and all(isinstance(s, (ast.Import, ast.ImportFrom)) for s in statement.body)
    )


def _bound(statement: ast.stmt) -> set[str]:
    """The names that an import binds."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(statement)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
