"""Identifiers and text as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix.locate.words import LONGEST, parts, text_of, words


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("loss", ("loss",)),
        ("LoadImaged", ("loadimaged", "load", "imaged")),
        ("num_workers", ("numworkers", "num", "workers")),
        ("HTTPServer2", ("httpserver2", "http", "server", "2")),
        ("__init__", ("init",)),
        ("Conv2d", ("conv2d", "conv", "2d")),
        ("_", ()),
        ("x" * (LONGEST + 1), ()),
    ],
)
def test_an_identifier_is_split(identifier: str, expected: tuple[str, ...]) -> None:
    assert parts(identifier) == expected


@given(st.text(max_size=200))
def test_the_index_takes_the_words_in_their_order(text: str) -> None:
    assert text_of(text).split() == list(words(text))
