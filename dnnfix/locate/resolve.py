"""Finds the file of a repository that a path of somebody's machine stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence


class Paths:
    """The paths of a repository, by their ends."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        self._paths = paths
        self._by_name: dict[str, list[tuple[int, Sequence[str]]]] = defaultdict(list)
        for number, path in paths.items():
            parts = path.split("/")
            self._by_name[parts[-1]].append((number, parts))

    def of(self, path: str) -> list[int]:
        """The files that share the longest end with a path: its name and a folder, or all that there is of either."""
        parts = path.split("/")
        best, found = 0, list[int]()
        for number, own in self._by_name.get(parts[-1], ()):
            shared = _shared(own, parts)
            if shared > best:
                best, found = shared, [number]
            elif shared == best:
                found.append(number)
        if best >= 2 or len(parts) == 1:
            return found
        return [number for number in found if "/" not in self._paths[number] and "site-packages" not in parts]


def _shared(own: Sequence[str], other: Sequence[str]) -> int:
    shared = 0
    for mine, theirs in zip(reversed(own), reversed(other), strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared
