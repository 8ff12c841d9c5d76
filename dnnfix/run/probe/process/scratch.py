"""Unpacks the private copy of the program's folder that a trial runs in; it is deleted after the trial."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, List


def unpack(scratch: str, job: Dict[str, Any], bundle: int) -> str:
    """Create home, temporary and work folders in `scratch`; returns the folder that holds the program.

    `bundle` is a descriptor of the small files' bytes, one after the other as `job["files"]` says; `job["links"]` are
    large files, which are linked to and cannot be written.
    """
    for name in ("home", "tmp", "work"):
        os.makedirs(os.path.join(scratch, name), exist_ok=True)
    root = os.path.join(scratch, "work", _plain(job.get("folder") or "program"))
    os.makedirs(root, exist_ok=True)
    for path in job.get("folders", ()):
        os.makedirs(_inside(root, path), exist_ok=True)
    for path, offset, size in job.get("files", ()):
        _store(_inside(root, path), os.pread(bundle, size, offset))
    for path, target in job.get("links", ()):
        place = _inside(root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(target, place)
    program = _inside(root, job["place"])
    _store(program, source_of(job))
    folder = os.path.dirname(program)
    for path, text in job.get("beside", ()):
        _store(_inside(root, os.path.relpath(os.path.join(folder, path), root)), text.encode("latin-1"))
    return folder


def source_of(job: Dict[str, Any]) -> bytes:
    """The bytes of the program; they travel as text with one character per byte."""
    return str(job["program"]).encode("latin-1")


def size_of(folder: str, enough: int) -> int:
    """Bytes that the files below `folder` take; counting ends once they are more than `enough`."""
    total = 0
    pending: List[str] = [folder]
    while pending and total <= enough:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    known = entry.stat(follow_symlinks=False)
                    total += max(known.st_blocks * 512, 512)
                    if stat.S_ISDIR(known.st_mode):
                        pending.append(entry.path)
        except OSError:
            continue
    return total


def _store(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.islink(path):  # the user's own file, where it is large: writing through the link would change it
        os.unlink(path)
    with open(path, "wb") as stream:
        stream.write(data)


def _inside(root: str, path: str) -> str:
    """The place of a relative path in the folder; a path that would leave it is refused."""
    place = os.path.normpath(os.path.join(root, path))
    if not place.startswith(root + os.sep):
        raise ValueError("a path outside of the program's folder: %r" % path)
    return place


def _plain(name: str) -> str:
    return name.replace(os.sep, "_").strip(".") or "program"
