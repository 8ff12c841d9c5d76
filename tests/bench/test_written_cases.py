"""The cases of the benchmark itself, as far as they can be judged without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.bench.cases import case_ids, read_case
from dnnfix.bench.instances import read_index
from dnnfix.bench.ledger import counts, read_ledger
from dnnfix.bench.verify import form_problems

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmark_667"
INDEX = read_index(BENCHMARK)


@pytest.mark.parametrize("id", case_ids(BENCHMARK))
def test_a_case_is_well_formed(id: str) -> None:
    assert list(form_problems(read_case(BENCHMARK, INDEX, id))) == []


def test_what_counts_as_proven_is_there_as_it_was_proven() -> None:
    ledger = read_ledger(BENCHMARK)
    assert [id for id in ledger if not counts(read_case(BENCHMARK, INDEX, id), ledger)] == []
