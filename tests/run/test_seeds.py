"""Seeding what a program draws from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import keras
from dnnfix.run.probe.program.seeds import plant

drawn = []
for seed in (3, 3, 4):
    plant(seed, ["torch", "keras"])
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    drawn.append((layer.kernel.numpy().tolist(), float(keras.random.normal(()))))
    keras.utils.clear_session()
assert drawn[0] == drawn[1] != drawn[2], drawn
assert "tensorflow" not in sys.modules
"""


@pytest.mark.slow
def test_keras_on_torch_is_seeded_without_importing_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('TensorFlow was imported')\n")
    places = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    environment = {**os.environ, "KERAS_BACKEND": "torch", "PYTHONPATH": places}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
