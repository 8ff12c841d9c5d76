"""Edit action: dataset procurement. Replaces data sets that would be downloaded by synthetic ones of the same form.

The function or class of the library is replaced before the program begins, so it does not matter how the program
imports it. What the data set looks like is documented, and does not depend on the program: where the network of the
program does not fit it, that still shows. A function that a newer release removed is not brought back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dnnfix.detect.versioning.tutorials import reads_for_torch
from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.arguments.guards import looks_for_file
from dnnfix.reproduce.beside import everywhere
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.conventions import MNIST_FILE, TFDS
from dnnfix.reproduce.data.network_cost import few_of_a_batch, few_together
from dnnfix.reproduce.data_files import images
from dnnfix.reproduce.syntax import call_of, given, string, strings
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source, once

ACTION = EditAction.DATASETS


@dataclass(frozen=True, slots=True)
class _Known:
    """A data set of a library: what it holds, and the stand-in (code) for the places it is found at."""

    holds: str
    code: str
    places: tuple[str, ...]
    package: str = ""
    is_data: bool = True

    def told(self, name: str) -> tuple[str, str]:
        """What is said of the stand-in, and why it has its form."""
        if self.is_data:
            said = f"{name} gives made-up data: {self.holds}"
            return said, "the documented form of the data set; what it shows is made up and can be learned"
        return f"{name}: {self.holds}", "what it needs would be downloaded"

    def with_fewer(self, count: int) -> _Known:
        """The stand-in for the first ones of the data set."""
        return replace(self, code=self.code.replace(")", f", {count})"))

    @property
    def start(self) -> str:
        return "\n".join(f"made_in_place_of({place!r}, {self.code})" for place in self.places)


_KERAS_SETS = {
    "mnist": "60000 and 10000 images of (28, 28), uint8, 10 classes",
    "fashion_mnist": "60000 and 10000 images of (28, 28), uint8, 10 classes",
    "cifar10": "50000 and 10000 images of (32, 32, 3), uint8, 10 classes as a column",
    "cifar100": "50000 and 10000 images of (32, 32, 3), uint8, 100 classes as a column",
    "imdb": "25000 and 25000 lists of word numbers, 2 classes",
    "reuters": "8982 and 2246 lists of word numbers, 46 classes",
    "boston_housing": "404 and 102 rows of 13 features in their ranges, prices of 5 to 50",
    "california_housing": "16512 and 4128 rows of 8 features in their ranges, prices of 15000 to 500000",
}
_TORCHVISION_ARRAYS = {
    "MNIST": "60000 and 10000 images of (28, 28), uint8, 10 classes",
    "FashionMNIST": "60000 and 10000 images of (28, 28), uint8, 10 classes",
    "KMNIST": "60000 and 10000 images of (28, 28), uint8, 10 classes",
    "QMNIST": "60000 and 60000 images of (28, 28), uint8, 10 classes",
    "EMNIST": "images of (28, 28), uint8, as many and of as many classes as the split has",
    "CIFAR10": "50000 and 10000 images of (32, 32, 3), uint8, 10 classes",
    "CIFAR100": "50000 and 10000 images of (32, 32, 3), uint8, 100 classes",
    "SVHN": "73257, 26032 or 531131 images of (3, 32, 32), uint8, 10 classes",
    "STL10": "5000, 8000 or 100000 images of (3, 96, 96), uint8, 10 classes",
    "USPS": "7291 and 2007 images of (16, 16), uint8, 10 classes",
    "SEMEION": "1593 images of (16, 16), uint8, 10 classes",
}
_TORCHVISION_PICTURES = {
    "Caltech101": "8677 pictures in 101 classes",
    "Caltech256": "30607 pictures in 257 classes",
    "Country211": "31650, 10550 or 21100 pictures in 211 classes",
    "DTD": "1880 pictures for each part in 47 classes",
    "EuroSAT": "27000 pictures of 64 by 64 in 10 classes",
    "FER2013": "28709 and 7178 gray pictures of 48 by 48 in 7 classes",
    "FGVCAircraft": "3334, 3333 or 3333 pictures in 100 classes",
    "Flowers102": "1020, 1020 or 6149 pictures in 102 classes",
    "Food101": "75750 and 25250 pictures in 101 classes",
    "GTSRB": "26640 and 12630 pictures in 43 classes",
    "ImageNet": "1281167 and 50000 pictures in 1000 classes",
    "Imagenette": "9469 and 3925 pictures in 10 classes",
    "Omniglot": "19280 gray pictures of 105 by 105 in 964 classes",
    "OxfordIIITPet": "3680 and 3669 pictures in 37 classes",
    "PCAM": "262144, 32768 or 32768 pictures of 96 by 96 in 2 classes",
    "Places365": "1803460 and 36500 pictures of 256 by 256 in 365 classes",
    "RenderedSST2": "6920, 872 or 1821 pictures in 2 classes",
    "StanfordCars": "8144 and 8041 pictures in 196 classes",
    "SUN397": "108754 pictures in 397 classes",
    "CelebA": "162770, 19867 or 19962 pictures of 178 by 218 with 40 marks",
    "VOCSegmentation": "1464 and 1449 pictures with masks of 21 classes",
    "VOCDetection": "5717 and 5823 pictures with boxes of 20 classes",
    "Cityscapes": "2975, 500 or 1525 pictures of 2048 by 1024 with masks",
}
_NO_DOWNLOAD = {"DatasetFolder", "FakeData", "ImageFolder", "VisionDataset"}
"""Classes of torchvision.datasets that read what the program names, or nothing."""

_SKLEARN_SETS = {
    "fetch_california_housing": "20640 rows of 8 features in their ranges, prices of 0.15 to 5",
    "fetch_openml": "70000 rows of 784 pixels (60000 of 3072 for CIFAR_10), classes as texts",
    "fetch_20newsgroups": "11314 and 7532 texts in 20 classes",
    "fetch_olivetti_faces": "400 images of (64, 64), float32 in 0..1, 40 classes",
    "fetch_lfw_people": "13233 images of (62, 47), fewer for people with many faces",
}
_OPENML = {"mnist_784", "fashion-mnist", "kuzushiji-mnist", "cifar_10"}
_OPENML_NUMBERS = {554, 40996, 41982, 40927}
_SEABORN = {"iris": 150, "tips": 244, "penguins": 344, "titanic": 891, "mpg": 398}

_FILES = {
    "babi-tasks-v1-2.tar.gz": "babi",
    "babi_tasks_1-20_v1-2.tar.gz": "babi",
    "iris_training.csv": "iris",
    "iris_test.csv": "iris",
}
"""Files of tutorials whose contents are known by their names; any other text is running text."""

_FETCHERS = {
    "keras.utils.get_file": (
        "keras.src.utils.file_utils.get_file",
        "keras.utils.get_file",
        "keras.utils.data_utils.get_file",
        "tensorflow.keras.utils.get_file",
    ),
    "urllib.request.urlretrieve": ("urllib.request.urlretrieve",),
}

_FOLDERS = {"CIFAR10": "cifar-10-batches-py", "CIFAR100": "cifar-100-python", "STL10": "stl10_binary"}
"""Where below its root torchvision keeps a data set whose folder is not called by its class."""


def _keras(name: str, holds: str) -> Iterator[tuple[str, _Known]]:
    kind = "images" if "images" in holds else "texts" if "lists" in holds else "table"
    modules = ("keras.src.datasets", "keras.datasets", "tf_keras.src.datasets", "tensorflow.python.keras.datasets")
    places = tuple(f"{module}.{name}.load_data" for module in modules)
    yield f"keras.datasets.{name}.load_data", _Known(holds, f"made_keras_{kind}({name!r})", places)
    if kind == "texts":
        places = tuple(f"{module}.{name}.get_word_index" for module in modules)
        words = "made-up words by their rank"
        yield f"keras.datasets.{name}.get_word_index", _Known(words, f"made_word_index({name!r})", places)


def _nltk() -> Iterator[tuple[str, _Known]]:
    """What programs ask of NLTK that it would read from its downloads."""
    places: tuple[str, ...] = ("nltk.download",)
    yield "nltk.download", _Known("nothing is downloaded", "made_nltk_download", places, "nltk", is_data=False)
    places = ("nltk.data.find",)
    yield "nltk.data.find", _Known("what is downloaded is there", "made_nltk_find", places, "nltk", is_data=False)
    for name, holds in (("word_tokenize", "words and signs"), ("sent_tokenize", "sentences")):
        places = (f"nltk.tokenize.{name}", f"nltk.{name}")
        for place in places:
            yield place, _Known(f"{holds}, split by a rule", f"made_{name}", places, "nltk", is_data=False)
    for name in ("stopwords", "gutenberg", "brown", "webtext", "words"):
        place = f"nltk.corpus.{name}"
        yield place, _Known("made-up words or text", f"made_corpus({name!r})", (place,), "nltk")


def _all_known() -> Iterator[tuple[str, _Known]]:
    for name, holds in _KERAS_SETS.items():
        yield from _keras(name, holds)
    for sets, stand_in in (
        (_TORCHVISION_ARRAYS, "made_torchvision_arrays"),
        (_TORCHVISION_PICTURES, "made_torchvision_pictures"),
    ):
        for name, holds in sets.items():
            place = f"torchvision.datasets.{name}"
            yield place, _Known(holds, f"{stand_in}({name!r})", (place,), "torchvision")
    for name, holds in _SKLEARN_SETS.items():
        place = f"sklearn.datasets.{name}"
        yield place, _Known(holds, f"made_sklearn_set({name!r})", (place,), "sklearn")
    place = "tensorflow_datasets.load"
    holds = "as many samples as the data set has, pictures all of one size (400 of them where they have many sizes)"
    yield place, _Known(holds, "made_tfds", (place,), "tensorflow_datasets")
    yield from _nltk()
    place = "seaborn.load_dataset"
    yield place, _Known("a table with the documented columns", "made_seaborn_set", (place,), "seaborn")


KNOWN: dict[str, _Known] = dict(_all_known())
"""The data sets that can be made, by the canonical name of the function or class that gives them."""


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """A stub for every known data set that the program asks a library for, and a gap for each of the others."""
    yield from everywhere(_steps, case)


def _steps(case: Case) -> Iterator[EditStep | Gap]:
    for name, node in sorted(used(case.source).items(), key=lambda item: item[1].lineno):
        known = KNOWN.get(name)
        if known is None:
            yield from _unknown(case, name, node)
        elif _installed(case, known) and not _there(case, name, node):
            gap = _not_that_one(name, node)
            if gap is not None:
                yield gap
                continue
            called = node.func if isinstance(node, ast.Call) else node
            written = case.source.qualified(called) if isinstance(called, ast.expr) else None
            places = known.places if written in (None, name) else (*known.places, written)
            few = _few(case, name)
            said, why = known.told(name)
            if few:
                known = known.with_fewer(few)
                said += f", of which the first {few} are taken"
                why += "; a whole batch would take the network longer than a run"
            if tests := _tests(case, name):
                known = known.with_fewer(tests)
                said += f", of which the first {tests} for testing are taken"
                why += "; all of them at once would take the network more memory than a run has"
            yield EditStep(
                ACTION,
                said,
                why,
                node.lineno,
                scaffold=Scaffold(start=replace(known, places=places).start),
            )
    yield from _for_the_tutorials(case)
    yield from _for_the_prices(case)
    yield from _for_the_files_of_mnist(case)
    yield from _for_the_words(case)
    yield from _downloads(case)


def _few(case: Case, name: str) -> int:
    """How many images of a set are taken where a batch of them is too much for a run; 0 for all of them."""
    set_name = name.removeprefix("torchvision.datasets.")
    if set_name == name or set_name not in _TORCHVISION_ARRAYS:
        return 0
    side = max(images.sides(case.source), default=32)
    channels = 1 if set_name.endswith("MNIST") or set_name in ("USPS", "SEMEION") else 3
    return few_of_a_batch(case.source, (channels, side, side), case.little_data)


def _tests(case: Case, name: str) -> int:
    """How many test images of a set are taken where a program feeds all at once and they are too many; 0 for all."""
    shape = _SHAPES.get(name.removeprefix("keras.datasets.").removesuffix(".load_data"))
    return few_together(case.source, shape, 10_000) if shape is not None and name.startswith("keras.") else 0


_SHAPES = {"mnist": (28, 28, 1), "fashion_mnist": (28, 28, 1), "cifar10": (32, 32, 3), "cifar100": (32, 32, 3)}


def _for_the_tutorials(case: Case) -> Iterator[EditStep]:
    """The reader of MNIST that TensorFlow's tutorials had is gone, and not brought back; what replaces it finds data."""
    name = "torchvision.datasets.MNIST" if reads_for_torch(case.source) else "keras.datasets.mnist.load_data"
    known = KNOWN[name]
    line = _line_of_tutorials(case.source)
    if line is not None and _installed(case, known):
        few = ""
        if tests := _tests(case, name):
            known = known.with_fewer(tests)
            few = (
                f", of which the first {tests} for testing are taken: all at once are too much for the memory of a run"
            )
        yield EditStep(
            ACTION,
            f"{name} gives made-up data: {known.holds}{few}",
            f"for a repair of the program: where the tutorials' reader was, {name} has its data set today",
            line,
            scaffold=Scaffold(start=known.start),
        )


_PRICES = "lib.stat.cmu.edu/datasets/boston"


def _for_the_prices(case: Case) -> Iterator[EditStep]:
    """The page with the Boston housing prices, for who reads it and for the repair of who asked scikit-learn for them."""
    nodes: list[ast.expr | ast.alias] = [n for n in case.source.nodes(ast.alias) if n.name == "load_boston"]
    nodes += [n for n in case.source.nodes(ast.Attribute) if n.attr == "load_boston"]
    asked = bool(nodes)
    nodes += [n for n in case.source.nodes(ast.Constant) if _PRICES in (string(n) or "")]
    if nodes:
        told = "for a repair of the program: scikit-learn has the prices no more" if asked else "the form of the page"
        yield EditStep(
            ACTION,
            f"the page {_PRICES} gives made-up data: {_KERAS_SETS['boston_housing'].replace('404 and 102', '506')}",
            told,
            min(node.lineno for node in nodes),
            scaffold=Scaffold(start="made_in_place_of('urllib.request.urlopen', made_page_of_prices)"),
        )


def _for_the_files_of_mnist(case: Case) -> Iterator[EditStep]:
    """The four files of MNIST, for who fetches them by their names; a quarter of the images where no count is written down."""
    source = case.source
    named = [n for n in source.nodes(ast.Constant) if MNIST_FILE.fullmatch((string(n) or "").rpartition("/")[2])]
    fetched = source.words & {"urlopen", "urlretrieve"}
    if not named or not fetched:
        return
    whole = any(n.value == 60000 for n in source.nodes(ast.Constant) if isinstance(n.value, int))
    shares = 1 if whole else 4
    yield EditStep(
        ACTION,
        f"the files of MNIST are made: {60000 // shares} and {10000 // shares} images of 28x28 bytes, 10 classes",
        "the documented form of the files, which tell how many images they have",
        named[0].lineno,
        scaffold=Scaffold(
            start=f"made_in_place_of('urllib.request.urlopen', made_idx_opened({shares}))\n"
            f"made_in_place_of('urllib.request.urlretrieve', made_idx_retrieved({shares}))"
        ),
    )


def _for_the_words(case: Case) -> Iterator[EditStep]:
    """The archive of words that programs learn embeddings from; it has its size where the program looks at that."""
    source = case.source
    named = [n for n in source.nodes(ast.Constant) if (string(n) or "").endswith(_WORDS)]
    if not named or "urlretrieve" not in source.words or any(case.exists(str(n.value)) for n in named):
        return
    size = _WORDS_SIZE if any(n.value == _WORDS_SIZE for n in source.nodes(ast.Constant)) else 0
    yield EditStep(
        ACTION,
        f"{_WORDS} is made: 400000 words, of which the common ones are English, in one line",
        "the documented form of the file",
        named[0].lineno,
        scaffold=Scaffold(start=f"made_in_place_of('urllib.request.urlretrieve', made_words_retrieved({size}))"),
    )


_WORDS = "text8.zip"
_WORDS_SIZE = 31344016

_TUTORIALS = ("tensorflow.examples.tutorials", "tensorflow.contrib.learn.python.learn.datasets", "tensorflow.contrib.learn.datasets")  # fmt: skip


def _line_of_tutorials(source: Source) -> int | None:
    """The first line, at any depth, that names the readers of TensorFlow's tutorials, in whatever form of import."""
    lines = [node.lineno for node in source.nodes(ast.ImportFrom) if (node.module or "").startswith(_TUTORIALS)]
    lines += [
        node.lineno for node in source.nodes(ast.Import) if any(a.name.startswith(_TUTORIALS) for a in node.names)
    ]
    lines += [
        node.lineno
        for node in source.nodes(ast.Attribute)
        if node.attr in ("tutorials", "datasets") and (source.qualified(node) or "").startswith(_TUTORIALS)
    ]
    return min(lines, default=None)


def _downloads(case: Case) -> Iterator[EditStep | Gap]:
    """Single files that a program fetches: made where the name tells what is in them."""
    for name, places in _FETCHERS.items():
        for call in case.source.calls(name):
            texts = strings(given(call))
            files = [text.rpartition("/")[2] for text in texts]
            kinds = {
                file: kind for file in files if (kind := _FILES.get(file, "text" if file.endswith(".txt") else ""))
            }
            if kinds:
                file = next(iter(kinds))
                stand_in = "made_fetched_file" if name.startswith("keras") else "made_retrieved"
                code = [f"made_in_place_of({place!r}, {stand_in}({kinds!r}))" for place in places]
                yield EditStep(
                    ACTION,
                    f"{file} is made in place of a download",
                    "plain text, a guess" if kinds[file] == "text" else "the documented form of the file",
                    call.lineno,
                    scaffold=Scaffold(start="\n".join(code)),
                )
            elif (
                texts and not any(file.endswith((".h5", ".hdf5")) for file in files) and not _at_hand(case, call, files)
            ):
                yield Gap(f"{files[0]!r} would be downloaded: put it beside the program and read that", call.lineno)


def _at_hand(case: Case, call: ast.Call, files: list[str]) -> bool:
    """Whether the file is there, or the program looks for it before it fetches it."""
    return looks_for_file(case.source, call) or any(case.exists(file) for file in files if file)


@once
def used(source: Source) -> dict[str, ast.expr | ast.alias]:
    """What the program names of the libraries' data sets, by canonical name, with its first use."""
    found: dict[str, ast.expr | ast.alias] = {}
    named: list[ast.Attribute | ast.Name] = [*source.nodes(ast.Attribute), *source.nodes(ast.Name)]
    for node in sorted(named, key=lambda n: (n.lineno, n.col_offset)):
        name = _public(source.qualified(node))
        if name is None or not isinstance(node.ctx, ast.Load):
            continue
        if name == "torchvision.datasets" and _by_name(source, node):
            found.update((known, node) for known in KNOWN if known.startswith(name + ".") and known not in found)
        elif name in KNOWN or _asks_for_download(name):
            found.setdefault(name, call_of(source, node) or node)
    return found


def _public(name: str | None) -> str | None:
    """A class of torchvision.datasets by its public name, where it was taken from the module that defines it."""
    parts = (name or "").split(".")
    if parts[:2] == ["torchvision", "datasets"] and len(parts) == 4 and parts[2].islower():
        return f"torchvision.datasets.{parts[3]}"
    return name


def _by_name(source: Source, node: ast.expr) -> bool:
    """Whether a class of the module is chosen by its name: `getattr(datasets, name)`, `datasets.__dict__[name]`."""
    above = source.parent(node)
    if isinstance(above, ast.Call):
        return isinstance(above.func, ast.Name) and above.func.id in {"getattr", "vars"} and above.args[:1] == [node]
    return isinstance(above, ast.Attribute) and above.attr == "__dict__"


def _asks_for_download(name: str) -> bool:
    """Whether a name that is not known here is a data set that its library downloads."""
    module, _dot, last = name.rpartition(".")
    if module == "torchvision.datasets":
        return last[:1].isupper() and last not in _NO_DOWNLOAD
    return module == "sklearn.datasets" and last.startswith("fetch_") and last not in {"fetch_mldata"}


def _unknown(case: Case, name: str, node: ast.expr | ast.alias) -> Iterator[Gap]:
    if case.installed(name.partition(".")[0]):
        yield Gap(
            f"{name} needs the network, and dnnfix has no stand-in for it: put the data beside the program", node.lineno
        )


def _not_that_one(name: str, node: ast.expr | ast.alias) -> Gap | None:
    """What is missing where a function gives many data sets, and not the one that the program asks for."""
    if not isinstance(node, ast.Call):
        return None
    if name == "seaborn.load_dataset" and (asked := _constant(node, "name")) is not None and asked not in _SEABORN:
        return Gap(f"seaborn's data set {asked!r} needs the network, and dnnfix has no stand-in for it", node.lineno)
    if name == "tensorflow_datasets.load" and isinstance(asked := _constant(node, "name"), str):
        if asked.partition(":")[0].partition("/")[0] not in TFDS:
            return Gap(f"the data set {asked!r} of TensorFlow Datasets needs the network", node.lineno)
        return None
    if name == "sklearn.datasets.fetch_openml":
        asked, number = _constant(node, "name"), _constant(node, "data_id", None)
        if (asked is not None and str(asked).lower() not in _OPENML) or (number and number not in _OPENML_NUMBERS):
            return Gap(
                f"the data set {asked or number!r} of OpenML needs the network; save it beside the program", node.lineno
            )
    return None


def _constant(call: ast.Call, keyword: str, position: int | None = 0) -> object:
    value = argument_value(call, keyword, position)
    return value.value if isinstance(value, ast.Constant) else None


def _installed(case: Case, known: _Known) -> bool:
    if known.package:
        return case.installed(known.package)
    return case.installed("keras") or case.installed("tensorflow")


def _there(case: Case, name: str, node: ast.expr | ast.alias) -> bool:
    """Whether the data is read from files, which for torchvision are in the program's folder already."""
    last = name.rpartition(".")[2]
    if not isinstance(node, ast.Call) or not name.startswith("torchvision."):
        return False
    root = _constant(node, "root")
    return isinstance(root, str) and case.exists(f"{root}/{_FOLDERS.get(last, last)}")
