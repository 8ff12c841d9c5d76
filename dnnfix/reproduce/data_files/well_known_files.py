"""Edit steps for files of well-known data sets: CIFAR-10, MNIST, ShapeNet parts, word vectors."""

from __future__ import annotations

import ast
import re

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.conventions import MNIST_FILE
from dnnfix.reproduce.data_files import Made
from dnnfix.reproduce.data_files.images import largest_batch
from dnnfix.reproduce.flow.values import Datum

_MNIST = "made_pair({samples}, {shape}, 'classes', 10, scale={scale!r}, part={part})"

_VECTORS = re.compile(r"(?i)glove[\w.-]*?(?P<size>\d+)d[\w.-]*\.txt$|(?:wiki|crawl|cc)[\w.-]*\.vec$")
"""Files of word vectors of GloVe, whose name tells their size, and of fastText, which begin with a line of sizes."""

_CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def known(case: Case, datum: Datum, path: str) -> Made | None:
    """A file of a data set whose form is documented: batches of CIFAR-10, `mnist.npz`, `mnist.pkl.gz`, ShapeNet's index, GloVe."""
    name = path.rpartition("/")[2]
    taken = {use.detail[1] for use in datum.of("column") if use.detail[0] == "one" and use.part == ()}
    if datum.kind == "pickle" and name == "batches.meta":
        kept = ("label_names", "num_cases_per_batch", "num_vis")
        values = zip(kept, (_CIFAR, 10000, 3072), strict=True)
        given = [f"{key.encode() if b'label_names' in taken else key!r}: {value}" for key, value in values]
        code = f"made_pickle({path!r}, {{{', '.join(given)}}})"
        return code, "the names of 10 classes", "the documented form of CIFAR-10"
    if datum.kind == "pickle" and re.fullmatch(r"data_batch_[1-5]|test_batch", name):
        keys = ("data", "labels") if taken & {"data", "labels"} else (b"data", b"labels")
        part = 1 if name == "test_batch" else int(name[-1]) + 1
        rows = _rows(case)
        code = f"made_pickle({path!r}, dict(zip({keys!r}, made_cifar_batch({part}, {rows}))))"
        words = f"{rows} rows of 3072 bytes and their labels of 10 classes"
        return code, words, "the documented form of CIFAR-10"
    if (vectors := _VECTORS.match(name)) is not None and datum.kind in ("handle", "table"):
        size = int(vectors["size"] or 300)
        code = f"made_word_vectors({path!r}, {size}, {vectors['size'] is None})"
        return (
            code,
            f"1500 words, each with {size} numbers",
            "the documented form of pretrained word vectors",
        )
    if MNIST_FILE.fullmatch(name):
        counted = any(
            n.value in (60000, 10000) for file in case.source.files.values() for n in file.nodes(ast.Constant)
        )
        words = f"{'images of 28x28 bytes' if 'images' in name else 'labels of 10 classes'} behind their count"
        code = f"made_idx_file({path!r}, {1 if counted else 4})"
        return code, words, "the documented form of MNIST's files"
    if name == "synsetoffset2category.txt":
        words = "16 kinds of things with 20 clouds of 200 points each, in points and points_label"
        return (
            f"made_shapes({path!r})",
            words,
            "the documented form of ShapeNet's part benchmark",
        )
    if datum.kind == "array" and name == "mnist.npz":
        pairs = [
            _MNIST.format(samples=n, shape=(28, 28), scale="bytes", part=part) for part, n in ((0, 60000), (1, 10000))
        ]
        named = [(f"'{axis}_{which}'", f"{pairs[part]}[{place}]") for part, which in ((0, "train"), (1, "test"))
                for place, axis in ((0, "x"), (1, "y"))]  # fmt: skip
        code = f"made_npy({path!r}, {{{', '.join(f'{key}: {value}' for key, value in named)}}})"
        return (
            code,
            "60000 and 10000 images of 28x28 bytes, 10 classes",
            "the documented form of MNIST",
        )
    if datum.kind == "pickle" and re.fullmatch(r"mnist(?:_py3k)?\.pkl(?:\.gz)?", name):
        sets = [
            _MNIST.format(samples=n, shape=(784,), scale="unit", part=p)
            for p, n in ((0, 50000), (2, 10000), (1, 10000))
        ]
        code = f"made_pickle({path!r}, ({', '.join(sets)}))"
        words = "pairs of 50000, 10000 and 10000 rows of 784 values from 0 to 1 and labels"
        return code, words, "the documented form of MNIST"
    return None


def _rows(case: Case) -> int:
    """The rows of one file of CIFAR-10: fewer with `little_data`, where the program does not count on all of them."""
    counted = any(isinstance(n.value, int) and 4000 <= n.value <= 60000 for n in case.source.nodes(ast.Constant))
    return min(10000, 2 * max(64, largest_batch(case.source))) if case.little_data and not counted else 10000
