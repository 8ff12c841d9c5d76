"""Looks at the batches of text that language models of `transformers` are given: padding, attention mask, labels, ends.

Nothing crashes and the loss goes down where padding is learned, where the end of a text never is, where labels are
shifted that the model shifts itself, or where padding is attended to. What a batch holds tells it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch as _torch

from .. import sites, wire
from .quiet import Quiet, guarded

torch: Any = _torch

IGNORED = -100
"""The label that the losses of `transformers` leave out."""

MOST_PLACES = 20
"""Places whose batches are looked at."""

MOST_BATCHES = 4
"""Batches that are looked at in each place."""


class TextBatches:
    """Counts, for each place that calls a language model, what its batches hold."""

    def __init__(self) -> None:
        self._places: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
        self._takes: Dict[type, Optional[List[str]]] = {}

    @guarded
    def saw(self, model: Any, args: Any, kwargs: Any) -> None:
        """A model is called with these arguments."""
        names = self._arguments_of(type(model))
        config = getattr(model, "config", None) if names else None
        if names is None or getattr(config, "model_type", None) is None:
            return
        given = dict(zip(names, args))
        given.update(kwargs)
        ids, mask, labels = (_matrix(given.get(name)) for name in ("input_ids", "attention_mask", "labels"))
        site = sites.caller_site()
        if ids is None or site is None or given.get("past_key_values") is not None or ids.shape[1] < 2:
            return
        place = self._places.get(tuple(site))
        if place is None:
            if len(self._places) >= MOST_PLACES:
                return
            place = self._places[tuple(site)] = dict(_kind_of(model, config), site=site, batches=0)
        if place["batches"] < MOST_BATCHES:
            place["batches"] += 1
            with Quiet():
                for name, number in _counted(place, config, ids, mask, labels):
                    place[name] = place.get(name, 0) + int(number)
            # Told at once: a run that is stopped from outside has no end.
            wire.emit("probe", name="text-batches", value=list(self._places.values()))

    def _arguments_of(self, kind: type) -> Optional[List[str]]:
        if kind not in self._takes:
            forward = getattr(kind, "forward", None)
            names = list(inspect.signature(forward).parameters)[1:] if forward is not None else []
            is_wrapper = any(base.__module__.startswith("peft.") for base in kind.__mro__)
            self._takes[kind] = names if "input_ids" in names or is_wrapper else None
        return self._takes[kind]


def _kind_of(model: Any, config: Any) -> Dict[str, Any]:
    """Whether a model reads both ways, has an encoder and a decoder, and shifts its labels itself."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    has_encoder = bool(getattr(config, "is_encoder_decoder", False))
    return {
        "model": type(inner).__name__,
        "encoder_decoder": has_encoder,
        "both_ways": has_encoder or config.model_type in _read_both_ways(),
        "shifts": not has_encoder and any(base.__name__ == "GenerationMixin" for base in type(inner).__mro__),
    }


def _read_both_ways() -> Any:
    known = importlib.import_module("transformers.models.auto.modeling_auto")
    return getattr(known, "MODEL_FOR_MASKED_LM_MAPPING_NAMES", ())


def _matrix(value: Any) -> Any:
    """A batch of whole numbers; `None` for anything else."""
    is_whole = isinstance(value, torch.Tensor) and not value.is_floating_point() and not value.is_complex()
    return value if is_whole and value.dim() == 2 and value.numel() else None


def _counted(place: Dict[str, Any], config: Any, ids: Any, mask: Any, labels: Any) -> Iterator[Tuple[str, Any]]:
    mask = mask.bool() if mask is not None and mask.shape == ids.shape else None
    pad = _token(config, "pad_token_id")
    pad = _pad_of_program() if pad is None else pad
    told = _at_edges(~mask) if mask is not None else torch.zeros_like(ids, dtype=torch.bool)
    looks = _at_edges(ids == pad) if pad is not None else torch.zeros_like(told)
    looks &= looks.sum(1, keepdim=True) > 1
    if looks.sum(1).unique().numel() < 2 or looks.all(1).any():
        looks = torch.zeros_like(looks)  # rows that end alike need no padding
    # What comes after a text does not reach it in a model that reads one way.
    reaches = looks if place["both_ways"] else _at_start(looks)
    yield "tokens", ids.numel()
    yield "attended", (reaches & ~told).sum() if mask is not None else 0
    yield "unmasked", reaches.sum() if mask is None else 0
    if mask is not None and pad is not None and not mask.all() and mask.any():
        yield "inverted", bool((mask == (ids == pad)).all())
    if labels is None:
        return
    if place["encoder_decoder"]:
        tail = _at_edges(labels == pad) if pad is not None else torch.zeros_like(labels, dtype=torch.bool)
        yield "labelled", (labels != IGNORED).sum()
        yield "learned_padding", tail[tail.sum(1) > 1].sum()
        return
    if labels.shape != ids.shape:
        return
    learned = labels != IGNORED
    yield "labelled", learned.sum()
    yield "learned_padding", (learned & told).sum()
    real = ~told if mask is not None else ~looks
    end = _token(config, "eos_token_id")
    if end is not None and place["shifts"]:
        ends = (ids == end) & real
        ends[:, 0] = False
        after_learned = torch.zeros_like(ends)
        after_learned[:, 1:] = learned[:, :-1]
        yield "ends", (ends & learned).sum()
        yield "ends_left_out", (ends & ~learned & after_learned).sum()
    if place["shifts"]:
        both = learned & real
        yield "same", (both & (labels == ids)).sum()
        moved = both[:, :-1] & real[:, 1:]
        yield "next", (moved & (labels[:, :-1] == ids[:, 1:])).sum()
        yield "compared", moved.sum()


def _token(config: Any, name: str) -> Optional[int]:
    """The number of a special token, the first where there are several."""
    value = getattr(config, name, None)
    if value is None and hasattr(config, "get_text_config"):
        value = getattr(config.get_text_config(), name, None)
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return value if isinstance(value, int) else None


def _pad_of_program() -> Optional[int]:
    """The padding token of the program's tokenizers, where they have but one: settings of a model often say nothing of it."""
    found = set()
    frame: Any = sys._getframe()
    while frame is not None:
        if sites.is_user_frame(frame):
            for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
                if any(base.__name__ == "PreTrainedTokenizerBase" for base in type(value).__mro__):
                    found.add(value.pad_token_id)
        frame = frame.f_back
    return found.pop() if len(found) == 1 else None


def _at_start(marked: Any) -> Any:
    """The marked positions that run from the beginning of a row without a gap, where there are several: one may begin a text."""
    found = marked.long().cumprod(1)
    return (found * (found.sum(1, keepdim=True) > 1)).bool()


def _at_edges(marked: Any) -> Any:
    """The marked positions that run from the beginning or from the end of a row without a gap."""
    marked = marked.long()
    return (marked.cumprod(1) | marked.flip(1).cumprod(1).flip(1)).bool()
