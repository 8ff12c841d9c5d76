"""Calls that rely on a default value that a later version changed, and the code that states the former value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.detect.versioning.calls import receiver_is
from dnnfix.detect.versioning.era import Proof, older
from dnnfix.detect.versioning.names import DATA, Uses, uses_of
from dnnfix.detect.versioning.tables import Change, Table, table
from dnnfix.source.arguments import argument_value
from dnnfix.source.names import canonical
from dnnfix.source.program import Source, once
from dnnfix.subject import Subject

TABLE = DATA / "defaults.toml"


@dataclass(frozen=True, slots=True)
class Reliance:
    """A call, or a string that stands for one (`optimizer="adadelta"`), and a default of it that changed."""

    node: ast.Call | ast.Constant
    name: str
    change: Change
    in_tensorflow: bool
    """Whether it is used as a part of TensorFlow, whose versions then count."""

    @property
    def package(self) -> str:
        """The package of which the version decides."""
        return "tensorflow" if self.in_tensorflow else self.change.of[0].partition(".")[0]

    @property
    def since(self) -> str:
        """The version in which the default changed; empty where it never did in TensorFlow's part."""
        of_keras = self.change.of[0].startswith("keras.")
        return self.change.tensorflow if self.in_tensorflow and of_keras else self.change.since


def relied_defaults(subject: Subject, apart: bool = False) -> Iterator[tuple[Reliance, Proof]]:
    """The defaults that changed and that a program of before relies on, with what shows that it is from before.

    With `apart`, those instead of which the effect needs a function that this program does not call, as the loading of
    weights of then: it is told of them, and nothing is to be changed.
    """
    known = table(TABLE)
    if subject.source.words.isdisjoint((*known.words, "compile")):
        return
    for reliance in _reliances(uses_of(subject.source), known):
        change = reliance.change
        wanted = _lacks(subject, change) if apart else _matters(subject, change)
        proof = _proof(subject, reliance) if wanted else None
        if proof is not None:
            yield reliance, proof


def _lacks(subject: Subject, change: Change) -> bool:
    """Whether a change is without effect only since the program calls none of some functions."""
    if change.silent or not change.beside or change.given or subject.source.words & {*change.apart}:
        return False
    return _last_names(subject.source).isdisjoint(change.beside)


def _matters(subject: Subject, change: Change) -> bool:
    """Whether a change has an effect in a program that calls these functions."""
    if change.silent or subject.source.words & {*change.apart}:
        return False
    return not change.beside or not _last_names(subject.source).isdisjoint(change.beside)


@once
def _last_names(source: Source) -> frozenset[str]:
    """The last words of all that a program calls."""
    functions = (call.func for call in source.all_calls)
    return frozenset(f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in functions)


def _reliances(uses: Uses, known: Table) -> Iterator[Reliance]:
    for call in uses.calls():
        for name, in_tensorflow in _called(uses, call, known):
            for change in known.defaults(name):
                if _relies(call, change):
                    yield Reliance(call, name, change, in_tensorflow)
        yield from _by_text(uses, call, known)


def _called(uses: Uses, call: ast.Call, known: Table) -> Iterator[tuple[str, bool]]:
    """What a call calls, as the table writes it, and whether through TensorFlow."""
    function = call.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if last not in known.words and last not in uses.imported and last.capitalize() not in known.words:
        return
    written = uses.source.written(function)
    if written is None:
        if last == "fit" and isinstance(function, ast.Attribute) and _is_model(uses, function.value):
            yield "keras.Model.fit", _keras_is_tensorflows(uses)
        return
    if written.startswith("tf_keras") or ".compat." in written or ".legacy." in written:
        return
    target = uses.target(written)
    names = (canonical(written), canonical(target.final) if target is not None and target.final else "")
    for name in dict.fromkeys(names):
        if name:
            yield name, written.startswith("tensorflow.")


def _is_model(uses: Uses, holder: ast.expr) -> bool:
    return receiver_is(uses.source, holder, "keras.Model") is True


def _by_text(uses: Uses, call: ast.Call, known: Table) -> Iterator[Reliance]:
    """Optimizers that `compile` is given by name."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and "keras" in uses.source.frameworks):
        return
    given = argument_value(call, "optimizer", 0)
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        name = f"keras.optimizers.{given.value.capitalize()}"
        for change in known.defaults(name):
            yield Reliance(given, name, change, _keras_is_tensorflows(uses))


def _keras_is_tensorflows(uses: Uses) -> bool:
    return not any(name == "keras" or name.startswith("keras.") for name in uses.imported.values())


def _relies(call: ast.Call, change: Change) -> bool:
    """Whether a call leaves the argument out, or gives the literal whose meaning changed."""
    given = next((k.value for k in call.keywords if k.arg in (change.argument, *change.also)), None)
    if given is None and change.position is not None and change.position < len(call.args):
        given = call.args[change.position]
    if change.given:
        return isinstance(given, ast.Constant) and given.value == change.given
    if given is not None or any(k.arg is None for k in call.keywords):
        return False
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    said = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
    return all(said.get(name) in literals.split() for name, literals in change.where.items())


def _proof(subject: Subject, reliance: Reliance) -> Proof | None:
    """What shows that the program is from before the change: what it uses or says, or an error that only now comes."""
    crash, change = subject.crash, reliance.change
    if crash is not None and change.crash and re.search(change.crash, f"{crash.kind}: {crash.message}"):
        reason = "the program stops with what it leads to"
        return Proof(reliance.package, reliance.since, reason, subject.source.site(reliance.node).line)
    return older(subject, reliance.package, reliance.since) if reliance.since else None
