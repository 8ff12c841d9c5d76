"""The cause "batches": another batch size, and shuffled samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument
from dnnfix.network.trainers import TRAINERS
from dnnfix.records import Component, Edit, FixPattern, RemoveArgument, Replace, SetArgument
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.literals import number_written
from dnnfix.validate.reading import Reading

USUAL = 32
"""The batch size that Keras has by default; small enough for thousands of steps, large enough for a steady gradient."""

MANY = 256
"""Samples of a batch from which on small data take few steps."""

LOADER = "torch.utils.data.DataLoader"


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Batches of a usual size, and samples in a random order."""
    for call, name in _deliveries(subject):
        yield from _sized(subject, argument(subject, call, name, "batch_size"))
        yield from _shuffled(subject, call, name)
    for call in subject.source.all_calls:
        trainer = TRAINERS.get(subject.source.qualified(call.func) or "")
        for keyword in call.keywords:
            if trainer is not None and keyword.arg == trainer.batch_size:
                yield from _sized(subject, keyword.value)


def _deliveries(subject: Subject) -> Iterator[tuple[ast.Call, str]]:
    """The loaders of training, and the calls of `fit`."""
    source = subject.source
    for call in source.all_calls:
        if source.qualified(call.func) == LOADER:
            yield call, LOADER
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and _in_keras(subject):
            yield call, "keras.Model.fit"


def _in_keras(subject: Subject) -> bool:
    return any(call.name.startswith("keras.Model.") for call in subject.network.calls)


def _sized(subject: Subject, given: ast.expr | None) -> Iterator[Cause]:
    written = number_written(subject, given) if given is not None else None
    if written is None or not isinstance(written.value, int) or 2 < written.value < MANY:
        return
    size = written.value
    title = f"Take {USUAL} samples at a time rather than {size}"
    edit = Replace(subject.source.site(written), str(USUAL))
    yield Cause("batch-size", title, FixPattern.DATA_WRANGLING, (edit,), 0.5 if size <= 2 else 0.35)


def _shuffled(subject: Subject, call: ast.Call, name: str) -> Iterator[Cause]:
    given = argument(subject, call, name, "shuffle")
    site = subject.source.site(call)
    off = isinstance(given, ast.Constant) and given.value is False
    made: tuple[Edit, ...] = ()
    if name == LOADER and (given is None or off) and _may_shuffle(subject, call):
        made = (SetArgument(site, "shuffle", "True", 2),)
    elif name != LOADER and off:
        made = (RemoveArgument(site, "shuffle"),)
    if made:
        likely = 0.75 if _one_class_at_a_time(subject) else 0.3
        yield Cause("shuffling", "Shuffle the samples", FixPattern.DATA_WRANGLING, made, likely)


def _may_shuffle(subject: Subject, call: ast.Call) -> bool:
    """A loader that says itself which samples come cannot be told to shuffle; nor is one for tests meant."""
    taken = {keyword.arg for keyword in call.keywords}
    words = subject.source.segment(subject.source.site(subject.source.statement_of(call))).lower()
    own = taken & {"sampler", "batch_sampler", None}
    return not own and not any(word in words for word in ("test", "val", "eval"))


def _one_class_at_a_time(subject: Subject) -> bool:
    """Whether the first batches of training had one class each."""
    values = [call.inputs[1] for call in subject.network.calls if _is_loss_of_training(subject, call.component, call.phase)
              and len(call.inputs) > 1]  # fmt: skip
    return bool(values) and all(value.distinct == 1 or value.ordered for value in values)


def _is_loss_of_training(subject: Subject, component: int | None, phase: str) -> bool:
    made: Component | None = subject.network.component(component)
    return made is not None and made.kind == "loss" and phase != "eval"
