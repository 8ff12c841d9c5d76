"""The pull request that asks whether the bot is wanted: it adds the table `[bot]` by which a repository enables it."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path

from dnnfix.bot.body import SHOWN, code, title
from dnnfix.bot.branches import Branch, Branches
from dnnfix.bot.plan import CONFIGURE, unwanted
from dnnfix.bot.policy import forbids
from dnnfix.bot.proposal import proposals
from dnnfix.bot.publish import Published
from dnnfix.bot.report import Analysis
from dnnfix.bot.settings import FILES, BotSettings, asked
from dnnfix.errors import BotReportError
from dnnfix.forge.git import fetched
from dnnfix.forge.protocol import Forge, Pull, State

TITLE = "chore: configure dnnfix"

MOST_LISTED = 10
"""Proposals that the question names."""

TABLE = """[bot]
# most-open = 2   # pull requests of the bot that are open at a time
# an-hour = 1     # new ones in an hour
# draft = true    # opened as drafts
# unsafe = true   # also patches that change what is trained; each is proven by training
"""

BODY = """dnnfix looks for faults in programs that use PyTorch, Keras or TensorFlow, and proposes patches that it has proven by running a program
briefly before and after, in a sandbox without network.

Merging this asks for it: `{path}` gets a table `[bot]`. From then on, after a push to the default branch, it opens pull requests as drafts, at most two at a time
and one in an hour, each about one fault, with the numbers of its proof. Nothing is opened until this is merged.

{found}

To have nothing to do with it, close this: it will not come again.
"""


def onboard(forge: Forge, slug: str, analysis: Analysis | None = None, *, push: bool = True) -> Published:
    """Ask in the repository `slug`, once, whether the bot is wanted; where it is there already, or forbidden, nothing is asked.

    Where there is an analysis the question says what was found. Raises `BotReportError` for that of another repository, `ForgeError`,
    and `ConfigError` for settings that make no sense.
    """
    if analysis is not None and analysis.slug != slug:
        raise BotReportError(f"the report is of {analysis.slug}, and is to be published in {slug}.")
    said, repository = Published(), forge.repository(slug)
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        git, head = fetched(forge.remote(slug), Path(folder, "repository.git"), repository.default_branch)
        if asked(git, head, slug).is_decided:
            return said
        if reason := unwanted(repository, BotSettings(enabled=True), forbids(git, head)) or _is_over(forge.pulls(slug)):
            said.left.append(reason)
            return said
        listed = {path: git.run("ls-tree", "-z", head, "--", path) for path in FILES}
        path = next((path for path in FILES if listed[path]), FILES[0])
        branches = Branches(git, head, push)
        before = git.run_bytes("cat-file", "blob", branches.file(path)[1]) if listed[path] else b""
        became = branches.bring(CONFIGURE, {path: _with_table(before)}, f"{TITLE}\n")
        if became is Branch.LEFT:
            said.left.append(f"{CONFIGURE}: somebody pushed to it, so it is left alone")
        elif any(pull.branch == CONFIGURE and pull.state is State.OPEN for pull in forge.pulls(slug)):
            said.left.append(f"it is asked whether it wants the bot, and nothing is opened until {CONFIGURE} is merged")
        else:
            number = forge.open_pull(
                slug, CONFIGURE, TITLE, BODY.format(path=path, found=_found(analysis)), draft=False
            )
            said.done.append(f"opened {number}: {TITLE}")
    return said


def _found(analysis: Analysis | None) -> str:
    """What would be proposed of what an analysis found."""
    if analysis is None:
        return "Nothing was run so far."
    default = BotSettings()
    wanted = islice(proposals(analysis, partial=default.partial, unsafe=default.unsafe), MOST_LISTED)
    told = [f"- {code(title(proposal))}" for proposal in wanted]
    if not told:
        return f"At commit {analysis.commit[:SHOWN]} there is nothing that it would propose."
    return "\n".join([f"At commit {analysis.commit[:SHOWN]} it would propose:", "", *told])


def _is_over(pulls: tuple[Pull, ...]) -> str:
    """Why it is not asked again; empty where it may be."""
    was_refused = any(pull.branch == CONFIGURE and pull.state is State.CLOSED for pull in pulls)
    return "it was asked whether it wants the bot, and closed that" if was_refused else ""


def _with_table(before: bytes) -> bytes:
    """A settings file with the table at its end."""
    if not before.strip():
        return TABLE.encode()
    return before.rstrip() + b"\n\n" + TABLE.encode()
