"""What a run saw in the batches of text that language models were given, and where their parts stand in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.records import Json, Site
from dnnfix.subject import Subject

PROBE = "text-batches"


@dataclass(frozen=True, slots=True)
class TextBatches:
    """The batches of one place that calls a language model: numbers of tokens, summed over the batches looked at.

    `padding` counts the tokens that only fill a row (`before`: rows filled at their beginning), `attended` those that the mask
    does not hide, `unmasked` those of a call without a mask. Of the labels, `labelled` are learned, `learned_padding` of these are padding;
    `ends` and `ends_left_out` are ends of texts that are learned and that are not although the token before is; `same` labels are the token
    at their place, `next` of `compared` the one after it. `inverted` counts the batches whose mask hides all but the padding.
    """

    site: Site
    model: str
    encoder_decoder: bool
    both_ways: bool
    shifts: bool
    tokens: int
    padding: int
    before: int
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
        if isinstance(one, Mapping) and (site := _site(one.get("site"))) is not None and not site.path:
            numbers = {name: value if isinstance(value := one.get(name), int) else 0 for name in NUMBERS}
            has_encoder, both_ways, shifts = (
                bool(one.get(name)) for name in ("encoder_decoder", "both_ways", "shifts")
            )
            yield TextBatches(site, str(one.get("model")), has_encoder, both_ways, shifts, **numbers)


def _site(found: Json) -> Site | None:
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
    """What a call gives a language model: the expressions in the source, and the mapping that it unpacks."""

    call: ast.Call
    ids: ast.expr | None
    mask: ast.expr | None
    labels: ast.expr | None
    unpacked: ast.expr | None

    @property
    def ids_text(self) -> str:
        """The expression of the token ids; empty where none can be written."""
        return ast.unparse(self.ids) if self.ids is not None else self._of_unpacked("input_ids")

    @property
    def labels_text(self) -> str:
        """The expression of the labels; empty where none can be written."""
        return ast.unparse(self.labels) if self.labels is not None else self._of_unpacked("labels")

    @property
    def mask_text(self) -> str:
        """The expression of the attention mask that is given, or that lies beside the ids; empty where there is none."""
        if self.mask is not None:
            return ast.unparse(self.mask)
        return self._of_unpacked("attention_mask") or beside_ids(self.ids, "attention_mask")

    def _of_unpacked(self, name: str) -> str:
        return f'{ast.unparse(self.unpacked)}["{name}"]' if self.unpacked is not None else ""


def given(subject: Subject, batches: TextBatches) -> Given | None:
    """The call in a place, and what it gives; `None` where the place is none, as where a trainer calls the model."""
    call = subject.node(batches.site)
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    unpacked = named.get(None)
    if sum(keyword.arg is None for keyword in call.keywords) > 1 or not isinstance(
        unpacked, ast.Name | ast.Attribute | None
    ):
        return None
    ids = named.get("input_ids") or (call.args[0] if call.args else None)
    if ids is None and unpacked is None:
        return None
    return Given(call, ids, named.get("attention_mask"), named.get("labels"), unpacked)


def beside_ids(ids: ast.expr | None, name: str) -> str:
    """The expression of what lies beside token ids in what a tokenizer gave: `x["input_ids"]`, `x.input_ids`; empty where that is not known."""
    for node in ast.walk(ids) if ids is not None else ():
        of_mapping = (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "input_ids"
        )
        if of_mapping or (isinstance(node, ast.Attribute) and node.attr == "input_ids"):
            text, part = ast.unparse(ids), ast.unparse(node)  # type: ignore[arg-type]
            return text.replace(part, part.replace("input_ids", name)) if text.count("input_ids") == 1 else ""
    return ""
