"""What the tools take: records whose fields, with the sentences below them, are the schemas that agents read. Nothing else is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

MOST_SECONDS = 3600.0

TAKEN = {"use_attribute_docstrings": True, "extra": "forbid"}
"""Has pydantic take the sentence below a field for its description, and refuse what no field is for."""

Seconds = Annotated[float, Field(ge=1.0, le=MOST_SECONDS, strict=True)]


@dataclass(frozen=True)
class OfCheck:
    """The arguments of `check`."""

    __pydantic_config__: ClassVar = TAKEN

    path: str
    """A Python file, a notebook or a folder: absolute, or from the folder that you work in."""


@dataclass(frozen=True)
class OfSuggest:
    """The arguments of `suggest`."""

    __pydantic_config__: ClassVar = TAKEN

    path: str
    """A Python file, a notebook or a folder, of which ten programs are run: absolute, or from the folder that you work in."""
    budget: Seconds | None = None
    """Seconds for each program (60 where no settings say otherwise), to which starting up adds some ten. Too few leave open whether a network learns. One whose made-up data take too long is tried again, in twice that time."""


@dataclass(frozen=True)
class OfReproduce:
    """The arguments of `reproduce`."""

    __pydantic_config__: ClassVar = TAKEN

    path: str
    """A Python file, a notebook, or a bug report in Markdown (.md): absolute, or from the folder that you work in."""
    budget: Seconds | None = None
    """Seconds for the runs (60 where no settings say otherwise)."""
    script: bool = False
    """Whether the answer is to hold the script that runs by itself."""


@dataclass(frozen=True)
class OfVerify:
    """The arguments of `verify`."""

    __pydantic_config__: ClassVar = TAKEN

    certificate: str
    """What `suggest` gave under `certificate`."""


@dataclass(frozen=True)
class OfExplain:
    """The arguments of `explain`."""

    __pydantic_config__: ClassVar = TAKEN

    rule: str
    """The code or the name of a rule: DNF301, output-unfit-for-loss."""
