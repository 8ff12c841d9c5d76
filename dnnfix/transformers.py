"""The callback that watches trainings of transformers: `Trainer(..., callbacks=[dnnfix.transformers.WatchCallback()])`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dnnfix.watching.monitor import PATIENCE
from dnnfix.watching.pace import SHARE
from dnnfix.watching.places import program_of
from dnnfix.watching.session import LOG, Watch, Wishes

if TYPE_CHECKING:
    _Callback: Any
else:
    from transformers import TrainerCallback as _Callback


class WatchCallback(_Callback):  # type: ignore[misc]
    """Tells the symptoms of a training while `Trainer.train` runs; the arguments are those of `dnnfix.watch`.

    With `stop`, the trainer ends after the step that left the finite numbers. Raises `ConfigError` where a number makes no
    sense.
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

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Begin to watch."""
        if model is None:
            return
        from dnnfix.watching.torch import TorchWatch

        if self.watch is not None:
            self.watch.close()
        self.watch = TorchWatch(model, self._wishes, program_of(model))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the training where it is to end."""
        if self._stop and self.watch is not None and self.watch.broken:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Watch no longer."""
        if self.watch is not None:
            self.watch.close()
