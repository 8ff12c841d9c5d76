"""The page: everything that a report holds is in it, it needs nothing beside it, and strangers' text stays text."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dnnfix.emit.html import changes, charts, graph, page, report
from dnnfix.emit.html.code import coloured, frame, marked
from dnnfix.emit.view import View
from dnnfix.errors import ConfigError
from dnnfix.records import (
    Ablation,
    Call,
    Component,
    Crash,
    Curve,
    FileReport,
    FindingOutcome,
    FindingResult,
    LayerCurve,
    Network,
    Origin,
    PatchVerdict,
    Report,
    RunOutcome,
    RunRecord,
    Site,
    Status,
    Trace,
    Value,
    Verdict,
)
from tests.emit.browser import Shown, browser, needs_browser
from tests.emit.conftest import DIFF, PROGRAM, finding, patch

pytest.importorskip("vl_convert", reason="dnnfix[html] is not installed")

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>]]><!--\x00\u202e\"'`${x}{{ 7*7 }}"

COLOURFUL = """diff --git a/pkg/train.py b/pkg/train.py
--- a/pkg/train.py
+++ b/pkg/train.py
@@ -1,2 +1,2 @@
-loss = f(None, softmax(x, 1352), "sum")  # not a good one
-loss.backward()
+loss = f(lambda: 4608, softmax(x, 4608), "mean")  # a good one
+def backward(): pass  # ü
"""
"""Every colour of code on the grounds of a diff, marked and not."""

LIMIT = 1_500_000
"""Characters that the page of a program may have."""


def network() -> Network:
    """Two layers, of which the second is skipped, and one that does not fit."""

    def value(id: int, producer: int | None, *shape: int) -> Value:
        return Value(id, shape, "torch.float32", producer=producer, origin=None if producer else "data")

    site = Site(2, 5, 2, 25)
    parts = tuple(Component(id, "layer", f"torch.nn.{name}", site, {"in_features": 4}, at, called=called) for id, name, at, called in ((1, "Linear", "fc1", 1), (2, "ReLU", "act", 1), (3, "Linear", "fc2", 1), (4, "Dropout", "drop", 0)))  # fmt: skip
    calls = (
        Call(1, "torch.nn.Linear", site, 1, inputs=(value(1, None, 8, 4),), outputs=(value(2, 1, 8, 6),), path="fc1"),
        Call(2, "torch.nn.ReLU", site, 2, inputs=(value(2, 1, 8, 6),), outputs=(value(3, 2, 8, 6),), path="act"),
        Call(3, "torch.Tensor.add", Site(3, 1, 3, 9), inputs=(value(3, 2, 8, 6), value(2, 1, 8, 6)), outputs=(value(4, 3, 8, 6),), scope=("Net",)),
    )  # fmt: skip
    return Network("torch", "trace", parts, calls)


def crashed() -> Trace:
    stopped = Call(0, "torch.nn.Linear", Site(3, 1, 3, 9), 3, inputs=(Value(4, (8, 6), "torch.float32", producer=3),))
    return Trace(
        RunOutcome.CRASHED, network=network(), crash=Crash("RuntimeError", "mat1 and mat2 <do> not fit", call=stopped)
    )


def whole() -> FileReport:
    """A report that has everything in it that a page shows."""
    found = finding(evidence={"raced": {"a rate of 0.1": 0.91}, "shape": (3, None)})
    curves = tuple(
        Curve(seed, patched, (1.5, 1.2, 0.4 if patched else float("nan")), (0.0, 0.1, 0.9), (), 300)
        for seed in (1, 2)
        for patched in (False, True)
    )
    made = patch(
        found,
        curves=curves,
        ablation=(Ablation("clear the gradients", False, "learns: no gain"),),
        side_effects={"step_seconds": {"before": 0.001, "after": 0.002}, "information": {"before": 0.5, "after": 1.0}},
    )
    refused = Verdict("crash-gone", "run", Status.FAIL, "RuntimeError: still 12 features", {"features": 12})
    rival = patch(found, "patch-2", verdict=PatchVerdict.REJECTED, rank=1, verdicts=(refused,), diff=COLOURFUL)
    second = finding("DNF701", 1)
    return FileReport(
        "pkg/train.py",
        (
            FindingResult(found, FindingOutcome.REPAIRED, "hand raw scores to the loss", ("patch-1", "patch-2")),
            FindingResult(second, FindingOutcome.DECLINED, "two names fit"),
        ),
        (made, rival),
        (RunRecord("run-1", RunOutcome.CRASHED, 0.5, 7, detail="RuntimeError: mat1"),),
        ("training beyond 20 steps",),
        "bubblewrap",
        trace=crashed(),
        slice=(Origin(Site(3, 1, 3, 9), "failing", 0, ("x is (8, 6) float32",)), Origin(Site(2, 1, 2, 9), "source", 2)),
        layers=(LayerCurve("ReLU", 2, (4, 8, 16), (0.1, 0.9, None), (1.0, 0.5, 0.2)),),
    )


VIEWS = {"pkg/train.py": View(tuple(PROGRAM.split("\n")))}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library of charts is kept once for all tests."""
    return tmp_path_factory.mktemp("cache")


def text_of(html: str) -> str:
    """What a reader sees of a page: no scripts, no style, no tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", bare).split())


def test_everything_is_on_the_page(cache: Path) -> None:
    shown = text_of(report.page(Report((whole(),)), VIEWS, cache))
    for said in (
        "2 problems in pkg/train.py",
        "softmax is applied twice",
        "hand raw scores to the loss",
        "2 seeds, each trained before and with the patch",
        "Does it train as it should",
        "skill after 0.8765",
        "a rate of 0.1",
        "clear the gradients",
        "learns: no gain",
        "step 1 ms 2 ms +100%",
        "information kept 50 % 100 % +50 points",
        "RuntimeError: still 12 features",
        "does not fit",
        "RuntimeError: mat1 and mat2 &lt;do&gt; not fit",
        "Made, and not called in this run: drop (line 2)",
        "stopped here",
        "x is (8, 6) float32",
        "ReLU, line 2",
        "run-1 crashed 7 0.50 RuntimeError: mat1",
        "training beyond 20 steps",
        "two names fit",
        "/tmp/certificate.json",
    ):
        assert said in shown, said


@pytest.fixture
def every(request: pytest.FixtureRequest) -> Report:
    """The report by hand of the other formats; its fixture is called as the module under test here."""
    made: Report = request.getfixturevalue("report")
    return made


def test_every_outcome(every: Report, views: dict[str, View]) -> None:
    html = report.page(every, views)
    shown = text_of(html)
    for outcome in ("repaired", "rejected", "declined", "failed"):
        assert f"{outcome}" in shown
    assert "missing.py: no such file" in shown
    assert "my notebook.ipynb:cell 2:2:1" in shown
    assert "vega" not in html  # nothing to draw: the library stays out
    assert len(html) < 150_000


def test_nothing_beside_it(cache: Path) -> None:
    html = report.page(Report((whole(),)), VIEWS, cache)
    assert len(html) < LIMIT
    assert not re.findall(
        r"""(?:src|href)\s*=\s*["']?(?!#)[^"'>\s]+""", re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    )
    assert "default-src &#39;none&#39;" in html


def test_same_report_same_page(cache: Path) -> None:
    assert report.page(Report((whole(),)), VIEWS, cache) == report.page(Report((whole(),)), VIEWS, cache)


def hostile() -> FileReport:
    """A report in which every text is an attack."""
    bad = finding(message=HOSTILE, rule="rule", evidence={HOSTILE: HOSTILE, "raced": {HOSTILE: 1.0}})
    made = patch(
        bad,
        diff=DIFF.replace("import torch", HOSTILE.replace("\x00", "")),
        verdicts=(Verdict(HOSTILE, "run", Status.PASS, HOSTILE, {HOSTILE: HOSTILE}),),
        certificate=HOSTILE,
        ablation=(Ablation(HOSTILE, True, HOSTILE),),
        side_effects={HOSTILE: 1},
        curves=(Curve(1, False, (1.0, 2.0)), Curve(1, True, (1.0, 2.0))),
    )
    layer = LayerCurve(HOSTILE, 1, (1, 2), (0.1, 0.2), ())
    crash = replace(crashed(), crash=replace(crashed().crash, message=HOSTILE, kind=HOSTILE))  # type: ignore[type-var]
    return FileReport(
        HOSTILE,
        (FindingResult(bad, FindingOutcome.REPAIRED, HOSTILE, ("patch-1",)),),
        (made,),
        (RunRecord(HOSTILE, RunOutcome.CRASHED, 0.5, 0, detail=HOSTILE),),
        (HOSTILE,),
        notes=(HOSTILE,),
        trace=crash,
        slice=(Origin(Site(1, 1, 1, 9), HOSTILE, 0, (HOSTILE,)),),
        layers=(layer,),
    )


def test_strangers_texts_stay_text(cache: Path) -> None:
    bad = hostile()
    html = report.page(Report((bad,), (HOSTILE,), (HOSTILE,)), {HOSTILE: View((HOSTILE,) * 3)}, cache)
    assert "<script>alert" not in html
    assert "<img" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert "\x00" not in html
    assert "\u202e" not in html
    assert "49" not in text_of(html).replace("0.49", "")  # no template of theirs is run


@needs_browser
def test_no_script_of_theirs_runs(cache: Path, tmp_path: Path, chromium: Any) -> None:
    bad = hostile()
    file = tmp_path / "hostile.html"
    text = report.page(Report((bad,), (HOSTILE,), (HOSTILE,)), {HOSTILE: View((HOSTILE,) * 3)}, cache)
    file.write_text(text, encoding="utf-8")
    shown = Shown(chromium, file)
    alerts: list[str] = []

    def dismiss(dialog: Any) -> None:
        alerts.append(dialog.message)
        dialog.dismiss()

    shown.page.on("dialog", dismiss)
    shown.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    shown.page.wait_for_selector(".plot svg")
    shown.page.locator('.layout input[value="split"]').first.check()
    assert shown.page.locator("img").count() == 0
    assert alerts == shown.complaints == []
    injected = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    shown.page.evaluate(injected)
    assert shown.page.evaluate("window.ran") is None  # the policy of the page is in force
    shown.close()


# --- parts ---


def test_rows_of_a_diff() -> None:
    (change,) = changes.changes("diff --git a/pkg/train.py b/pkg/train.py\n" + DIFF)
    assert (change.path, change.added, change.removed) == ("pkg/train.py", 1, 1)
    assert [(row.kind, row.before, row.after) for row in change.rows] == [
        ("same", 1, 1), ("same", 2, 2), ("old", 3, None), ("new", None, 3),
    ]  # fmt: skip
    old = change.rows[2]
    assert "".join(piece.text for piece in old.pieces) == 'über = "ü"; loss = f(softmax(x), y)'
    assert "".join(piece.text for piece in old.pieces if piece.marked) == "softmax()"  # whole words


def test_bytes_of_a_diff_are_kept() -> None:
    diff = "-caf\udce9\r\n+x\n"
    assert base64.b64decode(changes.encoded(diff)) == b"-caf\xe9\r\n+x\n"


def test_site_is_marked_over_tokens() -> None:
    lines = coloured('x = f("a\tb", 12)  # c\n"""long\nstring"""')
    assert [piece.kind for piece in lines[2]] == ["s"]
    pieces = list(marked(lines[0], [(4, 16)]))
    assert "".join(piece.text for piece in pieces if piece.marked) == 'f("a\tb", 12)'
    shown = frame(Site(1, 5, 1, 17), View(('x = f("a\tb", 12)  # c',)), lines)
    assert "".join(piece.text for piece in shown.lines[0].pieces) == 'x = f("a    b", 12)  # c'


def test_frame_stays_in_its_cell() -> None:
    seen = View(("a", "b", "c", "d"), lambda line: ("1", line) if line < 3 else ("2", line - 2))
    shown = frame(Site(3, 1, 3, 2), seen, coloured("a\nb\nc\nd"))
    assert [(line.number, line.hit) for line in shown.lines] == [(1, True), (2, False)]


def test_skipped_layers_have_a_lane_beside() -> None:
    drawn = graph.drawing(crashed(), [finding(site=Site(2, 5, 2, 25))])
    assert drawn is not None
    assert [(node.title, node.lane, node.passing) for node in drawn.nodes] == [
        ("Linear", 0, ()), ("ReLU", 0, (1,)), ("add", 0, ()), ("Linear", 0, ()),
    ]  # fmt: skip
    assert [edge.source for edge in drawn.nodes[2].edges] == ["", "fc1"]
    assert [node.broken for node in drawn.nodes] == [False, False, False, True]
    assert drawn.nodes[0].marks == ("DNF301",)
    assert drawn.unused == (("drop", 2),)


def test_long_networks_are_shortened() -> None:
    calls = tuple(
        Call(id, "torch.nn.ReLU", None, None, inputs=(Value(id, (1,), producer=id - 1 or None),), outputs=(Value(id + 1, (1,), producer=id),), scope=("N",))
        for id in range(1, 301)
    )  # fmt: skip
    first = replace(calls[0], component=1)
    net = Network("torch", "trace", (Component(1, "layer", "torch.nn.ReLU"),), (first, *calls[1:]))
    drawn = graph.drawing(Trace(RunOutcome.FINISHED, network=net), [])
    assert drawn is not None
    assert len(drawn.nodes) == graph.MOST
    assert sum(node.left_out for node in drawn.nodes) == 300 - graph.MOST


def test_curves_keep_their_gaps() -> None:
    loss, skill = charts.of_patch((Curve(1, False, (1.0, float("nan")), (0.5, 0.5), (), 200),))
    assert loss.lines == ({"label": "seed 1", "side": "before", "steps": [100.0, 200.0], "values": [1.0, None]},)
    assert loss.rows == (("1", "not finite", "–"),)
    assert skill.rows == (("1", "0.5", "–"),)


def test_missing_packages_are_named() -> None:
    with pytest.raises(ConfigError, match=r"needs no-such-package, .*pip install 'dnnfix\[html\]'"):
        page.require({**page.NEEDED, "no_such_module": "no-such-package"})


# --- in a browser ---


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def file(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "report.html"
    made.write_text(report.page(Report((whole(),)), VIEWS, cache), encoding="utf-8")
    return made


@pytest.fixture
def shown(chromium: Any, file: Path) -> Iterator[Shown]:
    window = Shown(chromium, file, permissions=["clipboard-read", "clipboard-write"])
    yield window
    assert window.complaints == []
    assert window.asked == [file.as_uri(), *[url for url in window.asked[1:] if url.startswith("blob:")]]
    window.close()


def _loaded(window: Shown) -> float:
    """How many milliseconds the page takes to load once more."""
    window.page.reload()
    took: float = window.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    return took


@needs_browser
class TestBrowser:
    def test_curves_are_drawn_when_opened(self, shown: Shown) -> None:
        assert shown.page.locator(".finding[open] .plot svg").count() == 2
        assert shown.page.locator(".panel .plot svg").count() == 0
        shown.page.get_by_text("Layers while it trained").click()
        shown.page.wait_for_function("document.querySelectorAll('.panel .plot svg').length === 2", timeout=5000)

    def test_hover_tells_the_number(self, shown: Shown) -> None:
        plot = shown.page.locator(".plot").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        lines = shown.page.locator(".plot").first.locator("path[stroke-width]")
        assert lines.count()
        for step in range(20):
            shown.page.mouse.move(box["x"] + box["width"] * step / 20, box["y"] + 30)
            if shown.page.locator(".tip:visible").count():
                break
        assert re.fullmatch(
            r"seed \d(, before|, with the patch): [\d.]+ at step [\d,]+",
            shown.page.locator(".tip:visible").inner_text(),
        )

    def test_legend_takes_lines_away(self, shown: Shown) -> None:
        count = "document.querySelector('.plot').querySelectorAll('.mark-line path').length"
        both = shown.page.evaluate(count)
        shown.page.get_by_role("button", name="before").click()
        assert shown.page.evaluate(count) == both // 2
        assert shown.page.get_by_role("button", name="before").get_attribute("aria-pressed") == "false"

    def test_side_by_side_and_back(self, shown: Shown) -> None:
        diff = shown.page.locator(".finding .diff").first
        unified = diff.inner_text()
        assert diff.locator("tr").count() == 5
        shown.page.get_by_role("radio", name="Side by side").first.check()
        assert diff.locator("tr").count() == 3
        cells = diff.locator("tr").last.locator("td.text")
        assert [text.strip() for text in cells.all_inner_texts()] == ['über = "ü"; loss = f(softmax(x), y)', 'über = "ü"; loss = f(x, y)']  # fmt: skip
        shown.page.get_by_role("radio", name="Unified").first.check()
        assert diff.inner_text() == unified

    def test_patch_is_copied_and_downloaded(self, shown: Shown, tmp_path: Path) -> None:
        shown.page.get_by_role("button", name="Copy patch").first.click()
        shown.page.get_by_role("button", name="Copied").wait_for()
        assert shown.page.evaluate("navigator.clipboard.readText()") == DIFF
        with shown.page.expect_download() as coming:
            shown.page.get_by_role("button", name="Download patch").first.click()
        assert coming.value.suggested_filename == "patch-1.diff"
        coming.value.save_as(tmp_path / "got.diff")
        assert (tmp_path / "got.diff").read_bytes() == DIFF.encode()

    def test_colours_follow_the_switch_and_the_system(self, shown: Shown) -> None:
        colour = "getComputedStyle(document.body).backgroundColor"
        light = shown.page.evaluate(colour)
        shown.page.get_by_role("radio", name="Dark").check()
        dark = shown.page.evaluate(colour)
        assert light != dark
        line = "getComputedStyle(document.querySelector('.plot .mark-line path')).stroke"
        assert shown.page.evaluate(line) not in ("", "none")
        shown.page.get_by_role("radio", name="Auto").check()
        assert shown.page.evaluate(colour) == light
        shown.page.emulate_media(color_scheme="dark")
        assert shown.page.evaluate(colour) == dark

    def test_keyboard_opens_a_finding(self, shown: Shown) -> None:
        second = shown.page.locator("#f1-2")
        second.locator("summary").first.focus()
        shown.page.keyboard.press("Enter")
        assert second.get_attribute("open") is not None

    def test_link_opens_what_it_points_at(self, shown: Shown) -> None:
        shown.page.locator('.contents a[href="#f1-2"]').click()
        shown.page.wait_for_function("document.getElementById('f1-2').open")

    def test_filter(self, shown: Shown) -> None:
        shown.page.get_by_role("searchbox").fill("dnf701")
        assert shown.page.locator(".finding:visible").count() == 1
        assert shown.page.locator("#left").inner_text() == "1 of 2"
        shown.page.get_by_role("searchbox").fill("")
        assert shown.page.locator(".finding:visible").count() == 2

    def test_print_shows_everything(self, shown: Shown) -> None:
        pdf = shown.page.pdf()
        assert pdf.startswith(b"%PDF")
        shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert shown.page.locator("details:not([open])").count() == 0
        assert shown.page.locator(".plot svg").count() == shown.page.locator(".plot").count()
        shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert shown.page.locator("details:not([open])").count() > 0

    @pytest.mark.parametrize("width", [320, 768, 1280, 3840])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_no_width_scrolls_sideways(self, chromium: Any, file: Path, width: int, scheme: str) -> None:
        window = Shown(chromium, file, width=width, color_scheme=scheme)
        window.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for layout in ("split", "unified"):
            window.page.locator(f'.layout input[value="{layout}"]').first.check()
            assert window.page.evaluate("document.documentElement.scrollWidth") <= width
        window.close()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_everybody_can_read_it(self, chromium: Any, file: Path, scheme: str) -> None:
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
        window = Shown(chromium, file, color_scheme=scheme)
        window.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        window.page.wait_for_selector(".panel .plot svg")
        found = axe.run(window.page).response["violations"]
        assert [(one["id"], one["impact"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found] == []
        window.close()

    def test_two_hundred_findings_are_quick(self, chromium: Any, cache: Path, tmp_path: Path) -> None:
        one = whole()
        many = Report(tuple(replace(one, path=f"pkg/train{number}.py") for number in range(100)))
        views = {file.path: VIEWS["pkg/train.py"] for file in many.files}
        started = time.monotonic()
        text = report.page(many, views, cache)
        assert time.monotonic() - started < 20
        large = tmp_path / "large.html"
        large.write_text(text, encoding="utf-8")
        window = Shown(chromium, large)
        assert window.page.locator(".finding").count() == 200
        assert (
            0 < min(_loaded(window) for _ in range(5)) < 2000
        )  # the other tests take from this machine what they take
        assert window.page.locator(".plot svg").count() == 0
        window.page.locator(".finding summary").first.click()
        window.page.wait_for_selector(".plot svg", timeout=1000)
        searched = """(word) => { const query = document.getElementById("query"), start = performance.now();
            query.value = word; query.dispatchEvent(new Event("input")); return performance.now() - start; }"""
        assert window.page.evaluate(searched, "train77") < 500
        assert window.page.locator(".finding:visible").count() == 2
        assert window.complaints == []
        window.close()

    def test_of_a_long_line_the_place_of_the_fault_is_shown(self, chromium: Any, tmp_path: Path) -> None:
        line = f"x = [{'1, ' * 700}softmax(y)]"
        at = line.index("softmax") + 1
        far = replace(whole().findings[0].finding, site=Site(1, at, 1, at + 10))
        one = FileReport("a.py", (FindingResult(far, FindingOutcome.DECLINED, "not run"),))
        file = tmp_path / "long.html"
        file.write_text(report.page(Report((one,)), {"a.py": View((line,))}), encoding="utf-8")
        window = Shown(chromium, file, width=768)
        if not window.page.locator("details.finding[open]").count():
            window.page.locator(".finding summary").first.click()
        window.page.wait_for_function("document.querySelector('.code').scrollLeft > 0", timeout=1000)
        assert 0 < window.page.locator(".code mark").first.bounding_box()["x"] < 768
        window.close()
