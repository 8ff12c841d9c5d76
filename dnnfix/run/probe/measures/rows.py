"""Tests whether a model mixes the rows of a batch: its output for a row must not depend on the other rows.

Half of the rows is replaced by copies of a row of the other half, and the outputs for the unchanged rows are compared
with those before. Sizes stay the same, the values are real ones, and sequences that are sorted by length stay sorted.
Layers that draw random numbers draw the same ones in each call. Softmax or a mean over the batch axis, a `view` that
moves elements between rows, and a recurrent layer that runs over the batch axis are all found.

Works on torch tensors and on arrays alike.
"""

from __future__ import annotations

import math
import random
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

_FELT = 1e-3
"""Change of the replaced rows, relative to the largest output, below which they say nothing: rounding gives 1e-7."""

_ROUNDING = 1e-6
"""Change, relative to what it is compared with, that rounding alone may give."""

Call = Callable[[Any], List[Any]]


def apart(call: Call, inputs: Any, axis: int, rows: int) -> Optional[Dict[str, Any]]:
    """The largest change of the unchanged rows' outputs, as a fraction of the change of the replaced ones'.

    `call` gives the outputs (floats) for inputs, of which all that have `rows` rows along `axis` are changed together.
    `None` where nothing can be told: one row only, outputs without rows, that do not depend on the inputs, that are not
    finite, or that are others in each call.
    """
    if rows < 2:
        return None
    put_back = draws()

    def outputs(of: Any) -> List[Any]:
        put_back()
        return call(of)

    before = outputs(inputs)
    half = rows // 2
    shares = []
    for order, kept, gone in (
        ([min(row, half - 1) for row in range(rows)], slice(0, half), slice(half, None)),
        ([max(row, half) for row in range(rows)], slice(half, None), slice(0, half)),
    ):
        after = outputs(_reordered(inputs, axis, rows, order))
        shares += [_share(old, new, rows, kept, gone) for old, new in zip(before, after)]
    known = [share for share in shares if share is not None]
    change = max(known, default=None)
    if change is None or (change > _ROUNDING and not _same(before, outputs(inputs))):
        return None
    return {"axis": axis, "rows": rows, "change": change}


def follows(call: Call, inputs: Any, axis: int, rows: int) -> bool:
    """Whether the model accepts half of the rows along an axis, and returns half of the rows for them."""
    half = rows // 2
    try:
        some = call(_reordered(inputs, axis, rows, list(range(half))))
        whole = call(inputs)
    except Exception:
        return False
    wanted = [[half if size == rows else size for size in item.shape] for item in whole]
    return any(rows in item.shape for item in whole) and [list(item.shape) for item in some] == wanted


def mapped(item: Any, change: Callable[[Any], Any]) -> Any:
    """The nested structure with `change` applied to every tensor in it."""
    if type(item) in (list, tuple):
        return type(item)(mapped(part, change) for part in item)
    if type(item) is dict:
        return {key: mapped(part, change) for key, part in item.items()}
    return change(item) if hasattr(item, "shape") and hasattr(item, "dtype") else item


def draws() -> Callable[[], None]:
    """A function that resets every random generator to its present state."""
    numpy: Any = sys.modules.get("numpy")
    torch: Any = sys.modules.get("torch")
    of_python = random.getstate()
    of_numpy = numpy.random.get_state() if numpy is not None else None
    of_torch = torch.get_rng_state() if torch is not None else None

    def put_back() -> None:
        random.setstate(of_python)
        if numpy is not None:
            numpy.random.set_state(of_numpy)
        if torch is not None:
            torch.set_rng_state(of_torch)

    return put_back


def _reordered(inputs: Any, axis: int, rows: int, order: List[int]) -> Any:
    """The inputs with the rows of that order in place of all that have so many."""

    def change(item: Any) -> Any:
        if len(item.shape) <= axis or int(item.shape[axis]) != rows:
            return item
        return item[order] if axis == 0 else item[:, order]

    return mapped(inputs, change)


def _share(before: Any, after: Any, rows: int, kept: slice, gone: slice) -> Optional[float]:
    """How much the kept rows of one output changed for each change of the others; `None` where that says nothing."""
    if tuple(before.shape) != tuple(after.shape) or rows not in tuple(before.shape):
        return None
    scale = _largest(before)
    moved = _largest((after - before)[_block(before, rows, gone)])
    disturbed = _largest((after - before)[_block(before, rows, kept)])
    if not all(map(math.isfinite, (scale, moved, disturbed))) or moved <= _FELT * scale:
        return None
    return disturbed / moved


def _block(item: Any, rows: int, part: slice) -> Tuple[slice, ...]:
    """The part along every axis that may be that of the batch: of pairs of rows, only pairs within the part."""
    return tuple(part if int(size) == rows else slice(None) for size in item.shape)


def _same(some: List[Any], others: List[Any]) -> bool:
    pairs = [(one, other) for one, other in zip(some, others) if tuple(one.shape) == tuple(other.shape)]
    return len(pairs) == len(some) and all(_largest(b - a) <= _ROUNDING * _largest(a) for a, b in pairs)


def _largest(item: Any) -> float:
    return float(abs(item).max()) if math.prod(item.shape) else 0.0
