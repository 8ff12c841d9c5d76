"""The index against the tables of the study (Islam et al., ICSE 2020)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dnnfix.bench.cases import case_ids, read_case
from dnnfix.bench.instances import Half, Instance, Library, Origin, find_benchmark, read_index
from dnnfix.bench.originals.addresses import read_address
from dnnfix.bench.selection import read_selection
from dnnfix.bench.spread import cells, stratified
from dnnfix.errors import InputError
from dnnfix.records import FixPattern

ROOT = Path(__file__).parents[2]

TABLE_1 = {
    "caffe": (27, 17),
    "keras": (143, 167),
    "tensorflow": (118, 90),
    "theano": (15, 32),
    "torch": (17, 41),
}
"""Fixes on Stack Overflow and on GitHub."""

COLUMNS = [(library, source) for library in Library for source in (Origin.STACK_OVERFLOW, Origin.GITHUB)]
TABLE_3 = {
    "loss-function": (14.8, 0.0, 6.3, 1.2, 5.0, 7.8, 20.0, 6.25, 5.9, 4.9),
    "neural-connection": (14.8, 11.8, 18.9, 10.2, 21.8, 13.3, 0.0, 21.9, 0.0, 26.8),
    "add-layer": (11.1, 11.8, 5.6, 9.6, 2.5, 1.1, 0.0, 0.0, 5.9, 2.44),
    "layer-dimension": (0.0, 0.0, 7.0, 26.3, 13.4, 3.3, 13.3, 9.4, 11.8, 9.8),
    "data-dimension": (22.2, 0.0, 22.4, 9.6, 11.8, 2.2, 20.0, 15.6, 23.5, 7.3),
    "accuracy-metric": (0.0, 0.0, 1.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "data-type": (3.7, 29.4, 7.7, 13.8, 19.3, 10.0, 20.0, 6.2, 29.4, 14.6),
    "activation": (7.4, 0.0, 3.5, 3.6, 0.8, 0.0, 6.7, 12.5, 0.0, 2.4),
    "iterations": (7.4, 5.9, 4.9, 3.6, 5.9, 4.4, 0.0, 9.4, 5.9, 2.4),
    "versioning": (0.0, 0.0, 6.3, 9.0, 10.1, 51.1, 13.3, 0.0, 5.9, 0.0),
    "api-contract": (3.7, 0.0, 2.1, 1.2, 3.7, 1.1, 0.0, 3.1, 0.0, 0.0),
    "data-wrangling": (0.0, 35.3, 4.2, 2.4, 1.7, 1.1, 0.0, 6.2, 0.0, 19.5),
    "monitor": (11.1, 5.9, 2.8, 1.2, 1.7, 4.4, 0.0, 0.0, 0.0, 4.9),
    "optimizer": (0.0, 0.0, 1.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.4),
    "change-neural-architecture": (3.7, 0.0, 5.6, 8.4, 2.5, 0.0, 6.7, 9.4, 11.8, 2.4),
}
"""Percent of the fixes of a library and source, in the order of `COLUMNS`."""

LABELS_DIFFER = {
    ("loss-function", "caffe", "stack-overflow"): -1,
    ("layer-dimension", "caffe", "stack-overflow"): +1,
    ("data-type", "keras", "stack-overflow"): +1,
    ("versioning", "keras", "stack-overflow"): -1,
    ("loss-function", "tensorflow", "stack-overflow"): -1,
    ("versioning", "tensorflow", "stack-overflow"): -2,
    ("api-contract", "tensorflow", "stack-overflow"): +2,
    ("loss-function", "theano", "stack-overflow"): -1,
    ("data-dimension", "theano", "stack-overflow"): +1,
    ("data-type", "theano", "stack-overflow"): +1,
    ("versioning", "theano", "stack-overflow"): -1,
}
"""Where the labels that the authors published have more or fewer instances than their table says."""


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    return list(read_index(ROOT / "benchmark_667").values())


def test_there_are_667_as_in_table_1(instances: list[Instance]) -> None:
    assert len(instances) == 667
    for library, (asked, committed) in TABLE_1.items():
        found = Counter(i.source for i in instances if i.library == library)
        assert (found[Origin.STACK_OVERFLOW], found[Origin.GITHUB]) == (asked, committed), library


@pytest.mark.parametrize("pattern", list(FixPattern))
def test_patterns_are_spread_as_in_table_3(instances: list[Instance], pattern: FixPattern) -> None:
    sizes = Counter((i.library, i.source) for i in instances)
    found = Counter((i.library, i.source) for i in instances if i.fix_pattern is pattern)
    for column, percent in zip(COLUMNS, TABLE_3[pattern], strict=True):
        told = round(percent / 100 * sizes[column])
        assert abs(100 * told / sizes[column] - percent) < 0.5, f"{pattern} {column}: no number of fixes is {percent} %"
        assert found[column] - told == LABELS_DIFFER.get((pattern, *column), 0), (pattern, column)


def test_every_address_names_a_question_or_a_commit(instances: list[Instance]) -> None:
    for instance in instances:
        read_address(instance.url)


def test_a_stratified_sample_has_every_cell_and_its_share(instances: list[Instance]) -> None:
    whole = cells(instances)
    sample = stratified(whole, 200)
    assert sum(sample.values()) == 200 and sample.keys() == whole.keys() and min(sample.values()) == 1
    for cell, count in whole.items():
        assert sample[cell] <= count
        assert abs(sample[cell] - count * 200 / 667) <= 2
    with pytest.raises(ValueError, match="64 to 667"):
        stratified(whole, 10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,source\nso-1,github\n", "index.csv:1: the columns have to be"),
        (
            "{head}\nso-1,stack-overflow,u,keras,no-pattern,api,x\n",
            "index.csv:2: 'no-pattern' is not a valid FixPattern",
        ),
        ("{head}\nso-1,stack-overflow,u,keras,activation,api\n", "index.csv:2: 7 columns are needed"),
        (
            "{head}\nso-1,stack-overflow,u,keras,activation,api,x\nso-1,stack-overflow,u,keras,activation,api,x\n",
            "twice",
        ),
        ("{head}\n../x,stack-overflow,u,keras,activation,api,x\n", "is no id"),
    ],
)
def test_a_malformed_index_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    head = "id,source,url,library,fix_pattern,bug_type,statement_change"
    (tmp_path / "index.csv").write_text(text.replace("{head}", head))
    with pytest.raises(InputError, match=said):
        read_index(tmp_path)


def test_the_benchmark_is_found_from_below_it(benchmark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(benchmark / "cases" / "so-1")
    assert find_benchmark() == benchmark
    with pytest.raises(InputError, match=r"no benchmark is here \(index.csv is missing\)"):
        find_benchmark(benchmark / "cases")


def test_words_of_one_kind_are_alternatives_and_kinds_have_to_fit(benchmark: Path) -> None:
    index = read_index(benchmark)

    def ids(*words: str) -> set[str]:
        selection = read_selection(words, index)
        return {id for id, instance in index.items() if selection.may_take(instance)}

    assert ids() == set(index)
    assert ids("torch", "theano") == {"so-1", "gh-someone-nets-abc1234", "gh-nobody-else-7654321"}
    assert ids("torch", "github") == {"gh-someone-nets-abc1234"}
    assert ids("so-1", "keras") == set()
    assert ids("open") | ids("held-out") == ids() and not ids("open") & ids("held-out")
    with pytest.raises(InputError, match="'tourch'. Did you mean torch"):
        read_selection(["tourch"], index)


def test_words_of_a_case_choose_those_that_have_one(benchmark: Path) -> None:
    index = read_index(benchmark)

    def ids(*words: str) -> set[str]:
        selection = read_selection(words, index)
        cases = {id: read_case(benchmark, index, id) for id in case_ids(benchmark)}
        return {id for id, instance in index.items() if selection.takes(instance, cases.get(id))}

    assert ids() == set(index)
    assert ids("crash") == {"so-1"} and ids("crash", "keras") == set()
    assert ids("crash", "not-learning") == {"so-1", "so-2"} == ids("label", "stack-overflow")
    assert ids("described") == set()
    with pytest.raises(InputError, match="'none-observed'"):
        read_selection(["none-observed"], index)


def test_the_held_out_half_is_drawn_once_and_for_all() -> None:
    halves = {id: instance.half for id, instance in read_index(find_benchmark()).items()}
    assert list(halves.values()).count(Half.HELD_OUT) == 325
    assert halves["so-37213388"] is Half.HELD_OUT
