"""The cause "half precision": numbers in float16, which end at 65504 and at 6e-8, where training left the finite numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import Edit, FixPattern, Replace
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

LEFT = "non-finite"

HALF = words("torch.float16 torch.half")
GIVEN_AS = words("dtype torch_dtype bnb_4bit_compute_dtype")
"""Arguments that take the name of a type as a text."""

METHODS = {"bfloat16": "bfloat16", "float32": "float"}


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Everything in float16 computed in bfloat16, which has the range of float32, or in float32; only where a loss is not finite.

    An optimizer that keeps its averages in float16 divides by zero: squares of gradients below 2e-4 vanish in it.
    """
    if LEFT not in {reading.name for reading in symptoms}:
        return
    for kind, prior in (("bfloat16", 0.7), ("float32", 0.65)):
        made = tuple(_in(subject.source, kind))
        if made:
            title = f"Compute in {kind}, whose numbers have a wider range than those of float16"
            yield Cause("precision", title, FixPattern.DATA_TYPE, made, prior)


def _in(source: Source, kind: str) -> Iterator[Edit]:
    """The edits that write another type wherever the program writes float16."""
    for node in source.nodes(ast.Attribute):
        above = source.parent(node)
        if source.qualified(node) in HALF:
            yield Replace(source.site(node), f"{ast.unparse(node.value)}.{kind}")
        elif node.attr == "half" and isinstance(above, ast.Call) and above.func is node and not above.args:
            yield Replace(source.site(node), f"{source.segment(source.site(node.value))}.{METHODS[kind]}")
    for call in source.all_calls:
        for keyword in call.keywords:
            given = keyword.value
            if keyword.arg in GIVEN_AS and isinstance(given, ast.Constant) and given.value == "float16":
                yield Replace(source.site(given), f'"{kind}"')
