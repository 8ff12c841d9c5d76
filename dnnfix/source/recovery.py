"""Makes text that is not quite Python parse, with every line kept in its place.

First the ways in which pasted code differs from a file are undone, each only where there is a sign of it. Then syntax
errors are fixed line by line. What cannot be fixed is left out, and the notes say so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from dnnfix.source import pasted
from dnnfix.source.draft import Draft, indent_of, is_code, ranges
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.parsing import Recovered
from dnnfix.source.python2 import python2
from dnnfix.source.scan import scan

MAX_ATTEMPTS = 120
"""How often the parser is asked about one text."""
MAX_CHARACTERS = 6_000_000
"""How much text the parser is given in all for one file."""
MAX_LEFT_OUT = 0.5
"""The share of lines that may be left out; above it the text is taken not to be Python."""

_TRY = re.compile(r"[ \t]*(?P<word>try)[ \t]*:")
_HEAD = re.compile(r"[ \t]*(?:def|class|if|elif|else|for|while|with|try|except|finally)\b")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_TRIPLE = re.compile(r"\"\"\"|'''")


class Recovery:
    """One text under recovery."""

    def __init__(self, text: str, error: Unparsable) -> None:
        self.draft = Draft(text.split("\n"))
        self.first_error = error
        self.attempts = min(MAX_ATTEMPTS, max(8, MAX_CHARACTERS // (len(text) + 1)))
        self.solid = sum(1 for line in self.draft.lines if line.strip())
        self.closed = False
        self.moved = False
        self.completed: set[int] = set()

    def run(self) -> Recovered | Unparsable:
        found = self._whole()
        complaint = found if isinstance(found, Unparsable) else None
        while isinstance(found, Unparsable):
            if not found.line or self.attempts <= 0 or len(self.draft.blanked) > MAX_LEFT_OUT * self.solid:
                return self.first_error
            found = self._mend(found)
        draft = self.draft
        if len(draft.blanked) > MAX_LEFT_OUT * self.solid:
            return self.first_error
        if draft.blanked:
            draft.notes.append(f"lines that are not Python were left out (lines {ranges(draft.blanked)})")
        if self.moved:
            draft.notes.append("the indentation of some lines was brought in line with those above")
        if self.completed or self.closed:
            draft.notes.append("blocks or brackets without an end were closed")
        rewritten = {number + 1: line for number, line in draft.rewritten.items() if line.text != line.raw}
        mended = self.completed or self.closed or self.moved or draft.blanked
        return Recovered(draft.text, found, rewritten, tuple(dict.fromkeys(draft.notes)), complaint if mended else None)

    def _parsed(self, draft: Draft) -> ast.Module | Unparsable:
        self.attempts -= 1
        try:
            return parse(draft.text)
        except Unparsable as error:
            return error

    def _whole(self) -> ast.Module | Unparsable:
        """Undo what pasting did to the text as a whole, step by step until it parses."""
        steps: tuple[Callable[[Draft], bool], ...] = (
            pasted.surrogates,
            pasted.cut_head,
            pasted.quotes,
            pasted.fences,
            pasted.line_numbers,
            pasted.entities,
            pasted.prompts,
            pasted.tracebacks,
            pasted.magics,
            pasted.characters,
            pasted.placeholders,
            pasted.common_indentation,
            python2,
        )
        found: ast.Module | Unparsable = self.first_error
        for step in steps:
            if step(self.draft):
                found = self._parsed(self.draft)
                if not isinstance(found, Unparsable):
                    return found
        return found

    # --- the parser's complaints

    def _mend(self, error: Unparsable) -> ast.Module | Unparsable:
        number = min(error.line, len(self.draft.lines)) - 1
        if "unexpected indent" in error.message:
            self._align(number, self._indent_above(number))
        elif "unindent does not match" in error.message:
            self._align(number, self._nearest_level(number))
        elif (
            "expected an indented block" in error.message
            and self._complete(number)
            or "expected 'except' or 'finally'" in error.message
            and self._without_try(number)
        ):
            pass
        elif "inconsistent use of tabs" in error.message:
            self._expand_tabs()
        elif "expected ':'" in error.message and self._begin_block(number):
            pass
        else:
            return self._leave_out(number, error)
        return self._parsed(self.draft)

    def _align(self, number: int, indent: str) -> None:
        """Give the lines of the block that begins at a line the indentation `indent`."""
        self.moved = True
        draft, text = self.draft, self.draft.scan()
        own = indent_of(draft.lines[number])
        for other in range(number, len(draft.lines)):
            line = draft.lines[other]
            if not line.strip() or other in text.inside:
                continue
            if not line.startswith(own):
                if other == number or is_code(line):
                    break
                continue
            draft.shift(other, indent + indent_of(line)[len(own) :])

    def _indent_above(self, number: int) -> str:
        text = self.draft.scan()
        for other in range(number - 1, -1, -1):
            if is_code(self.draft.lines[other]) and not text.depths[other] and other not in text.inside:
                return indent_of(self.draft.lines[other])
        return ""

    def _nearest_level(self, number: int) -> str:
        """The indentation of an enclosing block that is nearest to that of a line."""
        width = len(indent_of(self.draft.lines[number]).expandtabs(8))
        levels: list[str] = [""]
        for line in self.draft.lines[:number]:
            if is_code(line):
                own = indent_of(line)
                levels = [level for level in levels if len(level) < len(own)] + [own]
        return min(reversed(levels), key=lambda level: abs(len(level.expandtabs(8)) - width))

    def _complete(self, number: int) -> bool:
        """Put `pass` after the header before a line, whose block is missing."""
        lines, text = self.draft.lines, self.draft.scan()
        at_end = not any(is_code(line) for line in lines[number + 1 :])
        last = number if at_end and lines[number].partition("#")[0].rstrip().endswith(":") else number - 1
        while last >= 0 and not is_code(lines[last]):
            last -= 1
        if last < 0 or last in self.completed:
            return False
        self.completed.add(last)
        start = sum(len(line) + 1 for line in lines[:last])
        comment = next((at - start for at, _ in text.comments if 0 <= at - start <= len(lines[last])), None)
        end = len(lines[last][:comment].rstrip())
        self.draft.replace(last, end, end, " pass")
        return True

    def _without_try(self, number: int) -> bool:
        """Read the `try:` that a line ends too early as a plain block."""
        indent = len(indent_of(self.draft.lines[number]).expandtabs(8))
        at_end = number == len(self.draft.lines) - 1
        for other in range(number, -1, -1):
            found = _TRY.match(self.draft.lines[other])
            own = len(indent_of(self.draft.lines[other]).expandtabs(8))
            if found and (at_end or own >= indent):
                self.draft.replace(other, found.start("word"), found.end("word"), "if 1")
                return True
        return False

    def _begin_block(self, number: int) -> bool:
        """Put the colon that the head of an indented block lacks at its end."""
        line = self.draft.lines[number]
        below = next((other for other in self.draft.lines[number + 1 :] if is_code(other)), "")
        if not _HEAD.match(line) or len(indent_of(below).expandtabs(8)) <= len(indent_of(line).expandtabs(8)):
            return False
        found = scan(line)
        if found.unclosed:
            return False
        end = min([len(line.rstrip()), *(len(line[:at].rstrip()) for at, _ in found.comments)])
        self.draft.replace(number, end, end, ":")
        self.draft.notes.append(f"a block without its colon was given one (line {number + 1})")
        return True

    def _expand_tabs(self) -> None:
        self.draft.notes.append("tabs in the indentation were read as going to the next multiple of 8")
        inside = self.draft.scan().inside
        for number, line in enumerate(self.draft.lines):
            own = indent_of(line)
            if "\t" in own and number not in inside:
                self.draft.replace(number, 0, len(own), own.expandtabs(8))

    def _leave_out(self, number: int, error: Unparsable) -> ast.Module | Unparsable:
        """Close what is open at the end, else leave out the line, else its whole statement."""
        if not self.closed and ("never closed" in error.message or "unterminated triple" in error.message):
            closed = self.draft.copy()
            if _close(closed):
                found = self._parsed(closed)
                if not isinstance(found, Unparsable) or found.line > error.line:
                    self.draft, self.closed = closed, True
                    return found
        if "never closed" in error.message:
            closed = self.draft.copy()
            if _close_line(closed, number):
                found = self._parsed(closed)
                if not isinstance(found, Unparsable) or found.line > error.line:
                    self.draft = closed
                    self.completed.add(number)
                    return found
        candidates = [self._solid_at(number)]
        start = number
        depths = self.draft.scan().depths
        while start > 0 and depths[start]:
            start -= 1
        if start < number:
            candidates.append(range(start, number + 1))
        for candidate in candidates:
            draft = self.draft.copy()
            for other in candidate:
                draft.leave_out(other)
            found = self._parsed(draft)
            if not isinstance(found, Unparsable) or found.line > error.line:
                break
        self.draft = draft
        return found

    def _solid_at(self, number: int) -> range:
        """The line itself, or the nearest one above it that has something to leave out."""
        while number > 0 and not self.draft.lines[number].strip():
            number -= 1
        return range(number, number + 1)


def _close_line(draft: Draft, number: int) -> bool:
    """Put the brackets that a line opens and that are missing at its end."""
    line = scan(draft.lines[number])
    end = min([len(draft.lines[number].rstrip()), *(len(draft.lines[number][:at].rstrip()) for at, _ in line.comments)])
    if line.unclosed:
        draft.replace(number, end, end, "".join(_CLOSERS[bracket] for bracket in reversed(line.unclosed)))
    return bool(line.unclosed)


def _close(draft: Draft) -> bool:
    """Put the quotes and brackets that are missing at the end of the text after its last line."""
    last = len(draft.lines) - 1
    while last > 0 and not is_code(draft.lines[last]):
        last -= 1
    text = draft.scan()
    closers = ""
    if text.strings:
        start, end = text.strings[-1]
        content = draft.text[start:end]
        mark = _TRIPLE.match(content)
        if mark and end == len(draft.text) and (len(content) < 6 or not content.endswith(mark.group())):
            closers = mark.group()
    closers += "".join(_CLOSERS[bracket] for bracket in reversed(text.unclosed))
    end = len(draft.lines[last].rstrip())
    if closers:
        draft.replace(last, end, end, closers)
    return bool(closers)
