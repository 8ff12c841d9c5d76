"""Plans the review of a person's pull request, by pure functions: which findings are on lines that it changes.

Lines and what they hold are git's word, never the report's; a comment carries the identities of its faults, so that none comes twice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from dnnfix.bot import body
from dnnfix.bot.plan import unwanted
from dnnfix.bot.proposal import members_of, proposals
from dnnfix.bot.report import Analysis, Fault, Proven
from dnnfix.bot.settings import BotSettings
from dnnfix.emit import hunks
from dnnfix.emit.hunks import Replacement
from dnnfix.errors import InputError
from dnnfix.forge.protocol import Remark, Repository, Reviewed, State, Thread

MOST_REMARKS = 5
"""Comments of the bot in a pull request, however many commits it gets."""

MOST_SUGGESTED = 4000
"""Bytes of the lines of a suggestion, old and new."""

NOT_ASKED = "it has not asked for reviews (`review = true` in its table [bot] does)"


@dataclass(frozen=True, slots=True)
class Changed:
    """A file at the head of a pull request: the numbers of the lines that are changed or new, git's object, and what it holds."""

    lines: frozenset[int]
    blob: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Review:
    """What to comment on, in one review with a text; which conversations to resolve; and what is left, with the reason."""

    remarks: tuple[Remark, ...] = ()
    body: str = ""
    resolved: tuple[Thread, ...] = ()
    left: tuple[str, ...] = ()


def not_reviewed(repository: Repository, reviewed: Reviewed, settings: BotSettings, forbidden: str) -> str:
    """Why a pull request is not reviewed; empty where it is. `forbidden` is what the repository says against bots."""
    if said := unwanted(repository, settings, forbidden):
        return said
    if not settings.review:
        return NOT_ASKED
    if reviewed.is_bots:
        return "it is the bot's own"
    return "" if reviewed.state is State.OPEN else f"it is {reviewed.state}"


def changed_lines(diff: str) -> dict[str, frozenset[int]]:
    """The numbers of the lines that a diff changed or put there, by file, as the file is after it."""
    found = {}
    for path, section in hunks.sections(diff).items():
        after = hunks.backwards(hunks.replacements(section))
        found[path] = frozenset(line for change in after for line in range(change.first, change.end))
    return found


def review(reviewed: Reviewed, analysis: Analysis, changed: Mapping[str, Changed], settings: BotSettings) -> Review:
    """What to say of a pull request whose head was analysed, where `changed` are files of it that have findings.

    What the bot ever said there is not said again, also where its comment was taken away. A conversation is resolved where its file
    was looked at and none of its faults is found any more.
    """
    said = [*reviewed.reviews, *(thread.body for thread in reviewed.threads)]
    told = {member for text in said for member in members_of(text)}
    room = max(0, MOST_REMARKS - len(reviewed.threads))
    remarks = tuple(_remarks(analysis, changed, settings, told))[:room]
    members = {member for remark in remarks for member in members_of(remark.body)}
    gone = tuple(thread for thread in reviewed.threads if not thread.is_resolved and _is_gone(thread, analysis))
    return Review(remarks, body.review(analysis.commit, members) if remarks else "", gone)


def _is_gone(thread: Thread, analysis: Analysis) -> bool:
    members = members_of(thread.body)
    is_known = not analysis.left_out and thread.path not in analysis.unchanged
    return is_known and bool(members) and not members & analysis.faults


def _remarks(
    analysis: Analysis, changed: Mapping[str, Changed], settings: BotSettings, told: AbstractSet[str]
) -> Iterator[Remark]:
    """What is on changed lines and not told yet: first what a proven patch of these lines settles, then the other findings."""
    there = [
        fault
        for fault in analysis.findings
        if fault.path in changed and fault.line in changed[fault.path].lines and fault.identity not in told
    ]
    groups = proposals(analysis, told, partial=False, unsafe=settings.unsafe)
    patches = [patch for group in groups for patch in group.patches]
    suggested = [(patch, suggestion(patch, changed)) for patch in patches]
    done: set[str] = set()
    for patch, lines in sorted(suggested, key=lambda one: one[1] is None):
        own = [fault for fault in there if fault in patch.faults and fault.identity not in done]
        if own:
            done |= {fault.identity for fault in own}
            yield _remark(own, patch, lines)
    for fault in there:
        if fault.identity not in done:
            done.add(fault.identity)
            yield _remark([fault], None, None)


def _remark(faults: list[Fault], patch: Proven | None, lines: Replacement | None) -> Remark:
    text = b"".join(lines.new).decode().removesuffix("\n") if lines is not None else None
    said = body.remark(faults, patch, text)
    if lines is None or patch is None:
        return Remark(faults[0].path, faults[0].line, faults[0].line, said)
    (path,) = patch.changes
    return Remark(path, lines.first, lines.end - 1, said)


def suggestion(patch: Proven, changed: Mapping[str, Changed]) -> Replacement | None:
    """A patch as one piece of lines in place of others, all of which the pull request changes; `None` where it is not such a one.

    What only puts lines in takes the line before or after them along, as a suggestion replaces at least one.
    """
    if len(patch.changes) != 1:
        return None
    ((path, changes),) = patch.changes.items()
    file = changed.get(path)
    if file is None or file.blob != patch.blobs[path]:
        return None
    first, end = min(change.first for change in changes), max(change.end for change in changes)
    if first == end:
        first, end = (first - 1, end) if first - 1 in file.lines else (first, end + 1)
    if not file.lines.issuperset(range(first, end)):
        return None
    try:
        after = _lines(hunks.apply(file.content, changes))
    except InputError:
        return None
    before = _lines(file.content)
    more = len(after) - len(before)
    found = Replacement(first, before[first - 1 : end - 1], after[first - 1 : end - 1 + more])
    return found if _can_be_shown(found) else None


def _lines(content: bytes) -> tuple[bytes, ...]:
    """Lines as git counts them, with their ends."""
    return tuple(io.BytesIO(content))


def _can_be_shown(lines: Replacement) -> bool:
    """Whether Markdown holds the lines as they are: short text with plain ends. No lines would be shown as an empty one."""
    both = b"".join((*lines.old, *lines.new))
    try:
        both.decode()
    except UnicodeDecodeError:
        return False
    is_plain = (
        b"\r" not in both and b"\0" not in both and all(line.endswith(b"\n") for line in (*lines.old, *lines.new))
    )
    return is_plain and bool(lines.old and lines.new) and len(both) <= MOST_SUGGESTED
