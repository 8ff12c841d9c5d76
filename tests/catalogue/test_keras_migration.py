"""A whole program of Keras 1 or 2 in one patch: what the templates of the versioning family do together."""

from __future__ import annotations

import pytest

from dnnfix.detect.versions import edits_of, migration
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject


def migrated(text: str) -> str:
    """The program with everything that can be migrated, in one patch."""
    source = Source.from_bytes(text.encode(), "program.py")
    hits = [hit for hit in migration(Subject(source)) if hit.edits]
    return apply_edits(source, edits_of(source, hits)).decode()


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from keras.layers.core import Dense, merge, Flatten as F",
            "from keras.layers import Dense, concatenate, Flatten as F",
        ),
        ("from keras.layers import merge, Convolution2D, F", "from keras.layers import concatenate, Convolution2D, F"),
        (
            "from keras.layers import (\n    Dense,\n    merge,\n    CuDNNLSTM,\n)\nCuDNNLSTM(3)",
            "from keras.layers import (\n    Dense,\n    concatenate,\n    LSTM,\n)\nLSTM(3)",
        ),
        ("from keras.layers import Highway, merge", "from keras.layers import concatenate"),
    ],
)
def test_templates_that_change_one_import_statement_agree(old: str, new: str) -> None:
    rest = "\n\njoined = merge([a, b], mode='concat')\nother = Dense(2), F()\n"
    assert migrated(old + rest) == (new + rest).replace("merge([a, b], mode='concat')", "concatenate([a, b])")
