"""Suppressed findings: by `# noqa` comments, by ignores per path, and by a baseline of known findings.

A suppressed finding is dropped before any patch is proposed, so it is neither repaired nor run for. A comment that
names codes and suppresses nothing is reported, since it hides the next real finding on its line.
"""

from __future__ import annotations

import io
import json
import os
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path

from dnnfix.config import Settings, matches
from dnnfix.errors import ConfigError
from dnnfix.index import former, today
from dnnfix.records import Family, Finding, FindingOutcome, FindingResult, Site
from dnnfix.records.record import record

UNUSED_CODE = "DNF900"
UNUSED_RULE = "unused-suppression"
UNUSED_REASON = "nothing to repair: take the comment away"
BASELINE_SCHEMA = "dnnfix-baseline/1"

_CODE = "[A-Za-z]+[0-9]+"
_COMMENT = re.compile(
    rf"#\s*(?P<file>dnnfix\s*:\s*)?noqa(?:\s*:\s*(?P<codes>{_CODE}(?:[,\s]+{_CODE})*))?(?![\w-])", re.IGNORECASE
)


@record
class Comment:
    """One suppression comment. Without codes it silences everything on its line, or in the file."""

    site: Site
    whole_file: bool
    codes: tuple[str, ...] = ()

    def covers(self, finding: Finding) -> bool:
        """Whether the comment silences the finding: it is on a line of its site, or is for the file."""
        near = self.whole_file or self.site.line in (finding.site.line, finding.site.end_line)
        return near and not finding.site.path and (not self.codes or _named(self.codes, finding))


@record
class Split:
    """Findings split by whether the user suppressed them; `unused` are findings about comments."""

    kept: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()
    unused: tuple[FindingResult, ...] = ()


def split(
    findings: Iterable[Finding], text: str, path: str, settings: Settings, checked: Collection[str] = ()
) -> Split:
    """Split the findings of one program into those to work on and those that the user suppressed.

    `text` is the analysed text that the sites refer to, `path` the program's path, and `checked` the codes that were
    looked for: a comment is called unused only where everything it names was looked for.

    Raises:
        ConfigError: the baseline cannot be used.
    """
    findings, plain = tuple(findings), text.lower()
    wanted = "noqa" in plain and (findings or "dnf" in plain)  # else there is nothing to silence, and nothing unused
    comments = tuple(read_comments(text)) if wanted else ()
    ignored = _ignored_here(path, settings)
    allowance = _allowance(path, settings)
    lines = text.split("\n") if allowance else ()
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    used: set[Comment] = set()
    for finding in findings:
        covering = [comment for comment in comments if comment.covers(finding)]
        used.update(covering)
        if covering or _named(ignored, finding):
            suppressed.append(finding)
            continue
        known = _allowed(finding, allowance, lines)
        if known:
            allowance[known] -= 1
            suppressed.append(finding)
        else:
            kept.append(finding)
    unused = tuple(_unused(comments, used, checked)) if settings.enabled(UNUSED_CODE, UNUSED_RULE) else ()
    return Split(tuple(kept), tuple(suppressed), unused)


def silenced_lines(text: str) -> frozenset[int]:
    """The lines of a program on which a comment silences rules of ours, or everything."""
    comments = read_comments(text) if "noqa" in text.lower() else ()
    own = (each for each in comments if not each.codes or any(code.startswith("DNF") for code in each.codes))
    return frozenset(each.site.line for each in own if not each.whole_file)


def read_comments(text: str) -> Iterator[Comment]:
    """The suppression comments of a program; text that Python cannot tokenize is searched line by line."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        tokens = []
        for number, line in enumerate(text.split("\n"), 1):
            yield from _comments_in(line, number, 0)
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield from _comments_in(token.string, token.start[0], token.start[1])


def _comments_in(text: str, line: int, offset: int) -> Iterator[Comment]:
    for match in _COMMENT.finditer(text):
        codes = tuple(code.upper() for code in re.split(r"[,\s]+", match["codes"] or "") if code)
        site = Site(line, offset + match.start() + 1, line, offset + match.end() + 1)
        yield Comment(site, match["file"] is not None, codes)


def _named(selectors: Iterable[str], finding: Finding) -> bool:
    return any(matches(selector, finding.code, finding.rule) for selector in selectors)


def _unused(
    comments: Iterable[Comment], used: Collection[Comment], checked: Collection[str]
) -> Iterator[FindingResult]:
    for comment in comments:
        codes = [code for code in comment.codes if code.startswith("DNF")]
        if comment in used or not codes or not all(today(code) in checked for code in codes):
            continue
        finding = Finding(
            code=UNUSED_CODE,
            rule=UNUSED_RULE,
            family=Family.OPINIONATED,
            site=comment.site,
            message=f"this comment suppresses nothing: {', '.join(codes)} is not found here",
            confidence=1.0,
        )
        yield FindingResult(finding, FindingOutcome.DECLINED, UNUSED_REASON)


# --- Ignores by path ------------------------------------------------------------------------------------------------


def _ignored_here(path: str, settings: Settings) -> tuple[str, ...]:
    found: list[str] = []
    for pattern, codes in settings.per_file_ignores:
        if path_matches(path, pattern, settings.root):
            found.extend(codes)
    return tuple(found)


def path_matches(path: str, pattern: str, root: Path) -> bool:
    """Whether a path is meant by a pattern: its name, its path from `root`, or a folder above it."""
    relative = os.path.relpath(os.path.abspath(path), os.path.abspath(root)).replace(os.sep, "/")
    matcher = _matcher(pattern.strip("/").removeprefix("./"))
    parts = relative.split("/")
    above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return any(matcher.fullmatch(part) for part in parts) or any(matcher.fullmatch(place) for place in above)


@cache
def _matcher(pattern: str) -> re.Pattern[str]:
    import fnmatch

    return re.compile(fnmatch.translate(pattern.replace("**/", "*")))


# --- Baseline -------------------------------------------------------------------------------------------------------


def fingerprint(code: str, line: int, lines: Sequence[str]) -> str:
    """The key of a known finding: its code and the words of its line, wherever the line has moved to."""
    words = " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""
    return blake2b(f"{code}\0{words}".encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


@dataclass(slots=True)
class BaselineWriter:
    """Collects findings and writes the contents of a baseline file at `path`."""

    path: Path
    _counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, path: str, findings: Iterable[Finding], text: str) -> None:
        """Record the findings of one program, whose analysed text is `text`, as known."""
        lines = text.split("\n")
        marks = [fingerprint(f.code, f.site.line, lines) for f in findings if f.code != UNUSED_CODE]
        if marks:
            self._counts.setdefault(_key(path, self.path), Counter()).update(marks)

    def text(self) -> str:
        """The file's text, the same for the same findings in any order."""
        files = {path: dict(sorted(counts.items())) for path, counts in sorted(self._counts.items())}
        return json.dumps({"schema": BASELINE_SCHEMA, "files": files}, indent=1) + "\n"

    @property
    def count(self) -> int:
        """How many findings were taken."""
        return sum(sum(counts.values()) for counts in self._counts.values())


def load_baseline(path: Path) -> dict[str, dict[str, int]]:
    """The known findings by path (from the baseline's folder) and fingerprint, with their number.

    Raises:
        ConfigError: the file is missing or no baseline.
    """
    try:
        stamp = path.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(
            f"{path}: no baseline can be read ({error.strerror}). Make one with --write-baseline."
        ) from None
    return _load_baseline(path, stamp)


@cache
def _load_baseline(path: Path, stamp: int) -> dict[str, dict[str, int]]:
    try:
        document = json.loads(path.read_bytes())
        if document["schema"] != BASELINE_SCHEMA:
            raise ValueError(f"its schema is {document['schema']}")
        return {
            str(place): {str(mark): int(count) for mark, count in marks.items()}
            for place, marks in document["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: is no baseline of dnnfix ({error}). Make one with --write-baseline.") from None


def _allowed(finding: Finding, allowance: Mapping[str, int], lines: Sequence[str]) -> str:
    """The fingerprint under which a finding is known; empty where it is none of the allowance."""
    codes = (finding.code, *former(finding.code)) if allowance else ()
    marks = (fingerprint(code, finding.site.line, lines) for code in codes)
    return next((mark for mark in marks if allowance.get(mark, 0) > 0), "")


def _allowance(path: str, settings: Settings) -> dict[str, int]:
    if settings.baseline is None:
        return {}
    return dict(load_baseline(settings.baseline).get(_key(path, settings.baseline), {}))


def _key(path: str, baseline: Path) -> str:
    return os.path.relpath(os.path.abspath(path), os.path.abspath(baseline.parent)).replace(os.sep, "/")
