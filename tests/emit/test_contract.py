"""Every emitted document follows the published schema, and the schema is strict."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.emit import contract
from dnnfix.emit.view import View, plain
from dnnfix.records import FileReport, Report

VALIDATOR = jsonschema.Draft202012Validator(contract.schema())


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(contract.schema())


def test_document_follows_schema(report: Report, views: dict[str, View]) -> None:
    document = json.loads(contract.text(report, views))
    VALIDATOR.validate(document)
    assert set(document) == {"schema", "tool", "findings", "patches", "runs", "through", "models", "unchecked"}
    assert document["schema"] == "dnnfix/1"
    assert document["tool"]["sandbox"] == "bubblewrap"
    assert [f["outcome"] for f in document["findings"]] == ["repaired", "rejected", "declined", "failed", "declined"]


def test_a_partial_patch_names_what_remains(partial: FileReport, views: dict[str, View]) -> None:
    document: Any = json.loads(contract.text(Report((partial,)), views))
    VALIDATOR.validate(document)
    assert (document["findings"][0]["outcome"], document["patches"][0]["verdict"]) == ("partial", "partial")
    assert document["findings"][0]["reason"] == "removes this fault; the program then stops at line 3: KeyError: 'd'"
    breaks: list[dict[str, Any]] = [{"verdicts": []}, {"certificate": "/tmp/certificate.json"}]
    for broken in breaks:
        assert not VALIDATOR.is_valid({**document, "patches": [{**document["patches"][0], **broken}]})
    assert not VALIDATOR.is_valid({**document, "findings": [{**document["findings"][0], "patches": []}]})


def test_a_module_names_the_program_that_was_run_for_it() -> None:
    program = FileReport("train.py", unchecked=("code that was not reached",))
    document: Any = contract.document(Report((FileReport("net.py", through="train.py"), program)), {})
    VALIDATOR.validate(document)
    assert document["through"] == [{"module": "net.py", "program": "train.py"}]
    assert document["unchecked"] == ["code that was not reached"]


def test_empty_report_follows_schema() -> None:
    document = contract.document(Report(), {})
    VALIDATOR.validate(document)
    version = document["tool"]["version"]  # type: ignore[index, call-overload]
    assert document["tool"] == {"version": version, "sandbox": None, "devices": []}


def test_ids_are_unique_and_meet(report: Report, views: dict[str, View]) -> None:
    document: Any = contract.document(report, views)
    findings = [f["id"] for f in document["findings"]]
    patches = [p["id"] for p in document["patches"]]
    assert len(set(findings)) == len(findings) and len(set(patches)) == len(patches)
    assert {id for f in document["findings"] for id in f["patches"]} <= set(patches)
    assert {id for p in document["patches"] for id in p["findings"]} <= set(findings)
    assert document["patches"][0]["findings"] == [findings[0]]


def test_notebook_places_count_in_the_cell(report: Report, views: dict[str, View]) -> None:
    found: Any = contract.document(report, views)
    assert {k: found["findings"][-1][k] for k in ("path", "cell", "line", "end_line")} == {
        "path": "my notebook.ipynb",
        "cell": "c-2",
        "line": 2,
        "end_line": 3,
    }
    assert found["findings"][0]["cell"] is None


def test_values_that_json_lacks_are_words(report: Report, views: dict[str, View]) -> None:
    found: Any = contract.document(report, views)
    evidence = found["findings"][0]["evidence"]
    assert evidence == {"row_sums": [1.0, "nan"], "high": "inf", "shape": [3, None], "name": "a?b"}


def test_unchecked_names_common_things_once_and_errors_last(report: Report, views: dict[str, View]) -> None:
    found: Any = contract.document(report, views)
    assert found["unchecked"] == [
        "training beyond 20 steps",
        "my notebook.ipynb: code not reached",
        "3 files that name no framework",
        "missing.py: no such file",
    ]


def test_weakest_tier_is_named(repaired: FileReport) -> None:
    from dataclasses import replace

    weaker = replace(repaired, path="b.py", sandbox="limits")
    assert contract.sandbox(Report((repaired, weaker))) == "limits"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), "dnnfix/2"),
        (("extra",), 1),
        (("findings", 0, "line"), 0),
        (("findings", 0, "outcome"), "fixed"),
        (("findings", 0, "patches"), []),
        (("findings", 0, "surprise"), 1),
        (("findings", 0, "confidence"), 1.5),
        (("patches", 0, "diff"), ""),
        (("patches", 0, "verdict"), "plausible"),
        (("patches", 0, "verdicts", 0, "status"), "inconclusive"),
        (("runs", 0, "outcome"), "fine"),
        (("tool", "sandbox"), "docker"),
    ],
)
def test_schema_refuses(report: Report, views: dict[str, View], place: tuple[Any, ...], value: object) -> None:
    document: Any = copy.deepcopy(json.loads(contract.text(report, views)))
    *path, last = place
    target = document
    for step in path:
        target = target[step]
    target[last] = value
    assert not VALIDATOR.is_valid(document)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_any_value_can_be_written(value: Any) -> None:
    text = json.dumps(plain(value), allow_nan=False)
    json.loads(text)
    text.encode("ascii")
