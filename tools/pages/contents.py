"""The contents of the documentation site: its sections, its pages, and what each page is made from.

A page names a file of the repository, which is included by reference, or is made from the program itself. A page whose
file is not there is left out; a file of `docs/` that is on no page stops the build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import catalogue
import commands

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Page:
    """A page of the site: its title in the navigation, its path, and a file of the repository or what makes its text."""

    title: str
    path: str
    source: str | Callable[[], str]

    @property
    def is_there(self) -> bool:
        """Whether the page can be made."""
        return callable(self.source) or (ROOT / self.source).is_file()

    def text(self) -> str:
        """The page in Markdown, its links as they are in the repository."""
        return self.source() if callable(self.source) else (ROOT / self.source).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Section:
    """Pages, or further sections, under one title of the navigation."""

    title: str
    entries: tuple[Page | Section, ...]

    def pages(self) -> Iterator[Page]:
        """The pages of the section and of those within it that can be made."""
        for entry in self.entries:
            if isinstance(entry, Section):
                yield from entry.pages()
            elif entry.is_there:
                yield entry


def _docs(title: str, name: str) -> Page:
    return Page(title, f"{name}.md", f"docs/{name}.md")


def _of_commands(group: str = "") -> tuple[Page | Section, ...]:
    """A page for each command; a group's own page comes first in the section of the group."""
    made: list[Page | Section] = []
    for name in commands.names(group):
        words = f"{group} {name}".strip()
        page = Page(f"dnnfix {words}", f"commands/{words.replace(' ', '-')}.md", commands.writer(words))
        inner = _of_commands(words) if commands.is_group(words) else ()
        made.append(Section(page.title, (page, *inner)) if inner else page)
    return tuple(made)


CONTENTS = Section(
    "dnnfix",
    (
        _docs("Home", "index"),
        Section("Start", (_docs("In five minutes", "start"), _docs("A real case", "tutorial"), _docs("How it works", "how-it-works"))),
        Section(
            "Guide",
            (
                _docs("How runs end", "runs"),
                _docs("Programs that do not run as they stand", "reproduction"),
                _docs("From a bug report to the place", "locating"),
                _docs("What training shows", "symptoms"),
                _docs("Small edits at a crash", "small-edits"),
                _docs("The sandbox", "sandbox"),
                _docs("The HTML report", "report"),
                _docs("Editors", "editors"),
                _docs("Coding agents", "agents"),
                _docs("A language model may propose", "models"),
                _docs("Notebooks", "notebooks"),
                _docs("Watching a training", "watching"),
                Section("The bot", (_docs("The bot", "bot"), _docs("Who is trusted with what", "security"))),
            ),
        ),
        Section(
            "Reference",
            (
                _docs("Configuration", "configuration"),
                Section("Commands", (Page("Overview", "commands/index.md", commands.overview), *_of_commands())),
                Section(
                    "Rules",
                    (
                        Page("The catalogue", "rules/index.md", catalogue.overview),
                        *(Page(family, f"rules/{family}.md", catalogue.writer(family)) for family in catalogue.families()),
                    ),
                ),
                _docs("Python", "python"),
            ),
        ),
        Section(
            "Write rules",
            (
                _docs("Your first rule", "first-steps"),
                _docs("Rules without code", "rules"),
                _docs("Rules of your own", "writing-templates"),
                _docs("The map", "architecture"),
                Page("Contributing", "contributing.md", "CONTRIBUTING.md"),
            ),
        ),
        Section(
            "Evidence",
            (
                Page("The benchmark's results", "benchmark/results.md", "benchmark_667/RESULTS.md"),
                Page("The benchmark", "benchmark/index.md", "benchmark_667/README.md"),
                Page("Speed", "benchmark/speed.md", "benchmarks/README.md"),
                _docs("Field trials", "field-trials"),
                _docs("Beside other tools", "comparison"),
            ),
        ),
        Page("Changelog", "changelog.md", "CHANGELOG.md"),
    ),
)  # fmt: skip

ALSO_AT = {"docs/templates.md": "rules/index.md"}
"""Files of the repository whose text is on pages that are made."""


def unlisted() -> list[str]:
    """The files of `docs/` that are on no page."""
    listed = {page.source for page in CONTENTS.pages()} | set(ALSO_AT)
    return sorted(path for file in (ROOT / "docs").glob("*.md") if (path := f"docs/{file.name}") not in listed)
