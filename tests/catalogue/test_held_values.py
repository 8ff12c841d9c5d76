"""What the names of a crashed program held, read as shapes; and the templates that read it, where CI has no TensorFlow."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

import pytest

from dnnfix.detect.crashes.held_values import broadcast, held_list, shape_of, size_of
from dnnfix.fix_templates.data_dimension.reshape_size_mismatch import ReshapeSizeMismatch
from dnnfix.fix_templates.data_dimension.tensors_cannot_be_joined import TensorsCannotBeJoined
from dnnfix.fix_templates.layer_dimension.layer_not_made_for_input import LayerNotMadeForInput
from dnnfix.records import Crash, Frame, Json, RunOutcome, Trace
from dnnfix.run.probe.crash.frame_names import names_of
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.template import FixTemplate


def array(*shape: int | None, dtype: str = "float32") -> Json:
    return {"shape": list(shape), "dtype": dtype, "kind": "numpy.ndarray"}


def crashed(text: str, marked: str, names: Mapping[str, Json], message: str = "", kind: str = "ValueError") -> Subject:
    """A program that stopped in the expression `marked`, where its names held this."""
    source = Source.from_bytes(text.encode(), "example.py")
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.expr) and ast.unparse(node) == marked]
    frame = Frame(source.site(nodes[0]), "<module>", names)
    return Subject(source, Trace(RunOutcome.CRASHED, crash=Crash(kind, message, (frame,))))


def expression(subject: Subject, text: str) -> ast.expr:
    return next(n for n in ast.walk(subject.source.tree) if isinstance(n, ast.expr) and ast.unparse(n) == text)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x", (5, 8, 3)),
        ("x[0]", (8, 3)),
        ("x[:, 2:6]", (5, 4, 3)),
        ("x[..., 0]", (5, 8)),
        ("x[:, None]", (5, 1, 8, 3)),
        ("x == k", (5, 8, 3)),
        ("x[0] * row", (8, 3)),
        ("np.where(x > 1, 1, 0)", (5, 8, 3)),
        ("x @ row", None),
        ("x[row]", None),
        ("unknown", None),
    ],
)
def test_the_shape_of_an_expression_follows_from_what_its_names_held(text: str, shape: tuple[int, ...] | None) -> None:
    subject = crashed(f"{text}\n", text, {"x": array(5, 8, 3), "row": array(3), "k": 7})
    assert shape_of(subject, expression(subject, text)) == shape


@pytest.mark.parametrize(
    ("text", "size"), [("x.shape[1]", 8), ("len(x)", 5), ("k * 2 + 1", 15), ("len(parts)", 4), ("-1", -1), ("y", None)]
)
def test_sizes_are_read_from_numbers_shapes_and_lengths(text: str, size: int | None) -> None:
    names: dict[str, Json] = {"x": array(5, 8), "k": 7, "parts": {"length": 4, "items": [array(2)]}}
    subject = crashed(f"{text}\n", text, names)
    assert size_of(subject, expression(subject, text)) == size


def test_a_list_is_known_by_its_length_and_first_items() -> None:
    subject = crashed("parts\n", "parts", {"parts": {"length": 4, "items": [array(2)]}})
    assert held_list(subject, expression(subject, "parts")) == (4, (array(2),))


def test_shapes_stretch_as_numpy_says() -> None:
    assert broadcast([(4, 1, 5), (6, 5)]) == (4, 6, 5)
    assert broadcast([(None, 5), (4, 1, 5)]) == (4, None, 5)
    assert broadcast([(3, 4), (2, 4)]) is None


def test_the_probe_describes_arrays_numbers_and_lists_and_nothing_else() -> None:
    class Table:
        shape = (3, 2)
        dtype = "float32"

    def run() -> dict[str, Json]:
        table, count, words, parts = Table(), 4, "x" * 50, [Table(), "a"]
        assert table and count and words and parts
        return names_of(sys._getframe())

    found = run()
    assert found["count"] == 4
    assert "words" not in found
    table = found["table"]
    assert isinstance(table, dict) and table["shape"] == [3, 2] and table["dtype"] == "float32"
    assert isinstance(found["parts"], dict) and found["parts"]["length"] == 2


def repaired(template: type[FixTemplate], subject: Subject) -> list[str]:
    findings = list(template().detect(subject))
    return [
        apply_edits(subject.source, candidate.edits).decode()
        for finding in findings
        for candidate in propose(finding, subject, template).candidates
    ]


FILTERS = """\
import tensorflow as tf

phi = tf.Variable(tf.random.normal([OUT, LEADS, WIDTH]))
r = tf.nn.conv1d(x, phi, stride=1, padding="VALID") + offset
"""


def test_the_sizes_of_a_filter_are_put_in_order_by_what_is_added() -> None:
    names = {"x": array(4, 60, 2), "phi": array(10, 2, 7), "offset": array(10), "OUT": 10, "LEADS": 2, "WIDTH": 7}
    marked = "tf.nn.conv1d(x, phi, stride=1, padding='VALID') + offset"
    texts = repaired(LayerNotMadeForInput, crashed(FILTERS, marked, names))
    assert len(texts) == 1 and "tf.random.normal([WIDTH, LEADS, OUT])" in texts[0]


def test_a_filter_for_other_channels_takes_the_channels_that_come() -> None:
    text = "import tensorflow as tf\nw = tf.Variable(tf.ones([3, 3, 1, 16]))\ny = tf.nn.conv2d(x, w, 1, 'SAME')\n"
    subject = crashed(text, "tf.nn.conv2d(x, w, 1, 'SAME')", {"x": array(2, 8, 8, 3), "w": array(3, 3, 1, 16)})
    assert ["[3, 3, 3, 16]" in one for one in repaired(LayerNotMadeForInput, subject)] == [True]


def test_a_filter_whose_groups_divide_the_channels_is_left_alone() -> None:
    text = "import tensorflow as tf\nw = tf.Variable(tf.ones([3, 3, 2, 16]))\ny = tf.nn.conv2d(x, w, 1, 'SAME')\n"
    subject = crashed(text, "tf.nn.conv2d(x, w, 1, 'SAME')", {"x": array(2, 8, 8, 4), "w": array(3, 3, 2, 16)})
    assert repaired(LayerNotMadeForInput, subject) == []


STACKED = """\
import tensorflow as tf

panel = tf.concat(opinions, axis=0)
hidden = tf.reduce_sum(trust * panel, axis=0)
error = hidden - y
"""


@pytest.mark.parametrize(("message", "found"), [("[256,5] vs. [64,5]", 1), ("[128,5] vs. [64,5]", 0)])
def test_the_rows_of_a_later_clash_tell_that_stacking_was_meant(message: str, found: int) -> None:
    names: dict[str, Json] = {
        "opinions": {"length": 4, "items": [array(None, 5)] * 4},
        "trust": array(4, 1, 5),
        "panel": array(None, 5),
    }
    subject = crashed(STACKED, "hidden - y", names, f"Incompatible shapes: {message}")
    texts = repaired(TensorsCannotBeJoined, subject)
    assert len(texts) == found and all("tf.stack(opinions, axis=0)" in text for text in texts)


@pytest.mark.parametrize(
    ("shape", "sizes", "changed"),
    [
        ((25, 16), "other.shape[0], 4, 4", "x.shape[0], 4, 4"),
        ((9, 3072), "-1, 28, 28, 3", "-1, 32, 32, 3"),
        ((9, 28, 28), "-1, 28, 28, 3", "-1, 28, 28, 1"),
        ((9, 24), "-1, 5, 5", ""),
    ],
)
def test_the_one_size_that_fits_is_changed(shape: tuple[int, ...], sizes: str, changed: str) -> None:
    values = 1
    for size in shape:
        values *= size
    text = f"x.reshape({sizes})"
    names = {"x": array(*shape), "other": array(60, 16)}
    subject = crashed(f"{text}\n", text, names, f"cannot reshape array of size {values} into shape (1,)")
    assert repaired(ReshapeSizeMismatch, subject) == ([f"x.reshape({changed})\n"] if changed else [])
