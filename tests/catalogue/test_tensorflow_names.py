"""The table of TensorFlow is true of the TensorFlow that is installed; and what is said of programs of version 1."""

from __future__ import annotations

import importlib
import inspect
from itertools import takewhile
from typing import Any

import pytest

from dnnfix.detect.versioning import names
from dnnfix.detect.versioning.migration import migration, version_number
from dnnfix.detect.versioning.tables import Change, table
from dnnfix.records import Applicability
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject

TABLE = table(names.DATA / "tensorflow.toml")
CHANGES = list(TABLE.changes())
GRAPHS = "graph and session programs"


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    found = pytest.importorskip("tensorflow")
    if version_number(found.__version__) < (2, 16):
        pytest.skip("the table is about TensorFlow with Keras 3")
    return found


def found_under(name: str) -> Any:
    """What a qualified name means; `None` where there is no such thing."""
    package, *parts = name.split(".")
    found: Any = importlib.import_module(package)
    for part in parts:
        found = getattr(found, part, None)  # importing modules of TensorFlow by path would leave other ones there
    return found


def parameters(name: str) -> list[str]:
    try:
        return list(inspect.signature(found_under(name)).parameters)
    except (TypeError, ValueError):
        return []


def test_new_names_exist_and_removed_ones_do_not(tensorflow: Any) -> None:
    wrong = []
    for change in CHANGES:
        if change.kind not in ("name", "module"):
            continue
        if change.new and found_under(change.new) is None:
            wrong.append(f"{change.new} does not exist")
        lazy = change.old.startswith("tensorflow.compat.v1.")  # there by name, and refuses to give anything
        if not lazy and change.kind == "name" and found_under(change.old) is not None:
            wrong.append(f"{change.old} exists")
    assert not wrong


def test_new_keywords_are_taken_and_old_ones_are_not(tensorflow: Any) -> None:
    wrong = []
    for change in CHANGES:
        if change.kind != "argument":
            continue
        for of in change.of:
            renamed = TABLE.name(of)
            taken = parameters(renamed.new if renamed is not None and renamed.new else of)
            if change.new and change.new not in taken and "kwargs" not in taken:
                wrong.append(f"{of}({change.new}=) is not taken: {taken}")
            if change.removed and change.old in taken:
                wrong.append(f"{of}({change.old}=) is taken")
    assert not wrong


def test_a_safe_name_is_the_same_function_or_has_the_same_arguments(tensorflow: Any) -> None:
    wrong = []
    for change in CHANGES:
        if change.kind != "name" or not change.safe or change.new.startswith("tensorflow.compat.v1."):
            continue
        former = change.old.replace("tensorflow.", "tensorflow.compat.v1.", 1)
        before, now = found_under(former), found_under(change.new)
        if before is None or before is now:
            continue  # gone before 1.15, or the very same
        names = {old: TABLE.argument(change.old, old) for old in parameters(former)}
        leading = list(takewhile(lambda name: name != "name", names))
        today = [found.new if (found := names[name]) is not None and found.new else name for name in leading]
        today = [
            name for name in dict.fromkeys(today) if name != "keyword_required"
        ]  # a mark that allows keywords only
        if today != parameters(change.new)[: len(today)]:
            wrong.append(f"{change.old}{tuple(today)} is {change.new}{tuple(parameters(change.new))}")
    assert not wrong


def test_names_of_sessions_have_no_replacement() -> None:
    graph = [change for change in CHANGES if change.kind == "name" and change.note.startswith(GRAPHS)]
    still_useful = {"tensorflow.reset_default_graph", "tensorflow.ConfigProto", "tensorflow.GPUOptions"}
    assert len(graph) > 100
    assert {change.old for change in graph if change.new} == still_useful


@pytest.mark.parametrize(
    "name",
    [
        "Session",
        "placeholder",
        "get_variable",
        "layers.dense",
        "contrib.layers.fully_connected",
        "estimator.DNNClassifier",
        "summary.FileWriter",
        "app.flags.DEFINE_string",
        "train.string_input_producer",
        "train.Saver",
        "log",
        "random_normal",
        "train.AdamOptimizer",
        "losses.softmax_cross_entropy",
        "metrics.accuracy",
        "image.resize_images",
        "gfile.Exists",
        "logging.info",
        "set_random_seed",
        "to_float",
        "nn.rnn_cell.BasicLSTMCell",
        "contrib.rnn.LSTMCell",
        "python_io.TFRecordWriter",
        "scalar_summary",
    ],
)
def test_a_program_that_uses_the_name_hears_of_it(name: str) -> None:
    text = f"import tensorflow as tf\n\nfound = tf.{name}\n"
    hits = migration(Subject(Source.from_bytes(text.encode(), "program.py")))
    assert [hit.site.line for hit in hits] == [3]


def migrated(text: str) -> tuple[str, Applicability]:
    """A program with the edits of all its hits, and whether all of them keep the meaning."""
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    hits = [hit for hit in migration(subject) if hit.edits]
    edits = [edit for hit in hits for edit in hit.edits]
    level = Applicability.SAFE if all(hit.safe for hit in hits) else Applicability.UNSAFE
    return apply_edits(subject.source, edits).decode(), level


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [
        (
            "tf.reduce_sum(tf.log(x), reduction_indices=1, keep_dims=True)",
            "tf.reduce_sum(tf.math.log(x), axis=1, keepdims=True)",
            Applicability.SAFE,
        ),
        ("tf.argmax(x, dimension=1)", "tf.argmax(x, axis=1)", Applicability.SAFE),
        ("tf.to_float(x)", "tf.compat.v1.to_float(x)", Applicability.SAFE),
        ("tf.diag(x)", "tf.linalg.tensor_diag(x)", Applicability.SAFE),
        ("tf.gfile.MakeDirs(dirname='a')", "tf.io.gfile.makedirs(path='a')", Applicability.SAFE),
        ("tf.logging.info('a')", "tf.compat.v1.logging.info('a')", Applicability.SAFE),
        ("tf.div(x, y)", "tf.math.divide(x, y)", Applicability.UNSAFE),
        (
            "model.compile(tf.train.AdamOptimizer(1e-3, beta1=0.8), 'mse')",
            "model.compile(tf.keras.optimizers.Adam(1e-3, beta_1=0.8), 'mse')",
            Applicability.UNSAFE,
        ),
        ("tf.contrib.keras.layers.Dense(3)", "tf.keras.layers.Dense(3)", Applicability.UNSAFE),
    ],
)
def test_a_call_of_version_1_is_brought_up_to_date(before: str, after: str, level: Applicability) -> None:
    assert migrated(f"import tensorflow as tf\n\n{before}\n") == (f"import tensorflow as tf\n\n{after}\n", level)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tf.contrib.layers.l2_regularizer(0.1)", "scale / 2"),
        ("tf.contrib.crf.crf_log_likelihood(a, b, c)", "tensorflow-addons"),
        ("tf.layers.dense(x, 10)", "tf.keras.layers.Dense"),
        ("tf.compat.v1.layers.dense(x, 10)", "tf-keras"),
        ("tf.estimator.LinearRegressor(columns)", "estimators were removed"),
    ],
)
def test_what_has_no_successor_is_left_with_advice(line: str, reason: str) -> None:
    hits = migration(Subject(Source.from_bytes(f"import tensorflow as tf\n\n{line}\n".encode(), "program.py")))
    assert [(bool(hit.edits), reason in hit.decline) for hit in hits] == [(False, True)]


@pytest.mark.parametrize(
    "line",
    [
        "tf.losses.MSE(a, b)",
        "tf.metrics.MeanSquaredError()",
        "tf.initializers.GlorotUniform()",
        "tf.compat.v1.placeholder(tf.float32)",
        "tf.reduce_sum(x, axis=1, keepdims=True)",
        "tf.nn.dropout(x, rate=0.5)",
        "tf.summary.scalar('loss', data=x, step=1)",
        "tf.io.gfile.exists(path='a')",
    ],
)
def test_programs_of_version_2_are_left_alone(line: str) -> None:
    assert not migration(Subject(Source.from_bytes(f"import tensorflow as tf\n\n{line}\n".encode(), "program.py")))


def test_every_entry_says_when_and_where() -> None:
    kinds = {change.kind for change in CHANGES}
    assert kinds == {"module", "name", "method", "argument"}
    assert all(
        isinstance(change, Change) and (change.removed or change.since) and change.reference for change in CHANGES
    )
