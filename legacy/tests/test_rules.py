"""Every rule of the plug-in keeps what its metadata, examples and rejects promise, and is found by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dnnfix import index, registry
from dnnfix.examples import Example, Reject
from dnnfix.pipeline import old_world
from dnnfix.template import FixTemplate
from dnnfix.testing import Bench, check_example, check_metadata, check_reject

LISTED = [one for one in index.installed() if one.module.startswith("dnnfix_legacy.")]
TEMPLATES = [one.load() for one in LISTED]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def test_the_rules_take_part_in_the_catalogue() -> None:
    assert {one.code for one in LISTED} == old_world.CODES
    assert set(LISTED) <= set(registry.listed())
    assert registry.template("graph-and-session") is registry.template("DNF540")


def test_a_look_at_the_list_imports_no_rule(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom dnnfix import registry\nregistry.listed()\n"
        "print(sum(name.startswith(('dnnfix_legacy.rules.', 'dnnfix_legacy.graphs')) for name in sys.modules))"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    run = partial(
        subprocess.run, (sys.executable, "-c", program), env=environment, capture_output=True, text=True, check=True
    )
    assert [int(run().stdout) > 0 for _ in range(2)] == [True, False]  # the first makes the index


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.code)
def test_metadata(template: type[FixTemplate]) -> None:
    check_metadata(template)
    assert len({example.before for example in template.examples}) == len(template.examples)
    assert len(template.rejects) >= 2


@pytest.mark.parametrize(
    ("template", "example"),
    [pytest.param(t, e, id=f"{t.code} {e.name}") for t in TEMPLATES for e in t.examples],
)
def test_example(template: type[FixTemplate], example: Example, bench: Bench) -> None:
    check_example(template, example, bench)


@pytest.mark.parametrize(
    ("template", "reject"),
    [pytest.param(t, r, id=f"{t.code} {r.name}") for t in TEMPLATES for r in t.rejects],
)
def test_reject(template: type[FixTemplate], reject: Reject, bench: Bench) -> None:
    check_reject(template, reject, bench)
