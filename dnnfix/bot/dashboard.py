"""The text of the dashboard, an issue that shows how a repository stands, and the boxes that people tick in it.

Boxes are the word of whoever may edit the issue, and titles are those of anybody: a box is known by a mark that
stands right behind it, before all else in its line, and titles are code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dnnfix.bot.body import code
from dnnfix.bot.report import Analysis
from dnnfix.forge.protocol import Issue, Pull, State

TITLE = "dnnfix: what was found"
MARK = "<!-- dnnfix: dashboard -->"
"""The line of the text by which the issue is found again."""

MOST_LISTED = 40
"""Lines of one part of the text."""

MOST_SHOWN = 80
"""Characters of a title."""

_BOX = re.compile(r"^- \[[xX]\] <!-- dnnfix:(stop|open|retry)(?:=([0-9a-f]{1,18}))? -->", re.MULTILINE)

_ABOUT = (
    "What dnnfix found in the default branch, and what became of it. Whatever is ticked is done the next time it looks. What is written "
    "here by hand is lost then. Close this to be without it: it is not opened again, and what is ticked in it counts no more."
)


@dataclass(frozen=True, slots=True)
class Ticked:
    """What people have ticked: that nothing more is opened, what to open now by its key, and numbers of pull requests that may come again."""

    stop: bool = False
    open: frozenset[str] = frozenset()
    retry: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pull request that is not opened yet, and why."""

    key: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Page:
    """What the dashboard shows of a repository."""

    opened: Sequence[Pull] = ()
    waiting: Sequence[Waiting] = ()
    refused: Sequence[Pull] = ()
    unproven: Mapping[str, int] = field(default_factory=dict)
    """How many findings have no proven patch, by rule."""
    is_stopped: bool = False
    is_whole: bool = True
    """Whether all programs of the newest commit were looked at."""

    def __bool__(self) -> bool:
        """Whether there is anything to be said."""
        return bool(self.opened or self.waiting or self.refused or self.unproven)


def found(issues: Iterable[Issue]) -> Issue | None:
    """The dashboard among the issues of the bot, also one that a person wrote anew; `None` where there is none."""
    return next((one for one in issues if MARK in one.body or one.title == TITLE), None)


def is_kept(issue: Issue) -> bool:
    """Whether it is written by the bot: people neither closed it nor wrote it anew."""
    return issue.state is State.OPEN and MARK in issue.body


def is_same(body: str, other: str) -> bool:
    """Whether two texts are the same, whatever an editor made of the ends of their lines."""
    return body.split() == other.split()


def ticked(issue: Issue | None) -> Ticked:
    """What is ticked in the dashboard; nothing in one that people closed or wrote anew."""
    if issue is None or not is_kept(issue):
        return Ticked()
    boxes = _BOX.findall(issue.body)
    return Ticked(
        ("stop", "") in boxes,
        frozenset(name for kind, name in boxes if kind == "open" and name),
        frozenset(int(name) for kind, name in boxes if kind == "retry" and name.isdecimal()),
    )


def unproven(analysis: Analysis) -> Counter[str]:
    """How many findings have no proven patch, by code and name of their rule."""
    settled = {fault.identity for patch in analysis.patches for fault in patch.faults}
    return Counter(f"{one.code} {one.rule}" for one in analysis.findings if one.identity not in settled)


def text(page: Page) -> str:
    """The text of the issue, in Markdown; the same for the same page."""
    stop = f"{_box('stop', is_ticked=page.is_stopped)} Open no more pull requests, as long as this is ticked."
    waiting = [f"{_box(f'open={one.key}')} Open it now: {_code(one.title)} ({one.reason})" for one in page.waiting]
    refused = [f"{_box(f'retry={one.number}')} It may come again: {_pull(one)}" for one in reversed(page.refused)]
    lacking = [f"- {count} × {_code(rule)}" for rule, count in sorted(page.unproven.items())]
    parts = [
        _ABOUT,
        *(
            []
            if page.is_whole
            else ["This time not all programs were looked at, and what is in the others is not listed."]
        ),
        stop,
        *_part("Open", [f"- {_pull(one)}" for one in page.opened]),
        *_part("Waiting", waiting),
        *_part("Closed unmerged", refused),
        *_part("Found, and nothing is proven to mend it", lacking),
        MARK,
    ]
    return "\n\n".join(parts) + "\n"


def _part(title: str, lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LISTED
    shown = [*lines[:MOST_LISTED], *([f"- and {more} more"] if more > 0 else [])]
    return [f"### {title}", "\n".join(shown)] if lines else []


def _box(mark: str, *, is_ticked: bool = False) -> str:
    return f"- [{'x' if is_ticked else ' '}] <!-- dnnfix:{mark} -->"


def _pull(pull: Pull) -> str:
    """A pull request by its address, which makes no note of it there, as its number would."""
    return f"[{pull.number}](../pull/{pull.number}) {_code(pull.title)}"


def _code(title: str) -> str:
    return code(title if len(title) <= MOST_SHOWN else f"{title[: MOST_SHOWN - 1]}…")
