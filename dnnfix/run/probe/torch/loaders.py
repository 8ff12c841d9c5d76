"""Records data loaders with their arguments and batches, and ends long evaluations."""

from __future__ import annotations

import inspect
import sys
import weakref
from typing import Any, Dict

import torch as _torch

from .. import budget, wire
from .arguments import Construction
from .calls import Recorder
from .components import Components
from .names import class_name, plain
from .quiet import Patches, Quiet, guarded, head_site, note
from .values import tensors_in

torch: Any = _torch

_OF_WORKERS = {
    "num_workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "timeout": 0,
    "multiprocessing_context": None,
    "pin_memory": False,
}
"""Arguments that need worker processes or a GPU, and what they are without."""


class Loaders:
    """Watches `DataLoader` objects and their iterators."""

    def __init__(self, components: Components, recorder: Recorder) -> None:
        self._components = components
        self._recorder = recorder
        self._progress: Any = weakref.WeakKeyDictionary()
        self._cut: Dict[str, bool] = {}

    def install(self, patches: Patches) -> None:
        """Watch constructors and iterators."""
        loader = torch.utils.data.DataLoader
        patches.put(loader, "__init__", self._init)
        patches.put(torch.utils.data.dataloader._BaseDataLoaderIter, "__next__", self._next)

    def _init(self, original: Any) -> Any:
        signature = inspect.signature(original)

        def __init__(loader: Any, *args: Any, **kwargs: Any) -> None:
            try:
                bound = signature.bind(loader, *args, **kwargs)
            except TypeError:
                original(loader, *args, **kwargs)
                return
            given = dict(bound.arguments)
            changed = self._without_workers(bound)
            original(*changed.args, **changed.kwargs)
            bound.arguments.update(given)
            self._made(loader, bound, sys._getframe(1))

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__doc__ = original.__doc__
        return __init__

    def _without_workers(self, bound: Any) -> Any:
        workers = bound.arguments.get("num_workers", 0)
        if isinstance(workers, int) and workers > 0:
            note("data loaders ran without worker processes")
            for name, value in _OF_WORKERS.items():
                if name in bound.arguments:
                    bound.arguments[name] = value
        return bound

    @guarded
    def _made(self, loader: Any, bound: Any, frame: Any) -> None:
        bound.apply_defaults()
        args = {name: plain(value) for name, value in list(bound.arguments.items())[1:] if name != "dataset"}
        args["dataset"] = class_name(type(bound.arguments["dataset"]))
        self._components.add("loader", loader, Construction(loader, frame).site, args)

    def _next(self, original: Any) -> Any:
        def __next__(iterator: Any) -> Any:
            over = self._is_over(iterator)
            batch = original(iterator)
            if over:
                self._report_cut()
                raise StopIteration
            if self._recorder.on:
                self._arrived(batch)
            return batch

        return __next__

    @guarded
    def _is_over(self, iterator: Any) -> bool:
        """Whether an evaluation has seen as many batches as the budget allows."""
        steps, batches = self._progress.get(iterator, (budget.steps, 0))
        if steps != budget.steps:
            steps, batches = budget.steps, 0
        self._progress[iterator] = (steps, batches + 1)
        return batches >= budget.evaluation_batches() and self._evaluating()

    @guarded
    def _report_cut(self) -> None:
        site = head_site()
        if str(site) not in self._cut:
            self._cut[str(site)] = True
            wire.emit("cut", site=site)

    def _evaluating(self) -> bool:
        if budget.used_up() or not torch.is_grad_enabled():
            return True
        roots = self._components.roots
        return bool(roots) and not any(root.training for root in roots)

    @guarded
    def _arrived(self, batch: Any) -> None:
        with Quiet():
            site = head_site()
            for tensor in tensors_in(batch):
                if self._recorder.ledger.known(tensor) is None:
                    self._recorder.ledger.arrived(tensor, "data", site)
