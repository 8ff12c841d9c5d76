"""The protocol of a forge, as the bot needs it, and the records that it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

BRANCHES = "dnnfix/"
"""What the names of the bot's branches begin with."""


class State(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the forge knows it; `slug` is `owner/name`."""

    slug: str
    default_branch: str
    is_fork: bool = False
    is_archived: bool = False


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request; `opened` is in seconds since 1970."""

    number: int
    branch: str
    title: str
    body: str
    state: State
    opened: float


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation about a line of a file, which the bot's own account began with the text `body`."""

    id: str
    path: str
    body: str
    is_resolved: bool


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A pull request of anybody, as one who reviews it needs it: under which references git finds its head, and what it goes into.

    `reviews` and `threads` are what the bot's own account has said there; what others say is not among it.
    """

    base: str
    head: str
    state: State
    is_bots: bool
    """Whether it comes from a branch of the bot in the repository itself."""
    reviews: tuple[str, ...] = ()
    threads: tuple[Thread, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """What a review says of the lines `first` to `last` of a file at the head of a pull request."""

    path: str
    first: int
    last: int
    body: str


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue; it is open or closed. `written` is when it was opened, in seconds since 1970, where that was asked for."""

    number: int
    title: str
    body: str
    state: State
    written: float | None = None


@dataclass(frozen=True, slots=True)
class Remote:
    """Where git fetches a repository from and pushes to; `environment` is what git needs to know for it, credentials included."""

    url: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Dress:
    """The labels, assignees and reviewers (people or teams, `owner/team`) of a pull request."""

    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to put on."""
        return bool(self.labels or self.assignees or self.reviewers)


class Forge(Protocol):
    """A forge. Every method may raise `ForgeError`, which says what was asked and what came back."""

    def repositories(self) -> tuple[str, ...]:
        """The slugs of the repositories that are there for the bot."""
        ...

    def repository(self, slug: str) -> Repository:
        """What the forge knows of a repository."""
        ...

    def remote(self, slug: str) -> Remote:
        """Where git fetches the repository from and pushes to."""
        ...

    def pulls(self, slug: str) -> tuple[Pull, ...]:
        """The pull requests whose branches are the bot's, of every state, oldest first."""
        ...

    def open_pull(self, slug: str, branch: str, title: str, body: str, *, draft: bool) -> int:
        """Open a pull request of a pushed branch into the default branch, and return its number."""
        ...

    def dress_pull(self, slug: str, number: int, dress: Dress) -> None:
        """Put labels, assignees and reviewers on a pull request, beside those that it has."""
        ...

    def update_pull(self, slug: str, number: int, title: str, body: str) -> None:
        """Replace title and text of an open pull request."""
        ...

    def close_pull(self, slug: str, number: int, comment: str) -> None:
        """Close a pull request, with a sentence that says why."""
        ...

    def reviewed(self, slug: str, number: int) -> Reviewed:
        """A pull request of anybody, and what the bot's own account has said there."""
        ...

    def review(self, slug: str, number: int, commit: str, body: str, remarks: Sequence[Remark]) -> None:
        """Comment on lines of a pull request as they are at a commit, all at once; neither approve nor ask for changes."""
        ...

    def resolve(self, slug: str, number: int, thread: str) -> None:
        """Mark a conversation as settled, by its id."""

    def issues(self, slug: str) -> tuple[Issue, ...]:
        """The issues that the bot's own account opened, of every state, oldest first."""
        ...

    def issue(self, slug: str, number: int) -> Issue:
        """An issue of anybody."""
        ...

    def open_issue(self, slug: str, title: str, body: str) -> int:
        """Open an issue, and return its number."""
        ...

    def update_issue(self, slug: str, number: int, body: str) -> None:
        """Replace the text of an issue."""
        ...
