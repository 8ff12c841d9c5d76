"""A forge for dry runs: reads from another forge, and announces every change instead of making it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dnnfix.forge.protocol import Dress, Forge, Issue, Pull, Remark, Remote, Repository, Reviewed


class DryRun:
    """The forge `behind`, read-only: `say` is called with each change that would be made, and none is made."""

    def __init__(self, behind: Forge, say: Callable[[str], None]) -> None:
        self._behind = behind
        self._say = say

    def repositories(self) -> tuple[str, ...]:
        """Those of the forge behind."""
        return self._behind.repositories()

    def repository(self, slug: str) -> Repository:
        """What the forge behind knows."""
        return self._behind.repository(slug)

    def remote(self, slug: str) -> Remote:
        """That of the forge behind; the bot does not push to it."""
        return self._behind.remote(slug)

    def pulls(self, slug: str) -> tuple[Pull, ...]:
        """Those of the forge behind."""
        return self._behind.pulls(slug)

    def open_pull(self, slug: str, branch: str, title: str, body: str, *, draft: bool) -> int:
        """Say that one would be opened."""
        self._say(f"{slug}: would open a {'draft of a ' if draft else ''}pull request from {branch}: {title}\n\n{body}")
        return 0

    def dress_pull(self, slug: str, number: int, dress: Dress) -> None:
        """Say what would be put on one."""
        names = ", ".join((*dress.labels, *dress.assignees, *dress.reviewers))
        self._say(f"{slug}: would put on number {number}: {names}")

    def update_pull(self, slug: str, number: int, title: str, body: str) -> None:
        """Say that one would be given another text."""
        self._say(f"{slug}: would write number {number} anew: {title}")

    def close_pull(self, slug: str, number: int, comment: str) -> None:
        """Say that one would be closed."""
        self._say(f"{slug}: would close number {number}: {comment}")

    def reviewed(self, slug: str, number: int) -> Reviewed:
        """That of the forge behind."""
        return self._behind.reviewed(slug, number)

    def review(self, slug: str, number: int, commit: str, body: str, remarks: Sequence[Remark]) -> None:
        """Say what would be said of which lines."""
        places = [f"{one.path}:{one.first}-{one.last}\n\n{one.body}" for one in remarks]
        self._say("\n\n".join([f"{slug}: would review number {number} at {commit}: {body}", *places]))

    def resolve(self, slug: str, number: int, thread: str) -> None:
        """Say that a conversation would be marked as settled."""
        self._say(f"{slug}: would resolve a comment of number {number} ({thread})")

    def issues(self, slug: str) -> tuple[Issue, ...]:
        """Those of the forge behind."""
        return self._behind.issues(slug)

    def issue(self, slug: str, number: int) -> Issue:
        """What the forge says."""
        return self._behind.issue(slug, number)

    def open_issue(self, slug: str, title: str, body: str) -> int:
        """Say that one would be opened."""
        self._say(f"{slug}: would open an issue: {title}\n\n{body}")
        return 0

    def update_issue(self, slug: str, number: int, body: str) -> None:
        """Say that one would be given another text."""
        self._say(f"{slug}: would write issue {number} anew:\n\n{body}")
