"""The site in a real browser: nothing is fetched from elsewhere, nothing goes wrong, search and filter find, and it can be read by all."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PAGES = (
    "index",
    "start",
    "how-it-works",
    "architecture",
    "rules/index",
    "rules/training",
    "commands/suggest",
    "python",
    "comparison",
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is told of requests."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        yield started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    page.set_default_timeout(120_000)  # a busy machine
    yield page
    page.close()


def test_no_page_fetches_from_elsewhere_or_has_an_error(page: Any, address: str) -> None:
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    for name in PAGES:
        page.goto(f"{address}/{name}.html", wait_until="networkidle")
    assert wrong == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def test_the_filter_leaves_the_rules_that_have_its_words(page: Any, address: str) -> None:
    page.goto(f"{address}/rules/index.html")
    rows = page.locator("article tbody tr:visible")
    whole = rows.count()
    page.get_by_label("Filter the rules").fill("softmax dnf3")
    few = [row.lower() for row in rows.all_inner_texts()]
    assert 0 < len(few) < whole / 4 and all("softmax" in row and "dnf3" in row for row in few)
    assert page.get_by_role("heading", name="versioning").count() == 0
    page.get_by_label("Filter the rules").fill("")
    assert rows.count() == whole


def test_search_finds_a_rule(page: Any, address: str) -> None:
    page.goto(f"{address}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("DNF301")
    page.locator(".md-search-result__link", has_text="DNF301").first.wait_for()


@pytest.mark.parametrize("width", [320, 3840])
def test_no_page_is_wider_than_its_window(page: Any, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for name in PAGES:
        page.goto(f"{address}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_no_serious_objection(page: Any, address: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page.emulate_media(color_scheme=scheme)
    for name in PAGES:
        page.goto(f"{address}/{name}.html")
        found = axe.Axe().run(page).response["violations"]
        assert [
            (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
        ] == [], name
