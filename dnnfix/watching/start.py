"""`dnnfix.watch`: begins to watch a training of torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dnnfix.errors import EnvironmentProblem
from dnnfix.watching.monitor import PATIENCE
from dnnfix.watching.pace import SHARE
from dnnfix.watching.session import LOG, Watch, Wishes

if TYPE_CHECKING:
    from collections.abc import Sequence


def watch(
    model: Any,
    *,
    log: str | os.PathLike[str] | None = LOG,
    stop: bool = False,
    share: float = SHARE,
    patience: int = PATIENCE,
    to: object | Sequence[object] | None = None,
) -> Watch:
    """Tell the symptoms of a torch training while it runs, until the handle is closed or the `with` statement ends.

    Each new symptom is a line of JSON in the log, a warning of the logger `dnnfix.watch`, and an entry of TensorBoard,
    Weights & Biases or MLflow where one is given or, of the last two, active. `docs/watching.md` lists the symptoms.

        with dnnfix.watch(model) as watch:
            train(model)

    Args:
        model: the `torch.nn.Module` that trains.
        log: the file that lines are appended to, which `dnnfix suggest --log` reads; `None` for no file.
        stop: raise `TrainingStopped` from the optimizer's step where a loss, gradient or weight is no finite number.
        share: the part of the time that watching may take, from 0 to 1.
        patience: optimizer steps before which it is not said of a training that it learns nothing.
        to: a `SummaryWriter`, a run of wandb or a run of MLflow, or several of them.

    Raises:
        ConfigError: the model is no module of torch, or a number makes no sense.
        EnvironmentProblem: torch or numpy is not installed.
        InputError: the log cannot be written.
    """
    wishes = Wishes.of(log, stop, share, patience, to)
    try:
        from dnnfix.watching.torch import watched
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(f"dnnfix.watch needs {error.name}: pip install {error.name}") from error
    return watched(model, wishes)
