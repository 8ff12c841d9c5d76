"""What a run did (prints, losses, layer outputs), in a form in which two runs can be compared for sameness."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from dnnfix.records import Trace

NEAR = 1e-4
"""Relative difference up to which two numbers of deterministic runs are the same: sums may be taken in another order."""

MASKED = "…"
"""Stands for a piece of the printed text that is left out."""

CONTAINERS = frozenset({"torch.nn.Sequential", "keras.models.Sequential", "keras.models.Model"})
"""Networks made of layers alone: what a call of one gives is what its layers gave, which are compared themselves."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)\b")

_FIGURES = re.compile(r"\d[\d.]*|#")
"""A number, also one with its unit behind it (`0.53s`)."""

_PIECE = re.compile(r"[\w.+-]+|[^\s\w]")
"""A piece of printed text: a word, a number with its unit, or a mark. No number is in two pieces."""


@dataclass(frozen=True, slots=True)
class Mask:
    """What of a run is left out of a comparison, as positions that count from 0: pieces of what is printed, losses, calls."""

    printed: frozenset[int] = frozenset()
    losses: frozenset[int] = frozenset()
    shapes: frozenset[int] = frozenset()


NOTHING = Mask()

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a run did, as far as it can be compared: words and numbers printed, losses, and what its layers gave.

    Reshaping and other functions between the layers are left out, and the library's containers of layers: one result is
    got in many ways.
    """

    words: str
    numbers: tuple[float, ...]
    losses: tuple[float, ...]
    shapes: tuple[object, ...]

    @property
    def tells(self) -> bool:
        """Whether there is anything in it that two different programs would differ in."""
        return bool(self.losses or self.numbers or self.shapes)

    def same_as(self, other: Behaviour) -> bool:
        """Whether two runs did the same up to rounding."""
        if (self.words, self.shapes) != (other.words, other.shapes):
            return False
        return _near(self.numbers, other.numbers) and _near(self.losses, other.losses)

    def same_but_for_numbers_printed(self, other: Behaviour) -> bool:
        """Whether two runs had the same losses and layers, and printed the same words, with other numbers in them: a clock, or a result."""
        alike = _FIGURES.sub("#", self.words) == _FIGURES.sub("#", other.words) and self.shapes == other.shapes
        return alike and _near(self.losses, other.losses) and bool(self.losses or self.shapes)

    def comes_to_the_same(self, other: Behaviour) -> bool:
        """Whether two runs had the same losses, by whatever layers and losses; where nothing trained, whether they did the same."""
        if self.losses and other.losses:
            return _near(self.losses, other.losses)
        return self.same_as(other)


def behaviour(trace: Trace, mask: Mask = NOTHING) -> Behaviour:
    """What a run did. Every masked position keeps a placeholder, so that positions still correspond."""
    calls = trace.network.calls if trace.network is not None else ()
    losses = trace.losses
    layers = [call for call in calls if call.component is not None and call.name not in CONTAINERS]
    shapes = [(call.name, tuple((v.shape, v.dtype) for v in call.outputs)) for call in layers]
    printed = _without(trace.printed, mask.printed)
    return Behaviour(
        words=_words(printed),
        numbers=_numbers(printed),
        losses=tuple(math.nan if place in mask.losses else loss for place, loss in enumerate(losses)),
        shapes=tuple(None if place in mask.shapes else shape for place, shape in enumerate(shapes)),
    )


def same_behaviour(some: Sequence[Trace], others: Sequence[Trace]) -> bool:
    """Whether two programs did the same on the same seeds."""
    pairs = [(behaviour(one), behaviour(other)) for one, other in zip(some, others, strict=True)]
    return bool(pairs) and all(one.tells and one.same_as(other) for one, other in pairs)


def same_but_for_itself(some: Sequence[Trace], others: Sequence[Trace], again: Sequence[Sequence[Trace]]) -> bool:
    """Whether a program did what another one did on the same seeds, but for what the other one does otherwise each time.

    `again` has for each seed further runs of the other program, with nothing changed. Where one of them differs from the
    first, as in a clock that is printed, nothing is asked of the first program. A run of which that leaves nothing is the
    same as no other.
    """
    triples = list(zip(some, others, again, strict=True))
    return bool(triples) and all(_same_under(_itself(other, more), one, other) for one, other, more in triples)


def _itself(one: Trace, again: Sequence[Trace]) -> Mask:
    """Where a run differs from any of the others of the same program and seed."""
    masks = [differing(one, other) for other in again]
    return Mask(
        printed=frozenset().union(*(mask.printed for mask in masks)),
        losses=frozenset().union(*(mask.losses for mask in masks)),
        shapes=frozenset().union(*(mask.shapes for mask in masks)),
    )


def differing(one: Trace, other: Trace) -> Mask:
    """Where two runs of one program under one seed differ.

    What is printed is held against each other line by line, piece by piece: nothing of it is masked where the runs print
    another number of lines, and nothing of a line that has another number of pieces. A piece that differs is masked in all
    lines of the same words. Losses, and what layers gave, are masked where both runs have as many of them.
    """
    mine, its = behaviour(one), behaviour(other)
    return Mask(
        printed=_printed_otherwise(one.printed.splitlines(), other.printed.splitlines()),
        losses=_places(mine.losses, its.losses, lambda a, b: _near((a,), (b,))),
        shapes=_places(mine.shapes, its.shapes, lambda a, b: a == b),
    )


def _printed_otherwise(some: Sequence[str], others: Sequence[str]) -> frozenset[int]:
    """The pieces of the first lines that are not the same in the others, in all lines that have the same words.

    A clock that is printed in every round may have stood alike in some of them.
    """
    if len(some) != len(others):
        return frozenset()
    pieces = [_PIECE.findall(one) for one in some]
    unlike: dict[tuple[str, int], set[int]] = {}
    for line, own, other in zip(some, pieces, others, strict=True):
        unlike.setdefault((_FIGURES.sub("#", line), len(own)), set()).update(
            _places(own, _PIECE.findall(other), _same_piece)
        )
    found: set[int] = set()
    start = 0
    for line, own in zip(some, pieces, strict=True):
        found.update(start + place for place in unlike[_FIGURES.sub("#", line), len(own)])
        start += len(own)
    return frozenset(found)


def _same_piece(one: str, other: str) -> bool:
    return _words(one) == _words(other) and _near(_numbers(one), _numbers(other))


def _places(some: Sequence[Item], others: Sequence[Item], same: Callable[[Item, Item], bool]) -> frozenset[int]:
    """The places at which two sequences differ; none where one is longer than the other, so that no places belong together."""
    if len(some) != len(others):
        return frozenset()
    return frozenset(place for place, (a, b) in enumerate(zip(some, others, strict=True)) if not same(a, b))


def _same_under(mask: Mask, one: Trace, other: Trace) -> bool:
    return _leaves(mask, other) and behaviour(one, mask).same_as(behaviour(other, mask))


def _leaves(mask: Mask, trace: Trace) -> bool:
    """Whether a mask leaves something of a run that tells: of its losses, or else of its numbers, or else of its layers."""
    whole = behaviour(trace)
    if whole.losses:
        return len(mask.losses) < len(whole.losses)
    if whole.numbers:
        return bool(behaviour(trace, mask).numbers)
    return len(mask.shapes) < len(whole.shapes)


def _without(printed: str, places: frozenset[int]) -> str:
    """The printed text with `MASKED` in place of the pieces at these places."""
    if not places:
        return printed
    place = count()
    return _PIECE.sub(lambda found: MASKED if next(place) in places else found[0], printed)


def _words(printed: str) -> str:
    return " ".join(_NUMBER.sub("#", printed).split())


def _numbers(printed: str) -> tuple[float, ...]:
    return tuple(float(found) for found in _NUMBER.findall(printed))


def _near(some: Sequence[float], others: Sequence[float]) -> bool:
    if len(some) != len(others):
        return False
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=NEAR, abs_tol=NEAR**2)
        for a, b in zip(some, others, strict=True)
    )
