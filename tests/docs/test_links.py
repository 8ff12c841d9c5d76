"""Links of files of the repository, on the pages of the site that include them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

PAGES = {"docs/runs.md": "runs.md", "benchmark_667/RESULTS.md": "benchmark/results.md", "CHANGELOG.md": "changelog.md"}


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools" / "pages"))
    links = import_module("links")
    monkeypatch.delitem(sys.modules, "links")
    return lambda text, source: links.rewritten(text, source, PAGES[source], PAGES, "https://forge/{}".format)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        pytest.param("docs/runs.md", "[r](../benchmark_667/RESULTS.md#a)", "[r](benchmark/results.md#a)", id="to a page"),
        pytest.param("benchmark_667/RESULTS.md", "[r](../docs/runs.md)", "[r](../runs.md)", id="out of a folder"),
        pytest.param("docs/runs.md", "[s](../dnnfix/cli/main.py)", "[s](https://forge/dnnfix/cli/main.py)", id="to no page"),
        pytest.param("docs/runs.md", "[w](https://x.org/a.md)", "[w](https://x.org/a.md)", id="to elsewhere"),
        pytest.param("docs/runs.md", "[h](#here)", "[h](#here)", id="within the page"),
        pytest.param("CHANGELOG.md", "see `docs/runs.md`", "see [`docs/runs.md`](runs.md)", id="a file that is only named"),
        pytest.param("docs/runs.md", "```\n[s](../CHANGELOG.md)\n```", "```\n[s](../CHANGELOG.md)\n```", id="code"),
    ],
)  # fmt: skip
def test_links(rewritten: Callable[[str, str], str], source: str, text: str, expected: str) -> None:
    assert rewritten(text, source) == expected
