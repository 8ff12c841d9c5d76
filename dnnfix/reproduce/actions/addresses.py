"""Edit action: dataset procurement. Pictures and texts that a program fetches from addresses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, RunOutcome, Scaffold
from dnnfix.reproduce.beside import everywhere
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.syntax import string
from dnnfix.source.program import Source

ACTION = EditAction.DATASETS

_STAND_INS = {
    "requests": ("requests.sessions.Session", "made_session_answered"),
    "httpx": ("httpx._api.get", "made_got"),
    "load_image": ("httpx._api.get", "made_got"),
    "pipeline": ("httpx._api.get", "made_got"),
    "urlopen": ("urllib.request.urlopen", "made_opened_address"),
    "urlretrieve": ("urllib.request.urlretrieve", "made_file_fetched"),
    "download_url_to_file": ("torch.hub.download_url_to_file", "made_file_fetched"),
}
"""By a word of a program that fetches: what fetches, and the stand-in for it."""

_ADDRESS = re.compile(r"https?://\S+\.(?:jpe?g|png|bmp|gif|txt)(?:\?\S*)?$", re.IGNORECASE)


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """Answers for addresses of pictures and texts, where the program or a module beside it names one or a run failed to fetch."""
    yield from everywhere(_steps, case)


def _steps(case: Case) -> Iterator[EditStep]:
    source = case.source
    used = dict.fromkeys(stand_in for word, stand_in in _STAND_INS.items() if word in source.words)
    line = _line_of_address(source)
    missed = case.latest is not None and case.latest.outcome is RunOutcome.NEEDS_NETWORK
    if not used or (line is None and not missed):
        return
    yield EditStep(
        ACTION,
        "pictures of 640x480 and texts are made for the addresses that they are fetched from",
        "an address that ends with .jpg is that of a picture, one with .txt that of a text",
        line,
        scaffold=Scaffold(start="\n".join(f"made_in_place_of({place!r}, {name})" for place, name in used)),
    )


def _line_of_address(source: Source) -> int | None:
    """The first line with an address of a picture or text."""
    found = (node.lineno for node in source.nodes(ast.Constant) if _ADDRESS.match(string(node) or ""))
    return min(found, default=None)
