"""What a package has lost over its releases, as `tools/api_history.py` writes it: compact tables of API changes.

A keyword that moved into an object of settings has for its successor how it is given there today, `args=trl.SFTConfig(max_length)`.

A file has, by kind of change and by the release that lacks it first, the old names with the new ones, empty where the sources name none.
`shown` are the names right below the package, of today and of before:

    {"package": "trl", "first": "0.0.3", "last": "1.16.0", "day": "2026-10-15",
     "shown": ["DPOTrainer", "trainer"],
     "module": {"0.13": {"trl.env_utils": ""}},
     "name": {"0.29": {"trl.CPOConfig": "trl.experimental.cpo.CPOConfig"}},
     "argument": {"0.12": {"tokenizer": {"processing_class": ["trl.DPOTrainer"]}}},
     "method": {"0.13": {"generate": {"": ["trl.PPOTrainer"]}}}}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dnnfix.source.program import Source

_MOVED = re.compile(r"(\w+)=([\w.]+)\((\w+)\)")

UNNAMED = "the sources of its releases name nothing that replaces it"
"""The note of what went without a successor."""


def is_meant(source: Source, package: str, shown: Collection[str]) -> bool:
    """Whether a program that imports a name means this package, and not a folder of its own that is called so.

    All that it has from there is what the package shows, or showed at some time.
    """
    if source.module_named(package) is not None:
        return False
    parts = [imported.split(".") for _, imported in source.imported_names]
    return all(one[1] in shown for one in parts if one[0] == package and len(one) > 1)


def document(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The same in the form of the tables that are written by hand: entries by kind (see `tables`)."""
    found = {kind: list(_whole(data.get(kind, {}))) for kind in ("module", "name")}
    return found | {kind: list(_parts(data.get(kind, {}))) for kind in ("argument", "method")}


def _whole(by_release: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    for removed, names in by_release.items():
        for old, new in names.items():
            yield {"old": old, "removed": removed, **_told(new)}


def _parts(by_release: Mapping[str, Mapping[str, Mapping[str, list[str]]]]) -> Iterator[dict[str, Any]]:
    for removed, names in by_release.items():
        for old, successors in names.items():
            for new, of in successors.items():
                moved = _MOVED.fullmatch(new)
                told = {"by": moved[1], "into": moved[2], "new": moved[3], "exact": True} if moved else _told(new)
                yield {"of": of, "old": old, "removed": removed, **told}


def _told(new: str) -> dict[str, Any]:
    return {"new": new, "exact": True} if new else {"note": UNNAMED}
