"""Describes tensors and arrays of a Keras program in the trace, and keeps which call produced each of them.

Numbers are looked at through numpy, so that this serves every backend.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ..measures.ledger import LARGEST_FOR_DISTINCT, LARGEST_FOR_STATISTICS, ROW_SUM_TOLERANCE, Entry
from .names import dtype_name

_LARGEST_LIST = 1 << 16
_ELEMENTS_AT_ONCE = 1 << 16
_FILLED = (83, 89)
"""What Keras puts in place of an unknown size when it runs a layer on make-believe tensors."""


class Ledger:
    """Tensors with their producers. Symbolic tensors are kept; of others only a weak reference is."""

    def __init__(self) -> None:
        self._entries: Dict[int, Entry] = {}
        self._ids = itertools.count(1)

    def new_id(self) -> int:
        """An id that no value has yet."""
        return next(self._ids)

    def known(self, item: Any) -> Optional[Dict[str, Any]]:
        """The `Value` of that very object, where it is known."""
        entry = self._entries.get(id(item))
        return entry.value if entry is not None and entry.reference() is item else None

    def value(
        self, item: Any, origin: Optional[str] = None, site: Any = None, measured: bool = False
    ) -> Dict[str, Any]:
        """The `Value` of an object as it is now; one not met before is entered."""
        value = self.known(item)
        if value is None:
            value = self.enter(item, {"id": self.new_id(), "producer": None, "origin": origin, "site": site})
        value.update(facts(item))
        if measured and "low" not in value:
            value.update(statistics(item))
        return dict(value)

    def produced(self, item: Any, call: int, measured: bool = False) -> Dict[str, Any]:
        """Enter the object as the output of a call."""
        value = {"id": self.new_id(), "producer": call, "origin": None, "site": None}
        value.update(facts(item))
        if measured:
            value.update(statistics(item))
        return dict(self.enter(item, value))

    def enter(self, item: Any, value: Dict[str, Any]) -> Dict[str, Any]:
        """Enter the object with a `Value` of the caller's making."""
        self._entries[id(item)] = Entry(_reference(item), value)
        return value


def _reference(item: Any) -> Callable[[], Any]:
    if not is_symbolic(item):
        try:
            return weakref.ref(item)
        except TypeError:
            pass
    return lambda: item


def is_symbolic(item: Any) -> bool:
    """Whether the object is a symbolic tensor of Keras, which has no values yet."""
    return type(item).__name__ == "KerasTensor"


def is_tensor(item: Any) -> bool:
    """Whether the object is a tensor or an array of any kind."""
    return hasattr(item, "shape") and hasattr(item, "dtype") and not isinstance(item, type)


def is_data(item: Any) -> bool:
    """Whether the object holds numbers: tensors, arrays and tables."""
    return is_tensor(item) or type(item).__name__ in ("DataFrame", "Series")


def tensors_in(item: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors and arrays in nested tuples, lists and dictionaries, in their order."""
    if is_data(item):
        yield item
    elif isinstance(item, (list, tuple)) and depth < 4:
        if len(item) <= 4096 and not (item and isinstance(item[0], (int, float, str))):
            for part in item:
                yield from tensors_in(part, depth + 1)
    elif isinstance(item, dict) and depth < 4:
        for key in item:
            yield from tensors_in(item[key], depth + 1)


def facts(item: Any) -> Dict[str, Any]:
    """Shape, dtype and device."""
    shape = getattr(item, "shape", None)
    found: Dict[str, Any] = {"shape": None, "dtype": _dtype(item)}
    try:
        found["shape"] = None if shape is None else [None if size is None else int(size) for size in shape]
    except (TypeError, ValueError):
        pass
    if isinstance(item, (list, tuple)):
        whole = _as_array(item)
        found.update(shape=list(whole.shape) if whole is not None else [len(item)], dtype="list")
    if is_symbolic(item) or isinstance(item, (list, tuple)):
        return found
    found["device"] = _device(item)
    if hasattr(item, "requires_grad"):
        found["requires_grad"] = bool(item.requires_grad)
    return found


def _dtype(item: Any) -> Optional[str]:
    if type(item).__name__ == "DataFrame":
        kinds = {str(kind) for kind in item.dtypes}
        return kinds.pop() if len(kinds) == 1 else "object"
    return dtype_name(item)


def _device(item: Any) -> Optional[str]:
    device = getattr(item, "device", None)
    if device is None or callable(device):
        return "cpu"
    name = str(device).lower()
    return name if "/" not in name else ("cpu" if "cpu" in name else "cuda:" + name.rpartition(":")[2])


def unfilled(value: Dict[str, Any]) -> Dict[str, Any]:
    """The value of a fake tensor, with the sizes that Keras invented marked as unknown."""
    shape = value.get("shape")
    if shape:
        value["shape"] = [None if size in _FILLED else size for size in shape]
    return value


def as_array(item: Any) -> Any:
    """The object's numbers as a numpy array; `None` if it has none or copying them would be expensive."""
    if is_symbolic(item) or _is_fake(item):
        return None
    if type(item).__name__ in ("DataFrame", "Series"):
        return item.to_numpy()
    if hasattr(item, "detach"):
        return item.detach().cpu().numpy() if str(getattr(item, "dtype", "")) != "torch.bfloat16" else None
    if hasattr(item, "numpy") and callable(item.numpy):
        return item.numpy()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(item, (numpy.ndarray, numpy.generic)):
        return numpy.asarray(item)
    return _as_array(item) if isinstance(item, (list, tuple)) else None


def _as_array(item: Any) -> Any:
    """A list of numbers, or of equally long lists of numbers, as an array; `None` for any other list."""
    numpy: Any = sys.modules.get("numpy")
    first: Any = item
    size = 1
    while isinstance(first, (list, tuple)):
        size *= max(len(first), 1)
        if not first or size > _LARGEST_LIST:
            return None
        first = first[0]
    if numpy is None or not isinstance(first, (int, float, numpy.generic)):
        return None
    try:
        return numpy.asarray(item)
    except ValueError:
        return None


def _is_fake(item: Any) -> bool:
    device = getattr(item, "device", None)
    return getattr(device, "type", None) == "meta" or type(item).__name__ in ("FakeTensor", "SymbolicTensor")


def statistics(item: Any) -> Dict[str, Any]:
    """Minimum, maximum, mean, standard deviation and more of the finite elements; empty where there are none."""
    array = as_array(item)
    numpy: Any = sys.modules.get("numpy")
    if array is None or numpy is None or array.size == 0 or array.dtype.kind not in "biuf":
        return {}
    rows = array
    if array.size > LARGEST_FOR_STATISTICS and array.ndim:
        # The whole would take longer than the step itself: evenly spread samples speak for it.
        rows = array[:: -(-array.size // LARGEST_FOR_STATISTICS)]
    flat = rows.reshape(-1).astype("float64")
    finite = numpy.isfinite(flat)
    all_finite = bool(finite.all())
    kept = flat if all_finite else flat[finite]
    result: Dict[str, Any] = {"finite": all_finite}
    if kept.size:
        low, high = float(kept.min()), float(kept.max())
        result.update(low=low, high=high, mean=float(kept.mean()), std=float(kept.std()))
        result["integral"] = all_finite and bool((kept == numpy.rint(kept)).all())
        if kept.size <= LARGEST_FOR_DISTINCT:
            result["distinct"] = int(numpy.unique(kept).size)
        result["row_sums_to_one"] = bool(all_finite and low >= 0 and _rows_sum_to_one(numpy, rows))
    return result


def _rows_sum_to_one(numpy: Any, array: Any) -> bool:
    if array.ndim < 2:
        return False
    return bool((numpy.abs(array.sum(axis=-1, dtype="float64") - 1) <= ROW_SUM_TOLERANCE).all())


def ordered(item: Any) -> Optional[bool]:
    """Whether labels (numbers, or rows whose maximum is at the class) only rise or only fall along the first axis.

    Labels that are all the same are in no order. `None` for what has no axis of samples with one label each.
    """
    array = as_array(item)
    if array is None or array.size == 0 or array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        return None
    width = array.size // len(array)
    rows = max(1, _ELEMENTS_AT_ONCE // width)
    rises = falls = False
    # Every row counts, since one label out of place tells that nothing was sorted; mixed ones tell it in the first part.
    for start in range(0, len(array), rows):
        part = array[start : start + rows + 1]
        labels = part.reshape(-1) if width == 1 else part.argmax(axis=1)
        rises = rises or bool((labels[1:] > labels[:-1]).any())
        falls = falls or bool((labels[1:] < labels[:-1]).any())
        if rises and falls:
            return False
    return rises or falls


def numel(item: Any) -> Optional[int]:
    """The number of elements; `None` where it is not known."""
    total = 1
    for size in getattr(item, "shape", None) or ():
        if size is None:
            return None
        total *= int(size)
    return total


def named_parts(item: Any) -> List[Tuple[str, Any]]:
    """The parts of what `fit` gets as inputs, with their names or indices; usually one part without a name."""
    if isinstance(item, dict):
        return [(str(key), value) for key, value in item.items()]
    if (
        isinstance(item, (list, tuple))
        and item
        and all(is_data(part) for part in item)
        and not all(getattr(part, "shape", None) == () for part in item)
    ):
        return [(str(index), part) for index, part in enumerate(item)]
    return [("", item)]
