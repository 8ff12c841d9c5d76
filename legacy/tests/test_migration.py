"""Rules of the plug-in and of the catalogue make one patch together."""

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


def test_a_share_that_is_kept_is_spoken_of_once() -> None:
    text = "import tensorflow as tf\n\ntf.nn.dropout(x, keep_prob=0.8)\n"
    assert len(migration(Subject(Source.from_bytes(text.encode(), "program.py")))) == 1
    assert migrated(text) == text.replace("keep_prob=0.8", "rate=0.2")
