"""Write the pages of the documentation site as plain Markdown, with the settings of mkdocs that list them.

    python tools/pages build/site

`make site` then builds them. All that is special to this project happens here, from Markdown to Markdown, so that what
builds the site stays an ordinary program with ordinary settings.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contents import ALSO_AT, CONTENTS, ROOT, Page, Section, unlisted
from diagrams import drawn
from figures import with_figures
from links import rewritten

(REPOSITORY,) = re.findall(r"^  repository: (\S+)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
"""Where links to files lead that are on no page."""


def navigation(section: Section) -> list[dict[str, Any]]:
    """The section as mkdocs lists it."""
    listed: list[dict[str, Any]] = []
    for entry in section.entries:
        if isinstance(entry, Section):
            listed.append({entry.title: navigation(entry)})
        elif entry.is_there:
            listed.append({entry.title: entry.path})
    return listed


def places() -> dict[str, str]:
    """The page of each file of the repository that has one; pages that are made are linked to as if they lay in `docs`."""
    made = {f"docs/{page.path}": page.path for page in CONTENTS.pages() if callable(page.source)}
    return {page.source: page.path for page in CONTENTS.pages() if isinstance(page.source, str)} | made | ALSO_AT


def elsewhere(page: Page) -> Callable[[str], str]:
    """The address of a file that is on no page, for links of that page."""

    def address(file: str) -> str:
        if not (ROOT / file).exists():
            raise SystemExit(f"{page.source}: links to {file}, which is neither in the repository nor on the site")
        return f"{REPOSITORY}/blob/main/{file}"

    return address


def written(page: Page) -> str:
    """The page as mkdocs reads it."""
    text = with_figures(drawn(page.text()))
    return rewritten(text, page.source, page.path, places(), elsewhere(page)) if isinstance(page.source, str) else text


def main(into: Path) -> int:
    """Write everything below the folder; returns the exit code."""
    if forgotten := unlisted():
        sys.stderr.write(f"on no page of the site: {', '.join(forgotten)}. Add them to tools/pages/contents.py\n")
        return 1
    shutil.rmtree(into, ignore_errors=True)
    for page in CONTENTS.pages():
        file = into / "pages" / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(page), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "assets", into / "pages" / "assets")
    nav = navigation(CONTENTS)
    settings = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": "pages", "site_dir": "html", "nav": nav}
    (into / "mkdocs.yml").write_text(json.dumps(settings, indent=2), encoding="utf-8")  # JSON is YAML
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
