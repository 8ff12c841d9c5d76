"""A name, method, attribute or argument that the installed libraries no longer have, or have under another name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
    RemoveArgument,
    Replace,
    Subject,
    changed_calls,
    changed_imports,
    keras_backend,
    migration,
    overrides,
    parsed_settings,
    training_loop,
    uses_of,
)

ELSEWHERE = keras_backend.APART | {
    "keras.wrappers.scikit_learn",
    "numpy.NINF",
    "keras.backend.function",
    "pandas.DataFrame.from_csv",
    "pandas.Series.from_csv",
    "scipy.misc.imread",
    "scipy.misc.imresize",
    "scipy.ndimage.imread",
    "tensorflow.summary.FileWriter",
    "tensorflow.train.SummaryWriter",
}
"""Names whose uses another rule repairs; here they are only removed from imports."""

INITIALIZERS = "keras.initializations"
"""A module of functions of a shape, which are classes today; a rule that rewrites such calls claims this name."""

VERSION_1 = "tensorflow.compat.v1"

OF_GRAPHS = {
    "all_variables": "global_variables",
    "initialize_all_variables": "global_variables_initializer",
    "initialize_local_variables": "local_variables_initializer",
    "initialize_variables": "variables_initializer",
    **dict.fromkeys(
        (
            "ConfigProto", "Session", "add_to_collection", "assign", "get_collection", "get_default_graph", "get_variable",
            "get_variable_scope", "global_variables", "global_variables_initializer", "local_variables",
            "local_variables_initializer", "placeholder", "reset_default_graph", "trainable_variables", "variable_scope",
            "variables_initializer",
        )
    ),
}  # fmt: skip
"""Names for graphs that TensorFlow 2 only has in compat.v1, with their name there if it differs."""


OF_ARGUMENTS = frozenset({"keep_prob", "weights"})
"""Keywords that another rule repairs."""

SOLVERS = {
    "torch.solve": ("torch.linalg.solve", ""),
    "torch.gesv": ("torch.linalg.solve", ""),
    "torch.lstsq": ("torch.linalg.lstsq", ".solution"),
    "torch.gels": ("torch.linalg.lstsq", ".solution"),
}
"""By former function, which returned a solution and a factorization: today's, and how it returns the solution."""

EIGEN = {"torch.symeig": "torch.linalg.eigh", "torch.eig": "torch.linalg.eig"}


class RemovedName(ApiChange):
    """A name was moved or removed: an import, a function, a method or attribute, a keyword or a literal argument.

    Keras 3 has no `keras.layers.core` and no `np_utils`, NumPy no `np.int`, scikit-learn no `cross_validation`. Where a
    name only moved, the import is changed in place and its uses follow; unused names are removed from imports. Imports
    in a `try` with `except ImportError` are left alone. What Keras 3 has under a private name only, such as
    `ImageDataGenerator` and `Tokenizer`, is imported from TensorFlow where that is installed.

    The object of a method or attribute is known from its constructor, or from a name that no other class has. Renamed
    keywords (`Dense(output_dim=…)`, `fit(nb_epoch=…)`, `Adam(lr=…)`) are renamed in place; one that only chose how to
    compute is dropped; one whose effect would be lost is declined with a reason. Arguments that pandas, scikit-learn
    and seaborn accept by keyword only get their keyword: `df.drop("x", 1)` is `df.drop("x", axis=1)`.

    What packages lost over their releases is read from tables that their own sources gave: keywords that moved into an
    object of settings are given there (`SFTTrainer(…, packing=True)` to `SFTConfig`), where the program makes it; methods that a class
    defines for a library that calls them no more (`training_step_end`) are named. What Lightning 1 called with the outputs
    of an epoch (`validation_epoch_end`) is a hook without them today, for which the module collects them; a step that it
    called for each optimizer is called by the module itself; and what was returned to be logged is logged.

    A package that lives on under another name (`gym` as `gymnasium`, `pytorch_transformers` as `transformers`) is spoken of
    where a run missed it, and its successor is installed.

    Functions of linear algebra whose arguments and results changed are rewritten: `symeig(A, eigenvectors=True)` is
    `linalg.eigh(A)`; `solve(B, A)` is `linalg.solve(A, B)`, which only returns the solution, where only that is used.

    Fix safety: safe where the data file says that the new name means the same; otherwise unsafe, as for
    `keras.optimizers.legacy`, whose replacements have arguments of their own, for a keyword that had an effect, and for
    `eigh`, which reads the lower triangle where `symeig` read the upper one.

    References: `fix_templates/data/*.toml` have one for each name; https://keras.io/guides/migrating_to_keras_3/;
    https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes;
    https://pandas.pydata.org/docs/whatsnew/v1.0.0.html;
    https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html;
    https://docs.pytorch.org/docs/stable/generated/torch.linalg.solve.html.
    """

    code = "DNF501"
    name = "removed-name"
    message = "{name} was removed in {package} {version}; use {new}"
    formerly = (
        "DNF502",
        "removed-argument",
        "DNF503",
        "removed-method",
        "DNF511",
        "removed-linear-algebra",
    )

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source, claims = subject.source, migration.claimed(subject)
        uses = uses_of(source)
        uses.saw(subject.trace.versions if subject.trace is not None else ())
        initializers = INITIALIZERS not in claims.names and _calls_initializers(subject)
        for found in changed_imports.renamed_names(uses, claims):
            hit = _of_version_1(subject, found)
            if initializers and INITIALIZERS in hit.what:
                hit = replace(
                    hit,
                    edits=(),
                    decline="an initializer is now an object, which is created with its scale and called with a shape",
                )
            old = str(hit.evidence.get("old"))
            if not hit.decline or old not in ELSEWHERE and not uses.has_form(old):
                yield hit
        yield from keras_backend.compared_orderings(source)
        yield from (hit for hit in changed_calls.changed_methods(uses) if not claims.covers(hit))
        for hit in changed_calls.changed_arguments(uses):
            if not claims.covers(hit) and hit.evidence.get("old") not in OF_ARGUMENTS | claims.names:
                yield hit
        yield from parsed_settings.changed_settings(uses)
        yield from _linear_algebra(subject)
        yield from overrides.overridden_methods(subject, uses)

    programs = """
=== example: the ordering of axes is compared
from keras import backend as K

- if K.image_dim_ordering() == 'th':
+ if K.image_data_format() == 'channels_first':
    shape = (1, 28, 28)
else:
    shape = (28, 28, 1)

=== example: modules of Keras 2 in from-imports
from keras.models import Sequential
- from keras.layers.core import Dense, Dropout  # layers
- from keras.layers.convolutional import (
+ from keras.layers import Dense, Dropout  # layers
+ from keras.layers import (
    Conv2D,
    MaxPooling2D,
)

model = Sequential([Dense(4), Dropout(0.5)])

=== example: keywords of a trainer that moved into its settings
- from transformers import AutoModelForCausalLM, TrainingArguments
+ from transformers import AutoModelForCausalLM
from trl import SFTTrainer
+ from trl import SFTConfig

model = AutoModelForCausalLM.from_pretrained("gpt2")
- args = TrainingArguments("out", per_device_train_batch_size=4)
- trainer = SFTTrainer(model, args=args, train_dataset=texts, max_seq_length=512, packing=True)
+ args = SFTConfig("out", per_device_train_batch_size=4, max_length=512, packing=True)
+ trainer = SFTTrainer(model, args=args, train_dataset=texts)

=== example: the outputs of an epoch, which Lightning 2 does not collect
import pytorch_lightning as pl
import torch


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
+         self.validation_step_outputs = []
        self.layer = torch.nn.Linear(2, 1)

    def validation_step(self, batch, batch_idx):
        return self.layer(batch).mean()

-     def validation_epoch_end(self, outputs):
+     def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0):
+         self.validation_step_outputs.append(outputs)
+
+     def on_validation_epoch_end(self):
+         outputs, self.validation_step_outputs = self.validation_step_outputs, []
        self.log("loss", torch.stack(outputs).mean())

=== example: np_utils became part of keras.utils
from keras.models import Sequential
- from keras.utils import np_utils
+ from keras.utils import to_categorical

- y_train = np_utils.to_categorical([0, 1, 2], 3)
- y_test = np_utils.to_categorical([2, 1, 0], 3)
+ y_train = to_categorical([0, 1, 2], 3)
+ y_test = to_categorical([2, 1, 0], 3)

=== example: modules that are imported and not used
- import math, torch.nn._functions as internal
+ import math
import torch
- import torch.legacy.nn as legacy

print(math.sqrt(2), torch.ones(2))

=== example: a layer that is imported and not used
import numpy as np
- from keras.utils.np_utils import to_categorical
- from keras.layers import Dense, Dropout, Merge
+ from keras.utils import to_categorical
+ from keras.layers import Dense, Dropout

labels = to_categorical(np.arange(4))
layer = Dense(3)

=== example: an optimizer in lower case
import keras

model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
- model.compile(optimizer=keras.optimizers.rmsprop(), loss="binary_crossentropy")
+ model.compile(optimizer=keras.optimizers.RMSprop(), loss="binary_crossentropy")

=== example: NumPy's aliases of builtins
import numpy as np
import torch

- labels = torch.from_numpy(np.array([0, 1], dtype=np.int)).long()
- mask = np.zeros(3, dtype=np.float)
+ labels = torch.from_numpy(np.array([0, 1], dtype=int)).long()
+ mask = np.zeros(3, dtype=float)

=== example: functions of keras.backend that are in keras.ops now
from keras import backend as K
+ from keras import ops


def rmse(y_true, y_pred):
-     return K.sqrt(K.mean(K.square(y_pred - y_true), axis=-1) + K.epsilon())
+     return ops.sqrt(ops.mean(ops.square(y_pred - y_true), axis=-1) + K.epsilon())

=== example: what TensorFlow shows and Keras 3 does not
import tensorflow as tf
- from keras.preprocessing.image import ImageDataGenerator, img_to_array
- from keras.preprocessing.text import Tokenizer
+ from keras.preprocessing.image import img_to_array
+ from tensorflow.keras.preprocessing.image import ImageDataGenerator
+ from tensorflow.keras.preprocessing.text import Tokenizer

words = Tokenizer(num_words=100)
images = ImageDataGenerator(rescale=1 / 255)
print(tf.reduce_sum(img_to_array(picture)))

=== example: a name of graphs in a program that has the others from compat.v1
import tensorflow as tf

graph = tf.Graph()
with graph.as_default(), tf.compat.v1.Session() as sess:
    weight = tf.compat.v1.get_variable("weight", [2])
-     for variable in tf.all_variables():
+     for variable in tf.compat.v1.global_variables():
        sess.run(variable.initializer)

=== example: a name that went before version 1, below compat.v1
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 3])
- y = tf.reduce_sum(tf.mul(x, x), 1)
+ y = tf.reduce_sum(tf.multiply(x, x), 1)

=== example: probabilities of a sequential model
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(1, activation="sigmoid"))
- print(model.predict_proba(x))
+ print(model.predict(x))

=== example: the rate of an optimizer, read and set, where a class of the program has one too
from keras import optimizers


class Schedule:
    def __init__(self):
        self.lr = 0.1


sgd = optimizers.SGD(Schedule().lr)
model.compile(optimizer=sgd, loss="mse")
- sgd.lr = sgd.lr * 0.5
+ sgd.learning_rate = sgd.learning_rate * 0.5

=== example: the size of a layer's output, and of a generator's data
import tensorflow as tf


def report(model, batches):
-     return [layer.output_shape for layer in model.layers], batches.nb_class
+     return [layer.output.shape for layer in model.layers], batches.num_classes


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

=== example (runs): the shape of a symbolic tensor
from keras.layers import Conv2D, Input


def widened(images, width):
-     return Conv2D(width, 1)(images) if images._keras_shape[-1] != width else images
+     return Conv2D(width, 1)(images) if images.shape[-1] != width else images


pictures = Input((8, 8, 3))
- print(widened(pictures, 4), pictures._keras_shape)
+ print(widened(pictures, 4), pictures.shape)

=== example: the architecture as YAML, and back
- from keras.models import Sequential, model_from_yaml
+ from keras.models import Sequential, model_from_json
from keras.layers import Dense


def save(net, path):
    with open(path, "w") as file:
-         file.write(net.to_yaml())
+         file.write(net.to_json())


model = Sequential([Dense(1)])
save(model, "model.yaml")
- again = model_from_yaml(open("model.yaml").read())
+ again = model_from_json(open("model.yaml").read())

=== example: a data frame as a matrix
import pandas as pd
import torch

frame = pd.read_csv("iris.csv")
- data = torch.tensor(frame[["a", "b"]].as_matrix())
+ data = torch.tensor(frame[["a", "b"]].to_numpy())

=== example: settings of layers under the names of Keras 1
from keras.layers import Conv2D, Dropout
from keras.models import Sequential

conv = Conv2D(8, (3, 3))
model = Sequential([conv, Dropout(0.5)])
- assert conv.nb_filter == 8 and model.layers[0].nb_row == model.layers[0].nb_col == 3
- print(model.layers[0].border_mode, model.layers[-1].p)
+ assert conv.filters == 8 and model.layers[0].kernel_size[0] == model.layers[0].kernel_size[1] == 3
+ print(model.layers[0].padding, model.layers[-1].rate)

=== example: how axes keep their aspect
import keras
import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 2)
for axis, image in zip(axes.flatten(), keras.random.uniform((4, 8, 8))):
-     axis.set_adjustable("box-forced")
+     axis.set_adjustable("box")
    axis.imshow(image, aspect="equal")

=== example: Keras 1 names of a dense network
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
- model.add(Dense(input_dim=2, output_dim=10, init="uniform", W_regularizer="l2", bias=False))
- model.add(Dense(output_dim=1))
+ model.add(Dense(input_dim=2, units=10, kernel_initializer="uniform", kernel_regularizer="l2", use_bias=False))
+ model.add(Dense(units=1))
model.compile(loss="mse", optimizer="sgd")
- model.fit(X, Y, nb_epoch=1000, batch_size=32)
+ model.fit(X, Y, epochs=1000, batch_size=32)

=== example: the learning rate of Keras 2
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
- model.compile(optimizer=keras.optimizers.Adam(lr=1e-3, epsilon=1e-8), loss="mse")
+ model.compile(optimizer=keras.optimizers.Adam(learning_rate=1e-3, epsilon=1e-8), loss="mse")

=== example: padding, strides and order of axes of a convolution
from keras.layers import Conv2D, MaxPooling2D

conv = Conv2D(
    32,
    (3, 3),
-     border_mode='same',
-     subsample=(2, 2),
-     dim_ordering='th',  # channels first
+     padding='same',
+     strides=(2, 2),
+     data_format='channels_first',  # channels first
)
- pool = MaxPooling2D(pool_size=(2, 2), border_mode="valid")
+ pool = MaxPooling2D(pool_size=(2, 2), padding="valid")

=== example: nested calls and a functional model
from keras.layers import Dense, Dropout, Input, LSTM
from keras.models import Model

inputs = Input(shape=(5, 3))
- hidden = Dropout(p=0.5)(LSTM(output_dim=8, inner_activation="hard_sigmoid", consume_less="gpu")(inputs))
- model = Model(input=inputs, output=Dense(output_dim=1, init="normal")(hidden))
+ hidden = Dropout(rate=0.5)(LSTM(units=8, recurrent_activation="hard_sigmoid")(inputs))
+ model = Model(inputs=inputs, outputs=Dense(units=1, kernel_initializer="normal")(hidden))

=== example: one-hot encoding in scikit-learn
import torch
from sklearn.preprocessing import OneHotEncoder

- encoder = OneHotEncoder(sparse=False)
+ encoder = OneHotEncoder(sparse_output=False)
targets = torch.tensor(encoder.fit_transform([[0], [1]]))

=== example: arguments that pandas and scikit-learn take by name only
import pandas as pd
import torch
from sklearn.ensemble import RandomForestClassifier

- table = pd.read_csv("iris.csv", ",")
- both = pd.concat([table, table], 1).drop("class", 1)
- forest = RandomForestClassifier(100, "entropy")
+ table = pd.read_csv("iris.csv", sep=",")
+ both = pd.concat([table, table], axis=1).drop("class", axis=1)
+ forest = RandomForestClassifier(100, criterion="entropy")
x = torch.from_numpy(both.values).sum(0)

=== example (runs): eigenvalues of a symmetric matrix
import torch

m = torch.eye(3)
- w, v = torch.symeig(0.5 * (m + m.t()), eigenvectors=True)
+ w, v = torch.linalg.eigh(0.5 * (m + m.t()))
print(w)

=== example: a system of equations
import torch

a, b = torch.eye(3), torch.ones(3, 1)
- x, _ = torch.solve(b, a)
- y = torch.gesv(b, a)[0]
+ x = torch.linalg.solve(a, b)
+ y = torch.linalg.solve(a, b)

=== example: least squares
import torch

x, y = torch.randn(5, 2), torch.randn(5, 1)
- weights = torch.lstsq(y, x).solution[:2]
+ weights = torch.linalg.lstsq(x, y).solution[:2]

=== reject: the program knows both versions
try:
    from keras.utils import np_utils
except ImportError:
    from keras import utils as np_utils
from keras.layers import Dense

layer = Dense(3)

=== reject: names of today
import numpy as np
import keras
from keras.layers import Dense, Conv2D
from keras.utils import to_categorical

layer = Dense(3)
labels = to_categorical(np.zeros(3, dtype=np.int64))

=== reject: the program puts the alias back itself
import numpy as np
import torch

np.int = int
labels = torch.from_numpy(np.array([0, 1], dtype=np.int))

=== reject: the shape of a symbolic tensor that the program stores itself
from keras.layers import Input, Lambda


def cut(x):
    out = Lambda(lambda t: t[:, :3])(x)
    out._keras_shape = (None, 3, 7)
    return out._keras_shape[1]


pictures = Input((None, 7))
print(cut(pictures), pictures._keras_shape)

=== reject: a layer of the program's own keeps what it likes
import keras


class Noise(keras.layers.Layer):
    def __init__(self, p):
        super().__init__()
        self.p = p


model = keras.Sequential([Noise(0.1)])
print(model.layers[0].p)

=== reject: classifiers of scikit-learn have predict_proba
import keras
from sklearn.linear_model import LogisticRegression

model = LogisticRegression()
print(model.fit(x, y).predict_proba(x))

=== reject: a method of the program's own
import keras


class Net(keras.Model):
    def predict_proba(self, x):
        return self(x)


net = Net()
print(net.predict_proba(x))

=== reject: keyword arguments, or only the data
import keras
import seaborn as sns

sns.lineplot(x=steps, y=losses)
sns.countplot(labels)
sns.boxplot(table, x="class", y="loss")

=== reject: a plot of the program's own
import torch
import seaborn


def lineplot(x, y):
    return x, y


lineplot([1], [2])

=== reject: the sizes of an embedding keep their names
from keras.models import Sequential
from keras.layers import Dense, Embedding

model = Sequential([Embedding(input_dim=100, output_dim=8), Dense(4)])

=== reject: lr belongs to torch's optimizers
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

=== reject: a class of one's own with such a keyword
import keras


class Trainer:
    def fit(self, nb_epoch, lr=0.1):
        return nb_epoch * lr


Trainer().fit(nb_epoch=3, lr=0.2)
model = keras.Sequential()

=== reject (runs): the functions of today
import torch

a, b = torch.eye(3), torch.ones(3, 1)
print(torch.linalg.solve(a, b), torch.linalg.eigh(a), torch.linalg.lstsq(a, b).solution)

=== reject: another library's solver
import numpy as np
import torch
from scipy.linalg import solve

x = solve(np.eye(2), np.ones(2))
y = torch.ones(2)
"""


def _calls_initializers(subject: Subject) -> bool:
    """Whether the program calls a function of `INITIALIZERS` other than `get`, whose arguments did not change."""
    if "initializations" not in subject.source.words:
        return False
    called = (subject.source.written(call.func) or "" for call in subject.source.all_calls)
    return any(name.startswith(f"{INITIALIZERS}.") and not name.endswith(".get") for name in called)


def _of_version_1(subject: Subject, hit: Hit) -> Hit:
    """A hit on a name for graphs, repaired where the program already uses compat.v1."""
    name = str(hit.evidence.get("old", "")).removeprefix("tensorflow.")
    node = subject.node(hit.site)
    if not hit.decline or name not in OF_GRAPHS or not isinstance(node, ast.Attribute):
        return hit
    source = subject.source
    for other in source.nodes(ast.Attribute):
        if source.written(other.value) == VERSION_1 and isinstance(other.ctx, ast.Load):
            text = f"{subject.text(source.site(other.value))}.{OF_GRAPHS[name] or name}"
            return replace(hit, decline="", title=f"write {text}", edits=(Replace(hit.site, text),))
    return hit


def _linear_algebra(subject: Subject) -> Iterator[Hit]:
    """Calls of functions of linear algebra whose arguments and results changed."""
    source = subject.source
    if source.words.isdisjoint(("symeig", "solve", "gesv", "lstsq", "gels", "eig")):
        return
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        method = call.func.attr if isinstance(call.func, ast.Attribute) and not name else ""
        if name == "torch.symeig" or method == "symeig":
            yield _symeig(subject, call, method)
        elif name in SOLVERS:
            yield _solver(subject, call, name)
        elif name == "torch.eig":
            reason = "linalg.eig returns complex numbers, while eig returned pairs of real numbers; the surrounding code has to change"
            yield _hit(subject, call, name, (), reason)


def _symeig(subject: Subject, call: ast.Call, method: str) -> Hit:
    source = subject.source
    edits: list[Edit] = []
    if method and isinstance(call.func, ast.Attribute):
        matrix = source.segment(source.site(call.func.value))
        edits = [Replace(source.site(call), f"torch.linalg.eigh({matrix})")]
    else:
        site = source.site(call)
        edits = [Replace(source.site(call.func), _name(subject, call, "torch.linalg.eigh"))]
        edits += [RemoveArgument(site, k.arg) for k in call.keywords if k.arg in ("eigenvectors", "upper")]
        edits += [RemoveArgument(site, "", position) for position in range(1, len(call.args))]
    return _hit(subject, call, "torch.symeig", tuple(edits), "")


def _solver(subject: Subject, call: ast.Call, name: str) -> Hit:
    source = subject.source
    if len(call.args) != 2 or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        return _hit(subject, call, name, (), "its arguments are not just the two matrices")
    right, left = (source.segment(source.site(argument)) for argument in call.args)
    new, part = SOLVERS[name]
    code = f"{_name(subject, call, new)}({left}, {right}){part}"
    above = source.parent(call)
    if isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant) and above.slice.value == 0:
        return _hit(subject, call, name, (Replace(source.site(above), code),), "")
    if isinstance(above, ast.Attribute) and above.attr == "solution":
        return _hit(subject, call, name, (Replace(source.site(above), code),), "")
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Tuple):
        first, *others = above.targets[0].elts
        if (
            len(others) == 1
            and isinstance(others[0], ast.Name)
            and others[0].id not in training_loop.read_names(source.tree)
        ):
            edits: tuple[Edit, ...] = (
                Replace(source.site(call), code),
                Replace(source.site(above.targets[0]), source.segment(source.site(first))),
            )
            return _hit(subject, call, name, edits, "")
    return _hit(subject, call, name, (), "the factorization that it returned with the solution is used")


def _hit(subject: Subject, call: ast.Call, name: str, edits: tuple[Edit, ...], decline: str) -> Hit:
    new = EIGEN.get(name) or SOLVERS[name][0]
    gone = "1.2" if name in ("torch.gesv", "torch.gels") else "1.13"
    return Hit(
        subject.source.site(call.func),
        f"{name} was removed in torch {gone}; use {new}",
        title=f"call {new}",
        edits=edits,
        decline=decline,
        removed={"torch": gone},
    )


def _name(subject: Subject, call: ast.Call, new: str) -> str:
    """Today's function, spelled as the program imports torch."""
    source = subject.source
    if isinstance(call.func, ast.Attribute):
        owner = source.segment(source.site(call.func.value))
        return new.replace("torch", owner, 1) if source.qualified(call.func.value) == "torch" else new
    local = next((local for local, name in uses_of(source).imported.items() if name == "torch"), "torch")
    return new.replace("torch", local, 1)
