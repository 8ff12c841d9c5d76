"""What a run saw in the batches of images that models were given, and where the program scales images."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.detect.text_batches import site_of
from dnnfix.records import Site
from dnnfix.source.program import Source
from dnnfix.subject import Subject

PROBE = "image-batches"

PROCESSOR = re.compile(r"(?:Processor|FeatureExtractor)(?:Fast|Pil)?(?:\.from_pretrained)?$")

BYTE = 255


@dataclass(frozen=True, slots=True)
class ImageBatches:
    """The batches of one place that calls a model: the widest range of a channel's values, and the lowest and highest value."""

    site: Site
    model: str
    width: float
    low: float
    high: float


def seen(subject: Subject) -> Iterator[ImageBatches]:
    """The places of the program itself that called models with images."""
    found = subject.trace.probes.get(PROBE) if subject.trace is not None else None
    for one in found if isinstance(found, Sequence) and not isinstance(found, str) else ():
        if isinstance(one, Mapping) and (site := site_of(one.get("site"))) is not None and not site.path:
            width, low, high = (
                float(value) if isinstance(value := one.get(name), int | float) else 0.0
                for name in ("width", "low", "high")
            )
            yield ImageBatches(site, str(one.get("model")), width, low, high)


def processed(source: Source) -> Iterator[ast.Call]:
    """The calls of processors of `transformers` with images."""
    for call in source.all_calls:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "preprocess":
            function = function.value
        made = source.constructor(function) if isinstance(function, ast.Name | ast.Attribute) else None
        if made is not None and made is not call and PROCESSOR.search(ast.unparse(made.func)):
            yield call


def divided(source: Source) -> Iterator[ast.BinOp]:
    """The expressions that divide something by 255."""
    for node in source.nodes(ast.BinOp):
        if isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant) and node.right.value == BYTE:
            yield node


def calls(source: Source, *names: str) -> list[ast.Call]:
    """The calls of functions or classes of torchvision with these names."""
    found = []
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        if name.startswith("torchvision.") and name.rpartition(".")[2] in names:
            found.append(call)
    return found
