"""Samplers of data loaders that call the constructor of `torch.utils.data.Sampler`, which PyTorch removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import RemoveArgument

SAMPLERS = ("Sampler", "sampler")
"""Words, one of which a program must have that makes a sampler of its own."""

_SAMPLER_BASES = ("torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler")


def outdated_sampler(uses: Uses, call: ast.Call, written: str) -> Iterator[Hit]:
    """`super().__init__(data_source)` of a sampler: the base class has no constructor of its own any more."""
    source, function = uses.source, call.func
    owner = source.enclosing(call, ast.ClassDef)
    if not isinstance(function, ast.Attribute) or not isinstance(owner, ast.ClassDef) or len(owner.bases) != 1:
        return
    base = owner.bases[0].value if isinstance(owner.bases[0], ast.Subscript) else owner.bases[0]
    if source.qualified(base) not in _SAMPLER_BASES:
        return
    above, given = function.value, list(call.args)
    upward = isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "super"
    if not upward:
        if source.qualified(above) not in _SAMPLER_BASES or not given:
            return
        given = given[1:]  # the object itself comes first
    if len(given) + len(call.keywords) != 1 or any(k.arg != "data_source" for k in call.keywords):
        return
    site = source.site(call)
    yield Hit(
        site,
        "Sampler does not accept data_source since torch 2.10; it never used it",
        title="drop data_source",
        edits=(RemoveArgument(site, "data_source", len(call.args) - 1 if call.args else None),),
        safe=True,
        removed={"torch": "2.10"},
    )
