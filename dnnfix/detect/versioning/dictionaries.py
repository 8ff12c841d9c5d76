"""Outputs of models of `transformers` that a program unpacks like a tuple: since version 4 they are dictionaries, which give their keys."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.detect.origins import unpacked_key
from dnnfix.detect.versioning.migration import Hit
from dnnfix.records import SetArgument
from dnnfix.subject import Subject

_REFERENCE = "https://huggingface.co/docs/transformers/v4.0.0/migration.html"


def unpacked_outputs(subject: Subject) -> Iterator[Hit]:
    """The call whose output was unpacked into the key that a run stopped at: it is asked for a tuple."""
    found = unpacked_key(subject) if "transformers" in subject.words else None
    if found is None:
        return
    call, name, held = found
    source = subject.source
    site, model = source.site(call), source.segment(source.site(call.func))
    yield Hit(
        site,
        f"{model} returns a dictionary since transformers 4.0, and unpacked, {name.id} is its key {held.text!r}",
        title="ask for a tuple",
        edits=(SetArgument(site, "return_dict", "False"),),
        exact=True,
        removed={"transformers": "4.0"},
        evidence={"reference": _REFERENCE},
        felt=held.site,
    )
