"""The first batches of a training call, in order, as arrays that another interpreter can be given.

A part of a batch (inputs, targets, weights of samples) is an array, or a list or dictionary of arrays; its form is plain
JSON with the place of each array in a list of arrays.
"""

import itertools
from typing import Any, Dict, Iterator, List, Optional, Tuple

STEPS = 3
"""Steps of training that are compared: the first shows the loss, the later ones what the optimizer does."""
ROWS = 32
"""Samples in a batch where the program names none: the default of every Keras."""
LARGEST = 24 << 20
"""Bytes that the batches may have together; larger ones have fewer samples."""

Batch = Dict[str, Any]


class NotComparable(Exception):
    """Why a training call cannot be recorded, in words."""


def of_call(method: str, given: Dict[str, Any]) -> List[Batch]:
    """The first batches of a call: `{"x": part, "y": part, "w": part}`. Raises `NotComparable`."""
    source = given.get("generator", given.get("x"))
    if method == "fit" and not _is_arrays(source):
        method = "fit_generator"
    if method == "fit_generator":
        found = [_of_item(item) for item in itertools.islice(_items(source), STEPS)]
        if not found:
            raise NotComparable("its generator gives nothing")
        found = [found[number % len(found)] for number in range(STEPS)]
    else:
        whole = {"x": _part(source), "y": _part(given.get("y")), "w": _part(given.get("sample_weight"))}
        rows = _rows(whole["x"])
        size = rows if method == "train_on_batch" else int(given.get("batch_size") or ROWS)
        found = [_rows_of(whole, start % max(rows, 1), size) for start in range(0, STEPS * size, max(size, 1))]
    return _shortened(found)


def spec(part: Any, arrays: List[Any]) -> Any:
    """The form of a part as JSON; its arrays are appended to `arrays`."""
    if part is None:
        return None
    if isinstance(part, dict):
        return {"names": {name: spec(item, arrays) for name, item in part.items()}}
    if isinstance(part, list):
        return {"items": [spec(item, arrays) for item in part]}
    arrays.append(part)
    return {"array": len(arrays) - 1}


def part_of(form: Any, arrays: List[Any]) -> Any:
    """The part with that form."""
    if form is None:
        return None
    if "names" in form:
        return {name: part_of(item, arrays) for name, item in form["names"].items()}
    if "items" in form:
        return [part_of(item, arrays) for item in form["items"]]
    return arrays[form["array"]]


def leaves(part: Any) -> Iterator[Any]:
    """The arrays of a part, in order."""
    if isinstance(part, dict):
        for name in sorted(part):
            yield from leaves(part[name])
    elif isinstance(part, list):
        for item in part:
            yield from leaves(item)
    elif part is not None:
        yield part


def _is_arrays(source: Any) -> bool:
    """Whether the data is there at once, not piece by piece."""
    if isinstance(source, dict):
        return True
    if isinstance(source, (list, tuple)):
        return bool(source)
    return hasattr(source, "__array__") or hasattr(source, "detach")


def _items(source: Any) -> Iterator[Any]:
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return (source[number] for number in range(len(source)))
    if hasattr(source, "as_numpy_iterator"):
        return iter(source.as_numpy_iterator())
    if source is None or not hasattr(source, "__iter__"):
        raise NotComparable("its data is %s" % type(source).__name__)
    return iter(source)


def _of_item(item: Any) -> Batch:
    """A batch as a generator gives it: `(inputs, targets)`, `(inputs, targets, weights)` or the inputs alone."""
    parts: Tuple[Any, ...] = tuple(item) if isinstance(item, (tuple, list)) and len(item) in (2, 3) else (item,)
    padded = parts + (None, None)
    return {"x": _part(padded[0]), "y": _part(padded[1]), "w": _part(padded[2])}


def _part(value: Any) -> Any:
    """A part as arrays; what Keras is fed as double it makes single itself."""
    import numpy

    if value is None:
        return None
    if isinstance(value, dict):
        return {str(name): _part(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and any(hasattr(item, "shape") for item in value):
        return [_part(item) for item in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if not hasattr(value, "__array__") and not isinstance(value, (list, tuple)):
        raise NotComparable("its data is %s" % type(value).__name__)
    array = numpy.asarray(value)
    if array.dtype.kind not in "biuf" or not array.ndim:
        raise NotComparable("its data is of type %s" % array.dtype)
    return array.astype("float32") if array.dtype == numpy.float64 else array


def _rows(part: Any) -> int:
    first = next(leaves(part), None)
    return len(first) if first is not None else 0


def _rows_of(batch: Batch, start: int, size: int) -> Batch:
    return {name: _cut(part, start, size) for name, part in batch.items()}


def _cut(part: Any, start: int, size: int) -> Any:
    if isinstance(part, dict):
        return {name: _cut(item, start, size) for name, item in part.items()}
    if isinstance(part, list):
        return [_cut(item, start, size) for item in part]
    return None if part is None else part[start : start + size]


def _shortened(found: List[Batch]) -> List[Batch]:
    """The batches with so many of their samples as may be carried."""
    total = sum(array.nbytes for batch in found for part in batch.values() for array in leaves(part))
    if total <= LARGEST:
        return found
    rows: Optional[int] = max(1, int(_rows(found[0]["x"]) * LARGEST / total))
    return [_rows_of(batch, 0, rows or 1) for batch in found]
