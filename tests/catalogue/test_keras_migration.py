"""A whole program of Keras 1 or 2 in one patch: what the templates of the versioning family do together."""

from __future__ import annotations

import pytest

from dnnfix.detect.versioning.migration import edits_of, migration
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject


def migrated(text: str) -> str:
    """The program with everything that can be migrated, in one patch."""
    source = Source.from_bytes(text.encode(), "program.py")
    hits = [hit for hit in migration(Subject(source)) if hit.edits]
    return apply_edits(source, edits_of(source, tuple(hits))).decode()


def left(text: str) -> list[str]:
    """Why what is left was left."""
    return [hit.decline for hit in migration(Subject(Source.from_bytes(text.encode(), "program.py"))) if hit.decline]


def test_a_name_that_still_works_follows_its_module_and_keeps_itself() -> None:
    old = """\
from keras.layers.convolutional import Convolution2D, MaxPooling2D
import keras

first = Convolution2D(8, 3, 3, border_mode="same")
second = keras.layers.convolutional.Convolution2D(8, 3, 3)
pool = MaxPooling2D()
"""
    new = """\
from keras.layers import Convolution2D, MaxPooling2D
import keras

first = Convolution2D(8, (3, 3), padding="same")
second = keras.layers.Convolution2D(8, (3, 3))
pool = MaxPooling2D()
"""
    assert migrated(old) == new


BACKEND = [
    ("K.argmax(x)", "x.argmax(-1)"),
    ("K.concatenate([x, x])", "np.concatenate([x, x], -1)"),
    ("K.cumsum(x)", "x.cumsum(0)"),
    ("K.expand_dims(x)", "x[..., None]"),
    ("K.gather(x, 1)", "x[1]"),
    ("K.dot(x, K.transpose(x[0]))", "x @ x[0].T"),
    ("K.batch_dot(x, x, axes=[2, 2])", "x @ x.transpose(0, 2, 1)"),
    ("K.permute_dimensions(x, pattern=(1, 0, 2))", "x.transpose(1, 0, 2)"),
    ("K.repeat(K.constant(x[0]), 2)", "x[0][:, None].repeat(2, 1)"),
    ("K.batch_flatten(x)", "x.reshape(len(x), -1)"),
    ("K.reverse(x, axes=1)", "x[:, ::-1]"),
    ("K.relu(x - 0.5, alpha=0.1, max_value=0.3)", "np.where(x < 0.5, (x - 0.5) * 0.1, np.minimum(x - 0.5, 0.3))"),
    ("K.switch(x > 0.5, then_expression=x, else_expression=-x)", "np.where(x > 0.5, x, -x)"),
    ("K.clip(x, min_value=0.2, max_value=0.5)", "x.clip(0.2, 0.5)"),
    ("K.constant([1, 2])", "np.array([1.0, 2.0])"),
    ("K.pool2d(x[None], (2, 2), pool_mode='avg').shape", "(1, 1, 2, 4)"),
    ("K.l2_normalize(x, axis=1)", "x / np.sqrt((x**2).sum(1, keepdims=True))"),
    ("K.int_shape(x)[-1]", "4"),
    ("K.arange(2, 5)", "np.arange(2, 5)"),
]
"""Calls of Keras 2.3.1 with what they gave there, in NumPy."""


@pytest.mark.parametrize(("old", "meant"), BACKEND, ids=[old for old, _ in BACKEND])
def test_a_function_of_the_backend_gives_what_it_gave(old: str, meant: str) -> None:
    import keras
    import numpy as np

    x = np.random.default_rng(0).random((2, 3, 4)).astype("float32")
    names = {"x": keras.ops.convert_to_tensor(x)}
    exec(migrated(f"from keras import backend as K\n\nresult = {old}\n"), names)  # noqa: S102
    expected = np.asarray(eval(meant, {"x": x, "np": np}))
    result = names["result"]
    got = np.asarray(keras.ops.convert_to_numpy(result) if keras.ops.is_tensor(result) else result)
    assert got.shape == expected.shape
    assert np.allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("K.batch_dot(x, y)", "number"),
        ("K.in_train_phase(x, y)", "training"),
        ("K.l2_normalize(x)", "all axes"),
        ("K.update(x * 2, y)", "assign"),
        ("K.constant(x, shape=s)", "shape"),
        ("K.gradients(x, y)", "symbolic gradients"),
        ("K.function([x], [y], updates=[u])", "updates variables"),
    ],
)
def test_what_depends_on_more_than_the_call_tells_is_left_with_its_reason(call: str, reason: str) -> None:
    text = f"from keras import backend as K\n\nz = {call}\n"
    assert migrated(text) == text
    assert [reason in said for said in left(text)] == [True]


def test_a_reason_that_holds_for_several_lines_names_them() -> None:
    text = "from keras import backend as K\n\na = K.placeholder((1,))\nb = 2\nc = K.placeholder((2,))\n"
    said = [hit.what for hit in migration(Subject(Source.from_bytes(text.encode(), "program.py")))]
    assert said == ["keras.backend.placeholder was removed in Keras 3.0 (also in line 5)"]


def test_a_rate_that_the_program_sets_gets_no_schedule() -> None:
    head = "from keras.callbacks import ReduceLROnPlateau\nfrom keras.optimizers import SGD\n\n"
    text = head + "sgd = SGD(0.1, decay=0.01)\nplateau = ReduceLROnPlateau()\n"
    assert migrated(text) == text
    assert ["sets the rate itself" in said for said in left(text)] == [True]


def test_an_argument_that_goes_leaves_the_next_one_on_its_line() -> None:
    old = "from keras.layers import Convolution2D\n\nlayer = Convolution2D(\n    64, 5, 5,\n    border_mode='same')\n"
    new = "from keras.layers import Convolution2D\n\nlayer = Convolution2D(\n    64, (5, 5),\n    padding='same')\n"
    assert migrated(old) == new


def test_an_import_whose_last_use_goes_is_replaced_by_what_is_imported_anew() -> None:
    old = "import numpy\nimport keras.backend as K\n\nx = K.sum(numpy.ones(3))\n"
    assert migrated(old) == "import numpy\nfrom keras import ops\n\nx = ops.sum(numpy.ones(3))\n"
    kept = "from keras import backend as K\n\nx = K.sum(K.epsilon())\n"
    assert migrated(kept) == "from keras import backend as K\nfrom keras import ops\n\nx = ops.sum(K.epsilon())\n"
