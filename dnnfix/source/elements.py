"""Edits of a call's arguments and of the elements of lists, sets and tuples. All edits of one site are made together.

`ast` knows nothing of commas, comments and whitespace; LibCST does. It is given the expression as a call with a name in
place of each value: what an edit costs depends neither on the program nor on what the values are, however deep they are
nested, and no edit touches the text of a value that it keeps. LibCST is imported here and nowhere else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from typing import TYPE_CHECKING, TypeAlias

from dnnfix.errors import EditError, NestedSitesError
from dnnfix.records import DeleteElement, InsertElement, RemoveArgument, RenameArgument, SetArgument, Site
from dnnfix.source.changes import TextChange
from dnnfix.source.expressions import expression_at, expression_of
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.tree import Tree, position

if TYPE_CHECKING:
    import libcst

ElementEdit: TypeAlias = "SetArgument | RemoveArgument | RenameArgument | InsertElement | DeleteElement"


def element_changes(tree: Tree, site: Site, edits: Sequence[ElementEdit]) -> list[TextChange]:
    """The changes of the text for all argument and element edits of one call, list, set or tuple."""
    node = expression_at(tree, site)
    if not isinstance(node, ast.Call) and any(
        isinstance(edit, (SetArgument, RemoveArgument, RenameArgument)) for edit in edits
    ):
        raise EditError(f"There is no call at {site} whose arguments could be edited.")
    if not isinstance(node, (ast.Call, ast.List, ast.Set, ast.Tuple)):
        received = f"a {type(node).__name__}, {tree.segment(site)[:60]!r}"
        raise EditError(f"The edit is for a call, list, set or tuple. Received: {received}")
    skeleton = _Skeleton(tree, node, site)
    return skeleton.changes(_Arguments(skeleton, site).edited(edits))


class _Skeleton:
    """An expression as a call, with a name in place of what is called and of each value."""

    def __init__(self, tree: Tree, node: ast.Call | ast.List | ast.Set | ast.Tuple, site: Site) -> None:
        own = tree.segment(site)
        self._name = next(name for number in count() if (name := f"_{number}_value_") not in own)
        self._lengths: dict[str, int] = {}
        self._added: dict[str, str] = {}
        self.start = tree.offset(site.line, site.column)
        self.is_tuple = isinstance(node, ast.Tuple)
        self.bare_generator = False
        """Whether the only argument is a generator without parentheses of its own."""
        items = [*node.args, *(keyword.value for keyword in node.keywords)] if isinstance(node, ast.Call) else node.elts
        values = [item.value if isinstance(item, ast.Starred) else item for item in items]
        text, at = "", 0
        for value in sorted([node.func, *values] if isinstance(node, ast.Call) else values, key=position):
            place = tree.site(value)
            start = tree.offset(place.line, place.column) - self.start
            end = tree.offset(place.end_line, place.end_column) - self.start
            if isinstance(node, ast.Call) and end == len(own):
                start, end, self.bare_generator = start + 1, end - 1, True
            text += own[at:start] + self._hole(end - start)
            at = end
        text += own[at:]
        if not isinstance(node, ast.Call):
            bare = self.is_tuple and len(_parsed(f"({text})").lpar) == 1
            # Where the tuple has no parentheses, there is no text for the opening one.
            text = f"{self._hole(-1)}({text})" if bare else f"{self._hole(0)}({text[1:-1]})"
        self.text = text

    def _hole(self, length: int) -> str:
        """A name for the next value of the text, which is that long."""
        hole = f"{self._name}{len(self._lengths)}_"
        self._lengths[hole] = length
        return hole

    def added(self, code: str) -> str:
        """A name for a value that the edited text has besides."""
        hole = f"{self._name}added_{len(self._added)}_"
        self._added[hole] = code
        return hole

    def changes(self, edited: str) -> list[TextChange]:
        """What makes the skeleton the edited one, with every value left alone that both of them have."""
        tokens = re.compile(rf"{self._name}(?:added_)?\d+_|.", re.DOTALL)
        new = tokens.findall(edited)
        kept = self._lengths.keys() & set(new)
        found, at = [], self.start
        for before, after in zip(_runs(tokens.findall(self.text), kept), _runs(new, kept), strict=True):
            head = _equal(before, after)
            tail = _equal(before[head:][::-1], after[head:][::-1])
            start = at + self._length(before[:head])
            at += self._length(before)
            end = at - self._length(before[len(before) - tail :])
            if before != after:
                text = "".join(self._added.get(token, token) for token in after[head : len(after) - tail])
                found.append(TextChange(start, end, text, stacks=start == end))
        return found

    def _length(self, tokens: Sequence[str]) -> int:
        return sum(self._lengths.get(token, 1) for token in tokens)


def _runs(tokens: Sequence[str], kept: set[str]) -> Iterator[list[str]]:
    """The tokens, cut behind each one that is kept."""
    run: list[str] = []
    for token in tokens:
        run.append(token)
        if token in kept:
            yield run
            run = []
    yield run


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class _Arguments:
    """The arguments of a skeleton under edit, and the whitespace before, between and behind them."""

    def __init__(self, skeleton: _Skeleton, site: Site) -> None:
        import libcst

        self.cst = libcst
        self.site = site
        self.skeleton = skeleton
        self.call = libcst.ensure_type(_parsed(skeleton.text), libcst.Call)
        self.args: list[libcst.Arg] = list(self.call.args)
        self.count = len(self.args)
        commas = [arg.comma for arg in self.args]
        self.gaps: list[libcst.BaseParenthesizableWhitespace] = [
            self.call.whitespace_before_args,
            *(comma.whitespace_after for comma in commas if isinstance(comma, libcst.Comma)),
            *(arg.whitespace_after_arg for arg in self.args if not isinstance(arg.comma, libcst.Comma)),
        ]
        self.changed: set[tuple[int, str]] = set()
        """The arguments that edits have changed, by index, and what of them: "name" or "value"."""

    def edited(self, edits: Sequence[ElementEdit]) -> str:
        """The skeleton after the edits."""
        named: list[int] = []
        inserted: list[InsertElement] = []
        removed: set[int] = set()
        for edit in edits:
            if isinstance(edit, RenameArgument):
                named += self._rename(edit)
            elif isinstance(edit, SetArgument):
                self._set(edit)
            elif isinstance(edit, InsertElement):
                if not 0 <= edit.index <= self.count:
                    raise EditError(f"There is no place {edit.index} among {self.count} elements at {self.site}.")
                if edit.index == self.count:
                    self._append(self._arg(edit))
                else:
                    inserted.append(edit)
            else:
                index = edit.index if isinstance(edit, DeleteElement) else self._argument(edit.name, edit.position)
                if not 0 <= index < self.count:
                    raise EditError(f"There is no element {index} among {self.count} at {self.site}.")
                self._change(index, "name", "value")
                removed.add(index)
        for index in named:
            if any(arg.keyword is None and arg.star != "**" for arg in self.args[index + 1 : self.count]):
                raise EditError(f"The argument {index} of the call at {self.site} cannot be named.")
        for index in reversed(range(self.count)):
            if index in removed:
                self._remove(index)
            for edit in reversed(inserted):
                if edit.index == index:
                    self._insert(index, self._arg(edit))
        if self.skeleton.bare_generator and len(self.args) > 1:
            raise EditError(f"The call at {self.site} has a bare generator as its argument, which must stand alone.")
        return self._code()

    def _arg(self, edit: InsertElement) -> libcst.Arg:
        return self.cst.Arg(self._value(_code(edit.code, star=True)))

    def _value(self, code: str) -> libcst.Name:
        return self.cst.Name(self.skeleton.added(code))

    def _change(self, index: int, *parts: str) -> None:
        """Note what an edit changes. Raises `NestedSitesError` where another one has changed it."""
        for part in parts:
            if (index, part) in self.changed:
                raise NestedSitesError(f"Two edits change the argument {index} at {self.site}.")
            self.changed.add((index, part))

    # --- finding

    def _keyword(self, name: str) -> int | None:
        given = self.call.args
        return next((i for i, arg in enumerate(given) if arg.keyword is not None and arg.keyword.value == name), None)

    def _positional(self, position: int | None) -> int | None:
        """The index of a positional argument; unknown counts of arguments before it are refused."""
        if position is None or position < 0:
            return None
        given = self.call.args
        plain = [i for i, arg in enumerate(given) if arg.keyword is None and arg.star != "**"]
        if any(given[i].star for i in plain[: position + 1]):
            raise EditError(
                f"The call at {self.site} unpacks its arguments; which one is number {position} is unknown."
            )
        return plain[position] if position < len(plain) else None

    def _argument(self, name: str, position: int | None) -> int:
        found = self._keyword(name)
        if found is None:
            found = self._positional(position)
        if found is None:
            raise EditError(f"The call at {self.site} has no argument {name!r}.")
        return found

    # --- the edits

    def _rename(self, edit: RenameArgument) -> list[int]:
        """Give an argument another name; the index of a positional argument that gets one."""
        keyword = self._keyword(edit.old)
        index = self._positional(edit.position) if keyword is None else keyword
        if index is None:
            raise EditError(f"The call at {self.site} has no keyword {edit.old!r}.")
        if self._keyword(edit.new) is not None or not edit.new.isidentifier():
            raise EditError(f"The argument {edit.old!r} of the call at {self.site} cannot be named {edit.new!r}.")
        self._change(index, "name")
        name, arg = self.cst.Name(edit.new), self.args[index]
        self.args[index] = self._named(arg, edit.new) if keyword is None else arg.with_changes(keyword=name)
        return [index] if keyword is None else []

    def _named(self, arg: libcst.Arg, name: str) -> libcst.Arg:
        none = self.cst.SimpleWhitespace("")
        equal = self.cst.AssignEqual(whitespace_before=none, whitespace_after=none)
        return arg.with_changes(keyword=self.cst.Name(name), equal=equal)

    def _set(self, edit: SetArgument) -> None:
        value = self._value(_code(edit.code))
        index = self._keyword(edit.name)
        if index is None:
            index = self._positional(edit.position)
        if index is not None:
            self._change(index, "value")
            self.args[index] = self.args[index].with_changes(value=value)
            return
        if any(arg.star for arg in self.call.args):
            raise EditError(f"The call at {self.site} unpacks arguments, among which may be {edit.name!r}.")
        if not edit.name.isidentifier():
            raise EditError(f"{edit.name!r} is no name of an argument.")
        self._append(self._named(self.cst.Arg(value), edit.name))

    def _insert(self, index: int, arg: libcst.Arg) -> None:
        """Put an argument before another one, on a line of its own where that has one."""
        if index == len(self.args):
            self._append(arg)
        else:
            self.gaps.insert(index + 1, self._gap(self._own_line(index)))
            self.args.insert(index, arg.with_changes(comma=self.cst.Comma()))

    def _append(self, arg: libcst.Arg) -> None:
        """Put an argument behind the others, on a line of its own where the last one has one."""
        if not self.args:
            self.args, self.gaps = [arg], [self.cst.SimpleWhitespace(""), *self.gaps]
            return
        last, rest = self.args[-1], self.gaps[-1]
        hangs = len(self.args) == 1 and not isinstance(last.comma, self.cst.Comma) and "\n" not in self._text(rest)
        indent = None if hangs else self._own_line(len(self.args) - 1)
        gap = self._gap(indent)
        if isinstance(gap, self.cst.ParenthesizedWhitespace) and isinstance(rest, self.cst.ParenthesizedWhitespace):
            gap = gap.with_changes(first_line=rest.first_line)
            rest = rest.with_changes(first_line=self.cst.TrailingWhitespace())
        self.args[-1:] = [last.with_changes(comma=self.cst.Comma()), arg.with_changes(comma=last.comma)]
        self.gaps[-1:] = [gap, rest]

    def _remove(self, index: int) -> None:
        """Take an argument away, with the comma behind it, and with its line where it has one of its own."""
        removed = self.args.pop(index)
        before, after = self.gaps[index : index + 2]
        breaks = self.cst.ParenthesizedWhitespace
        kept = before
        if isinstance(before, breaks) and isinstance(after, breaks):
            lines = [*before.empty_lines, *after.empty_lines]
            kept = before.with_changes(empty_lines=lines, indent=after.indent, last_line=after.last_line)
        elif index == len(self.args) and "#" not in self._text(before):
            kept = after
            if self.args:
                self.args[-1] = self.args[-1].with_changes(comma=removed.comma)
        elif isinstance(after, breaks) and (index or "#" in self._text(after)):
            kept = after
        self.gaps[index : index + 2] = [kept]

    # --- whitespace

    def _own_line(self, index: int) -> str | None:
        """The indentation of an argument that begins a line of its own, on which no other begins."""
        before, after = self._text(self.gaps[index]), self._text(self.gaps[index + 1])
        shared = index + 1 < len(self.args) and "\n" not in after
        return before.rpartition("\n")[2] if "\n" in before and not shared else None

    def _gap(self, indent: str | None) -> libcst.BaseParenthesizableWhitespace:
        """A blank, or the end of a line and the indentation of the next one."""
        if indent is None:
            return self.cst.SimpleWhitespace(" ")
        return self.cst.ParenthesizedWhitespace(last_line=self.cst.SimpleWhitespace(indent))

    def _text(self, node: libcst.CSTNode) -> str:
        return self.cst.Module([]).code_for_node(node)

    def _code(self) -> str:
        args = []
        for arg, gap in zip(self.args, self.gaps[1:], strict=True):
            comma = arg.comma
            if self.skeleton.is_tuple and len(self.args) == 1 and not isinstance(comma, self.cst.Comma):
                comma = self.cst.Comma()
            if isinstance(comma, self.cst.Comma):
                comma, gap = comma.with_changes(whitespace_after=gap), self.cst.SimpleWhitespace("")
            args.append(arg.with_changes(comma=comma, whitespace_after_arg=gap))
        try:
            return self._text(self.call.with_changes(whitespace_before_args=self.gaps[0], args=args))
        except self.cst.CSTValidationError as error:
            raise EditError(f"The edits of the call at {self.site} would not be Python: {error}") from None


def _parsed(text: str) -> libcst.BaseExpression:
    import libcst

    try:
        return libcst.parse_expression(text)
    except (libcst.ParserSyntaxError, ValueError) as error:
        raise EditError(f"LibCST cannot read {text[:60]!r}: {error}") from None


def _code(code: str, *, star: bool = False) -> str:
    """`code` as it can stand among arguments: in parentheses where it would otherwise be taken apart there."""
    code = code.strip()
    if not star or not code.startswith("*"):
        expression_of(code)
    for candidate in (code, f"({code})"):
        try:
            call = parse(f"_({candidate}\n, _)").body[0]
        except Unparsable:
            continue
        value = call.value if isinstance(call, ast.Expr) else None
        if isinstance(value, ast.Call) and len(value.args) == 2 and not value.keywords:
            if isinstance(value.args[0], ast.Starred) and not star:
                continue
            return candidate
    raise EditError(f"The edit's code is not an expression. Received: {code!r}")
