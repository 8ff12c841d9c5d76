"""Removes what is pasted along with code: Markdown fences, prompts, tracebacks, notebook magics, odd characters."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from textwrap import dedent

from dnnfix.source.draft import Draft, Replacements, indent_of, ranges
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.public_names import words

_FENCE = re.compile(r"\s*(?:```|~~~)\s*[\w+-]*\s*$")
_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.)(?: |$)|\s*In ?\[[\d ]*\]: ?|\s*\.{3,}: ?")
_FIRST_PROMPT = re.compile(r"\s*(?:>>>(?: |$)|In ?\[[\d ]*\]:)")
_TRACEBACK = re.compile(r"\s*Traceback \(most recent call last\)")
_ERROR = re.compile(r"\s*(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)\b")
_PROGRESS = re.compile(r"\s*(?:Epoch \d+/\d+|\d+/\d+ \[[=>.]*\]|_{20,}|={20,}|Using \w+ backend)")
_MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?:%(?P<timed>time(?:it)?|prun|memit)\s+(?P<rest>\S.*)|[%!?].*|[\w.]+\?{1,2}\s*)$"
)
_ASSIGNED = re.compile(r"[ \t]*[\w., ]+=[ \t]*(?P<magic>[%!].*)$")
_CELL_MAGIC = re.compile(r"[ \t]*%%(?P<name>!|\w+)")
_FOREIGN_CELLS = words(
    """! R SVG bash bigquery cmd css cython file html javascript js julia latex markdown perl pypy ruby script sh sql svg
    system writefile"""
)

_QUOTES = re.compile("[“”„‟«»″‘’‚‛′´]")
_DOUBLE = frozenset("“”„‟«»″")
_ODD = re.compile("[\uff01-\uff5e\u3000\u00a0\u2000-\u200f\u202a-\u202f\u205f\u2060\ufeff\u2010-\u2015\u2212×÷…、。]")
_MEANT = {"\u3000": " ", "\u00a0": " ", "×": "*", "÷": "/", "…": "...", "、": ",", "。": "."}
_TRIPLE = ('"""', "'''")
_SURROGATE = re.compile("[\ud800-\udfff]")


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#39|#34|#x27|#x22);")
_NUMBERED = re.compile(r"\s*(?P<number>\d{1,5})(?:[:.|)\]]|(?=\s|$))(?: ?\|)?")
_QUOTED = re.compile(r"[ \t]*>(?: |$)")
_ANY_PARAMETERS = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\([^()\n]*?(?P<dots>\.{3})[ \t]*\)[ \t]*:", re.MULTILINE
)

MIN_NUMBERED = 3
"""Lines that carry their number from which on numbers count as an editor's."""

NUMBERED = 0.6
"""The share of lines that must carry one; lines that were broken in two or put in later have none."""

MIN_KEPT = 0.2
"""The share of lines that fences or prompts must mark as code; below it they are taken for a docstring's examples."""


def fences(draft: Draft) -> bool:
    """Keep only what is between Markdown fences."""
    strings = draft.scan().inside
    marks = [n for n, line in enumerate(draft.lines) if _FENCE.match(line) and n not in strings]
    if not marks or (len(marks) == 1 and marks[0] > 0):
        return False
    inside = False
    kept: set[int] = set()
    for number in range(len(draft.lines)):
        if number in marks:
            inside = not inside
        elif inside:
            kept.add(number)
    if not _enough(draft, kept):
        return False
    for number, line in enumerate(draft.lines):
        if number not in kept and line.strip():
            draft.blank(number)
    draft.notes.append("only the code between Markdown fences was read")
    return True


def entities(draft: Draft) -> bool:
    """Replace HTML entities such as `&lt;` in the code itself by their characters."""
    hidden = [range(*span) for span in (*draft.scan().strings, *draft.scan().comments)]
    if not any(all(m.start() not in one for one in hidden) for m in _ENTITY.finditer(draft.text)):
        return False
    for number, line in enumerate(draft.lines):
        for match in reversed(list(_ENTITY.finditer(line))):
            draft.replace(number, match.start(), match.end(), unescape(match.group()).replace("\u00a0", " "))
    draft.notes.append("characters that a web page had escaped were read as what they stand for")
    return True


def quotes(draft: Draft) -> bool:
    """Remove the mark before each line of a text that an answer quotes."""
    solid = [number for number, line in enumerate(draft.lines) if line.strip()]
    found = {number: mark for number in solid if (mark := _QUOTED.match(draft.lines[number]))}
    if len(found) < max(MIN_NUMBERED, NUMBERED * len(solid)):
        return False
    for number, mark in found.items():
        draft.replace(number, 0, mark.end(), "")
    draft.notes.append("the marks before quoted lines were left out")
    return True


def line_numbers(draft: Draft) -> bool:
    """Remove the line numbers that an editor or a web page shows.

    They count up by one; a line that was put in later has that of its neighbour.
    """
    solid = [number for number, line in enumerate(draft.lines) if line.strip()]
    found = {number: _NUMBERED.match(draft.lines[number]) for number in solid}
    counted = [int(match["number"]) for match in found.values() if match]
    if len(counted) < max(MIN_NUMBERED, NUMBERED * len(solid)):
        return False
    if any(later - earlier not in (0, 1) for earlier, later in pairwise(counted)) or counted[0] == counted[-1]:
        return False
    ends = {number: match.end() for number, match in found.items() if match}
    rest = [draft.lines[number][end:] for number, end in ends.items() if draft.lines[number][end:].strip()]
    gap = min((len(text) - len(text.lstrip(" \t")) for text in rest), default=0)
    for number, end in ends.items():
        draft.replace(number, 0, min(end + gap, len(draft.lines[number])), "")
    draft.notes.append("the numbers of the lines were left out")
    return True


def placeholders(draft: Draft) -> bool:
    """Replace `...` at the end of a parameter list by `*args, **kwargs`."""
    replaced = draft.replace_all(_ANY_PARAMETERS, lambda m: [(m.start("dots"), m.end("dots"), "*args, **kwargs")])
    if replaced:
        draft.notes.append("`...` in a list of parameters was read as any others")
    return replaced


def prompts(draft: Draft) -> bool:
    """Remove interpreter prompts, and the output between them."""
    strings = draft.scan().inside
    first = next((n for n, line in enumerate(draft.lines) if _FIRST_PROMPT.match(line) and n not in strings), None)
    if first is None:
        return False
    found = {n: _PROMPT.match(draft.lines[n]) for n in range(first, len(draft.lines))}
    if not _enough(draft, {*range(first), *(n for n, prompt in found.items() if prompt)}):
        return False
    for number, prompt in found.items():
        if prompt:
            draft.replace(number, 0, prompt.end(), "")
        elif draft.lines[number].strip():
            draft.blank(number)
    draft.notes.append("interpreter prompts and the output between them were left out")
    return True


def _enough(draft: Draft, kept: set[int]) -> bool:
    solid = [number for number, line in enumerate(draft.lines) if line.strip()]
    return sum(number in kept for number in solid) >= MIN_KEPT * len(solid)


def tracebacks(draft: Draft) -> bool:
    """Leave out tracebacks and what training prints."""
    left_out: list[int] = []
    inside = False
    strings = draft.scan().inside
    for number, line in enumerate(draft.lines):
        if number in strings:
            continue
        if _TRACEBACK.match(line):
            inside = True
        if inside or _PROGRESS.match(line):
            left_out.append(number)
        if inside and _ERROR.match(line):
            inside = False
    if inside:
        # A traceback without its last line: only what is indented under it belongs to it.
        start = max(n for n in left_out if _TRACEBACK.match(draft.lines[n]))
        left_out = [n for n in left_out if n <= start or draft.lines[n][:1] in {" ", "\t"}]
    for number in left_out:
        draft.blank(number)
    if left_out:
        draft.notes.append(f"output of a run was left out (lines {ranges(left_out)})")
    return bool(left_out)


def magics(draft: Draft) -> bool:
    """Replace notebook magics and shell commands by `pass`; a timed statement stays."""
    text = draft.scan()
    changed: list[int] = []
    number = 0
    while number < len(draft.lines):
        line = draft.lines[number]
        if text.depths[number] == 0 and number not in text.inside:
            last = _magic(draft, number, line)
            if last is not None:
                changed += range(number, last + 1)
                number = last
        number += 1
    if changed:
        draft.notes.append(f"notebook magics and shell commands were left out (lines {ranges(changed)})")
    return bool(changed)


def _magic(draft: Draft, number: int, line: str) -> int | None:
    """Take one magic away; the number of its last line, or `None` where there is none."""
    cell = _CELL_MAGIC.match(line)
    if cell:
        draft.blank(number)
        if cell["name"] not in _FOREIGN_CELLS:
            return number
        for other in range(number + 1, len(draft.lines)):
            draft.blank(other)
        return len(draft.lines) - 1
    assigned = _ASSIGNED.match(line)
    magic = _MAGIC.match(line)
    if assigned:
        lines_of_output = "[]" if assigned["magic"].startswith("!") else "None"
        draft.replace(number, assigned.start("magic"), len(line), lines_of_output)
    elif magic and magic["rest"]:
        draft.replace(number, len(magic["indent"]), magic.start("rest"), "")
        return number
    elif magic:
        draft.blank(number, magic["indent"] + "pass")
    else:
        return None
    while line.endswith("\\") and number + 1 < len(draft.lines):
        number += 1
        line = draft.lines[number]
        draft.blank(number)
    return number


def characters(draft: Draft) -> bool:
    """Replace full-width punctuation, curly quotes and odd spaces by their ASCII characters."""
    quotes = draft.replace_all(_QUOTES, _quote)
    others = draft.replace_all(_ODD, _plain)
    if quotes or others:
        draft.notes.append("full-width punctuation, curly quotes or odd spaces were read as their plain forms")
    return quotes or others


def surrogates(draft: Draft) -> bool:
    """Replace lone surrogates, which notebooks can contain, by U+FFFD."""
    found = [number for number, line in enumerate(draft.lines) if _SURROGATE.search(line)]
    for number in found:
        for match in reversed(list(_SURROGATE.finditer(draft.lines[number]))):
            draft.replace(number, match.start(), match.end(), "\ufffd")
    return bool(found)


def cut_head(draft: Draft) -> bool:
    """Remove the end of a string whose beginning was cut off with the head of the text."""
    strings = draft.scan().strings
    last = draft.text[slice(*strings[-1])] if strings else ""
    if not last.startswith(_TRIPLE) or (len(last) >= 6 and last.endswith(last[:3])):
        return False
    end = next((number for number, line in enumerate(draft.lines) if last[:3] in line), 0)
    if _may_be_code("\n".join(draft.lines[:end])):
        return False
    for number in range(end + 1):
        draft.blank(number)
    draft.notes.append(f"the end of a string at the head of the text was left out (lines {ranges(range(end + 1))})")
    return True


def _may_be_code(text: str) -> bool:
    """Whether a text is code as far as it goes."""
    try:
        parse(dedent(text))
    except Unparsable as error:
        return "indented block" in error.message or "closed" in error.message
    return True


def common_indentation(draft: Draft) -> bool:
    """Remove the indentation that all code shares."""
    text = draft.scan()
    code = [
        number
        for number, line in enumerate(draft.lines)
        if line.strip() and number not in text.inside and not text.depths[number]
    ]
    solid = [number for number in code if not draft.lines[number].lstrip().startswith("#")]
    if not solid:
        return False
    shared = indent_of(draft.lines[solid[0]])
    for number in solid:
        own = indent_of(draft.lines[number])
        while not own.startswith(shared):
            shared = shared[:-1]
    if not shared:
        return False
    for number, line in enumerate(draft.lines):
        if line.startswith(shared) and number not in text.inside:
            draft.replace(number, 0, len(shared), "")
        elif number in code:
            draft.shift(number, "")
    draft.notes.append("the indentation that all lines share was left out")
    return True


def _quote(match: re.Match[str]) -> Replacements:
    return [(match.start(), match.end(), '"' if match.group() in _DOUBLE else "'")]


def _plain(match: re.Match[str]) -> Replacements:
    character = match.group()
    code = ord(character)
    if 0xFF01 <= code <= 0xFF5E:
        plain = chr(code - 0xFEE0)
    elif character in _MEANT:
        plain = _MEANT[character]
    elif 0x2010 <= code <= 0x2015 or code == 0x2212:
        plain = "-"
    else:
        plain = " " if code in {0x202F, 0x205F} or 0x2000 <= code <= 0x200A else ""
    return [(match.start(), match.end(), plain)]
