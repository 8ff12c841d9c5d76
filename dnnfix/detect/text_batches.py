"""What a run saw in the batches of text that language models were given, and where their parts stand in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.records import Json, Site
from dnnfix.source.program import Source
from dnnfix.subject import Subject

PROBE = "text-batches"


@dataclass(frozen=True, slots=True)
class TextBatches:
    """The batches of one place that calls a language model: numbers of tokens, summed over the batches looked at.

    Of the tokens that only fill a row, and that reach its text, `attended` counts those that the mask does not hide, `unmasked` those of a call without a mask. Of the labels, `labelled` are learned, `learned_padding` of these are padding;
    `ends` and `ends_left_out` are ends of texts that are learned and that are not although the token before is; `same` labels are the token
    at their place, `next` of `compared` the one after it. `inverted` counts the batches whose mask hides all but the padding.
    """

    site: Site
    model: str
    encoder_decoder: bool
    both_ways: bool
    shifts: bool
    tokens: int
    attended: int
    unmasked: int
    inverted: int
    labelled: int
    learned_padding: int
    ends: int
    ends_left_out: int
    same: int
    next: int
    compared: int


NUMBERS = tuple(TextBatches.__dataclass_fields__)[5:]


def seen(subject: Subject) -> Iterator[TextBatches]:
    """The places of the program itself that called language models."""
    found = subject.trace.probes.get(PROBE) if subject.trace is not None else None
    for one in found if isinstance(found, Sequence) and not isinstance(found, str) else ():
        if isinstance(one, Mapping) and (site := site_of(one.get("site"))) is not None and not site.path:
            numbers = {name: value if isinstance(value := one.get(name), int) else 0 for name in NUMBERS}
            has_encoder, both_ways, shifts = (
                bool(one.get(name)) for name in ("encoder_decoder", "both_ways", "shifts")
            )
            yield TextBatches(site, str(one.get("model")), has_encoder, both_ways, shifts, **numbers)


def site_of(found: Json) -> Site | None:
    """The place that a probe wrote."""
    if not isinstance(found, Sequence) or isinstance(found, str) or len(found) != 5:
        return None
    line, column, end_line, end_column, path = found
    if not (isinstance(line, int) and isinstance(column, int) and isinstance(end_line, int)):
        return None
    return (
        Site(line, column, end_line, end_column, path)
        if isinstance(end_column, int) and isinstance(path, str)
        else None
    )


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gives a language model: expressions in the source, `None` for what it does not give by itself.

    The texts are those of the expressions, or of the parts of the mapping that the call unpacks; empty where none can be written.
    """

    call: ast.Call
    ids: ast.expr | None
    mask: ast.expr | None
    labels: ast.expr | None
    ids_text: str
    mask_text: str
    labels_text: str


def given(subject: Subject, batches: TextBatches) -> Given | None:
    """The call in a place, and what it gives; `None` where the place is none, as where a trainer calls the model."""
    call = subject.node(batches.site)
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    unpacked = named.get(None)
    is_plain = unpacked is None or isinstance(unpacked, ast.Name | ast.Attribute)
    ids = named.get("input_ids") or (call.args[0] if call.args else None)
    if not is_plain or sum(keyword.arg is None for keyword in call.keywords) > 1 or (ids is None and unpacked is None):
        return None

    def text_of(node: ast.expr | None, name: str) -> str:
        if node is None:
            return f'{ast.unparse(unpacked)}["{name}"]' if unpacked is not None else ""
        return subject.text(subject.source.site(node))

    ids_text, mask, labels = text_of(ids, "input_ids"), named.get("attention_mask"), named.get("labels")
    mask_text = text_of(mask, "attention_mask") or beside_ids(ids_text, "attention_mask")
    return Given(call, ids, mask, labels, ids_text, mask_text, text_of(labels, "labels"))


def kept_under(source: Source, *names: str) -> Iterator[ast.expr]:
    """What a program puts into mappings under one of these names: `x["labels"] = …`, `{"labels": …}`."""

    def is_named(key: ast.expr | None) -> bool:
        return isinstance(key, ast.Constant) and key.value in names

    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and is_named(target.slice):
            yield node.value
    for display in source.nodes(ast.Dict):
        for key, value in zip(display.keys, display.values, strict=True):
            if is_named(key):
                yield value


def beside_ids(text: str, name: str) -> str:
    """What lies beside token ids in what a tokenizer gave, as `x["input_ids"]` or `x.input_ids`; empty where that is not known."""
    is_part = re.search(r"""(\[["']|\.)input_ids\b""", text) is not None
    return text.replace("input_ids", name) if is_part and text.count("input_ids") == 1 else ""
