"""The optimizers that a program makes or names, each with its learning rate and the edits that change the rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.detect.tensors.shapes import where_written
from dnnfix.network.facts import optimizer_name
from dnnfix.network.optimizers import RATE_NAMES, default_rate, usual_rate
from dnnfix.network.trainers import TRAINERS, Trainer
from dnnfix.records import Edit, Replace, SetArgument
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.losses import keras_name
from dnnfix.synthesize.literals import number_written


@dataclass(frozen=True, slots=True)
class Optimizing:
    """One optimizer: the call that makes it or the word that names it, its canonical name, and its rate as it is written.

    `rate` is `None` where it is left to its default, or where no number is written; then `value` is what is known of it.
    """

    node: ast.expr
    name: str
    usual: float
    rate: ast.expr | None
    value: float | None

    @property
    def short(self) -> str:
        """The name of the class."""
        return self.name.rpartition(".")[2]

    def with_rate(self, subject: Subject, rate: float) -> tuple[Edit, ...] | None:
        """The edits that set another learning rate, where the rate is written or else in the call."""
        site = subject.source.site
        if self.rate is not None:
            return (Replace(site(self.rate), _written(rate)),)
        if isinstance(self.node, ast.Call):
            name = "lr" if self.name.startswith("torch.") else "learning_rate"
            return (SetArgument(site(self.node), name, _written(rate)),) if self.value is not None else None
        named = keras_name(subject)
        if named is None:
            return None
        made = f"{named[0]}.optimizers.{self.short}(learning_rate={_written(rate)})"
        return (Replace(site(self.node), made), *named[1])


def optimizers(subject: Subject) -> Iterator[Optimizing]:
    """The optimizers that the program makes, and those that `compile` is given by name."""
    source = subject.source
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        usual = usual_rate(name)
        if usual is not None:
            given = _given(call, 1 if name.startswith("torch.") else 0)
            written = number_written(subject, given) if given is not None else None
            number = float(written.value) if written is not None else 0.0  # type: ignore[arg-type]
            known = default_rate(name) if given is None else number or None
            yield Optimizing(call, name, usual, written if number else None, known)
        elif name in TRAINERS and TRAINERS[name].rate:
            yield _of_trainer(subject, call, name, TRAINERS[name])
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
            yield from _by_word(subject, call)


def _of_trainer(subject: Subject, call: ast.Call, name: str, trainer: Trainer) -> Optimizing:
    """The optimizer that a trainer makes by itself."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == trainer.rate), None)
    written = number_written(subject, given) if given is not None else None
    known = trainer.default_rate if given is None else float(written.value) if written is not None else None  # type: ignore[arg-type]
    return Optimizing(call, name, trainer.usual_rate, written, known or None)


def _by_word(subject: Subject, compiled: ast.Call) -> Iterator[Optimizing]:
    given = next((k.value for k in compiled.keywords if k.arg == "optimizer"), None)
    if given is None and compiled.args:
        given = compiled.args[0]
    word = where_written(subject, given) if given is not None else None
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        return
    name = optimizer_name(word.value) or ""
    usual = usual_rate(name)
    if usual is not None:
        yield Optimizing(word, name, usual, None, default_rate(name))


def _given(call: ast.Call, place: int) -> ast.expr | None:
    named = next((k.value for k in call.keywords if k.arg in RATE_NAMES), None)
    return call.args[place] if named is None and len(call.args) > place else named


def _written(rate: float) -> str:
    """A rate as a number that is no integer, which Keras refuses."""
    text = f"{rate:g}"
    return text if set(text) & set(".e") else f"{text}.0"
