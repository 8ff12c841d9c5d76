"""The estimated number of tokens: about right for code and prose, and never far below what a text can be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.proposer.tokens import tokens

QUIET = settings(deadline=None, derandomize=True)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("hello world", 2, 4),
        ("import torch\nfrom torch import nn\n", 8, 14),
        ("model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))", 20, 34),
        ("3.14159265358979", 5, 16),  # some vocabularies split each digit
        ("\u5b57" * 70, 30, 140),
        ("    " * 20, 1, 20),
    ],
)
def test_common_texts_are_estimated_as_vocabularies_count_them(text: str, least: int, most: int) -> None:
    assert least <= tokens(text) <= most


@given(st.text(), st.text())
@QUIET
def test_more_text_is_no_fewer_tokens(first: str, second: str) -> None:
    assert tokens(first + second) + 1 >= max(tokens(first), tokens(second))


@given(st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd", "Po", "Sm"]), min_size=1))
@QUIET
def test_text_costs_at_least_a_token_for_some_bytes(text: str) -> None:
    assert len(text.encode()) / 8 <= tokens(text) <= len(text)
