"""Reads the READMEs and shell scripts of a repository: how its programs are called, and examples of what its modules are for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from dnnfix.run.visible import offered, repository_of

LONGEST = 2**18
"""Bytes of a README that are read."""
MOST = 6
"""READMEs that are read for one program."""
TOGETHER = 6
"""Blocks of a README that are taken for one program."""
MOST_SCRIPTS = 40
"""Shell scripts below a program's folder that are read."""

_SUFFIXES = ("", ".md", ".markdown", ".rst", ".txt")


def readmes(folder: Path) -> Iterator[tuple[Path, str]]:
    """The READMEs in a folder (absolute), then those in the folders above it up to the repository, each with its text."""
    repository = repository_of(folder)
    found = 0
    for place in (folder, *folder.parents):
        try:
            names = sorted(path for path in place.iterdir() if _is_readme(path) and offered(repository, path))
        except OSError:
            names = []
        for path in names[: MOST - found]:
            found += 1
            yield path, _text(path)
        if place == repository:
            return


def scripts(folder: Path) -> Iterator[tuple[Path, str]]:
    """The shell scripts in a folder (absolute) and right below it, each with its text: `scripts/cifar.sh`."""
    repository = repository_of(folder)
    patterns = ("*.sh", "*/*.sh", "*/*/*.sh")
    found = [path for pattern in patterns for path in sorted(islice(folder.glob(pattern), MOST_SCRIPTS))]
    for path in found[:MOST_SCRIPTS]:
        if path.is_file() and offered(repository, path):
            yield path, _text(path)


def examples(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """The Python code of these READMEs, block by block: the README, the line, and the code, with the blocks before it where it lacks names without them.

    Code that is a part of a program all the same is left out.
    """
    from dnnfix.reproduce.reports.fragments import lacking_names
    from dnnfix.reproduce.reports.report import BlockKind, parsed

    for path, text in readmes(folder):
        before: list[str] = []
        for block in parsed(text).blocks:
            if block.kind is BlockKind.PROGRAM:
                before = [*before, block.text][-TOGETHER:]
                whole = next((code for code in (block.text, "\n".join(before)) if lacking_names(code) == ()), None)
                if whole is not None:
                    yield path, block.line, whole


def _text(path: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _is_readme(path: Path) -> bool:
    return path.stem.lower() == "readme" and path.suffix.lower() in _SUFFIXES and path.is_file()
