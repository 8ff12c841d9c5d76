"""Writes a repaired program in place of the old one, in one step, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from dnnfix.errors import InputError


def replace_file(file: Path, before: bytes, after: bytes) -> None:
    """Put `after` where `before` was read. Mode and owner are kept; a symbolic link stays one.

    Raises:
        InputError: the file changed meanwhile, is read-only, or cannot be written; it is then as it was.
    """
    target = Path(os.path.realpath(file))
    try:
        found = target.stat()
        if not found.st_mode & 0o222:
            raise InputError(f"{file}: is read-only and was not changed. Make it writable and run dnnfix again.")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "wb") as made:
                made.write(after)
                made.flush()
                os.fsync(made.fileno())
            os.chmod(name, stat.S_IMODE(found.st_mode))
            with contextlib.suppress(PermissionError):
                os.chown(name, found.st_uid, found.st_gid)
            if target.read_bytes() != before:
                raise InputError(f"{file}: changed while dnnfix worked on it and was left alone. Run dnnfix again.")
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror}); it was not changed.") from None
