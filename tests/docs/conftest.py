"""The documentation site, built once."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.building import built, staged


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, as `make site` builds it."""
    for needed in ("material", "mkdocstrings", "mermaidx"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: pip install 'dnnfix[docs]'")
    into = tmp_path_factory.mktemp("site")
    for done in (staged(into), built(into)):
        assert done.returncode == 0, done.stdout + done.stderr
    return into / "html"
