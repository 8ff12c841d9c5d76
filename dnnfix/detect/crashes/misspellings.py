"""Which known name a wrong name stands for: told only where one of them fits and no other."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from dnnfix.detect.crashes.undefined import misspelt

ALIKE = 0.85
"""Likeness from which on two long names are taken for one, where no third name comes near (`lesser_equal`, `less_equal`)."""

MARGIN = 0.06
"""How much less alike the second best has to be."""

LONG = 6
"""Letters of a name from which on likeness says something."""


SHORT = 3
"""Letters that the beginning of a name has at least."""


def same_letters(name: str, known: Iterable[str]) -> str | None:
    """The one name that differs in capitals and underscores only."""
    return _only(other for other in known if other != name and _bare(other) == _bare(name))


def one_letter_off(name: str, known: Iterable[str]) -> str | None:
    """The one name that has a letter more, less or changed, or two of them exchanged."""
    names = frozenset(known) - {name}
    first = misspelt(name, names)
    return first if first is not None and misspelt(name, names - {first}) is None else None


def parts(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `num_filters` and `numFilters` have the same."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))


def longer(name: str, known: Iterable[str]) -> str | None:
    """The one name that begins with this one, or has its words and the fewest others besides."""
    names = [other for other in known if other != name]
    begun = [other for other in names if other.startswith(name)]
    if begun:
        return begun[0] if len(begun) == 1 and len(name) >= SHORT else None
    wanted = set(parts(name))
    around = [other for other in names if wanted and wanted < set(parts(other))]
    least = min((len(parts(other)) for other in around), default=0)
    return _only(other for other in around if len(parts(other)) == least)


def alike(name: str, known: Iterable[str]) -> str | None:
    """The one long name that is much alike, where no other comes near."""
    if len(name) < LONG:
        return None
    ranked = sorted(
        ((difflib.SequenceMatcher(None, name, other).ratio(), other) for other in set(known) - {name}), reverse=True
    )[:2]
    if not ranked or ranked[0][0] < ALIKE or _digits(ranked[0][1]) != _digits(name):
        return None
    return ranked[0][1] if len(ranked) < 2 or ranked[0][0] - ranked[1][0] >= MARGIN else None


def _digits(name: str) -> list[str]:
    return [letter for letter in name if letter.isdigit()]


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def _only(names: Iterable[str]) -> str | None:
    found = set(names)
    return found.pop() if len(found) == 1 else None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one known word that a wrong one is a slip of the keys from, whatever its capitals, spaces and strokes.

    The longer a word, the more letters may be wrong; the first one and the digits never are. Where the letters alone
    make two spellings of one word (`MeanSquaredError`, `mean_squared_error`), the one written in the same way is told.
    """
    spellings: dict[str, list[str]] = {}
    for one in known:
        spellings.setdefault(_letters(one), []).append(one)
    wrong = _letters(name)
    if len(wrong) < SHORT:
        return None
    if wrong not in spellings:
        ranked = sorted((slips(wrong, other), other) for other in spellings if _digits(other) == _digits(wrong))
        if not ranked or ranked[0][0] > _slips_allowed(wrong) or ranked[0][1][0] != wrong[0]:
            return None
        if len(ranked) > 1 and ranked[1][0] - ranked[0][0] < min(ranked[0][0], 2):
            return None
        wrong = ranked[0][1]
    in_capitals = name[0].isupper() and not re.search(r"[\s_-]", name.strip())
    alike_written = [one for one in spellings[wrong] if one[0].isupper() == in_capitals]
    return min(alike_written or spellings[wrong], key=lambda one: (len(one), one))


def _letters(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _slips_allowed(wrong: str) -> int:
    return 1 if len(wrong) < 8 else 2 if len(wrong) < 15 else 3


def slips(wrong: str, right: str) -> int:
    """How many letters are missing, in excess or changed, or stand in the place of their neighbour."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(wrong, 1):
        row, before, last = [i], row, before
        for j, other in enumerate(right, 1):
            least = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and wrong[i - 2] == other:
                least = min(least, last[j - 2] + 1)
            row.append(least)
    return row[-1]
