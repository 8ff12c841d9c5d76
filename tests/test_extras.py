"""The extras of the package: pip finds versions for each within the constraints that the README installs with."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

_OWN = re.compile(r"dnnfix\[([\w,-]+)\]")


def requirements(of: Iterable[str]) -> Iterator[str]:
    """What an extra asks for, with that of the other extras that it names."""
    for one in of:
        own = _OWN.fullmatch(one)
        if own is None:
            yield one
        else:
            yield from (each for extra in own[1].split(",") for each in requirements(EXTRAS[extra]))


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_pip_finds_versions_for_an_extra(extra: str) -> None:
    wanted = {*PROJECT["dependencies"], *requirements(EXTRAS[extra])}
    own = {".", "./legacy"} if "dnnfix-legacy" in wanted else set()  # on no index
    asked = sorted(wanted - {"dnnfix-legacy"} | own)
    options = ["--dry-run", "--ignore-installed", "--quiet", "--constraint", "constraints.txt"]
    command = [sys.executable, "-m", "pip", "install", *options, *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    if re.search(r"Failed to establish|name resolution|Connection\w*Error|Could not fetch URL", done.stderr):
        pytest.skip("the index of packages cannot be reached")
    assert done.returncode == 0, done.stderr[-2000:]


def test_an_extra_has_what_the_extras_that_it_names_have() -> None:
    assert {*EXTRAS["server"]} <= {*requirements(EXTRAS["test"])}
