"""Similarity of names: their words, misspellings, abbreviations, and which known name a wrong one is likely to mean.

A meaning is returned only where exactly one known name fits.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

ALIKE = 0.85
"""Likeness from which on two long names are taken for one, where no third name comes near (`lesser_equal`, `less_equal`)."""

MARGIN = 0.06
"""How much less alike the second best has to be."""

LONG = 6
"""Letters of a name from which on likeness says something."""

SHORT = 3
"""Letters that the beginning of a name has at least."""

SLIP = 0.8
"""How alike, as difflib measures it, two spellings are that `likeness` takes for a slip: one letter in five."""

SHARED = 0.6
"""How alike names are at least of which one has all words of the other."""

_FEW = 4
"""Names and words of fewer letters are too near to one another for that."""

_NEXT = 0.04
"""By how much the likest name has to be liker than the next."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORD = re.compile(r"[A-Z]?[a-z]+[0-9]?|[A-Z]+[0-9]?(?![a-z])")


def parts(name: str) -> tuple[str, ...]:
    """The words and numbers of a name, in lower case: those of `num_filters` and `numFilters` are the same."""
    return tuple(word.lower() for word in _PART.findall(name))


def words_of(name: str) -> tuple[str, ...]:
    """The words of an identifier or key, in lower case, each with its digits (`valF1`, `val_f1`: `val`, `f1`)."""
    return tuple(word.lower() for word in _WORD.findall(name))


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is a misspelling of: the same letters in another order, or one letter off.

    An undefined name of that kind is a fault of the program, and to define it would hide that. Distinct names that programs use side
    by side (`x_train`, `y_train`) differ in digits or in the first letter.
    """
    return min(
        (other for other in known if _is_slip(name, other)), key=lambda one: (slips(name, one), one), default=None
    )


def _is_slip(name: str, other: str) -> bool:
    """Whether a letter is missing, doubled or wrong, or letters are exchanged; short names are too near to one another."""
    if len(name) < 5 or abs(len(name) - len(other)) > 1:
        return False
    if sorted(other) == sorted(name):
        return slips(name, other) <= 2
    return name[0] == other[0] and _digits(name) == _digits(other) and slips(name, other) == 1


def same_letters(name: str, known: Iterable[str]) -> str | None:
    """The one name that differs in case and underscores only."""
    return _only(other for other in known if other != name and _bare(other) == _bare(name))


def one_letter_off(name: str, known: Iterable[str]) -> str | None:
    """The one name that has a letter more, less or changed, or two of them exchanged."""
    return _only(other for other in known if other != name and _is_slip(name, other))


def longer(name: str, known: Iterable[str]) -> str | None:
    """The one name that begins with this one, or that has its words and the fewest additional ones."""
    names = [other for other in known if other != name]
    begun = [other for other in names if other.startswith(name)]
    if begun:
        return begun[0] if len(begun) == 1 and len(name) >= SHORT else None
    wanted = set(parts(name))
    around = [other for other in names if wanted and wanted < set(parts(other))]
    least = min((len(parts(other)) for other in around), default=0)
    return _only(other for other in around if len(parts(other)) == least)


def alike(name: str, known: Iterable[str]) -> str | None:
    """The one long name that is very similar, where no other is nearly as similar."""
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
    """The number of missing, extra, changed or exchanged letters (the edit distance with transpositions)."""
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


def likeness(asked: str, known: str) -> float:
    """How likely it is that one name stands for the other, from 0 to 1.

    The same words in another case come first, then shortened words, then a slip in the spelling, then a name that has
    further words; each further word makes it less likely.
    """
    here, there = parts(asked), parts(known)
    if not here or not there:
        return 0.0
    if "".join(here) == "".join(there):
        return 1.0
    found = 0.0
    if len(here) == len(there) and all(_shortened(one, other) for one, other in zip(here, there, strict=True)):
        # half of an only word is another word: `rand` and `randrange`
        found = 0.9 if len(here) > 1 or 2 * min(len(asked), len(known)) >= max(len(asked), len(known)) else 0.0
    if min(len(asked), len(known)) >= _FEW and not _are_other_words(here, there):
        alike = difflib.SequenceMatcher(None, asked.lower(), known.lower()).ratio()
        found = max(found, alike) if alike >= SLIP else found
    further = abs(len(here) - len(there))
    if set(here) < set(there):
        found = max(found, 0.75 - 0.05 * further)
    elif set(there) < set(here) and len("".join(there)) >= _FEW:
        found = max(found, 0.7 - 0.05 * further)
    return found


def _are_other_words(here: Sequence[str], there: Sequence[str]) -> bool:
    """Whether two names differ in words so short that another letter makes another word: `to_rgb` and `to_argb`."""
    if len(here) != len(there):
        return False
    return any(one != other and min(len(one), len(other)) < _FEW for one, other in zip(here, there, strict=True))


def _shortened(one: str, other: str) -> bool:
    return (one.startswith(other) or other.startswith(one)) and min(len(one), len(other)) > 2 or one == other


def likest(found: Iterable[tuple[float, str]]) -> str | None:
    """The name with the highest likeness, where no other is near it."""
    ranked = sorted(found, reverse=True)
    if not ranked or len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _NEXT:
        return None
    return ranked[0][1]
