"""Samples, labels or predictions are handed to a model or a measure in a form that it does not take."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    CrashTemplate,
    Decline,
    Edit,
    Failure,
    Fault,
    InsertElement,
    Replace,
    SetArgument,
    Source,
    Subject,
    Wrap,
    argument_value,
    attribute_calls,
    change_data,
    failed_loading,
    first_argument,
    is_compile,
    keyword_value,
    method,
    reads,
    row_lengths,
    shape_of,
    sibling_inputs,
    spell,
    wanted_shape,
    within,
    words,
)

TEACHING = words("fit evaluate train_on_batch test_on_batch")
"""Methods of Keras models that take labels."""

TAKE_DATA = TEACHING | words("predict predict_on_batch")

SPLITTER = "sklearn.model_selection.train_test_split"

ARRAYS = words("numpy.array numpy.asarray")

TRAINING = re.compile(r"train(?:ing)?|tr|trn", re.IGNORECASE)

SPLIT = re.compile(r"train(?:ing)?|tr|trn|test(?:ing)?|te|val(?:id(?:ation)?)?|dev", re.IGNORECASE)
"""Words that names of a part of the data have, one by one."""

MEASURES = words(
    """accuracy_score balanced_accuracy_score classification_report cohen_kappa_score confusion_matrix f1_score
    fbeta_score hamming_loss jaccard_score matthews_corrcoef multilabel_confusion_matrix precision_recall_fscore_support
    precision_score recall_score zero_one_loss"""
)
"""Functions of `sklearn.metrics` that take classes on both sides."""

CLASSES = words("binary multiclass")
SCORES = "continuous-multioutput"
ROWS = "multilabel-indicator"

BINARY = re.compile(r"(?<!\w)(?:BCE\w*|binary_cross_?entropy\w*|BinaryCrossentropy|MultiLabel\w+)\b")
"""Losses that take each class by itself."""

OF_PICTURES = words("convert resize crop rotate transpose filter")
"""Methods of a picture that give a picture."""

TO_TENSORS = words("ToTensor PILToTensor ToImage to_tensor pil_to_tensor to_image")

PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions after which a method can be written without brackets."""


@reads(
    "ValueError TypeError IndexError",
    "Invalid dtype|could not convert string|Unrecognized data type|tuple index out of range",
    ast.Call,
)
def _labels_as_strings(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """The labels that a Keras model is trained on are the names of the classes, as strings: they are numbered."""
    node, source, subject = failure.node, failure.source, failure.subject
    labels = argument_value(node, "y", 1) if _calls(node, TEACHING) else None
    form, root = _form(source), _root(source, labels) if labels is not None else None
    if labels is None or not _are_strings(failure, labels) or form is None or root is None:
        return
    if not _one_root(source, root) or not _uses(source, root) or _has_own_order(source):
        return
    encoder, imports = spell(subject, "sklearn.preprocessing.LabelEncoder"), tuple[Edit, ...]()
    before, after = f"{encoder.code}().fit_transform(", ")"
    if encoder.imports:
        unique = spell(subject, "numpy.unique")
        before, after, imports = f"{unique.code}(", ", return_inverse=True)[1]", unique.imports
    if form == "row":
        rows = spell(subject, "keras.utils.to_categorical")
        before, after, imports = f"{rows.code}({before}", f"{after})", (*imports, *rows.imports)
    what = f"{failure.code(labels)} has the names of classes, where the loss takes numbers"
    title = "Number the classes" if form == "index" else "Make rows of the classes"
    yield failure.fault(labels, what, title, *change_data(subject, _uses(source, root), before, after), *imports)


@reads("ValueError TypeError", "", ast.Call)
def _sequences_of_other_lengths(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """Sequences of different lengths are given to a Keras model, which takes one array: they are filled up."""
    node, subject = failure.node, failure.subject
    given = first_argument(node) if {"keras", "tensorflow"} & failure.source.frameworks else None
    rows = row_lengths(subject, given) if given is not None else None
    if given is None or rows is None or rows[0] == rows[1]:
        return
    edits: tuple[Edit, ...] | None = None
    uneven = (
        "inhomogeneous",
        "setting an array element with a sequence",
    )  # in newer releases of NumPy, and in older ones
    if failure.source.qualified(node.func) in ARRAYS and any(said in failure.crash.message for said in uneven):
        edits = _where_made(subject, node)
    elif _calls(node, TAKE_DATA):
        edits = _where_given(failure, given)
    what = f"the sequences have between {rows[0]} and {rows[1]} elements, and a network takes one length"
    if edits:
        yield failure.fault(given, what, "Fill the sequences up to one length", *edits, prior=0.95)
    elif edits is not None:
        why = "the model states a smaller length than the longest sequence has"
        yield Fault(failure.site(given), what, (Decline(why),))


@reads(
    "ValueError", r"(?s)[Dd]ata cardinality is ambiguous.*?'?x'? sizes: (\d+)\s*'?y'? sizes: (\d+)(?:\s|$)", ast.Call
)
def _parts_of_other_lengths(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """Inputs and targets are handed to a Keras model in parts that do not have the same samples."""
    node, (first, second) = failure.node, map(int, failure.said.groups())
    for inputs, targets in _pairs(node) if isinstance(node.func, ast.Attribute) else ():
        if (_count(failure, inputs), _count(failure, targets)) not in ((None, None), (first, second)):
            continue
        found = _by_slices(failure, inputs, targets) or _by_names(failure, inputs, targets, (first, second))
        if found is not None:
            part = failure.source.enclosing(found[0], ast.Subscript) or found[0]
            what = f"{ast.unparse(part)} has other samples than what it is handed over with"
            yield failure.fault(found[0], what, f"Take {found[1]}", failure.exchange(*found))
            return


@reads("ValueError", r"can't handle a mix of ([\w-]+) and ([\w-]+) targets", ast.Call)
def _scores_as_classes(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A measure of scikit-learn that compares classes is given scores, or rows with a one at the class."""
    node, source, (on_left, on_right) = failure.node, failure.source, failure.said.groups()
    true, predicted = argument_value(node, "y_true", 0), argument_value(node, "y_pred", 1)
    if not _measures(source, node) or true is None or predicted is None:
        return
    changes: list[tuple[ast.expr, str]] = []
    if on_left == ROWS and (on_right in CLASSES or (on_right == SCORES and _one_class_per_row(source))):
        changes.append((true, "class"))
    elif on_left not in CLASSES:
        return
    if on_right == SCORES:
        if not changes and re.search(r"\bget_dummies\b|\bLabelBinarizer\b|\bOneHotEncoder\b", source.text):
            return
        changes.append((predicted, "class"))
    elif on_right == "continuous" and on_left == "binary":
        threshold = _threshold(source)
        if threshold is None:
            return
        changes.append((predicted, threshold))
    if changes:
        edits = (edit for each, how in changes for edit in _made_classes(failure, each, how))
        what = f"{failure.code(node.func)} takes classes and is given {on_left} and {on_right}"
        yield failure.fault(changes[-1][0], what, "Give the measure classes", *edits)


@reads("TypeError", r"default_collate: .*found <class 'PIL\.", ast.AST)
def _picture(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """The picture, in what hands it to the loader, and the edits that make a tensor of it."""
    loading = failed_loading(failure.subject)
    if loading is None:
        return
    found = _by_transform(failure.subject, loading.loaders[0])
    if found is None and loading.dataset is not None:
        found = _by_getter(failure.subject, loading.dataset)
    if found is not None:
        yield found


class DataInAnotherForm(CrashTemplate):
    """Samples, labels or predictions are handed to a model or a measure in a form that it does not take.

    Labels that are the names of the classes: a loss computes with numbers, `sparse_categorical_crossentropy` with the number of
    each sample's class, `categorical_crossentropy` with rows that have a one there, `binary_crossentropy` with 0 and 1. The names
    become numbers in the order of the alphabet, before the labels are split into those of the training and others, so that every
    part has the same numbers. A program that has sklearn's `LabelEncoder` uses it. Nothing is proposed for labels of a test that
    do not come from the same array, since they may lack a class, and for losses of a regression, and where the program has an
    order of its own for the names (`names[net.predict(x).argmax()]`), which is not that of the alphabet.

    Sequences of different lengths are no array of numbers: the rows have to be filled up to one length, which is the one that
    the model states, or else that of the longest sequence. Where the model states a smaller one nothing is proposed, since the
    ends of sequences would be cut off.

    Inputs and targets in parts that do not have the same samples: where the bounds of two slices differ (`x[:240]`, `y[:200]`),
    and another slice of the program goes on at one of the bounds (`x[240:]`) and none at the other, both take this one. Where the
    two names are of other parts (`x_train`, `y_test`), in a training the one that is not of the training becomes the array of the
    program that is, elsewhere the other way round, where it has as many samples. Everything else is declined: to cut the longer
    array would pair samples with the targets of others.

    `confusion_matrix(y_test, model.predict(x_test))` compares classes with what the network gives for each class. A row of scores
    becomes the class with the highest one, and so does a row with a one at its class; the probability of one sigmoid becomes 0 or
    1 at one half, the score of a network that is trained with logits at zero. All measures that the same name is given to are
    changed together. Where neither a sigmoid nor a loss of logits shows the threshold, or there are several classes and one score,
    nothing is proposed. Rows with several ones are told apart by the loss: categorical cross-entropy or a softmax, and no binary
    cross-entropy. Where rows were made of classes whose numbers are their own (`pandas.get_dummies`), the place in a row is no
    class.

    A `DataLoader` puts tensors, arrays and numbers into batches, and refuses a picture of PIL. It becomes a tensor where the
    dataset hands it out: of floats from 0 to 1, its channels first. A dataset that takes a `transform` is given one; a `Compose`
    that lacks the step gets it at its end. Reported where one picture in a sample can be told: of two, one may be a mask, whose
    numbers are not to be scaled.

    Fix safety: unsafe. The program could not run before; zeros are put before the shorter sequences.

    References: keras.losses.SparseCategoricalCrossentropy, numpy.unique (`return_inverse`), keras.utils.pad_sequences,
    keras.Model.fit ("Data cardinality is ambiguous"), sklearn.metrics.confusion_matrix, sklearn.utils.multiclass.type_of_target,
    torchvision.transforms.ToTensor, torch.utils.data.default_collate.
    """

    code = "DNF632"
    name = "data-in-another-form"
    formerly = (
        "DNF624",
        "picture-in-batch",
        "labels-as-text",
        "DNF636",
        "parts-of-other-lengths",
        "DNF639",
        "sequences-of-different-lengths",
        "DNF645",
        "scores-given-as-classes",
    )
    confidence = 0.9
    readings = (_labels_as_strings, _sequences_of_other_lengths, _parts_of_other_lengths, _scores_as_classes, _picture)

    programs = """
=== example: names drawn from an array
import keras
import numpy as np

x = np.random.rand(12, 4)
y = np.array(["cat", "dog", "cow"])[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
- net.fit(x, y, verbose=0)
+ net.fit(x, np.unique(y, return_inverse=True)[1], verbose=0)

=== example: a part of the labels is kept for a test
import keras
import numpy as np

x = np.random.rand(12, 4)
labels = np.array(["no", "yes"] * 6)
x_train, x_test = x[:8], x[8:]
+ labels = np.unique(labels, return_inverse=True)[1]
y_train, y_test = labels[:8], labels[8:]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
net.compile(loss="binary_crossentropy", optimizer="adam")
net.fit(x_train, y_train, validation_data=(x_test, y_test), verbose=0)

=== example: split by sklearn, with its encoder at hand
import keras
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder

x, kinds = np.random.rand(12, 4), np.array(["a", "b", "c"] * 4)
- x_train, x_test, kinds_train, kinds_test = train_test_split(x, kinds, random_state=0)
+ x_train, x_test, kinds_train, kinds_test = train_test_split(x, LabelEncoder().fit_transform(kinds), random_state=0)
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x_train, kinds_train, validation_data=(x_test, kinds_test), verbose=0)

=== example: rows with a one are wanted
import keras
import numpy as np


def train(samples, names):
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    net.compile("adam", keras.losses.CategoricalCrossentropy())
-     net.fit(samples, names, verbose=0)
+     net.fit(samples, keras.utils.to_categorical(np.unique(names, return_inverse=True)[1]), verbose=0)


train(np.random.rand(12, 4), np.array(["a", "b", "c"] * 4))

=== example: an array of objects
import keras
import numpy as np

rows = [[1, 2, 3], [4, 5], [6], [7, 8, 9]]
x, y = np.array(rows, dtype=object), np.array([0, 1, 1, 0])
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
- model.fit(x, y, verbose=0)
+ model.fit(keras.utils.pad_sequences(x, maxlen=3), y, verbose=0)

=== example: lists of words
import numpy as np
from keras import Sequential, layers
+ import keras

texts = [[1, 4, 2], [3, 3], [5], [2, 2, 1, 4]]
net = Sequential([layers.Embedding(6, 3), layers.LSTM(2), layers.Dense(1)])
net.compile(optimizer="sgd", loss="mse")
- net.fit(texts, np.ones(4), verbose=0)
+ net.fit(keras.utils.pad_sequences(texts), np.ones(4), verbose=0)

=== example: arrays that cannot be made
import keras
import numpy as np

measured = [[0.5, 1.0], [0.25, 0.5, 1.0], [2.0]]
later = [[0.5], [1.5, 1.0]]
- x_train = np.array(measured)
- x_test = np.array(later)
+ x_train = keras.utils.pad_sequences(measured, maxlen=3, dtype="float32")
+ x_test = keras.utils.pad_sequences(later, maxlen=3, dtype="float32")
model = keras.Sequential([keras.layers.Dense(2, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x_train, np.ones(3), verbose=0)
print(model.predict(x_test, verbose=0))

=== example: two bounds
import keras
import numpy as np

x = np.random.rand(20, 3)
y = x.sum(1)
- x_train, y_train = x[:16], y[:12]
+ x_train, y_train = x[:16], y[:16]
x_test, y_test = x[16:], y[16:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x_train, y_train, verbose=0)
print(net.evaluate(x_test, y_test, verbose=0))

=== example: the labels of another part
import keras
import numpy as np


def train(net, x_train, y_train, x_val, y_val):
-     net.fit(x_train, y_val, verbose=0)
+     net.fit(x_train, y_train, verbose=0)
    return net.evaluate(x_val, y_val, verbose=0)


x, y = np.random.rand(20, 3), np.random.rand(20)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
train(net, x[:16], y[:16], x[16:], y[16:])

=== example: data of the validation
import keras
import numpy as np

features, prices = np.random.rand(20, 3), np.random.rand(20)
cut = 15
train_features, train_prices = features[:cut], prices[:cut]
test_features, test_prices = features[cut:], prices[cut:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
- net.fit(train_features, train_prices, validation_data=(test_features, train_prices), verbose=0)
+ net.fit(train_features, train_prices, validation_data=(test_features, test_prices), verbose=0)

=== example: scores of three classes
import torch
from sklearn.metrics import accuracy_score, confusion_matrix

net = torch.nn.Linear(4, 3)
x, y = torch.randn(30, 4), torch.arange(30) % 3
with torch.no_grad():
    outputs = net(x)
- print(accuracy_score(y.numpy(), outputs.numpy()))
+ print(accuracy_score(y.numpy(), outputs.numpy().argmax(axis=1)))

=== example: probabilities of a sigmoid, in two measures
import keras
import numpy as np
from sklearn.metrics import classification_report, confusion_matrix

x = np.random.randn(16, 4).astype("float32")
y = np.arange(16) % 2
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="sgd", loss="binary_crossentropy")
model.fit(x, y, epochs=1, verbose=0)
y_pred = model.predict(x, verbose=0)
- print(confusion_matrix(y, y_pred))
- print(classification_report(y, y_pred, zero_division=0))
+ print(confusion_matrix(y, (y_pred > 0.5).astype(int)))
+ print(classification_report(y, (y_pred > 0.5).astype(int), zero_division=0))

=== example: rows with a one on both sides
import numpy as np
import torch
from sklearn import metrics

labels = np.eye(3)[np.arange(12) % 3]
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Softmax(dim=1))
scores = net(torch.randn(12, 2)).detach().numpy()
- print(metrics.f1_score(labels, scores, average="macro"))
+ print(metrics.f1_score(labels.argmax(axis=1), scores.argmax(axis=1), average="macro"))

=== example: pictures that are opened in the dataset
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, index):
        face = Image.fromarray(self.arrays[index]).convert("RGB")
-         return face, index % 2
+         return torch.from_numpy(np.array(face)).permute(2, 0, 1).float() / 255, index % 2


for faces, labels in DataLoader(Faces(np.zeros((4, 8, 8, 3), dtype=np.uint8)), batch_size=2):
    print(faces.shape, labels)

=== example: a transform that is not given
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
+ import numpy as np


class Grey(Dataset):
    def __init__(self, number, transform=None):
        self.number = number
        self.transform = transform

    def __len__(self):
        return self.number

    def __getitem__(self, i):
        picture = Image.new("L", (6, 6))
        if self.transform is not None:
            picture = self.transform(picture)
-         return picture
+         return torch.from_numpy(np.array(picture)).unsqueeze(0).float() / 255


batches = DataLoader(Grey(4), batch_size=4)
for batch in batches:
    print(batch.shape)

=== example: pictures kept in a list
import numpy
import torch
import torch.utils.data as data
from PIL import Image


class Kept(data.Dataset):
    def __init__(self):
        self.kept = [Image.new("RGB", (4, 4)) for _ in range(4)]
        self.names = list(range(4))

    def __getitem__(self, k):
-         return {"image": self.kept[k].resize((8, 8)), "name": self.names[k]}
+         return {"image": torch.from_numpy(numpy.array(self.kept[k].resize((8, 8)))).permute(2, 0, 1).float() / 255, "name": self.names[k]}

    def __len__(self):
        return 4


loader = data.DataLoader(Kept(), batch_size=2)
print(next(iter(loader))["image"].shape)

=== reject: a picture and its mask
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Masked(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        picture, mask = Image.new("RGB", (4, 4)), Image.new("L", (4, 4))
        return picture.convert("RGB"), mask.convert("L")


for picture, mask in DataLoader(Masked(), batch_size=2):
    print(picture, mask)

=== reject: a transform that a mask goes through as well
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Masked(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 2

    def __getitem__(self, i):
        picture, mask = Image.new("RGB", (4, 4)), Image.new("L", (4, 4))
        return self.transform(picture), self.transform(mask)


for picture, mask in DataLoader(Masked(transform=transforms.Compose([transforms.Resize(2)])), batch_size=2):
    print(mask.long())

=== reject: a mask that belongs to a tensor
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Masked(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        mask = Image.new("L", (4, 4))
        return torch.ones(3, 4, 4), mask.resize((4, 4))


for picture, mask in DataLoader(Masked(), batch_size=2):
    print(mask.long())

=== reject: pictures that are tensors already
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Made(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.from_numpy(np.array(Image.new("RGB", (4, 4)))).permute(2, 0, 1)


for picture in DataLoader(Made(), batch_size=2):
    print(picture.shape)

=== reject: an order of the names that predictions are read by
import keras
import numpy as np

names = ["dog", "cat", "cow"]
x, y = np.random.rand(12, 4), np.array(names)[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x, y, verbose=0)
print(names[net.predict(x[:1], verbose=0).argmax()])

=== reject: data in the forms that are taken
import keras
import numpy as np
from sklearn.metrics import accuracy_score

x, y = np.random.rand(20, 3), np.arange(20) % 3
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x[:16], y[:16], validation_data=(x[16:], y[16:]), verbose=0)
print(accuracy_score(y, net.predict(x, verbose=0).argmax(axis=1)))
rows = [[1, 2, 3], [4, 5, 6]]
net.fit(np.array(rows), np.ones(2), verbose=0)

=== reject: sequences of one length, as objects
import keras
import numpy as np

rows = np.array([[1, 2, 3], [4, 5, 6]], dtype=object)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows, np.ones(2), verbose=0)

=== reject: prices as text
import keras
import numpy as np

prices = np.array(["1.5", "2.5", "0.5", "3.0"])
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(np.random.rand(4, 4), prices, verbose=0)

=== reject: the samples are text
import keras
import numpy as np

net = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(np.array([["good"], ["bad"]]), np.array([0, 1]), verbose=0)

=== reject: rows that never reach a model
import keras
import numpy as np

table = np.array([[1, 2], [3]])
print(keras.__version__, table)

=== reject: two bounds that each go on
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(20)
x_train, x_test = x[:16], x[16:]
y_train, y_test = y[:12], y[12:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x_train, y_train, verbose=0)

=== reject: arrays of other lengths
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(18)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x, y, verbose=0)

=== reject: several classes and one score
import torch
from sklearn.metrics import accuracy_score

y = torch.arange(6) % 3
print(accuracy_score(y.numpy(), torch.sigmoid(torch.randn(6)).numpy()))

=== reject: two classes and a score of unknown scale
import torch
from sklearn.metrics import accuracy_score

y = torch.arange(6) % 2
print(accuracy_score(y.numpy(), torch.nn.Linear(2, 1)(torch.randn(6, 2)).detach().numpy()))
"""


def _calls(call: ast.Call, methods: frozenset[str]) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in methods


def _are_strings(failure: Failure[ast.Call], labels: ast.expr) -> bool:
    """Whether the run saw strings in the labels, and numbers in the inputs."""
    call, held = failure.crash.call, failure.held(labels)
    if held is not None and held.of == "str" and held.kind in ("list", "tuple"):
        return True
    if call is None or len(call.inputs) < 2 or call.inputs[1].site != failure.site(labels):
        return False
    inputs, targets = call.inputs[0].dtype or "", call.inputs[1]
    return (targets.dtype or "").startswith(("str", "<U")) and len(targets.shape or ()) == 1 and "str" not in inputs


def _form(source: Source) -> str | None:
    """What the one loss that is compiled takes: `index` of a class, or `row` with a one at it."""
    compiled = [call for call in source.all_calls if is_compile(call) and source.qualified(call.func) != "re.compile"]
    loss = argument_value(compiled[0], "loss", 1) if len(compiled) == 1 else None
    if loss is None:
        return None
    told = source.bindings(loss) if isinstance(loss, ast.Name) else (loss,)
    written = ast.unparse(told[0]).lower().replace("_", "") if len(told) == 1 else ""
    if "sparsecategoricalcrossentropy" in written or "binarycrossentropy" in written:
        return "index"
    return "row" if "categoricalcrossentropy" in written else None


def _root(source: Source, labels: ast.expr) -> ast.expr | None:
    """The labels as they were before parts of them were taken; `None` where that cannot be told."""
    for _ in range(4):
        before = _taken_from(source, labels)
        if before is None:
            return labels
        labels = before
    return None


def _taken_from(source: Source, labels: ast.expr) -> ast.expr | None:
    """The labels that these are a part of, by a slice or a split of sklearn."""
    if isinstance(labels, ast.Subscript) and isinstance(labels.slice, ast.Slice):
        return labels.value
    if not isinstance(labels, ast.Name):
        return None
    for statement in source.nodes(ast.Assign):
        target = statement.targets[0]
        if source.enclosing(statement, ast.FunctionDef) is not source.enclosing(labels, ast.FunctionDef):
            continue
        if isinstance(target, ast.Name) and target.id == labels.id:
            value = statement.value
            return value.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) else None
        if isinstance(target, ast.Tuple):
            for place, one in enumerate(target.elts):
                if isinstance(one, ast.Name) and one.id == labels.id:
                    return _of_tuple(source, statement.value, place)
    return None


def _of_tuple(source: Source, value: ast.expr, place: int) -> ast.expr | None:
    if isinstance(value, ast.Tuple) and len(value.elts) > place:
        part = value.elts[place]
        return part.value if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) else None
    if isinstance(value, ast.Call) and source.qualified(value.func) == SPLITTER and len(value.args) > place // 2:
        return value.args[place // 2]
    return None


def _one_root(source: Source, root: ast.expr) -> bool:
    """Whether all the labels that the models of the program are given come from the same array."""
    for call in source.all_calls:
        if not _calls(call, TEACHING):
            continue
        validation = keyword_value(call, "validation_data")
        given = [argument_value(call, "y", 1)]
        if isinstance(validation, ast.Tuple) and len(validation.elts) > 1:
            given.append(validation.elts[1])
        elif validation is not None:
            return False
        for one in given:
            behind = _root(source, one) if one is not None else root
            if behind is None or ast.unparse(behind) != ast.unparse(root):
                return False
    return True


def _uses(source: Source, root: ast.expr) -> list[ast.expr]:
    """The places where the labels are split or handed over."""
    if not isinstance(root, ast.Name):
        return [root]
    uses: list[ast.expr] = []
    for node in source.nodes(ast.Name):
        if node.id != root.id or not isinstance(node.ctx, ast.Load) or node.lineno < root.lineno:
            continue
        parent = source.parent(node)
        sliced = isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice)
        handed = isinstance(parent, ast.Call) and any(node is one for one in _labels_of(source, parent))
        validated = isinstance(parent, ast.Tuple) and isinstance(source.parent(parent), ast.keyword)
        same = source.enclosing(node, ast.FunctionDef) is source.enclosing(root, ast.FunctionDef)
        if same and (sliced or handed or validated):
            uses.append(node)
    return uses


def _labels_of(source: Source, call: ast.Call) -> list[ast.expr]:
    if source.qualified(call.func) == SPLITTER:
        return list(call.args)
    labels = argument_value(call, "y", 1)
    return [labels] if labels is not None and _calls(call, TEACHING) else []


def _has_own_order(source: Source) -> bool:
    """Whether elements are asked by their number of names that are listed in another order than that of the alphabet."""
    for node in source.nodes(ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            continue
        bound = source.bindings(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else ()
        lists: list[ast.List | ast.Tuple] = []
        for one in bound:
            lists += [*within(one, ast.List), *within(one, ast.Tuple)]
        for listed in lists:
            told = [one.value for one in listed.elts if isinstance(one, ast.Constant)]
            names = [one for one in told if isinstance(one, str)]
            if len(names) > 1 and len(names) == len(listed.elts) == len(set(names)) and names != sorted(names):
                return True
    return False


def _where_given(failure: Failure[ast.Call], given: ast.expr) -> tuple[Edit, ...]:
    """The edits where the sequences are handed over; none where the model would cut them."""
    subject = failure.subject
    nodes = sibling_inputs(subject, given)
    rows = [row_lengths(subject, node) for node in nodes]
    longest = max(one[1] for one in rows if one is not None)
    length = _stated_length(failure)
    if length is not None and length < longest:
        return ()
    if length is None and len({ast.dump(node) for node in nodes}) > 1:
        length = longest
    spelling = spell(subject, "keras.utils.pad_sequences")
    more = _more(length, all(one is None or one[2] for one in rows))
    return (*change_data(subject, nodes, f"{spelling.code}(", f"{more})", each=True), *spelling.imports)


def _stated_length(failure: Failure[ast.Call]) -> int | None:
    """The number of steps that the model was built for, where the run shows one."""
    call = failure.crash.call
    shape = wanted_shape(failure.subject, call) if call is not None else None
    if shape is None:
        begun = [
            call.inputs[0].shape
            for call in failure.subject.network.calls
            if call.phase == "symbolic" and call.inputs and call.inputs[0].origin == "symbolic"
        ]
        shape = begun[0] if begun else None
    return shape[1] if shape is not None and len(shape) > 1 else None


def _where_made(subject: Subject, crashed: ast.Call) -> tuple[Edit, ...] | None:
    """The edits where arrays are made of the sequences that a model gets; `None` where it gets something else."""
    source = subject.source
    found: list[tuple[ast.Call, ast.expr, tuple[int, int, bool]]] = []
    for call in source.all_calls:
        given = first_argument(call) if source.qualified(call.func) in ARRAYS and len(call.args) == 1 else None
        rows = row_lengths(subject, given) if given is not None else None
        if given is not None and rows is not None and rows[0] != rows[1] and _is_input(subject, call):
            found.append((call, given, rows))
    if not any(call is crashed for call, _, _ in found):
        return None
    longest = max(rows[1] for _, _, rows in found)
    spelling = spell(subject, "keras.utils.pad_sequences")
    edits: list[Edit] = []
    for call, given, rows in found:
        if any(keyword.arg != "dtype" for keyword in call.keywords):
            return None
        dtype = keyword_value(call, "dtype")
        more = _more(longest if len(found) > 1 else None, rows[2] or dtype is not None)
        more += f", dtype={subject.text(source.site(dtype))}" if dtype is not None else ""
        text = f"{spelling.code}({subject.text(source.site(given))}{more})"
        edits.append(Replace(source.site(call), text))
    return (*edits, *spelling.imports)


def _is_input(subject: Subject, made: ast.Call) -> bool:
    """Whether an array is handed to a model as its input: where it is made, or by the name that it gets."""
    statement = subject.source.parent(made)
    if isinstance(statement, ast.Call):
        return _calls(statement, TAKE_DATA) and first_argument(statement) is made
    if isinstance(statement, ast.Tuple):
        above = subject.source.parent(statement)
        return isinstance(above, ast.keyword) and above.arg == "validation_data" and statement.elts[0] is made
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    for call in subject.source.all_calls:
        first = first_argument(call)
        if _calls(call, TAKE_DATA) and isinstance(first, ast.Name) and first.id == target.id:
            return True
    return False


def _more(length: int | None, whole: bool) -> str:
    return (f", maxlen={length}" if length is not None else "") + ("" if whole else ', dtype="float32"')


def _pairs(call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The inputs and targets that a call hands over together."""
    inputs, targets = argument_value(call, "x", 0), argument_value(call, "y", 1)
    if inputs is not None and targets is not None:
        yield inputs, targets
    validation = keyword_value(call, "validation_data")
    if isinstance(validation, ast.Tuple) and len(validation.elts) == 2:
        yield validation.elts[0], validation.elts[1]


def _count(failure: Failure[ast.Call], data: ast.expr) -> int | None:
    shape = shape_of(failure.subject, data)
    return shape[0] if shape else None


def _by_slices(failure: Failure[ast.Call], inputs: ast.expr, targets: ast.expr) -> tuple[ast.expr, str] | None:
    """The bound that differs, and the one that it has to be."""
    source = failure.source
    first, second = _slice(source, inputs), _slice(source, targets)
    if first is None or second is None:
        return None
    whole = (_count(failure, first.value), _count(failure, second.value))
    bounds = list(zip(_bounds(first), _bounds(second), strict=True))
    unlike = [(a, b) for a, b in bounds if _code(a) != _code(b)]
    if whole[0] != whole[1] or len(unlike) != 1:  # what is not known of either does not count
        return None
    one, other = unlike[0]
    if one is None or other is None:
        return None
    of = {ast.unparse(first.value), ast.unparse(second.value)}
    rest = [
        _code(bound)
        for node in source.nodes(ast.Subscript)
        if node not in (first, second) and isinstance(node.slice, ast.Slice) and ast.unparse(node.value) in of
        for bound in _bounds(node)[:2]
    ]
    goes_on = [_code(each) in rest for each in (one, other)]
    if goes_on == [True, False]:
        return other, _code(one)
    return (one, _code(other)) if goes_on == [False, True] else None


def _bounds(part: ast.Subscript) -> tuple[ast.expr | None, ...]:
    bounds = cast(ast.Slice, part.slice)
    return bounds.lower, bounds.upper, bounds.step


def _code(bound: ast.expr | None) -> str:
    return ast.unparse(bound) if bound is not None else ""


def _slice(source: Source, data: ast.expr) -> ast.Subscript | None:
    """The slice of a variable that the data are."""
    for _ in range(2):
        if isinstance(data, ast.Subscript):
            plain = isinstance(data.slice, ast.Slice) and isinstance(data.value, ast.Name)
            return data if plain else None
        bound = _bound(source, data)
        if bound is None:
            return None
        data = bound
    return None


def _bound(source: Source, data: ast.expr) -> ast.expr | None:
    """What a name is given, by itself or in a tuple, where that happens once."""
    if not isinstance(data, ast.Name):
        return None
    found: list[ast.expr] = []
    for node in source.nodes(ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and target.id == data.id:
            found.append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            found += [given for one, given in pairs if isinstance(one, ast.Name) and one.id == data.id]
    return found[0] if len(found) == 1 else None


def _by_names(
    failure: Failure[ast.Call], inputs: ast.expr, targets: ast.expr, sizes: tuple[int, int]
) -> tuple[ast.expr, str] | None:
    """The name that is of another part than the call is about, and the one that it has to be."""
    if not isinstance(inputs, ast.Name) or not isinstance(targets, ast.Name):
        return None
    first, second = _part(inputs.id), _part(targets.id)
    if first is None or second is None or first.lower() == second.lower():
        return None
    of_fit = _calls(failure.node, frozenset({"fit"})) and inputs is argument_value(failure.node, "x", 0)
    kept = [bool(TRAINING.fullmatch(part)) is of_fit for part in (first, second)]
    if kept == [True, False]:
        wrong, part, size = targets, first, sizes[0]
    elif kept == [False, True]:
        wrong, part, size = inputs, second, sizes[1]
    else:
        return None
    name = _of_part(wrong.id, part)
    description = failure.crash.frames[-1].names.get(name)
    shape = description.get("shape") if isinstance(description, dict) else None
    return (wrong, name) if isinstance(shape, list) and shape[:1] == [size] else None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"(_)|(?<=[a-z])(?=[A-Z])", name) if word]


def _part(name: str) -> str | None:
    found = [word for word in _words(name) if SPLIT.fullmatch(word)]
    return found[0] if len(found) == 1 else None


def _of_part(name: str, part: str) -> str:
    """The name with another word for its part, in the capitals that its own word has."""
    changed = [
        (part.capitalize() if word[0].isupper() else part.lower()) if SPLIT.fullmatch(word) else word
        for word in _words(name)
    ]
    return "".join(changed)


def _measures(source: Source, call: ast.Call) -> bool:
    module, _, name = (source.qualified(call.func) or "").rpartition(".")
    return module.startswith("sklearn.metrics") and name in MEASURES


def _one_class_per_row(source: Source) -> bool:
    """Whether the program shows that each sample belongs to one class only."""
    softmax = {"softmax", "Softmax", "log_softmax", "LogSoftmax", "CrossEntropyLoss", "CategoricalCrossentropy"}
    if BINARY.search(source.text):
        return False
    return bool(source.words & softmax) or "categorical_crossentropy" in source.text


def _threshold(source: Source) -> str | None:
    """From which score on a sample belongs to the class; `None` where the program does not tell."""
    probabilities = source.words & {"sigmoid", "Sigmoid"} or re.search(r"""['"]sigmoid['"]""", source.text)
    logits = source.words & {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"} or re.search(
        r"from_logits\s*=\s*True", source.text
    )
    if bool(probabilities) == bool(logits):
        return None
    if probabilities and source.words & {"tanh", "Tanh", "sign"} and not BINARY.search(source.text):
        return None  # the sigmoid may be that of a layer within
    return "0.5" if probabilities else "0"


def _made_classes(failure: Failure[ast.Call], value: ast.expr, how: str) -> Iterator[Edit]:
    """The changes to a value, wherever a measure in the same function is given it."""
    source, call, held = failure.source, failure.node, failure.held(value)
    kind = held.kind if held is not None else _made_by(value)
    around = source.enclosing(call, ast.FunctionDef)
    text, place = ast.unparse(value), 0 if value is argument_value(call, "y_true", 0) else 1
    for measure in source.all_calls:
        given = argument_value(measure, ("y_true", "y_pred")[place], place)
        same = measure is call or isinstance(value, ast.Name)
        if given is None or not same or not _measures(source, measure) or ast.unparse(given) != text:
            continue
        if source.enclosing(measure, ast.FunctionDef) is around:
            yield from _around(failure.subject, given, kind, how)


def _around(subject: Subject, value: ast.expr, kind: str, how: str) -> Iterator[Edit]:
    site = subject.source.site(value)
    before, after = ("", "") if isinstance(value, PLAIN) else ("(", ")")
    if how == "class" and kind != "list":
        yield Wrap(site, before, f"{after}.argmax(axis=1)")
    elif how == "class":
        spelling = spell(subject, "numpy.argmax")
        yield from spelling.imports
        yield Wrap(site, f"{spelling.code}(", ", axis=1)")
    elif kind == "list":
        spelling = spell(subject, "numpy.array")
        yield from spelling.imports
        yield Wrap(site, f"({spelling.code}(", f") > {how}).astype(int)")
    else:
        whole = "int()" if kind == "torch.Tensor" else "astype(int)"
        yield Wrap(site, f"({before}", f"{after} > {how}).{whole}")


def _made_by(value: ast.expr) -> str:
    """The kind of what a call gives, as its last method tells."""
    method = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return {"tolist": "list", "cpu": "torch.Tensor", "detach": "torch.Tensor"}.get(method, "numpy.ndarray")


def _mend(subject: Subject, at: ast.expr, *ways: tuple[str, tuple[Edit, ...], float]) -> Fault:
    written = ast.unparse(at).partition("\n")[0]
    return Fault(subject.source.site(at), f"`{written}` is a picture of PIL, of which no batch can be made", ways)


def _by_transform(subject: Subject, loader: ast.Call) -> Fault | None:
    """The transform of torchvision that the dataset is given, with the step that it lacks, or the one it is not given."""
    source = subject.source
    given = argument_value(loader, "dataset", 0)
    made = source.constructor(given) if given is not None else None
    if made is None:
        return None
    transform = keyword_value(made, "transform")
    if transform is not None:
        steps = source.constructor(transform)
        composed = steps is not None and (source.qualified(steps.func) or "").endswith("transforms.Compose")
        if steps is None or not composed or not steps.args or not isinstance(steps.args[0], ast.List):
            return None
        owner = source.definition(made.func)
        if isinstance(owner, ast.ClassDef) and len(attribute_calls(owner, "transform")) > 1:
            return None  # a mask, whose numbers are not to be scaled, may go through it too
        listed = steps.args[0]
        inside = {one.attr for one in within(listed, ast.Attribute)} | {one.id for one in within(listed, ast.Name)}
        if inside & TO_TENSORS or any("Normalize" in one for one in inside):
            return None
        edits = (InsertElement(source.site(listed), len(listed.elts), _to_tensor(subject)),)
        return _mend(subject, listed, ("End the transform with a tensor", edits, 0.9))
    known = (source.qualified(made.func) or "").startswith("torchvision.datasets.")
    if not _imports_torchvision(subject) or not (known or _takes_transform(subject, made)):
        return None
    edit = SetArgument(source.site(made), "transform", _to_tensor(subject))
    return _mend(subject, made, ("Make tensors of the pictures", (edit,), 0.9))


def _takes_transform(subject: Subject, made: ast.Call) -> bool:
    """Whether the class of the program takes a transform that this call does not give it."""
    owner = subject.source.definition(made.func)
    setup = method(owner, "__init__") if isinstance(owner, ast.ClassDef) else None
    if setup is None:
        return False
    if isinstance(owner, ast.ClassDef) and len(attribute_calls(owner, "transform")) > 1:
        return False
    names = [one.arg for one in (*setup.args.args, *setup.args.kwonlyargs)]
    return "transform" in names and len(made.args) < names.index("transform")


def _imports_torchvision(subject: Subject) -> bool:
    return any(name.startswith("torchvision") for _, name in subject.source.imported_names)


def _to_tensor(subject: Subject) -> str:
    return f"{spell(subject, 'torchvision.transforms.ToTensor').code}()"


def _by_getter(subject: Subject, owner: ast.ClassDef) -> Fault | None:
    """The one picture that `__getitem__` returns, made a tensor there."""
    getter = method(owner, "__getitem__")
    returned = [node.value for node in ast.walk(getter) if isinstance(node, ast.Return)] if getter is not None else []
    if len(returned) != 1 or returned[0] is None:
        return None
    parts = _parts(returned[0])
    sure = [part for part in parts if _is_picture(subject, part)]
    unsure = [part for part in parts if isinstance(part, (ast.Name, ast.Subscript)) and not _is_number(subject, part)]
    pictures = sure or unsure[:1]
    if len(pictures) != 1 or pictures[0] is not parts[0]:
        return None  # behind something else it may be a mask
    return _mend(subject, pictures[0], *_ways(subject, pictures[0]))


def _parts(returned: ast.expr) -> list[ast.expr]:
    match returned:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.Dict(values=parts):
            return parts
    return [returned]


def _ways(subject: Subject, picture: ast.expr) -> tuple[tuple[str, tuple[Edit, ...], float], ...]:
    site = subject.source.site(picture)
    if _imports_torchvision(subject):
        made = spell(subject, "torchvision.transforms.ToTensor")
        return (("Make a tensor of the picture", (Wrap(site, f"{made.code}()(", ")"), *made.imports), 0.9),)
    tensor, array = spell(subject, "torch.from_numpy"), spell(subject, "numpy.array")
    before, imports = f"{tensor.code}({array.code}(", (*tensor.imports, *array.imports)
    colored = Wrap(site, before, ")).permute(2, 0, 1).float() / 255")
    grey = Wrap(site, before, ")).unsqueeze(0).float() / 255")
    return (
        ("Make a tensor of the picture", (colored, *imports), 0.9),
        ("Make a tensor of one channel of the picture", (grey, *imports), 0.8),
    )


def _is_picture(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is a picture, as far as the method that makes it tells."""
    source = subject.source
    if isinstance(node, ast.Name):
        values = [value for value in (source.bindings(node, node) or source.bindings(node)) if value is not node]
        return any(_is_picture(subject, value) for value in values)
    if isinstance(node, ast.Call):
        if (source.qualified(node.func) or "").startswith("PIL.Image."):
            return True
        return isinstance(node.func, ast.Attribute) and node.func.attr in OF_PICTURES
    return False


def _is_number(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is known to be a number or a tensor: computed, or made by a call."""
    if not isinstance(node, ast.Name):
        return False
    values = [value for value in subject.source.bindings(node, node) if value is not node]
    return bool(values) and all(isinstance(value, (ast.BinOp, ast.Constant, ast.Compare, ast.Call)) for value in values)
