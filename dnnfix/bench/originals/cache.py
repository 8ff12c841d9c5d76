"""The cache of downloaded originals: a folder for each instance, complete or with the reason why it is missing."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dnnfix.errors import InputError

FACTS = "original.json"


@dataclass(frozen=True, slots=True)
class Original:
    """A downloaded original. `gone` says why it is missing, and is empty where it is there.

    A commit has `before` and `after`, the changed files on both sides by path; a question has its text and its answers
    in `after` and `before`, the accepted one first.
    """

    id: str
    gone: str = ""
    line: int | None = None
    before: Mapping[str, str] | None = None
    after: Mapping[str, str] | None = None


class Cellar:
    """The originals cached in a folder. Raises `InputError` where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: no originals can be kept here: {error}") from None

    def has(self, id: str) -> Original | None:
        """The cached original of an instance; `None` where it was never downloaded, or not completely."""
        place = self.folder / id
        try:
            facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
            sides = [
                {
                    name: (place / side / str(n)).read_bytes().decode("utf-8", "replace")
                    for n, name in enumerate(facts[side])
                }
                for side in ("before", "after")
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Original(id, facts["gone"], facts["line"], *sides)

    def put(self, original: Original) -> None:
        """Store an original, completely or not at all. Raises `InputError` where it cannot be written."""
        sides = {"before": dict(original.before or {}), "after": dict(original.after or {})}
        facts = {"gone": original.gone, "line": original.line, **{side: list(files) for side, files in sides.items()}}
        try:
            made = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
            try:
                for side, files in sides.items():
                    (made / side).mkdir()
                    for number, text in enumerate(files.values()):  # paths are others' words: none names a file here
                        (made / side / str(number)).write_bytes(text.encode("utf-8", "replace"))
                (made / FACTS).write_text(json.dumps(facts, indent=1), encoding="utf-8")
                place = self.folder / PurePosixPath(original.id).name
                shutil.rmtree(place, ignore_errors=True)
                os.replace(made, place)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written: {error}. What is there stays.") from None
