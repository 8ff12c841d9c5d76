"""TensorFlow 2 computes what TensorFlow 1 computed: with the graph kept, and with the program as functions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from graph_programs import LAYERS, PROGRAMS, candidates, printed
from tests.slow import slow_after

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow 2 is not installed")


@pytest.mark.parametrize("name", slow_after(2, PROGRAMS))
def test_both_forms_give_the_losses_of_version_1(name: str, baseline: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    wanted = printed(baseline, text, tmp_path)
    assert len(wanted) > 9
    for form in candidates(text):
        assert printed(sys.executable, form, tmp_path) == pytest.approx(wanted, rel=2e-4, abs=1e-5)


def test_a_kept_graph_with_layers_of_keras_gives_the_losses_of_version_1(baseline: str, tmp_path: Path) -> None:
    (graph,) = candidates(LAYERS)
    assert "keras.layers.Conv2D" in graph and "contrib" not in graph
    wanted = printed(baseline, LAYERS, tmp_path)
    assert len(wanted) == 14
    assert printed(sys.executable, graph, tmp_path) == pytest.approx(wanted, rel=2e-4, abs=1e-5)
