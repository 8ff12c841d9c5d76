"""What a library would have accepted, where it has no such name or does not accept the arguments of a call.

At the crash the probe asked the interpreter for the names near to the missing one and for the parameters of the
functions behind them. Here they are compared: how similar two names are, and whether a function accepts the call as
it is written. Both rest on the installed library, so that no list of names has to be kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from dnnfix.records import CallParameter, Refusal
from dnnfix.records.trace import VAR_KEYWORD
from dnnfix.source.spelling import SHARED, SLIP, likeness, likest
from dnnfix.subject import Subject

_BY_NAME_TOO, _REST, _BY_NAME = 1, 2, 3
"""Kinds of parameters, as `inspect` numbers them; 0 is one that is given by its place only."""

_ONE_MEANING = (
    ("axis", "dim", "dimension", "axes", "dims", "reduction_indices"),
    ("keepdims", "keepdim", "keep_dims"),
    ("lr", "learning_rate"),
    ("eps", "epsilon"),
    ("p", "rate", "prob", "dropout"),
    ("padding", "pad"),
    ("size", "shape"),
    ("requires_grad", "trainable"),
    ("bias", "use_bias"),
    ("betas", "beta"),
    ("dilation", "dilation_rate"),
    ("weight_decay", "decay"),
)
"""Names that the libraries have for the same argument."""


def refusal(subject: Subject) -> Refusal | None:
    """The refusal that the run crashed with, where the probe saw one in the program itself."""
    return subject.crash.refusal if subject.crash is not None else None


def same_meaning(asked: str, known: str) -> bool:
    """Whether two libraries have these names for the same argument."""
    return any(asked in names and known in names for names in _ONE_MEANING)


def takes(
    parameters: Iterable[CallParameter] | None, call: ast.Call, renamed: Mapping[str, str] | None = None
) -> bool | None:
    """Whether a function takes a call as it is written, with keywords `renamed`; `None` where that is unknown."""
    if parameters is None:
        return None
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    given = {(renamed or {}).get(each.arg or "", each.arg or "") for each in call.keywords}
    if len(given) < len(call.keywords):
        return False
    known = tuple(parameters)
    by_place = [each for each in known if each.kind <= _BY_NAME_TOO]
    if len(call.args) > len(by_place) and not any(each.kind == _REST for each in known):
        return False
    filled = {each.name for each in by_place[: len(call.args)]}
    named = {each.name for each in known if each.kind in (_BY_NAME_TOO, _BY_NAME)}
    if given & filled or not given <= named and not any(each.kind == VAR_KEYWORD for each in known):
        return False
    wanted = {each.name for each in known if each.kind in (0, _BY_NAME_TOO, _BY_NAME) and not each.optional}
    return wanted <= filled | given


def missing_name(asked: Refusal, call: ast.Call | None, least: float = SHARED) -> str | None:
    """What is meant by a name that the library does not have: the likest one that takes the call as it is written.

    The name itself is the likest where another module of the library has it. Given as it is to be written: a bare name
    is one of the same object.
    """
    found = []
    for offer in asked.near:
        score = 0.95 if offer.path else likeness(asked.name, offer.name)
        fits = takes(offer.parameters, call) if call is not None else None
        if call is not None and not (fits or fits is None and offer.callable and _built_in(asked)):
            continue
        if score >= least:
            found.append((score, offer.path or offer.name))
    return likest(found)


def _built_in(asked: Refusal) -> bool:
    """Whether functions of the library keep their parameters to themselves, as those that are written in C do."""
    return asked.owner.partition(".")[0] in ("torch", "numpy")


def free_parameters(asked: Refusal, call: ast.Call) -> Iterator[CallParameter]:
    """The parameters of the called function that the call does not fill yet."""
    known = asked.parameters or ()
    by_place = [each for each in known if each.kind <= _BY_NAME_TOO]
    given = {each.arg for each in call.keywords} | {each.name for each in by_place[: len(call.args)]}
    yield from (each for each in known if each.kind in (_BY_NAME_TOO, _BY_NAME) and each.name not in given)


def unknown_keywords(asked: Refusal, call: ast.Call, message: str) -> list[str]:
    """The keywords of the call that the function refuses.

    A function that takes any keyword hands them on; then those count that its message quotes, and those that are nearly
    the name of a parameter that is free: of one that may not be left out, or but for a slip.
    """
    known = asked.parameters or ()
    named = {each.name for each in known if each.kind in (_BY_NAME_TOO, _BY_NAME)}
    found = [each.arg for each in call.keywords if each.arg is not None and each.arg not in named]
    if not asked.passes_on:
        return found
    free = list(free_parameters(asked, call))
    return [
        each
        for each in found
        if re.search(rf"['\"`]{re.escape(each)}['\"`]", message)
        or any(likeness(each, other.name) >= (SLIP if other.optional else SHARED) for other in free)
    ]
