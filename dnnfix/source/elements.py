"""Edits of a call's arguments and of the elements of lists, sets and tuples, with their commas and comments.

All edits of one site are made together. `ast` knows nothing of commas, comments and whitespace; LibCST does. It parses
the expression as a call with a name in place of each value: the cost of an edit depends neither on the program nor on
the values, however deep they are nested, and no edit touches the text of a value that it keeps. LibCST takes long to
load, so this module is imported only where such an edit is made, and nothing else imports LibCST.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import count
from os.path import commonprefix
from typing import TypeAlias

import libcst as cst

from dnnfix.errors import EditError, NestedSitesError
from dnnfix.records import DeleteElement, InsertElement, RemoveArgument, RenameArgument, SetArgument, Site
from dnnfix.source.changes import TextChange
from dnnfix.source.expressions import expression_at, expression_of
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.tree import Tree, position

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
    """The text of an expression as a call, with a name in place of what is called and of each value."""

    def __init__(self, tree: Tree, node: ast.Call | ast.List | ast.Set | ast.Tuple, site: Site) -> None:
        own = tree.segment(site)
        self.start = tree.offset(site.line, site.column)
        self.is_tuple = isinstance(node, ast.Tuple)
        self.bare_generator = False
        """Whether the only argument is a generator without parentheses of its own."""
        self.broken: set[str] = set()
        """The names of the values that have several lines."""
        self._prefix = next(prefix for number in count() if (prefix := f"value{number}_") not in own)
        self._lengths: dict[str, int] = {}
        self._added: dict[str, str] = {}
        is_call = isinstance(node, ast.Call)
        items = [node.func, *node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else node.elts
        text, at = "", 0
        for value in sorted((i.value if isinstance(i, ast.Starred) else i for i in items), key=position):
            start, end = (offset - self.start for offset in tree.span(tree.site(value)))
            if is_call and end == len(own):
                start, end, self.bare_generator = start + 1, end - 1, True
            name = self._name(end - start)
            text, at = text + own[at:start] + name, end
            if "\n" in own[start:end]:
                self.broken.add(name)
        text += own[at:]
        if not is_call and self.is_tuple and len(_parsed(text).lpar) == 1:
            text = f"{self._name(-1)}({text})"  # its parentheses are no text of the program's
        elif not is_call:
            text = f"{self._name(0)}({text[1:-1]})"
        self.text = text

    def _name(self, length: int) -> str:
        """A name for so many characters of the text."""
        name = f"{self._prefix}{len(self._lengths)}_"
        self._lengths[name] = length
        return name

    def value(self, code: str) -> cst.Name:
        """A name for a value that the text does not have."""
        name = f"{self._prefix}new{len(self._added)}_"
        self._added[name] = code
        return cst.Name(name)

    def changes(self, edited: str) -> list[TextChange]:
        """What makes the skeleton the edited one. No value that both have is touched."""
        kept = re.compile("|".join(name for name in self._lengths if name in edited))
        token = re.compile(rf"{self._prefix}\w+?_|.", re.DOTALL)
        found, at = [], self.start
        for old, new, value in zip(
            kept.split(self.text), kept.split(edited), [*kept.findall(self.text), ""], strict=True
        ):
            before, after = token.findall(old), token.findall(new)
            head = len(commonprefix([before, after]))
            tail = len(commonprefix([before[head:][::-1], after[head:][::-1]]))
            start = at + self._length(before[:head])
            end = at + self._length(before[: len(before) - tail])
            if before != after:
                code = "".join(self._added.get(part, part) for part in after[head : len(after) - tail])
                found.append(TextChange(start, end, code, stacks=start == end))
            at += self._length(before) + self._lengths.get(value, 0)
        return found

    def _length(self, tokens: Sequence[str]) -> int:
        return sum(self._lengths.get(token, 1) for token in tokens)


class _Arguments:
    """The arguments of a skeleton under edit, and the whitespace before, between and behind them (`gaps`)."""

    def __init__(self, skeleton: _Skeleton, site: Site) -> None:
        self.site = site
        self.skeleton = skeleton
        call = cst.ensure_type(_parsed(skeleton.text), cst.Call)
        self.call = call.with_changes(lpar=call.lpar[1:], rpar=call.rpar[:-1])
        self.args = list(self.call.args)
        self.gaps = [self.call.whitespace_before_args]
        for arg in self.args:
            self.gaps.append(
                arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else arg.whitespace_after_arg
            )
        self._changed: dict[tuple[int, str], object] = {}
        """What the "name" and the "value" of arguments, by index, have been changed to."""

    def edited(self, edits: Sequence[ElementEdit]) -> str:
        """The skeleton after the edits."""
        given = self.call.args
        removed: set[int] = set()
        added: list[tuple[int, cst.Arg]] = []
        for edit in edits:
            if isinstance(edit, InsertElement):
                if not 0 <= edit.index <= len(given):
                    raise EditError(f"There is no place {edit.index} among {len(given)} elements at {self.site}.")
                added.append((edit.index, cst.Arg(self.skeleton.value(_code(edit.code, star=True)))))
            elif isinstance(edit, SetArgument):
                added += self._set(edit)
            elif isinstance(edit, RenameArgument):
                self._rename(edit)
            else:
                removed.add(self._removed(edit))
        named = [old.keyword is None and new.keyword is not None for old, new in zip(given, self.args, strict=True)]
        after = self.args[named.index(True) :] if True in named else []
        if any(arg.keyword is None and arg.star != "**" for arg in after):
            raise EditError(f"An argument of the call at {self.site} cannot get a name: others without one follow it.")
        for index in reversed(range(len(given) + 1)):
            if index in removed:
                self._remove(index)
            for place, arg in reversed(added):
                if place == index:
                    self._insert(index, arg)
        if self.skeleton.bare_generator and len(self.args) > 1:
            raise EditError(f"The call at {self.site} has a bare generator as its argument, which must stand alone.")
        return self._code()

    def _find(self, name: str, position: int | None) -> int | None:
        """The index of an argument by keyword, else by position; unknown counts of arguments before it are refused."""
        for index, arg in enumerate(self.call.args):
            if arg.keyword is not None and arg.keyword.value == name:
                return index
        if position is None or position < 0:
            return None
        plain = [(i, arg) for i, arg in enumerate(self.call.args) if arg.keyword is None and arg.star != "**"]
        if any(arg.star for _, arg in plain[: position + 1]):
            raise EditError(
                f"The call at {self.site} unpacks its arguments; which one is number {position} is unknown."
            )
        return plain[position][0] if position < len(plain) else None

    def _change(self, index: int, part: str, new: object) -> None:
        """Note what an edit changes. Raises `NestedSitesError` where another one has made something else of it."""
        if self._changed.setdefault((index, part), new) != new:
            raise NestedSitesError(f"Two edits change element {index} at {self.site}.")

    # --- the edits

    def _rename(self, edit: RenameArgument) -> None:
        index = self._find(edit.old, edit.position)
        if index is None:
            raise EditError(f"The call at {self.site} has no keyword {edit.old!r}.")
        if self._find(edit.new, None) is not None or not edit.new.isidentifier():
            raise EditError(f"The argument {edit.old!r} of the call at {self.site} cannot be named {edit.new!r}.")
        self._change(index, "name", edit.new)
        self.args[index] = _named(self.args[index], edit.new)

    def _set(self, edit: SetArgument) -> list[tuple[int, cst.Arg]]:
        """Set the value of an argument; the argument and its index where the call does not have it."""
        code = _code(edit.code)
        index = self._find(edit.name, edit.position)
        if index is not None:
            self._change(index, "value", code)
            self.args[index] = self.args[index].with_changes(value=self.skeleton.value(code))
            return []
        if any(arg.star for arg in self.call.args):
            raise EditError(f"The call at {self.site} unpacks arguments, among which may be {edit.name!r}.")
        if not edit.name.isidentifier():
            raise EditError(f"{edit.name!r} is no name of an argument.")
        return [(len(self.call.args), _named(cst.Arg(self.skeleton.value(code)), edit.name))]

    def _removed(self, edit: RemoveArgument | DeleteElement) -> int:
        index = edit.index if isinstance(edit, DeleteElement) else self._find(edit.name, edit.position)
        if index is None or not 0 <= index < len(self.call.args):
            asked = f"element {index}" if isinstance(edit, DeleteElement) else f"argument {edit.name!r}"
            raise EditError(f"There is no {asked} among the {len(self.call.args)} at {self.site}.")
        self._change(index, "name", edit)
        self._change(index, "value", edit)
        return index

    def _insert(self, index: int, arg: cst.Arg) -> None:
        """Put an argument before another one or behind the last one, on a line of its own where that has one."""
        if index < len(self.args):
            self.gaps.insert(index + 1, _gap(self._own_line(index)))
            self.args.insert(index, arg.with_changes(comma=cst.Comma()))
        elif not self.args:
            self.args, self.gaps = [arg], [cst.SimpleWhitespace(""), *self.gaps]
        else:
            last, rest = self.args[-1], self.gaps[-1]
            hangs = len(self.args) == 1 and not isinstance(last.comma, cst.Comma) and "\n" not in _text(rest)
            gap = _gap(None if hangs else self._own_line(index - 1))
            if isinstance(gap, cst.ParenthesizedWhitespace) and isinstance(rest, cst.ParenthesizedWhitespace):
                gap = gap.with_changes(first_line=rest.first_line)  # a comment stays behind what it is about
                rest = rest.with_changes(first_line=cst.TrailingWhitespace())
            self.args[-1:] = [last.with_changes(comma=cst.Comma()), arg.with_changes(comma=last.comma)]
            self.gaps[-1:] = [gap, rest]

    def _remove(self, index: int) -> None:
        """Take an argument away, with the comma behind it, and with its line where it has one of its own."""
        removed = self.args.pop(index)
        before, after = self.gaps[index : index + 2]
        kept = before
        if isinstance(before, cst.ParenthesizedWhitespace) and isinstance(after, cst.ParenthesizedWhitespace):
            lines = [*before.empty_lines, *after.empty_lines]
            kept = before.with_changes(empty_lines=lines, indent=after.indent, last_line=after.last_line)
        elif index == len(self.args) and "#" not in _text(before):
            kept = after
            self.args[-1:] = [arg.with_changes(comma=removed.comma) for arg in self.args[-1:]]
        elif "#" in _text(after) or index and "\n" in _text(after) and "\n" not in _text(before):
            kept = after
        self.gaps[index : index + 2] = [kept]

    def _own_line(self, index: int) -> str | None:
        """The indentation of an argument that begins a line of its own, on which no other begins."""
        before, after = _text(self.gaps[index]), _text(self.gaps[index + 1])
        ends = "\n" in after or _text(self.args[index].value) in self.skeleton.broken
        alone = ends or index + 1 == len(self.args)
        return before.rpartition("\n")[2] if "\n" in before and alone else None

    def _code(self) -> str:
        args = []
        for arg, gap in zip(self.args, self.gaps[1:], strict=True):
            comma = cst.Comma() if self.skeleton.is_tuple and len(self.args) == 1 else arg.comma
            if isinstance(arg.comma, cst.Comma):
                comma, gap = arg.comma.with_changes(whitespace_after=gap), cst.SimpleWhitespace("")
            args.append(arg.with_changes(comma=comma, whitespace_after_arg=gap))
        names = [arg.keyword.value for arg in args if arg.keyword is not None]
        if len(names) > len(set(names)):
            raise EditError(f"The call at {self.site} would have two arguments of one name.")
        try:
            return _text(self.call.with_changes(whitespace_before_args=self.gaps[0], args=args))
        except cst.CSTValidationError as error:
            raise EditError(f"The edits at {self.site} would not be Python: {error}") from None


def _named(arg: cst.Arg, name: str) -> cst.Arg:
    none = cst.SimpleWhitespace("")
    equal = cst.AssignEqual(none, none) if arg.keyword is None else arg.equal
    return arg.with_changes(keyword=cst.Name(name), equal=equal)


def _gap(indent: str | None) -> cst.BaseParenthesizableWhitespace:
    """A blank, or the end of a line and the indentation of the next one."""
    if indent is None:
        return cst.SimpleWhitespace(" ")
    return cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(indent))


def _text(node: cst.CSTNode) -> str:
    code: str = cst.Module([]).code_for_node(node)
    return code


def _parsed(text: str) -> cst.BaseExpression:
    """The expression, in parentheses of its own, so that it may have several lines."""
    try:
        return cst.parse_expression(f"({text})")
    except (cst.ParserSyntaxError, ValueError) as error:
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
