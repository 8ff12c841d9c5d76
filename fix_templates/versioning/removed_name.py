"""A module, class or function that the installed libraries no longer have under this name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    BACKEND_CALLS,
    SESSIONS,
    ApiChange,
    Example,
    Hit,
    Reject,
    Replace,
    Subject,
    compared_orderings,
    outside_graph,
    phase_of,
    renamed_names,
    session_alone,
    uses_of,
)

ELSEWHERE = BACKEND_CALLS | {
    "keras.layers.Merge",
    "keras.layers.merge",
    "keras.wrappers.scikit_learn",
    "numpy.NINF",
    "numpy.asfarray",
    "numpy.asscalar",
    "keras.backend.function",
    "numpy.msort",
    "pandas.DataFrame.from_csv",
    "pandas.Series.from_csv",
    *(
        f"scipy.misc.{name}"
        for name in ("bytescale", "fromimage", "imread", "imresize", "imrotate", "imsave", "imshow", "toimage")
    ),
    "scipy.ndimage.imread",
    "sklearn.datasets.load_boston",
    "tensorflow.examples.tutorials.mnist",
    "tensorflow.summary.FileWriter",
    "tensorflow.train.SummaryWriter",
    "torch.nn._assert_no_grad",
    "torch.nn.modules.loss._assert_no_grad",
}
"""Names that have a template of their own where they are used; here they are only taken out of imports."""

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
"""What graphs are made and asked with, which TensorFlow 2 has below compat.v1 only, and by what name where by another."""

OF_A_PHASE = frozenset(
    f"{keras}.backend.{name}" for keras in ("keras", "tensorflow.keras") for name in ("learning_phase", "set_session")
)
"""Names that have a template of their own in programs that build a graph."""


class RemovedName(ApiChange):
    """A name that moved or went away: the import or the first use of it stops the program.

    Keras 3 has no `keras.layers.core` and no `np_utils`, NumPy no `np.int`, scikit-learn no `cross_validation`. Where
    the name only moved, the import is changed in place and its uses follow; a name that is imported and never used
    leaves the import. Imports that a program tries under `except ImportError` are left alone. What Keras 3 has under a
    private name only, such as `ImageDataGenerator` and `Tokenizer`, is taken from TensorFlow where that is there.

    Fix safety: safe where the data file says that the new name means the same; otherwise unsafe, as for
    `keras.optimizers.legacy`, whose replacements have arguments of their own.

    References: `fix_templates/data/*.toml` give one for each name; https://keras.io/guides/migrating_to_keras_3/.
    """

    code = "DNF501"
    name = "removed-name"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """What the tables say of the imports, attributes and bare names of the program."""
        elsewhere = ELSEWHERE | (OF_A_PHASE if phase_of(subject.source) is not None else frozenset())
        session = session_alone(subject.source)
        settled = session.sites if session is not None else ()
        apart = SESSIONS if settled else frozenset()
        uses = uses_of(subject.source)
        uses.on_tensorflow |= subject.trace is not None and "tensorflow" in subject.trace.versions
        for found in outside_graph(subject.source, renamed_names(uses, apart, settled)):
            hit = _of_version_1(subject, found)
            if not hit.decline or hit.evidence.get("old") not in elsewhere:
                yield hit
        yield from compared_orderings(subject.source)

    examples = (
        Example(
            "the ordering of axes is compared",
            """\
from keras import backend as K

- if K.image_dim_ordering() == 'th':
+ if K.image_data_format() == 'channels_first':
    shape = (1, 28, 28)
else:
    shape = (28, 28, 1)
""",
        ),
        Example(
            "modules of Keras 2 in from-imports",
            """\
from keras.models import Sequential
- from keras.layers.core import Dense, Dropout  # layers
- from keras.layers.convolutional import (
+ from keras.layers import Dense, Dropout  # layers
+ from keras.layers import (
    Conv2D,
    MaxPooling2D,
)

model = Sequential([Dense(4), Dropout(0.5)])
""",
        ),
        Example(
            "np_utils was made part of keras.utils",
            """\
from keras.models import Sequential
- from keras.utils import np_utils
+ from keras.utils import to_categorical

- y_train = np_utils.to_categorical([0, 1, 2], 3)
- y_test = np_utils.to_categorical([2, 1, 0], 3)
+ y_train = to_categorical([0, 1, 2], 3)
+ y_test = to_categorical([2, 1, 0], 3)
""",
        ),
        Example(
            "modules that are imported and not used",
            """\
- import math, torch.nn._functions as internal
+ import math
import torch
- import torch.legacy.nn as legacy

print(math.sqrt(2), torch.ones(2))
""",
        ),
        Example(
            "a layer that is imported and not used",
            """\
import numpy as np
- from keras.utils.np_utils import to_categorical
- from keras.layers import Dense, Dropout, Merge
+ from keras.utils import to_categorical
+ from keras.layers import Dense, Dropout

labels = to_categorical(np.arange(4))
layer = Dense(3)
""",
        ),
        Example(
            "an optimizer in lower case",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
- model.compile(optimizer=keras.optimizers.rmsprop(), loss="binary_crossentropy")
+ model.compile(optimizer=keras.optimizers.RMSprop(), loss="binary_crossentropy")
""",
        ),
        Example(
            "NumPy's aliases of builtins",
            """\
import numpy as np
import torch

- labels = torch.from_numpy(np.array([0, 1], dtype=np.int)).long()
- mask = np.zeros(3, dtype=np.float)
+ labels = torch.from_numpy(np.array([0, 1], dtype=int)).long()
+ mask = np.zeros(3, dtype=float)
""",
        ),
        Example(
            "functions of keras.backend that are in keras.ops now",
            """\
from keras import backend as K
+ from keras import ops


def rmse(y_true, y_pred):
-     return K.sqrt(K.mean(K.square(y_pred - y_true), axis=-1) + K.epsilon())
+     return ops.sqrt(ops.mean(ops.square(y_pred - y_true), axis=-1) + K.epsilon())
""",
        ),
        Example(
            "what TensorFlow shows and Keras 3 does not",
            """\
import tensorflow as tf
- from keras.preprocessing.image import ImageDataGenerator, img_to_array
- from keras.preprocessing.text import Tokenizer
+ from keras.preprocessing.image import img_to_array
+ from tensorflow.keras.preprocessing.image import ImageDataGenerator
+ from tensorflow.keras.preprocessing.text import Tokenizer

words = Tokenizer(num_words=100)
images = ImageDataGenerator(rescale=1 / 255)
print(tf.reduce_sum(img_to_array(picture)))
""",
        ),
        Example(
            "a name of graphs in a program that has the others from compat.v1",
            """\
import tensorflow as tf

graph = tf.Graph()
with graph.as_default(), tf.compat.v1.Session() as sess:
    weight = tf.compat.v1.get_variable("weight", [2])
-     for variable in tf.all_variables():
+     for variable in tf.compat.v1.global_variables():
        sess.run(variable.initializer)
""",
        ),
        Example(
            "a name that went before version 1, below compat.v1",
            """\
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 3])
- y = tf.reduce_sum(tf.mul(x, x), 1)
+ y = tf.reduce_sum(tf.multiply(x, x), 1)
""",
        ),
    )
    rejects = (
        Reject(
            "the program knows both versions",
            """\
try:
    from keras.utils import np_utils
except ImportError:
    from keras import utils as np_utils
from keras.layers import Dense

layer = Dense(3)
""",
        ),
        Reject(
            "names of today",
            """\
import numpy as np
import keras
from keras.layers import Dense, Conv2D
from keras.utils import to_categorical

layer = Dense(3)
labels = to_categorical(np.zeros(3, dtype=np.int64))
""",
        ),
        Reject(
            "the program puts the alias back itself",
            """\
import numpy as np
import torch

np.int = int
labels = torch.from_numpy(np.array([0, 1], dtype=np.int))
""",
        ),
    )


def _of_version_1(subject: Subject, hit: Hit) -> Hit:
    """A hit about a name of graphs, repaired where the program has its other names of graphs from compat.v1."""
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
