"""Stand-ins share one namespace: the text of several modules of them is joined in one script."""

from __future__ import annotations

import ast
from collections import Counter

from dnnfix.reproduce.standin import FOLDER, _names


def test_every_name_is_defined_once_and_marked_as_made() -> None:
    found = Counter(
        name
        for path in FOLDER.glob("[!_]*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in _names(node)
    )
    assert [name for name, count in found.items() if count > 1] == []
    assert [name for name in found if not name.lower().lstrip("_").startswith("made")] == []
