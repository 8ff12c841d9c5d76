"""Opens the dashboard issue of a repository, or updates its text."""

from __future__ import annotations

from dnnfix.bot.dashboard import TITLE, Page, found, is_kept, is_same, text
from dnnfix.forge.protocol import Forge, Issue


def keep(forge: Forge, slug: str, before: Issue | None, page: Page) -> str:
    """Update the dashboard, which was `before` when its boxes were read; returns what was done, empty for nothing.

    None is opened where there is nothing to show. One that people closed or rewrote is left alone, and so is one in which
    they ticked something meanwhile: the next call sees to that. Raises `ForgeError`.
    """
    now = found(forge.issues(slug))
    if now != before:
        return ""
    body = text(page)
    if now is None:
        return f"opened issue {forge.open_issue(slug, TITLE, body)}: {TITLE}" if page else ""
    if not is_kept(now) or is_same(now.body, body):
        return ""
    forge.update_issue(slug, now.number, body)
    return f"wrote issue {now.number} anew: {TITLE}"
