"""Every template of the catalogue keeps what its metadata, examples and rejects promise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dnnfix import index
from dnnfix.examples import Example, Reject
from dnnfix.template import FixTemplate
from dnnfix.testing import Bench, check_example, check_metadata, check_reject

TEMPLATES = tuple(one.load() for one in index.builtin())


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.code)
def test_metadata(template: type[FixTemplate]) -> None:
    check_metadata(template)


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


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.code)
def test_examples_differ_and_not_one_program_alone_is_left_untouched(template: type[FixTemplate]) -> None:
    assert template.examples or template.finds  # of a rule without a fix
    assert len({example.before for example in template.examples}) == len(template.examples)
    assert len(template.rejects) >= 2
