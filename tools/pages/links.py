"""Links of a file of the repository, as they are on the site's page that includes it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s]+)(?=\))")
MENTION = re.compile(r"(?<!\[)`(?P<target>(?:docs/)?[\w.-]+(?:/[\w.-]+)*\.md)`(?!\])")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
OUTSIDE = re.compile(r"[a-z][a-z+.-]*:|//|#")


def rewritten(text: str, source: str, page: str, pages: Mapping[str, str], elsewhere: Callable[[str], str]) -> str:
    """The text with its links leading to pages of the site, or to the repository where no page has what they mean.

    Args:
        text: Markdown, its links relative to `source`; lines of code are left as they are.
        source: the path of the file in the repository.
        page: the path of the page on the site.
        pages: the path of the page of each file that has one.
        elsewhere: the address of a file of the repository by its path; it raises where there is none.
    """

    def place(target: str, base: str) -> str:
        path, hash, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(base, path))
        found = posixpath.relpath(pages[file], posixpath.dirname(page) or ".") if file in pages else elsewhere(file)
        return f"{found}{hash}{anchor}"

    def linked(match: re.Match[str]) -> str:
        target = match["target"]
        return target if OUTSIDE.match(target) else place(target, posixpath.dirname(source))

    def mentioned(match: re.Match[str]) -> str:
        target = match["target"]
        known = target if target in pages else posixpath.join(posixpath.dirname(source), target)
        return f"[{match[0]}]({place(known, '')})" if known in pages and known != source else match[0]

    lines, fence = [], ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and not line.startswith("    "):
            line = MENTION.sub(mentioned, LINK.sub(linked, line))
        lines.append(line)
    return "".join(lines)
