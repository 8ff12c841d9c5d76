"""Chooses the files around a program that a trial may see: those of its repository, the nearest first, no secrets.

Everything here is about names and places; `project.py` takes the files themselves.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dnnfix.run.secret import looks_secret

DEPTH = 8
"""Steps, down and up, that are taken from the program's folder."""
LOOKED_AT = 20_000
"""Names that are read at most at each number of steps."""
NAMES = 2_000
"""Names in a text that are looked for at most."""
MODULES = 100
"""Modules that are read at most, for what they import."""
LONGEST = 2**18
"""Bytes of a module that are read for that."""
CROWDED = 500
"""Files and folders from which on a folder of data may be shown as a whole."""
COUNTED = 200_000
"""Names that are read at most to find such folders: one is never shown without having been looked through."""

_SKIPPED = {"__pycache__", "node_modules", "site-packages", "dist-packages", "build", "dist", "wandb", "mlruns"}
_STRING = re.compile(rb"""['"]([^'"\n]{1,200})['"]""")
_IMPORT = re.compile(rb"^\s*(?:from\s+\.*([A-Za-z_][\w.]*)|import\s+([A-Za-z_][\w., ]*))", re.MULTILINE)


def repository_of(folder: Path) -> Path:
    """What a trial of a program in `folder` gets to see: the repository around it.

    That is the nearest folder with a `.git`, else the working directory where the folder lies below it, else the folder
    alone. A folder that holds more than one project is never taken for a repository.
    """
    around = (folder, *folder.parents)
    repository = next((above for above in around if os.path.lexists(above / ".git")), None)
    for above in (repository, _working_directory()):
        if above in around and not too_broad(above):
            return above
    return folder


def too_broad(folder: Path) -> bool:
    """Whether a folder holds more than one project: the user's home or above, the root, folders for temporary files."""
    home = Path.home().resolve()
    broad = {Path("/"), Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")}
    usual = {home / name for name in ("Desktop", "Documents", "Downloads")}
    return folder in broad | usual or folder == home or folder in home.parents or len(folder.parts) <= 2


def below(root: str, folder: str) -> Iterator[str]:
    """The paths of files and folders below `folder`, which is inside `root`, level by level."""
    return _outwards(root, [folder], folder)


def crowded(root: str) -> frozenset[str]:
    """The outermost folders below `root` that hold many files, and nothing but data: no module, no secret, no link."""
    names = iter(range(COUNTED))
    return frozenset(place for place in _looked_through(root, DEPTH, names).crowded if place != root)


@dataclass(frozen=True, slots=True)
class _LookedThrough:
    """A folder and all below it: how many files and folders, whether they are nothing but data, and the crowded ones."""

    entries: int
    only_data: bool
    crowded: tuple[str, ...]


def _looked_through(folder: str, depth: int, names: Iterator[int]) -> _LookedThrough:
    """What a folder holds, where `names` counts down how many more names may be read."""
    entries, only_data = 0, depth > 0
    inside: tuple[str, ...] = ()
    try:
        with os.scandir(folder) as listing:
            for entry in listing if only_data else ():
                entries += 1
                if next(names, None) is None:
                    return _LookedThrough(entries, only_data=False, crowded=())
                if entry.is_dir(follow_symlinks=False) and _is_of_data(entry.name):
                    below = _looked_through(entry.path, depth - 1, names)
                    entries, only_data = entries + below.entries, only_data and below.only_data
                    inside += below.crowded
                elif not (entry.is_file(follow_symlinks=False) and _is_of_data(entry.name)):
                    only_data = False
    except OSError:
        only_data = False
    if only_data and entries >= CROWDED:
        inside = (folder,)
    return _LookedThrough(entries, only_data, inside)


def _is_of_data(name: str) -> bool:
    kept = name.startswith(".") or looks_secret(name) or name in _SKIPPED
    return not kept and not name.endswith((".py", ".ipynb")) and name != "pyvenv.cfg"


def around(root: str, folder: str) -> Iterator[str]:
    """The paths of files of `root` outside of `folder`, ordered by the number of steps up and down to them.

    Of folders, which come along with their files, only those that something is likely to be written into: beside the
    program's, or beside one above that.
    """
    for place in _outwards(root, [], folder):
        if not os.path.isdir(place) or _lies_in(folder, os.path.dirname(place)):
            yield place


def named(root: str, folder: str, text: bytes) -> Iterator[str]:
    """The files and folders that a program in `folder` names in its strings, and the modules that it imports, with all
    below them.

    Names in strings are looked for as seen from the program's folder and from those above it, up to `root`; modules too,
    and those that these import in their turn as seen from their own folders.
    """
    pending = deque([(folder, [*names_in(text), *_modules_in(text)])])
    looked_for: set[tuple[str, str]] = set()
    read = 0
    while pending:
        start, names = pending.popleft()
        for base in _upwards(root, start):
            new = [name for name in sorted(names)[:NAMES] if (base, name) not in looked_for]
            looked_for.update((base, name) for name in new)
            for place in _found(root, folder, base, new):
                yield place
                if place.endswith(".py") and read < MODULES:
                    read += 1
                    pending.append((os.path.dirname(place), list(_modules_in(_text_of(place)))))


def _found(root: str, folder: str, base: str, names: Iterable[str]) -> Iterator[str]:
    """The files and folders of these names as seen from `base`, with what lies below them; not those around `folder`."""
    for name in names:
        place = os.path.normpath(os.path.join(base, name))
        if os.path.isabs(name) or _lies_in(folder, place) or not _lies_in(place, root) or not os.path.lexists(place):
            continue
        if offered(Path(root), Path(place)):
            yield place
            if os.path.isdir(place):
                yield from below(root, place)


def _text_of(place: str) -> bytes:
    try:
        with open(place, "rb") as stream:
            return stream.read(LONGEST)
    except OSError:
        return b""


def started_from(root: Path, place: str, text: bytes, arguments: Iterable[str]) -> str:
    """The folder in `root` from which the program at `place` is run, relative to the program's own; empty if it is that
    one. `text` is the source of all its files.

    A program finds its files from the folder that it is started in, by its author most often the program's own, else the working
    directory or the repository. Where more of what it names, and of its arguments, is there in one of those, it is started there.
    """
    own = root / os.path.dirname(place)
    working = _working_directory()
    others = [above for above in (working, root) if above is not None and above != own]
    others = [above for above in others if own.is_relative_to(above) and above.is_relative_to(root)]
    if not others:
        return ""
    given = [_fixed_part(name) for name in (*sorted(names_in(text))[:NAMES], *arguments)]
    names = {os.path.normpath(name) for name in given if name.strip("./ ")}

    def there(folder: Path) -> int:
        return sum(not os.path.isabs(name) and os.path.lexists(folder / name) for name in names)

    best = max([own, *others], key=there)  # the first of those that have as many
    return "" if best == own else os.path.relpath(best, own)


def _fixed_part(name: str) -> str:
    """A name, or of one that is put together (`data/%s/{}.txt`) the folder that it begins with."""
    begun = re.split(r"[%{]", name, maxsplit=1)[0]
    return name if begun == name else begun.rpartition("/")[0]


def names_in(text: bytes) -> set[str]:
    """The strings in a program that could be file names."""
    return {match.decode("utf-8", "replace") for match in _STRING.findall(text)}


def offered(root: Path, file: Path) -> bool:
    """Whether a trial may see a file below `root` (resolved): not if it is secret or a link that leads out of the
    folder.
    """
    steps = [*reversed(file.relative_to(root).parents[:-1]), file.relative_to(root)]
    return all(_offered(str(root), str(root / step)) for step in steps)


def _outwards(root: str, level: list[str], top: str) -> Iterator[str]:
    """What lies in the folders of `level` and below; where it is empty, in those above `top` and below these."""
    upwards = not level
    for _step in range(DEPTH):
        came_from = top
        if upwards and top != root:
            top = os.path.dirname(top)
            level = [*level, top]
        deeper: list[str] = []
        for place in _listed(level):
            if place == came_from and upwards or not _offered(root, place):
                continue
            yield place
            if os.path.isdir(place) and not os.path.islink(place):
                deeper.append(place)
        level = deeper


def _listed(folders: Iterable[str]) -> Iterator[str]:
    """What the folders hold, those first that hold little, and modules first: many images do not push them out."""
    listings: list[list[str]] = []
    left = LOOKED_AT
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                listings.append(sorted((entry.path for entry in islice(entries, left)), key=_modules_first))
        except OSError:
            continue
        left -= len(listings[-1])
        if left <= 0:
            break
    for listing in sorted(listings, key=len):
        yield from listing


def _modules_first(place: str) -> tuple[bool, str]:
    return not place.endswith(".py"), place


def _offered(root: str, place: str) -> bool:
    name = os.path.basename(place)
    if looks_secret(name) or name in _SKIPPED:
        return False
    try:
        mode = os.lstat(place).st_mode
        if not stat.S_ISLNK(mode):
            return stat.S_ISREG(mode) or stat.S_ISDIR(mode) and not os.path.exists(os.path.join(place, "pyvenv.cfg"))
        real = os.path.realpath(place)
        within = _lies_in(real, root) and stat.S_ISREG(os.stat(real).st_mode)
    except (OSError, ValueError):
        return False
    return within and not any(looks_secret(part) for part in Path(real).relative_to(root).parts)


def _modules_in(text: bytes) -> Iterator[str]:
    """The names of files and folders in which the modules would be that a text imports."""
    for source, several in _IMPORT.findall(text):
        for module in (source or several).decode("ascii", "replace").replace(" as ", ",").split(","):
            top = module.strip().split(".")[0]
            if top.isidentifier():
                yield from (top + ".py", top)


def _upwards(root: str, folder: str) -> Iterator[str]:
    """The folder and those above it, up to `root`."""
    yield folder
    while folder != root:
        folder = os.path.dirname(folder)
        yield folder


def _lies_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def _working_directory() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None
