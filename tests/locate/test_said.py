"""What a report says that points at a place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix.locate.said import LONGEST, Frame, said


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ('  File "/opt/lib/site-packages/shop/loss.py", line 7, in focal_loss', Frame("/opt/lib/site-packages/shop/loss.py", 7, "focal_loss")),
        ("/opt/shop/loss.py in focal_loss(scores, target)", Frame("/opt/shop/loss.py", 0, "focal_loss")),
        ("File ~/shop/loss.py:7, in focal_loss(scores, target)", Frame("~/shop/loss.py", 7, "focal_loss")),
        ("shop/loss.py:7: in focal_loss", Frame("shop/loss.py", 7, "focal_loss")),
        ("shop/loss.py:7: ValueError", Frame("shop/loss.py", 7, "")),
        ("> /opt/shop/loss.py(7)focal_loss()", Frame("/opt/shop/loss.py", 7, "focal_loss")),
        ('  File "C:\\shop\\loss.py", line 7, in <module>', Frame("C:/shop/loss.py", 7, "<module>")),
    ],
)  # fmt: skip
def test_frames_of_every_kind_are_read(line: str, frame: Frame) -> None:
    assert said(f"# Crash\n\n```\n{line}\n```\n").frames == (frame,)


def test_a_link_to_lines_is_no_frame() -> None:
    report = said("# Crash\n\nSee https://github.com/a/shop/blob/main/shop/loss.py#L7-L9.\n")
    assert report.links == (Frame("shop/loss.py", 7, ""),) and report.frames == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "See line 7 of shop/loss.py.",
        "In `shop/loss.py`, line 7, it is wrong.",
        "Lines 7 and 8 in shop/loss.py are odd.",
        "shop/loss.py at line 7",
    ],
)
def test_lines_that_sentences_name_are_read(sentence: str) -> None:
    assert said(f"# Wrong\n\n{sentence}\n").told == (Frame("shop/loss.py", 7, ""),)


def test_a_file_name_may_have_parentheses() -> None:
    report = said(
        "# Wrong\n\n(https://github.com/a/b/blob/main/1-1.Net(Greedy)/Net-Torch.py#L9)\n(see Net(Greedy)-Torch.py, line 9)\n"
    )
    assert report.links == (Frame("1-1.Net(Greedy)/Net-Torch.py", 9, ""),)
    assert report.told == (Frame("Net(Greedy)-Torch.py", 9, ""),)


def test_names_and_the_message_are_found() -> None:
    report = said(
        "# `focal_loss` refuses masks\n\nI use num_workers and DataLoader.\n\n"
        "```python\nfrom shop.loss import focal_loss, dice_loss as d\nfocal_loss(a, b)\n```\n\n"
        "    ValueError: scores and target must have the same shape, got 3\n"
    )
    assert report.title == "`focal_loss` refuses masks"
    assert {"focal_loss", "num_workers", "DataLoader"} <= report.marked
    assert {"shop.loss", "shop.loss.focal_loss", "shop.loss.dice_loss"} <= set(report.dotted)
    assert (report.error, report.message) == ("ValueError", "scores and target must have the same shape, got 3")
    assert "focal_loss" in report.called


def test_of_a_long_report_the_beginning_and_the_end_are_read() -> None:
    report = said("# First\n" + "log line\n" * LONGEST + "\nlast_words here\n")
    assert report.title == "First" and "last_words" in report.whole and len(report.whole) < 3 * LONGEST


@given(st.text(max_size=300))
def test_any_text_is_a_report(text: str) -> None:
    said(text)
