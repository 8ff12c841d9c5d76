"""Rewrites Python 2 syntax as Python 3, with the lines kept; only syntax that is an error in Python 3."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from dnnfix.source.draft import Draft, Replacements

_STATEMENT = re.compile(
    r"(?:^|[:;])[ \t]*(?P<word>print|exec)(?P<gap>(?:[ \t]*>>[ \t]*|[ \t]+(?=[^\s(=.,:)\]}]))|(?=[\"'`]))", re.MULTILINE
)
_EXCEPT = re.compile(r"^[ \t]*except[ \t]+(?:\([^)\n]*\)|[\w.]+)(?P<comma>[ \t]*,[ \t]*)\w+[ \t]*:", re.MULTILINE)
_RAISE = re.compile(r"(?:^|[:;])[ \t]*raise[ \t]+[\w.]+(?P<comma>[ \t]*,[ \t]*)(?=\S)", re.MULTILINE)
_OCTAL = re.compile(r"(?<![\w.])0(?=[0-7]+\b(?![.\w]))")
_LONG = re.compile(r"(?<![\w.])(?:\d+|0[xX][0-9a-fA-F]+)(?P<suffix>[lL])\b")
_RAW = re.compile(r"(?<!\w)[uU](?=[rR][\"'])")
_UNEQUAL = re.compile(r"<>")
_BACKTICKS = re.compile(r"`(?P<value>[^`\n]+)`")
_ASYNC = re.compile(r"(?<=[(,])\s*(?P<word>async)(?=\s*=(?!=))")
"""The keyword of `x.cuda(async=True)`, which is a word of the language since Python 3.7."""
_LAMBDA = re.compile(r"\blambda[ \t]*(?P<parts>\((?P<names>[\w \t,]+)\))[ \t]*:")
"""A function of one value that is taken apart where it comes in."""


def python2(draft: Draft) -> bool:
    """Rewrite the Python 2 syntax in a draft."""
    steps = (
        draft.replace_all(_STATEMENT, _as_call(draft)),
        draft.replace_all(_RAISE, _raised(draft)),
        draft.replace_all(_EXCEPT, lambda m: [(m.start("comma"), m.end("comma"), " as ")]),
        draft.replace_all(_BACKTICKS, lambda m: [(m.start(), m.start() + 1, "repr("), (m.end() - 1, m.end(), ")")]),
        draft.replace_all(_UNEQUAL, lambda m: [(m.start(), m.end(), "!=")]),
        draft.replace_all(_OCTAL, lambda m: [(m.start(), m.end(), "0o")]),
        draft.replace_all(_LONG, lambda m: [(m.start("suffix"), m.end(), "")]),
        draft.replace_all(_ASYNC, lambda m: [(m.start("word"), m.end("word"), "non_blocking")]),
        draft.replace_all(_RAW, lambda m: [(m.start(), m.end(), "")]),
        draft.replace_all(_LAMBDA, _unpacked(draft)),
    )
    if any(steps):
        draft.notes.append("Python 2 syntax was read as its Python 3 form")
    return any(steps)


def _as_call(draft: Draft) -> Callable[[re.Match[str]], Replacements]:
    text, found = draft.text, draft.scan()
    strings, comments = dict(found.strings), {begin for begin, _ in found.comments}

    def replacements(match: re.Match[str]) -> Replacements:
        end = _statement_end(text, strings, comments, match.end())
        begin, opened = match.end("gap"), match.start("gap")
        if match["word"] == "exec":  # exec code in names
            within = next(_marks(text, strings, re.compile(r"[ \t]+in[ \t]+"), begin, end), None)
            return [(opened, begin, "("), *([(*within, ", ")] if within else []), (end, end, ")")]
        commas = list(_marks(text, strings, re.compile(r",[ \t]*"), begin, end))
        last, closing = end, ")"
        if commas and commas[-1][1] == end and end - begin > 1:  # a comma at the end keeps the line open
            last, closing = commas.pop()[0], ', end=" ")'
        if ">>" not in match["gap"]:
            return [(opened, begin, "("), (last, end, closing)]
        stop = commas[0][0] if commas else last
        file = f"{', ' if commas else ''}file={text[begin:stop]}"
        return [(opened, commas[0][1] if commas else stop, "("), (last, end, file + closing)]

    return replacements


def _unpacked(draft: Draft) -> Callable[[re.Match[str]], Replacements]:
    """`lambda (k, v): v`: the value has a name, and its parts are taken from it where they are used."""
    text = draft.text
    strings = dict(draft.scan().strings)

    def replacements(match: re.Match[str]) -> Replacements:
        names = [name.strip() for name in match["names"].split(",") if name.strip()]
        whole = "pair" if len(names) == 2 else "parts"
        while re.search(rf"\b{whole}\b", text):
            whole += "_"
        found = [(*match.span("parts"), f" {whole}" if text[match.start("parts") - 1] == "a" else whole)]
        for start, end in _words(text, strings, match.end()):
            if text[start:end] in names:
                found.append((start, end, f"{whole}[{names.index(text[start:end])}]"))
        return found

    return replacements


def _words(text: str, skipped: Mapping[int, int], start: int) -> Iterator[tuple[int, int]]:
    """Where the names of an expression stand: up to the comma, bracket or line end that ends it."""
    depth, at, word = 0, start, re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\s*=(?!=))")
    while at < len(text):
        if at in skipped:
            at = skipped[at]
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0 or depth == 0 and text[at] in ",;\n":
            return
        found = word.match(text, at)
        if found is not None:
            yield found.span()
        at = found.end() if found is not None else at + 1


def _marks(
    text: str, skipped: Mapping[int, int], mark: re.Pattern[str], start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Where a mark stands between two places outside of brackets and strings."""
    depth, at = 0, start
    while at < end:
        if at in skipped:
            at = skipped[at]
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        found = mark.match(text, at, end) if depth == 0 else None
        if found is not None:
            yield found.span()
        at = found.end() if found is not None else at + 1


def _raised(draft: Draft) -> Callable[[re.Match[str]], Replacements]:
    text, found = draft.text, draft.scan()
    strings, comments = dict(found.strings), {begin for begin, _ in found.comments}

    def replacements(match: re.Match[str]) -> Replacements:
        end = _statement_end(text, strings, comments, match.end())
        return [(match.start("comma"), match.end("comma"), "("), (end, end, ")")]

    return replacements


def _statement_end(text: str, skipped: Mapping[int, int], comments: Collection[int], start: int) -> int:
    """Where the simple statement that `start` stands in ends: at a semicolon, a comment or an unbracketed line end.

    `skipped` has the strings of the text, `comments` the places where its comments begin.
    """
    depth, at = 0, start
    while at < len(text):
        if at in skipped:
            at = skipped[at]
            continue
        character = text[at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif (
            at in comments
            or (character == ";" and depth <= 0)
            or character == "\n"
            and depth <= 0
            and text[at - 1] != "\\"
        ):
            break
        at += 1
    return start + len(text[start:at].rstrip())
