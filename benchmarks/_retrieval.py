"""How others rank the files of a repository for a report: BM25 over whole files, rVSM with its earlier reports, and structured retrieval.

BM25 is that of `bm25s` (its default, Lucene's form, k1 1.5, b 0.75), over whole files whose identifiers are split and whose words are
stemmed by `snowballstemmer`. The two others follow their papers: rVSM is BugLocator's (Zhou, Zhang and Lo 2012), which weighs a file's length by a
logistic function and adds what earlier reports that were mended say, with weight 0.2; structured retrieval is that of BLUiR (Saha et al. 2013), the sum over
title and description and over class names, method names, identifiers and comments.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import bm25s
import numpy as np
import snowballstemmer

from dnnfix.locate.said import Said
from dnnfix.locate.words import words

EARLIER = 0.2
"""What earlier reports weigh against the text, in BugLocator's combination."""

_stem = cache(snowballstemmer.stemmer("english").stemWord)


def tokens(text: str) -> list[str]:
    """Words, identifiers split, stemmed."""
    return [_stem(word) for word in words(text)]


@dataclass(frozen=True)
class Source:
    """A file by its parts, each as tokens."""

    whole: Sequence[str]
    counts: Counter[str]
    """How often each token stands in the whole."""
    classes: Sequence[str]
    methods: Sequence[str]
    identifiers: Sequence[str]
    comments: Sequence[str]


@dataclass
class Sources:
    """Files by the name of their object, so that a file which does not change is read once."""

    known: dict[str, Source] = field(default_factory=dict)

    def of(self, stamp: str, text: str) -> Source:
        """The parts of a file."""
        if stamp not in self.known:
            self.known[stamp] = _source(text)
        return self.known[stamp]


def _source(text: str) -> Source:
    classes, methods = [], []
    try:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                classes.append(node.name)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                methods.append(node.name)
    except (SyntaxError, ValueError, RecursionError):
        pass
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    comments += text.split('"""')[1::2]
    whole = tokens(text)
    return Source(
        whole,
        Counter(whole),
        tokens(" ".join(classes)),
        tokens(" ".join(methods)),
        whole,
        tokens("\n".join(comments)),
    )


def bm25(said: Said, files: Sequence[Source]) -> Any:
    """BM25 of whole files for the whole report."""
    return _bm25([file.whole for file in files], said.whole)


def structured(said: Said, files: Sequence[Source]) -> Any:
    """The sum of eight searches: title and description in four parts of a file."""
    total = np.zeros(len(files))
    for part in ("classes", "methods", "identifiers", "comments"):
        documents = [getattr(file, part) for file in files]
        total += _bm25(documents, said.title, f"{said.prose}\n{said.code}\n{said.logs}")
    return total


def _bm25(documents: Sequence[Sequence[str]], *questions: str) -> Any:
    """The sum over the questions of the BM25 of the documents."""
    index = bm25s.BM25()
    index.index([list(document) or ["∅"] for document in documents], show_progress=False)
    total = np.zeros(len(documents))
    for question in questions:
        known = [token for token in tokens(question) if token in index.vocab_dict]
        if known:
            total += index.get_scores(known)
    return total


def rvsm(said: Said, files: Sequence[Source], earlier: Sequence[tuple[Said, Sequence[int]]]) -> Any:
    """BugLocator: rVSM, and the likeness to earlier reports shared out among the files that mended them."""
    counts = [file.counts for file in files]
    holders = Counter(token for count in counts for token in count)
    rarity = {token: math.log(len(files) / many) for token, many in holders.items()}
    asked = _vector(Counter(tokens(said.whole)), rarity)
    sizes = np.array([sum(count.values()) for count in counts], dtype=float)
    spread = (sizes - sizes.min()) / max(1.0, float(sizes.max() - sizes.min()))
    weight = 1 / (1 + np.exp(-spread))
    text = weight * np.array([_cosine(asked, _vector(count, rarity)) for count in counts])
    before = np.zeros(len(files))
    own = Counter(tokens(said.whole))
    for other, mended in earlier:
        alike = _cosine(_vector(own, None), _vector(Counter(tokens(other.whole)), None))
        for file in mended:
            before[file] += alike / len(mended)
    return (1 - EARLIER) * _spread(text) + EARLIER * _spread(before)


def _vector(counts: Mapping[str, int], rarity: Mapping[str, float] | None) -> Mapping[str, float]:
    return {
        token: (math.log(count) + 1) * (1.0 if rarity is None else rarity[token])
        for token, count in counts.items()
        if rarity is None or token in rarity
    }


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    shared = sum(value * other[token] for token, value in one.items() if token in other)
    lengths = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in other.values()))
    return shared / lengths if lengths else 0.0


def _spread(scores: Any) -> Any:
    least, greatest = scores.min(), scores.max()
    return (scores - least) / (greatest - least) if greatest > least else scores * 0


PEERS: Mapping[str, Callable[..., Any]] = {
    "BM25, whole files": bm25,
    "BLUiR-like": structured,
    "BugLocator (rVSM)": rvsm,
}
