"""A call whose arguments a function of a library does not take."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Refusal,
    Reject,
    RemoveArgument,
    RenameArgument,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    changed_arguments,
    free_parameters,
    likeness,
    likest,
    refusal,
    same_meaning,
    takes,
    unknown_keywords,
    uses_of,
)

TEXTS = (
    "name",
    "padding",
    "mode",
    "activation",
    "reduction",
    "data_format",
    "kind",
    "dtype",
    "scope",
    "title",
    "label",
)
"""Parameters that take a text."""
_SPELLING = 0.97
"""How alike names are at least that differ in capitals and underscores only."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that a library refused, with the keywords that its function does not have."""

    asked: Refusal
    call: ast.Call
    unknown: tuple[str, ...]


class ArgumentsNotOfFunction(FaultTemplate[Refused]):
    """A library's function or layer is called with arguments that it does not take, or without those that it needs.

    `Conv2D(num_filters=12, stride=2)` means `filters` and `strides`; `nn.Linear(4, 2, use_bias=False)` means `bias`. What
    the function takes is asked of the function itself at the crash. A keyword is renamed if one parameter that is still
    free is by far the likest: the same words, a slip of a letter, a further word, what other libraries call it, or the only
    one that is missing. Where a function of nearly the same name takes the call as it stands (`tf.argmax` for
    `tf.arg_max`), that one is called. Of one argument too many by place, the one goes behind which the others fit again.

    Fix safety: unsafe. The call gets a meaning that it did not have.

    References: https://docs.python.org/3/library/inspect.html#inspect.Signature.bind; https://keras.io/api/layers/.
    """

    code = "DNF552"
    name = "arguments-not-of-function"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{function}` does not take the call as it is written{words}"
    needs_run = True
    declined = "what is meant by the arguments cannot be told from their names"

    def faults(self, subject: Subject) -> Faults[Refused]:
        """The crash, where a function of a library does not take its call and no table knows why."""
        asked, crash = refusal(subject), subject.crash
        if asked is None or crash is None or asked.asked != "call" or asked.parameters is None:
            return
        call = subject.node(asked.site)
        if not isinstance(call, ast.Call) or any(each.arg is None for each in call.keywords):
            return
        unknown = tuple(unknown_keywords(asked, call, crash.message))
        if not unknown and takes(asked.parameters, call) is not False:
            return
        known = uses_of(subject.source)
        if any(hit.within == asked.site for hit in changed_arguments(known)):
            return
        yield asked.site, Refused(asked, call, unknown)

    def report(self, site: Site, fault: Refused) -> Finding:
        """The finding, at the call."""
        said = f": it has no {', '.join(f'`{word}`' for word in fault.unknown)}" if fault.unknown else ""
        return self.finding(
            site, symptom=Symptom.CRASH, cause="crash", confidence=0.9, function=fault.asked.name, words=said
        )

    def repairs(self, subject: Subject, fault: Refused) -> Repairs:
        """The function that takes the call, the names that are meant, or the arguments that fit."""
        call, source = fault.call, subject.source
        sibling = _sibling(fault)
        if sibling is not None:
            function = source.site(call.func)
            held = f"{subject.text(source.site(call.func.value))}." if isinstance(call.func, ast.Attribute) else ""
            if held:
                yield f"Call `{sibling}`", (Replace(function, held + sibling),), 0.85
        if fault.unknown:
            names = _meant(fault)
            if names is not None and takes(fault.asked.parameters, call, names) is not False:
                edits = tuple(RenameArgument(fault.asked.site, old, new) for old, new in names.items())
                yield f"Name {', '.join(names.values())}", edits, 0.8
            return
        dropped = _one_too_many(fault)
        if dropped is not None:
            text = subject.text(source.site(call.args[dropped]))
            edit: Edit = RemoveArgument(fault.asked.site, "", dropped)
            yield f"Do not give `{text}`", (edit,), 0.6

    examples = (
        Example(
            "other names for filters and strides",
            """\
import numpy as np
import keras
from keras import layers

inputs = keras.Input((8, 8, 1))
- x = layers.Conv2D(num_filters=4, kernel_size=3, stride=2, name="first")(inputs)
+ x = layers.Conv2D(filters=4, kernel_size=3, strides=2, name="first")(inputs)
model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
print(model.predict(np.ones((2, 8, 8, 1)), verbose=0).shape)
""",
            runs=True,
        ),
        Example(
            "what another library calls it",
            """\
import torch
from torch import nn

- net = nn.Sequential(nn.Linear(4, 4, use_bias=False), nn.ReLU(), nn.Linear(4, 1))
+ net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net(torch.ones(2, 4)).sum().backward()
optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the arguments of the program's own function",
            """\
import torch


def net(inputs, width):
    return torch.nn.Linear(inputs, width)


print(net(inputs=3, widths=4))
""",
            runs=True,
        ),
        Reject(
            "a value that the function refuses, under a name that it has",
            """\
import torch

print(torch.nn.Linear(in_features=3, out_features="4"))
""",
            runs=True,
        ),
    )


def _meant(fault: Refused) -> Mapping[str, str] | None:
    """The parameters that are meant by the unknown keywords; `None` where one of them cannot be told."""
    free = list(free_parameters(fault.asked, fault.call))
    found: dict[str, str] = {}
    for keyword in fault.unknown:
        left = [each for each in free if each.name not in found.values()]
        ranked = [
            (1.0 if same_meaning(keyword, each.name) else likeness(keyword, each.name), each.name) for each in left
        ]
        name = likest((score, name) for score, name in ranked if score >= 0.6)
        missing = [each.name for each in left if not each.optional]
        if name is None and len(fault.unknown) == len(missing) == 1:
            name = missing[0]
        if name is None:
            return None
        found[keyword] = name
    return found


def _sibling(fault: Refused) -> str | None:
    """A function of the same module, under the same name but for its spelling, that takes the call as it stands.

    For a call without any argument, which says nothing by itself, the name may also go on.
    """
    bare = not fault.call.args and not fault.call.keywords
    found = []
    for offer in fault.asked.near:
        score = likeness(fault.asked.name, offer.name)
        near = offer.name.startswith(f"{fault.asked.name}_") if bare else score >= _SPELLING
        if near and offer.callable and takes(offer.parameters, fault.call):
            found.append((score, offer.name))
    return likest(found)


def _one_too_many(fault: Refused) -> int | None:
    """The argument given by place that has to go so that a text behind it stands where a text is taken."""
    known = [each for each in fault.asked.parameters or () if each.kind <= 1]
    call = fault.call
    if call.keywords or len(call.args) != len(known) + 1:
        return None
    ends = [
        number for number, arg in enumerate(call.args) if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    ]
    if len(ends) != 1 or not 0 < ends[0] <= len(known) or known[ends[0] - 1].name not in TEXTS:
        return None
    before = range(1, ends[0])
    return before[0] if len(before) == 1 else None
