"""Looks at the batches of images that models of libraries are given: how far their values are apart.

Images that were scaled twice, by a transform and again by the model's processor, crash nothing: all values of a channel
are nearly the same then, and the model sees next to nothing.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch as _torch

from .. import sites, wire
from .quiet import Quiet, guarded

torch: Any = _torch

MOST_PLACES = 20
"""Places whose batches are looked at."""

MOST_BATCHES = 4
"""Batches that are looked at in each place."""

_OF_IMAGES = ("torchvision.models.", "timm.models.")


class ImageBatches:
    """Measures, for each place that calls a model with images, the range of their values."""

    def __init__(self) -> None:
        self._places: Dict[Tuple[Any, ...], Dict[str, Any]] = {}

    @guarded
    def saw(self, model: Any, args: Any, kwargs: Any) -> None:
        """A model is called with these arguments."""
        images = _images(model, args, kwargs)
        site = sites.caller_site() if images is not None else None
        if site is None:
            return
        place = self._places.get(tuple(site))
        if place is None:
            if len(self._places) >= MOST_PLACES:
                return
            place = self._places[tuple(site)] = {
                "model": type(model).__name__,
                "site": site,
                "batches": 0,
                "width": 0.0,
            }
        if place["batches"] < MOST_BATCHES:
            place["batches"] += 1
            with Quiet():
                low, high = torch.aminmax(images.detach().float().transpose(0, 1).flatten(1), dim=1)
            place["width"] = max(place["width"], float((high - low).max()))
            place["low"], place["high"] = float(low.min()), float(high.max())
            wire.emit("probe", name="image-batches", value=list(self._places.values()))


def _images(model: Any, args: Any, kwargs: Any) -> Any:
    """The batch of images among the arguments of a model; `None` where it takes none."""
    found = kwargs.get("pixel_values")
    is_first = getattr(model, "main_input_name", "") == "pixel_values" or type(model).__module__.startswith(_OF_IMAGES)
    if found is None and is_first and args:
        found = args[0]
    is_batch = isinstance(found, torch.Tensor) and found.is_floating_point() and found.dim() == 4 and found.numel()
    return found if is_batch else None
