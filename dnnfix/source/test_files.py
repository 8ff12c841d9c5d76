"""Which files of a repository are its tests."""

from __future__ import annotations

import re

_TEST = re.compile(r"(^|/)((tests?|testing)/|(tests|testing)\.py$|(test_[^/]*|[^/]*_tests?)(/|\.py$))")


def is_test(path: str) -> bool:
    """Whether a file, by its path from the root of the repository, is a test or lies among tests.

    `test.py` is none by its name: it is what evaluates a trained network.
    """
    return _TEST.search(path) is not None
