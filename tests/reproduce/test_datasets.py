"""Data sets of libraries: the real forms, learnable, and faults of the program that still show on them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Scaffold, Trace
from dnnfix.reproduce import standin
from dnnfix.reproduce.actions import datasets
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source


def case_of(text: str, folder: Path | None = None, without: frozenset[str] = frozenset()) -> Case:
    source = Source.from_bytes(textwrap.dedent(text).encode(), "program.py")
    return Case(source, (), lambda name: name not in without, folder)


def steps_of(text: str, folder: Path | None = None, without: frozenset[str] = frozenset()) -> list[EditStep | Gap]:
    return list(datasets.steps(case_of(text, folder, without)))


def run(runner: Runner, text: str, steps: int = 60) -> Trace:
    """The trace of a program inside the scaffold of what the action plans for it."""
    program = textwrap.dedent(text)
    planned = [step for step in steps_of(program) if isinstance(step, EditStep)]
    return runner.run(
        Job("program.py", program.encode(), budget=Budget(steps=steps, seconds=60), scaffold=joined(planned))
    )


@pytest.mark.parametrize(
    "text",
    [
        "from keras.datasets import mnist\n(a, b), (c, d) = mnist.load_data()",
        "import keras\ndata = keras.datasets.mnist.load_data()",
        "import tensorflow as tf\n(a, b), _ = tf.keras.datasets.mnist.load_data()",
        "from tensorflow.keras.datasets.mnist import load_data\nx = load_data()",
    ],
    ids=["module", "attribute", "tf.keras", "function"],
)
def test_a_data_set_of_keras_is_found_however_it_is_imported(text: str) -> None:
    (step,) = steps_of(text)
    assert isinstance(step, EditStep)
    assert "60000 and 10000 images of (28, 28)" in step.what and step.line == 2 and step.invented
    assert "made_keras_images('mnist')" in step.scaffold.start


def test_subclasses_and_names_of_torchvision() -> None:
    (step,) = steps_of("from torchvision import datasets\nclass Mine(datasets.CIFAR10):\n    pass\n")
    assert isinstance(step, EditStep) and step.what.startswith("torchvision.datasets.CIFAR10")
    by_name = steps_of("import torchvision.datasets as ds\ncls = getattr(ds, 'SVHN')\n")
    assert any(isinstance(step, EditStep) and ".SVHN" in step.what for step in by_name)


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nmodel = keras.Sequential()",
        "from sklearn.datasets import load_iris\nload_iris()",
        "from torchvision.datasets import ImageFolder, FakeData\nImageFolder('x'), FakeData()",
        "from mine import mnist\nmnist.load_data()",
        "from sklearn.datasets import fetch_mldata\nfetch_mldata('MNIST original')",
    ],
    ids=["none", "offline", "files", "own-module", "removed-hub"],
)
def test_what_needs_no_data_set_or_lost_it_to_a_release_gets_no_step(text: str) -> None:
    assert steps_of(text) == []


def test_what_is_missing_is_named() -> None:
    (gap,) = steps_of("from sklearn.datasets import fetch_openml\nx = fetch_openml('adult')")
    assert isinstance(gap, Gap) and "'adult'" in gap.what and gap.line == 2
    (gap,) = steps_of("import torchvision\nx = torchvision.datasets.Kinetics('x')")
    assert isinstance(gap, Gap) and "Kinetics" in gap.what


def test_files_that_are_there_and_packages_that_are_not_are_left_alone(tmp_path: Path) -> None:
    text = "from torchvision import datasets\ndatasets.MNIST('data', download=True)"
    assert steps_of(text, tmp_path)
    (tmp_path / "data" / "MNIST" / "raw").mkdir(parents=True)
    assert steps_of(text, tmp_path) == []
    assert steps_of(text, without=frozenset(["torchvision"])) == []


SHAPES = """
    from keras.datasets import mnist, cifar10, cifar100, imdb, reuters, boston_housing
    import numpy
    for load in (mnist.load_data, cifar10.load_data, cifar100.load_data, boston_housing.load_data):
        (a, b), (c, d) = load()
        print(load.__module__.rpartition(".")[2], a.shape, a.dtype, b.shape, c.shape, d.shape, a.min() >= 0, 200 < a.max() < 712, len(numpy.unique(b)))
    (a, b), (c, d) = imdb.load_data(num_words=500)
    print(a.shape, b.shape, max(map(max, a)) < 500, a[0][0], sorted(set(b)))
    (a, b), (c, d) = reuters.load_data(maxlen=100)
    print(len(a) == len(b), max(map(len, a)) < 100, b.max())
"""


PAGE = """
    import numpy as np
    import pandas as pd
    from urllib.request import urlopen
    URL = "http://lib.stat.cmu.edu/datasets/boston"
    with urlopen(URL) as page:
        rows = np.array(" ".join(page.read().decode().splitlines()[22:]).split(), dtype=float).reshape(-1, 14)
    table = pd.read_csv(URL, sep=r"\\s+", skiprows=22, header=None).values
    again = np.hstack([table[::2, :], table[1::2, :3]])
    print(rows.shape, bool((rows == again).all()), bool(5 <= rows[:, 13].min() and rows[:, 13].max() <= 50))
"""


def test_the_page_of_the_boston_housing_prices(keras_runner: Runner) -> None:
    trace = run(keras_runner, PAGE)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == ["(506, 14) True True"]


@pytest.mark.parametrize(
    "text",
    ["from sklearn.datasets import load_boston\nload_boston()", "from sklearn import datasets\ndatasets.load_boston()"],
)
def test_a_set_that_scikit_learn_lost_is_made_for_its_repair_alone(text: str) -> None:
    (step,) = steps_of(text)
    assert isinstance(step, EditStep) and "urlopen" in str(step.scaffold) and "repair" in step.evidence


def test_the_documented_forms(keras_runner: Runner) -> None:
    trace = run(keras_runner, SHAPES)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines()[:3] == [
        "mnist (60000, 28, 28) uint8 (60000,) (10000, 28, 28) (10000,) True True 10",
        "cifar10 (50000, 32, 32, 3) uint8 (50000, 1) (10000, 32, 32, 3) (10000, 1) True True 10",
        "cifar100 (50000, 32, 32, 3) uint8 (50000, 1) (10000, 32, 32, 3) (10000, 1) True True 100",
    ]
    assert trace.printed.splitlines()[3].startswith(
        "boston_housing (404, 13) float64 (404,) (102, 13) (102,) True True"
    )
    assert trace.printed.splitlines()[4] == "(25000,) (25000,) True 1 [np.int64(0), np.int64(1)]"
    assert trace.printed.splitlines()[5] == "True True 45"


TRAINED = """
    import keras
    from keras.datasets import mnist
    (x, y), (x_test, y_test) = mnist.load_data()
    x, x_test = x.reshape(60000, 784) / 255.0, x_test.reshape(10000, 784) / 255.0
    model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(64, activation="relu"),
                              keras.layers.Dense(10, activation="softmax")])
    model.compile(optimizer="adam", loss="LOSS", metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=1, verbose=0)
    print("accuracy", model.evaluate(x_test[:2000], y_test[:2000], verbose=0)[1] > 0.8)
"""


def test_a_correct_program_learns_the_data(keras_runner: Runner) -> None:
    program = TRAINED.replace("WIDTH", "784").replace("LOSS", "sparse_categorical_crossentropy")
    trace = run(keras_runner, program, steps=150)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "accuracy True\n"


@pytest.mark.parametrize(
    ("width", "loss", "said"),
    [
        ("780", "sparse_categorical_crossentropy", "780"),
        ("784", "categorical_crossentropy", "shape"),
    ],
    ids=["input", "labels"],
)
def test_a_fault_of_shapes_or_labels_still_shows(keras_runner: Runner, width: str, loss: str, said: str) -> None:
    trace = run(keras_runner, TRAINED.replace("WIDTH", width).replace("LOSS", loss), steps=4)
    assert trace.outcome is RunOutcome.CRASHED
    assert said in trace.detail


def test_what_the_library_refuses_is_refused_at_the_programs_line(keras_runner: Runner) -> None:
    trace = run(keras_runner, "from keras.datasets import mnist\nmnist.load_data(normalize=True)")
    assert trace.outcome is RunOutcome.CRASHED and "normalize" in trace.detail
    assert trace.crash is not None and trace.crash.site is not None and trace.crash.site.line == 2


def test_sklearn_sets(keras_runner: Runner) -> None:
    trace = run(
        keras_runner,
        """
        from sklearn.datasets import fetch_california_housing, fetch_openml, fetch_20newsgroups
        x, y = fetch_california_housing(return_X_y=True)
        print(x.shape, y.shape, y.min() >= 0.15, y.max() <= 5)
        print(fetch_openml("mnist_784", version=1, as_frame=False).data.shape)
        news = fetch_20newsgroups(subset="train", categories=["sci.med", "sci.space"])
        print(len(news.data), news.target_names)
        """,
    )
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == [
        "(20640, 8) (20640,) True True",
        "(70000, 784)",
        "1131 ['sci.med', 'sci.space']",
    ]


def test_a_library_is_changed_when_it_is_imported_and_only_there() -> None:
    sys.modules.pop("colorsys", None)
    namespace: dict[str, object] = {}
    exec(standin.text(["made_in_place_of", "made_wraps"]), namespace)  # noqa: S102
    exec(  # noqa: S102
        "made_in_place_of('colorsys.rgb_to_hsv', lambda original: made_wraps(original)(lambda r, g, b: 'made'))\n"
        "made_in_place_of('no_such_package.thing', lambda original: None)\n",
        namespace,
    )
    import colorsys

    assert colorsys.rgb_to_hsv(1, 0, 0) == "made"  # type: ignore[comparison-overlap]
    assert colorsys.hsv_to_rgb(0, 1, 1) == (1, 0, 0)
    sys.modules.pop("colorsys", None)
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "_MadeWatch"]


LEARNED = """
    import torch, numpy
    from torch import nn
    torch.manual_seed(0)
    x, y, test, wanted, net, loss = given()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
    for step in range(150):
        batch = torch.randint(0, len(x), (64,))
        optimizer.zero_grad()
        loss(net(x[batch]), y[batch]).backward()
        optimizer.step()
    print(measure(net(test), wanted))
"""
IMAGES = """
    def given():
        (x, y), (test, wanted) = made_image_set("cifar100", True), made_image_set("cifar100", False)
        flat = lambda images: torch.from_numpy(images[:4000].reshape(-1, 3072)).float() / 255
        net = nn.Sequential(nn.Linear(3072, 128), nn.ReLU(), nn.Linear(128, 100))
        return flat(x), torch.from_numpy(y[:4000]), flat(test), wanted[:4000], net, nn.functional.cross_entropy
    def measure(output, wanted):
        return (output.argmax(1).numpy() == wanted).mean() > 0.8
"""
TEXTS = """
    def given():
        parts = [_made_reviews("reuters", part, 5000, 4, 1) for part in (0, 1)]
        padded = lambda texts: torch.tensor([(list(text) + [0] * 80)[:80] for text in texts[:2000]])
        net = nn.Sequential(nn.EmbeddingBag(5000, 32), nn.Linear(32, 46))
        (x, y), (test, wanted) = parts
        return padded(x), torch.from_numpy(y[:2000]), padded(test), wanted[:2000], net, nn.functional.cross_entropy
    def measure(output, wanted):
        return (output.argmax(1).numpy() == wanted).mean() > 0.8
"""
PRICES = """
    def given():
        x, y = made_housing("california_housing")
        x, y = (torch.tensor((v - v.mean(0)) / v.std(0)).float() for v in (x, y.reshape(-1, 1)))
        net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
        return x[:16000], y[:16000], x[16000:], y[16000:], net, nn.functional.mse_loss
    def measure(output, wanted):
        return 1 - float(((output - wanted) ** 2).mean() / wanted.var()) > 0.6
"""


@pytest.mark.parametrize(
    ("given", "standins"),
    [(IMAGES, ["made_image_set"]), (TEXTS, ["_made_reviews"]), (PRICES, ["made_housing"])],
    ids=["images", "texts", "prices"],
)
def test_a_small_network_learns_the_sets(run_in: Callable[..., Trace], given: str, standins: list[str]) -> None:
    program = textwrap.dedent(LEARNED).replace(
        "from torch import nn\n", "from torch import nn\n" + textwrap.dedent(given)
    )
    trace = run_in(program, Scaffold(start=standin.text(standins)), steps=160)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "True\n"


@pytest.mark.parametrize(
    "program",
    [
        "from tensorflow.examples.tutorials.mnist import input_data\nmnist = input_data.read_data_sets('x')\n",
        "import tensorflow.examples.tutorials.mnist.input_data as reader\nmnist = reader.read_data_sets('x')\n",
        "import tensorflow.examples.tutorials.mnist.input_data\nprint(tensorflow.examples.tutorials.mnist.input_data)\n",
        "def load():  from tensorflow.examples.tutorials.mnist import input_data; return input_data.read_data_sets('x')\n",
        "from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets\nmnist = read_data_sets('x')\n",
        "import tensorflow as tf; mnist = tf.contrib.learn.datasets.load_dataset('mnist')\n",
        "import tensorflow as tf; mnist = tf.examples.tutorials.mnist.input_data.read_data_sets('x')\n",
    ],
)
def test_the_replacement_of_the_tutorials_reader_finds_its_data(program: str) -> None:
    """The module is gone and stays gone; a repair that reads keras.datasets is run with a stand-in for that."""
    made = [step for step in steps_of(program) if isinstance(step, EditStep)]
    assert [step.line for step in made] == [1]
    assert "keras.datasets.mnist.load_data" in made[0].scaffold.start
    assert "tensorflow.examples" not in made[0].scaffold.start


def test_a_class_of_torchvision_is_known_where_it_is_defined() -> None:
    program = "from torchvision.datasets import mnist\ntrain = mnist.MNIST('data', download=True)\n"
    made = [step for step in steps_of(program) if isinstance(step, EditStep)]
    assert len(made) == 1
    assert "'torchvision.datasets.mnist.MNIST'" in made[0].scaffold.start
