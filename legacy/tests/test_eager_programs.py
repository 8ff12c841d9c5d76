"""A TensorFlow 1 program rewritten as functions computes what its graph does, on the TensorFlow that is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from graph_programs import PROGRAMS, candidates, printed

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_functions_compute_what_the_graph_does(text: str, tmp_path: Path) -> None:
    functions, graph = candidates(text)
    assert "Session" not in functions and "disable_v2_behavior" in graph
    wanted = printed(sys.executable, graph, tmp_path)
    assert len(wanted) > 9 and len(set(wanted)) > 5
    assert printed(sys.executable, functions, tmp_path) == pytest.approx(wanted, rel=2e-4, abs=1e-5)
