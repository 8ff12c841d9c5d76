"""Reads an answer: search-and-replace blocks against the lines that were shown, and nothing else."""

from __future__ import annotations

import re
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

_CAUSE = re.compile(r"^\s*(?:\*\*)?CAUSE:?(?:\*\*)?:?\s*(.+)$", re.MULTILINE)
_BLOCK = re.compile(
    r"^FILE:[ \t]*(?P<file>[^\n]+)\n(?:```\w*\n)?<{5,9} SEARCH[ \t]*\n(?P<old>.*?)^={5,9}[ \t]*\n(?P<new>.*?)^>{5,9} REPLACE[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^(?:<{5,9} SEARCH|={5,9}|>{5,9} REPLACE)[ \t]*$", re.MULTILINE)
_NUMBER = re.compile(r"^ {0,3}\d{1,4}\| ?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters that no program needs: they hide what a text says from those that read it."""


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


def read_answer(text: str, shown: Sequence[Excerpt]) -> Answer:
    """The edits of an answer, at their lines. Raises `Malformed`."""
    if len(text) > MOST_CHARACTERS:
        raise Malformed(f"it has {len(text)} characters, and an edit takes at most {MOST_CHARACTERS}")
    text = text.replace("\r\n", "\n")
    if _CONTROL.search(text):
        raise Malformed("it has control characters in it")
    found = [*_BLOCK.finditer(text)]
    if not found:
        raise Malformed("it has no block of FILE, SEARCH and REPLACE")
    if len(_MARK.findall(text)) != 3 * len(found):
        raise Malformed("a block of it is not complete")
    if len(found) > MOST_BLOCKS:
        raise Malformed(f"it has {len(found)} blocks, and at most {MOST_BLOCKS} may be given")
    blocks = [_block(match["file"].strip().strip("`*\"'"), match["old"], match["new"], shown) for match in found]
    if any(a.site.overlaps(b.site) for i, a in enumerate(blocks) for b in blocks[i + 1 :]):
        raise Malformed("two of its blocks replace the same lines")
    cause = _CAUSE.search(text)
    said = " ".join(cause[1].split()) if cause else ""
    return Answer("".join(c for c in said if c.isprintable())[:LONGEST_CAUSE], tuple(blocks))


def _block(file: str, old: str, new: str, shown: Sequence[Excerpt]) -> Block:
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


def _lines(text: str) -> list[str]:
    """The lines of one half of a block, without the numbers that the prompt has before them, where each has one."""
    lines = [line.rstrip() for line in text.split("\n")[:-1]]
    if lines and all(_NUMBER.match(line) for line in lines if line.strip()):
        lines = [_NUMBER.sub("", line, count=1) for line in lines]
    return lines


def _places(wanted: Sequence[str], excerpt: Excerpt) -> Iterator[int]:
    """The numbers of the lines where those that are wanted begin, one right after the other."""
    for place, (number, _) in enumerate(excerpt.lines):
        here = excerpt.lines[place : place + len(wanted)]
        if [n for n, _ in here] == [*range(number, number + len(wanted))] and [t.rstrip() for _, t in here] == wanted:
            yield number
