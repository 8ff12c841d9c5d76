"""Stubs for the data sets of Keras, torchvision, scikit-learn and seaborn, with synthetic data.

They have the documented shapes, dtypes, ranges, classes and sizes; their content is synthetic and learnable.
"""

from dnnfix.reproduce.standins.learnable import (
    _made_words,
    made_images,
    made_masks,
    made_regression,
    made_table,
    made_text,
    made_tokens,
    made_word,
)
from dnnfix.reproduce.standins.wrapping import made_arguments, made_wraps


def _made_seed(name):
    """A number for each data set, so that two of them differ."""
    import zlib

    return zlib.crc32(name.encode()) % 1000


_made_image_sets = {  # training and test images, shape, classes
    "mnist": (60000, 10000, (28, 28), 10),
    "fashion_mnist": (60000, 10000, (28, 28), 10),
    "kmnist": (60000, 10000, (28, 28), 10),
    "qmnist": (60000, 60000, (28, 28), 10),
    "cifar10": (50000, 10000, (32, 32, 3), 10),
    "cifar100": (50000, 10000, (32, 32, 3), 100),
    "usps": (7291, 2007, (16, 16), 10),
    "semeion": (1593, 1593, (16, 16), 10),
    "svhn_train": (73257, 73257, (3, 32, 32), 10),
    "svhn_test": (26032, 26032, (3, 32, 32), 10),
    "svhn_extra": (531131, 531131, (3, 32, 32), 10),
    "stl10_train": (5000, 5000, (3, 96, 96), 10),
    "stl10_test": (8000, 8000, (3, 96, 96), 10),
    "stl10_unlabeled": (100000, 100000, (3, 96, 96), 10),
    "stl10_train+unlabeled": (105000, 105000, (3, 96, 96), 10),
    "emnist_byclass": (697932, 116323, (28, 28), 62),
    "emnist_bymerge": (697932, 116323, (28, 28), 47),
    "emnist_balanced": (112800, 18800, (28, 28), 47),
    "emnist_letters": (124800, 20800, (28, 28), 26),
    "emnist_digits": (240000, 40000, (28, 28), 10),
    "emnist_mnist": (60000, 10000, (28, 28), 10),
    "svhn_cropped": (73257, 26032, (32, 32, 3), 10),
    "stl10": (5000, 8000, (96, 96, 3), 10),
}


def made_image_set(name, train=True):
    """The images (uint8) and class indices (int64) of one part of a well-known data set."""
    training, testing, shape, classes = _made_image_sets[name]
    seed = _made_seed(name.partition("_t")[0].partition("_extra")[0])
    return made_images(training if train else testing, shape, classes, seed, "uint8", 0 if train else 1)


def made_keras_images(name, tests=None):
    """Stub for `load_data` of a module of keras.datasets with images; of the test images the first `tests`."""

    def stand_in(original):
        @made_wraps(original)
        def load_data(*args, **kwargs):
            import inspect

            given = made_arguments(original, args, kwargs)
            if given is None or given.get("label_mode", "fine") not in ("fine", "coarse"):
                return original(*args, **kwargs)
            parts = [made_image_set(name, train) for train in (True, False)]
            if given.get("label_mode") == "coarse":
                parts = [(x, y // 5) for x, y in parts]
            (x_train, y_train), (x_test, y_test) = parts
            x_test, y_test = x_test[:tests], y_test[:tests]
            if x_train.ndim == 4:
                names = inspect.unwrap(original).__globals__
                backend = names.get("backend") or names.get("K")
                if backend is not None and backend.image_data_format() == "channels_first":
                    x_train, x_test = x_train.transpose(0, 3, 1, 2), x_test.transpose(0, 3, 1, 2)
                y_train, y_test = y_train.reshape(-1, 1), y_test.reshape(-1, 1)
            return (x_train, y_train.astype("uint8")), (x_test, y_test.astype("uint8"))

        return load_data

    return stand_in


_made_text_sets = {  # training and test texts, classes, words, mean length
    "imdb": (25000, 25000, 2, 88587, 238),
    "reuters": (8982, 2246, 46, 30982, 145),
}


def _made_reviews(name, part, vocabulary, first, start):
    """Lists of token ids and their labels: some 2500 texts that differ, each met several times."""
    import numpy

    training, testing, classes, _words, length = _made_text_sets[name]
    samples, seed = (testing if part else training), _made_seed(name)
    distinct = min(samples, 2500)
    lists, labels = made_tokens(distinct, length, vocabulary, classes, seed, part, True, first)
    which = numpy.random.RandomState(seed + part).permutation(samples) % distinct
    begin = [] if start is None else [start]
    texts = numpy.empty(samples, dtype=object)
    texts[:] = [begin + lists[index] for index in which]
    return texts, labels[which]


def made_keras_texts(name):
    """Stub for `load_data` of keras.datasets.imdb or reuters."""

    def stand_in(original):
        @made_wraps(original)
        def load_data(*args, **kwargs):
            import numpy

            given = made_arguments(original, args, kwargs)
            if given is None:
                return original(*args, **kwargs)
            words = _made_text_sets[name][3]
            vocabulary = min(given.get("num_words") or words, words)
            index_from = given.get("index_from") or 0
            skip_top, unknown = given.get("skip_top") or 0, given.get("oov_char", 2)
            found = [_made_reviews(name, part, vocabulary, index_from + 1, given.get("start_char")) for part in (0, 1)]
            split = given.get("test_split", 0.2)
            if name == "reuters" and split != 0.2:
                together = [numpy.concatenate([part[index] for part in found]) for index in (0, 1)]
                cut = int(len(together[0]) * (1 - split))
                found = [(together[0][:cut], together[1][:cut]), (together[0][cut:], together[1][cut:])]
            parts = []
            for texts, labels in found:
                if given.get("maxlen"):
                    short = numpy.array([len(text) < given["maxlen"] for text in texts], dtype=bool)
                    texts, labels = texts[short], labels[short]
                if skip_top > index_from:
                    kept = [
                        [w if w >= skip_top else unknown for w in t if w >= skip_top or unknown is not None]
                        for t in texts
                    ]
                    texts = numpy.empty(len(kept), dtype=object)
                    texts[:] = kept
                parts.append((texts, labels))
            return tuple(parts)

        return load_data

    return stand_in


def made_word_index(name):
    """Stub for `get_word_index` of keras.datasets.imdb or reuters: words and their ranks from 1."""

    def stand_in(original):
        @made_wraps(original)
        def get_word_index(*args, **kwargs):
            if made_arguments(original, args, kwargs) is None:
                return original(*args, **kwargs)
            words = dict.fromkeys(_made_words)
            words.update((made_word(number), None) for number in range(_made_text_sets[name][3] - 4 - len(words)))
            return {word: rank for rank, word in enumerate(words, 1)}

        return get_word_index

    return stand_in


_made_tables = {  # rows, target range, then name and range of each column
    "boston_housing": (506, (5.0, 50.0), {
        "CRIM": (0.006, 89.0), "ZN": (0.0, 100.0), "INDUS": (0.46, 27.7), "CHAS": (0.0, 1.0), "NOX": (0.385, 0.871),
        "RM": (3.56, 8.78), "AGE": (2.9, 100.0), "DIS": (1.13, 12.1), "RAD": (1.0, 24.0), "TAX": (187.0, 711.0),
        "PTRATIO": (12.6, 22.0), "B": (0.32, 396.9), "LSTAT": (1.73, 38.0),
    }),
    "california_housing": (20640, (0.15, 5.0), {
        "MedInc": (0.5, 15.0), "HouseAge": (1.0, 52.0), "AveRooms": (0.85, 142.0), "AveBedrms": (0.33, 34.0),
        "Population": (3.0, 35682.0), "AveOccup": (0.69, 1243.0), "Latitude": (32.5, 42.0), "Longitude": (-124.4, -114.3),
    }),
}  # fmt: skip


def _made_within(values, low, high):
    """Values of mean 0 and deviation 1 brought into a range: its middle and a sixth of it as the deviation."""
    return (low + (high - low) * (values / 6.0 + 0.5)).clip(low, high)


def made_housing(name):
    """The rows and targets (float64) of a data set of houses, each column in its documented range."""
    import numpy

    rows, target, columns = _made_tables[name]
    x, y = made_regression(rows, len(columns), 1, _made_seed(name), "float64")
    ranges = list(columns.values())
    x = numpy.stack([_made_within(x[:, index], *ranges[index]) for index in range(len(ranges))], axis=1)
    if "CHAS" in columns:
        x[:, 3] = (x[:, 3] > 0.75).astype("float64")
    return x, _made_within(y[:, 0], *target)


def made_keras_table(name):
    """Stub for `load_data` of keras.datasets.boston_housing or california_housing."""

    def stand_in(original):
        @made_wraps(original)
        def load_data(*args, **kwargs):
            given = made_arguments(original, args, kwargs)
            if given is None:
                return original(*args, **kwargs)
            x, y = made_housing(name)
            if name == "california_housing":
                if given.get("version") == "small":
                    x, y = x[:600], y[:600]
                x, y = x[:, [7, 6, 1, 2, 3, 4, 5, 0]].astype("float32"), (y * 100000).astype("float32")
            cut = int(len(x) * (1 - given.get("test_split", 0.2)))
            return (x[:cut], y[:cut]), (x[cut:], y[cut:])

        return load_data

    return stand_in


_made_labels_of = {
    "MNIST": "0 - zero,1 - one,2 - two,3 - three,4 - four,5 - five,6 - six,7 - seven,8 - eight,9 - nine".split(","),
    "CIFAR10": "airplane automobile bird cat deer dog frog horse ship truck".split(),
}


def made_torchvision_arrays(name, most=None):
    """Stub for a class of torchvision.datasets that holds all images in memory: its constructor reads nothing.

    Of each part there are the first `most` images.
    """

    def stand_in(cls):
        original = cls.__init__

        def __init__(self, *args, **kwargs):
            given = made_arguments(original, (self,) + args, kwargs)
            split = given.get("split") if given is not None else None
            key = {"FashionMNIST": "fashion_mnist"}.get(name, name.lower())
            key = "%s_%s" % (key, split) if name in ("SVHN", "STL10", "EMNIST") else key
            if given is None or key not in _made_image_sets:  # as the library will say
                original(self, *args, **kwargs)
                return
            _made_torchvision_base(self, given)
            self.split = split
            if name == "QMNIST":
                self.what = given.get("what") or ("train" if given.get("train") else "test")
                self.compat = given.get("compat", True)
                train = self.what == "train"
            else:
                train = bool(given.get("train", True))
            self.train = train
            data, labels = made_image_set(key, train)
            _made_torchvision_fill(self, name, data[:most], labels[:most])

        cls.__init__ = made_wraps(original)(__init__)
        return cls

    return stand_in


def _made_torchvision_base(self, given):
    """What every data set of torchvision has."""
    try:
        from torchvision.datasets.vision import VisionDataset

        transforms = given.get("transforms")
        one = {} if transforms is not None else {key: given.get(key) for key in ("transform", "target_transform")}
        VisionDataset.__init__(self, given.get("root"), transforms, **one)
    except ImportError:
        self.root = given.get("root")
        self.transform, self.target_transform = given.get("transform"), given.get("target_transform")


def _made_torchvision_fill(self, name, data, labels):
    """Give a data set its images and labels in the form that its class keeps them in."""
    if name.endswith("MNIST"):
        import torch

        self.data = torch.from_numpy(data)
        self.targets = torch.from_numpy(labels + (1 if getattr(self, "split", "") == "letters" else 0))
        if name == "QMNIST":
            self.targets = torch.nn.functional.pad(self.targets.reshape(-1, 1), (0, 7))
        if name == "EMNIST":
            self.classes = self.classes_split_dict[self.split]
    elif name in ("SVHN", "SEMEION", "STL10"):
        self.data, self.labels = data, labels
        if name == "STL10":
            import numpy

            self.folds = None
            self.classes = "airplane bird car cat deer dog horse monkey ship truck".split()
            self.labels = {"unlabeled": numpy.full(len(labels), -1), "train+unlabeled": labels}.get(self.split, labels)
            if self.split == "train+unlabeled":
                self.labels[5000:] = -1
    else:
        self.data, self.targets = data, [int(label) for label in labels]
        if name.startswith("CIFAR"):
            count = 100 if name == "CIFAR100" else 10
            self.classes = _made_labels_of["CIFAR10"] if count == 10 else ["class_%d" % n for n in range(count)]
            self.class_to_idx = {label: number for number, label in enumerate(self.classes)}


_made_picture_sets = {  # size as (width, height), classes, and how many pictures each part has
    "Caltech101": ((300, 200), 101, {"": 8677}),
    "Caltech256": ((351, 300), 257, {"": 30607}),
    "Country211": ((500, 333), 211, {"train": 31650, "valid": 10550, "test": 21100}),
    "DTD": ((500, 400), 47, {"train": 1880, "val": 1880, "test": 1880}),
    "EuroSAT": ((64, 64), 10, {"": 27000}),
    "FER2013": ((48, 48), 7, {"train": 28709, "test": 7178}),
    "FGVCAircraft": ((1024, 695), 100, {"train": 3334, "val": 3333, "trainval": 6667, "test": 3333}),
    "Flowers102": ((625, 500), 102, {"train": 1020, "val": 1020, "test": 6149}),
    "Food101": ((512, 512), 101, {"train": 75750, "test": 25250}),
    "GTSRB": ((50, 50), 43, {"train": 26640, "test": 12630}),
    "ImageNet": ((500, 375), 1000, {"train": 1281167, "val": 50000}),
    "Imagenette": ((500, 375), 10, {"train": 9469, "val": 3925}),
    "Omniglot": ((105, 105), 964, {"": 19280}),
    "OxfordIIITPet": ((500, 375), 37, {"trainval": 3680, "test": 3669}),
    "PCAM": ((96, 96), 2, {"train": 262144, "val": 32768, "test": 32768}),
    "Places365": ((256, 256), 365, {"train-standard": 1803460, "train-challenge": 8026628, "val": 36500}),
    "RenderedSST2": ((448, 448), 2, {"train": 6920, "val": 872, "test": 1821}),
    "StanfordCars": ((640, 480), 196, {"train": 8144, "test": 8041}),
    "SUN397": ((500, 375), 397, {"": 108754}),
    "CelebA": ((178, 218), 40, {"train": 162770, "valid": 19867, "test": 19962, "all": 202599}),
    "VOCSegmentation": ((500, 375), 21, {"train": 1464, "val": 1449, "trainval": 2913, "test": 210}),
    "VOCDetection": ((500, 375), 20, {"train": 5717, "val": 5823, "trainval": 11540, "test": 4952}),
    "Cityscapes": ((2048, 1024), 35, {"train": 2975, "val": 500, "test": 1525, "train_extra": 19998}),
}
_made_gray_sets = ("FER2013", "Omniglot")
_made_gallery: dict = {}


def made_torchvision_pictures(name):
    """Stub for a class of torchvision.datasets that reads pictures one by one: each is made when asked for."""

    def stand_in(cls):
        original = cls.__init__

        def __init__(self, *args, **kwargs):
            given = made_arguments(original, (self,) + args, kwargs)
            size, classes, parts = _made_picture_sets[name]
            if given is None:
                original(self, *args, **kwargs)
                return
            split = given.get("split", given.get("image_set"))
            if split is None or "" in parts:
                split = "" if "" in parts else ("train" if given.get("train", True) else "test")
            if split not in parts:  # as the library will say
                original(self, *args, **kwargs)
                return
            _made_torchvision_base(self, given)
            self.split = self.image_set = split
            self.classes = ["class_%d" % number for number in range(classes)]
            self.class_to_idx = {label: number for number, label in enumerate(self.classes)}
            kinds = given.get("target_type", given.get("target_types"))
            kinds = kinds if isinstance(kinds, (list, tuple)) else [kinds]
            self.made = (size, classes, parts[split], list(kinds))
            self.target_type = self.target_types = list(kinds)

        def __len__(self):
            return self.made[2]

        def __getitem__(self, index):
            size, classes, length, kinds = self.made
            if not -length <= index < length:
                raise IndexError("index %d is out of range" % index)
            targets = [_made_picture(name, size, classes, index % length, kind) for kind in kinds]
            image = targets[0][0]
            target = targets[0][1] if len(targets) == 1 else tuple(part for _image, part in targets)
            if self.transform is not None and getattr(self, "transforms", None) is None:
                return self.transform(image), target
            return self.transforms(image, target) if self.transforms is not None else (image, target)

        cls.__init__ = made_wraps(original)(__init__)
        cls.__len__, cls.__getitem__ = __len__, __getitem__
        return cls

    return stand_in


def _made_picture(name, size, classes, index, kind):
    """One picture of a data set as a PIL image, with its target."""
    import numpy
    from PIL import Image

    width, height = size
    seed = _made_seed(name)
    if name in ("VOCSegmentation", "Cityscapes") or kind == "segmentation":
        few = 3 if kind == "segmentation" else min(classes, 4)
        images, masks = made_masks(1, (64, 64, 3), (64, 64), few, seed, "uint8", index)
        return Image.fromarray(images[0]).resize(size), Image.fromarray(masks[0].astype("uint8")).resize(size, 0)
    if name not in _made_gallery:
        few = 2 if name == "CelebA" else classes
        shape = (32, 32) if name in _made_gray_sets else (32, 32, 3)
        _made_gallery[name] = made_images(max(64, 2 * few), shape, few, seed)
    images, labels = _made_gallery[name]
    image, label = Image.fromarray(images[index % len(images)]).resize(size), int(labels[index % len(images)])
    if name == "CelebA":
        import torch

        sizes = {"identity": (10177,), "bbox": (1, 4), "landmarks": (1, 10)}
        if kind in sizes:
            random = numpy.random.RandomState(index)
            values = random.randint(1, 178, sizes[kind][-1]) if len(sizes[kind]) > 1 else random.randint(1, 10178)
            return image, torch.tensor(values)
        return image, torch.from_numpy(((numpy.arange(40) + label) % 2).astype("int64"))
    if name == "VOCDetection":
        box = {"xmin": "120", "ymin": "90", "xmax": "380", "ymax": "290"}
        thing = {"name": _made_voc[label], "bndbox": box, "difficult": "0", "truncated": "0", "pose": "Unspecified"}
        shape = {"width": str(width), "height": str(height), "depth": "3"}
        return image, {"annotation": {"filename": "%06d.jpg" % index, "size": shape, "object": [thing]}}
    return image, label


_made_voc = (
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep "
    "sofa train tvmonitor"
).split()


def _made_bunch(frame, x, y, columns, target, given, **more):
    """The forms in which scikit-learn's `fetch_` functions give a data set."""
    from sklearn.utils import Bunch

    data = x
    if frame:
        import pandas

        data = pandas.DataFrame(x, columns=columns)
        y = pandas.Series(y, name=target, dtype="category" if y.dtype == object else None)
        more["frame"] = pandas.concat([data, y], axis=1)
    if given.get("return_X_y"):
        return data, y
    return Bunch(data=data, target=y, feature_names=list(columns), target_names=[target], DESCR="made up", **more)


def made_sklearn_set(name):
    """Stub for a `fetch_` function of sklearn.datasets."""

    def stand_in(original):
        @made_wraps(original)
        def fetch(*args, **kwargs):
            given = made_arguments(original, args, kwargs)
            made = _made_fetched[name](given) if given is not None else None
            return original(*args, **kwargs) if made is None else made

        return fetch

    return stand_in


def _made_california(given):
    x, y = made_housing("california_housing")
    columns = list(_made_tables["california_housing"][2])
    return _made_bunch(given.get("as_frame"), x, y, columns, "MedHouseVal", given)


_made_openml = {
    "mnist_784": "mnist",
    "fashion-mnist": "fashion_mnist",
    "kuzushiji-mnist": "kmnist",
    "cifar_10": "cifar10",
}


def _made_fetch_openml(given):
    import numpy

    name = {554: "mnist_784", 40996: "fashion-mnist", 41982: "kuzushiji-mnist", 40927: "cifar_10"}.get(
        given.get("data_id"), str(given.get("name")).lower()
    )
    if name not in _made_openml:
        return None
    parts = [made_image_set(_made_openml[name], train) for train in (True, False)]
    x = numpy.concatenate([part[0] for part in parts])
    x = x.reshape(len(x), -1).astype("int64" if given.get("as_frame") else "float64")
    y = numpy.concatenate([part[1] for part in parts]).astype(str).astype(object)
    columns = ["pixel%d" % (number + 1) for number in range(x.shape[1])]
    return _made_bunch(given.get("as_frame") not in (False, None), x, y, columns, "class", given)


def _made_newsgroups(given):
    import numpy
    from sklearn.utils import Bunch

    names = _made_groups
    wanted = sorted(set(given.get("categories") or names) & set(names))
    sizes = {"train": 11314, "test": 7532, "all": 18846}
    samples = sizes[given.get("subset", "train")] * len(wanted) // len(names)
    distinct = min(samples, 1500)
    texts, labels = made_text(distinct, len(wanted), _made_seed("news"), 100, 1 if given.get("subset") == "test" else 0)
    which = numpy.arange(samples) % distinct
    data, target = [str(texts[index]) for index in which], labels[which]
    if given.get("return_X_y"):
        return data, target
    return Bunch(data=data, target=target, target_names=wanted, filenames=numpy.array(data), DESCR="made up")


_made_groups = (
    "alt.atheism comp.graphics comp.os.ms-windows.misc comp.sys.ibm.pc.hardware comp.sys.mac.hardware comp.windows.x "
    "misc.forsale rec.autos rec.motorcycles rec.sport.baseball rec.sport.hockey sci.crypt sci.electronics sci.med "
    "sci.space soc.religion.christian talk.politics.guns talk.politics.mideast talk.politics.misc talk.religion.misc"
).split()


def _made_olivetti(given):
    from sklearn.utils import Bunch

    images, target = made_images(400, (64, 64), 40, _made_seed("olivetti"), "float32")
    order = target.argsort(kind="stable")
    images, target = images[order], target[order]
    data = images.reshape(400, -1)
    return (
        (data, target) if given.get("return_X_y") else Bunch(data=data, images=images, target=target, DESCR="made up")
    )


def _made_lfw(given):
    from sklearn.utils import Bunch

    counts = {0: (13233, 5749), 20: (3023, 62), 30: (2370, 34), 50: (1560, 12), 60: (1348, 8), 70: (1288, 7)}
    least = given.get("min_faces_per_person") or 0
    samples, people = counts.get(least) or ((1140, 5) if least >= 71 else counts[max(k for k in counts if k <= least)])
    resize = given.get("resize", 0.5) or 1.0
    shape = (int(125 * resize), int(94 * resize)) + ((3,) if given.get("color") else ())
    images, target = made_images(samples, shape, people, _made_seed("lfw"), "float32")
    data = images.reshape(samples, -1)
    names = ["Person %d" % number for number in range(people)]
    if given.get("return_X_y"):
        return data, target
    return Bunch(data=data, images=images, target=target, target_names=names, DESCR="made up")


_made_fetched = {
    "fetch_california_housing": _made_california,
    "fetch_openml": _made_fetch_openml,
    "fetch_20newsgroups": _made_newsgroups,
    "fetch_olivetti_faces": _made_olivetti,
    "fetch_lfw_people": _made_lfw,
}


_made_frames: dict = {  # rows; then for each column a range of numbers (whole ones where both ends are), or its values
    "iris": (150, {
        "sepal_length": (4.3, 7.9), "sepal_width": (2.0, 4.4), "petal_length": (1.0, 6.9), "petal_width": (0.1, 2.5),
        "species": "setosa versicolor virginica".split(),
    }),
    "tips": (244, {
        "total_bill": (3.07, 50.81), "tip": (1.0, 10.0), "sex": "Male Female".split(), "smoker": "Yes No".split(),
        "day": "Thur Fri Sat Sun".split(), "time": "Lunch Dinner".split(), "size": (1, 6),
    }),
    "penguins": (344, {
        "species": "Adelie Chinstrap Gentoo".split(), "island": "Torgersen Biscoe Dream".split(),
        "bill_length_mm": (32.1, 59.6), "bill_depth_mm": (13.1, 21.5), "flipper_length_mm": (172.0, 231.0),
        "body_mass_g": (2700.0, 6300.0), "sex": "Male Female".split(),
    }),
    "titanic": (891, {
        "survived": [0, 1], "pclass": [1, 2, 3], "sex": "male female".split(), "age": (0.42, 80.0), "sibsp": (0, 8),
        "parch": (0, 6), "fare": (0.0, 512.33), "embarked": "S C Q".split(), "class": "First Second Third".split(),
        "who": "man woman child".split(), "adult_male": [True, False], "deck": list("ABCDEFG"),
        "embark_town": "Southampton Cherbourg Queenstown".split(), "alive": "no yes".split(), "alone": [False, True],
    }),
    "mpg": (398, {
        "mpg": (9.0, 46.6), "cylinders": [4, 6, 8], "displacement": (68.0, 455.0), "horsepower": (46.0, 230.0),
        "weight": (1613, 5140), "acceleration": (8.0, 24.8), "model_year": (70, 82),
        "origin": "usa europe japan".split(), "name": ["car %d" % n for n in range(300)],
    }),
}  # fmt: skip


def made_seaborn_frame(name):
    """A table with the documented columns, as a pandas frame: every column goes with the one that is predicted."""
    import numpy
    import pandas

    rows, columns = _made_frames[name]
    classes = 3 if name in ("iris", "penguins", "mpg") else 2
    numbers, labels = made_table(rows, len(columns), classes, _made_seed(name), "float64")
    labels = numpy.sort(labels)
    numbers = _made_apart(numbers, labels, classes)
    frame = {}
    for index, (column, values) in enumerate(columns.items()):
        if isinstance(values, tuple):
            spread = _made_within(numbers[:, index], *values)
            frame[column] = spread.round().astype("int64") if isinstance(values[0], int) else spread.round(2)
        elif len(values) == classes:
            frame[column] = numpy.array(values)[labels]
        else:
            place = numbers[:, index].argsort().argsort() * len(values) // rows
            frame[column] = numpy.array(values)[place]
    return pandas.DataFrame(frame)


def _made_apart(numbers, labels, classes):
    """The rows brought into the order of `labels`, with a shift for each class that a straight cut tells apart."""
    import numpy

    signs = numpy.where(numpy.arange(numbers.shape[1]) % 2, 1.0, -1.0)
    shift = (labels - (classes - 1) / 2.0).reshape(-1, 1) * signs
    return 0.4 * numbers + 1.3 * shift


def made_seaborn_set(original):
    """Stub for `seaborn.load_dataset`, for the data sets that are known here."""

    @made_wraps(original)
    def load_dataset(name, *args, **kwargs):
        return made_seaborn_frame(name) if name in _made_frames else original(name, *args, **kwargs)

    return load_dataset
