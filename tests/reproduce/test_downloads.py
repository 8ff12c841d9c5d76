"""Files and data sets that a program fetches: made where their names tell what they hold, else told as missing."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import datasets, imports
from dnnfix.reproduce.beside import modules_beside
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]


def steps_of(text: str, folder: Path | None = None) -> list[EditStep | Gap]:
    source = Source.from_bytes(textwrap.dedent(text).encode(), "program.py")
    source = source.along_with(modules_beside(source, folder) if folder else ())
    case = Case(source, (), lambda name: name != "tensorflow_datasets", folder)
    return [*imports.steps(case), *datasets.steps(case)]


def ran(run_in: Run, text: str) -> Trace:
    program = textwrap.dedent(text)
    return run_in(program, joined([step for step in steps_of(program) if isinstance(step, EditStep)]))


def test_files_whose_names_tell_what_they_hold(run_in: Run) -> None:
    program = """
        import tarfile
        from urllib.request import urlretrieve
        from keras.utils import get_file
        text = open(get_file("nietzsche.txt", origin="https://s3.amazonaws.com/text-datasets/nietzsche.txt")).read()
        print(len(text) > 50000, len(set(text)) > 20)
        path = get_file("babi-tasks-v1-2.tar.gz", origin="https://s3.amazonaws.com/babi_tasks_1-20_v1-2.tar.gz")
        with tarfile.open(path) as tar:
            story = tar.extractfile("tasks_1-20_v1-2/en/qa1_single-supporting-fact_train.txt").read().decode()
        print(story.splitlines()[2].count("\\t"), story.startswith("1 "))
        urlretrieve("http://download.tensorflow.org/data/iris_training.csv", "iris_training.csv")
        print(open("iris_training.csv").readline().strip())
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == ["True True", "2 True", "120,4,setosa,versicolor,virginica"]


def test_other_files_are_told_as_missing(tmp_path: Path) -> None:
    fetch = "from urllib.request import urlretrieve\nurlretrieve('http://example.org/a.csv', 'a.csv')"
    (gap,) = steps_of(fetch, tmp_path)
    assert isinstance(gap, Gap) and "'a.csv'" in gap.what and gap.line == 2
    (tmp_path / "a.csv").write_text("1,2\n")
    assert steps_of(fetch, tmp_path) == []
    looked_for = "import os\nfrom urllib.request import urlretrieve\nif not os.path.isfile('a.csv'):\n    "
    assert steps_of(looked_for + "urlretrieve('http://example.org/a.csv', 'a.csv')") == []


def test_modules_beside_the_program_count_as_well(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "data.py").write_text(
        "from keras.datasets import mnist\ndef get():\n    return mnist.load_data()\n"
    )
    (tmp_path / "broken.py").write_bytes(b"\xff\x00def (")
    (step,) = steps_of("import broken\nfrom lib.data import get\nx = get()", tmp_path)
    assert isinstance(step, EditStep) and step.line is None
    assert "keras.datasets.mnist.load_data" in step.what and step.what.endswith("(asked for in lib/data.py)")


def test_a_data_set_of_tensorflow_datasets_that_is_not_known_is_told_as_missing() -> None:
    (gap,) = steps_of("import tensorflow_datasets as tfds\nd = tfds.load('coco')")
    assert isinstance(gap, Gap) and "tensorflow-datasets" in gap.what


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_tensorflow_datasets(run_in: Run) -> None:
    program = """
        import tensorflow as tf
        import tensorflow_datasets as tfds
        (train, test), info = tfds.load("fashion_mnist", split=["train[:10%]", "test"], as_supervised=True, with_info=True)
        print(info.features["label"].num_classes, info.splits["train"].num_examples, len(train), len(test))
        x, y = next(iter(train.batch(4)))
        print(x.shape, x.dtype.name, y.shape)
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == ["10 60000 6000 10000", "(4, 28, 28, 1) uint8 (4,)"]


NLTK = """
    import nltk
    from nltk.corpus import stopwords
    from nltk.tokenize import word_tokenize
    nltk.download("punkt")
    print(word_tokenize("Hello there, it's me."), len(stopwords.words("english")))
"""


def test_what_nltk_would_download_is_told() -> None:
    said = [step.what for step in steps_of(NLTK) if isinstance(step, EditStep)]
    assert len(said) == 3 and said[0] == "nltk.download: nothing is downloaded"


@pytest.mark.skipif(importlib.util.find_spec("nltk") is None, reason="NLTK is not installed")
def test_nltk(run_in: Run) -> None:
    trace = ran(run_in, NLTK)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "['Hello', 'there', ',', \"it's\", 'me', '.'] 25\n"


def test_the_files_of_mnist_are_made_for_who_fetches_them_by_hand(run_in: Run) -> None:
    program = """
        import gzip, struct, urllib.request
        import numpy as np
        base = "http://yann.lecun.com/exdb/mnist/"
        files = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
        images = gzip.decompress(urllib.request.urlopen(base + files[0]).read())
        print(struct.unpack(">IIII", images[:16]), len(images) - 16 == 15000 * 784)
        for name in files[1:]:
            urllib.request.urlretrieve(base + name, name)
            labels = gzip.open(name).read()
            print(struct.unpack(">II", labels[:8]), sorted(set(np.frombuffer(labels, np.uint8, offset=8))) == list(range(10)))
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == ["(2051, 15000, 28, 28) True", "(2049, 15000) True", "(2049, 2500) True"]
    (step,) = steps_of(program.replace("15000", "60000"))
    assert isinstance(step, EditStep) and "60000 and 10000" in step.what


def test_the_archive_of_words_has_its_size_and_its_words(run_in: Run) -> None:
    text = (
        "import os\nimport urllib.request\nimport zipfile\n"
        "path, _ = urllib.request.urlretrieve('http://mattmahoney.net/dc/text8.zip', 'data/text8.zip')\n"
        "print(os.path.getsize(path) == 31344016)\n"
        "words = zipfile.ZipFile(path).read('text8').decode().split()\n"
        "print(len(set(words)) > 50000, 'five' in words)\n"
    )
    assert ran(run_in, text).printed == "True\nTrue True\n"
