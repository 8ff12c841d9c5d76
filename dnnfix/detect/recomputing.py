"""Where a program has activations recomputed in the backward pass, and the edits by which inputs need no gradient for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import Edit, Replace, SetArgument
from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words

RECOMPUTED = words("torch.utils.checkpoint.checkpoint torch.utils.checkpoint.checkpoint_sequential")
REENTRANT = "use_reentrant"

WITHOUT_GRADIENT = "None of the inputs have requires_grad=True"
"""What torch warns of where a reentrant checkpoint cuts off the weights within."""


def edits(source: Source) -> tuple[Edit, ...]:
    """The edits by which no checkpoint of activations is reentrant, as one must not be whose inputs have no gradient."""
    found: list[Edit] = []
    for call in source.all_calls:
        told = keyword_value(call, REENTRANT)
        if told is not None:
            found += [Replace(source.site(told), "False")] if _is_true(told) else []
        elif source.qualified(call.func) in RECOMPUTED and None not in {each.arg for each in call.keywords}:
            found.append(SetArgument(source.site(call), REENTRANT, "False"))
    for display in source.nodes(ast.Dict):
        for key, value in zip(display.keys, display.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == REENTRANT and _is_true(value):
                found.append(Replace(source.site(value), "False"))
    return tuple(found) or tuple(_by_default(source))


def _by_default(source: Source) -> Iterator[Edit]:
    """The calls that have a model of `transformers` recompute its activations without a word on how: once, all were reentrant."""
    name, given = "gradient_checkpointing_kwargs", '{"use_reentrant": False}'
    for call in source.all_calls:
        told = {keyword.arg for keyword in call.keywords}
        enables = isinstance(call.func, ast.Attribute) and call.func.attr == "gradient_checkpointing_enable"
        asked = keyword_value(call, "gradient_checkpointing")
        if not {name, None} & told and ((enables and not call.args) or (asked is not None and _is_true(asked))):
            yield SetArgument(source.site(call), name, given)


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True
