"""Experiments of a job that no framework is needed for: rows put aside, other batch sizes, adversarial steps."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from .. import wire
from ..guard import guarded
from .answers import Answers
from .learners import Examples
from .new_rows import HeldBack, Parts

OF_TRAINING = frozenset({"shuffle-targets", "reference", "units", "answers", "lines"})
"""Experiments on the run itself and its steps of training, not on the model once it is trained."""
SAMPLES_KEPT = 16
"""Samples of a model's first batch that are put aside."""
EARLIER_KEPT = 64
"""Targets of earlier steps among which one is drawn for a batch of one."""
SEED = 20_240_229
TINY = 1e-12
_BATCH_SIZES = (1, 3, 5)
_STEP_SHARE = 0.01


class TrainingRows:
    """The training and evaluation rows that a job's experiments need."""

    def __init__(self, wanted: Set[str]) -> None:
        self.examples = Examples() if "reference" in wanted else None
        self.answers = Answers() if "answers" in wanted else None
        self.held_back, self.parts = HeldBack(), Parts()

    @property
    def full(self) -> bool:
        """Whether no more rows of training are put aside."""
        return self.examples is None or self.examples.full and self.held_back.full

    def trained(self, inputs: List[Any], target: Any, classes: Optional[int]) -> None:
        """Put aside the rows of a batch that a step was taken on; `classes` as in `Examples.add`."""
        if self.examples is not None:
            self.examples.add(inputs, target, classes)
        if not self.held_back.full:
            self.held_back.trained(inputs, target)

    def tell(self) -> None:
        """Write what was asked for."""
        if self.answers is not None:
            wire.emit("probe", name="answers", value=self.answers.found())
        if self.examples is not None:
            wire.emit("probe", name="reference", value=guarded(self.examples.reference)())
            wire.emit("probe", name="held-back", value=guarded(self.held_back.found)(self.examples))
            wire.emit("probe", name="parts", value=self.parts.found)


def on_other_sizes(output_for: Callable[[int], Any], was: Sequence[int], axis: Optional[int]) -> Dict[str, str]:
    """The result of calling the model with other batch sizes, by size: `ok`, or what is wrong.

    `output_for` calls the model with so many samples; its first output was of the shape `was`, with the samples along `axis`.
    """
    answer: Dict[str, str] = {}
    for size in _BATCH_SIZES:
        try:
            output = output_for(size)
        except Exception as error:
            answer[str(size)] = "%s: %s" % (type(error).__name__, str(error)[:300])
            continue
        now = [int(one) for one in getattr(output, "shape", ())]
        answer[str(size)] = _fits(was, now, axis, size) if output is not None else "ok"
    return answer


def _fits(was: Sequence[int], now: Sequence[int], axis: Optional[int], size: int) -> str:
    """`ok` where the output grew with the batch as it should."""
    if axis is None:
        return "ok"
    if len(now) != len(was):
        return "the output has %d dimensions instead of %d" % (len(now), len(was))
    return "ok" if now[axis] == size else "the output has %d rows for %d samples" % (now[axis], size)


def adversarial(torch: Any, entered: Any, loss: Callable[[Any], Any]) -> float:
    """The relative rise of a loss after a small step of its input, a torch tensor, along the gradient."""
    entered = entered.detach()
    with torch.enable_grad():
        start = entered.clone().requires_grad_(True)
        before = loss(start)
        (gradient,) = torch.autograd.grad(before.sum(), start)
    after = loss(entered + _STEP_SHARE * (entered.max() - entered.min()) * gradient.sign())
    return float((after.sum() - before.sum()) / (before.sum().abs() + TINY))
