"""Keras on TensorFlow, where that is installed: the same faults are found and repaired as on torch."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.config import load
from dnnfix.records import FileReport, PatchVerdict, RunOutcome
from dnnfix.run.job import Budget, Experiment, Job
from dnnfix.run.runner import Runner
from dnnfix.validate.symptoms import reference

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="tensorflow is not installed")

CRASH = """\
import numpy as np
import tensorflow as tf

x, y = np.random.rand(64, 8).astype("float32"), np.random.randint(0, 3, 64)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
model.fit(x, y, epochs=2, batch_size=16, verbose=0)
"""

LOOP = """\
import tensorflow as tf
from tensorflow.keras import layers, losses, optimizers

x, y = tf.random.normal((64, 4)), tf.random.uniform((64,), 0, 3, dtype=tf.int32)
model = tf.keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(3, activation="softmax")])
optimizer, loss_of = optimizers.SGD(0.1), losses.SparseCategoricalCrossentropy(from_logits=True)
for step in range(5):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""

HEALTHY = CRASH.replace('"categorical_crossentropy"', '"sparse_categorical_crossentropy"')


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    # TensorFlow cannot be forked once it is up: each run starts it anew, which takes seconds.
    settings = load(folder, {"budget": 180.0, "cache-dir": str(folder / "cache")}, isolated=True)
    return pipeline.suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


@pytest.mark.parametrize(("program", "code"), [(CRASH, "DNF306"), (LOOP, "DNF301")])
def test_a_fault_is_found_and_repaired(program: str, code: str, tmp_path: Path) -> None:
    report = suggested(program, tmp_path)
    assert code in {result.finding.code for result in report.findings}
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert any(patch.candidate.findings[0].code == code for patch in accepted)


def test_nothing_is_found_in_a_healthy_program(tmp_path: Path) -> None:
    report = suggested(HEALTHY, tmp_path)
    assert report.runs[0].outcome.value == "finished" and not report.findings


SESSION = """\
import numpy as np, tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
w, b = tf.Variable(tf.zeros([4, 1])), tf.Variable(tf.zeros([1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.arange(64, dtype="float32").reshape(16, 4) / 64
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(40):
        _, now = session.run([train, loss], {x: data, y: data.sum(1, keepdims=True)})
print(step, now)
"""

TAPE = """\
import numpy as np, tensorflow as tf

w, b = tf.Variable(tf.zeros([4, 1])), tf.Variable(tf.zeros([1]))
optimizer = tf.keras.optimizers.SGD(0.1)
data = np.arange(64, dtype="float32").reshape(16, 4) / 64


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    return loss


for step in range(40):
    now = train(data, data.sum(1, keepdims=True))
print(step, float(now))
"""


BY_NAME = SESSION.replace("minimize(loss)", "minimize(loss, name='train')").replace(
    "[train, loss]", "['train', loss.name]"
)
GROUPED = SESSION.replace("[train, loss]", "[both, loss]").replace(
    "data =", "with tf.control_dependencies([train]):\n    both = tf.group(tf.no_op(), name='both')\ndata =", 1
)


@pytest.mark.parametrize("program", [SESSION, TAPE, BY_NAME, GROUPED])
def test_steps_of_sessions_and_tapes_are_seen_and_held_to_the_budget(program: str) -> None:
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(Job("program.py", program.encode(), budget=Budget(steps=12, seconds=60)))
    losses = [step.loss for step in trace.steps]
    assert trace.outcome is RunOutcome.FINISHED and trace.cut
    assert len(losses) == 12 and losses[0] is not None and losses[-1] is not None and losses[-1] < losses[0] / 2
    assert trace.network is not None
    assert {parameter.shape: bool(parameter.update) for parameter in trace.network.parameters} == {
        (4, 1): True,
        (1,): True,
    }


def test_a_function_that_states_its_types_converts_to_them() -> None:
    stated = (
        "@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([None, 1], tf.float32)])"
    )
    program = TAPE.replace("@tf.function", stated).replace(', dtype="float32"', "")
    assert stated in program and 'dtype="float32"' not in program
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(Job("program.py", program.encode(), budget=Budget(steps=6, seconds=60)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert len(trace.steps) == 6


def test_a_function_that_a_pipeline_maps_is_traced() -> None:
    mapped = """
    @tf.function
    def turned(row):
        if tf.random.uniform(()) > 0.5:
            return -row
        return row

    data = np.stack([row.numpy() for row in tf.data.Dataset.from_tensor_slices(data).map(turned)])
    """
    program = TAPE.replace("\n\n@tf.function", textwrap.dedent(mapped) + "\n@tf.function", 1)
    assert ".map(turned)" in program
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(Job("program.py", program.encode(), budget=Budget(steps=6, seconds=60)))
    assert trace.outcome is RunOutcome.FINISHED, trace.crash
    assert len(trace.steps) == 6


def test_a_graph_and_its_migration_take_the_same_steps() -> None:
    losses = []
    with Runner(Path(sys.executable)) as runner:
        for program in (SESSION, TAPE):
            trace = runner.run(Job("program.py", program.encode(), budget=Budget(steps=6, seconds=60)))
            losses.append([step.loss for step in trace.steps])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


CHANNELS_FIRST = """\
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.backend.set_image_data_format("channels_first")
x, y = np.random.rand(32, 1, 12, 12), np.random.randint(0, 2, 32)
model = keras.Sequential([
    layers.Conv2D(4, 3, padding="same", input_shape=(1, 12, 12)), layers.MaxPooling2D(2), layers.SeparableConv2D(4, 3),
    layers.AveragePooling2D(2), layers.Conv2DTranspose(2, 3), layers.Flatten(), layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(x, y, epochs=1, batch_size=16, verbose=0)
assert model.layers[0].output.shape == (None, 4, 12, 12)
"""


def test_images_with_their_channels_first_run_without_a_gpu(tmp_path: Path) -> None:
    report = suggested(CHANNELS_FIRST, tmp_path)
    assert report.runs[0].outcome.value == "finished"


KNOWN = """\
import keras
import numpy as np

label = np.random.randint(0, 3, 300)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="softmax")])
model.compile(keras.optimizers.Adam(0.3), "sparse_categorical_crossentropy")
model.fit(np.eye(3)[label], label, epochs=9, verbose=0)
"""


def test_shuffled_targets_cannot_be_learnt() -> None:
    with Runner(Path(sys.executable)) as runner:
        job = Job("program.py", KNOWN.encode(), budget=Budget(steps=30, seconds=60))
        plain, shuffled = (
            runner.run(replace(job, experiments=wanted)) for wanted in ((), (Experiment.SHUFFLE_TARGETS,))
        )
    assert plain.steps[-1].skill is not None and plain.steps[-1].skill > 0.95
    assert shuffled.steps[-1].skill is not None and shuffled.steps[-1].skill < 0.5
    assert shuffled.probes["shuffle-targets"] is True


TRAINED = """\
import tensorflow as tf

tf.keras.utils.set_random_seed(2)
x = tf.random.normal((256, 8))
y = tf.cast(x[:, :1] > 0, tf.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=5, batch_size=32, validation_split=0.2, verbose=0)
"""

OWN_STEP = """\
import tensorflow as tf

tf.keras.utils.set_random_seed(2)
x = tf.random.normal((256, 8))
y = x[:, :1] * 2 - 1
loss_of = tf.keras.losses.MeanSquaredError()

class Line(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = loss_of(y, self(x))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}

model = Line()
model.compile(optimizer=tf.keras.optimizers.SGD(0.05))
model.fit(x, y, epochs=5, batch_size=32, verbose=0)
"""


@pytest.mark.parametrize("program", [pytest.param(TRAINED, id="fit"), pytest.param(OWN_STEP, id="a step of one's own")])
def test_steps_that_run_traced_measure_what_eager_ones_do(program: str) -> None:
    with Runner(Path(sys.executable)) as runner:
        eager, traced = (
            runner.run(Job("program.py", program.encode(), budget=Budget(steps=30, seconds=60), record_steps=recorded))
            for recorded in (30, 0)
        )
    assert not traced.notes and len(eager.steps) == len(traced.steps) == 30
    for one, other in zip(eager.steps, traced.steps, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-4)
        assert other.gradient == pytest.approx(one.gradient, rel=1e-3)
        assert other.skill == pytest.approx(one.skill, abs=1e-3)


def test_a_step_that_cannot_be_traced_runs_eagerly() -> None:
    program = OWN_STEP.replace("        return {", "        self.last = float(loss.numpy())\n        return {")
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(Job("program.py", program.encode(), budget=Budget(steps=12, seconds=60), record_steps=0))
    assert trace.outcome is RunOutcome.BUDGET or trace.outcome is RunOutcome.FINISHED, trace.crash
    assert len(trace.steps) == 12 and any("could not be traced" in note for note in trace.notes)


GRAPH = """\
import numpy as np, tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
rows = np.random.RandomState(0).randn(400, 6).astype("float32")
wanted = {wanted}
x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.{kind}, [None{width}])
w, b = tf.Variable(tf.zeros([6, {units}])), tf.Variable(tf.zeros([{units}]))
scores = tf.matmul(x, w) + b
loss = {loss}
train = tf.train.AdamOptimizer(0.05).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(120):
        part = slice(40 * (step % 10), 40 * (step % 10) + 40)
        session.run(train, feed_dict={{x: rows[part], y: wanted[part]}})
"""
INDICES = {"wanted": "(rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0)", "kind": "int64", "width": "", "units": 3}
ONE_HOT = {"wanted": "np.eye(2)[(rows[:, 0] > 0).astype(int)]", "kind": "float32", "width": ", 2", "units": 2}
REAL = {"wanted": "rows[:, :1] * 3 - 1", "kind": "float32", "width": ", 1", "units": 1}


@pytest.mark.parametrize(
    ("given", "loss"),
    [
        (INDICES, "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))"),
        (ONE_HOT, "tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=scores))"),
        (ONE_HOT, "-tf.reduce_mean(tf.reduce_sum(y * tf.log(tf.nn.softmax(scores)), 1))"),
        (REAL, "tf.reduce_mean(tf.square(scores - y))"),
        (REAL, "tf.reduce_mean((y - scores) ** 2)"),
        (REAL, "tf.losses.mean_squared_error(y, scores)"),
    ],
)
def test_skill_is_measured_in_a_session(given: dict[str, object], loss: str) -> None:
    program = GRAPH.format(**given, loss=loss)
    job = Job("program.py", program.encode(), budget=Budget(steps=120, seconds=60), experiments=(Experiment.REFERENCE,))
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(job)
    assert not trace.notes and len(trace.steps) == 120
    assert trace.steps[0].skill is not None and trace.steps[0].skill < 0.3
    assert trace.steps[-1].skill is not None and trace.steps[-1].skill > 0.4
    known = reference(trace)
    assert known is not None and known.skill > 0.5
