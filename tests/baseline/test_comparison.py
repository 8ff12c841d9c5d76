"""Old programs in the old environment against new ones in the new: the same, or not, and told why."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.records import RunOutcome, Status, Trace
from dnnfix.run.job import Budget, Job, Recorder
from dnnfix.run.runner import Runner
from tests.baseline.conftest import Compare
from tests.baseline.programs import BRANCHED, GENERATED, NEW_GENERATED, NEW_RECURRENT, RECURRENT

NOT_THE_SAME = {
    "another activation of the gates": (
        RECURRENT,
        NEW_RECURRENT.replace("LSTM(16,", "LSTM(16, recurrent_activation='hard_sigmoid',"),
        Status.FAIL,
        "the outputs differ",
    ),
    "another start of the biases": (
        RECURRENT,
        NEW_RECURRENT.replace("LSTM(16,", "LSTM(16, unit_forget_bias=False,"),
        Status.FAIL,
        "started at 0.25",
    ),
    "another size": (RECURRENT, NEW_RECURRENT.replace("LSTM(16", "LSTM(15"), Status.FAIL, "parameters, had"),
    "another number of classes": (
        RECURRENT,
        NEW_RECURRENT.replace("Dense(1)", "Dense(2)").replace("labels,", "np.eye(2)[labels.astype(int)],"),
        Status.FAIL,
        "parameters, had",
    ),
    "another loss": (
        RECURRENT,
        NEW_RECURRENT.replace("'binary_crossentropy'", "'mse'"),
        Status.FAIL,
        "the loss is",
    ),
    "other bias of the gates": (
        GENERATED,
        NEW_GENERATED.replace(" reset_after=False,", ""),
        Status.INCONCLUSIVE,
        "the weights lie differently",
    ),
    "a decay that is lost": (
        GENERATED,
        NEW_GENERATED.replace("schedules.InverseTimeDecay(0.01, 1, 1e-3)", "0.01"),
        Status.FAIL,
        "learning rate 0.01, after 1000 steps, had 0.005",
    ),
    "a program that stops": (GENERATED, "import keras\nraise KeyError('x')\n", Status.INCONCLUSIVE, "KeyError"),
}


@pytest.mark.parametrize(
    ("old", "new"),
    [(RECURRENT, NEW_RECURRENT), (GENERATED, NEW_GENERATED), (BRANCHED, BRANCHED)],
    ids=["recurrent", "generator", "branched"],
)
def test_a_right_migration_shows_the_same_numbers(compare: Compare, old: str, new: str) -> None:
    verdict = compare(old, new)
    assert verdict.status is Status.PASS, verdict.reason
    outputs, losses = verdict.measured["outputs"], verdict.measured["losses"]
    assert isinstance(outputs, float) and outputs < 2e-6
    assert isinstance(losses, float) and losses < 2e-6
    assert verdict.measured["same_data"] is True
    assert "Python 3." in verdict.reason and "keras 2." in verdict.reason


@pytest.mark.parametrize("name", NOT_THE_SAME)
def test_what_differs_is_refused_with_its_numbers(compare: Compare, name: str) -> None:
    old, new, status, words = NOT_THE_SAME[name]
    verdict = compare(old, new)
    assert verdict.status is status, verdict.reason
    assert words in verdict.reason


def test_a_program_that_crashes_in_its_own_era_is_not_compared(compare: Compare) -> None:
    verdict = compare("import keras\nimport a_module_of_nobody\n", NEW_RECURRENT)
    assert verdict.status is Status.NOT_APPLICABLE
    assert "crashes there (ModuleNotFoundError" in verdict.reason and "line 2" in verdict.reason


def test_chance_in_the_network_is_told_from_a_difference(compare: Compare) -> None:
    old = """
import numpy as np
from keras import backend as K
from keras.models import Sequential
from keras.layers import Dense, Lambda
np.random.seed(0)
x = np.random.rand(40, 5)
model = Sequential([Dense(8, input_dim=5), Lambda(lambda t: t + K.random_normal(K.shape(t))), Dense(1)])
model.compile('sgd', 'mse')
model.fit(x, x.sum(axis=1), verbose=0)
"""
    new = old.replace("K.random_normal(K.shape(t))", "keras.random.normal(keras.ops.shape(t))")
    verdict = compare(old, new.replace("from keras import backend as K", "import keras"))
    assert verdict.status is Status.INCONCLUSIVE
    assert "random" in verdict.reason


HOSTILE = """
import os, socket
def tried(what, attempt):
    try:
        attempt()
        print(what, 'worked')
    except Exception as error:
        print(what, 'failed')
tried('network', lambda: socket.create_connection(('192.0.2.1', 9), timeout=2))
tried('home', lambda: os.listdir('/root') and open('/root/.bashrc').read())
tried('outside', lambda: open({outside!r}).read())
tried('write', lambda: open({outside!r}, 'w').write('mine'))
tried('system', lambda: open('/usr/lib/mine', 'w').write('mine'))
"""


def test_a_hostile_old_program_is_kept_from_the_machine(compare: Compare, traces: list[Trace], tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    verdict = compare(HOSTILE.format(outside=str(outside)), NEW_RECURRENT)
    assert verdict.status is Status.NOT_APPLICABLE
    said = traces[-1].printed.split("\n")
    assert [line for line in said if line] == [f"{w} failed" for w in ("network", "home", "outside", "write", "system")]
    assert outside.read_text() == "secret"


def test_an_old_program_that_does_not_end_is_ended(runner: Runner, baseline: str) -> None:
    program = b"import keras\nwhile True:\n    pass\n"
    budget = Budget(seconds=3.0, processes=512)
    trace = runner.run(Job("program.py", program, budget=budget, recorder=Recorder(baseline)))
    assert trace.outcome is RunOutcome.TIMEOUT
