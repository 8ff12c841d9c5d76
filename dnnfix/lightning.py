"""The callback that watches trainings of Lightning: `Trainer(callbacks=[dnnfix.lightning.WatchCallback()])`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from dnnfix.watching.monitor import PATIENCE
from dnnfix.watching.pace import SHARE
from dnnfix.watching.places import program_of
from dnnfix.watching.session import LOG, Watch, Wishes

if TYPE_CHECKING:
    _Callback: Any
elif "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning import Callback as _Callback  # the older name of the same library, with classes of its own
else:
    from lightning.pytorch import Callback as _Callback


class WatchCallback(_Callback):  # type: ignore[misc]
    """Tells the symptoms of a training while `Trainer.fit` runs; the arguments are those of `dnnfix.watch`.

    With `stop`, the trainer ends after the step that left the finite numbers. Writers and runs of the trainer's own loggers
    are told without being named in `to`. Raises `ConfigError` where a number makes no sense.
    """

    def __init__(
        self,
        *,
        log: str | os.PathLike[str] | None = LOG,
        stop: bool = False,
        share: float = SHARE,
        patience: int = PATIENCE,
        to: object | None = None,
    ) -> None:
        super().__init__()
        self.watch: Watch | None = None
        """The watch of the training under way, or of the last one."""
        self._stop = stop
        self._wishes = Wishes.of(log, False, share, patience, to)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to watch."""
        from dnnfix.watching.torch import TorchWatch

        own = [_writer(logger) for logger in trainer.loggers]
        wishes = self._wishes
        known = Wishes(wishes.log, False, wishes.share, wishes.patience, (*wishes.to, *(one for one in own if one)))
        self.watch = TorchWatch(pl_module, known, program_of(pl_module))

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End the training where it is to end."""
        if self._stop and self.watch is not None and self.watch.broken:
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Watch no longer."""
        if self.watch is not None:
            self.watch.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Watch no longer."""
        self.on_train_end(trainer, pl_module)


def _writer(logger: Any) -> object | None:
    """The writer of TensorBoard behind a logger; runs of wandb are found by themselves."""
    found = getattr(logger, "experiment", None)
    return found if hasattr(found, "add_text") else None
