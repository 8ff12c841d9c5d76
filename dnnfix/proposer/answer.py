"""Reads an answer: search-and-replace blocks against the lines that were shown, and nothing else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dnnfix.proposer.excerpt import Excerpt
from dnnfix.records import ReplaceLines, Site

MOST_BLOCKS = 4
MOST_LINES = 60
"""Lines of one block, old or new: an edit, not another program."""
MOST_CHARACTERS = 20_000
"""Of an answer; what is longer is no answer to what was asked."""
LONGEST_CAUSE = 160

_CAUSE = re.compile(r"\s*(?:\*\*)?CAUSE(?:\*\*)?:(?:\*\*)?\s*(.*)")
_FILE = re.compile(r"(?:\*\*)?FILE:(?:\*\*)?\s*(.+)")
_SEARCH, _BETWEEN, _REPLACE = (re.compile(form) for form in ("<{5,9} SEARCH", "={5,9}", ">{5,9} REPLACE"))
_NUMBER = re.compile(r" *\d+\| ?")
_HIDING = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that no program needs: they hide what a text says from those that read it, or end lines for some."""


class Malformed(Exception):
    """An answer that has another form than was asked for; says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Block:
    """One edit of an answer: whole lines of a file, and what is put in their place (empty: nothing)."""

    site: Site
    new: str

    @property
    def edit(self) -> ReplaceLines:
        """The edit as the engine carries it out."""
        return ReplaceLines(self.site, self.new)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer says: the cause in words, and the edits."""

    cause: str
    blocks: tuple[Block, ...]


def spoken(text: str) -> str:
    """An answer without what the model thought aloud before it, between tags that open-weight models write."""
    return text.rpartition("</think>")[2]


def read_answer(text: str, shown: Sequence[Excerpt]) -> Answer:
    """The edits of an answer, at their lines. Raises `Malformed`."""
    text = spoken(text)
    if len(text) > MOST_CHARACTERS:
        raise Malformed(f"it has {len(text)} characters, and an edit takes at most {MOST_CHARACTERS}")
    lines = text.replace("\r\n", "\n").split("\n")
    if any(unicodedata.category(character) in _HIDING for character in set(text) - {"\t", "\n", "\r"}) or any(
        "\r" in line for line in lines
    ):
        raise Malformed("it has control characters in it")
    causes: list[str] = []
    found = [*_found(lines, causes)]
    if not found:
        raise Malformed("it has no block of FILE, SEARCH and REPLACE")
    if len(found) > MOST_BLOCKS:
        raise Malformed(f"it has {len(found)} blocks, and at most {MOST_BLOCKS} may be given")
    blocks = [_block(file, old, new, shown) for file, old, new in found]
    if any(a.site.overlaps(b.site) for i, a in enumerate(blocks) for b in blocks[i + 1 :]):
        raise Malformed("two of its blocks replace the same lines")
    return Answer(" ".join("".join(causes[:1]).split())[:LONGEST_CAUSE], tuple(blocks))


def _found(lines: Sequence[str], causes: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """File, old and new lines of each block, read line by line: one that does not end costs no more time than another."""
    file = ""
    halves: list[list[str]] = []
    for line in lines:
        mark = next((n for n, form in enumerate((_SEARCH, _BETWEEN, _REPLACE)) if form.fullmatch(line.rstrip())), None)
        if mark is not None:
            if mark != len(halves):
                raise Malformed("a block of it is not complete")
            if not file:
                raise Malformed("a block of it has no line FILE right above it")
            if mark < 2:
                halves.append([])
                continue
            yield file, halves[0], halves[1]
            file, halves = "", []
        elif halves:
            halves[-1].append(line)
        elif named := _FILE.fullmatch(line):
            file = named[1].strip().strip("`*\"'")
        elif said := _CAUSE.fullmatch(line):
            causes.append(said[1])
        elif line.strip() and not line.startswith("```"):
            file = ""
    if halves:
        raise Malformed("a block of it is not complete")


def _block(file: str, old: Sequence[str], new: Sequence[str], shown: Sequence[Excerpt]) -> Block:
    excerpt = next((one for one in shown if one.name == file), None)
    if excerpt is None:
        raise Malformed(f"it names a file that was not shown ({file[:80]})")
    wanted, given = _lines(old), _lines(new)
    if not any(wanted):
        raise Malformed("it searches for nothing")
    if max(len(wanted), len(given)) > MOST_LINES:
        raise Malformed(f"a block of it has more than {MOST_LINES} lines")
    places = [*_places(wanted, excerpt)]
    if len(places) != 1:
        seen = "not among those that were shown" if not places else f"there {len(places)} times"
        raise Malformed(f"the lines that it searches for are {seen}: {next(filter(None, wanted))[:80]}")
    first = places[0]
    last = first + len(wanted) - 1
    width = len(dict(excerpt.lines)[last])
    return Block(Site(first, 1, last, width + 1, excerpt.path), "\n".join(given))


def _lines(half: Sequence[str]) -> list[str]:
    """The lines of one half of a block, without the numbers that the prompt has before them, where each has one."""
    lines = [line.rstrip() for line in half]
    if any(lines) and all(_NUMBER.match(line) for line in lines if line.strip()):
        lines = [_NUMBER.sub("", line, count=1) for line in lines]
    return lines


def _places(wanted: Sequence[str], excerpt: Excerpt) -> Iterator[int]:
    """The numbers of the lines where those that are wanted begin, one right after the other."""
    for place, (number, _) in enumerate(excerpt.lines):
        here = excerpt.lines[place : place + len(wanted)]
        if [n for n, _ in here] == [*range(number, number + len(wanted))] and [t.rstrip() for _, t in here] == wanted:
            yield number
