"""The page of a replay, in a browser: put together of the parts of the report's, and as readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.bench.assessment import Arm, Assessed
from dnnfix.bench.page import as_page
from dnnfix.bench.totals import totals
from tests.emit.browser import Shown, browser, needs_browser
from tests.emit.conftest import DIFF

pytest.importorskip("jinja2", reason="dnnfix[html] is not installed")

HOSTILE = "</script><script>alert(1)</script>"

RESULTS = (
    Assessed("so-1", Arm.REPAIR, accepted=True, correct=True, found=("DNF301:4",), diff=DIFF, seconds=3.0, runs=9),
    Assessed("gh-two", Arm.REPAIR, reason=HOSTILE),
    Assessed("gh-two", Arm.RANDOM),
    Assessed("so-3", Arm.NULL, failed="its worker was lost"),
)


def test_results_are_on_the_page() -> None:
    html = as_page(totals((), RESULTS), {"torch": "2.13", "format": "1"}, RESULTS, {"repair/gh-two": "no data"})
    assert HOSTILE not in html
    for said in ("so-1", "DNF301:4", "3 (9 runs)", "no data", "its worker was lost", "In whole", "How far the repairs"):
        assert said in html
    assert html.count('class="finding case"') == 3  # a refused random patch is as it should be, and not of interest


@needs_browser
@pytest.mark.parametrize("width", [320, 1280])
def test_everybody_can_read_it(tmp_path: Path, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    file = tmp_path / "report.html"
    file.write_text(as_page(totals((), RESULTS), {"torch": "2.13"}, RESULTS, {}), encoding="utf-8")
    with browser() as started:
        shown = Shown(started, file, width=width)
        shown.page.get_by_role("searchbox").fill("correct so-1")
        assert shown.page.locator(".case:visible").count() == 1
        shown.page.get_by_role("searchbox").fill("")
        shown.page.locator(".case summary").first.click()
        shown.page.get_by_role("radio", name="Side by side").check()
        assert shown.page.locator(".diff.split tr").count() == 3
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        assert [(one["id"], one["impact"]) for one in axe.run(shown.page).response["violations"]] == []
        assert shown.complaints == []
        shown.close()
