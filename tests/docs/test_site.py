"""The documentation site is built without a warning, and loads nothing from the network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dnnfix
from dnnfix.cli.bench import COMMANDS as BENCH
from dnnfix.cli.bot import COMMANDS as BOT
from dnnfix.cli.main import COMMANDS
from tests.docs.blocks import ROOT
from tests.docs.building import built, python

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself, and the attribute that says from where."""


class _Loaded(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in LOADING and values.get("rel") not in ("next", "prev", "canonical"):
            self.found.append(values.get(LOADING[tag]) or "")


def _loaded(site: Path) -> Iterator[tuple[str, str]]:
    for page in site.rglob("*.html"):
        parser = _Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        yield from ((str(page.relative_to(site)), address) for address in parser.found)
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\(([^)]+)\)", sheet.read_text(encoding="utf-8")):
            yield str(sheet.relative_to(site)), address.strip("'\"")


@pytest.mark.slow
def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    assert [found for found in _loaded(site) if re.match(r"(https?:)?//", found[1])] == []


@pytest.mark.slow
def test_no_page_asks_a_server_for_diagrams_or_stars(site: Path) -> None:
    """The theme fetches a script where a page has a diagram that is not drawn yet, and GitHub's numbers where it has a repository."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in text and 'data-md-component="source"' not in text, page


@pytest.mark.slow
def test_every_command_and_every_rule_has_its_place(site: Path) -> None:
    groups = {"bench": BENCH, "bot": BOT}
    names = [name for name in COMMANDS] + [f"{group}-{name}" for group, listed in groups.items() for name in listed]
    assert [name for name in names if not (site / "commands" / f"{name}.html").is_file()] == []
    rules = json.loads(python("-m", "dnnfix", "templates", "--isolated", "--output-format", "json").stdout)
    text = {family: (site / "rules" / f"{family}.html").read_text() for family in {rule["family"] for rule in rules}}
    assert [r["code"] for r in rules if f'id="{r["code"].lower()}-{r["rule"]}"' not in text[r["family"]]] == []


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "start.md#nowhere", "/start.html"])
def test_a_link_that_leads_nowhere_ends_the_build(site: Path, tmp_path: Path, link: str) -> None:
    assert site.is_dir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text(f"# Here\n\n[there]({link}), [start](start.md#here)\n")
    (tmp_path / "pages" / "start.md").write_text("# Here\n")
    settings = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": "pages",
        "site_dir": "html",
        "extra_css": [],
        "extra_javascript": [],
    }
    (tmp_path / "mkdocs.yml").write_text(json.dumps(settings))
    done = built(tmp_path)
    assert done.returncode == 1 and link in done.stdout + done.stderr


def test_a_page_of_the_documentation_that_is_nowhere_on_the_site_is_noticed() -> None:
    done = python(
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT / 'tools' / 'pages')!r}); import contents; print(contents.unlisted())",
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_settings_on_the_page_are_those_of_the_code() -> None:
    done = python(str(ROOT / "tools" / "settings_page.py"), "--check")
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_on_the_page_aboutpython() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    names = set(dnnfix.__all__) - {"__version__"}
    assert {name for name in names if not re.search(rf"\b{name}\b", page[page.index("## Functions") :])} == set()
