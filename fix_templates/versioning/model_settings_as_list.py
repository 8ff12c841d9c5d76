"""`model.get_config()[0]["class_name"]`: the configuration of a sequential model is no longer a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Source, Subject, Wrap, keras_era, uses_of

SEQUENTIAL = frozenset({"keras.Sequential", "keras.models.Sequential"})

OF_LAYER = frozenset({"class_name", "config", "name"})
"""Keys of a layer's configuration that a model's does not have."""


class ModelSettingsAsList(ApiChange):
    """`Sequential.get_config()` returned a list of the layers' configurations until Keras 2.2.2.

    It is a dictionary now, as for every other model, with that list under `"layers"`. An integer index, a loop over
    layers or a data frame raises or uses the keys. Uses as a list read `"layers"` instead; `Sequential.from_config`,
    which accepts the dictionary, stays.

    Fix safety: unsafe: the configurations of the layers have other entries than before.

    References: https://keras.io/api/models/model_saving_apis/model_config_serialization/.
    """

    code = "DNF565"
    name = "model-settings-as-list"
    message = (
        "get_config of a Sequential returns a dictionary since Keras 2.2.3, with its layers under the key 'layers'"
    )
    triggers = ("get_config",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "get_config" not in source.words or "keras" not in source.frameworks:
            return
        for call in source.all_calls:
            if not _settings(source, call):
                continue
            for read in _reads(subject, call):
                if _as_list(source, read) and keras_era.is_multi_backend(source):
                    site = source.site(read)
                    yield Hit(
                        site,
                        self.message,
                        title="read the configurations of the layers",
                        edits=(Wrap(site, "", "['layers']"),),
                        removed={"keras": "2.2.3"},
                    )

    programs = """
=== example: a table of the layers
import pandas as pd
- from keras.layers.core import Dense
+ from keras.layers import Dense
from keras.models import Sequential
- from keras.utils import np_utils
+ from keras.utils import to_categorical

- labels = np_utils.to_categorical([0, 1])
+ labels = to_categorical([0, 1])
model = Sequential()
- model.add(Dense(output_dim=2, input_dim=4))
+ model.add(Dense(units=2, input_dim=4))
config = model.get_config()
- print(pd.DataFrame(config), config)
+ print(pd.DataFrame(config['layers']), config)

=== example: an index
from keras.layers import Dense
from keras.models import Sequential

- net = Sequential([Dense(output_dim=3, input_dim=4)])
- print(net.get_config()[0]["class_name"])
+ net = Sequential([Dense(units=3, input_dim=4)])
+ print(net.get_config()['layers'][0]["class_name"])

=== example: loops over the layers
from keras.layers import Dense
from keras.models import Sequential

- net = Sequential([Dense(3, input_dim=4, init="uniform")])
- for layer in net.get_config():
+ net = Sequential([Dense(3, input_dim=4, kernel_initializer="uniform")])
+ for layer in net.get_config()['layers']:
    print(layer["class_name"])
- names = [each["config"]["name"] for each in net.get_config()]
+ names = [each["config"]["name"] for each in net.get_config()['layers']]

=== reject: settings read as they are
from keras.layers import Dense
from keras.models import Sequential

net = Sequential([Dense(3, input_dim=4)])
config = net.get_config()
for key in config:
    print(key, config[key])
again = Sequential.from_config(config)
print(config["layers"][0])

=== reject: a model of today
import keras

net = keras.Sequential([keras.layers.Dense(3)])
first = net.get_config()["layers"][0]
other = keras.Model(net.inputs, net.outputs).get_config()
"""


def _settings(source: Source, call: ast.Call) -> bool:
    """Whether a call reads the configuration of a sequential model."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "get_config" or call.args:
        return False
    made = source.constructor(call.func.value)
    return made is not None and source.qualified(made.func) in SEQUENTIAL


def _reads(subject: Subject, call: ast.Call) -> Iterator[ast.expr]:
    """The call itself, or the reads of the variable it is assigned to."""
    source = subject.source
    above = source.parent(call)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        for name in uses_of(source).names(above.targets[0].id):
            if isinstance(name.ctx, ast.Load) and source.bindings(name) == (call,):
                yield name
    else:
        yield call


def _as_list(source: Source, read: ast.expr) -> bool:
    above = source.parent(read)
    if isinstance(above, ast.Subscript) and above.value is read:
        index = above.slice.operand if isinstance(above.slice, ast.UnaryOp) else above.slice
        return isinstance(index, ast.Constant) and isinstance(index.value, int) or isinstance(index, ast.Slice)
    if isinstance(above, ast.Call) and read in above.args:
        return source.qualified(above.func) == "pandas.DataFrame"
    if isinstance(above, (ast.For, ast.comprehension)) and above.iter is read and isinstance(above.target, ast.Name):
        loop = above if isinstance(above, ast.For) else source.parent(above)
        each = above.target.id
        return any(
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == each
            and isinstance(node.slice, ast.Constant)
            and node.slice.value in OF_LAYER
            for node in ast.walk(loop or above)
        )
    return False
