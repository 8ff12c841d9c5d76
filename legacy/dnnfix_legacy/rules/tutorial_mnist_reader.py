"""`tensorflow.examples.tutorials.mnist`: the MNIST reader of the TensorFlow 1 tutorials, which TensorFlow removed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddDefinition,
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Hit,
    RemoveArgument,
    Replace,
    Source,
    Subject,
    added,
    uses_of,
)
from dnnfix.detect.versioning.migration import Claims
from dnnfix.detect.versioning.tutorials import reads_for_torch

MODULE = "tensorflow.examples.tutorials.mnist"
LEARNED = "tensorflow.contrib.learn.python.learn.datasets"
SHORT = "tensorflow.contrib.learn.datasets"
READ = frozenset(
    {f"{place}.read_data_sets" for place in (f"{MODULE}.input_data", f"{LEARNED}.mnist", f"{SHORT}.mnist")}
)
LOAD = frozenset({f"{LEARNED}.load_dataset", f"{SHORT}.load_dataset"})
"""`load_dataset("mnist")` is `read_data_sets` without settings."""

NAMESPACE = "from types import SimpleNamespace"
EARLY = "from tensorflow.keras.datasets import mnist as keras_mnist"
"""The images, for a program that reads them before it imports the rest of TensorFlow."""
KEPT = {"one_hot": "False", "reshape": "True", "validation_size": "5000"}
"""The settings that the reader keeps, and what they are if not given."""
MEMBERS = frozenset({"images", "labels", "num_examples", "epochs_completed", "next_batch"})
"""What the program may ask of a part of the data."""

DATA_SET = '''\
class DataSet:
    """Images and labels of MNIST, in batches that are shuffled anew for each epoch."""

    def __init__(self, images, labels):
        self.images, self.labels, self.num_examples = images, labels, len(images)
        self.epochs_completed, self._waiting = 0, np.random.permutation(len(images))

    def next_batch(self, batch_size):
        if len(self._waiting) < batch_size:
            self._waiting = np.append(self._waiting, np.random.permutation(self.num_examples))
            self.epochs_completed += 1
        chosen, self._waiting = np.split(self._waiting, [batch_size])
        return self.images[chosen], self.labels[chosen]
'''


def reader(*given: str, validation: bool = False, torch: bool = False) -> str:
    """What takes the reader's place, with the settings that a program gives: `np` is NumPy and `tf` TensorFlow.

    In a program of torch the images come from torchvision, and are kept in the folder that is named.
    """
    settings = [f"{name}={usual}" for name, usual in KEPT.items() if name in given]
    encoded = "np.eye(10)[labels] if one_hot else labels" if "one_hot" in given else "labels"
    first = "validation_size" if "validation_size" in given else KEPT["validation_size"]
    aside = f"        validation=DataSet(images[:{first}], labels[:{first}]),\n" if validation else ""
    shape = "[-1, 784] if reshape else [-1, 28, 28, 1]" if "reshape" in given else "[-1, 784]"
    taken = "    for images, labels in tf.keras.datasets.mnist.load_data():"
    if torch:
        settings.insert(0, "train_dir")
        taken = """\
    for train in (True, False):
        data = torchvision.datasets.MNIST(train_dir, train=train, download=True)
        images, labels = data.data.numpy(), data.targets.numpy()"""
    return f'''\
{DATA_SET}

def read_data_sets({", ".join(settings)}):
    """MNIST as the reader of TensorFlow's tutorials gave it: from 0 to 1, the first images put aside for validation."""
    parts = []
{taken}
        images = np.multiply(images, 1 / 255, dtype=np.float32).reshape({shape})
        parts.append((images, {encoded}))
    (images, labels), test = parts
    return SimpleNamespace(
        train=DataSet(images[{first}:], labels[{first}:]),
{aside}        test=DataSet(*test),
    )'''


PARAMETERS = ("train_dir", "fake_data", "one_hot", "dtype", "reshape", "validation_size")
"""What the reader is given by place."""


class TutorialMnistReader(ApiChange):
    """`input_data.read_data_sets` went with the tutorials of TensorFlow 1; `keras.datasets.mnist` has the same images.

    A reader of the same results is put into the program: images from 0 to 1 as rows of 784, labels as numbers or one-hot,
    5,000 images for validation, and `next_batch`. The folder that was named goes: Keras keeps the file in its own. A
    program of torch that has no other use for TensorFlow gets the images from torchvision instead. The reader of
    `tf.contrib.learn.datasets` is the same one.

    Fix safety: unsafe: batches come in another order, and the images from another place.

    References: https://www.tensorflow.org/api_docs/python/tf/keras/datasets/mnist/load_data.
    """

    code = "DNF541"
    name = "tutorial-mnist-reader"
    message = "the MNIST reader was removed with the tutorials of TensorFlow 1; {module} has the images"
    triggers = ("read_data_sets", "load_dataset", "tutorials")

    def claims(self, subject: Subject) -> Claims:
        """The module of the reader, wherever it is used."""
        return Claims(frozenset({MODULE}))

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The imports of the reader, with its calls."""
        source = subject.source
        if source.words.isdisjoint({"read_data_sets", "load_dataset"}):
            return
        imports = sorted(
            (statement for statement in uses_of(source).imports() if all(map(_of_reader, _names(statement)))),
            key=lambda statement: statement.lineno,
        )
        calls = [
            call
            for call in source.all_calls
            if source.written(call.func) in READ | LOAD and not _is_other(source, call)
        ]
        among = any(_of_reader(name) for statement in uses_of(source).imports() for name in _names(statement))
        if not imports and not calls and not among:
            return
        mixed = among and not imports
        reason = _reason(source, calls, mixed) if calls else "where the reader is called cannot be read"
        torch = reads_for_torch(source)
        has = "torchvision" if torch else "keras.datasets.mnist"
        yield Hit(
            source.site(imports[0] if imports else calls[0]),
            self.message.format(module=has),
            title=f"read MNIST with {'torchvision' if torch else 'Keras'}",
            edits=() if reason else tuple(_edits(source, imports, calls)),
            decline=reason,
            removed={"tensorflow": "2.0"},
        )

    programs = f"""
=== example: batches of images with one-hot labels
import numpy as np
import tensorflow as tf
- from tensorflow.examples.tutorials.mnist import input_data
+ from types import SimpleNamespace

- mnist = input_data.read_data_sets("MNIST_data/", one_hot=True)
+
{added(reader("one_hot"))}
+
+
+ mnist = read_data_sets(one_hot=True)
for _ in range(mnist.train.num_examples // 100):
    images, labels = mnist.train.next_batch(100)
print(np.mean(mnist.test.images))

=== example: the module by its whole name, and no NumPy yet
import tensorflow as tf
- import tensorflow.examples.tutorials.mnist.input_data as input_data
+ from types import SimpleNamespace
+ import numpy as np

- data = input_data.read_data_sets(train_dir="data", reshape=False)
+
{added(reader("reshape", validation=True))}
+
+
+ data = read_data_sets(reshape=False)
print(tf.reduce_mean(data.validation.images))

=== example: the function alone, inside of another one
import numpy as np
import tensorflow as tf
+ from types import SimpleNamespace
+
+
{added(reader())}
+

RATE = 0.1


def main():
-     from tensorflow.examples.tutorials.mnist.input_data import read_data_sets

-     mnist = read_data_sets("/tmp/data")
+     mnist = read_data_sets()
    return mnist.train.epochs_completed


main()

=== example: the package that holds the reader, which is told where from and what not
import tensorflow as tf
- from tensorflow.examples.tutorials import mnist
+ from types import SimpleNamespace
import numpy as np

- train_data = mnist.input_data.read_data_sets("data", False, one_hot=True, source_url="http://yann.lecun.com/").train
+
{added(reader("one_hot"))}
+
+
+ train_data = read_data_sets(one_hot=True).train
print(tf.__version__, np.sum(train_data.images))

=== example: images that are read before the rest is imported
- from tensorflow.examples.tutorials.mnist import input_data
+ from types import SimpleNamespace
+ import numpy as np
{added(EARLY)}

- mnist = input_data.read_data_sets("/tmp/data/", one_hot=True)
+
{added(reader("one_hot").replace("tf.keras.datasets.mnist", "keras_mnist"))}
+
+
+ mnist = read_data_sets(one_hot=True)

import numpy as np
import tensorflow as tf

print(tf.reduce_mean(mnist.train.images), np.sum(mnist.test.labels))

=== example: the reader of tf.contrib.learn
import numpy as np
import tensorflow as tf
+ from types import SimpleNamespace

- mnist = tf.contrib.learn.datasets.load_dataset("mnist")
+
{added(reader())}
+
+
+ mnist = read_data_sets()
labels = np.asarray(mnist.train.labels, dtype=np.int32)

=== example: a program of torch
import torch
import numpy as np
- from tensorflow.examples.tutorials.mnist import input_data
+ from types import SimpleNamespace
+ import torchvision

- mnist = input_data.read_data_sets("../MNIST_data", one_hot=True)
+
{added(reader("one_hot", torch=True))}
+
+
+ mnist = read_data_sets("../MNIST_data", one_hot=True)
x, y = mnist.train.next_batch(32)
print(torch.from_numpy(x).shape, np.argmax(y, axis=1))

=== reject: a reader of the program's own
import tensorflow as tf
import input_data  # copied from the tutorials

mnist = input_data.read_data_sets("MNIST_data/", one_hot=True)
print(tf.constant(mnist.train.images))

=== reject: another data set of tf.contrib.learn
import tensorflow as tf

iris = tf.contrib.learn.datasets.load_dataset("iris")

=== reject: the images from Keras
import tensorflow as tf

(images, labels), (test_images, test_labels) = tf.keras.datasets.mnist.load_data()
"""


def _names(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """The qualified names that a statement imports."""
    module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    return [module + alias.name for alias in statement.names]


def _of_reader(name: str) -> bool:
    """Whether a qualified name is of the reader, and of nothing else."""
    places = (f"{MODULE}.input_data", f"{LEARNED}.mnist", f"{SHORT}.mnist")
    return name == MODULE or name in LOAD or f"{name}.".startswith(tuple(f"{place}." for place in places))


def _is_other(source: Source, call: ast.Call) -> bool:
    """Whether a call of `load_dataset` asks for something else than MNIST."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    named = isinstance(given[0], ast.Constant) and given[0].value == "mnist" if len(given) == 1 else False
    return source.written(call.func) in LOAD and not named


def _settings(call: ast.Call) -> dict[str, ast.expr]:
    """What the reader is given, by parameter."""
    return {**dict(zip(PARAMETERS, call.args, strict=False)), **{str(k.arg): k.value for k in call.keywords}}


def _goes(name: str, value: ast.expr) -> bool:
    """Whether the reader does the same without a setting: where it reads from, no data that are made up, floats."""
    words = ast.unparse(value)
    return (
        (name == "fake_data" and words == "False")
        or (name == "source_url" and "fashion" not in words.lower())
        or (name == "dtype" and words.rpartition(".")[2].strip("'\"") == "float32")
    )


def _reason(source: Source, calls: list[ast.Call], mixed: bool) -> str:
    """Why the reader is not replaced."""
    if mixed:
        return "the reader is imported along with other names"
    if not uses_of(source).bound.isdisjoint({"DataSet", "SimpleNamespace"}):
        return "a name of the reader's is taken"
    for call in calls:
        left = {name for name, value in _settings(call).items() if not _goes(name, value)}
        by_place = len(call.args) > 2 or any(isinstance(arg, ast.Starred) for arg in call.args)
        if source.written(call.func) in READ and (by_place or left - {*KEPT, "train_dir"}):
            return "the reader is called with settings that have no counterpart"
    for node in source.nodes(ast.Attribute):
        part = node.value
        if isinstance(part, ast.Attribute) and part.attr in ("train", "validation") and isinstance(node.ctx, ast.Load):
            made = source.constructor(part.value)
            if made in calls and node.attr not in MEMBERS | _kept_on(source, part.attr):
                return f"the data are asked for {node.attr}"
    for call in source.all_calls:
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "next_batch"
            and len(call.args) + len(call.keywords) > 1
        ):
            return "the data are asked for batches that are not shuffled"
    return ""


def _kept_on(source: Source, part: str) -> frozenset[str]:
    """What the program itself keeps on a part of the data: `data.train.cls = …`."""
    return frozenset(
        node.attr
        for node in source.nodes(ast.Attribute)
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Attribute) and node.value.attr == part
    )


def _edits(source: Source, imports: list[ast.Import | ast.ImportFrom], calls: list[ast.Call]) -> Iterator[Edit]:
    body = source.tree.body
    at_top = {a.asname or a.name: a.name for s in body if isinstance(s, ast.Import) for a in s.names}
    first = next((statement for statement in imports if statement in body), None)
    late = _imported_late(source, calls) if first is not None else frozenset()
    torch = reads_for_torch(source)
    brought = [
        NAMESPACE,
        *(["import numpy as np"] if "numpy" in late else []),
        *([EARLY] if late and not torch else []),
    ]
    for statement in imports:
        site = source.site(statement)
        yield Replace(site, "\n".join(brought)) if statement is first else Delete(site)
    if first is None:
        yield AddImport(NAMESPACE)
    given = {k.arg for call in calls for k in call.keywords if k.arg in KEPT}
    text = reader(*sorted(map(str, given)), validation="validation" in source.words, torch=torch)
    if late and not torch:
        text = text.replace("tf.keras.datasets.mnist.load_data", "keras_mnist.load_data")
    for package, usual in (("numpy", "np"), ("torchvision", "torchvision") if torch else ("tensorflow", "tf")):
        known = next((local for local, name in at_top.items() if name == package), None)
        if package in late or (late and package == "tensorflow"):
            continue
        if known is None:
            yield AddImport(f"import {package}{f' as {usual}' if usual != package else ''}")
        elif known != usual:
            text = re.sub(rf"\b{usual}\.", f"{known}.", text)
    for call in calls:
        site = source.site(call)
        yield Replace(source.site(call.func), "read_data_sets")
        stays = {*KEPT, "train_dir"} if torch else KEPT.keys()
        for place in range(1 if torch else 0, len(call.args)):
            yield RemoveArgument(site, "", place)
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg not in stays:
                yield RemoveArgument(site, keyword.arg)
    yield AddDefinition(text, after=source.site(first) if late and first is not None else None)


def _imported_late(source: Source, calls: list[ast.Call]) -> frozenset[str]:
    """Those packages of the reader's that the program imports only after it has read."""
    outside = [call.lineno for call in calls if source.enclosing(call, ast.FunctionDef) is None]
    lines: dict[str, int] = {}
    for statement in source.tree.body:
        for alias in statement.names if isinstance(statement, ast.Import) else []:
            lines.setdefault(alias.name, statement.lineno)
    return frozenset(
        package
        for package in ("numpy", "tensorflow", "torchvision")
        if min(outside, default=0) and lines.get(package, 0) > min(outside, default=0)
    )
