"""The texts of pull requests, commits and reviews, in Markdown: what is wrong, what changed, the numbers, how to
check it.

Messages come from programs of strangers: they are shown as code, in which nothing is a mention, a link or a comment
of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dnnfix.bot.proposal import Proposal, mark
from dnnfix.bot.report import Fault, Proven

MOST_TITLE = 72
MOST_BODY = 60_000
"""Characters of a text; GitHub takes 65,536. Longer ones lose their certificates, then all but the titles."""

SHOWN = 12
"""Digits of a commit that are shown."""


def title(proposal: Proposal) -> str:
    """A conventional title: what the first patch does, and at how many places."""
    first = proposal.patches[0].title
    said = f"fix: {first[:1].lower()}{first[1:]}"
    places = len(proposal.patches)
    more = f" ({places} places)" if places > 1 else ""
    room = MOST_TITLE - len(more)
    return _one_line(said if len(said) <= room else f"{said[: room - 1].rstrip()}…") + more


def body(proposal: Proposal, commit: str) -> str:
    """The body of the pull request, in Markdown; its last line identifies the faults for the bot."""
    rule = proposal.patches[0].faults[0].code
    found = (
        f"Found and proven by [dnnfix](https://pypi.org/project/dnnfix/) at commit {commit[:SHOWN]}. "
        f"`dnnfix explain {rule}` tells what the rule is about."
    )
    stopped = (
        f"To stop such proposals, close this one: it will not come again. One line is silenced by `# noqa: {rule}`, the rule by "
        f'`ignore = ["{rule}"]` in `dnnfix.toml`, the bot by taking `[bot]` out of it.'
    )
    end = f"{found}\n\n{stopped}\n\n{proposal.mark}"
    forms = [
        [_said(patch, patch.certificate) for patch in proposal.patches],
        [_said(patch, "") for patch in proposal.patches],
        [f"- {_plain(patch.title[:MOST_TITLE])}" for patch in proposal.patches],
    ]
    texts = ["\n\n".join(parts) for parts in forms]
    text = next((text for text in texts if len(text) + len(end) < MOST_BODY), f"{len(proposal.patches)} places")
    return f"{text}\n\n---\n\n{end}\n"


def commit_message(proposal: Proposal) -> str:
    """The message of the one commit."""
    faults = [f"- {_one_line(fault.path)}:{fault.line}: {fault.code} {fault.rule}" for fault in _faults(proposal)]
    return "\n".join([title(proposal), "", *faults]) + "\n"


def remark(faults: Sequence[Fault], patch: Proven | None, suggestion: str | None) -> str:
    """The text of a comment on lines that have faults, with what a proven patch makes of these lines if it changes no others."""
    found = [_fenced([_where(fault) for fault in faults])]
    end = [
        f"`dnnfix explain {faults[0].code}` tells what the rule is about.",
        mark({fault.identity for fault in faults}),
    ]
    proven: list[str] = []
    if patch is not None and suggestion is None:
        found.append(f"{_plain(patch.title)}: `dnnfix suggest` shows this patch, which changes other lines too.")
    elif patch is not None and suggestion is not None:
        found += [f"{_plain(patch.title)}:", _fenced([suggestion], "suggestion")]
        proven += ["Proven by running the program before and after in a sandbox:", _fenced(patch.proof)]
        if patch.unshown:
            proven += ["Not shown by these runs:", _fenced(patch.unshown)]
    texts = ["\n\n".join(parts) for parts in ([*found, *proven, *end], [*found, *end], [*found[1:], *end])]
    return next(text for text in texts if len(text) < MOST_BODY) + "\n"


def review(commit: str, members: Iterable[str]) -> str:
    """The body of a review; its last line identifies the faults that it comments on, so that none is repeated."""
    return (
        f"Found by [dnnfix](https://pypi.org/project/dnnfix/) at commit {commit[:SHOWN]}, on lines that this pull request changes. None of it "
        f"is said again. `review = false` in the table `[bot]` of `dnnfix.toml` stops reviews.\n\n{mark(members)}\n"
    )


def _said(patch: Proven, certificate: str) -> str:
    lines = [f"### {_plain(patch.title)}", "", _fenced([_where(fault) for fault in patch.faults])]
    if patch.author:
        lines += ["", f"Written by the language model {code(patch.author)}, and proven as every other patch is."]
    if patch.verdict == "partial":
        lines += ["", "A step on the way: this fault is gone with it, and the program then stops at another one."]
    if patch.proof:
        lines += [
            "",
            "How it was proven, by running the program before and after in a sandbox:",
            "",
            _fenced(patch.proof),
        ]
    if patch.unshown:
        lines += ["", "What the runs did not show, so that it stands by reading alone:", "", _fenced(patch.unshown)]
    if patch.drawing is not None and not patch.is_safe:
        lines += ["", patch.drawing.markdown()]
    safe = (
        "It keeps what the program computes."
        if patch.is_safe
        else "It changes what is computed, which is the point of it."
    )
    lines += ["", safe]
    if certificate:
        how = "To run the proof again, save this as `certificate.json` at the top of the repository and run `dnnfix verify certificate.json` there."
        details = f"<details><summary>Certificate</summary>\n\n{how}\n\n{_fenced([certificate], 'json')}\n\n</details>"
        lines += ["", details]
    return "\n".join(lines)


def _where(fault: Fault) -> str:
    return f"{fault.path}:{fault.line}: {fault.code} {fault.rule}\n  {fault.message}"


def _faults(proposal: Proposal) -> list[Fault]:
    return [fault for patch in proposal.patches for fault in patch.faults]


def _fenced(texts: list[str] | tuple[str, ...], kind: str = "text") -> str:
    """A block of code around texts, with a fence that none of them can end."""
    inner = "\n".join(texts)
    fence = "```"
    while fence in inner:
        fence += "`"
    return f"{fence}{kind}\n{inner}\n{fence}"


def code(text: str) -> str:
    """One line of Markdown that shows a string as code, with a fence that nothing in it can end."""
    said, fence = " ".join(text.split()) or " ", "`"
    while fence in said:
        fence += "`"
    return f"{fence} {said} {fence}" if said.strip("`") != said else f"{fence}{said}{fence}"


def _plain(text: str) -> str:
    """One line of Markdown in which nothing is a mention, a reference, markup or HTML."""
    return "".join("\\" + char if char in "\\<>[]`*_|" else char for char in _one_line(text))


def _one_line(text: str) -> str:
    """One line in which nothing is a mention or a reference."""
    return "".join(f"{char}\u200b" if char in "@#" else char for char in " ".join(text.split()))
