"""Fingerprints of values, so that edits after which a statement computes the same value share one trial."""

from __future__ import annotations

import hashlib
import sys
from typing import Any, Dict, Optional

DEPTH = 4
"""Containers within containers that are gone into."""

MOST = 64
"""Items of a container that are gone into."""

BYTES = 1 << 22
"""Bytes of an array that are read; of a larger one the first."""


def of_names(values: Dict[str, Any]) -> Optional[str]:
    """One fingerprint of several named values; `None` where one of them has none."""
    parts = []
    for name in sorted(values):
        told = of(values[name])
        if told is None:
            return None
        parts.append("%s=%s" % (name, told))
    return hashlib.sha1("|".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def of(value: Any, depth: int = 0) -> Optional[str]:
    """The fingerprint of a plain value, an array or tensor of numbers, or a container of such; `None` for any other
    value.
    """
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return "%s:%r" % (type(value).__name__, value)
    if isinstance(value, (list, tuple)) and depth < DEPTH and len(value) <= MOST:
        inside = [of(item, depth + 1) for item in value]
        return None if None in inside else "%s[%s]" % (type(value).__name__, ",".join(map(str, inside)))
    if isinstance(value, dict) and depth < DEPTH and len(value) <= MOST:
        pairs = [(repr(key)[:80], of(item, depth + 1)) for key, item in value.items()]
        return None if any(told is None for _, told in pairs) else "dict{%s}" % ",".join("%s:%s" % p for p in pairs)
    return _array(value)


def largest(values: Dict[str, Any]) -> int:
    """The number of elements of the largest array among named values."""
    return max([_count(value) for value in values.values()] or [0])


def _count(value: Any) -> int:
    try:
        sizes = [size if isinstance(size, int) else 0 for size in getattr(value, "shape", None) or (0,)]
    except (TypeError, ValueError):  # what a program's own object calls its shape
        return 0
    count = 1
    for size in sizes:
        count *= size
    return count


def _array(value: Any) -> Optional[str]:
    torch: Any = sys.modules.get("torch")
    numpy: Any = sys.modules.get("numpy")
    if torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter):
        if value.device.type == "meta" or value.layout != torch.strided:
            return None
        # What gradients flow through is not what they do not flow through, whatever the numbers.
        grown = "grad" if value.requires_grad else ""
        flat = value.detach().resolve_conj().resolve_neg().cpu().contiguous().view(-1)
        if value.dtype is torch.bfloat16:  # which NumPy does not have
            flat, grown = flat.view(torch.int16), grown + "bfloat16"
        return "torch%s%s" % (grown, _of_bytes(flat.numpy(), value.shape))
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return None if value.dtype.hasobject else "numpy" + _of_bytes(numpy.asarray(value), value.shape)
    return None


def _of_bytes(array: Any, shape: Any) -> str:
    read = array.reshape(-1)[: max(1, BYTES // max(1, array.itemsize))]
    return "%s%s:%s" % (array.dtype, tuple(shape), hashlib.sha1(read.tobytes()).hexdigest())
