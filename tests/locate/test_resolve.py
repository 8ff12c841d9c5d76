"""Paths of somebody's machine."""

from __future__ import annotations

import pytest

from dnnfix.locate.resolve import Paths

PATHS = Paths(
    {1: "shop/loss.py", 2: "shop/data/loss.py", 3: "train.py", 4: "shop/data/__init__.py", 5: "shop/__init__.py"}
)


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("/opt/python/site-packages/shop/loss.py", [1]),
        ("/home/me/shop/data/loss.py", [2]),
        ("loss.py", [1, 2]),
        ("/home/me/other/loss.py", []),
        ("/home/me/project/train.py", [3]),
        ("/opt/python/site-packages/other/train.py", []),
        ("shop/unknown.py", []),
    ],
)
def test_a_path_is_matched_by_its_end(path: str, files: list[int]) -> None:
    assert PATHS.of(path) == files
