"""Stubs for downloads: files whose contents are known by their names, and TensorFlow Datasets."""

from dnnfix.reproduce.standins.datasets import (
    _made_image_sets,
    _made_labels_of,
    _made_seed,
    made_housing,
    made_image_set,
)
from dnnfix.reproduce.standins.learnable import made_images, made_running_text, made_table, made_text
from dnnfix.reproduce.standins.wrapping import made_arguments, made_wraps


def made_contents(path, kind):
    """Write a file whose kind is known by its name."""
    import os

    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if kind == "babi":
        _made_stories(path)
        return
    if kind == "iris":
        rows, labels = made_table(
            30 if "test" in path else 120, 4, 3, _made_seed("iris"), "float64", int("test" in path)
        )
        lines = ["%d,4,setosa,versicolor,virginica" % len(rows)]
        lines += ["%.1f,%.1f,%.1f,%.1f,%d" % (*(row + 4.0).clip(0.1, 8.0), label) for row, label in zip(rows, labels)]
        text = "\n".join(lines) + "\n"
    else:
        text = made_running_text(100000, _made_seed(os.path.basename(path)))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _made_stories(path):
    """The archive of the bAbI tasks: stories of two sentences, a question after each, and its answer."""
    import io
    import tarfile

    import numpy

    random = numpy.random.RandomState(3)
    people, places = "Mary John Daniel Sandra".split(), "bathroom hallway garden office kitchen bedroom".split()

    def stories(questions):
        lines = []
        for number in range(questions):
            line, where = 3 * (number % 5), people[random.randint(4)]
            for step in (1, 2):
                person, place = people[random.randint(4)], places[random.randint(6)]
                lines.append("%d %s went to the %s." % (line + step, person, place))
                where, at = person, place
            lines.append("%d Where is %s? \t%s\t%d" % (line + 3, where, at, line + 2))
        return ("\n".join(lines) + "\n").encode()

    texts = {("en", part): stories(1000) for part in ("train", "test")}
    texts.update({("en-10k", part): stories(10000 if part == "train" else 1000) for part in ("train", "test")})
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for task in _made_tasks:
            for (folder, part), text in texts.items():
                entry = tarfile.TarInfo("tasks_1-20_v1-2/%s/%s_%s.txt" % (folder, task, part))
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text))


_made_tasks = (
    "qa1_single-supporting-fact qa2_two-supporting-facts qa3_three-supporting-facts qa4_two-arg-relations "
    "qa5_three-arg-relations"
).split()


def made_fetched_file(kinds):
    """Stub for Keras's `get_file`, for files whose contents are known."""

    def stand_in(original):
        import os

        @made_wraps(original)
        def get_file(*args, **kwargs):
            given = made_arguments(original, args, kwargs) or {}
            name = os.path.basename(str(given.get("fname") or given.get("origin")))
            if name not in kinds or given.get("untar") or given.get("extract"):
                return original(*args, **kwargs)
            path = os.path.join("made", name)
            if not os.path.exists(path):
                made_contents(path, kinds[name])
            return path

        return get_file

    return stand_in


def made_retrieved(kinds):
    """Stub for `urlretrieve`: nothing is fetched where the file is there, or its contents are known."""

    def stand_in(original):
        import os

        @made_wraps(original)
        def urlretrieve(url, filename=None, *args, **kwargs):
            path = str(filename or os.path.basename(str(url)))
            name = os.path.basename(path)
            if not os.path.exists(path) and name in kinds:
                made_contents(path, kinds[name])
            if not os.path.exists(path):
                return original(url, filename, *args, **kwargs)
            return path, None

        return urlretrieve

    return stand_in


def made_idx(name, shares):
    """The bytes of a file of MNIST (`train-images-idx3-ubyte.gz`): one in `shares` of its images, with the count in front."""
    import gzip
    import struct

    images, labels = made_image_set("mnist", "train" in name)
    count = len(images) // shares
    if "images" in name:
        content = struct.pack(">IIII", 2051, count, 28, 28) + images[:count].tobytes()
    else:
        content = struct.pack(">II", 2049, count) + labels[:count].astype("uint8").tobytes()
    return gzip.compress(content, 1) if name.endswith(".gz") else content


def made_idx_file(path, shares):
    """A file of MNIST beside the program."""
    import os

    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(made_idx(os.path.basename(path), shares))


def made_idx_opened(shares):
    """Stub for `urlopen`: the files of MNIST."""

    def stand_in(original):
        import io
        import re
        from email.message import Message
        from urllib.response import addinfourl

        @made_wraps(original)
        def urlopen(url, *args, **kwargs):
            address = str(getattr(url, "full_url", url))
            if not re.search(r"(train|t10k)-(images|labels)[-.]idx[13]-ubyte(\.gz)?$", address):
                return original(url, *args, **kwargs)
            return addinfourl(io.BytesIO(made_idx(address, shares)), Message(), address, 200)

        return urlopen

    return stand_in


def made_idx_retrieved(shares):
    """Stub for `urlretrieve`: the files of MNIST."""

    def stand_in(original):
        import os
        import re

        @made_wraps(original)
        def urlretrieve(url, filename=None, *args, **kwargs):
            address, path = str(url), str(filename or os.path.basename(str(url)))
            if not re.search(r"(train|t10k)-(images|labels)[-.]idx[13]-ubyte(\.gz)?$", address):
                return original(url, filename, *args, **kwargs)
            with open(path, "wb") as file:
                file.write(made_idx(address, shares))
            return path, None

        return urlretrieve

    return stand_in


_made_common_words = (
    "the of and one in a to zero nine two is as eight for s five three was by that four six seven with on are it from or "
    "his an be this which at he also not have were has but other their its first they some had all more most can been "
    "such many who new used there after when into american time these only see may than world would no however between "
    "about over years states people war during united known if called use system often state so history will up while "
    "where city being english then any both under out made well her number government them part later going hardware "
    "britain king queen man woman"
).split()


def made_words_retrieved(size):
    """Stub for `urlretrieve`: the archive `text8.zip` with one line of words, `size` bytes long where that is given."""

    def stand_in(original):
        import io
        import os
        import zipfile

        import numpy

        @made_wraps(original)
        def urlretrieve(url, filename=None, *args, **kwargs):
            path = str(filename or os.path.basename(str(url)))
            if not str(url).endswith("text8.zip"):
                return original(url, filename, *args, **kwargs)
            random, syllables = numpy.random.RandomState(8), [a + b for a in "bdfgklmnprst" for b in "aeiou"]
            words = _made_common_words + ["".join(random.choice(syllables, 4)) for _number in range(60000)]
            often = (random.pareto(0.6, 340000) * 3).astype(int) % len(words)  # few words often, most of them seldom
            text = " ".join(words[number] for number in [*often, *range(len(words))])
            content = io.BytesIO()
            with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("text8", text)
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "wb") as file:
                file.seek(max(0, size - len(content.getvalue())))  # what stands before an archive is passed over
                file.write(content.getvalue())
            return path, None

        return urlretrieve

    return stand_in


def made_page_of_prices(original):
    """Stub for `urlopen`: the page on which the Boston housing prices are, a row on two lines each."""
    import io
    from email.message import Message
    from urllib.response import addinfourl

    @made_wraps(original)
    def urlopen(url, *args, **kwargs):
        address = getattr(url, "full_url", url)
        if not str(address).endswith("lib.stat.cmu.edu/datasets/boston"):
            return original(url, *args, **kwargs)
        lines = ["made up"] * 22
        for row, price in zip(*made_housing("boston_housing")):
            lines.append(" " + "  ".join("%.4f" % number for number in row[:11]))
            lines.append("  " + "  ".join("%.4f" % number for number in (*row[11:], price)))
        return addinfourl(io.BytesIO("\n".join(lines).encode() + b"\n"), Message(), address, 200)

    return urlopen


# --- TensorFlow Datasets

_made_tfds_pictures = {  # classes and pictures of each part
    "cats_vs_dogs": ("cat dog", {"train": 23262}),
    "horses_or_humans": ("horses humans", {"train": 1027, "test": 256}),
    "rock_paper_scissors": ("rock paper scissors", {"train": 2520, "test": 372}),
    "tf_flowers": ("dandelion daisy tulips sunflowers roses", {"train": 3670}),
    "beans": ("angular_leaf_spot bean_rust healthy", {"train": 1034, "validation": 133, "test": 128}),
}
_made_tfds_texts = {"imdb_reviews": (2, 25000, 25000), "ag_news_subset": (4, 120000, 7600)}


class _MadeInfo:
    """What is known of a data set: the attributes are those that programs ask for."""

    def __init__(self, **known):
        self.__dict__.update(known)

    def int2str(self, number):
        return self.names[int(number)]


def made_tfds_load(name, *, split=None, as_supervised=False, with_info=False, batch_size=None, **more):
    """Stub for `tensorflow_datasets.load`, for the data sets that are known here."""
    import tensorflow

    parts, classes, kind = _made_tfds_parts(str(name).partition(":")[0].partition("/")[0])

    def dataset(wanted):
        found = None
        for piece in str(wanted).split("+"):
            part, begin, end = _made_slice(piece, parts)
            values, labels = _made_tfds_rows(str(name).partition(":")[0].partition("/")[0], part, begin, end)
            row = (values, labels) if as_supervised else {kind: values, "label": labels}
            one = tensorflow.data.Dataset.from_tensor_slices(row)
            found = one if found is None else found.concatenate(one)
        return found.batch(batch_size) if batch_size else found

    def all_of(wanted):
        if isinstance(wanted, (list, tuple)):
            return [all_of(one) for one in wanted]
        return dataset(wanted)

    loaded = {part: dataset(part) for part in parts} if split is None else all_of(split)
    if not with_info:
        return loaded
    names = classes if isinstance(classes, list) else [str(number) for number in range(classes)]
    label = _MadeInfo(num_classes=len(names), names=names)
    features = {kind: _MadeInfo(shape=(None, None, 3) if kind == "image" else ()), "label": label}
    splits = {part: _MadeInfo(num_examples=count) for part, count in parts.items()}
    return loaded, _MadeInfo(features=features, splits=splits, name=str(name), supervised_keys=(kind, "label"))


def _made_tfds_parts(name):
    """The parts of a data set with their sizes, its classes (names or a number), and what it holds."""
    if name in _made_image_sets:
        training, testing, _shape, classes = _made_image_sets[name]
        return (
            {"train": training, "test": testing},
            _made_labels_of["CIFAR10"] if name == "cifar10" else classes,
            "image",
        )
    if name in _made_tfds_pictures:
        names, parts = _made_tfds_pictures[name]
        return parts, names.split(), "image"
    if name in _made_tfds_texts:
        classes, training, testing = _made_tfds_texts[name]
        return {"train": training, "test": testing}, ["neg", "pos"] if classes == 2 else classes, "text"
    raise ConnectionError("the data set %r of TensorFlow Datasets cannot be downloaded" % name)


def _made_slice(text, parts):
    """The part that `train[10%:20%]` names, and the range of its samples."""
    part, _bracket, inner = text.strip().partition("[")
    count = parts[part]
    begin, end = 0, count
    if inner:
        ends = inner.rstrip("]").split(":")
        places = []
        for place, otherwise in zip(ends, (0, count)):
            value = otherwise
            if place:
                value = count * int(place[:-1]) // 100 if place.endswith("%") else int(place)
            places.append(value + count if value < 0 else value)
        begin, end = places
    return part, begin, end


def _made_tfds_rows(name, part, begin, end):
    """The samples of a range and their labels, as arrays."""
    import numpy

    number = 0 if part == "train" else 1
    if name in _made_image_sets:
        values, labels = made_image_set(name, number == 0)
        values = values[..., None] if values.ndim == 3 else values
        return values[begin:end], labels[begin:end]
    count = min(end - begin, 400 if name in _made_tfds_pictures else 2500)
    if name in _made_tfds_pictures:
        classes = len(_made_tfds_pictures[name][0].split())
        values, labels = made_images(count, (160, 160, 3), classes, _made_seed(name), "uint8", number)
        return values, labels
    values, labels = made_text(count, _made_tfds_texts[name][0], _made_seed(name), 60, number)
    which = numpy.arange(begin, end) % count
    return values.astype(str)[which], labels[which]


def made_tfds(original):
    """Stub for `tensorflow_datasets.load`, where the package is installed."""
    return made_wraps(original)(lambda *args, **kwargs: made_tfds_load(*args, **kwargs))


def made_tfds_numpy(dataset):
    """Stub for `tensorflow_datasets.as_numpy`."""
    return (
        {key: made_tfds_numpy(value) for key, value in dataset.items()}
        if isinstance(dataset, dict)
        else (dataset.as_numpy_iterator() if hasattr(dataset, "as_numpy_iterator") else dataset.numpy())
    )
