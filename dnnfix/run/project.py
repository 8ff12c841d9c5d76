"""Packs the files of the repository that a trial is given: the program's modules and data, within limits.

Small files are sent as bytes and written to the trial's own scratch folder, where the program may overwrite them. Large
files are linked to and read-only, and so are whole folders of data with too many files to be taken one by one.
`visible.py` chooses the files. Where the program's folder is too broad to be a project (a home folder, a folder for
temporary files, the root), only the files that the program names are offered.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from dnnfix.run import visible

SMALL = 256 * 2**10
"""Bytes up to which a file is copied; larger ones are linked."""
NAMED = 32 * 2**20
"""Bytes up to which a file is copied that the program's text names: it may be about to overwrite it."""
COPIED = 64 * 2**20
"""Bytes that are copied in all; what comes after is linked."""
ENTRIES = 3000
"""Files and folders that are offered of the program's folder at most."""
NAMED_ENTRIES = 1000
"""Files and folders that are offered at most outside of it, of what the program names."""
AROUND = 300
"""Files and folders that are offered at most of the rest of the repository: every trial makes them anew."""
AROUND_COPIED = 16 * 2**20
"""Bytes of these that are copied in all."""
LINKED = 300
"""Large files that are offered at most."""


@dataclass(frozen=True)
class Project:
    """The files that a trial is given: `files` as (path, offset, size) in `bundle`, `links` as (path, file or folder).

    Paths are relative to the repository, which lies at `root` and is called `name`.
    """

    name: str = "program"
    folders: tuple[str, ...] = ()
    files: tuple[tuple[str, int, int], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    bundle: int = field(default=-1, compare=False)
    """A descriptor that the holder closes."""
    left_out: int = 0
    """Entries beyond the bounds; those beyond a bound on entries are not counted to their end."""
    root: Path | None = None


def gather(folder: Path | None, text: bytes, repository: Path | None = None, *, link_folders: bool = False) -> Project:
    """The project of a program with this text in `folder`; an empty one where there is no folder.

    Without a `repository` that the folder lies in, the folder is taken for it. Folders of data are linked to as a whole, where
    there are too many files, with `link_folders` only: the sandbox keeps a trial from writing there, and nothing else does.
    """
    if folder is None or not folder.is_dir():
        return Project(bundle=memory_file(b""))
    own = folder.resolve()
    root = repository.resolve() if repository is not None else own
    if not own.is_relative_to(root):
        root = own
    taken = _taken(root, own, text, frozenset())
    broad = visible.too_broad(root)
    whole = visible.crowded(str(root)) if link_folders and taken.left_out and not broad else frozenset()
    if whole:
        os.close(taken.bundle)
        taken = _taken(root, own, text, whole)
    return taken


def _taken(root: Path, own: Path, text: bytes, whole: frozenset[str]) -> Project:
    """What is taken of the repository at `root` for a program in `own`; the folders `whole` as such."""
    top, start = str(root), str(own)
    packing = _Packing(root, _places_named(own, text), whole)
    if not visible.too_broad(own):
        packing.take(visible.below(top, start), ENTRIES, COPIED)
    if own != root or visible.too_broad(own):
        packing.take(visible.named(top, start, text), NAMED_ENTRIES, COPIED)
    if own != root and not visible.too_broad(root):
        packing.take(visible.around(top, start), AROUND, AROUND_COPIED)
    return packing.project()


@dataclass
class _Packing:
    """A project in the making. `named` are the files that the program's text names: places, and names without folder.

    `whole` are the folders that are linked to as such.
    """

    root: Path
    named: frozenset[str]
    whole: frozenset[str]
    folders: list[str] = field(default_factory=list)
    files: list[tuple[str, int, int]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    left_out: int = 0
    size: int = 0

    def __post_init__(self) -> None:
        self.bundle = memory_file(b"")
        self._seen: set[str] = set()

    def take(self, places: Iterable[str], most: int, copied: int) -> None:
        """Take files and folders, at most so many, and copy at most so many bytes of them."""
        new = self._new(places)
        room = min(COPIED, self.size + copied)
        for place in islice(new, most):
            path = os.path.relpath(place, self.root)
            if place in self.whole:
                self.links.append((path, os.path.realpath(place)))
            elif os.path.isdir(place):
                self.folders.append(path)
            else:
                self._take(path, place, room)
        self.left_out += next(new, None) is not None

    def project(self) -> Project:
        """What was taken."""
        packed = tuple(self.folders), tuple(self.files), tuple(self.links)
        return Project(self.root.name or "program", *packed, self.bundle, self.left_out, self.root)

    def _new(self, places: Iterable[str]) -> Iterator[str]:
        for place in places:
            if place not in self._seen and not self._lies_in_whole(place):
                self._seen.add(place)
                yield place

    def _lies_in_whole(self, place: str) -> bool:
        above = os.path.dirname(place) if self.whole else ""
        while len(above) > len(str(self.root)):
            if above in self.whole:
                return True
            above = os.path.dirname(above)
        return False

    def _take(self, path: str, place: str, room: int) -> None:
        mentioned = place in self.named or os.path.basename(place) in self.named
        data = _read(place, NAMED if mentioned or path.endswith(".py") else SMALL)
        if data is not None and self.size + len(data) <= room:
            os.pwrite(self.bundle, data, self.size)
            self.files.append((path, self.size, len(data)))
            self.size += len(data)
        elif len(self.links) < LINKED and os.access(place, os.R_OK):
            self.links.append((path, os.path.realpath(place)))
        else:
            self.left_out += 1


def _places_named(folder: Path, text: bytes) -> frozenset[str]:
    names = visible.names_in(text)
    return frozenset({*names, *(os.path.normpath(folder / name) for name in names)})


def _read(path: str, most: int) -> bytes | None:
    """The bytes of a file; `None` where it has more than `most` or cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None


def memory_file(data: bytes) -> int:
    """A descriptor of a nameless file with these bytes."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("dnnfix", os.MFD_CLOEXEC)
    else:
        descriptor, path = tempfile.mkstemp(prefix="dnnfix-")
        os.unlink(path)
    os.pwrite(descriptor, data, 0)
    return descriptor
