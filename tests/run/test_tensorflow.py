"""TensorFlow in forks of a warm process: which programs share one, and that forks and fresh processes agree.

Programs run in the interpreter that `DNNFIX_TENSORFLOW_PYTHON` names, by default in this one.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix.records import RunOutcome, Trace
from dnnfix.run.import_settings import settings_before_import
from dnnfix.run.interpreter import describe
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.project import Project
from dnnfix.run.runner import Runner
from dnnfix.run.zygote import Kind

PYTHON = Path(os.environ.get("DNNFIX_TENSORFLOW_PYTHON", sys.executable))
BUDGET = Budget(steps=100, seconds=120)

TAPE = b"""
import tensorflow as tf, numpy
x, y = numpy.random.rand(32, 4).astype("float32"), numpy.random.rand(32, 1).astype("float32")
w = tf.Variable(tf.random.normal([4, 1]))
for a, b in tf.data.Dataset.from_tensor_slices((x, y)).shuffle(32).batch(8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.dropout(a @ w, 0.2) - b) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    print(float(loss))
"""
SESSION = b"""
import tensorflow.compat.v1 as tf, numpy
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4])
w = tf.Variable(tf.random_normal([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.dropout(x, rate=0.2), w) - 1.0))
train = tf.train.AdamOptimizer(0.05).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(5):
        print(session.run([train, loss], {x: numpy.random.rand(8, 4)})[1])
"""
FIT = b"""
import tensorflow as tf, numpy
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, activation="relu"),
                             tf.keras.layers.Dropout(0.2), tf.keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(numpy.random.rand(32, 4), numpy.random.randint(0, 3, 32), batch_size=16, epochs=2, verbose=0)
print(model.predict(numpy.ones((1, 4)), verbose=0))
model.add(tf.keras.layers.Conv2D(2, 3))
"""
KERAS = b"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(numpy.random.rand(32, 4), numpy.random.rand(32), batch_size=16, epochs=1, verbose=0)
print(keras.backend.backend(), model.predict(numpy.ones((1, 4)), verbose=0))
"""
IMPORT = b"import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("import tensorflow as tf", ()),
        ("import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\nimport keras", (("TF_CPP_MIN_LOG_LEVEL", "3"),)),
        ('os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")\nimport tensorflow', (("TF_USE_LEGACY_KERAS", "1"),)),
        (
            'os.putenv("TF_USE_LEGACY_KERAS", "1")\nos.environ["TF_ENABLE_ONEDNN_OPTS"]="1" # slow\nfrom keras import layers',
            (("TF_ENABLE_ONEDNN_OPTS", "1"), ("TF_USE_LEGACY_KERAS", "1")),
        ),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = ''\nos.environ['KERAS_BACKEND'] = 'torch'\nimport keras", ()),
        ("# os.environ['TF_USE_LEGACY_KERAS'] = '1'\nimport tensorflow", ()),
        ("import tensorflow\nos.environ['TF_USE_LEGACY_KERAS'] = '1'", ()),
        ("level = input()\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = level\nimport tensorflow", ()),
        ("if quiet:\n    os.environ['TF_USE_LEGACY_KERAS'] = '1'\nimport tensorflow", None),
        ("os.environ.update({'TF_USE_LEGACY_KERAS': '1'})\nimport tensorflow", None),
        ("os.environ['TF_ENABLE_ONEDNN_OPTS'] = '1' + end\nimport tensorflow", None),
        ("os.environ['XLA_FLAGS'] = '--xla_dump_to=here'\nimport tensorflow", None),
        ("os.environ['TF_PLUGGABLE_DEVICE_LIBRARY_PATH'] = 'mine.so'\nimport tensorflow", None),
    ],
)
def test_what_a_program_sets_before_the_import_is_read_off_its_text(text: str, settings: object) -> None:
    assert settings_before_import(text.encode()) == settings


def kind(program: bytes, framework: str | None = None, fresh: bool = False) -> Kind:
    """The kind of process that a program gets where the interpreter has every framework."""
    with Runner(Path(sys.executable), tier=Tier.NONE, trust=True, framework=framework, fresh=fresh) as runner:
        installed = frozenset({"torch", "keras", "tensorflow"})
        runner._interpreter = dataclasses.replace(runner._interpreter, installed=installed)
        return runner._kind(Job("program.py", program), Project())


def test_programs_with_tensorflow_share_a_warm_process() -> None:
    assert kind(TAPE) == kind(SESSION) == kind(FIT) == kind(TAPE, framework="keras")
    assert (kind(TAPE).framework, kind(TAPE).backend, kind(TAPE).once) == ("tensorflow", "tensorflow", None)
    assert (kind(KERAS).framework, kind(KERAS).backend, kind(KERAS).once) == ("keras", "tensorflow", None)
    quiet = b"import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n" + TAPE
    assert kind(quiet).once is None and kind(quiet).settings == (("TF_CPP_MIN_LOG_LEVEL", "3"),)


def test_the_backend_is_the_users_where_the_program_names_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = b"import keras\n"
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert kind(plain).backend == "tensorflow"
    (tmp_path / "keras.json").write_text('{"backend": "torch"}')
    assert kind(plain).backend == "torch"
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    assert kind(plain).backend == "tensorflow"
    monkeypatch.setenv("KERAS_BACKEND", "unheard-of")
    assert kind(plain).backend == "torch"


@pytest.mark.parametrize(
    "program",
    [
        b"import torch\n" + TAPE,
        b"import os\nos.environ.update({'TF_USE_LEGACY_KERAS': '1'})\n" + TAPE,
        TAPE + b"import multiprocessing\nmultiprocessing.get_context('spawn')\n",
    ],
    ids=["two frameworks", "unknown settings", "spawns"],
)
def test_a_program_that_cannot_be_forked_gets_a_process_of_its_own(program: bytes) -> None:
    assert kind(program).once is not None and kind(program).framework is None
    assert kind(TAPE, fresh=True).once is not None


# --- With TensorFlow --------------------------------------------------------------------------------------------------


def comparable(trace: Trace) -> Trace:
    """The trace without its times and sizes of memory, and without what importing TensorFlow may say of missing fonts."""
    printed = "".join(line for line in trace.printed.splitlines(True) if not line.startswith("Fontconfig"))
    return dataclasses.replace(trace, seconds=0.0, peak_memory=0, step_seconds=None, printed=printed)


@pytest.fixture(scope="module")
def warm() -> Iterator[Runner]:
    """A runner whose programs may use TensorFlow."""
    if "tensorflow" not in describe(PYTHON).installed:
        pytest.skip(f"{PYTHON} has no TensorFlow; DNNFIX_TENSORFLOW_PYTHON names one that has it")
    with Runner(PYTHON) as runner:
        yield runner


@pytest.mark.parametrize("program", [TAPE, SESSION, FIT, KERAS], ids=["tape", "session", "fit", "keras"])
def test_forks_and_a_fresh_process_give_the_same_trace(warm: Runner, program: bytes) -> None:
    traces = [comparable(warm.run(Job("program.py", program, seed, BUDGET))) for seed in (3, 4, 3)]
    with Runner(PYTHON, fresh=True) as runner:
        fresh = comparable(runner.run(Job("program.py", program, 3, BUDGET)))
    assert traces[0].outcome is (RunOutcome.CRASHED if program is FIT else RunOutcome.FINISHED), traces[0].detail
    assert traces[0] == traces[2] == fresh
    assert traces[0].printed != traces[1].printed


def test_the_warm_process_has_one_thread_and_serves_many_trials(warm: Runner) -> None:
    printed = {warm.run(Job("program.py", TAPE, 1, BUDGET)).printed for _ in range(8)}
    assert len(printed) == 1
    used = [process for process in warm._engine._zygotes.values() if process.kind.framework == "tensorflow"]
    assert [process.forkable for process in used] == [True] and used[0].requests >= 8


def test_a_fork_is_ended_when_its_time_is_over_and_the_next_one_runs(warm: Runner) -> None:
    stuck = IMPORT + b"while True:\n    tf.constant(1) + 1\n"
    ended = warm.run(Job("program.py", stuck, 0, dataclasses.replace(BUDGET, seconds=2)))
    assert ended.outcome is RunOutcome.TIMEOUT, ended.detail
    assert warm.run(Job("program.py", TAPE, 0, BUDGET)).outcome is RunOutcome.FINISHED


def test_what_a_program_sets_before_the_import_is_there_when_tensorflow_is_imported(warm: Runner) -> None:
    look = (
        b"import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '1'\n"
        + IMPORT
        + b"print(open('/proc/self/environ').read())\n"
    )
    trace = warm.run(Job("program.py", look, 0, BUDGET))
    assert trace.outcome is RunOutcome.FINISHED and "TF_CPP_MIN_LOG_LEVEL=1" in trace.printed
