"""What of the program's folder a trial gets to see: its modules and data, in bounds, and nothing that looks secret.

Small files travel as bytes and are laid out in the trial's own scratch folder, where the program may overwrite them;
large ones are linked to and can only be read. Where the folder is too broad to be a project (a home folder, a folder
for temporary files, the root), only what the program's text names is offered.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SMALL = 256 * 2**10
"""Bytes up to which a file is copied; larger ones are linked."""
NAMED = 32 * 2**20
"""Bytes up to which a file is copied that the program's text names: it may be about to overwrite it."""
COPIED = 64 * 2**20
"""Bytes that are copied in all; what comes after is linked."""
ENTRIES = 3000
"""Files and folders that are offered at most; those nearest to the top of the folder come first."""
LINKED = 300
"""Large files that are offered at most."""
DEPTH = 8

_SECRET = re.compile(
    r"\..*|id_(rsa|dsa|ecdsa|ed25519).*|.*\.(pem|key|p12|pfx|jks|kdbx|keytab|ppk|gpg|asc|crt|ovpn)"
    r"|_?netrc|tokens?(\.\w+)?"
    r"|.*(credential|secret|passw(or)?d|passphrase|api[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token).*"
    r"|kaggle\.json|service[_-]?account.*|.*\.tfvars|wandb-settings.*",
    re.IGNORECASE,
)
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "dist-packages", "build", "dist", "wandb", "mlruns"}
_STRING = re.compile(rb"""['"]([^'"\n]{1,200})['"]""")
_IMPORT = re.compile(rb"^\s*(?:from\s+\.*([A-Za-z_][\w.]*)|import\s+([A-Za-z_][\w., ]*))", re.MULTILINE)


@dataclass(frozen=True)
class Project:
    """The files that a trial is given: `files` as (path, offset, size) in `bundle`, `links` as (path, file)."""

    name: str = "program"
    folders: tuple[str, ...] = ()
    files: tuple[tuple[str, int, int], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    bundle: int = field(default=-1, compare=False)
    """A descriptor that the holder closes."""
    left_out: int = 0
    """Entries beyond the bounds."""


def gather(folder: Path | None, text: bytes) -> Project:
    """The project in `folder` for a program with this text; an empty one where there is no folder."""
    if folder is None or not folder.is_dir():
        return _pack("program", [], [], set(), 0)
    root = folder.resolve()
    named = names_in(text)
    entries = list(_named_entries(root, text)) if too_broad(root) else list(_walk(root))
    left_out = max(0, len(entries) - ENTRIES)
    entries = entries[:ENTRIES]
    folders = [path for path, full in entries if os.path.isdir(full)]
    files = [(path, full) for path, full in entries if not os.path.isdir(full)]
    return _pack(root.name or "program", folders, files, named, left_out)


def too_broad(folder: Path) -> bool:
    """Whether a folder holds more than one project: the user's home or above, the root, folders for temporary files."""
    home = Path.home().resolve()
    broad = {Path("/"), Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")}
    usual = {home / name for name in ("Desktop", "Documents", "Downloads")}
    return folder in broad | usual or folder == home or folder in home.parents or len(folder.parts) <= 2


def names_in(text: bytes) -> set[str]:
    """The strings in a program's text that could be the names of files."""
    return {match.decode("utf-8", "replace") for match in _STRING.findall(text)}


def looks_secret(name: str) -> bool:
    """Whether a file or folder of that name is never offered."""
    return _SECRET.fullmatch(name) is not None


def offered(root: Path, file: Path) -> bool:
    """Whether a trial gets to see a file below `root` (resolved): no secret, nor a link that leads out of the folder."""
    steps = [*reversed(file.relative_to(root).parents[:-1]), file.relative_to(root)]
    return all(_offered(root, step.name, str(root / step)) for step in steps)


def _walk(root: Path) -> Iterator[tuple[str, str]]:
    """Files and folders below `root`, level by level, sorted; the bound on entries is checked while walking."""
    level = [("", str(root))]
    seen = 0
    for _depth in range(DEPTH):
        deeper: list[tuple[str, str]] = []
        for path, full in level:
            for name in _listed(full):
                inside, place = os.path.join(path, name), os.path.join(full, name)
                if not _offered(root, name, place):
                    continue
                yield inside, place
                seen += 1
                if seen > ENTRIES:
                    return
                if os.path.isdir(place) and not os.path.islink(place):
                    deeper.append((inside, place))
        level = deeper


def _named_entries(root: Path, text: bytes) -> Iterator[tuple[str, str]]:
    """What the text names: the modules that it imports and the files in its strings, where they lie in `root`."""
    wanted = set(names_in(text))
    for source, several in _IMPORT.findall(text):
        for module in (source or several).decode("ascii", "replace").replace(" as ", ",").split(","):
            top = module.strip().split(".")[0]
            wanted |= {top + ".py", top} if top.isidentifier() else set()
    for name in sorted(wanted):
        relative = os.path.normpath(name)
        parts = relative.split(os.sep)
        place = os.path.join(root, relative)
        if relative in (".", "..") or os.path.isabs(name) or ".." in parts or not os.path.exists(place):
            continue
        if any(looks_secret(part) for part in parts) or not _offered(root, parts[-1], place):
            continue
        yield relative, place
        if os.path.isdir(place):
            for path, full in _walk(Path(place)):
                yield os.path.join(relative, path), full


def _offered(root: Path, name: str, place: str) -> bool:
    if looks_secret(name) or name in _SKIPPED or os.path.exists(os.path.join(place, "pyvenv.cfg")):
        return False
    try:
        mode = os.stat(place).st_mode
    except OSError:
        return False
    if os.path.islink(place):
        real = os.path.realpath(place)
        within = real.startswith(str(root) + os.sep)
        return (
            within and stat.S_ISREG(mode) and not any(looks_secret(part) for part in Path(real).relative_to(root).parts)
        )
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _pack(name: str, folders: list[str], files: list[tuple[str, str]], named: set[str], left_out: int) -> Project:
    bundle = memory_file(b"")
    packed: list[tuple[str, int, int]] = []
    links: list[tuple[str, str]] = []
    offset = 0
    for path, full in files:
        mentioned = path in named or os.path.basename(path) in named or "./" + path in named
        data = _read(full, NAMED if mentioned or path.endswith(".py") else SMALL)
        if data is not None and offset + len(data) <= COPIED:
            os.pwrite(bundle, data, offset)
            packed.append((path, offset, len(data)))
            offset += len(data)
        elif len(links) < LINKED and os.access(full, os.R_OK):
            links.append((path, os.path.realpath(full)))
        else:
            left_out += 1
    return Project(name, tuple(folders), tuple(packed), tuple(links), bundle, left_out)


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
