"""What a library has is weighed against what a program asked of it: names, and the arguments of calls."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from dnnfix.detect.crashes.interfaces import missing_name, refusal, takes, unknown_keywords
from dnnfix.fix_templates.data_type.unknown_argument import UnknownArgument
from dnnfix.fix_templates.data_type.unknown_attribute import UnknownAttribute
from dnnfix.records import CallParameter, Crash, Frame, Offer, Refusal, RunOutcome, Site, Trace
from dnnfix.run.trace import record
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.source.spelling import likeness
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose

PLACE, REST, KEYWORD, OTHERS = 1, 2, 3, 4


def parameters(*names: str, optional: tuple[str, ...] = (), others: bool = False) -> tuple[CallParameter, ...]:
    found = tuple(CallParameter(name, PLACE, name in optional) for name in names)
    return (*found, CallParameter("kwargs", OTHERS, False)) if others else found


def crashed(text: str, told: dict[str, Any], kind: str) -> Subject:
    source = Source.from_bytes(text.encode(), "program.py")
    refused = Refusal(**{**told, "site": Site(*told["site"]), "near": tuple(told["near"])})
    crash = Crash(kind, "", (Frame(Site(3, 1, 3, 2), "<module>"),), refusal=refused)
    return Subject(source, Trace(RunOutcome.CRASHED, crash=crash))


def repaired(template: Any, subject: Subject) -> list[str]:
    return [
        apply_edits(subject.source, candidate.edits).decode()
        for finding in template().detect(subject)
        for candidate in propose(finding, subject, template).candidates
    ]


@pytest.mark.parametrize(
    ("asked", "likelier", "less_likely"),
    [
        ("arg_max", "argmax", "argmin"),
        ("LayerNorm", "LayerNormalization", "GroupNormalization"),
        ("lesser_equal", "less_equal", "greater_equal"),
        ("matmult", "matmul", "multiply"),
        ("sum", "reduce_sum", "sparse_reduce_sum"),
        ("stride", "strides", "groups"),
        ("num_filters", "filters", "name"),
    ],
)
def test_which_name_is_likelier(asked: str, likelier: str, less_likely: str) -> None:
    assert likeness(asked, likelier) > likeness(asked, less_likely)
    assert likeness(asked, likelier) >= 0.6


def test_another_letter_in_a_short_word_makes_another_word() -> None:
    assert likeness("tostring_rgb", "tostring_argb") < 0.6
    assert likeness("load_wieghts", "load_weights") > 0.8


@pytest.mark.parametrize("pair", [("linear", "bilinear"), ("relu", "elu"), ("conv", "cross"), ("sin", "cos")])
def test_names_that_are_others(pair: tuple[str, str]) -> None:
    assert likeness(*pair) < 0.95


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        ("f(1)", True),
        ("f(1, 2)", True),
        ("f(1, b=2)", True),
        ("f()", False),
        ("f(1, 2, 3)", False),
        ("f(1, a=2)", False),
        ("f(1, c=2)", False),
        ("f(*x)", None),
        ("f(**x)", None),
    ],
)
def test_whether_a_call_is_taken(call: str, fits: bool | None) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert takes([CallParameter("a", PLACE, False), CallParameter("b", PLACE, True)], node) is fits


def test_of_names_that_are_alike_the_one_that_takes_the_call_is_meant() -> None:
    near = [
        Offer("reduce_sum", "", True, parameters("input_tensor", "axis", "keep_dims", optional=("axis", "keep_dims"))),
        Offer("segment_sum", "", True, parameters("data", "segment_ids")),
    ]
    told = {"site": [3, 5, 3, 11, ""], "name": "sum", "owner": "tensorflow", "kind": "module", "asked": "name"}
    text = "import tensorflow as tf\n\nx = tf.sum(y, axis=1)\n"
    subject = crashed(text, {**told, "parameters": None, "near": near}, "AttributeError")
    assert repaired(UnknownAttribute, subject) == [text.replace("tf.sum", "tf.reduce_sum")]


def test_two_names_that_are_equally_near_leave_the_program_alone() -> None:
    near = [Offer(name, "", True, parameters("num_features")) for name in ("BatchNorm1d", "BatchNorm2d")]
    told = {"site": [3, 5, 3, 17, ""], "name": "BatchNorm", "owner": "torch.nn", "kind": "module", "asked": "name"}
    subject = crashed(
        "from torch import nn\n\nx = nn.BatchNorm(3)\n", {**told, "parameters": None, "near": near}, "AttributeError"
    )
    assert repaired(UnknownAttribute, subject) == []


def test_an_argument_too_many_before_a_name() -> None:
    text = 'import tensorflow as tf\n\nx = tf.nn.relu(y, slope, "relu")\n'
    told = {"site": [3, 5, 3, 33, ""], "name": "relu", "owner": "tensorflow.nn", "kind": "module", "asked": "call"}
    known = parameters("features", "name", optional=("name",))
    subject = crashed(text, {**told, "parameters": known, "near": []}, "TypeError")
    assert repaired(UnknownArgument, subject) == [text.replace("y, slope, ", "y, ")]


def test_a_call_without_arguments_is_meant_for_the_function_that_takes_none() -> None:
    text = "import tensorflow.compat.v1 as tf\n\ntf.get_variable().reuse_variables()\n"
    told = {"site": [3, 1, 3, 18, ""], "name": "get_variable", "owner": "tensorflow", "kind": "module", "asked": "call"}
    near = [
        Offer("get_variable_scope", "", True, ()),
        Offer("Variable", "", True, parameters("value", optional=("value",))),
    ]
    known = parameters("name", "shape", optional=("shape",))
    subject = crashed(text, {**told, "parameters": known, "near": near}, "TypeError")
    assert repaired(UnknownArgument, subject) == [text.replace("get_variable()", "get_variable_scope()")]


def test_a_function_of_another_spelling_that_takes_the_call_comes_first() -> None:
    text = "import tensorflow as tf\n\nx = tf.arg_max(y, axis=1)\n"
    told = {"site": [3, 5, 3, 26, ""], "name": "arg_max", "owner": "tensorflow", "kind": "module", "asked": "call"}
    near = [Offer("argmax", "", True, parameters("input", "axis", optional=("axis",)))]
    known = parameters("input", "dimension")
    subject = crashed(text, {**told, "parameters": known, "near": near}, "TypeError")
    assert repaired(UnknownArgument, subject) == [
        text.replace("arg_max", "argmax"),
        text.replace("axis", "dimension"),
    ]


def test_of_a_function_that_takes_any_keyword_those_count_that_are_nearly_its_own() -> None:
    text = "import keras\n\nx = keras.layers.Dense(unit=3, name='a')\n"
    told = {"site": [3, 5, 3, 41, ""], "name": "Dense", "owner": "keras.layers", "kind": "module", "asked": "call"}
    known = parameters("units", "activation", optional=("activation",), others=True)
    subject = crashed(text, {**told, "parameters": known, "near": []}, "TypeError")
    asked = refusal(subject)
    call = subject.source.all_calls[0]
    assert asked is not None and unknown_keywords(asked, call, "") == ["unit"]
    assert repaired(UnknownArgument, subject) == [text.replace("unit=", "units=")]


@pytest.mark.parametrize("told", [[], {}, {"site": 3}, {"site": [1, 2, 3, 4, ""], "name": "x", "near": [1]}])
def test_what_is_not_of_the_form_is_refused(told: Any) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        record(Crash, {"kind": "AttributeError", "message": "", "refusal": told})


def test_a_crash_without_a_refusal() -> None:
    crash = record(Crash, {"kind": "AttributeError", "message": "", "refusal": None})
    source = Source.from_bytes(b"import torch\n", "program.py")
    assert refusal(Subject(source, Trace(RunOutcome.CRASHED, crash=crash))) is None


def test_a_name_without_offers() -> None:
    told = {"site": [3, 1, 3, 4, ""], "name": "x", "owner": "torch", "kind": "module", "asked": "name"}
    asked = refusal(crashed("import torch\n", {**told, "parameters": None, "near": []}, "AttributeError"))
    assert asked is not None and missing_name(asked, None) is None
