"""What an edit action is called with: the program, its runs so far, what a report says, and what is installed."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from dnnfix.detect.crashes.undefined import Undefined, starred, undefined_names
from dnnfix.records import Crash, EditAction, EditStep, RunOutcome, Trace
from dnnfix.run.visible import repository_of, started_from
from dnnfix.source.program import Source

SLOW_STEP = 0.15
"""Seconds of a step of training from which on the trainings of a comparison take longer than there is time for."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that the program needs and no action can make: what it is, and what the user can do."""

    what: str
    line: int | None = None


@dataclass(frozen=True)
class Case:
    """One program that does not run.

    `traces` are its runs so far, the first one as it stands, later ones inside the scaffold of the round before.
    `said` is the text of a bug report around the code, logs and traceback included. `folder` is where the program's own
    files are. `installed` tells whether its interpreter can import a module (top-level names only). `taken` are names
    for which an earlier action has a definition already, `called_with` the words that one gave the program. With `little_data`,
    as little data is made as can be: a run was over before the network had taken its first step.
    """

    source: Source
    traces: tuple[Trace, ...]
    installed: Callable[[str], bool]
    folder: Path | None = None
    said: str = ""
    gpu: bool = False
    arguments: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()
    called_with: tuple[str, ...] = ()
    little_data: bool = False
    started: Path | None = None
    """Where the run of a program is started whose module this case is of."""

    @property
    def of_several(self) -> bool:
        """Whether a run was that of two processes, which find each other, and each of which is told its rank."""
        return any("world" in trace.probes for trace in self.traces)

    @property
    def latest(self) -> Trace | None:
        """The last run."""
        return self.traces[-1] if self.traces else None

    @property
    def too_much(self) -> bool:
        """Whether what was made may have been too large for the last run, or for many like it; actions that can make it smaller do."""
        if self.latest is None:
            return False
        ended = self.latest.outcome in (RunOutcome.TIMEOUT, RunOutcome.OUT_OF_MEMORY)
        return ended or (self.latest.step_seconds or 0.0) > SLOW_STEP

    @property
    def crash(self) -> Crash | None:
        """The exception that ended the last run."""
        return self.latest.crash if self.latest is not None else None

    @cached_property
    def undefined(self) -> tuple[Undefined, ...]:
        """The names that the program uses and nothing defines, each with its first use; not those that are taken."""
        return tuple(name for name in undefined_names(self.source) if name.name not in self.taken)

    def may_be_starred(self, name: str) -> bool:
        """Whether a name may come from a star import of a module with unknown names, and no run failed for want of
        it.
        """
        missed = self.crash is not None and self.crash.kind == "NameError" and f"'{name}'" in self.crash.message
        return starred(self.source) is None and not missed

    @cached_property
    def start(self) -> Path | None:
        """The folder that a run is started in: the program's own, or the one above it where more of what it names is."""
        if self.folder is None or self.started is not None:
            return self.started
        repository = repository_of(self.folder)
        place = str(self.folder.relative_to(repository) / Path(self.source.path).name)
        text = b"\n".join(file.raw for file in self.source.files.values())
        return self.folder / started_from(repository, place, text, self.arguments)

    def exists(self, path: str) -> bool:
        """Whether a file or folder that the program names exists, relative to the folder it is run from."""
        return self.start is not None and (self.start / path).exists()

    def sees(self, path: str) -> bool:
        """Whether a run finds a file or folder that the program names: it is there, and in the program's repository."""
        if self.folder is None or self.start is None or not self.exists(path):
            return False
        return Path(os.path.normpath(self.start / path)).is_relative_to(repository_of(self.folder))

    def taking(self, names: frozenset[str], words: tuple[str, ...] = ()) -> Case:
        """The case for the actions that come after definitions of these names and words of the command line."""
        if not names and not words:
            return self
        return replace(self, taken=self.taken | names, called_with=(*self.called_with, *words))


class Action(Protocol):
    """A module of this package that carries out one of the ten edit actions."""

    ACTION: EditAction

    def steps(self, case: Case) -> Iterator[EditStep | Gap]:
        """The action's steps for the case, in the order of the program."""
