"""Programs of this repository, run as `make` runs them."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.docs.blocks import ROOT


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """A call of Python that finds this repository."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run((sys.executable, *words), check=False, env=environment, capture_output=True, text=True)
