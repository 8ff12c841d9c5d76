"""Curves in the text of a pull request: what is drawn, that nobody's numbers break it, and that a browser draws it."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix.bot.body import body
from dnnfix.bot.picture import MOST, Drawing, drawing
from dnnfix.bot.proposal import proposals
from tests.bot.people import REPAIRED, TRAIN, analysis

MERMAID = Path(__file__).parents[1] / "forge" / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def side(patched: bool, **values: Any) -> dict[str, Any]:
    return {"seed": 0, "patched": patched, **values}


PAIR = [side(False, loss=[2.3, 2.3, 2.3], skill=[]), side(True, loss=[2.3, 1.1, 0.4], skill=[])]


def test_the_loss_is_drawn_where_no_skill_is_known_and_the_skill_where_it_is() -> None:
    assert drawing(PAIR) == Drawing("loss", 0, (2.3, 2.3, 2.3), (2.3, 1.1, 0.4))
    skilled = [{**one, "skill": [0.1, 0.2, 0.3]} for one in PAIR]
    found = drawing(skilled)
    assert found is not None and found.name == "skill"


@pytest.mark.parametrize(
    "curves",
    [
        [],
        [None],
        PAIR[:1],
        [side(False, loss="123"), side(True, loss=[1, 2, 3])],
        [side(False, loss=[1.0, math.nan]), side(True, loss=[1, 2, 3])],
        [side(False, loss=[True, True, True]), side(True, loss=[1, 2, 3])],
        [{**PAIR[0], "seed": '0"]'}, PAIR[1]],
    ],
)
def test_nothing_is_drawn_of_what_has_no_pair_of_numbers(curves: list[Any]) -> None:
    assert drawing(curves) is None


VALUES = st.lists(st.floats() | st.integers() | st.text() | st.none() | st.booleans(), max_size=100)


@given(st.lists(st.fixed_dictionaries({"seed": st.integers() | st.text(), "patched": st.booleans(), "loss": VALUES})))
def test_whatever_a_report_says_the_picture_is_numbers(curves: list[Any]) -> None:
    found = drawing(curves)
    if found is not None:
        lines = re.findall(r"^    line \[(.*)\]$", found.markdown(), re.MULTILINE)
        assert len(lines) == 2 and all(math.isfinite(float(one)) for line in lines for one in line.split(", "))
        assert all(len(line.split(", ")) <= MOST for line in lines)


def test_a_patch_that_changes_training_shows_its_curve_and_another_does_not() -> None:
    commit = "0" * 40
    for applicability, is_shown in (("unsafe", True), ("safe", False)):
        found = analysis(commit, ("train.py", TRAIN, REPAIRED), applicability=applicability, curves=PAIR)
        (proposal,) = proposals(found, partial=False, unsafe=True)
        assert ("```mermaid" in body(proposal, commit)) is is_shown


def test_a_browser_draws_two_lines(tmp_path: Path) -> None:
    if BROWSER is None or not MERMAID.exists():
        pytest.skip("needs chromium and mermaid: apt install chromium; npm install --prefix tests/forge")
    found = drawing(PAIR)
    assert found is not None
    code = found.markdown().partition("```mermaid\n")[2].partition("\n```")[0]
    page = tmp_path / "page.html"
    page.write_text(
        f"<div id=here></div><script src='{MERMAID.as_uri()}'></script><script>"
        "mermaid.initialize({startOnLoad: false});"
        f"mermaid.render('curve', {json.dumps(code)}).then(made => {{ document.getElementById('here').innerHTML = made.svg; }});"
        "</script>"
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=10000",
        "--dump-dom",
        page.as_uri(),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    lines = [path for path in re.findall("<path[^>]*>", shown) if path.count("L") == 2]
    assert [re.findall('stroke="([^"]*)"', path) for path in lines] == [["#8c959f"], ["#0969da"]]
