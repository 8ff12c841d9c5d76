"""The skill of a step is the same number with torch at hand and without it."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.observing import PROBE

RNG = np.random.default_rng(0)
Pair = tuple[Any, Any]


@pytest.fixture(scope="module")
def skill() -> Iterator[Any]:
    """The probe's module, in a package of its own as in the user's interpreter."""
    package = types.ModuleType("probe_by_itself")
    package.__path__ = [str(PROBE)]
    sys.modules["probe_by_itself"] = package
    yield importlib.import_module("probe_by_itself.keras.skill")
    for name in [name for name in sys.modules if name.startswith("probe_by_itself")]:
        del sys.modules[name]


def one_hot(count: int) -> Any:
    return np.eye(4)[RNG.integers(4, size=count)]


@pytest.mark.parametrize("rows", [1, 20, 64])
@pytest.mark.parametrize(
    ("pair", "loss"),
    [
        (lambda n: (RNG.random((n, 4)), RNG.integers(4, size=n)), "SparseCategoricalCrossentropy"),
        (
            lambda n: (RNG.random((n, 4)), RNG.integers(4, size=(n, 1)).astype("float32")),
            "sparse_categorical_crossentropy",
        ),
        (lambda n: (RNG.random((n, 5, 4)), RNG.integers(4, size=(n, 5))), "sparse_categorical_crossentropy"),
        (lambda n: (RNG.random((n, 4)), one_hot(n)), "CategoricalCrossentropy"),
        (lambda n: (RNG.random((n, 4)), one_hot(n)), "mse"),
        (lambda n: (RNG.random((n, 1)), RNG.integers(2, size=n).astype("float32")), "BinaryCrossentropy"),
        (lambda n: (RNG.random((n, 1)), RNG.random(n)), "mse"),
        (lambda n: (RNG.random((n, 3)), RNG.random((n, 3))), "mae"),
        (lambda n: (RNG.random((n, 3)), RNG.random((n, 2))), "mae"),
    ],
)
def test_both_ways_give_one_number(skill: Any, pair: Callable[[int], Pair], loss: str, rows: int) -> None:
    importlib.import_module("torch")
    with_torch, without = skill.Measure(), skill.Measure()
    without._torch = None
    pairs = [(*pair(rows), loss, "model") for _ in range(12)]
    found = [value for value, _ in without.of_many(pairs)]
    assert found == [None if value is None else pytest.approx(value) for value, _ in with_torch.of_many(pairs)]
