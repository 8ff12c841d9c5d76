"""A question to an index, and what a kind of evidence answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dnnfix.locate.index import Index, Place
from dnnfix.locate.resolve import Paths
from dnnfix.locate.said import Said
from dnnfix.locate.spectra.spectrum import Spectrum
from dnnfix.locate.words import words


@dataclass
class Question:
    """What is asked: a report, an index, the time of the report (seconds since 1970), after which nothing is known, and the
    spectrum of tests that show the fault, if any were run."""

    said: Said
    index: Index
    time: float
    spectrum: Spectrum | None = None
    texts: Callable[[Iterable[str]], Iterable[tuple[str, str]]] = lambda _paths: ()
    """(path, text) of files of the state of the repository that the index has."""
    _asked: dict[tuple[object, ...], dict[int, float]] = field(default_factory=dict)

    def alike(self, table: str, text: str, weights: Sequence[float] = ()) -> Mapping[int, float]:
        """BM25 of the rows of a table of words for the words of a text; each question is put to the index once."""
        key = (table, text, *weights)
        if key not in self._asked:
            self._asked[key] = dict(self.index.alike(table, tuple(dict.fromkeys(words(text))), weights))
        return self._asked[key]

    def holding(self, table: str, phrase: str) -> Collection[int]:
        """The rows of a table of words whose body has these words one after the other; each question is put to the index once."""
        key = ("holding", table, phrase)
        if key not in self._asked:
            self._asked[key] = dict.fromkeys(self.index.holding(table, phrase), 1.0)
        return self._asked[key]

    def around(self, file: int, line: int) -> Place | None:
        """The innermost definition of a file that a line stands in."""
        places = [place for place in self.index.in_file(file) if place.first <= line <= place.last]
        return min(places, key=lambda place: place.last - place.first, default=None)

    @cached_property
    def paths(self) -> Paths:
        """Finds the file that a path of the report stands for."""
        return Paths(self.index.paths)


@dataclass(frozen=True, slots=True)
class Scores:
    """What one kind of evidence says: a score above 0 for files or definitions, and the reason in words for some of them."""

    name: str
    of: Mapping[int, float]
    why: Mapping[int, str] = field(default_factory=dict)


Evidence = Callable[[Question], Iterator[Scores]]
"""Gives the scores of one kind of evidence for a question."""
