"""Where symptoms are told: the log, `logging`, and TensorBoard, Weights & Biases or MLflow where they are in use.

None of these libraries is imported: what is given, or was imported by the program and is active, is told.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Iterable
from typing import Any

from dnnfix.watching.log import LogWriter, Seen

LOGGER = logging.getLogger("dnnfix.watch")
"""Each new symptom is a warning here, which Python writes to the standard error stream where nothing else is set."""

GROUP = "dnnfix"
"""What the names of tags and metrics begin with."""


class Outlets:
    """All places where the symptoms of one training are told.

    `to` are writers and runs that the caller gives: a `SummaryWriter`, a run of wandb, a run of MLflow. Of several processes that train together,
    as `RANK` numbers them, the first tells.
    """

    def __init__(self, log: LogWriter | None, to: Iterable[object] = ()) -> None:
        self._log = log
        self._to = tuple(to)
        self._failed: set[str] = set()

    def tell(self, seen: Seen) -> None:
        """Tell a symptom everywhere."""
        place = f" ({seen.place})" if seen.place else ""
        LOGGER.warning("dnnfix: step %d: %s: %s%s", seen.step, seen.reading.name, seen.reading.said, place)
        if self._log is not None:
            self._log.add(seen)
        for target in (*self._to, *_active(self._to)):
            try:
                _told(target, seen)
            except Exception as error:  # noqa: BLE001 - a tracker that is gone must not end the training
                name = type(target).__name__
                if name not in self._failed:
                    self._failed.add(name)
                    LOGGER.warning("dnnfix: %s takes no symptoms: %s: %s", name, type(error).__name__, error)

    def end(self, steps: int, share: float) -> None:
        """The training is watched no longer."""
        if self._log is not None:
            self._log.end(steps, share)


def is_first_process() -> bool:
    """Whether this is the first of the processes that train together."""
    return os.environ.get("RANK", "0") in ("", "0")


def _active(given: tuple[object, ...]) -> Iterable[object]:
    """The runs of wandb and MLflow that are under way, beside those that were given."""
    wandb, mlflow = sys.modules.get("wandb"), sys.modules.get("mlflow")
    run = getattr(wandb, "run", None)
    if run is not None and run not in given:
        yield run
    under_way = mlflow.active_run() if mlflow is not None else None
    if under_way is not None and not any(_run_id(one) == _run_id(under_way) for one in given):
        yield under_way


def _told(target: Any, seen: Seen) -> None:
    name, where = seen.reading.name, f"`{seen.where}` " if seen.where else ""
    text = f"step {seen.step}: {where}{seen.reading.said}{f' ({seen.place})' if seen.place else ''}"
    if hasattr(target, "add_text"):
        target.add_text(f"{GROUP}/{name}", text, seen.step)
        target.flush()
    elif _run_id(target) is not None:
        client = importlib.import_module("mlflow").MlflowClient()
        client.set_tag(_run_id(target), f"{GROUP}.{name}", text[:500])
        client.log_metric(_run_id(target), f"{GROUP}.{name}", 1.0, step=seen.step)
    elif hasattr(target, "summary") and hasattr(target, "log"):
        target.summary[f"{GROUP}/{name}"] = text
        target.log({f"{GROUP}/{name}": 1}, commit=False)
    else:
        raise TypeError("expected a SummaryWriter, or a run of wandb or MLflow")


def _run_id(target: object) -> str | None:
    found = getattr(getattr(target, "info", None), "run_id", None)
    return found if isinstance(found, str) else None
