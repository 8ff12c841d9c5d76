"""The command line that a program shows in its own text: `python train.py --epochs 3` in a docstring or comment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from dnnfix.source.program import Source, once

_COMMAND = re.compile(
    r"^[ \t]*(?:#[ \t]*)?(?:[`$>]+[ \t]*)?(?:\w+=\S+[ \t]+)*((?:python3?|torchrun|accelerate[ \t]+launch|deepspeed)[ \t](?:[^\\\n]|\\[ \t]*\n)*)",
    re.MULTILINE,
)
"""A line that starts a program, and the lines that continue it."""

_CONTINUED = re.compile(r"\\[ \t]*\n[ \t]*#?[ \t]*")
_UNKNOWN = re.compile(r"[<>{}$|&;`]|^\.\.\.$|path/to|your[_-]", re.IGNORECASE)
"""What a word has that stands for another one, or belongs to the shell."""

_ELSEWHERE = re.compile(
    r"hub(?:_|$)|wandb|report_to|trackio|comet|deepspeed|fsdp|vllm|token$|(?:^|_)(?:cuda|gpus?|device|local_rank)$"
)
"""Options that say where results go or what machine there is: neither is there in a run."""


@dataclass(frozen=True)
class Shown:
    """A command line as it is shown: the line where it begins, and its words as options with their values, in order."""

    line: int
    options: tuple[tuple[str, ...], ...]
    """Each a word that stands alone, or an option and its values."""

    def gives(self, word: str) -> bool:
        """Whether it has an option of that name."""
        return any(_name(option[0]) == _name(word) for option in self.options)


@once
def shown(source: Source) -> Shown | None:
    """The first command line that the text of a program shows for it, without what no run can have; `None` where there is none.

    Of several programs that are started, the one of this file's name is meant, or else the only one.
    """
    found = list(_commands(source.text))
    own = PurePosixPath(source.path).name
    named = [one for one in found if one[1] == own]
    if not named and len({name for _, name, _ in found}) != 1:
        return None
    for line, _, words in named or found:
        options = tuple(option for option in _grouped(words) if _is_possible(option))
        if options:
            return Shown(line, options)
    return None


def _commands(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """The line, the program and the words of each command."""
    for match in _COMMAND.finditer(text):
        try:
            words = shlex.split(_CONTINUED.sub(" ", match[1]), comments=True)
        except ValueError:
            continue  # a quotation that does not end
        place = next((number for number, word in enumerate(words) if word.endswith(".py")), None)
        if place is not None:
            yield text.count("\n", 0, match.start(1)) + 1, PurePosixPath(words[place]).name, words[place + 1 :]


def _grouped(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Each option with the values behind it; words before the first option stand alone."""
    group: list[str] = []
    for word in words:
        if group and (word.startswith("--") or not group[0].startswith("-")):
            yield tuple(group)
            group = []
        group.append(word)
    if group:
        yield tuple(group)


def is_elsewhere(word: str) -> bool:
    """Whether an option is about what no run has: a hub, a service for logs, another machine."""
    return bool(_ELSEWHERE.search(_name(word)))


def _is_possible(option: tuple[str, ...]) -> bool:
    named_in_file = "config" in _name(option[0])
    return not any(_UNKNOWN.search(word) for word in option) and not named_in_file and not is_elsewhere(option[0])


def _name(word: str) -> str:
    return word.split("=")[0].lstrip("-").replace("-", "_")
