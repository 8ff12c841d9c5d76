"""Whether a repository's documents (such as CONTRIBUTING) forbid changes by machines."""

from __future__ import annotations

import re

from dnnfix.forge.git import Git

NAMES = re.compile(
    r"(?:(?:\.github|docs)/)?(?:AI[_-]?POLICY|CONTRIBUTING|AGENTS)(?:\.(?:md|rst|txt|adoc))?", re.IGNORECASE
)
"""The files in which repositories say so."""

MOST_BYTES = 256 * 2**10
MOST_QUOTED = 160

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[-*#>]|\d+\.)\s)")
_MACHINES = re.compile(
    r"\b(?:AI|A\.I\.|LLMs?|bots?|automated|automatic(?:ally)?|machine|agents?|generative|chatgpt|copilot)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:pull requests?|merge requests?|PRs?|patch(?:es)?|contributions?|changes|commits?|submissions?|code)\b",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"\b(?:do|does|will|can|are|is|may|must|should)(?:\s+not|n['’]t)\s+(?:be\s+|currently\s+|generally\s+)?"
    r"(?:accept|accepted|allow|allowed|open|submit|send|welcome|permitted|merged?|considered|want)\b"
    r"|\bcannot\s+(?:accept|be\s+accepted)\b|\bno\s+longer\s+accept(?:ed)?\b"
    r"|\b(?:prohibit(?:ed|s)?|forbid(?:den|s)?|ban(?:ned|s)?|unwelcome|will\s+be\s+(?:closed|rejected))\b"
    r"|\bnot\s+(?:accepted|allowed|welcome|permitted)\b"
    r"|^\W*no\s+(?:AI|LLMs?|bots?|automated|machine|generative)\b",
    re.IGNORECASE,
)


def refusal(text: str) -> str:
    """The first sentence of a text that forbids changes by machines; empty where none does."""
    for sentence in _SENTENCE.split(text):
        plain = " ".join(sentence.split())
        if _MACHINES.search(plain) and _CHANGES.search(plain) and _FORBIDDEN.search(plain):
            return plain if len(plain) <= MOST_QUOTED else f"{plain[: MOST_QUOTED - 1].rstrip()}…"
    return ""


def forbids(git: Git, commit: str) -> str:
    """Where a repository at a commit forbids changes by machines, and in which words; empty where it does not."""
    listed = git.run("ls-tree", "-z", "-r", commit, "--", ".").split("\0")
    for line in listed:
        entry, _, path = line.partition("\t")
        if entry.startswith("100") and NAMES.fullmatch(path):
            text = git.run_bytes("cat-file", "blob", entry.split()[2])[:MOST_BYTES].decode("utf-8", "replace")
            if said := refusal(text):
                return f"{path} forbids it: “{said}”"
    return ""
