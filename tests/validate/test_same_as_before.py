"""The comparison with the old era over recordings written by hand: no interpreter is started here."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dnnfix.records import RunOutcome, Status, Trace, Verdict
from dnnfix.run.recording import NoRecording, RecordedLayer, Recording, read
from dnnfix.validate.certificate import Certificate, differences, unrepeated
from dnnfix.validate.same_as_before import LOSS_TOLERANCE, OUTPUT_TOLERANCE, compare

OLD = Recording(
    layers=(
        RecordedLayer("Dense", "dense_1", (None, 16), ((32, 16), (16,))),
        RecordedLayer("Dropout", "dropout_1", (None, 16), ()),
        RecordedLayer("GRU", "gru_1", (None, 4), ((16, 12), (4, 12), (12,))),
    ),
    starts=((0.0, 0.2), (0.0, 0.0), (0.0, 0.3), (0.0, 0.5), (0.0, 0.0)),
    outputs=(1.0, -2.0, 0.5),
    shapes=((1, 3),),
    losses=(0.7, 0.6, 0.5),
    method="fit",
    loss="mse",
    optimizer="Adam",
    numbers={"beta_1": 0.9, "epsilon": 1e-7},
    rates=(0.001, 0.001),
    versions={"python": "3.7.16", "keras": "2.3.1"},
)
NEW = replace(OLD, versions={"python": "3.11.7", "keras": "3.15.1"}, same_data=True)


def with_layers(*layers: RecordedLayer) -> Recording:
    return replace(NEW, layers=layers, outputs=(), losses=(), shapes=())


DENSE, DROPOUT, GRU = OLD.layers

REFUSED = {
    "outputs": (replace(NEW, outputs=(1.0, -2.0, 0.5 + 3 * OUTPUT_TOLERANCE)), "the outputs differ by 0.00015"),
    "output shape": (replace(NEW, shapes=((3, 1),)), "the shape (3, 1), had (1, 3)"),
    "first loss": (replace(NEW, losses=(0.71, 0.6, 0.5)), "the loss is 0.71, was 0.7"),
    "later loss": (replace(NEW, losses=(0.7, 0.6, 0.51)), "the loss of step 3"),
    "loss that overflows": (replace(NEW, losses=(math.inf, 0.6, 0.5)), "the loss is inf"),
    "learning rate": (replace(NEW, rates=(0.01, 0.01)), "Adam has the learning rate 0.01, had 0.001"),
    "schedule": (replace(NEW, rates=(0.001, 0.0005)), "after 1000 steps, had 0.001"),
    "optimizer": (replace(NEW, optimizer="SGD"), "it is trained by SGD, was by Adam"),
    "moment": (replace(NEW, numbers={"beta_1": 0.5}), "Adam has beta_1 0.5, had 0.9"),
    "accumulator": (replace(NEW, numbers={"initial_accumulator_value": 0.1}), "initial_accumulator_value 0.1, had 0"),
    "start of a bias": (
        replace(NEW, starts=(*OLD.starts[:1], (1.0, 0.0), *OLD.starts[2:])),
        "(16) of Dense starts at 1 with",
    ),
    "spread": (replace(NEW, starts=((0.0, 0.05), *OLD.starts[1:])), "(32, 16) of Dense starts with a spread of 0.05"),
    "random outputs": (replace(NEW, random_outputs=True), "two runs of the patched network"),
    "random loss": (replace(NEW, random_training=True), "is random, that of the old one is not"),
    "parameters": (
        with_layers(replace(DENSE, weights=((32, 8), (8,))), DROPOUT, GRU),
        "Dense (32, 8), (8) where Dense (32, 16), (16) was",
    ),
    "a layer less": (with_layers(DENSE), "nothing where GRU"),
}

OPEN: dict[str, tuple[Recording | NoRecording, str]] = {
    "reset_after": (
        with_layers(DENSE, DROPOUT, replace(GRU, weights=((16, 12), (4, 12), (2, 12)))),
        "the weights lie differently, and cannot be copied: GRU",
    ),
    "order": (with_layers(GRU, DROPOUT, DENSE), "the weights do not correspond"),
    "not finite": (replace(NEW, outputs=(1.0, math.nan, 0.5)), "not finite"),
    "no recording": (NoRecording("crashes there (KeyError)"), "it trains in Python 3.7.16 with keras 2.3.1"),
}

EQUAL = {
    "the same": NEW,
    "rounding": replace(NEW, outputs=(1.0 + 1e-6, -2.0, 0.5), losses=(0.7 * (1 + LOSS_TOLERANCE / 2), 0.6, 0.5)),
    "another epsilon": replace(NEW, numbers={"beta_1": 0.9, "epsilon": 1e-8}),
    "settings of its own": replace(NEW, numbers={"beta_1": 0.9, "ema_momentum": 0.99}),
    "a logarithm of nearly nothing": replace(
        NEW, losses=(0.7, 16.0, 0.5), loss="categorical_crossentropy", saturated=(False, True)
    ),
    "a decay that is not felt": replace(NEW, rates=(0.001, 0.001 / 1.001)),
    "no dropout layer": replace(NEW, layers=(DENSE, GRU)),
    "another case": replace(NEW, optimizer="ADAM"),
    "small weights of another spread": replace(NEW, starts=(*OLD.starts[:3], (0.0, 0.4), OLD.starts[4])),
}


def test_numbers_of_the_comparison_are_told() -> None:
    verdict = compare(OLD, NEW)
    assert verdict.status is Status.PASS
    assert verdict.reason.startswith("as in Python 3.7.16 with keras 2.3.1: 3 layers, 780 parameters, outputs within 0")
    assert verdict.measured["layers"] == {"before": 3, "after": 3}


@pytest.mark.parametrize("name", REFUSED)
def test_a_real_difference_fails(name: str) -> None:
    recording, words = REFUSED[name]
    verdict = compare(OLD, recording)
    assert verdict.status is Status.FAIL
    assert words in verdict.reason


@pytest.mark.parametrize("name", OPEN)
def test_what_cannot_be_compared_never_passes(name: str) -> None:
    recording, words = OPEN[name]
    verdict = compare(OLD, recording)
    assert verdict.status is Status.INCONCLUSIVE
    assert words in verdict.reason


@pytest.mark.parametrize("name", EQUAL)
def test_what_means_the_same_passes(name: str) -> None:
    assert compare(replace(OLD, loss=EQUAL[name].loss), EQUAL[name]).status is Status.PASS


def test_chance_in_both_leaves_the_rest_to_be_compared() -> None:
    old, new = replace(OLD, random_training=True), replace(NEW, random_training=True, losses=(9.0, 9.0, 9.0))
    assert compare(old, new).status is Status.PASS
    verdict = compare(replace(old, random_outputs=True), replace(new, random_outputs=True))
    assert verdict.status is Status.INCONCLUSIVE and "nothing to compare" in verdict.reason


def test_an_optimizer_of_tensorflow_1_in_its_wrapper_tells_nothing() -> None:
    old = replace(OLD, optimizer="TFOptimizer", rates=(), numbers={})
    assert compare(old, replace(NEW, rates=(1.0, 1.0))).status is Status.PASS


def test_outputs_that_are_all_zero_prove_nothing() -> None:
    verdict = compare(replace(OLD, outputs=(0.0, 0.0, 0.0)), replace(NEW, outputs=(0.0, 0.0, 0.0)))
    assert verdict.status is Status.INCONCLUSIVE and "all outputs are 0" in verdict.reason


def test_nothing_to_compare_with_is_no_verdict() -> None:
    verdict = compare(NoRecording("trains no Keras model there"), NEW)
    assert verdict.status is Status.NOT_APPLICABLE
    assert verdict.reason == "no comparison with the old environment: the program trains no Keras model there"


@pytest.mark.parametrize(
    "value",
    [17, [], {}, {"layers": 3}, {"layers": [{"kind": "Dense"}], "starts": []}, {"layers": [], "starts": [["a"]]}],
)
def test_a_recording_of_another_form_is_none(value: object) -> None:
    read_back = read(Trace(RunOutcome.FINISHED, probes={"recording": value}))  # type: ignore[dict-item]
    assert read_back == NoRecording("left a recording that cannot be read")


@pytest.mark.parametrize(
    ("outcome", "detail", "words"),
    [
        (RunOutcome.CRASHED, "KeyError: 'x' (line 3)", "crashes there (KeyError: 'x' (line 3))"),
        (RunOutcome.FINISHED, "", "trains no Keras model there"),
        (RunOutcome.FINISHED, "its data is Dataset", "could not be recorded there: its data is Dataset"),
        (RunOutcome.TIMEOUT, "20 s were over", "did not get as far as training there (timeout: 20 s were over)"),
    ],
)
def test_why_there_is_no_recording(outcome: RunOutcome, detail: str, words: str) -> None:
    assert read(Trace(outcome, detail=detail)) == NoRecording(words)


def test_a_proof_without_the_old_interpreter_says_what_it_left_out() -> None:
    certificate = Certificate("a.py", "", "", ("DNF502",), 0, "limits", {"runs": "pass", "same-as-before": "pass"})
    runs = Verdict("runs", "run", Status.PASS, "still runs")
    assert differences(certificate, (runs,)) == ()
    assert unrepeated(certificate, None, "cpu") == (
        "same-as-before: was pass; not repeated, which takes --baseline-python",
    )
    assert differences(certificate, (runs,), "python3.7") == ("same-as-before: was pass, is not reached any more",)
    assert unrepeated(certificate, "python3.7", "cpu") == ()
    never = replace(certificate, verdicts={"runs": "pass"})
    assert unrepeated(never, None, "cpu") == () == differences(never, (runs,))
    there = replace(never, device="cuda (Card)")
    assert unrepeated(there, None, "cpu") == ("proven on cuda (Card), run again on cpu",)
