"""The data of a program, followed once: what several actions ask for."""

from __future__ import annotations

from dnnfix.reproduce.arguments.options import read_of
from dnnfix.reproduce.flow.follow import follow
from dnnfix.reproduce.flow.values import Flow
from dnnfix.source.program import Source, once

_FOLLOWED_AT_MOST = 400_000
"""Characters of a program that is followed at most."""


@once
def flow_of(source: Source, undefined: tuple[str, ...], words: tuple[str, ...] = ()) -> Flow:
    """The data of a program, which is called with these words, and what is done with it.

    `undefined` are the names that nothing defines; those of functions of missing modules are qualified.
    """
    if len(source.text) > _FOLLOWED_AT_MOST:
        return Flow()
    return follow(source, undefined, {**read_of(source, words), "argv": ("program.py", *words)})
