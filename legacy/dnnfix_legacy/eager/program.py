"""The edits that rewrite a program of sessions as functions: names of TensorFlow 2 first, then the functions, line by
line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher

from dnnfix.detect.versioning.calls import changed_arguments
from dnnfix.detect.versioning.graphs import GRAPHS
from dnnfix.detect.versioning.imports import Renames
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import uses_of
from dnnfix.errors import EditError
from dnnfix.records import Edit, ReplaceLines, Site
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix_legacy.eager.names import OPTIMIZERS
from dnnfix_legacy.eager.writing import Eager
from dnnfix_legacy.graphs.dropped_share import dropped_share
from dnnfix_legacy.graphs.programs import in_later_order
from dnnfix_legacy.graphs.rewriting import Rewriting
from dnnfix_legacy.graphs.statements import InTheWay

_DROPOUT = "tensorflow.nn.dropout"


def eager_edits(source: Source, others: Iterable[Hit]) -> tuple[Edit, ...]:
    """The edits that make the program one of functions, the names of TensorFlow 2 and the edits of `others` included.

    Raises `InTheWay` where it cannot be said for certain that the functions compute what the graph did.
    """
    if not source.document.is_plain:
        raise InTheWay("a notebook is left as a graph")
    today = _brought(source, [*others, *_renames(source)])
    today = _edited(today, in_later_order(today))
    today = _edited(today, _dropouts(today))
    text = Eager(today).text()
    return tuple(_by_lines(source, text))


def _renames(source: Source) -> Iterator[Hit]:
    """The names and keywords of TensorFlow as version 2 has them; optimizers are made anew by `Eager`."""
    uses = uses_of(source)
    optimizers = {
        source.site(call)
        for call in source.all_calls
        if (source.written(call.func) or "").rpartition(".")[2] in OPTIMIZERS
    }
    for hit in (*Renames(uses).found(), *changed_arguments(uses)):
        if hit.edits and not hit.deprecated and "tensorflow" in hit.removed and hit.within not in optimizers:
            if not str(hit.evidence.get("old", "")).endswith("Optimizer"):
                yield hit
        elif hit.decline and hit.decline != GRAPHS and "tensorflow" in hit.removed and not _elsewhere(hit):
            raise InTheWay(f"{hit.evidence.get('old', 'a name')} has no successor", hit.site)


def _elsewhere(hit: Hit) -> bool:
    """Whether something else in this file, or a template of its own, takes care of it."""
    return hit.evidence.get("old") in ("keep_prob", "tensorflow.examples.tutorials.mnist")


def _brought(source: Source, hits: list[Hit]) -> Source:
    """The program with the edits of all hits, as far as they can be carried out together."""
    edits = dict.fromkeys(edit for hit in hits for edit in hit.edits)
    try:
        return _edited(source, tuple(edits))
    except EditError as error:
        raise InTheWay(f"its other changes cannot be carried out along with it ({error})") from None


def _edited(source: Source, edits: tuple[Edit, ...]) -> Source:
    return Source.from_bytes(apply_edits(source, edits), source.path) if edits else source


def _dropouts(source: Source) -> tuple[Edit, ...]:
    """`keep_prob` as the rate of what is dropped."""
    new = Rewriting(source)
    for call in source.all_calls:
        if source.written(call.func) != _DROPOUT:
            continue
        given = dict(zip(("x", "keep_prob", "noise_shape", "seed", "name"), call.args, strict=False))
        given.update({k.arg: k.value for k in call.keywords if k.arg})
        kept = given.pop("keep_prob", None)
        if kept is not None:
            new.write(call, _dropout(new, call, given, kept))
    return new.edits()


def _dropout(new: Rewriting, call: ast.Call, given: dict[str, ast.expr], kept: ast.expr) -> Callable[[], str]:
    def written() -> str:
        rate = dropped_share(kept, new.text(kept))
        others = [f"{key}={new.text(value)}" for key, value in given.items() if key != "x"]
        return f"{new.text(call.func)}({', '.join([new.text(given['x']), f'rate={rate}', *others])})"

    return written


def _by_lines(source: Source, text: str) -> Iterator[Edit]:
    """The edits from the file's own lines to those of the new text."""
    old, new = list(source.document.own_lines), text.split("\n")
    same = 0  # at the end, where the matcher may take an empty line for another one
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    matcher = SequenceMatcher(None, old[: len(old) - same], new[: len(new) - same], autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        if first == last:  # lines that only come in are put there with a line before or after them
            first, begin = (first - 1, begin - 1) if first else (first, begin)
            last, end = (last, end) if first < last else (last + 1, end + 1)
        site = Site(first + 1, 1, last, len(source.places.lines[last - 1]) + 1)
        yield ReplaceLines(site, "\n".join(new[begin:end]))
