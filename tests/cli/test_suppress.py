"""Comments, ignores by path and the baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.errors import ConfigError
from dnnfix.records import Family, Finding, Site
from dnnfix.suppress import BaselineWriter, Split, path_matches, split

CODES = {"DNF302", "DNF401"}


def finding(line: int, code: str = "DNF302", end: int | None = None, path: str = "") -> Finding:
    return Finding(code, f"rule-{code.lower()}", Family.LOSS_ACTIVATION, Site(line, 1, end or line, 2, path), "m")


def parted(text: str, *findings: Finding, settings: Settings | None = None, path: str = "a.py") -> Split:
    return split(findings, text, path, settings or Settings(), CODES)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: DNF302",
        "#noqa:DNF302",
        "# NOQA : dnf302",
        "# noqa: E501,DNF302",
        "# noqa: E501 DNF3",
        "# why # noqa",
    ],
)
def test_silenced(comment: str) -> None:
    result = parted(f"x = 1  {comment}\n", finding(1))
    assert result.suppressed and not result.kept and not result.unused


@pytest.mark.parametrize("comment", ["# noqa: DNF401", "# noqa: E501", "# noqa-ish", "# noqax", "'# noqa'"])
def test_not_silenced(comment: str) -> None:
    assert parted(f"x = 1  {comment}\n", finding(1), finding(1, "DNF401")).kept[0] == finding(1)


def test_either_end_of_a_long_site() -> None:
    text = "f(  # noqa: DNF302\n 1,\n)\ng(\n 1,\n)  # noqa\nh(\n 1,  # noqa\n)\n"
    result = parted(text, finding(1, end=3), finding(4, end=6), finding(7, end=9))
    assert [f.site.line for f in result.kept] == [7]


def test_whole_file() -> None:
    assert not parted("# dnnfix: noqa\nx\ny\n", finding(2), finding(3)).kept
    some = parted("# dnnfix: noqa: DNF302\nx\ny\n", finding(2), finding(3, "DNF401"))
    assert [f.code for f in some.kept] == ["DNF401"]


def test_comments_of_this_file_say_nothing_of_another() -> None:
    assert parted("x # noqa\n", finding(1, path="model.py")).kept


def test_text_that_cannot_be_tokenized() -> None:
    assert parted("x = '''  # noqa: DNF302\n", finding(1)).suppressed


def test_unused_is_reported_only_when_it_was_looked_for() -> None:
    text = "a # noqa: DNF302\nb # noqa: DNF999\nc # noqa\nd # noqa: E501\n# dnnfix: noqa: DNF401\n"
    results = parted(text).unused
    assert [(r.finding.code, r.finding.site.line) for r in results] == [("DNF900", 1), ("DNF900", 5)]
    assert results[0].finding.site.column == 3
    assert not parted(text, settings=Settings(ignore=("DNF900",))).unused
    assert not parted(text, finding(1), finding(2, "DNF401")).unused


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("a.py", "a.py", True),
        ("a.py", "deep/down/a.py", True),
        ("deep", "deep/down/a.py", True),
        ("deep/", "deep/down/a.py", True),
        ("deep/down", "deep/down/a.py", True),
        ("down/a.py", "deep/down/a.py", False),
        ("**/a.py", "deep/down/a.py", True),
        ("deep/*.py", "deep/a.py", True),
        ("./deep/*", "deep/a.py", True),
        ("*.ipynb", "a.py", False),
        ("a", "ab.py", False),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, path: str, meant: bool) -> None:
    assert path_matches(str(tmp_path / path), pattern, tmp_path) is meant


def test_ignored_by_path() -> None:
    settings = Settings(per_file_ignores=(("tests/*", ("DNF3",)),))
    assert not parted("x\n", finding(1), settings=settings, path="tests/a.py").kept
    assert parted("x\n", finding(1), settings=settings, path="src/a.py").kept


def test_baseline_goes_by_count_and_words_not_by_line(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    writer = BaselineWriter(known)
    path = str(tmp_path / "a.py")
    writer.add(path, [finding(1), finding(2)], "loss(a)\nloss(a)\nloss(b)\n")
    known.write_text(writer.text())
    assert writer.count == 2
    settings = Settings(baseline=known)
    moved = "\n\n    loss( a)\n"
    assert parted("\n  loss(a)\n", finding(2), settings=settings, path=path).suppressed
    assert parted(moved, finding(3), settings=settings, path=path).kept, "other words"
    three = parted("loss(a)\nloss(a)\nloss(a)\n", finding(1), finding(2), finding(3), settings=settings, path=path)
    assert [f.site.line for f in three.kept] == [3], "one more than was known"
    assert parted("loss(a)\n", finding(1, "DNF401"), settings=settings, path=path).kept, "another rule"
    assert parted("loss(a)\n", finding(1), settings=settings, path=str(tmp_path / "b.py")).kept, "another file"


def test_baseline_text_does_not_depend_on_order(tmp_path: Path) -> None:
    one, two = BaselineWriter(tmp_path / "b"), BaselineWriter(tmp_path / "b")
    files = [("a.py", [finding(1), finding(2)]), ("b.py", [finding(1)])]
    for path, found in files:
        one.add(path, found, "x\ny\n")
    for path, found in reversed(files):
        two.add(path, list(reversed(found)), "x\ny\n")
    assert one.text() == two.text()


@pytest.mark.parametrize(
    "text", [None, "", "[]", '{"schema": "other/1", "files": {}}', '{"schema": "dnnfix-baseline/1"}']
)
def test_what_is_no_baseline(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "b.json").write_text(text)
    with pytest.raises(ConfigError, match="baseline"):
        parted("x\n", finding(1), settings=replace(Settings(), baseline=tmp_path / "b.json"))
