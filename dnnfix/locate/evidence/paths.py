"""Files and folders that a report names outside of its traceback."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dnnfix.locate.question import Question, Scores

SHORTEST = 4
"""Letters of a file's name from which on it counts as said where the same word is: `io` and `nn` are words of their own."""


def evidence(question: Question) -> Iterator[Scores]:
    """Scores of files whose path or bare name, or whose folder's name, is said."""
    index, said = question.index, question.said
    framed = {frame.path for frame in said.frames}
    named: dict[int, float] = {}
    for path in said.paths:
        if path not in framed:
            for file in (found := question.paths.of(path)):
                named[file] = max(named.get(file, 0.0), 1.0 / len(found))
    yield Scores("path", named, dict.fromkeys(named, "the report names the file"))

    text = {word.lower() for word in (*said.marked, *said.called, *said.title.split())}
    stems = {file: path.rpartition("/")[2].removesuffix(".py").lower() for file, path in index.paths.items()}
    called = [file for file, stem in stems.items() if len(stem) >= SHORTEST and stem in text]
    yield Scores("file name", {file: len(called) ** -0.5 for file in called})

    within: dict[str, list[int]] = defaultdict(list)
    for file, path in index.paths.items():
        for folder in path.lower().split("/")[:-1]:
            within[folder].append(file)
    marked = {word.lower() for word in said.marked}
    held = {file: (folder, len(files)) for folder, files in within.items() if folder in marked for file in files}
    why = {file: f"lies in {folder}, which the report names" for file, (folder, _) in held.items()}
    yield Scores("folder", {file: many**-0.5 for file, (_, many) in held.items()}, why)
