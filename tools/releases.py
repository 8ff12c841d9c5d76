"""The releases of a package on the index, and the Python sources in their wheels.

Wheels are read once and kept in a folder of the caller's; of a release with several wheels the smallest is taken, as they differ in
what is compiled and not in their Python files.
"""

from __future__ import annotations

import io
import json
import re
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

INDEX = "https://pypi.org/simple/"
TIMEOUT = 300
"""Seconds for one answer of the index."""

_ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json"}
_OUTSIDE = re.compile(r"\.(dist-info|data)/|(^|/)(tests?|testing_utils|benchmarks?|_vendor)/")
"""Files of a wheel that are no part of what a package shows."""


class ReleaseError(Exception):
    """A release cannot be had; the message says which and why."""


@dataclass(frozen=True)
class Release:
    """One release: its version, the day it came (as in `2026-11-28`), and where its smallest wheel lies."""

    version: Version
    day: str
    address: str
    size: int

    @property
    def minor(self) -> tuple[int, int]:
        """What its bug-fix releases share."""
        return self.version.major, self.version.minor


def releases(package: str, index: str = INDEX) -> list[Release]:
    """The final releases that have a wheel, the last one of each minor version, in order. Raises `ReleaseError`."""
    listed = json.loads(_read(f"{index}{package}/", _ACCEPT))
    best: dict[Version, Release] = {}
    for file in listed["files"]:
        found = _release(file)
        if found is not None and (found.version not in best or found.size < best[found.version].size):
            best[found.version] = found
    last: dict[tuple[int, int], Release] = {}
    for version in sorted(best):
        last[best[version].minor] = best[version]
    if not last:
        raise ReleaseError(f"{package}: the index has no final release with a wheel.")
    return sorted(last.values(), key=lambda release: release.version)


def _release(file: Mapping[str, Any]) -> Release | None:
    try:
        version = parse_wheel_filename(file["filename"])[1]
    except (InvalidWheelFilename, ValueError):
        return None
    if version.is_prerelease or file.get("yanked"):
        return None
    return Release(version, file.get("upload-time", "")[:10], file["url"], file["size"])


def sources(release: Release, folder: Path) -> Iterator[tuple[str, bytes]]:
    """The Python files of a release, by their path in it. The wheel is kept in the folder. Raises `ReleaseError`."""
    kept = folder / release.address.rpartition("/")[2]
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        partly = kept.with_suffix(".part")
        partly.write_bytes(_read(release.address, {}))
        partly.rename(kept)
    with zipfile.ZipFile(io.BytesIO(kept.read_bytes())) as wheel:
        for path in sorted(wheel.namelist()):
            if path.endswith((".py", ".pyi")) and not _OUTSIDE.search(path):
                yield path, wheel.read(path)


def _read(address: str, headers: Mapping[str, str]) -> bytes:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=dict(headers)), timeout=TIMEOUT) as answer:
            content: bytes = answer.read()
            return content
    except OSError as error:
        raise ReleaseError(f"{address}: {error}") from None
