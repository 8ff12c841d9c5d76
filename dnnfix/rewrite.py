"""Replaces files by their repaired versions: all of them, or none."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dnnfix.errors import InputError


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file, the bytes that were read from it, and those that it is to have."""

    file: Path
    before: bytes
    after: bytes


def replace_files(rewrites: Sequence[Rewrite]) -> None:
    """Put `after` where `before` was read, in every file or in none: a half-migrated program is worse than an old one.

    Mode and owner are kept; a symbolic link stays one.

    Raises:
        InputError: a file changed meanwhile, is read-only, or cannot be written; all are then as they were.
    """
    with contextlib.ExitStack() as drafts, contextlib.ExitStack() as done:
        made = [(rewrite, drafts.enter_context(_draft(rewrite.file, rewrite.after))) for rewrite in rewrites]
        for rewrite, draft in made:
            _exchange(rewrite.file, rewrite.before, draft)
            done.callback(_put_back, rewrite)
        done.pop_all()


@contextlib.contextmanager
def _draft(file: Path, content: bytes) -> Iterator[str]:
    """A new file with the content beside the old one, with its mode and owner; it is gone afterwards if not taken."""
    target = Path(os.path.realpath(file))
    with contextlib.ExitStack() as unless_taken:
        with _told(file):
            found = target.stat()
            if not found.st_mode & 0o222:
                raise InputError(f"{file}: is read-only and was not changed. Make it writable and run dnnfix again.")
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
            unless_taken.callback(_remove, name)
            with os.fdopen(handle, "wb") as made:
                made.write(content)
                made.flush()
                os.fsync(made.fileno())
            os.chmod(name, stat.S_IMODE(found.st_mode))
            with contextlib.suppress(PermissionError):
                os.chown(name, found.st_uid, found.st_gid)
        yield name


def _exchange(file: Path, before: bytes, draft: str) -> None:
    target = Path(os.path.realpath(file))
    with _told(file):
        if target.read_bytes() != before:
            raise InputError(f"{file}: changed while dnnfix worked on it and was left alone. Run dnnfix again.")
        os.replace(draft, target)


def _put_back(rewrite: Rewrite) -> None:
    with _draft(rewrite.file, rewrite.before) as draft:
        _exchange(rewrite.file, rewrite.after, draft)


def _remove(name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name)


@contextlib.contextmanager
def _told(file: Path) -> Iterator[None]:
    """Says of what the system refuses which file it was."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror}); it was not changed.") from None
