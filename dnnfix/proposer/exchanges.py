"""What was asked and answered, kept by the hash of prompt, model and settings: one small file each, which people can read.

The same folder serves as the cache of a user, as what `--offline` replays, and as cassettes of tests. Neither keys nor addresses
are in it.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

FORMAT = 1

CUT = "an answer did not end, and was cut"
"""The remark on an answer of which only a part is there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: what is sent, and the settings that its answer depends on."""

    task: str
    text: str
    model: str
    temperature: float
    number: int = 0
    """Which of several answers to the same is wanted."""
    max_tokens: int = 1_500
    """Tokens that the answer may have."""

    @property
    def key(self) -> str:
        """The hash that it is kept under."""
        plain = json.dumps([FORMAT, self.task, self.text, self.model, self.temperature, self.number, self.max_tokens])
        return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Exchanged:
    """An answer, and what it cost: tokens as they are charged to the caps, and dollars."""

    answer: str
    asked_tokens: int
    answered_tokens: int
    cost: float = 0.0
    cached: bool = False
    remark: str = ""
    """What was odd about it, such as tokens that cannot be true, or an answer that was cut."""


class Exchanges:
    """The exchanges in a folder, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def known(self, asked: Asked) -> Exchanged | None:
        """What was answered before; `None` where nothing was, or what is there cannot be read."""
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            found: dict[str, Any] = json.loads(self._file(asked).read_bytes())
            kept = Exchanged(**found["answer"])
            if found["asked"] == asdict(asked) and _is_sound(kept):
                return replace(kept, cached=True)
        return None

    def keep(self, asked: Asked, answered: Exchanged) -> None:
        """Keep an answer; where the folder cannot be written, it is lost, and nothing else."""
        document = json.dumps({"format": FORMAT, "asked": asdict(asked), "answer": asdict(answered)}, indent=1)
        with suppress(OSError):
            own_folder(self.folder)
            handle, made = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(document)
                os.replace(made, self._file(asked))
            except OSError:
                os.unlink(made)

    def _file(self, asked: Asked) -> Path:
        return self.folder / f"{asked.key}.json"


def own_folder(folder: Path) -> None:
    """Make a folder, and the one that it lies in, for this user alone. Raises `OSError`."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)


def _is_sound(kept: Exchanged) -> bool:
    """Whether what a file has is what `keep` writes: tokens and costs are numbers, and the rest is text."""
    numbers = (kept.asked_tokens, kept.answered_tokens)
    return (
        isinstance(kept.answer, str)
        and isinstance(kept.remark, str)
        and all(isinstance(number, int) and number >= 0 for number in numbers)
        and isinstance(kept.cost, (int, float))
        and 0 <= kept.cost < math.inf
    )
