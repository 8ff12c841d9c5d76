"""The steps by which `make site` builds the site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """A call of Python that finds this repository."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run((sys.executable, *words), check=False, env=environment, capture_output=True, text=True)


def staged(into: Path) -> subprocess.CompletedProcess[str]:
    """Write the pages and the navigation below the folder."""
    return python(str(ROOT / "tools" / "pages"), str(into))


def built(into: Path) -> subprocess.CompletedProcess[str]:
    """Build the site from what is below the folder, with warnings as errors."""
    return python("-m", "mkdocs", "build", "--strict", "-f", str(into / "mkdocs.yml"))
