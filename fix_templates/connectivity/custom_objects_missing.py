"""A saved Keras model with custom layers, losses or activations is loaded without `custom_objects`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, RaisedTemplate, SetArgument, Subject, graph, progress_figures

_LOADERS = frozenset({"load_model", "model_from_json", "model_from_yaml", "from_config", "clone_model", "deserialize"})
_UNKNOWN = r"(?:Could not locate|Unknown) (?:class|function|layer|object|loss function|metric function)"
_NAMED = re.compile(_UNKNOWN + r":? '?(?P<name>\w+)'?")


class CustomObjectsMissing(RaisedTemplate):
    """A saved model has a layer, loss or activation defined in the program, and is loaded without `custom_objects`.

    The file keeps only names. Keras resolves those of its own classes; those of the program have to be passed.

    Fix safety: unsafe. The name is loaded with the program's own definition.

    References: keras.saving.load_model ("custom_objects").
    """

    code = "DNF427"
    name = "custom-objects-missing"
    formerly = ("own-class-unknown-on-loading",)
    message = (
        "the saved model contains {classes}, defined in this program and unknown to `{loader}` without custom_objects"
    )
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("load_model", "model_from_json", "model_from_yaml", "from_config", "clone_model", "deserialize")
    raised = "TypeError ValueError NameError RuntimeError"
    said = f"could not be deserialized|{_UNKNOWN}"
    declined = "the call has custom_objects already"
    confidence = 0.9

    def explain(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
        source = subject.source
        if not isinstance(node, ast.Call) or subject.crash is None:
            return
        loader = progress_figures.name_of(node.func)
        defined = {each.name for each in source.nodes(ast.ClassDef)} | {
            each.name for each in source.nodes(ast.FunctionDef)
        }
        said = [match["name"] for match in _NAMED.finditer(subject.crash.message) if match["name"] in defined]
        layers = [owner.name for owner in graph.keras_modules(source) if _is_layer(subject, owner)]
        names = tuple(dict.fromkeys([*layers, *said]))
        if loader not in _LOADERS or not names or not (said or "deserialized" in subject.crash.message):
            return
        known = any(keyword.arg in (None, "custom_objects") for keyword in node.keywords)
        given = ", ".join(f'"{name}": {name}' for name in names)
        edits = (SetArgument(source.site(node), "custom_objects", f"{{{given}}}"),)
        listed = ", ".join(f"`{name}`" for name in names)
        words = {"classes": listed, "loader": ast.unparse(node.func)}
        yield Fault(source.site(node), words, (("Pass the classes as custom_objects", None if known else edits, 0.9),))

    programs = """
=== example: a layer
import os
import tempfile

import keras

class Doubled(keras.layers.Layer):
    def call(self, x):
        return 2 * x

inputs = keras.Input((2,))
model = keras.Model(inputs, Doubled()(inputs))
path = os.path.join(tempfile.mkdtemp(), "model.keras")
model.save(path)
- again = keras.models.load_model(path)
+ again = keras.models.load_model(path, custom_objects={"Doubled": Doubled})

=== reject: a class that is registered, and one that is passed
import os
import tempfile

import keras

@keras.saving.register_keras_serializable()
class Doubled(keras.layers.Layer):
    def call(self, x):
        return 2 * x

inputs = keras.Input((2,))
path = os.path.join(tempfile.mkdtemp(), "model.keras")
keras.Model(inputs, Doubled()(inputs)).save(path)
again = keras.models.load_model(path)
other = keras.models.load_model(path, custom_objects={"Doubled": Doubled})

=== reject: a file that is not there
import keras

class Doubled(keras.layers.Layer):
    def call(self, x):
        return 2 * x

model = keras.models.load_model("nowhere.keras")
"""


def _is_layer(subject: Subject, owner: ast.ClassDef) -> bool:
    """Whether a class of the program is a layer, not a model, that the program instantiates."""
    bases = [subject.source.qualified(base) or "" for base in owner.bases]
    made = any(subject.source.definition(call.func) is owner for call in subject.source.all_calls)
    return made and not any(base.endswith("Model") for base in bases)
