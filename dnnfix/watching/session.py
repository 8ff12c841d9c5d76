"""What every framework's watch has in common: its monitor, its pace, its log, and the end of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from dnnfix.errors import ConfigError, TrainingStopped
from dnnfix.records import Json
from dnnfix.records.record import record
from dnnfix.run.probe.measures.learners import Examples
from dnnfix.run.probe.measures.units import Units
from dnnfix.watching import places
from dnnfix.watching.log import LogWriter, Seen
from dnnfix.watching.monitor import MOST_LOOKS, PATIENCE, Monitor
from dnnfix.watching.outlets import Outlets, is_first_process
from dnnfix.watching.pace import SHARE, Pace, now, since

LEARNERS_TAKE = 0.5
"""Seconds that the simple learners are taken to need for the rows of a training."""

LOG = "symptoms.jsonl"
"""The log that is written where no other is named."""


@record
class Wishes:
    """How a training is watched: see `dnnfix.watch`. Raises `ConfigError` where a number makes no sense."""

    log: str | os.PathLike[str] | None = LOG
    stop: bool = False
    share: float = SHARE
    patience: int = PATIENCE
    to: tuple[object, ...] = ()

    @classmethod
    def of(
        cls,
        log: str | os.PathLike[str] | None,
        stop: bool,
        share: float,
        patience: int,
        to: object,
    ) -> Wishes:
        """The wishes of a caller, who may give one writer or several."""
        if not 0 < share <= 1:
            raise ConfigError(
                f"share is the part of the time that watching may take, above 0 and up to 1. Received: {share!r}"
            )
        if patience < 0:
            raise ConfigError(f"patience is a number of optimizer steps. Received: {patience!r}")
        several = to if isinstance(to, (list, tuple)) else () if to is None else (to,)
        return cls(log, stop, share, patience, tuple(several))


class Watch:
    """A training that is watched, until `close` is called or the `with` statement ends. `seen` are its symptoms so far.

    `stopped` says whether it left the finite numbers where it was to end then.
    """

    framework = ""

    def __init__(self, model: Any, name: str, wishes: Wishes, program: places.Program) -> None:
        self.seen: list[Seen] = []
        self.stopped = False
        self.closed = False
        self._model: Any = model
        self._wishes = wishes
        self._program = program
        self._pace = Pace(wishes.share)
        self._examples = Examples()
        self._reference: Mapping[str, Json] | None = None
        self._asked_learners = False
        self._has_all_rows = False
        """Whether no more rows come for the simple learners, however few there are."""
        self._units = Units()
        self._looks = 0
        self._paths: dict[Any, str] = {}
        self._gradients: list[tuple[int, Mapping[str, float]]] = []
        self._monitor = Monitor(self._tell, wishes.patience, lambda: self._reference, self._of_layers)
        log = wishes.log if is_first_process() else None
        writer = None if log is None else LogWriter(log, program.file, self.framework, name)
        self._outlets = Outlets(writer, wishes.to) if is_first_process() else None

    @property
    def steps(self) -> int:
        """How many optimizer steps were seen."""
        return self._monitor.step

    @property
    def broken(self) -> bool:
        """Whether the training left the finite numbers."""
        return self._monitor.broken

    @property
    def share(self) -> float:
        """The share of the time since the start that watching took, by its own clocks."""
        return self._pace.taken

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Watch no longer, and end the log. Nothing happens where that was done before."""
        if not self.closed:
            self.closed = True
            self._detach()
            self._judge_at_last()
            if self._outlets is not None:
                self._outlets.end(self.steps, self.share)

    def _detach(self) -> None:
        """Take the hooks away."""

    def _path_of(self, where: str) -> str:
        """The path, as `places` follows it, of what a symptom names."""
        return where

    def _attribute(self, owner: Any, name: str, default: Any) -> Any:
        """What one step of a module's path leads to."""
        return getattr(owner, name, default)

    # What was measured of the layers

    def _of_layers(self) -> Mapping[str, Json] | None:
        """What the looks measured of layers and gradients, as a run in the sandbox records it, with the path of each layer."""
        found = self._units.found()
        if found is None:
            return None
        for layer, key in zip(found["layers"], self._units._layers, strict=True):
            layer["path"] = self._paths.get(key, "")
        names = dict.fromkeys(name for _, known in self._gradients for name in known)
        found["weights"] = [
            {"name": name, "gradients": [known.get(name) for _, known in self._gradients]} for name in names
        ]
        return found

    def _layers_looked(self, gradients: Mapping[str, float]) -> None:
        """A look at the layers is over; those of long ago are forgotten."""
        self._units.step_done(self.steps)
        self._gradients.append((self.steps, gradients))
        self._looks += 1
        if self._looks % MOST_LOOKS == 0:
            self._units, self._gradients = Units(), []

    def _judge_at_last(self) -> None:
        """The training is over: say what it shows as a whole. No step waits any more for what the simple learners take."""
        self._monitor.ended()
        self._has_all_rows = True
        if self._ask_learners(at_last=True):
            self._monitor.ended()

    def _ask_learners(self, at_last: bool = False) -> bool:
        """Have simple learners tried on the rows put aside, once, where it matters what they come to and there is time.

        Whether they were tried now.
        """
        if self._asked_learners or not (self._has_all_rows or self._examples.full) or not self._monitor.may_be_stuck:
            return False
        if at_last or self._pace.has_time(self.steps, LEARNERS_TAKE):
            self._asked_learners = True
            begun = now()
            self._reference = self._examples.reference()
            self._pace.also(since(begun))
            return True
        return False

    # What is told

    def _tell(self, seen: Seen) -> None:
        try:
            place = places.made_at(self._model, self._path_of(seen.where), self._program, self._attribute)
        except ReferenceError:  # the model is gone, and its watch ends
            place = None
        if place is not None:
            seen = Seen(seen.step, seen.reading, seen.where, self._program.relative(place[0]), place[1])
        self.seen.append(seen)
        if self._outlets is not None:
            self._outlets.tell(seen)
        if seen.reading.name == "non-finite" and self._wishes.stop:
            self.stopped = True

    def _end_if_stopped(self) -> None:
        """Raises `TrainingStopped` where the training is to end."""
        if self.stopped:
            said = self.seen[-1].reading.said
            self.close()
            raise TrainingStopped(f"{said}. The training was stopped, as stop=True asks. Steps: {self.steps}")
