"""Describes tensors in the trace, and keeps which call produced each of them (a ledger by identity)."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch as _torch

from .. import sites
from ..measures.ledger import LARGEST_FOR_DISTINCT, LARGEST_FOR_STATISTICS, ROW_SUM_TOLERANCE, Entry
from .quiet import Quiet

torch: Any = _torch

EDGES = frozenset(
    f"torch.{area}{name}{end}"
    for area in ("", "Tensor.")
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "div", "true_divide", "rdiv", "reciprocal", "pow")
    for end in ("", "_")
)
"""Functions that are not defined, or have no finite slope, on all of their range."""

ROUNDING = frozenset(f"torch.{area}{name}" for area in ("", "Tensor.") for name in ("round", "floor", "ceil", "trunc"))
_CAST_NAMES = "long int short char byte bool to type type_as argmax argmin"
CASTS = frozenset(
    ["torch.Tensor." + name for name in _CAST_NAMES.split()]
    + ["torch.tensor", "torch.as_tensor", "torch.argmax", "torch.argmin"]
)
"""Functions that may give whole numbers for fractions."""

_LARGEST_LIST = 10_000


class Ledger:
    """Tensors (and arrays, lists and floats that came out of tensors) with their producers."""

    def __init__(self) -> None:
        self._entries: Dict[int, Entry] = {}
        self._by_value: Dict[int, Entry] = {}
        self._next = 1
        self._constants: Dict[int, Any] = {}

    def is_constant(self, buffer: Any) -> None:
        """Enter a buffer of a model: what it holds belongs to the model, wherever it once came from."""
        self._constants[id(buffer)] = buffer
        entry = self.known(buffer)
        if entry is not None and entry.value["producer"] is None:
            entry.value["origin"] = "constant"

    def known(self, item: Any) -> Optional[Entry]:
        """The entry of that very object; an array that is a view of a known array stands for it."""
        for _ in range(4):
            entry = self._entries.get(id(item))
            if entry is not None and entry.reference() is item:
                return entry
            item = getattr(item, "base", None) if not isinstance(item, torch.Tensor) else None
            if item is None:
                break
        return None

    def object_of(self, value_id: Optional[int]) -> Any:
        """The object that a `Value` of the trace described; `None` once it is gone."""
        entry = self._by_value.get(value_id) if value_id is not None else None
        return entry.reference() if entry is not None else None

    def value(self, item: Any, inside: bool = False) -> Dict[str, Any]:
        """The `Value` of an input; an object not met before is entered, with the site that first brought it up."""
        entry = self.known(item)
        if entry is None:
            origin = self._origin(item, inside)
            entry = self.arrived(item, origin, sites.caller_site())
        value = dict(entry.value)
        value.update(facts(item))
        return value

    def produced(self, item: Any, call: int) -> Dict[str, Any]:
        """Enter the object as the output of a call; gives its `Value`, to be shared with the call's record."""
        return self._enter(item, {"producer": call, "origin": None, "site": None}).value

    def arrived(self, item: Any, origin: Optional[str], site: Optional[List[Any]]) -> Entry:
        """Enter an object that no recorded call made."""
        return self._enter(item, {"producer": None, "origin": origin, "site": site})

    def measure(self, item: Any) -> None:
        """Add statistics to the value of a tensor, also where a call that made it is still to be written."""
        entry = self.known(item)
        if entry is not None and "low" not in entry.value:
            entry.value.update(statistics(item))

    def _enter(self, item: Any, value: Dict[str, Any]) -> Entry:
        value["id"] = self._next
        self._next += 1
        value.update(facts(item))
        entry = Entry(_reference(item), value)
        self._entries[id(item)] = entry
        self._by_value[value["id"]] = entry
        return entry

    def _origin(self, item: Any, inside: bool) -> Optional[str]:
        if not isinstance(item, torch.Tensor):
            return "data"
        if self._constants.get(id(item)) is item:
            return "constant"
        if isinstance(item, torch.nn.Parameter) or (item.requires_grad and item.is_leaf):
            return "parameter"
        if item.requires_grad or inside:
            return None
        return "data"


def _reference(item: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(item)
    except TypeError:
        return lambda: item


def facts(item: Any) -> Dict[str, Any]:
    """Shape, dtype, device and whether gradients are tracked."""
    if isinstance(item, torch.Tensor):
        shape = [int(size) for size in item.shape] if item.layout == torch.strided else list(item.shape)
        return {
            "shape": shape,
            "dtype": str(item.dtype).replace("torch.", ""),
            "device": str(item.device),
            "requires_grad": bool(item.requires_grad),
        }
    if hasattr(item, "shape") and hasattr(item, "dtype"):
        return {"shape": list(item.shape), "dtype": str(item.dtype), "requires_grad": False}
    if isinstance(item, float):
        return {"shape": [], "dtype": "float", "requires_grad": False}
    return {"requires_grad": False}


def tensors_in(item: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors in nested tuples, lists and dictionaries, and in objects that carry them as fields."""
    if isinstance(item, torch.Tensor):
        yield item
    elif isinstance(item, (list, tuple)) and depth < 4:
        if len(item) <= 4096 and not (item and isinstance(item[0], (int, float, str))):
            for part in item:
                yield from tensors_in(part, depth + 1)
    elif isinstance(item, dict) and depth < 4:
        for part in item.values():
            yield from tensors_in(part, depth + 1)
    elif depth < 2 and (hasattr(item, "__dataclass_fields__") or type(item).__name__ in {"BatchEncoding", "Batch"}):
        for part in list(getattr(item, "__dict__", {}).values()):
            yield from tensors_in(part, depth + 1)


def as_numpy(tensor: Any) -> Any:
    """The values of a tensor as a numpy array; bfloat16, which numpy lacks, is converted."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def traceable(ledger: Ledger, item: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors in an argument, and the arrays, lists and floats in it that are known to come from tensors."""
    left_a_tensor = isinstance(item, (float, list)) and ledger.known(item) is not None
    if left_a_tensor or isinstance(item, torch.Tensor):
        yield item
    elif type(item).__module__ == "numpy":
        if hasattr(item, "shape") and ledger.known(item) is not None:
            yield item
    elif isinstance(item, (list, tuple)) and depth < 3 and len(item) <= 512:
        for part in item:
            yield from traceable(ledger, part, depth + 1)


def keepable(item: Any) -> bool:
    """Whether an object computed from a tensor can be followed: arrays, floats and lists that are not too long."""
    if isinstance(item, float):
        return True
    if isinstance(item, list):
        return len(item) <= _LARGEST_LIST
    return type(item).__module__ == "numpy" and hasattr(item, "shape")


def at_edge(item: Any) -> bool:
    """Whether a tensor holds a value that is not finite, or a zero from a function with an infinite slope there."""
    if not isinstance(item, torch.Tensor) or item.layout != torch.strided or not item.is_floating_point():
        return False
    if item.device.type == "meta" or type(item).__name__ == "FakeTensor" or item.numel() > LARGEST_FOR_STATISTICS:
        return False
    if torch._C._functorch.is_functorch_wrapped_tensor(item):
        return False
    with Quiet():
        whole = item.detach()
        return not bool((torch.isfinite(whole) & (whole != 0)).all())


def narrows(name: str, args: Any, outputs: List[Any]) -> bool:
    """Whether a call turned floating-point data into integers or indices, through which no gradient flows."""
    given = args[0] if args and (name in CASTS or name in ROUNDING) else None
    if not isinstance(given, torch.Tensor) or not given.is_floating_point() or given.requires_grad:
        return False
    return given.numel() > 1 and (name in ROUNDING or not any(item.is_floating_point() for item in outputs))


def statistics(item: Any) -> Dict[str, Any]:
    """Minimum, maximum, mean, standard deviation and more of a tensor's finite elements; empty where there are none."""
    if not isinstance(item, torch.Tensor) or item.layout != torch.strided or item.device.type == "meta":
        return {}
    if item.numel() == 0 or item.numel() > LARGEST_FOR_STATISTICS or item.is_complex() or item.is_quantized:
        return {}
    if type(item).__name__ == "FakeTensor" or torch._C._functorch.is_functorch_wrapped_tensor(item):
        return {}
    with Quiet():
        whole = item.detach()
        flat = whole.reshape(-1).to(torch.float64)
        finite = torch.isfinite(flat)
        all_finite = bool(finite.all())
        kept = flat if all_finite else flat[finite]
        result: Dict[str, Any] = {"finite": all_finite}
        if kept.numel():
            low, high = torch.aminmax(kept)
            result.update(low=float(low), high=float(high), mean=float(kept.mean()), std=float(kept.std(correction=0)))
            result["integral"] = all_finite and bool((kept == kept.round()).all())
            if kept.numel() <= LARGEST_FOR_DISTINCT:
                result["distinct"] = int(torch.unique(kept).numel())
            result["row_sums_to_one"] = bool(all_finite and low >= 0 and _rows_sum_to_one(whole))
        return result


def _rows_sum_to_one(tensor: Any) -> bool:
    if tensor.dim() == 0 or tensor.is_complex() or (tensor.dim() == 1 and not tensor.is_floating_point()):
        return False
    dimensions = {tensor.dim() - 1} | ({1} if tensor.dim() > 2 else set())
    return any(
        bool(((tensor.sum(dim=dimension, dtype=torch.float64) - 1).abs() <= ROW_SUM_TOLERANCE).all())
        for dimension in sorted(dimensions)
    )
