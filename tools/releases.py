"""The releases of a package on the index, and the Python sources in them.

Of a release with several wheels the smallest is taken, as they differ in what is compiled and not in their Python files, but none that is
empty and requires another package which has the files, as TensorFlow's for Windows is. Source archives are read of packages that have no wheel
at all, and of minor versions without one that came after the first wheel. What is read once is kept in a folder of the caller's. Of large
wheels, which are mostly compiled code, only the Python files are fetched and kept.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

INDEX = "https://pypi.org/simple/"
TIMEOUT = 300
"""Seconds for one answer of the index."""

LARGE = 16 * 2**20
"""Bytes of a wheel beyond which only its Python files are fetched."""

EMPTY = 50
"""How many times as large another wheel of a release is, where one has no files of its own."""

_BLOCK = 2**20
"""Bytes that are fetched of a large wheel at a time: the files of a folder mostly lie side by side."""

_ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json"}
_OUTSIDE = re.compile(
    r"\.(dist-info|data)/|(^|/)(tests?|testing_utils|integration_tests|examples|benchmarks?|_vendor)/|^(docs|scripts|tools)/"
    r"|(^|/)(conftest|setup|[^/]+_test|test_(?!utils?\.)[^/]*)\.pyi?$"
)
"""Files of a wheel that are no part of what a package shows."""


class ReleaseError(Exception):
    """A release cannot be had; the message says which and why."""


@dataclass(frozen=True)
class Release:
    """One release: its version, the day it came (as in `2026-11-28`), and where its smallest wheel, or its archive, lies."""

    version: Version
    day: str
    address: str
    size: int

    @property
    def minor(self) -> tuple[int, int]:
        """What its bug-fix releases share."""
        return self.version.major, self.version.minor


def releases(package: str, index: str = INDEX) -> list[Release]:
    """The last final release of each minor version, in order. Raises `ReleaseError`."""
    last = {release.minor: release for release in every_release(package, index)}
    return sorted(last.values(), key=lambda release: release.version)


def every_release(package: str, index: str = INDEX) -> list[Release]:
    """The final releases, in order: those with a wheel, and source archives as told above. Raises `ReleaseError`."""
    listed = json.loads(_read(f"{index}{package}/", _ACCEPT))["files"]
    found = [release for file in listed if (release := _release(file, _version_of_wheel)) is not None]
    archives = [release for file in listed if (release := _release(file, _version_of_archive)) is not None]
    with_wheel = {release.minor for release in found}
    oldest = min(with_wheel, default=(-1, 0))
    found += [release for release in archives if release.minor > oldest and release.minor not in with_wheel]
    if not found:
        raise ReleaseError(f"{package}: the index has no final release.")
    largest: dict[Version, int] = {}
    for release in found:
        largest[release.version] = max(largest.get(release.version, 0), release.size)
    best: dict[Version, Release] = {}
    for release in (one for one in found if one.size * EMPTY >= largest[one.version]):
        if release.version not in best or release.size < best[release.version].size:
            best[release.version] = release
    return [best[version] for version in sorted(best)]


def _release(file: Mapping[str, Any], version_of: Callable[[str], Version | None]) -> Release | None:
    version = version_of(file["filename"])
    if version is None or version.is_prerelease or file.get("yanked"):
        return None
    return Release(version, file.get("upload-time", "")[:10], file["url"], file["size"])


def _version_of_wheel(name: str) -> Version | None:
    try:
        return parse_wheel_filename(name)[1]
    except (InvalidWheelFilename, ValueError):
        return None


def _version_of_archive(name: str) -> Version | None:
    try:
        return parse_sdist_filename(name)[1] if name.endswith(".tar.gz") else None
    except (InvalidSdistFilename, ValueError):
        return None


def sources(release: Release, folder: Path) -> Iterator[tuple[str, bytes]]:
    """The Python files of a release, by their path in it, in order. They are kept in the folder. Raises `ReleaseError`."""
    name = release.address.rpartition("/")[2]
    kept = next((path for path in (folder / name, folder / f"{name}.zip") if path.is_file()), None)
    if kept is None:
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / (f"{name}.zip" if release.size > LARGE else name)
        partly = kept.with_name(f"{kept.name}.part")
        partly.write_bytes(_python_alone(release) if release.size > LARGE else _read(release.address, {}))
        partly.rename(kept)
    content = kept.read_bytes()
    for path, text in sorted(_in_archive(content) if name.endswith(".tar.gz") else _in_wheel(io.BytesIO(content))):
        if not _OUTSIDE.search(path):
            yield path, text


def _in_wheel(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(file) as wheel:
        for path in wheel.namelist():
            if path.endswith((".py", ".pyi")):
                yield path, wheel.read(path)


def _in_archive(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of the packages in a source archive, which are the folders with an `__init__.py` right below its own or below `src`."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            path = member.name.partition("/")[2].removeprefix("src/")
            if path.endswith((".py", ".pyi")) and (read := archive.extractfile(member)) is not None:
                found[path] = read.read()
    roots = {path.partition("/")[0] for path in found if path.count("/") == 1 and path.endswith("/__init__.py")}
    return ((path, text) for path, text in found.items() if path.partition("/")[0] in roots)


def _python_alone(release: Release) -> bytes:
    """A wheel with the Python files of a large one and no others. Raises `ReleaseError`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in _in_wheel(io.BufferedReader(_Remote(release), _BLOCK)):
            wheel.writestr(zipfile.ZipInfo(path), text)
    return made.getvalue()


class _Remote(io.RawIOBase):
    """A file of the index, of which only what is read is fetched."""

    def __init__(self, release: Release) -> None:
        self._address, self._size, self._at = release.address, release.size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        last = min(self._at + len(buffer), self._size) - 1
        if last < self._at:
            return 0
        content = _read(self._address, {"Range": f"bytes={self._at}-{last}"})
        if len(content) != last + 1 - self._at:
            raise ReleaseError(f"{self._address}: the index does not give parts of a file.")
        buffer[: len(content)] = content
        self._at = last + 1
        return len(content)


def _read(address: str, headers: Mapping[str, str]) -> bytes:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=dict(headers)), timeout=TIMEOUT) as answer:
            content: bytes = answer.read()
            return content
    except OSError as error:
        raise ReleaseError(f"{address}: {error}") from None
