"""What of the records may be told: nothing of files that are marked as private, and nothing of the machine that ran the program."""

from __future__ import annotations

import ast
import getpass
import re
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dnnfix.proposer.facts import Known
from dnnfix.proposer.mask import Mask, is_own
from dnnfix.proposer.tokens import tokens
from dnnfix.records import Call, Crash, Network, Patch, Site, Trace

LONGEST = 160
"""Tokens of one line of what is told."""

MOST_CHARACTERS = 4_000
"""Of a line before it is cut."""

_QUOTE = re.compile("['\"]")
_NOT_TELLING = frozenset({"root", "user", "ubuntu", "admin", "localhost", "docker"})
_PATHS = re.compile(
    r"(?<![\w.)\]/:])(?:~|\.\.)?(?:/[\w.@+~-]+){2,}/?|(?<![\w./])(?:~|\.\.)(?:/[\w.@+~-]+)+/?|(?<!\w)[A-Za-z]:(?:\\+[\w.@+~ -]+)+"
)
_OWN_WORDS = ("raise ", "assert ")


@dataclass(frozen=True)
class Told:
    """How lines about one program are told: those that speak of hidden files not at all, under a mask in other words."""

    hidden: Collection[str] = ()
    mask: Mask | None = None

    def lines(self, said: Collection[str]) -> tuple[str, ...]:
        """The lines that may be told, each as one line of bounded length."""
        machine = _machine()
        return tuple(self._line(line, machine) for line in said if not any(path in line for path in self.hidden))

    def _line(self, line: str, machine: Collection[tuple[str, str]]) -> str:
        if len(line) > MOST_CHARACTERS:  # what is cut within a string would not be known for one
            line = f"{(line if self.mask is None else _QUOTE.split(line)[0])[:MOST_CHARACTERS]}…"
        line = self.mask.hide(line) if self.mask is not None else line
        line = "".join(character if character.isprintable() else " " for character in _of_no_machine(line, machine))
        return shortened(" ".join(line.split()), LONGEST)

    def known(self, known: Known) -> Known:
        """The records that may be told of."""
        if self.hidden:
            known = _without(known, self.hidden)
        if self.mask is not None:
            known = replace(known, trace=_without_own_words(known), written=self.mask.code)
        return known


def shortened(text: str, most: int) -> str:
    """The text, cut behind so many tokens."""
    if tokens(text[: most * 16]) <= most and len(text) <= most * 16:
        return text
    text = text[: most * 16]
    while text and tokens(text) >= most:
        text = text[: int(len(text) * 0.9)]
    return f"{text}…"


def _of_no_machine(text: str, machine: Collection[tuple[str, str]]) -> str:
    """The text without paths of this machine, its name, and that of its user."""
    for word, said in machine:
        text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said, text)
    return _PATHS.sub(_last, text)


def _last(match: re.Match[str]) -> str:
    last = re.split(r"[/\\]", match[0].rstrip("/\\"))[-1]
    return f"<path>/{last}" if re.search(r"\.\w{1,5}$", last) else "<path>"


def _machine() -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}

    def add(read: Callable[[], str], said: str) -> None:
        with suppress(OSError, KeyError, RuntimeError, ImportError):
            found.setdefault(read(), said)

    add(lambda: str(Path.home()), "<home>")
    add(lambda: str(Path.cwd()), "<folder>")
    add(socket.gethostname, "<host>")
    add(lambda: socket.gethostname().partition(".")[0], "<host>")
    add(getpass.getuser, "<user>")
    return tuple((word, said) for word, said in found.items() if len(word) > 1 and word not in _NOT_TELLING)


# --- private files


def _without(known: Known, hidden: Collection[str]) -> Known:
    """The records without what they have of hidden files."""
    return replace(
        known,
        trace=_trace(known.trace, hidden),
        findings=tuple(finding for finding in known.findings if finding.site.path not in hidden),
        origins=tuple(origin for origin in known.origins if origin.site.path not in hidden),
        looked=_trace(known.looked, hidden) if known.looked is not None else None,
        tried=tuple(patch for patch in known.tried if not _changes(patch, hidden)),
        signatures=tuple(_open_signatures(known)),
    )


def _changes(patch: Patch, hidden: Collection[str]) -> bool:
    """Whether a step of a patch changes a hidden file; `edits` are those of its last step alone."""
    names = [line.rstrip('\t"') for line in patch.diff.splitlines() if line.startswith("+++ ")]
    return any(edit.site.path in hidden for edit in patch.candidate.edits) or any(
        name.endswith(path) for name in names for path in hidden
    )


def _trace(trace: Trace, hidden: Collection[str]) -> Trace:
    return replace(
        trace,
        network=_network(trace.network, hidden) if trace.network is not None else None,
        crash=_crash(trace.crash, hidden) if trace.crash is not None else None,
        warnings=tuple(warning for warning in trace.warnings if not _is_in(warning.site, hidden)),
    )


def _crash(crash: Crash, hidden: Collection[str]) -> Crash:
    is_own = crash.refusal is not None and crash.refusal.own  # it may be the hidden file's
    return replace(
        crash,
        frames=tuple(frame for frame in crash.frames if frame.site.path not in hidden),
        call=None if crash.call is None or _is_hidden(crash.call, hidden) else crash.call,
        refusal=None if is_own else crash.refusal,
    )


def _network(network: Network, hidden: Collection[str]) -> Network:
    components = tuple(one for one in network.components if not _is_in(one.site, hidden))
    shown = {one.id for one in components}
    return replace(
        network,
        components=components,
        calls=tuple(
            call
            for call in network.calls
            if not _is_hidden(call, hidden) and (call.component is None or call.component in shown)
        ),
        parameters=tuple(one for one in network.parameters if one.component in shown),
    )


def _is_hidden(call: Call, hidden: Collection[str]) -> bool:
    return _is_in(call.site, hidden) or _is_in(call.made_at, hidden)


def _is_in(site: Site | None, hidden: Collection[str]) -> bool:
    return site is not None and site.path in hidden


def _open_signatures(known: Known) -> Iterator[str]:
    """The signatures of functions of libraries, and of the program's own file."""
    source = known.source
    for signature in known.signatures:
        called = signature.partition("(")[0]
        for call in source.all_calls:
            if ast.unparse(call.func) == called:
                name = source.qualified(call.func)
                if source.definition(call.func) or (name is not None and not is_own(source, name)):
                    yield signature
                break


# --- a mask


def _without_own_words(known: Known) -> Trace:
    """The trace without what the program itself says of its crash, which may be anything."""
    crash, source = known.trace.crash, known.source
    if crash is None or crash.site is None or crash.site.path not in source.files:
        return known.trace
    lines = source.files[crash.site.path].places.lines
    statement = lines[crash.site.line - 1].strip() if crash.site.line <= len(lines) else ""
    if not statement.startswith(_OWN_WORDS):
        return known.trace
    return replace(known.trace, crash=replace(crash, message="in words of the program's own"))
