"""Builds the trace's records of components and calls for all frameworks, and limits how many of them are written."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from . import wire

MOST_COMPONENTS = 3000
MOST_CALLS = 5000
_MOST_PER_SITE = 100
_MOST_PER_SITE_AND_STEP = 64


class ComponentLog:
    """Writes components, and writes them again when they have changed."""

    def __init__(self) -> None:
        self._sent: Dict[int, str] = {}
        self._per_site: Dict[str, int] = {}

    def _too_many(self, site: Any) -> bool:
        """Whether so many were made at a site that further ones tell nothing new; one more is made there."""
        key = str(site)
        self._per_site[key] = count = self._per_site.get(key, 0) + 1
        return site is not None and count > _MOST_PER_SITE

    def send(self, fields: Dict[str, Any], counted: bool = True) -> None:
        """Write a component if it differs from what was written before; without `counted`, a new number of calls is
        no difference.
        """
        image = repr({key: value for key, value in fields.items() if counted or key != "called"})
        if self._sent.get(fields["id"]) != image:
            self._sent[fields["id"]] = image
            wire.emit("component", **fields)


class CallCounts:
    """Counts the recorded calls of each site in each step."""

    def __init__(self) -> None:
        self._counts: Dict[Tuple[Any, ...], int] = {}

    def is_enough(self, call: Dict[str, Any]) -> bool:
        """Count a call; returns whether its site was recorded so often that this one need not be."""
        key = key_of(call)
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return count > _MOST_PER_SITE_AND_STEP


def key_of(call: Dict[str, Any]) -> Tuple[Any, ...]:
    """The key under which calls of one site in one step are counted."""
    return (str(call["site"]), call["name"], call["component"], call["step"], call["phase"])


def component(
    number: int, kind: str, name: str, site: Any, args: Dict[str, Any], called: Optional[int]
) -> Dict[str, Any]:
    """The fields of a component that has just been made."""
    return {"id": number, "kind": kind, "name": name, "site": site, "args": args, "attribute": None,
            "parameters": [], "children": [], "called": called}  # fmt: skip


def call(name: str, site: Any, inputs: List[Dict[str, Any]], phase: str, step: int, scope: List[str]) -> Dict[str, Any]:
    """The fields of a call before it has an id and outputs."""
    return {
        "id": 0, "name": name, "site": site, "component": None, "made_at": None, "args": {}, "inputs": inputs,
        "outputs": [], "phase": phase, "step": step, "scope": scope, "path": "",
    }  # fmt: skip
