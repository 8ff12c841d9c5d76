"""Runs the data-flow analysis (`flow`) once per program and command line, and caches it for all edit actions."""

from __future__ import annotations

from dnnfix.reproduce.arguments.options import read_of
from dnnfix.reproduce.flow.follow import follow
from dnnfix.reproduce.flow.values import Flow
from dnnfix.source.program import Source, once

_FOLLOWED_AT_MOST = 400_000
"""Characters of a program that is followed at most."""


@once
def flow_of(source: Source, undefined: tuple[str, ...], words: tuple[str, ...] = ()) -> Flow:
    """The missing data of a program that is called with these words, and its uses.

    `undefined` are the names that nothing defines; those of functions of missing modules are qualified.
    """
    if len(source.text) > _FOLLOWED_AT_MOST:
        return Flow()
    return follow(source, undefined, {**read_of(source, words), "argv": ("program.py", *words)})
