"""Collects the rows that a torch program trains on and evaluates: model inputs, and what losses compare."""

from __future__ import annotations

import weakref
from typing import Any, List, Optional, Set

import torch as _torch

from ..measures.experiments import TrainingRows
from .calls import Recorder
from .quiet import Patches, Quiet, guarded
from .skill import class_count
from .targets import Pair, Targets
from .values import as_numpy, tensors_in

torch: Any = _torch

_MOST_NUMBERS = 8_000_000
"""Numbers of a tensor up to which parts of the data are compared."""


class TrainingData:
    """Puts rows aside, as far as a job asks for them."""

    def __init__(self, wanted: Set[str], recorder: Recorder, targets: Targets) -> None:
        self._rows = TrainingRows(wanted)
        self._recorder = recorder
        self._trains: Any = None
        """A reference to the model that the last step was taken of."""
        self._iterated: Any = None
        """The data of the loader that was begun last, and in `_part` of that which the last step was from."""
        self._part: Any = None
        self._evaluated: Any = None
        """What that model was given last without gradients, and in `_compared` what a loss compared then."""
        self._compared: Optional[Pair] = None
        self._entered: Any = None
        """The first model that was called since the last step with gradients, and the arguments of its last call."""
        self._within_call = False
        if self._rows.examples is not None:
            targets.evaluated = self._saw_evaluation

    def install(self, patches: Patches) -> None:
        """Watch what goes into models in every step, where the rows of training are asked for."""
        if self._rows.examples is not None or self._rows.answers is not None:
            patches.put(torch.nn.Module, "__call__", self._wrap_call)
        if self._rows.examples is not None:
            patches.put(torch.utils.data.DataLoader, "__iter__", self._wrap_iter)

    def tell(self) -> None:
        """Write what was asked for."""
        self._evaluated_now()
        self._rows.tell()

    def _wrap_iter(self, original: Any) -> Any:
        def __iter__(loader: Any) -> Any:
            self._iterated = loader.dataset
            return original(loader)

        return __iter__

    def _wrap_call(self, original: Any) -> Any:
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._within_call or Quiet.depth:
                return original(module, *args, **kwargs)
            if not torch.is_grad_enabled():
                self._called_in_evaluation(module, args, kwargs)
            elif self._entered is None or self._entered[0] is module:
                self._entered = (module, args, kwargs)
            self._within_call = True
            try:
                return original(module, *args, **kwargs)
            finally:
                self._within_call = False

        return __call__

    @guarded
    def _called_in_evaluation(self, module: Any, args: Any, kwargs: Any) -> None:
        """Remember the last call of the model that trains."""
        if self._trains is not None and self._trains() is module:
            self._evaluated_now()
            self._evaluated = [args, kwargs]

    @guarded
    def saw_step(self, pair: Optional[Pair]) -> None:
        """Put the rows of a step aside, with the targets that their predictions were compared with."""
        if self._evaluated is not None:
            self._evaluated_now()
        entered, self._entered = self._entered, None
        rows = self._rows
        if rows.answers is not None and pair is not None:
            inputs = [as_numpy(item) for item in tensors_in(entered[1:])] if entered is not None else []
            rows.answers.add(inputs, as_numpy(pair[1]))
        if rows.examples is None or pair is None or entered is None:
            return
        model = entered[0]
        if self._trains is None or self._trains() is not model:
            self._trains = weakref.ref(model)
        rows.held_back.step_done(self._recorder.step + 1, id(model))
        if self._iterated is not None:
            self._part, self._iterated = self._iterated, None
        classes = class_count(pair) if not rows.full else None
        if classes is not None:
            rows.trained([as_numpy(item) for item in tensors_in(entered[1:])], as_numpy(pair[1]), classes or None)

    def _saw_evaluation(self, pair: Pair) -> None:
        """A loss was taken of what is not trained on; of several the last one counts, as in training."""
        if self._evaluated is not None:
            self._compared = pair

    @guarded
    def _evaluated_now(self) -> None:
        """Put aside the batch of an evaluation that is over, and compare the part of the data that it is of."""
        entered, pair, self._evaluated, self._compared = self._evaluated, self._compared, None, None
        if entered is None or pair is None:
            return
        with Quiet():
            classes = class_count(pair)
            if classes is not None:
                inputs = [as_numpy(item) for item in tensors_in(entered)]
                self._rows.held_back.compared(inputs, as_numpy(pair[1]), as_numpy(pair[0]), classes or None)
            if self._iterated is not None and self._part is not None and self._iterated is not self._part:
                key = (id(self._part), id(self._iterated))
                self._rows.parts.compared(key, _arrays(self._part), _arrays(self._iterated), declared=False)


def _arrays(data: Any) -> List[Any]:
    """The inputs of a data set of tensors, or of a part of one; none of other data sets."""
    if isinstance(data, torch.utils.data.Subset):
        return [whole[list(data.indices)] for whole in _arrays(data.dataset)]
    if not isinstance(data, torch.utils.data.TensorDataset):
        return []
    tensors = data.tensors[:-1] if len(data.tensors) > 1 else data.tensors
    return [as_numpy(tensor) for tensor in tensors if tensor.numel() <= _MOST_NUMBERS]
