"""The command line that is shown for a program: `python train.py --epochs 3` in its docstring, a comment, a README or a bug report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dnnfix.reproduce.readmes import readmes, scripts
from dnnfix.source.program import Source, once

_COMMAND = re.compile(
    r"^[ \t]*(?:#[ \t]*)?(?:[`$>]+[ \t]*)?(?:\w+=\S+[ \t]+)*((?:python3?|torchrun|accelerate[ \t]+launch|deepspeed)[ \t](?:[^\\\n]|\\[ \t]*\n)*)",
    re.MULTILINE,
)
"""A line that starts a program, and the lines that continue it."""

_CONTINUED = re.compile(r"\\[ \t]*\n[ \t]*#?[ \t]*")
_UNKNOWN = re.compile(r"[<>{}$|&;`]|^\.\.\.$|path/to|\byour?[_-]|^(?:-h|--help|--version)$", re.IGNORECASE)
"""What a word has that stands for another one, belongs to the shell, or only has the program tell of itself."""

_IS_FILE = re.compile(r"/|\.[A-Za-z]\w{1,4}$")
"""What is in a word that names a file or folder."""

_ELSEWHERE = re.compile(
    r"hub(?:_|$)|wandb|report_to|trackio|comet|deepspeed|fsdp|vllm|token$|(?:^|_)(?:cuda|gpus?|device|local_rank)$"
)
"""Options that say where results go or what machine there is: neither is there in a run."""


@dataclass(frozen=True)
class Shown:
    """A command line as it is shown: its words as options with their values, in order, and where that is."""

    options: tuple[tuple[str, ...], ...]
    """Each a word that stands alone, or an option and its values."""
    where: str
    line: int = 1
    """The line of the program that shows it, or the first."""
    by_readme: bool = False
    """Whether a README or a script shows it, for everybody."""

    def gives(self, word: str) -> bool:
        """Whether it has an option of that name."""
        return any(_name(option[0]) == _name(word) for option in self.options)

    @property
    def alone(self) -> int:
        """How many of its words stand alone."""
        return sum(not option[0].startswith("-") for option in self.options)


@once
def shown(source: Source, folder: Path | None = None, said: str = "") -> Shown | None:
    """The first command line that is shown for a program in a folder, without what no run can have; `None` where there is none.

    A report of which `said` is the text is asked first, for a command that starts this file. Then the program's own text is: of several
    programs that are started there, the one of this file's name is meant, or else the only one. Last are the READMEs around it, and shell scripts.
    """
    own = PurePosixPath(source.path).name
    if folder is not None and (command := _starting(folder / own, said)) is not None:
        options = command.options((folder,))
        if options:
            return Shown(options, "the report")
    found = list(_commands(source.text))
    named = [command for command in found if command.program.name == own]
    if named or len({command.program.name for command in found}) == 1:
        for command in named or found:
            options = command.options()
            if options:
                return Shown(options, f"line {command.line}", command.line)
    return _shown_by_readmes(own, folder) if folder is not None else None


def _shown_by_readmes(name: str, folder: Path) -> Shown | None:
    """The first command that the READMEs and shell scripts show for the program of that name in a folder, without files that are not there."""
    for path, text in (*readmes(folder), *scripts(folder)):
        command = _starting(folder / name, text)
        if command is not None:
            options = command.options((folder, path.parent))
            return Shown(options, f"{path.name}, line {command.line}", by_readme=True) if options else None
    return None


def _starting(program: Path, text: str) -> _Command | None:
    """The first command of a text that starts the program in a file."""
    return next((one for one in _commands(text) if one.program.parts == program.parts[-len(one.program.parts) :]), None)


@dataclass(frozen=True)
class _Command:
    """A command line that starts a program, as it stands in a text."""

    line: int
    program: PurePosixPath
    words: tuple[str, ...]

    def options(self, folders: tuple[Path, ...] = ()) -> tuple[tuple[str, ...], ...]:
        """Its words, without what no run can have; with folders also without options whose value is a file that is in none of them."""
        possible = (option for option in _grouped(list(self.words)) if _is_possible(option))
        return tuple(option for option in possible if not folders or _exist(_values(option), folders))


def _commands(text: str) -> Iterator[_Command]:
    """Each command of a text that starts a program."""
    for match in _COMMAND.finditer(text):
        try:
            words = shlex.split(_CONTINUED.sub(" ", match[1]).rstrip("`"), comments=True)
        except ValueError:
            continue  # a quotation that does not end
        line = text.count("\n", 0, match.start(1)) + 1
        place = next((number for number, word in enumerate(words) if word.endswith(".py")), None)
        if place is None and words[1:2] == ["-m"] and len(words) > 2:
            yield _Command(line, PurePosixPath(f"{words[2].replace('.', '/')}.py"), tuple(words[3:]))
        elif place is not None:
            yield _Command(line, PurePosixPath(words[place].removeprefix("./")), tuple(words[place + 1 :]))


def _exist(words: tuple[str, ...], folders: tuple[Path, ...]) -> bool:
    return all(any((folder / word).exists() for folder in folders) for word in words if _IS_FILE.search(word))


def _values(option: tuple[str, ...]) -> tuple[str, ...]:
    """The values of an option; a word that stands alone is its own."""
    if not option[0].startswith("-"):
        return option
    return (*option[0].split("=", 1)[1:], *option[1:])


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
