"""Edit action: hyperparameter initialization. Smaller batches, fewer layers and shorter texts, where a run is too slow else.

A program that takes minutes for its first step shows nothing of its faults in a run of seconds. What a program says that its
size is by a name (a constant, an option, a field, a default) is made smaller wherever it says so. Widths stay as they are: what
layers give each other has to fit. Where smaller sizes do not fit one another either, they stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.arguments.options import read_as
from dnnfix.reproduce.case import Case, Gap
from dnnfix.run.probe.program.scaffold import bound_numbers

ACTION = EditAction.HYPERPARAMETERS

MOST = (
    (re.compile(r"(?:\w+_)?(?:batch_?size|bs)(?:_\w+)?|bsz"), 4),
    (re.compile(r"(?:n|num)_?(?:\w+_)?(?:layers?|blocks?)|(?:encoder|decoder|hidden)_layers"), 2),
    (re.compile(r"block_size|(?:max_)?(?:seq|sequence|context|text|sent|sentence)_?(?:len|length|size)|max_len(?:gth)?|bptt"
                r"|n_ctx|n_positions|max_position_embeddings"), 64),
    (re.compile(r"(?:grad(?:ient)?_)?accum(?:ulation|ulate)?(?:_(?:steps|iters?|grad_batches))?"), 2),
    (re.compile(r"(?:eval|val|valid|test)_(?:iters?|steps|batches)"), 2),
)  # fmt: skip
"""Names of sizes, and the largest that they are: of what is shared out among processes no less than there may be."""

_DOES_NOT_FIT = re.compile(
    r"shape|\bsizes?\b|mat1 and mat2|dimension|divisible|multiple of|out of (?:range|bounds)|expected", re.IGNORECASE
)


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """One step for all sizes, where as little as can be is wanted and no run showed that smaller ones do not fit."""
    if not case.little_data or _does_not_fit(case):
        return
    found: dict[str, tuple[int, int]] = {}
    program = case.source.within or case.source
    for file in (program, *program.beside):
        for name, number, value in bound_numbers(file.tree):
            most = most_of(name)
            if most is not None and value > most:
                found.setdefault(name, (most, number.lineno if file is program else 0))
    words = tuple(_given_again(case.called_with))
    if found or words:
        told = ", ".join(f"{name}={most}" for name, (most, _line) in found.items())
        yield EditStep(
            ACTION,
            f"sizes are smaller: {told or ' '.join(words)}",
            "the time or the memory of a run was over before the first step with those of the program",
            min((line for _most, line in found.values() if line), default=None),
            scaffold=Scaffold(arguments=words, sizes=tuple((name, most) for name, (most, _line) in found.items())),
            form_known=True,
        )


def most_of(name: str) -> int | None:
    """The largest number that what is called so should be; `None` for what is no size or may not be changed alone."""
    return next((most for pattern, most in MOST if pattern.fullmatch(name.lower())), None)


def _given_again(words: tuple[str, ...]) -> Iterator[str]:
    """Options of a command line with smaller numbers: of two words for one option a parser takes the last."""
    for word, following in pairwise((*words, "")):
        option, equals, value = word.partition("=")
        most = most_of(read_as(option)) if option.startswith("--") else None
        number = value if equals else following
        if most is not None and number.isdecimal() and int(number) > most:
            yield from (f"{option}={most}",) if equals else (option, str(most))


def _does_not_fit(case: Case) -> bool:
    """Whether the last run, which had smaller sizes, ended where sizes do not fit one another."""
    crash = case.crash if len(case.traces) > 1 else None
    return crash is not None and (crash.kind == "AssertionError" or _DOES_NOT_FIT.search(crash.message) is not None)
