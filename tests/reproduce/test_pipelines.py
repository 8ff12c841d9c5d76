"""Files that a graph of TensorFlow reads by itself."""

from __future__ import annotations

from dnnfix.records import EditStep
from dnnfix.reproduce.actions.input_data import steps
from dnnfix.reproduce.case import Case
from dnnfix.source.program import Source

HEAD = "import tensorflow as tf\n"


def made(code: str) -> list[tuple[str, str]]:
    """What is made for a program: in words, and the code that makes it."""
    source = Source.from_bytes((HEAD + code).encode(), "program.py")
    found = steps(Case(source, (), lambda name: name != "cv2"))
    return [(step.what, step.scaffold.start) for step in found if isinstance(step, EditStep)]


def test_lines_of_a_queue_have_the_fields_that_the_defaults_tell() -> None:
    code = """
queue = tf.train.string_input_producer(["a.csv", "b.csv"], shuffle=False)
reader = tf.TextLineReader(skip_header_lines=1)
key, value = reader.read(queue)
defaults = [[0.0]] * 3 + [[""], [0]]
row = tf.decode_csv(value, record_defaults=defaults, field_delim=";")
"""
    first, second = made(code)
    assert first[0] == "`a.csv`: 400 lines of 5 fields (number, number, number, word, label)"
    assert second[0].startswith("`b.csv`") and "column_4" in first[1] and "';'" in first[1]


def test_records_hold_the_features_that_are_taken() -> None:
    code = """
def parse(record):
    features = {
        "image_raw": tf.FixedLenFeature([], tf.string),
        "picture": tf.FixedLenFeature((), tf.string, default_value=""),
        "height": tf.FixedLenFeature([], tf.int64),
        "label": tf.FixedLenFeature([], tf.int64),
        "x": tf.FixedLenFeature([7], tf.float32),
    }
    found = tf.parse_single_example(record, features=features)
    raw = found["image_raw"]
    image = tf.reshape(tf.decode_raw(raw, tf.uint8), [28, 24, 1])
    return image, tf.image.decode_jpeg(found["picture"]), found["label"]
data = tf.data.TFRecordDataset("train.tfrecords").map(parse)
"""
    ((what, start),) = made(code)
    assert what.startswith(
        "`train.tfrecords`: 400 records of image_raw (array), picture (picture), height (whole number)"
    )
    assert "('array', 'uint8', 672)" in start and "('whole number', 28)" in start and "('numbers', 7)" in start


def test_records_of_features_that_nothing_tells_are_not_made() -> None:
    assert made("data = tf.data.TFRecordDataset('train.tfrecords').map(lambda record: record)\n") == []


def test_a_frozen_graph_is_no_text() -> None:
    code = """
with open("vgg16.tfmodel", "rb") as file:
    content = file.read()
graph = tf.GraphDef()
graph.ParseFromString(content)
"""
    assert made(code) == []
