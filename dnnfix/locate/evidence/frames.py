"""The stack frames of a report that lie in the repository, the innermost first, and what it points at by a link or a line."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.locate.answer import Line
from dnnfix.locate.question import Question, Scores
from dnnfix.locate.said import Frame


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files that frames and links name."""
    inner: dict[int, float] = {}
    why: dict[int, str] = {}
    for rank, (frame, files) in enumerate(_here(question), 1):
        for file in files:
            inner.setdefault(file, 1.0 / rank / len(files))
            why.setdefault(file, _words(frame, rank))
    yield Scores("frame", inner, why)
    yield Scores("innermost frame", {file: 1.0 for file, score in inner.items() if score == 1.0})
    pointed = {file: words for _, files, words in _pointed(question) for file in files}
    yield Scores("link", dict.fromkeys(pointed, 1.0), pointed)


def of_definitions(question: Question) -> Iterator[Scores]:
    """Scores of definitions that frames and links lie in, by their function's name or, with the file at hand, by the line."""
    inner: dict[int, float] = {}
    why: dict[int, str] = {}
    for rank, (frame, files) in enumerate(_here(question), 1):
        for number in _definitions(question, frame, files):
            inner.setdefault(number, 1.0 / rank)
            why.setdefault(number, _words(frame, rank))
    yield Scores("frame", inner, why)
    yield Scores("innermost frame", {number: 1.0 for number, score in inner.items() if score == 1.0})
    pointed = {
        number: words
        for frame, files, words in _pointed(question)
        if frame.line
        for number in _definitions(question, frame, files)
    }
    yield Scores("link", dict.fromkeys(pointed, 1.0), pointed)


def lines(question: Question) -> Iterator[tuple[int, Line]]:
    """The lines that frames, links and sentences name, each with its file, as far as that has so many."""
    framed = ((frame, files, "a frame of the traceback") for frame, files in _here(question))
    for frame, files, reason in (*framed, *_pointed(question)):
        for file in files:
            if 0 < frame.line <= question.index.lines[file]:
                yield file, Line(frame.line, frame.line, reason)


def _here(question: Question) -> Iterator[tuple[Frame, list[int]]]:
    """Frames in the repository, the innermost first, each with the files that it may lie in."""
    for frame in reversed(question.said.frames):
        if files := question.paths.of(frame.path):
            yield frame, files


def _pointed(question: Question) -> Iterator[tuple[Frame, list[int], str]]:
    """Links and lines that sentences name, each with the files that it may stand for, and the reason in words."""
    for link in question.said.links:
        yield link, question.paths.of(link.path), "the report links to it"
    for told in question.said.told:
        yield told, question.paths.of(told.path), "the report names the line"


def _definitions(question: Question, frame: Frame, files: list[int]) -> list[int]:
    """Lines of another version are others, so that the function's name decides, and the line between two of one name."""
    places = [place for file in files for place in question.index.in_file(file)]
    if frame.function:
        named = [place for place in places if place.name.rpartition(".")[2] == frame.function.rpartition(".")[2]]
        near = min((abs(place.first - frame.line) for place in named), default=0)
        return [place.id for place in named if not frame.line or abs(place.first - frame.line) == near]
    around = (question.around(file, frame.line) for file in files)
    return [place.id for place in around if place is not None]


def _words(frame: Frame, rank: int) -> str:
    place = f"line {frame.line}" if frame.line else "a line"
    name = f" in {frame.function}" if frame.function else ""
    return f"{'the innermost frame here' if rank == 1 else f'frame {rank} from within'} of the traceback: {place}{name}"
