"""What a cut training still has to accept and return: sizes of data sets, and results of the expected length."""

from __future__ import annotations

import sys
from typing import Any, Dict, Optional

from ..guard import note
from .values import as_array, facts, is_data, named_parts

_LONGEST_HISTORY = 100_000


def is_arrays(item: Any) -> bool:
    """Whether the inputs are arrays, whose targets are another argument, and not a data set."""
    return all(is_data(part) or isinstance(part, (list, tuple)) for _, part in named_parts(item))


def specified(dataset: Any) -> Dict[str, Any]:
    """The specification of the first component of a `tf.data` set."""
    specification = getattr(dataset, "element_spec", None)
    first = specification[0] if isinstance(specification, tuple) and specification else specification
    return facts(first) if is_data(first) else {}


def rows_asked(x: Any, steps: Any, batch_size: Any) -> Optional[int]:
    """How many samples a prediction is for; `None` where only iterating the data would tell."""
    for _, part in named_parts(x):
        shape = getattr(part, "shape", None)
        if shape:
            return min(int(shape[0]), steps * (batch_size or 32)) if isinstance(steps, int) else int(shape[0])
    return None


def repeated(result: Any, rows: int) -> Any:
    """The predictions, repeated until there is one for every sample."""
    numpy: Any = sys.modules.get("numpy")
    if isinstance(result, (list, tuple)):
        return type(result)([repeated(one, rows) for one in result])
    if isinstance(result, dict):
        return {key: repeated(one, rows) for key, one in result.items()}
    if as_array(result) is None or not result.shape or result.shape[0] >= rows or not result.shape[0]:
        return result
    return numpy.resize(result, (rows,) + tuple(result.shape[1:]))


def lengthen(history: Any, given: Dict[str, Any]) -> None:
    """Repeat the last entries of a history for the epochs that were left out: programs index and plot histories by
    epoch.
    """
    wanted = int(given.get("epochs") or given.get("nb_epoch") or 1) - int(given.get("initial_epoch") or 0)
    if not 0 < wanted <= _LONGEST_HISTORY:
        return
    frequency = given.get("validation_freq") or 1
    for key, values in history.history.items():
        length = wanted // frequency if key.startswith("val_") and isinstance(frequency, int) else wanted
        if isinstance(values, list) and values and len(values) < length:
            values.extend([values[-1]] * (length - len(values)))
    epochs = getattr(history, "epoch", None)
    if isinstance(epochs, list) and epochs and len(epochs) < wanted:
        epochs.extend(range(epochs[-1] + 1, epochs[0] + wanted))


def without_workers(x: Any) -> None:
    """Have data sets load in this process: worker processes and threads would outlive a training that is cut."""
    if type(x).__module__.startswith("torch.utils.data") and getattr(x, "num_workers", False):
        vars(x).update(num_workers=0, prefetch_factor=None, persistent_workers=False)
        vars(x)["_DataLoader__multiprocessing_context"] = None
        note("data loaders ran without worker processes")
    elif hasattr(x, "_use_multiprocessing") and hasattr(x, "_workers") and (x._workers > 1 or x._use_multiprocessing):
        x._workers, x._use_multiprocessing = 1, False
        note("data sets were loaded without worker processes")
